"""Programs and notebooks that a folder holds are runs, if they build the arguments of a trainer."""

from __future__ import annotations

import json

import pytest

from cases import each_case
from cfglint.cli import main

BUILT = """
from transformers import Trainer, TrainingArguments
Trainer(args=TrainingArguments('out', per_device_train_batch_size=4)).train()
"""
PARSED = """
from transformers import HfArgumentParser, TrainingArguments
(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
"""


@pytest.fixture
def runs(tmp_path, monkeypatch, capsys):
    """The files and the batch of the runs of a folder."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)

    def checked(**texts):
        for name, text in texts.items():
            (tmp_path / name.replace("__", ".")).write_text(text)
        main(["check", ".", "--gpus", "2", "--format", "json"])
        found = json.loads(capsys.readouterr().out)["runs"]
        return [([name.removeprefix("./") for name in each["files"]], each["resolved"]["global_batch"]) for each in found]

    return checked


def test_a_program_by_what_it_builds(runs):
    assert runs(v1__py=BUILT, other__py="import transformers\nprint('TrainingArguments')\n") == [(["v1.py"], 8)]


def test_a_program_that_a_line_starts_is_in_its_run_only(runs):
    assert runs(v1__py=BUILT, run__sh="torchrun --nproc_per_node 3 v1.py\n") == [(["run.sh", "v1.py"], 12)]


def test_a_module_that_another_program_uses(runs):
    module = "from transformers import TrainingArguments\ndef made():\n    return TrainingArguments('out', per_device_train_batch_size=3)\n"
    program = "from parts import made\nfrom transformers import Trainer\nTrainer(args=made()).train()\n"
    assert runs(v1__py=program, parts__py=module) == [(["parts.py"], 6)]


def test_a_program_that_names_a_class_in_strings_and_comments_only(runs, monkeypatch):
    monkeypatch.setattr("cfglint.launch.programs.runs_of_program.Evaluations.evaluated", None)
    assert runs(v1__py="import transformers\nTEXT = 'TrainingArguments(output_dir)'\n# Trainer(\n") == []


def test_a_program_with_a_parser_of_arguments(runs):
    assert runs(v1__py=PARSED) == [(["v1.py"], 16)]


def test_a_notebook(runs):
    cells = [{"cell_type": "code", "source": BUILT.splitlines(keepends=True)}]
    assert runs(a__ipynb=json.dumps({"cells": cells}, indent=1)) == [(["a.ipynb"], 8)]


OWN = """
import yaml
from transformers import Trainer, TrainingArguments
cfg = yaml.safe_load(open('own.yaml'))
args = TrainingArguments('out', per_device_train_batch_size=cfg['per_device_train_batch_size'], learning_rate=cfg['learning_rate'])
Trainer(args=args).train()
"""
TRAINER_KEYS = "output_dir: o\nper_device_train_batch_size: 4\nlearning_rate: 1.0e-5\ngradient_accumulation_steps: 2\n"


def test_a_config_file_that_a_program_reads_is_no_run_of_its_own(runs):
    assert runs(own__yaml=TRAINER_KEYS, v1__py=OWN) == [(["v1.py"], 8)]
    assert runs(run__sh="torchrun --nproc_per_node 3 v1.py\n") == [(["run.sh", "v1.py"], 12)]


def test_a_config_file_that_no_program_reads_is_a_run(runs):
    assert runs(own__yaml=TRAINER_KEYS, other__py="import transformers\n") == [(["own.yaml"], 16)]


@pytest.mark.parametrize(("release", "runs"), [("0.8.6", 0), ("0.12.2", 1)])
def test_a_class_that_does_not_configure_a_trainer_yet_is_no_run(tmp_path, monkeypatch, capsys, release, runs):
    """Before TRL 0.12.0 `PPOConfig` is no subclass of `TrainingArguments`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requirements.txt").write_text(f"trl=={release}\n")
    (tmp_path / "train.py").write_text('from trl import PPOConfig\nconfig = PPOConfig(output_dir="out", mini_batch_size=1)\n')
    main(["check", ".", "--format", "json"])
    assert len(json.loads(capsys.readouterr().out)["runs"]) == runs


def test_the_branches_of_a_condition_are_alternatives_of_one_run(tmp_path, monkeypatch, capsys):
    (tmp_path / "train.py").write_text(
        "from trl import SFTConfig, SFTTrainer\nif load():\n    args = SFTConfig('o')\nelse:\n    args = SFTConfig('p')\n"
        "SFTTrainer(model=load(), args=args).train()\n"
    )
    monkeypatch.chdir(tmp_path)
    main(["check", "."])
    assert "1 file checked; no findings" in capsys.readouterr().err
    main(["check", ".", "--format", "json"])
    assert len(json.loads(capsys.readouterr().out)["runs"]) == 2


def found_in(project, monkeypatch, capsys, release):
    """The codes and lines of the findings of a folder with a release of TRL."""
    monkeypatch.chdir(project)
    main(["check", ".", "--target", f"trl=={release}", "--format", "json"])
    return [(each["code"], each["line"]) for each in json.loads(capsys.readouterr().out)["diagnostics"]]


OLD_PPO = "from trl import PPOConfig\nconfig = PPOConfig(model_name='x', batch_size=4, ppo_epochs=1)\n"


@each_case(
    ("release", "expected"),
    [("0.9.6", []), ("0.16.1", [("TRL010", 2), ("TRL010", 2)]), ("1.16.0", [("KEY207", 1)])],
)
def test_the_keys_of_a_class_that_the_release_does_not_have_are_not_judged(tmp_path, monkeypatch, capsys, release, expected):
    (tmp_path / "train.py").write_text(OLD_PPO)
    (tmp_path / "run.sh").write_text("python train.py\n")
    assert found_in(tmp_path, monkeypatch, capsys, release) == expected


def test_a_key_that_only_other_classes_had_is_unknown_in_a_call(tmp_path, monkeypatch, capsys):
    (tmp_path / "train.py").write_text("from trl import GRPOConfig\nargs = GRPOConfig('o', mini_batch_size=1)\n")
    assert found_in(tmp_path, monkeypatch, capsys, "1.16.0") == [("TRL010", 2)]


def test_a_built_config_keeps_its_kind_beside_a_parser_of_other_arguments(tmp_path, monkeypatch, capsys):
    (tmp_path / "arguments.py").write_text(
        "from transformers import HfArgumentParser, TrainingArguments\n"
        "def parsed():\n    return HfArgumentParser((TrainingArguments,)).parse_args_into_dataclasses()\n"
    )
    (tmp_path / "train.py").write_text(
        "from arguments import parsed\nfrom trl import PPOConfig\n"
        "def main():\n    (args,) = parsed()\n    config = PPOConfig(model_name=args.run_name, ppo_epochs=1)\n"
        "main()\n"
    )
    (tmp_path / "run.sh").write_text("python train.py --output_dir o\n")
    assert found_in(tmp_path, monkeypatch, capsys, "1.16.0") == [("KEY207", 2)]
