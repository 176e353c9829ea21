"""Rebuilding the schemas: from small trees that show each construction, and from the real frameworks when they are here.

The real ones are found by `CFGLINT_ACCELERATE`, `CFGLINT_DEEPSPEED`, `CFGLINT_TRANSFORMERS` and `CFGLINT_NEOX` (the folder
of the package, or of the sources), and the first three also where they are installed beside the tests.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from cfglint.frameworks.axolotl.releases import HISTORY as RELEASES_OF_AXOLOTL
from cfglint.frameworks.llamafactory.releases import HISTORY as RELEASES_OF_LLAMAFACTORY
from cfglint.frameworks.releases.history import DEFAULT, TYPE
from cfglint.frameworks.releases.versions import parse_version
from cfglint.frameworks.trl.releases import HISTORY as RELEASES_OF_TRL
from cfglint.source.python.class_fields import tupled

ROOT = Path(__file__).resolve().parent.parent.parent
TREES = Path(__file__).resolve().parent / "trees"


def facts(kind: str, path: Path) -> dict:
    source = importlib.import_module(f"schema_{kind}")
    return source.facts(source.find(path))


def refusal(kind: str, path: Path) -> str:
    """What the rebuilding says of a tree that it does not understand."""
    from schema_source import SourceError

    with pytest.raises(SourceError) as raised:
        facts(kind, path)
    return str(raised.value)


@pytest.fixture
def changed(tmp_path):
    """A copy of a tree with something in one of its files replaced."""

    def change(tree: str, file: str, old: str, new: str) -> Path:
        shutil.copytree(TREES / tree, tmp_path / tree)
        path = tmp_path / tree / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))
        return tmp_path / tree

    return change


# DeepSpeed


def test_deepspeed_follows_the_dict_through_calls():
    found = facts("deepspeed", TREES / "deepspeed")
    assert list(found) == ["steps", "clipping", "zero", "optimizer", "pipeline", "writer", "elastic"]
    assert found["clipping"] == {"default": 1.0, "type": "number"}
    assert found["steps"] == {"default": None}
    assert found["optimizer"]["properties"] == {"type": {}}
    assert found["writer"]["properties"]["bytes"]["default"] == 64 * 1024**2
    assert found["pipeline"]["properties"]["interval"] == {"default": 0, "type": "integer"}
    assert found["elastic"] == {"not": {}, "x-raises": "DeepSpeedConfigError: gone."}


def test_deepspeed_reads_models():
    zero = facts("deepspeed", TREES / "deepspeed")["zero"]
    assert (zero["additionalProperties"], zero["x-section-policy"], zero["x-checked-at"]) == (False, "reject", "config")
    fields = zero["properties"]
    assert fields["stage"]["anyOf"][0] == {"enum": [0, 1]}
    assert fields["stage_bucket"] == {
        "$ref": "#/$defs/integer",
        "exclusiveMinimum": 0,
        "default": 500_000_000,
        "x-aliases": ["bucket"],
        "x-reads": ["bounded", "int", {"exclusiveMinimum": 0}],
    }
    assert fields["bucket"]["$ref"] == "#/properties/zero/properties/stage_bucket"
    assert fields["overlap"] == {"$ref": "#/$defs/optional-flag", "default": None, "x-reads": ["|", "bool", "None"]}
    assert fields["old_overlap"]["x-renamed-to"] == "overlap"
    assert fields["offload"]["type"] == ["object", "null", "string"]
    assert fields["offload"]["properties"]["device"]["enum"] == ["cpu", "disk", "auto"]
    assert fields["offload"]["properties"]["ratio"]["maximum"] == 1.0
    assert (zero["x-model"], fields["offload"]["x-reads"]) == ("ZeroConfig", ["|", ["model", "zero.offload"], "None"])
    assert fields["stage"]["x-reads"] == ["enum", 0, 1]


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("runtime/zero/config.py", "overlap: Optional[bool]", "overlap: frozenset[bool]", "an annotation without a rule"),
        ("runtime/zero/config.py", "gt=0, alias", "max_digits=2, gt=0, alias", "Field options without a rule (max_digits)"),
        ("runtime/config.py", "self.pipeline = get", "self.pipeline = elsewhere.get", "code that cannot be followed"),
        ("runtime/config.py", "get_scalar_param(param_dict, CLIPPING", "param_dict.setdefault(CLIPPING", "the method setdefault"),
        ("runtime/constants.py", 'CLIPPING = "clipping"', 'CLIPPING = "steps"\nSTEPS_DEFAULT = 2', "a second default"),
    ],
)
def test_deepspeed_refuses_what_it_does_not_understand(changed, file, old, new, said):
    assert said in refusal("deepspeed", changed("deepspeed", file, old, new))


# Hugging Face


def test_huggingface_reads_fields():
    assert facts("huggingface", TREES / "transformers") == {
        "output_dir": {"type": ["string", "null"], "default": None},
        "strategy": {"enum": ["no", "steps"], "x-checked-at": "config", "default": "no"},
        "log_level": {"enum": ["info", "error", "passive", None], "default": "passive"},
        "names": {"type": ["array", "null"], "items": {"type": "string"}, "default": []},
        "space": {"anyOf": [{"type": ["string", "null"]}, {"enum": [False]}], "default": None},
        "warmup": {"type": "number", "default": 0},
    }


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("warmup: float", "warmup: complex", "an annotation without a rule: complex"),
        ("field(default=0)", "field(default=compute())", "not a constant: compute()"),
        ("default_factory=list", "default_factory=make", "not a constant: make()"),
        ("class TrainingArguments", "class Arguments", "class TrainingArguments is missing"),
    ],
)
def test_huggingface_refuses_what_it_does_not_understand(changed, old, new, said):
    assert said in refusal("huggingface", changed("transformers", "training_args.py", old, new))


# LLaMA-Factory


def test_llamafactory_reads_five_classes_and_the_trainers():
    found = facts("llamafactory", TREES)
    trainers = ["output_dir", "strategy", "log_level", "names", "space", "warmup", "generate", "generation_config"]
    assert list(found) == ["model", "attention", "mode", "template", "length", *trainers, "workers", "again", "rank", "beams"]
    assert found["attention"] == {"enum": ["auto", "fast"], "default": "auto"}
    assert found["mode"] == {"enum": ["convert", "load", None], "default": None}
    assert found["template"]["anyOf"] == [{"enum": ["brief", "plain"]}, {"type": "null"}]
    assert found["template"]["x-efficient-eos"] == ["brief"]
    assert found["output_dir"]["description"].startswith("Folder")


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("hparams/finetuning_args.py", "rank: int", "length: int", "length is a field of two dataclasses"),
        ("hparams/finetuning_args.py", "class FinetuningArguments", "class Finetuning", "class FinetuningArguments is missing"),
        ("hparams/model_args.py", "class Base", "class Basis", "a base class that is not in the package: Base"),
    ],
)
def test_llamafactory_refuses_what_it_does_not_understand(tmp_path, file, old, new, said):
    for tree in ("llamafactory", "transformers"):
        shutil.copytree(TREES / tree, tmp_path / tree)
    path = tmp_path / "llamafactory" / file
    path.write_text(path.read_text().replace(old, new))
    assert said in refusal("llamafactory", tmp_path)


def test_llamafactory_tables_hold_what_the_trainer_does_not_have():
    """Their source is the wheels of all releases, with which `bash .ci/run` compares them; without these, the schema is."""
    committed = (ROOT / "cfglint" / "frameworks" / "llamafactory" / "_tables.py").read_text()
    names: dict = {}
    exec(committed, names)
    source = importlib.import_module("tables_llamafactory")
    assert source.text(source.known(SimpleNamespace(**names))) == committed
    schema = json.loads((ROOT / "schemas" / "llamafactory.json").read_text())
    newest = RELEASES_OF_LLAMAFACTORY.at(parse_version(schema["x-framework"]["version"]))
    assert "learning_rate" not in newest["arguments"]
    assert "overwrite_output_dir" in newest["arguments"]
    properties = schema["properties"]
    typed = {name: raw for name, raw in properties.items() if name in newest["arguments"] and "type" in raw}  # without lists of the notes
    assert {name: (row[TYPE], row[DEFAULT]) for name, row in newest["arguments"].items() if name in typed} == {
        name: (source.words(raw["type"]), raw.get("default")) for name, raw in typed.items()
    }
    assert newest["arguments"].keys() <= properties.keys()
    assert sorted(newest["templates"]) == properties["template"]["anyOf"][0]["enum"]
    assert sorted(name for name, row in newest["templates"].items() if row[DEFAULT]) == properties["template"]["x-efficient-eos"]


def tables_of(source, folder, dates):
    """The text of the tables by the releases in a folder alone."""
    return importlib.import_module("rebuild_tables").tables(source, folder, dates)


def test_a_llamafactory_table_holds_the_span_of_a_template(tmp_path):
    """A release without the template ends its row; the newest transformers that a release accepts comes from its metadata."""
    source = importlib.import_module("tables_llamafactory")
    folders = {}
    for release, bound in (("0.9.4", "<=4.57.1"), ("0.9.5", "<=5.6.0")):
        shutil.copytree(TREES / "llamafactory", tmp_path / release / "llamafactory")
        metadata = tmp_path / release / f"llamafactory-{release}.dist-info"
        metadata.mkdir()
        metadata.joinpath("METADATA").write_text(f"Requires-Dist: transformers{bound}\nRequires-Dist: deepspeed<=0.16.9\n")
        folders[release] = tmp_path / release
    registry = folders["0.9.5"] / "llamafactory" / "data" / "template.py"
    registry.write_text(registry.read_text().replace('name="', 'name="new_'))
    dates = {
        "llamafactory": {"0.9.4": "2025-11-01", "0.9.5": "2026-05-01"},
        "transformers": {"4.57.1": "2025-10-14", "5.6.0": "2026-04-20", "5.7.0": "2026-04-27"},
        "deepspeed": {"0.16.9": "2025-05-30", "0.18.4": "2026-01-08"},
    }
    names: dict = {}
    exec(tables_of(source, tmp_path, dates), names)
    old = [row for row in names["FIELDS"]["templates"] if not row[0].startswith("new_")]
    assert {row[3:5] for row in old} == {((), (0, 9, 5))}
    assert names["LIBRARIES"]["transformers"] == (((), "4.57.1"), ((0, 9, 5), "5.6.0"))


def test_axolotl_tables_agree_with_the_schema():
    """Their source is all releases, with which `bash .ci/run` compares them; without these, the schema of the newest one is."""
    committed = (ROOT / "cfglint" / "frameworks" / "axolotl" / "_tables.py").read_text(encoding="utf-8")
    names: dict = {}
    exec(committed, names)
    source = importlib.import_module("tables_axolotl")
    assert source.text(source.known(SimpleNamespace(**names))) == committed
    schema = json.loads((ROOT / "schemas" / "axolotl.json").read_text(encoding="utf-8"))
    newest = RELEASES_OF_AXOLOTL.at(parse_version(schema["x-framework"]["version"]))
    own = {name: raw for name, raw in schema["properties"].items() if "x-reads" in raw and "x-plugin" not in raw}
    listed = {"": own, **{name: raw["properties"] for name, raw in schema["$defs"].items()}}
    for section, properties in listed.items():
        assert {name: row[TYPE] for name, row in newest[section].items()} == {
            name: tupled(raw["x-reads"]) for name, raw in properties.items()
        }, section


@pytest.mark.parametrize("place", ["utils/schemas/config.py", "utils/config/models/input/v0_4_1/__init__.py"])
def test_axolotl_tables_are_read_from_wheels_and_source_distributions(tmp_path, place):
    """Up to 0.7.0 the models are in another module, and up to 0.16.1 releases are source distributions."""
    text = (
        "class AxolotlInputConfig(BaseModel):\n    optimizer: Optional[OptimizerNames] = OptimizerNames.ADAMW_HF.value\n"
        "    datasets: conlist(str, min_length=1)\n"
        '    @model_validator(mode="before")\n    def check_it(cls, data):\n        return data\n'
    )
    root = tmp_path / "0.6.0" / "src" / "axolotl"
    module = root / place
    module.parent.mkdir(parents=True)
    module.write_text(text)
    (root / "__init__.py").touch()
    (root / "integrations").mkdir()
    (tmp_path / "0.6.0" / "requirements.txt").write_text("transformers>=4.46.3\n# flash-attn\ntrl==0.12.1\n")
    (tmp_path / "0.6.0" / "setup.py").write_text('setup(extras_require={"deepspeed": ["deepspeed==0.16.1"]})\n')
    dates = {
        "axolotl": {"0.6.0": "2024-12-18"},
        "transformers": {"4.46.3": "2024-11-18", "4.47.1": "2024-12-17", "4.48.0": "2025-01-10"},
        "trl": {"0.12.1": "2024-11-15", "0.13.0": "2024-12-16"},
        "deepspeed": {"0.16.1": "2024-12-09", "0.16.2": "2024-12-18"},
    }
    names: dict = {}
    (tmp_path / "0.5.1.post1").mkdir()
    exec(tables_of(importlib.import_module("tables_axolotl"), tmp_path, dates), names)
    assert names["FIELDS"][""] == (
        ("datasets", ("list", "str"), None, (), (), (("minItems", 1),), True),
        ("optimizer", ("|", ("enum", "OptimizerNames"), "None"), "adamw_hf", (), ()),
    )
    assert names["VALIDATORS"] == {"check_it": (((), ()),)}
    assert {name: found[0][1] for name, found in names["LIBRARIES"].items()} == {
        "transformers": "4.47.1",
        "trl": "0.12.1",
        "deepspeed": "0.16.1",
    }


def test_yanked_releases_are_fetched_and_belong_to_no_bound(tmp_path, monkeypatch):
    """Files pin yanked releases, so the tables have them; pip never chooses one of a library for a bound."""
    tool = importlib.import_module("rebuild_tables")
    listed = [("1.0", None), ("1.1", "broken"), ("0.9", None), ("1.2rc1", None)]
    files = {
        name: [
            {"filename": f"{name}-{version}-py3-none-any.whl", "upload-time": "2026-01-02T00:00:00Z", "yanked": yanked}
            for version, yanked in listed
        ]
        for name in ("own", "library")
    }
    monkeypatch.setattr(tool.list_releases, "from_index", lambda package, index: {"files": files[package]})
    monkeypatch.setattr(tool, "unpack", lambda package, files, target: target.mkdir())
    tool.fetch(tmp_path, "own", (1, 0), ("library",))
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["1.0", "1.1"]
    dates = json.loads((tmp_path / "dates.json").read_text())
    assert {name: sorted(found) for name, found in dates.items()} == {"own": ["0.9", "1.0", "1.1"], "library": ["0.9", "1.0"]}


@pytest.mark.parametrize("kind", ["accelerate", "deepspeed", "huggingface", "trl", "llamafactory", "axolotl"])
def test_one_release_is_added_to_the_tables_without_the_sources_of_the_others(kind):
    """One that was left out, in the middle or at the end, gives the committed tables again."""
    source = importlib.import_module(f"tables_{kind}")
    committed = (ROOT / "cfglint" / "frameworks" / kind / "_tables.py").read_text(encoding="utf-8")
    names: dict = {}
    exec(committed, names)
    every = source.known(SimpleNamespace(**names))
    for release in (names["RELEASES"][0], names["RELEASES"][len(every) // 2], names["RELEASES"][-1]):
        shorter: dict = {}
        exec(source.text({version: facts for version, facts in every.items() if version != release}), shorter)
        assert release not in shorter["RELEASES"]
        others = source.known(SimpleNamespace(**shorter))
        assert source.text({**others, release: every[release]}) == committed, release


# GPT-NeoX


def test_neox_reads_arguments():
    assert facts("neox", TREES / "neox_arguments") == {
        "layers": {"type": ["integer", "null"], "default": None},
        "norm": {"enum": ["layernorm", "rmsnorm", None], "x-enum-case": "unchecked", "default": "layernorm"},
        "ports": {"type": ["integer", "null"], "x-reads": ["|", "int"], "default": 6000},
        "factor": {"type": ["number", "null"], "x-reads": ["|", "int", "float"], "default": None},
        "path": {"type": ["string", "null"], "x-reads": ["|", "str"], "default": None},
        "anything": {"x-any": True, "default": None},
        "git_hash": {"type": ["string", "null"]},
    }


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("model_args.py", "layers: int", "layers: tuple", "an annotation without a rule: tuple"),
        ("model_args.py", "Union[int, float]", "Union[int, set]", "a member of a union without a rule: set"),
        ("arguments.py", "[NeoXArgsModel]", "[NeoXArgsModel, NeoXArgsNew]", "not a class of this package"),
        ("arguments.py", "BASE_CLASSES = ", "BASES = ", "BASE_CLASSES, what NeoXArgs inherits, is missing"),
    ],
)
def test_neox_refuses_what_it_does_not_understand(changed, file, old, new, said):
    assert said in refusal("neox", changed("neox_arguments", file, old, new))


# accelerate


def test_accelerate_reads_fields_and_arguments():
    found = facts("accelerate", TREES / "accelerate")
    assert list(found) == ["environment", "num_processes", "ip", "names", "deepspeed_config", "fsdp_config", "dynamo_config", "role"]
    assert found["environment"] == {"enum": ["LOCAL", "CLOUD"]}
    assert found["names"] == {"type": ["array", "null"], "default": None}
    assert found["deepspeed_config"]["properties"] == {"zero_stage": {"default": None, "type": ["integer", "null"]}}
    assert found["fsdp_config"]["properties"]["fsdp_offload"]["type"] == ["boolean", "string"]
    assert found["fsdp_config"]["properties"]["offload"]["x-alias-of"] == "fsdp_offload"
    assert found["dynamo_config"]["properties"]["dynamo_fast"] == {"type": "boolean", "default": False, "x-aliases": ["fast"]}


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("commands/launch.py", 'deepspeed_args.add_argument("--zero', 'other_args.add_argument("--zero', "belongs to no block"),
        ("commands/launch.py", "type=int", "type=Decimal", "the type Decimal without a rule"),
        ("commands/config/config_args.py", "ip: Optional[str]", "ip: Optional[bytes]", "an annotation without a rule"),
        ("commands/config/config_args.py", "    fsdp_config: Optional[dict] = None\n", "", "no field for the block fsdp_config"),
    ],
)
def test_accelerate_refuses_what_it_does_not_understand(changed, file, old, new, said):
    assert said in refusal("accelerate", changed("accelerate", file, old, new))


@pytest.mark.parametrize("kind", ["accelerate", "deepspeed", "huggingface", "neox"])
def test_another_folder_is_refused(kind, tmp_path):
    assert "no " in refusal(kind, tmp_path)


# Facts and notes together

HEAD = {"title": "T", "description": "D.", "type": "object", "x-framework": {"name": "transformers"}}


@pytest.fixture
def built(tmp_path, monkeypatch):
    """Build a schema of two facts with given notes."""
    import schema_merge

    def build(keys: dict, mentioned=lambda file, key: True, histories=None) -> dict:
        (tmp_path / "sample.json").write_text(json.dumps({"head": HEAD, "keys": keys}))
        monkeypatch.setattr(schema_merge, "NOTES", tmp_path)
        sample = {"steps": {"type": "integer", "default": 1}, "part": {"type": "object", "properties": {"rate": {"default": None}}}}
        return json.loads(schema_merge.build("sample", "9.9.9", sample, mentioned, histories=histories))

    return build


@pytest.fixture
def committed(tmp_path, monkeypatch):
    """Lay down a schema as the one of the last rebuilding, by its properties."""
    import schema_merge

    def commit(properties: dict) -> None:
        (tmp_path / "schemas").mkdir()
        (tmp_path / "schemas" / "sample.json").write_text(json.dumps({"properties": properties}))
        monkeypatch.setattr(schema_merge, "SCHEMAS", tmp_path / "schemas")

    return commit


NOTES = {
    "steps": {"description": "How many."},
    "part": {"description": "A part."},
    "part.rate": {"description": "How fast.", "type": "number"},
}


def test_notes_complete_the_facts(built):
    schema = built(NOTES)
    assert schema["x-framework"] == {"name": "transformers", "version": "9.9.9"}
    assert list(schema["properties"]["steps"]) == ["description", "type", "default"]
    assert schema["properties"]["part"]["properties"]["rate"] == {"description": "How fast.", "type": "number", "default": None}


def test_notes_replace_what_a_key_takes(built):
    schema = built({**NOTES, "steps": {"description": "How many.", "enum": [1, 2]}})
    assert schema["properties"]["steps"] == {"description": "How many.", "enum": [1, 2], "default": 1}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"steps": {"type": "integer"}}, "steps: not described"),
        ({"part.rate": {"description": "How fast."}}, "part.rate: neither the source nor the notes have its type"),
        ({"gone": {"description": "Was."}}, "gone: a note, but the source no longer has the key"),
        ({"steps": {"description": "Was.", "x-removed": "9.0"}}, "steps: noted as removed, but the source has it"),
        ({"nowhere.key": {"description": "X."}}, "nowhere.key: a note, but the source has no nowhere"),
        ({"far": {"description": "X.", "type": "string", "x-read-in": "far.py"}}, "far: far.py does not read it any more"),
    ],
)
def test_notes_that_do_not_fit_are_refused(built, change, said):
    from schema_source import SourceError

    with pytest.raises(SourceError) as raised:
        built({**NOTES, **change}, mentioned=lambda file, key: False)
    assert said in str(raised.value)


HISTORY = {"x-default-history": [{"since": "0", "default": 2}, {"since": "9.9.9", "default": 1}]}
DATED = {"x-since": "9.9.9"}


@pytest.mark.parametrize(
    ("note", "said"),
    [
        ({}, "steps: the default was 2 and is 1: new since 9.9.9? Say x-default-history"),
        ({"x-default-history": [{"since": "0", "default": 3}, {"since": "9.9.9", "default": 1}]}, "steps: the default was 2"),
        ({"x-default-history": HISTORY["x-default-history"][:1]}, "steps: the default was 2"),
        (HISTORY, ""),
    ],
)
def test_a_changed_default_needs_its_history(built, committed, note, said):
    from schema_source import SourceError

    committed({"steps": {"default": 2}, "part": {"properties": {"rate": {}}}})
    notes = {**NOTES, "steps": {**NOTES["steps"], **note}}
    if not said:
        assert built(notes)["properties"]["steps"]["default"] == 1
        return
    with pytest.raises(SourceError) as raised:
        built(notes)
    assert str(raised.value).startswith(said)


def test_a_default_inside_a_section_needs_its_history(built, committed):
    from schema_source import SourceError

    committed({"steps": {}, "part": {"properties": {"rate": {"default": 0.5}}}})
    with pytest.raises(SourceError, match=r"part\.rate: the default was 0\.5 and is null"):
        built(NOTES)


def test_a_new_key_needs_its_release(built, committed):
    from schema_source import SourceError

    committed({"part": {"properties": {"rate": {}}}})
    with pytest.raises(SourceError, match="steps: a new key: since 9"):
        built(NOTES)
    gone = {"description": "X.", "type": "string", "x-removed": "9.0"}
    assert {"steps", "gone"} <= built({**NOTES, "steps": {**NOTES["steps"], **DATED}, "gone": gone})["properties"].keys()


def test_a_new_key_of_a_section_needs_its_release(built, committed):
    from schema_source import SourceError

    committed({"steps": {}, "part": {"properties": {}}})
    with pytest.raises(SourceError, match=r"^part\.rate: a new key: since 9"):
        built(NOTES)
    assert built({**NOTES, "part.rate": {**NOTES["part.rate"], **DATED}})["properties"]["part"]["properties"]["rate"]["x-since"] == "9.9.9"


def test_histories_come_from_the_tables(built):
    """The notes say nothing of the releases of a framework whose tables have all of them; a removed key needs a description only."""
    rate = {"x-default-history": [{"since": "0", "default": 2.0}, {"since": "9.0", "default": 0.5}]}
    gone = {"x-removed": "9.0", "default": 4, "type": "integer"}
    made = built({**NOTES, "gone": {"description": "Was."}}, histories={("part", "rate"): rate, ("gone",): gone, ("other", "gone"): gone})
    assert made["properties"]["part"]["properties"]["rate"]["x-default-history"] == rate["x-default-history"]
    assert made["properties"]["gone"] == {"description": "Was.", "deprecated": True, **gone}
    assert "other" not in made["properties"]


def test_keys_of_other_packages_are_taken_on_trust(built):
    note = {"description": "X.", "type": "string", "x-read-in": "package:other"}
    assert "far" in built({**NOTES, "far": note}, mentioned=lambda file, key: False)["properties"]


# The real frameworks


def real(kind: str, package: str | None) -> Path:
    """The folder of a framework, or a skip that says how to give one."""
    variable = f"CFGLINT_{(package or kind).upper()}"
    if variable in os.environ:
        return Path(os.environ[variable])
    spec = importlib.util.find_spec(package) if package else None
    if spec is None or spec.origin is None:
        pytest.skip(f"{package or kind} is not here; {variable} can name its folder")
    return Path(spec.origin).parent


@pytest.mark.parametrize(
    ("kind", "package"),
    [
        ("accelerate", "accelerate"),
        ("axolotl", "axolotl"),
        ("deepspeed", "deepspeed"),
        ("huggingface", "transformers"),
        ("llamafactory", "llamafactory"),
        ("neox", None),
        ("trl", "trl"),
    ],
)
def test_the_committed_schema_is_what_the_framework_gives(kind, package):
    path = real(kind, package)
    committed = json.loads((ROOT / "schemas" / f"{kind}.json").read_text())["x-framework"]["version"]
    command = [sys.executable, str(ROOT / "tools" / "rebuild_schema.py"), kind, str(path), "--check"]
    command += ["--release", committed] if package is None else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if f"{committed} " not in f"{release(kind, path, committed)} ":
        pytest.skip(f"{package} here is {release(kind, path, committed)}, the schema is of {committed}")
    assert done.returncode == 0, done.stderr


def release(kind: str, path: Path, default: str) -> str:
    source = importlib.import_module(f"schema_{kind}")
    return source.version(source.find(path)) or default


PARSED = {  # what TRL's parser makes of a string: the types that the schema may have; a tuple is left a string
    "int": {"integer"},
    "float": {"number"},
    "bool": {"boolean"},
    "dict": {"object"},
    "str": {"string", "object", "array"},
    "enum": {"string"},
}


KINDS = sorted(path.stem for path in (ROOT / "tools" / "notes").glob("*.json"))
OF_WHEELS = {
    "accelerate",
    "axolotl",
    "deepspeed",
    "huggingface",
    "llamafactory",
    "openrlhf",
    "swift",
    "trl",
    "verl",
}  # whose tables tools/rebuild_tables.py makes
TABLES = sorted(path.parent.name for path in (ROOT / "cfglint" / "frameworks").glob("*/_tables.py"))


@pytest.mark.parametrize("kind", [kind for kind in TABLES if kind not in OF_WHEELS])
def test_tables_are_what_the_schema_gives(kind):
    """`python tools/rebuild_schema.py KIND PATH` writes them together with the schema."""
    text = (ROOT / "schemas" / f"{kind}.json").read_text(encoding="utf-8")
    committed = ROOT / "cfglint" / "frameworks" / kind / "_tables.py"
    assert importlib.import_module(f"schema_{kind}").tables(json.loads(text)) == committed.read_text(encoding="utf-8")


def test_trl_tables_are_in_the_form_of_the_tool_and_agree_with_the_schema():
    """Their source is the wheels of all releases, with which `bash .ci/run` compares them; without these, the schema is."""
    names = {}
    committed = (ROOT / "cfglint" / "frameworks" / "trl" / "_tables.py").read_text(encoding="utf-8")
    exec(committed, names)
    source = importlib.import_module("tables_trl")
    assert source.text(source.known(SimpleNamespace(**names))) == committed
    schema = json.loads((ROOT / "schemas" / "trl.json").read_text(encoding="utf-8"))
    newest = RELEASES_OF_TRL.at(parse_version(schema["x-framework"]["version"]))
    stable = {section: found for section, found in newest.items() if section not in names["STABLE"]}  # the schema has no others
    assert disagreements(stable, schema["properties"]) == []


def disagreements(classes, properties):
    """Fields of the newest release whose type or default is not that of the schema."""
    found, defaults = [], {}
    for name, fields in classes.items():
        for field, (_, kind, default, *_) in fields.items():
            types = properties[field].get("type", [])
            if types and PARSED.get(kind.removesuffix("|None"), {"array"}).isdisjoint([types] if isinstance(types, str) else types):
                found.append((name, field, kind, types))
            defaults.setdefault(field, []).append(repr(default))
    for field, values in defaults.items():
        agreed = values[0] if len(set(values)) == 1 and values[0] != "'required'" else None
        told = repr(properties[field]["default"]) if "default" in properties[field] else None
        if agreed != told:
            found.append((field, values, told))
    return found


def test_every_generated_table_has_a_tool():
    with_tool = {kind for kind in KINDS if hasattr(importlib.import_module(f"schema_{kind}"), "tables")}
    assert with_tool | OF_WHEELS == set(TABLES) >= {"axolotl", "deepspeed", "huggingface", "llamafactory", "neox"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_is_named_in_the_pages(kind):
    module = importlib.import_module("schema_merge")
    for path, text in module.named(kind, "9.9.9").items():
        changed = [new for old, new in zip(path.read_text(encoding="utf-8").splitlines(), text.splitlines(), strict=True) if old != new]
        assert len(changed) == 1 or (path.suffix == ".toml" and not changed), path
        assert all("9.9.9" in line for line in changed)


def test_a_new_kind_gets_its_rows(tmp_path, monkeypatch):
    module = importlib.import_module("schema_merge")
    for name in ("NOTES", "SCHEMAS", "ROOT"):
        monkeypatch.setattr(module, name, tmp_path / name.lower())
    texts = {
        "notes/new.json": '{"head": {"title": "new configs", "x-framework": {"name": "newlib"}}}',
        "schemas/trl.json": '{"x-framework": {"name": "trl", "version": "1.0"}}',
        "root/README.md": "| kind |\n| `trl` | trl 1.0 |\n\n| `other` |\n",
        "root/editors/schemas.md": "| `trl.json` | of trl | 1.0 |\n",
        "root/pyproject.toml": "conformance = []\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    readme, page, project = module.named("new", "2.0").values()
    assert readme == "| kind |\n| `trl` | trl 1.0 |\n| `new` | new configs | newlib 2.0 |\n\n| `other` |\n"
    assert page == "| `trl.json` | of trl | 1.0 |\n| `new.json` | new configs | 2.0 |\n"
    assert project == texts["root/pyproject.toml"]


def test_the_newest_releases_are_those_of_the_schemas():
    module = importlib.import_module("schema_merge")
    assert module.releases() == module.RELEASES.read_text(encoding="utf-8")
