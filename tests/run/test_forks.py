"""Who defines the keys: a project's own argument classes, a tagged release, or nobody that cfglint knows."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.run.discovery import Discovery
from cfglint.source.dataclass_fields import declares_field, fields_of_text

NEOX = (
    "pipe_parallel_size: 1\nmodel_parallel_size: 1\nnum_layers: 2\nhidden_size: 64\nnum_attention_heads: 2\npos_emb: rotary\n"
    "train_iters: 10\nlr_decay_iters: 10\n"
)
CLASSES = "from dataclasses import dataclass\n\n\n@dataclass\nclass NeoXArgsModel:\n    {}: int = None\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()

    def check(text, **facts):
        (tmp_path / "configs").mkdir(exist_ok=True)
        (tmp_path / "configs" / "a.yml").write_text(text, encoding="utf-8")
        [run] = Discovery(LaunchFacts(**facts)).runs(["configs/a.yml"])
        return run

    return check


def found(run):
    return [(each.code, each.severity, each.key) for each in run.diagnostics if each.code in ("KEY300", "KEY010")]


def test_the_project_s_own_classes_decide(project, tmp_path):
    folder = tmp_path / "megatron" / "neox_arguments"
    folder.mkdir(parents=True)
    names = [line.partition(":")[0] for line in NEOX.splitlines()]
    (folder / "neox_args.py").write_text(CLASSES.format(": int = None\n    ".join([*names, "my_loss"])), encoding="utf-8")
    run = project(NEOX + "my_loss: 1\nmy_los: 1\nrotary_pct: 0.5\n")
    assert found(run) == [("KEY300", "error", "/my_los"), ("KEY300", "error", "/rotary_pct")]
    assert run.verdict == "reject"
    assert project(NEOX + "my_loss: 1\n").verdict is None


def test_many_unknown_keys_are_told_once(project):
    run = project(NEOX + "my_loss: 1\nmy_data: 1\nmy_steps: 1\n")
    assert found(run) == [("KEY010", "warning", "/my_loss")]
    assert run.verdict is None
    declared = project(NEOX + "my_loss: 1\nmy_data: 1\nmy_steps: 1\n", kind_given=True)
    assert [code for code, _, _ in found(declared)] == ["KEY300"] * 3


def test_the_configs_of_a_folder_are_for_one_fork(project, tmp_path):
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "b.yml").write_text(NEOX + "my_data: 1\nmy_steps: 1\n")
    assert found(project(NEOX + "my_loss: 1\n")) == [("KEY010", "warning", "/my_loss")]
    assert found(project(NEOX)) == []


def test_the_project_s_own_classes_are_nearer_than_its_stated_release(project, tmp_path):
    folder = tmp_path / "megatron" / "neox_arguments"
    folder.mkdir(parents=True)
    names = [line.partition(":")[0] for line in NEOX.splitlines()]
    (folder / "neox_args.py").write_text(CLASSES.format(": int = None\n    ".join([*names, "num_kv_heads"])), encoding="utf-8")
    text = NEOX + "num_kv_heads: 1\n"
    assert found(project(text, target={"gpt-neox": "2.0"}, target_from={"gpt-neox": "megatron/__init__.py"})) == []
    assert found(project(text, target={"gpt-neox": "2.0"})) == [("KEY300", "error", "/num_kv_heads")]


def test_a_key_of_a_tagged_release_is_no_error_in_an_undeclared_file(project):
    assert found(project(NEOX + "gas: 1\n")) == [("KEY300", "warning", "/gas")]
    assert found(project(NEOX + "gas: 1\n", kind_given=True)) == [("KEY300", "error", "/gas")]
    assert found(project(NEOX + "gass: 1\n")) == [("KEY300", "error", "/gass")]


def test_a_key_of_a_tagged_release_is_no_sign_of_a_fork(project, tmp_path):
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "b.yml").write_text(NEOX + "my_data: 1\nmy_steps: 1\nmy_loss: 1\n")
    assert found(project(NEOX + "gas: 1\n")) == [("KEY300", "warning", "/gas")]


OWN = """\
from dataclasses import dataclass
from typing import Literal, Union
ATTENTION_TYPE_CHOICES = ["global", "own"]
@dataclass
class NeoXArgsModel:
    {}: int = None
    norm: Literal["own", "rmsnorm"] = "own"
    attention_config: list = None
    eval_iters: Union[int, str] = 1
    seq_length: str = None
"""


@each_case(
    ("line", "codes"),
    [
        ("norm: own", []),
        ("norm: layernorm", ["TYP301"]),
        ('attention_config: [[["own"], 2]]', []),
        ('attention_config: [[["flash"], 2]]', ["NEO020"]),
        ("eval_iters: all", []),
        ("seq_length: long", []),
    ],
)
def test_the_choices_and_types_of_the_projects_own_classes(project, tmp_path, line, codes):
    folder = tmp_path / "megatron" / "neox_arguments"
    folder.mkdir(parents=True, exist_ok=True)
    names = [each.partition(":")[0] for each in NEOX.splitlines()]
    (folder / "neox_args.py").write_text(OWN.format(": int = None\n    ".join(names)), encoding="utf-8")
    run = project(NEOX + f"{line}\n")
    assert [each.code for each in run.diagnostics if each.key == f"/{line.partition(':')[0]}"] == codes


@pytest.mark.parametrize(("version", "unknown"), [("1.0", ["/use_mup"]), ("2.0", []), ("2026-05", ["/gas"])])
def test_tagged_releases(project, version, unknown):
    run = project(NEOX + "gas: 1\nuse_mup: true\n", target={"gpt-neox": version})
    assert [key for _, _, key in found(run)] == unknown


def test_a_key_of_the_script_s_own_dataclass_is_known(project, tmp_path):
    text = "output_dir: out\nnum_train_epochs: 1\nper_device_train_batch_size: 4\nevaluation_strategy: epoch\n"
    assert "KEY202" in [each.code for each in project(text).diagnostics]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / ".git").mkdir()
    (tmp_path / "other" / "arguments.py").write_text(CLASSES.format("evaluation_strategy"), encoding="utf-8")
    (tmp_path / "other" / "train.yaml").write_text(text, encoding="utf-8")
    [run] = Discovery(LaunchFacts()).runs(["other/train.yaml"])
    assert "KEY202" not in [each.code for each in run.diagnostics]
    assert declares_field(str(tmp_path / "other" / "train.yaml"), "evaluation_strategy")


def test_fields_of_a_module_that_does_not_parse():
    text = CLASSES.format("size") + '    """\n    not closed\n\n    count: int = 1\n'
    assert fields_of_text(text) == {"size": "int", "count": "int"}


def test_the_framework_s_own_repository_is_no_release(project, tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "llamafactory"\ndynamic = ["version"]\n', encoding="utf-8")
    text = "model_name_or_path: x\nstage: sft\ndo_train: true\nfinetuning_type: lora\ndataset: a\ntemplate: qwen\noutput_dir: out\n"
    run = project(text + "kt_config: 1\n")
    assert run.verdict is None
    assert [(each.code, each.severity) for each in run.diagnostics if each.key == "/kt_config"] == [("LLF001", "warning")]
