"""The imports of a program, against the names that transformers and TRL have in the release of the run."""

from __future__ import annotations

import json

import pytest

from cases import each_case
from cfglint.cli import main

NEWEST = ("transformers==5.23.0", "trl==1.16.0")
TRAINS = "from transformers import Trainer, TrainingArguments\nTrainer(model, TrainingArguments('o')).train()\n"
REMOVED = "from trl import DataCollatorForCompletionOnlyLM\n"
REFUSED = ("error", "/DataCollatorForCompletionOnlyLM", "ImportError: cannot import name 'DataCollatorForCompletionOnlyLM' from 'trl'")
DECORATORS = "ImportError: cannot import name 'PPODecorators' from 'trl.trainer.ppo_trainer'"  # which the module lost before it was removed
GONE = ("error", "/LengthSampler", "ModuleNotFoundError: No module named 'trl.core'")


@pytest.fixture
def found(tmp_path, monkeypatch, capsys):
    """The findings about imports of a program: (severity, key, exception)."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)

    def report(code, releases=NEWEST, **modules):
        for name, text in {"train": code + TRAINS, **modules}.items():
            (tmp_path / f"{name}.py").write_text(text)
        main(["check", "train.py", *(word for each in releases for word in ("--target", each)), "--format", "json"])
        every = json.loads(capsys.readouterr().out)["diagnostics"]
        return [(each["severity"], each["key"], each["exception"]) for each in every if each["code"] == "KEY207"]

    return report


@each_case(
    ("code", "expected"),
    [
        (REMOVED, [REFUSED]),
        ("from trl.core import LengthSampler\n", [GONE]),
        ("from trl.trainer.ppo_trainer import PPODecorators\n", [("error", "/PPODecorators", DECORATORS)]),
        ("import trl.core as core\n", [("error", "/trl.core", GONE[2])]),
        ("def load():\n    from trl.core import LengthSampler\nload()\n", [GONE]),
        ("def load():\n    from trl.core import LengthSampler\n", []),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    " + REMOVED, []),
        ("import typing\nif not typing.TYPE_CHECKING:\n    " + REMOVED, [REFUSED]),
        ("from trl import of_no_release, SFTTrainer\nfrom transformers import BertModel\n", []),
    ],
)
def test_a_name_that_the_release_lacks_is_an_error(found, code, expected):
    assert found(code) == expected


def test_a_name_is_accepted_in_the_releases_that_have_it(found):
    assert found(REMOVED, ["transformers==4.51.3", "trl==0.17.0"]) == []


@each_case("code", ["if load():\n    " + REMOVED, "try:\n    " + REMOVED + "except ImportError:\n    pass\n"])
def test_an_import_that_may_not_be_made_or_may_fail_is_a_warning(found, code):
    assert [each[0] for each in found(code)] == ["warning"]


VERSION = "import transformers, trl\nfrom packaging import version\n"
TESTS = (
    'version.parse(trl.__version__) >= version.parse("0.20")',
    'is_trl_version(">=", "0.20")',
    'hasattr(trl, "SFTConfig")',
)


@each_case("test", TESTS)
def test_an_import_for_other_releases_is_not_judged(found, test):
    branches = f"if {test}:\n    from trl import SFTTrainer\nelse:\n    {REMOVED}"
    assert found(VERSION + branches) == []
    assert found(f"{VERSION}NEW = {test}\n{branches.replace(test, 'NEW')}") == []
    assert found(VERSION + branches.replace(REMOVED, "import parts\n"), parts=REMOVED) == []
    assert [each[0] for each in found(branches.replace(test, "data.size > 3"))] == ["warning"]


def test_an_import_of_a_module_of_the_project(found):
    assert found("import parts\n", parts=REMOVED) == [REFUSED]
    assert [each[0] for each in found("try:\n    import parts\nexcept ImportError:\n    pass\n", parts=REMOVED)] == ["warning"]


def test_a_copy_of_the_package_in_the_project_has_its_own_names(found, tmp_path):
    (tmp_path / "trl").mkdir()
    (tmp_path / "trl" / "__init__.py").write_text("class DataCollatorForCompletionOnlyLM: pass\n")
    assert found(REMOVED) == []


@each_case(
    ("release", "count"),
    [("0.11.4", 0), ("0.13.0", 1)],  # ppo_trainer.py imports `PPODecorators` from another module of trl up to 0.11
)
def test_a_name_that_a_submodule_passes_on(found, release, count):
    code = "from trl.trainer.ppo_trainer import PPODecorators\n"
    assert len(found(code, ["transformers==4.45.2", f"trl=={release}"])) == count


def test_the_arguments_of_a_class_that_cannot_be_imported_are_not_judged(tmp_path, monkeypatch, capsys):
    """One cause, one finding: TRL 0.8.6 has no DPOConfig, whose field `--beta` is no unknown argument for that."""
    program = (
        "from transformers import HfArgumentParser\nfrom trl import DPOConfig, DPOTrainer\n"
        "args, = HfArgumentParser((DPOConfig,)).parse_args_into_dataclasses()\nDPOTrainer(args=args).train()\n"
    )
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(program)
    (tmp_path / "run.sh").write_text("python train.py --output_dir o --beta 0.1 --max_length 512 --loss_type ipo\n")

    def errors(release):
        main(["check", "run.sh", "--target", release, "--format", "json"])
        return [each["code"] for each in json.loads(capsys.readouterr().out)["diagnostics"] if each["severity"] == "error"]

    assert errors("trl==0.8.6") == ["KEY207"]
    assert errors("trl==0.12.0") == []
