"""Which files are found, which belong together, and what becomes of those that are not recognised."""

from __future__ import annotations

import gc
import subprocess
import weakref

import pytest

from cases import each_case
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.run.broken import closest_kind
from cfglint.run.discovery import Discovery
from cfglint.run.paths import ScanStats
from cfglint.source import file_source, files

DEEPSPEED = '{"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 2}}\n'
TRAINER = "output_dir: out\nper_device_train_batch_size: 4\nlearning_rate: 1.0e-4\n"
FED_BY_THE_TRAINER = ("huggingface", "trl", "llamafactory", "axolotl")


@pytest.fixture
def project(tmp_path, monkeypatch):
    def lay_out(**files):
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/").replace("_dot_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode() if isinstance(text, str) else text)
        (tmp_path / ".git").mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path)
        return tmp_path

    return lay_out


def found(*paths):
    discovery = Discovery(LaunchFacts())
    runs = discovery.runs(list(paths))
    return [[document.path for document in run.documents] for run in runs], discovery.request.stats


def test_a_file_named_from_a_folder_above(project):
    project(a__b__train_dot_yaml=TRAINER + "deepspeed: configs/ds.json\n", a__configs__ds_dot_json=DEEPSPEED)
    assert found("a/b/train.yaml")[0] == [["a/b/train.yaml", "a/configs/ds.json"]]


def test_an_option_of_a_hydra_config_group_is_no_run(project):
    project(conf__config_dot_yaml="defaults:\n- training: sft\n- _self_\n", conf__training__sft_dot_yaml=TRAINER)
    assert found(".")[0] == []
    assert found("conf/training/sft.yaml")[0] == [["conf/training/sft.yaml"]]


def test_a_config_with_a_defaults_list_is_read_by_hydra_and_by_no_trainer(project):
    project(conf__config_dot_yaml="defaults:\n- optimizer: adam\n- _self_\n" + TRAINER)
    assert found(".")[0] == []
    assert found("conf/config.yaml")[0] == []


@pytest.mark.parametrize("path", [".", "train.yaml"])
def test_a_path_is_looked_at_read_and_parsed_once(project, monkeypatch, path):
    project(train_dot_yaml=TRAINER, b_dot_yaml=TRAINER, ds_dot_json=DEEPSPEED, ci_dot_yml="jobs: {}\n" * 30)
    counted = []
    for place, name in ((Discovery, "_runs_in"), (files, "read_bytes"), (file_source, "parse")):
        real = getattr(place, name)
        monkeypatch.setattr(place, name, lambda *given, name=name, real=real: counted.append(name) or real(*given))
    assert len(found(path)[0]) == (3 if path == "." else 1)
    every = 4 if path == "." else 1  # `ci.yml` is recognised without being parsed
    # The others are read once for the name of the file: one of them may read it.
    assert [counted.count(name) for name in ("_runs_in", "read_bytes", "parse")] == [every, 4, min(every, 3)]


def test_a_file_above_the_project_is_not_looked_for(project, tmp_path, monkeypatch):
    project(ds_dot_json=DEEPSPEED, top__b__train_dot_yaml=TRAINER + "deepspeed: ds.json\n")
    (tmp_path / "top" / ".git").mkdir()
    monkeypatch.chdir(tmp_path / "top")
    assert found("b/train.yaml")[0] == [["b/train.yaml"]]


def test_what_git_tracks_is_not_ignored(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scripts").mkdir()
    for name in ("ds_a.json", "ds_b.json"):
        (tmp_path / "scripts" / name).write_text(DEEPSPEED, encoding="utf-8")
    (tmp_path / ".gitignore").write_text("scripts/\n", encoding="utf-8")
    for arguments in (["init", "-q"], ["add", "-f", "scripts/ds_a.json", ".gitignore"]):
        subprocess.run(["git", *arguments], check=True, cwd=tmp_path)
    assert found(".")[0] == [["./scripts/ds_a.json"]]
    subprocess.run(["git", "update-index", "--index-version", "4"], check=True, cwd=tmp_path)
    assert found(".")[0] == [["./scripts/ds_a.json"]]


def test_a_config_extension(project):
    project(stage2_dot_config=DEEPSPEED, app_dot_config="<configuration/>\n")
    assert found(".")[0] == [["./stage2.config"]]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", "{% set size = 4 %}\n" + TRAINER),
        ("a.yaml", "<<<<<<< HEAD\n" + TRAINER),
        ("a.yaml", "\t" + TRAINER),
        ("a.yaml", TRAINER.replace(": ", " ", 1)),
        ("a.yaml", TRAINER.replace(": ", ":")),
        ("a.yaml", b"# \xe9t\xe9\n" + TRAINER.encode()),
        ("a.json", DEEPSPEED[1:]),
        ("a.json", '{"train_micro_batch_size_per_gpu"'),
        ("a.json", "<html>\n" + DEEPSPEED),
        ("a.json", "{," + DEEPSPEED[1:]),
    ],
)
def test_a_broken_file_is_told_by_its_keys(project, name, text):
    folder = project()
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    runs, _ = found(".")
    assert runs == [[f"./{name}"]]


def test_broken_files_of_others_are_left_alone(project):
    project(a_dot_yaml="{% if x %}\nname: web\nimage: y\n", b_dot_json='{"name": "x",,}')
    runs, stats = found(".")
    assert (runs, stats.remnants) == ([], ["./a.yaml", "./b.json"])


def test_what_may_be_left_of_a_config_is_named(project):
    """Empty files, beginnings of files, comments alone."""
    left = {"a.yaml": "", "b.json": " \n", "c.json": '{\n  "train', "d.yaml": "model_na", "e.yml": "# Suggested data paths\n"}
    folder = project(other_dot_yaml="name: web\nimage: y\n")
    for name, text in left.items():
        (folder / name).write_text(text)
    runs, stats = found(".")
    assert runs == []
    assert sorted([*stats.remnants, *stats.unclear]) == [f"./{name}" for name in left]
    assert stats.unrecognized == 1


def test_typographic_quotes(project):
    project(ds_dot_json=DEEPSPEED.replace('"', "\u201d"))
    assert found(".")[0] == [["./ds.json"]]


def test_a_named_file_that_is_not_recognised(project):
    project(slip_dot_yaml="output_dir: out\nlearning_rate: 1.0e-4\nper_device_train_batch_sze: 4\n")
    runs, stats = found("slip.yaml")
    assert runs == []
    [(path, names)] = stats.unrecognized_named
    assert (path, closest_kind(names)) == ("slip.yaml", "huggingface")


def test_a_missing_file_that_is_named(project):
    project(train_dot_yaml=TRAINER + "deepspeed: nope.json\n")
    [run] = Discovery(LaunchFacts()).runs(["train.yaml"])
    assert [(each.code, each.severity, each.key) for each in run.diagnostics] == [("RUN010", "warning", "/deepspeed")]
    run = Discovery(LaunchFacts(complete=True)).together(["train.yaml"])[0]
    assert [(each.code, each.severity) for each in run.diagnostics] == [("RUN010", "error")]


@each_case(
    ("kind", "value", "refused"),
    [
        *(
            (kind, value, True)
            for kind in ("huggingface", "trl", "llamafactory", "axolotl")
            for value in ("none", "None", "'null'", "zero3", "auto")
        ),
        ("huggingface", "ds/zero2", True),
        ("huggingface", "'1'", True),
        ("huggingface", "eyJ6ZXJvX29wdGltaXphdGlvbiI6IHt9fQ==", False),
        ("huggingface", "off", False),
        ("huggingface", "''", False),
        ("huggingface", "${oc.env:DS}", False),
        ("huggingface", "/data/zero3", False),
    ],
)
def test_a_word_for_deepspeed_is_the_name_of_a_file(project, kind, value, refused):
    """accelerate's HfDeepSpeedConfig takes a path that exists, a mapping, or JSON in base64; no framework has names for configurations."""
    project(train_dot_yaml=f"output_dir: out\ndeepspeed: {value}\n")
    run = Discovery(LaunchFacts(complete=True, kind_given=True), kind).together(["train.yaml"])[0]
    found = [each.severity for each in run.diagnostics if each.code == "RUN010"]
    assert found == (["error"] if refused else [])
    assert not any(each.code == "TYP003" for each in run.diagnostics if each.key == "/deepspeed")


def test_a_placeholder_for_deepspeed_is_not_a_missing_file(project):
    project(train_dot_yaml=TRAINER + "deepspeed: __DEEPSPEED__\n")
    [run] = Discovery(LaunchFacts()).runs(["train.yaml"])
    assert run.diagnostics == []


def test_a_word_for_accelerates_deepspeed_file(project):
    """`none` is accelerate's own word for no file (1.15.0 utils/dataclasses.py, DeepSpeedPlugin)."""
    block = "distributed_type: DEEPSPEED\nnum_processes: 2\ndeepspeed_config:\n  deepspeed_config_file: "
    for word, found in (("zero3", ["RUN010"]), ("none", [])):
        project(acc_dot_yaml=block + word + "\n")
        run = Discovery(LaunchFacts(complete=True), "accelerate").together(["acc.yaml"])[0]
        assert [each.code for each in run.diagnostics if each.code == "RUN010"] == found


@pytest.mark.parametrize(
    ("text", "version", "codes"),
    [
        ("fsdp: full_shard\nfsdp_config: steps\n", "5.23.0", ["RUN010"]),
        ("fsdp_config: steps\n", "5.23.0", []),
        ("fsdp_config: steps\n", "5.9.0", ["RUN010"]),
        ("accelerator_config: steps\n", "5.23.0", ["RUN010"]),
        ("fsdp: full_shard\nfsdp_config: none\n", "5.23.0", ["RUN010"]),
        ("accelerator_config: none\n", "5.23.0", ["RUN010"]),
    ],
)
def test_a_missing_file_of_any_ending(project, text, version, codes):
    """TrainingArguments of transformers 5.23.0, 5.6.0 and 4.51.3 raise FileNotFoundError, 5.23.0 without `fsdp` does not."""
    project(train_dot_yaml=TRAINER + text)
    run = Discovery(LaunchFacts(complete=True, gpus=8, target={"transformers": version})).together(["train.yaml"])[0]
    assert [each.code for each in run.diagnostics if each.severity == "error"] == codes


def test_options_of_the_launcher_are_not_the_program_s(project):
    line = "torchrun --nproc_per_node=8 train.py train.yaml --deepspeed=ds.json\n"
    project(train_dot_yaml=TRAINER, ds_dot_json=DEEPSPEED, run_dot_sh=line)
    [run] = Discovery(LaunchFacts()).runs(["run.sh"])
    assert run.bugs == []
    assert run.facts.gpus == 8


def test_a_text_without_its_start_is_told_by_the_keys_after_its_first_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = '  "min_lr": 0.00002,\n  "pipe_parallel_size": 1,\n  "gradient_clipping": 1.0,\n  "hidden_dropout": 0,\n  "warmup": 0.01\n}\n'
    (tmp_path / "a.yml").write_text(' "eps": 1.0e-8,\n    }\n  },\n' + lines)
    (tmp_path / "b.yml").write_text('ps": 1.0e-8,\n    }\n  },\n' + lines)
    (tmp_path / "other.yml").write_text("jobs: [\n  build: x\n  test: y\n  deploy: z\n")
    runs = Discovery(LaunchFacts()).runs(["."])
    assert [(run.documents[0].path, run.kinds) for run in runs] == [("./a.yml", ["neox"]), ("./b.yml", ["neox"])]
    assert {run.verdict for run in runs} == {"reject"}


@pytest.mark.parametrize(("head", "codes"), [("", ["TYP200"]), ("training_args:\n", [])])
def test_the_parser_of_a_section_may_be_one_of_yaml_1_2(project, head, codes):
    indent = "  " if head else ""
    text = head + "".join(f"{indent}{line}\n" for line in TRAINER.replace("1.0e-4", "5e-5").splitlines())
    project(train_dot_yaml=text)
    [run] = Discovery(LaunchFacts()).runs(["train.yaml"])
    assert [each.code for each in run.diagnostics] == codes


@each_case(
    ("name", "text"),
    [
        ("ds.json", DEEPSPEED.replace("4", '"x"')),
        ("train.yaml", TRAINER.replace("4", "[1]")),
        ("axolotl.yaml", "base_model: x\nmicro_batch_size: y\ndatasets: [{path: a, type: alpaca}]\nadapter: lora\nsample_packing: true\n"),
        (
            "neox.yml",
            '{"pipe_parallel_size": 1, "model_parallel_size": 1, "num_layers": 2, "train_micro_batch_size_per_gpu": "x"}\n',
        ),
    ],
)
def test_a_run_is_freed_without_the_garbage_collector(project, name, text):
    project(**{name.replace(".", "_dot_"): text})
    gc.collect()
    gc.disable()
    try:
        run = next(iter(Discovery(LaunchFacts()).runs([name])))
        assert any(each.severity == "error" for each in run.diagnostics)
        config = weakref.ref(run.configs[0])
        del run
        assert config() is None
    finally:
        gc.enable()


def test_what_a_process_counts_is_counted_in_the_whole():
    """Each process has its own numbers, which are added: none is left out, and numbers of two processes are not those of one."""
    values = {"set": {"a"}, "int": 2, "list": ["a"], "dict": {"a": 2}}
    one, two, whole = ScanStats(), ScanStats(), ScanStats()
    for name in ScanStats.__slots__:
        value = {"a": ["b"]} if name == "targets" else values[type(getattr(whole, name)).__name__]
        setattr(one, name, value)
        setattr(two, name, {"b": value["a"]} if isinstance(value, dict) else {"b"} if isinstance(value, set) else value)
    for each in (one, two, one):
        whole.add(each)
    for name in ScanStats.__slots__:
        found = getattr(whole, name)
        if isinstance(found, dict):
            assert sorted(found) == ["a", "b"], name
        elif isinstance(found, set):
            assert found == {"a", "b"}, name
        elif isinstance(found, list):
            assert found == ["a", "a", "a"], name
    assert (whole.unrecognized, whole.unsearched, whole.unmodelled, whole.related_tools) == (6, 2, {"a": 4, "b": 2}, {"a": 4, "b": 2})
    assert whole.targets == {"a": ["b"], "b": ["b"]}
