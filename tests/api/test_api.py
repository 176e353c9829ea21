"""The functions that a program or a notebook calls."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import cfglint
from cases import each_case
from cfglint.generators import job_spec
from cfglint.generators.job_spec import JobSpec
from cfglint.rewrite.own_sizes import reach_target
from cfglint.rewrite.retarget import MissingFactError

TEXT = '{"train_batch_size": 256, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 4}\n'


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "ds_config.json"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_importing_the_package_imports_nothing_else():
    code = "import sys; before = set(sys.modules); import cfglint; print(sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(ast.literal_eval(done.stdout)) - {"__future__"} == {"cfglint", "cfglint.version"}


def test_no_module_hides_a_function():
    """Importing `cfglint.NAME` as a module would set the attribute of that name, whatever the order of imports."""
    assert not set(cfglint.__all__) & {each.name for each in pkgutil.iter_modules(cfglint.__path__)}
    for module in ("explanation.summary", "generators.job_spec"):
        importlib.import_module(f"cfglint.{module}")
    assert all(cfglint.__getattr__(name) is getattr(cfglint, name) is getattr(cfglint.api, name) for name in cfglint.__all__)


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="module 'cfglint' has no attribute 'chekc'"):
        cfglint.chekc  # noqa: B018


class TestCheck:
    def test_a_path(self, file):
        found = cfglint.check(file, gpus=8)
        assert not found
        assert [each.code for each in found.diagnostics] == ["BAT001"]
        assert [run.resolved["global_batch"] for run in found] == [256]
        assert "micro batch 4 x accumulation 4 x data parallel 8 = 128" in str(found)

    def test_a_text(self):
        assert cfglint.check({"ds_config.json": TEXT}, gpus=16)

    def test_texts_that_name_each_other(self):
        trainer = "output_dir: out\ndeepspeed: ds_config.json\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 4\n"
        found = cfglint.check({"train.yaml": trainer, "ds_config.json": TEXT}, gpus=16)
        assert [run.files for run in found] == [["train.yaml", "ds_config.json"]]
        assert [each.code for each in found.diagnostics] == ["RUN002"]

    def test_a_run_with_its_versions(self, file):
        [run] = cfglint.check([file], run=True, kind="deepspeed", gpus=16, target={"deepspeed": "0.14.0"})
        assert run.target["deepspeed"] == "0.14.0"

    def test_an_unrecognized_text_is_not_fine(self):
        result = cfglint.check({"typo.yaml": "per_device_train_batchsize: 4\n"}, gpus=8)
        assert not result
        assert result.unrecognized == ["typo.yaml"]
        assert "typo.yaml" in repr(result)

    def test_nothing_checked_is_not_fine(self, tmp_path):
        assert not cfglint.check(tmp_path)

    def test_rows(self, file):
        [row] = cfglint.check(file, gpus=8).to_dicts()
        assert (row["code"], row["key"]) == ("BAT001", "/train_batch_size")

    def test_a_path_that_is_not_there(self, tmp_path):
        with pytest.raises(cfglint.MissingFileError, match=r"gone\.json"):
            cfglint.check(tmp_path / "gone.json", kind="deepspeed")

    def test_an_override_that_is_a_number(self):
        text = '{"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 2}}'
        [run] = cfglint.check({"ds_config.json": text}, run=True, gpus=8, overrides={"train_micro_batch_size_per_gpu": 2})
        assert run.resolved["global_batch"] == 16

    def test_programs(self, tmp_path):
        code = "from transformers import TrainingArguments\nargs = TrainingArguments('o', per_device_train_batch_size=4{})\n"
        (tmp_path / "train.py").write_text(code.format(", warmup_step=5"))
        [run] = cfglint.check(tmp_path / "train.py", gpus=8)
        assert (run.resolved["global_batch"], [each.line for each in run.diagnostics]) == (32, [2])
        assert cfglint.explain(tmp_path / "train.py", gpus=8).resolved["global_batch"] == 32
        [text] = cfglint.fix(tmp_path / "train.py", gpus=8, global_batch=64).texts.values()
        assert "gradient_accumulation_steps=2" in text

    def test_a_page_in_a_notebook(self, file):
        shown = cfglint.check(file, gpus=8)._repr_html_()
        assert shown.startswith('<div class="cfglint notebook">')
        assert "would not start" in shown.lower()
        assert "<svg" in shown
        assert "<script" not in shown


class TestFix:
    def test_a_target(self):
        fixed = cfglint.fix({"ds_config.json": TEXT}, gpus=8, global_batch=512, from_gpus=16)
        assert fixed.feasible
        assert '"train_batch_size": 512' in fixed.texts["ds_config.json"]
        assert {each.key for each in fixed.changes} == {"/train_batch_size", "/gradient_accumulation_steps"}

    def test_out_of_reach(self, file):
        fixed = cfglint.fix(file, gpus=12, global_batch=256, from_gpus=16)
        assert not fixed.feasible
        assert fixed.texts == {}

    def test_what_rules_offer(self, file):
        fixed = cfglint.fix(file, from_gpus=8)
        assert fixed.feasible
        assert file.read_text(encoding="utf-8") == TEXT

    def test_a_safe_fix_without_a_target(self):
        text = TEXT.replace("256", "1024")
        found = cfglint.check({"ds_config.json": text}, run=True, gpus=8)
        assert [each.fix.title for each in found.diagnostics if each.fix] == ["set `gradient_accumulation_steps` to 32"]

    def test_too_little_is_known(self):
        with pytest.raises(MissingFactError):
            cfglint.fix({"ds_config.json": '{"train_micro_batch_size_per_gpu": 4}'}, global_batch=64)


class TestArguments:
    @each_case("gpus", ["8", 0, -1, 8.0, True])
    def test_a_count_that_is_none(self, file, gpus):
        with pytest.raises(cfglint.ArgumentError, match="gpus must be a positive integer, not"):
            cfglint.check(file, gpus=gpus)

    def test_a_misspelt_argument(self, file):
        with pytest.raises(TypeError, match="gpuz"):
            cfglint.check(file, gpuz=8)

    def test_a_version_that_is_none(self, file):
        with pytest.raises(cfglint.ArgumentError, match="'nonsense' is not a version of deepspeed"):
            cfglint.check(file, target={"deepspeed": "nonsense"})

    def test_a_kind_that_is_none(self, file):
        with pytest.raises(cfglint.ArgumentError, match="kind must be one of"):
            cfglint.check(file, kind="deepsped")

    def test_errors_have_one_base(self):
        errors = [cfglint.MissingFactError, cfglint.EditRefused, cfglint.UnknownKindError, cfglint.ArgumentError, cfglint.MissingFileError]
        assert all(issubclass(error, cfglint.CfglintError) for error in errors)


class TestPlan:
    def test_several_counts(self, file):
        planned = cfglint.plan(file, gpus=[8, 12, 16])
        assert [each["feasible"] for each in planned.plans] == [True, False, True]
        assert planned
        assert "not reachable" in str(planned)
        assert '<table class="plan">' in planned._repr_html_()


class TestDiff:
    def test_two_texts(self, file):
        compared = cfglint.diff(file, {"ds_config.json": TEXT.replace("256", "128")}, gpus=8)
        assert compared
        assert "starts now" in str(compared)
        assert "starts now" in compared._repr_html_()

    def test_no_change(self, file):
        assert not cfglint.diff(file, file, gpus=8)


def test_results_and_findings_show_what_they_hold(file):
    """In a console or a debugger nothing is an address in memory."""
    assert repr(cfglint.check(file, gpus=8).runs[0]) == f"<Outcome of {file}: reject, findings: 1>"
    [finding] = cfglint.check(file, gpus=8).diagnostics
    assert repr(finding).startswith(f"<{file}:1:22: error BAT001: `train_batch_size` is 256, but ")
    assert (finding.line, finding.column, repr(finding.place)) == (1, 22, f"<Place {file}:1:22>")
    [misspelt] = cfglint.check({"ds.json": TEXT.replace("train_batch_size", "train_batchsize")}, kind="deepspeed").diagnostics
    assert repr(misspelt.fix).startswith("<Unsafe fix: rename")
    assert repr(misspelt.fix.edits[0]).startswith("<FileEdit of ds.json, 1 to ")
    assert repr(cfglint.plan(file, gpus=[8, 16], global_batch=256)) == "<PlanResult: works on 8, 16 GPUs>"
    assert repr(cfglint.plan(file, gpus=3, global_batch=256)) == "<PlanResult: no GPU count works>"


@pytest.mark.parametrize("gpus", ["8", 8.0, None, [8, "16"]])
def test_a_plan_takes_one_count_or_several(file, gpus):
    with pytest.raises(cfglint.ArgumentError, match=r"gpus must be a positive integer( or several)?, not "):
        cfglint.plan(file, gpus=gpus, global_batch=256)


def test_the_page_of_the_library_is_true(root, example_project, monkeypatch):
    """Its examples are one session, run beside `examples`."""
    monkeypatch.chdir(example_project)
    page = (root / "docs" / "library.md").read_text(encoding="utf-8")
    session = "\n".join(block.partition("```")[0] for block in page.split("```pycon\n")[1:])
    printed: list[str] = []
    examples = doctest.DocTestParser().get_doctest(session, {}, "library.md", None, None)
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples, out=printed.append)
    assert "".join(printed) == ""
    assert len(examples.examples) >= 10


def test_a_kind_is_that_of_both_sides():
    texts = [{"a.yaml": f"learning_rate: {rate}\n"} for rate in ("1.0e-5", "2.0e-5")]
    assert cfglint.diff(*texts, kind="huggingface")


class TestExplain:
    def test_numbers_with_their_origin(self, file):
        explained = cfglint.explain(file, gpus=16)
        assert explained
        assert explained.resolved["global_batch"] == 256
        assert {"train_batch_size"} <= {row["key"].strip("/") for row in explained.settings}
        assert "global batch" in str(explained)


class TestNew:
    def test_files_that_pass_their_own_check(self):
        made = cfglint.new("deepspeed", gpus=8, global_batch=256, micro_batch=4, zero=2)
        [(name, text)] = made.texts.items()
        assert cfglint.check({name: text}, run=True, gpus=8).runs[0].resolved["global_batch"] == 256

    def test_written_once(self, tmp_path):
        made = cfglint.new("deepspeed", gpus=8, global_batch=256, micro_batch=4)
        [path] = made.write(tmp_path)
        assert (tmp_path / path).read_text(encoding="utf-8") == next(iter(made.texts.values()))
        with pytest.raises(cfglint.CfglintError):
            made.write(tmp_path)

    def test_a_fact_that_is_none(self):
        with pytest.raises(TypeError, match="gpsu"):
            cfglint.new("deepspeed", gpsu=8)


class TestWrite:
    def test_an_edit_is_checked_on_the_gpus_of_the_target(self, monkeypatch):
        """A wrong edit, which only the number of GPUs shows, is refused."""

        def wrong(*asked):
            found = reach_target(*asked)
            found.texts = {name: text.replace('steps": 8', 'steps": 4') for name, text in found.texts.items()}
            return found

        monkeypatch.setattr(cfglint.api, "reach_target", wrong)
        with pytest.raises(cfglint.EditRefused, match="with the edit `check` would report BAT001"):
            cfglint.fix({"ds_config.json": TEXT}, gpus=16, global_batch=512, from_gpus=16)

    def test_a_fix_is_written(self, file):
        fixed = cfglint.fix(file, gpus=8, global_batch=512, from_gpus=16)
        assert fixed.write() == [str(file)]
        assert file.read_text(encoding="utf-8") == fixed.texts[str(file)]
        assert {row["key"] for row in fixed.to_dicts()} == {"/train_batch_size", "/gradient_accumulation_steps"}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: cfglint.check({"ds.json": "{}"}, target={"deepsped": "0.19.8"}),
            "target: unknown package `deepsped`; did you mean `deepspeed`?",
        ),
        (lambda: cfglint.check(5), "sources must be a path, several paths or a mapping from names to contents, not 5"),
        (lambda: cfglint.check("missing.json"), "does not exist or cannot be read: missing.json"),
        (lambda: cfglint.plan({"ds.json": "{}"}, gpus=[]), "gpus must have at least one count"),
        (lambda: cfglint.explain({"a.json": "{"}), "pass kind accelerate|"),
        (lambda: cfglint.new("deepspeed"), "gpus is required"),
    ],
)
def test_errors_name_keyword_arguments_and_what_is_wrong(call, words):
    with pytest.raises(cfglint.CfglintError, match=re.escape(words)) as caught:
        call()
    assert "--" not in str(caught.value)


def test_a_result_shows_what_has_to_be_set_elsewhere():
    ds = '{"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto"}'
    shown = repr(cfglint.fix({"ds_config.json": ds}, gpus=8, global_batch=64))
    assert shown.endswith("to be set elsewhere: per_device_train_batch_size = 4, gradient_accumulation_steps = 2>")


def test_the_settings_of_an_account_are_rows(tmp_path):
    (tmp_path / "ds.json").write_text('{"train_batch_size": 64, "gradient_accumulation_steps": 2}')
    rows = cfglint.explain(str(tmp_path / "ds.json"), kind="deepspeed", gpus=8).to_dicts()
    values = {row["key"].removeprefix("/"): row["value"] for row in rows}
    assert values["train_batch_size"] == 64
    assert values["gradient_accumulation_steps"] == 2


WRONG_VALUES = [
    (lambda: cfglint.check([5]), "sources: a path must be a string or a Path, not 5"),
    (lambda: cfglint.check(b"ds.json"), "sources must be a path, several paths or a mapping from names to contents, not b'ds.json'"),
    (lambda: cfglint.check({"ds.json": b"{}"}), "sources: the content of 'ds.json' must be a string, not b'{}'"),
    (lambda: cfglint.check([], run=True), "sources must have at least one file"),
    (lambda: cfglint.explain([]), "sources must have at least one file"),
    (lambda: cfglint.explain("."), ". is a folder; sources must be the files of one run"),
    (lambda: cfglint.check({"ds.json": "{}"}, run="yes"), "run must be True or False, not 'yes'"),
    (lambda: cfglint.check({"ds.json": "{}"}, strict_keys=1), "strict_keys must be True or False, not 1"),
    (lambda: cfglint.fix({"ds.json": TEXT}, unsafe="no"), "unsafe must be True or False, not 'no'"),
    (lambda: cfglint.check({"ds.json": "{}"}, gpus=10**30), "gpus must be a positive integer up to 10**18, not 1000"),
    (lambda: cfglint.check({"ds.json": "{}"}, target="5.23"), "target must be a mapping from packages to versions, not '5.23'"),
    (lambda: cfglint.check({"ds.json": "{}"}, target={5: "1.0"}), "target: 5 is not the name of a package"),
    (lambda: cfglint.check({"ds.json": "{}"}, overrides=["a=1"]), "overrides must be a mapping from keys to values, not ['a=1']"),
    (lambda: cfglint.check({"ds.json": "{}"}, overrides={5: 1}), "overrides: a key must be a string, not 5"),
    (lambda: cfglint.check({"ds.json": "{}"}, overrides={"lr": {1}}), "overrides: 'lr' must be a string, number, boolean, list, mapping"),
    (
        lambda: cfglint.check({"ds.json": "{}"}, overrides={"learning_rte": 1}),
        "overrides: unknown key 'learning_rte'; did you mean 'learning_rate'?",
    ),
    (lambda: cfglint.check({"ds.json": "{}"}, trainer="sftt"), "trainer must be one of sft"),
    (lambda: cfglint.check({"ds.json": "{}"}, model="no-such-model"), "model no-such-model: not a config.json"),
    (lambda: cfglint.check({"ds.json": "{}"}, model=7), "model must be a path or the name of a model, not 7"),
    (
        lambda: cfglint.check({"ds.json": "{}"}, gpu_memory="huge"),
        "gpu_memory must be GiB such as 79.2, or a card such as '80GB'",
    ),
    (lambda: cfglint.check({"ds.json": "{}"}, gpu_memory=-1), "gpu_memory must be GiB such as 79.2"),
    (lambda: cfglint.check({"ds.json": "{}"}, seq_length=0), "seq_length must be a positive integer, not 0"),
    (lambda: cfglint.plan({"ds.json": TEXT}, gpus=8, seconds_per_step="2"), "seconds_per_step must be a number above 0, not '2'"),
    (
        lambda: cfglint.plan({"ds.json": TEXT}, gpus=8, tokens_per_second=float("nan")),
        "tokens_per_second must be a number above 0",
    ),
    (lambda: cfglint.new("deepspeeed"), "kind must be one of accelerate, "),
    (lambda: cfglint.new("run", framework="torchtune", gpus=8), "framework must be one of huggingface, neox, not 'torchtune'"),
    (lambda: cfglint.new("deepspeed", gpus="8"), "gpus must be a positive integer, not '8'"),
    (lambda: cfglint.new("deepspeed", gpus=8, zero=7), "zero must be one of 0, 1, 2, 3, not 7"),
    (lambda: cfglint.new("deepspeed", gpus=8, zero=True), "zero must be one of 0, 1, 2, 3, not True"),
    (lambda: cfglint.new("huggingface", gpus=8, precision="bf17"), "precision must be one of bf16, fp16, fp32, not 'bf17'"),
    (lambda: cfglint.new("huggingface", gpus=8, learning_rate="2e-5"), "learning_rate must be a number above 0, not '2e-5'"),
    (lambda: cfglint.new("huggingface", gpus=8, weight_decay=-0.1), "weight_decay must be a number of at least 0, not -0.1"),
    (lambda: cfglint.new("huggingface", gpus=8, lora=1), "lora must be True or False, not 1"),
    (lambda: cfglint.new("huggingface", gpus=8, output_dir=5), "output_dir must be a string, not 5"),
    (lambda: cfglint.new("huggingface", gpus=8, seed=-1), "seed must be a positive integer, not -1"),
    (lambda: cfglint.new("huggingface", gpus=8, target={"transformers": "new"}), "target: 'new' is not a version of transformers"),
]


@each_case(("call", "words"), WRONG_VALUES)
def test_a_value_that_makes_no_sense_is_an_argument_error(call, words):
    """Never another exception, and never a switch that is on because its string is not empty."""
    with pytest.raises(cfglint.ArgumentError, match=re.escape(words)) as caught:
        call()
    assert "--" not in str(caught.value)


def test_new_has_an_argument_for_each_fact_of_a_job():
    arguments = inspect.signature(cfglint.new).parameters
    assert arguments.keys() - {"kind", "framework"} == set(JobSpec.NAMES)


def test_the_choices_of_a_job_are_those_of_their_types():
    """The tuples that the command line offers, and the types that a type checker knows."""
    source = Path(job_spec.__file__).read_text(encoding="utf-8")
    for name in ("Precision", "Optimizer", "Scheduler", "Offload"):
        [typed] = re.findall(rf"{name}: TypeAlias = Literal\[(.*)\]", source)
        assert getattr(job_spec, f"{name.upper()}S") == tuple(ast.literal_eval(f"[{typed}]"))


class TestMemory:
    SHAPE = "llama-2-7b"

    def test_a_run_that_does_not_fit(self):
        text = "output_dir: o\nper_device_train_batch_size: 16\nbf16: true\nnum_train_epochs: 1\nlearning_rate: 2.0e-5\n"
        found = cfglint.check({"train.yaml": text}, kind="huggingface", gpus=1, model=self.SHAPE, gpu_memory="H100", seq_length=4096)
        assert [each.code for each in found.diagnostics] == ["MEM001"]

    def test_the_entry_of_an_explanation(self):
        text = '{"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": true}, "zero_optimization": {"stage": 3}}'
        given = {"gpus": 8, "model": self.SHAPE, "gpu_memory": 79.2, "seq_length": 2048}
        explained = cfglint.explain({"ds.json": text}, kind="deepspeed", **given)
        assert explained.memory is not None
        assert explained.memory["available_gib"] == 79.2


class TestShownResults:
    def test_a_fix_as_text_and_as_html(self, file):
        fixed = cfglint.fix(file, gpus=8, global_batch=512, from_gpus=16)
        assert str(fixed).splitlines()[-1] == "global batch 256 -> 512 = 4 x 16 x 8 (micro batch x accumulation x data parallel)"
        assert f"{file}: gradient_accumulation_steps 4 -> 16" in str(fixed).splitlines()
        assert fixed.plan == {"feasible": True, "micro_batch": 4, "accumulation": 16, "data_parallel": 8, "global_batch": 512}
        assert '-{"train_batch_size": 256' in fixed.diff
        assert fixed._repr_html_().startswith("<pre>")
        assert "&quot;train_batch_size&quot;: 512" in fixed._repr_html_()

    def test_a_target_out_of_reach(self, file):
        fixed = cfglint.fix(file, gpus=12, global_batch=256, from_gpus=16)
        assert str(fixed).startswith("a global batch of 256 cannot be reached on 12 GPUs")
        assert fixed.alternatives is not None
        assert 8 in fixed.alternatives["gpus"]

    def test_nothing_to_fix(self, file):
        fixed = cfglint.fix(file, from_gpus=16)
        assert (str(fixed), fixed.plan, fixed.alternatives, fixed.diff) == ("nothing to fix\n", None, None, "")

    def test_what_is_not_fixed(self):
        fixed = cfglint.fix({"ds.json": '{"train_batch_size": 8, "gradient_cliping": 1.0}'}, kind="deepspeed")
        assert [each.code for each in fixed.skipped] == ["KEY105"]
        assert str(fixed) == f"ds.json:1: KEY105 not fixed: {fixed.skipped[0].reason}\n"

    def test_a_comment_that_is_removed_with_its_key(self):
        fixed = cfglint.fix({"acc.yaml": "distributed_type: DEEPSPEED\nzero_stage: 3  # three\nnum_processes: 8\n"}, kind="accelerate")
        assert fixed.removed_comments == [("acc.yaml", "# three")]

    def test_new_files(self):
        made = cfglint.new("run", gpus=8, global_batch=256, micro_batch=4, zero=2)
        assert [row["file"] for row in made.to_dicts()] == list(made.texts)
        assert all(row["text"] == made.texts[row["file"]] for row in made.to_dicts())
        assert made._repr_html_().startswith("<pre># ")

    def test_the_settings_that_a_diff_names(self, file):
        compared = cfglint.diff(file, {str(file): TEXT.replace(": 4}", ": 8}")}, gpus=8)
        assert [each["key"] for each in compared.settings] == ["gradient_accumulation_steps"]
        assert {each["what"] for each in compared.consequences} == {row["what"] for row in compared.to_dicts()} >= {"verdict"}


class TestSettings:
    """The configuration of the project applies, as for the commands."""

    CONFIG = 'gpus = 8\nignore = ["BAT001"]\nexclude = ["old/**"]\ntarget = { deepspeed = "0.14.4" }\n'

    @pytest.fixture(autouse=True)
    def project(self, tmp_path, monkeypatch):
        (tmp_path / ".git").mkdir()
        (tmp_path / "old").mkdir()
        (tmp_path / "cfglint.toml").write_text(self.CONFIG)
        for name in ("ds.json", "old/ds.json"):
            (tmp_path / name).write_text(TEXT)
        monkeypatch.chdir(tmp_path)

    def test_facts_and_suppressions(self):
        [run] = (found := cfglint.check("."))
        assert (run.gpus, run.target, found.diagnostics) == (8, {"deepspeed": "0.14.4"}, [])
        assert cfglint.explain("ds.json").resolved["data_parallel"] == 8

    def test_an_argument_takes_precedence(self):
        assert cfglint.explain("ds.json", gpus=16, target={"deepspeed": "0.15.0"}).resolved["data_parallel"] == 16

    def test_without_them(self):
        assert [each.code for each in cfglint.check("ds.json", gpus=8, settings=False).diagnostics] == ["BAT001"]

    def test_an_unknown_key_in_the_configuration(self, tmp_path):
        (tmp_path / "cfglint.toml").write_text("gpuz = 8\n")
        with pytest.raises(cfglint.CfglintError, match="unknown key `gpuz`"):
            cfglint.check("ds.json")


def test_a_named_file_is_checked_in_the_runs_that_read_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "ds.json").write_text('{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}')
    (tmp_path / "train.yaml").write_text("output_dir: out\ndeepspeed: ds.json\nlearning_rate: 1.0e-5\nper_device_train_batch_size: 2\n")
    assert [run.files for run in cfglint.check("ds.json")] == [["train.yaml", "ds.json"]]


def test_an_edit_of_a_line_is_checked_before_it_is_returned():
    script = "torchrun --nproc_per_node 8 train.py --output_dir out --per_device_train_batch_size 4 --gradient_accumulation_steps 2"
    script += " --save_strategy no\n"
    assert "--gradient_accumulation_steps 4" in cfglint.fix({"train.sh": script}, global_batch=128).texts["train.sh"]


class TestLog:
    FAILED = ["Traceback (most recent call last):\n", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 7.83 GiB.\n"]

    def test_lines(self):
        found = cfglint.log(self.FAILED)
        assert (bool(found), [each["kind"] for each in found.failures], found.banners) == (True, ["out-of-memory"], [])
        assert "7.83" in str(found)

    def test_a_file_that_does_not_exist(self, tmp_path):
        with pytest.raises(cfglint.MissingFileError):
            cfglint.log(tmp_path / "train.log")

    def test_compared_with_the_files_of_its_run(self, tmp_path):
        (tmp_path / "train.log").write_text(
            "***** Running training *****\n  Num examples = 1,000\n  Num Epochs = 1\n  Instantaneous batch size per device = 4\n"
            "  Total train batch size (w. parallel, distributed & accumulation) = 32\n  Gradient Accumulation steps = 1\n"
            "  Total optimization steps = 32\n"
        )
        text = "output_dir: out\nlearning_rate: 1.0e-5\nnum_train_epochs: 1\nper_device_train_batch_size: 2\n"
        found = cfglint.log(tmp_path / "train.log", {"train.yaml": text})
        assert not found
        first = found.banners[0]["differences"][0]
        assert (first["key"], first["log"], first["config"]) == ("micro batch", 4, 2)

    def test_nothing_in_it(self):
        assert not cfglint.log(["hello\n"])


@pytest.fixture
def branch(tmp_path, monkeypatch):
    """A repository whose working tree doubles the accumulation of a declared run, and changes a program that no run reads."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ds.json").write_text(TEXT)
    (tmp_path / "model.py").write_text("LAYERS = 2\n")
    (tmp_path / "cfglint.toml").write_text('[[run]]\nfiles = ["ds.json"]\ngpus = 16\n')
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *command], check=True)
    (tmp_path / "ds.json").write_text(TEXT.replace('steps": 4', 'steps": 8'))
    (tmp_path / "model.py").write_text("LAYERS = 4\n")


@pytest.mark.usefixtures("branch")
class TestABranch:
    def test_what_it_changes(self):
        found = cfglint.review_branch()
        [run] = found
        assert found
        assert [each["key"] for each in run.settings] == ["gradient_accumulation_steps"]
        assert [each.code for each in found.new] == ["BAT001"]
        assert [each["run"] for each in found.to_dicts()] == ["ds.json"]
        assert found.not_compared == [("model.py", "no recognised run is known to depend on it")]
        assert str(found).startswith("ds.json\n  no longer starts")

    def test_the_declared_runs_are_checked(self):
        assert [each.gpus for each in cfglint.check().runs] == [16]
        assert [each.gpus for each in cfglint.check(gpus=8).runs] == [8]

    def test_a_base_that_is_none(self):
        with pytest.raises(cfglint.CfglintError, match="nowhere is not a commit here"):
            cfglint.review_branch("nowhere")


def test_a_copy_outside_of_the_project_has_its_releases(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    (project / "requirements.txt").write_text("transformers==4.57.1\n", encoding="utf-8")
    for folder in (tmp_path, project):
        (folder / "train.yaml").write_text("output_dir: out\nper_device_train_batch_size: 4\nwarmup_ratio: 0.03\n", encoding="utf-8")
    assert not cfglint.diff(tmp_path / "train.yaml", project / "train.yaml", kind="huggingface")


def test_one_file_means_the_run_of_the_project_that_reads_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "sft.yaml").write_text("output_dir: out\nper_device_train_batch_size: 1\n", encoding="utf-8")
    program = "from trl import SFTConfig, TrlParser\n(config,) = TrlParser((SFTConfig,)).parse_args_and_config()\n"
    (tmp_path / "sft.py").write_text(program, encoding="utf-8")
    line = "torchrun --nproc_per_node 8 sft.py --config sft.yaml --per_device_train_batch_size 16\n"
    (tmp_path / "run.sh").write_text(line, encoding="utf-8")
    assert cfglint.explain("sft.yaml").resolved["global_batch"] == 128
    assert cfglint.fix("sft.yaml", global_batch=64).texts == {"run.sh": line.replace("16", "8")}
    (tmp_path / "b.sh").write_text(line, encoding="utf-8")
    with pytest.raises(cfglint.ArgumentError, match=r"sft\.yaml is read by several runs; name one of them: b\.sh:1, run\.sh:1"):
        cfglint.plan("sft.yaml", gpus=4)
