"""Programs with `TrlParser`: the file of `--config`, and the arguments that they require."""

from __future__ import annotations

import json

import pytest

from cases import each_case
from cfglint.cli import main

PROGRAM = """\
from dataclasses import dataclass

from transformers import TrainingArguments
from trl import GRPOConfig, GRPOTrainer, ModelConfig, ScriptArguments, SFTConfig, SFTTrainer, TrlParser

@dataclass
class Own(GRPOConfig):
    use_it: bool = True

parser = TrlParser(({}))
*others, args = parser.parse_args_and_config()
{}Trainer(model="m", args=args).train()
"""
SFT = PROGRAM.format("ScriptArguments, ModelConfig, SFTConfig", "SFT")
GRPO = PROGRAM.format("ModelConfig, Own", "GRPO")
OLD = {"requirements.txt": "trl==0.17.0\ntransformers==4.51.3\n"}
FEW_KEYS = "max_steps: 10\nlearning_rate: 1e-5\nper_device_train_batch_size: 2\n"


@pytest.fixture
def launched(tmp_path, monkeypatch, capsys):
    """(run, findings) of a launch line of a program, with further files."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)

    def run(program, arguments, files=None, before="accelerate launch --num_processes 4"):
        for name, text in {"train.py": program, "run.sh": f"{before} train.py {arguments}\n", **(files or {})}.items():
            (tmp_path / name).write_text(text)
        main(["check", "run.sh", "--format", "json"])
        found = json.loads(capsys.readouterr().out)
        return found["runs"][0], [(each["code"], each["key"], each["severity"]) for each in found["diagnostics"]]

    return run


def test_a_config_of_few_keys_is_read(launched):
    run, found = launched(SFT, "--config few.yaml --output_dir out", {"few.yaml": FEW_KEYS})
    assert (run["files"], run["resolved"]["total_steps"], run["resolved"]["global_batch"]) == (["run.sh", "few.yaml"], 10, 8)
    assert found == []


def test_the_keys_of_the_config_are_checked(launched):
    _, found = launched(SFT, "--config few.yaml", {"few.yaml": FEW_KEYS + "learning_rte: 1\n"})
    assert found == [("TRL010", "/learning_rte", "error")]


@each_case(("path", "missing"), [("missing.yaml", [("LCH002", "--config", "error")]), ("/data/outside.yaml", []), ("$CONFIG", [])])
def test_what_an_unread_config_sets_is_unknown(launched, path, missing):
    run, found = launched(SFT, f"--config {path} --per_device_train_batch_size 3", OLD)
    assert (run["resolved"]["micro_batch"], run["resolved"]["accumulation"], found) == (3, None, missing)


@each_case("processes", ["4", "$N"])
def test_the_trainer_fills_what_accelerate_leaves_automatic_also_from_an_unread_config(launched, processes):
    block = {"accelerate.yaml": "distributed_type: DEEPSPEED\nnum_processes: 4\nnum_machines: 1\ndeepspeed_config:\n  zero_stage: 2\n"}
    launch = f"accelerate launch --config_file accelerate.yaml --num_processes {processes}"
    assert launched(SFT, "--config /data/outside.yaml", block, before=launch)[1] == []


def test_unknown_arguments_of_the_line_are_refused_all_the_same(launched):
    assert launched(SFT, "--config /data/outside.yaml --learning_rte 1")[1] == [("TRL010", "--learning_rte", "error")]


def test_strings_of_the_config_are_cast_for_the_trainers_own_class_too(launched):
    program = PROGRAM.format("ModelConfig, TrainingArguments", "SFT")
    run, found = launched(program, "--config few.yaml", {"few.yaml": FEW_KEYS})
    assert (run["verdict"], found) == ("accept", [])


@each_case(
    ("program", "arguments", "codes"),
    [
        (SFT, "--output_dir o", ["TRL004"]),
        (SFT, "--output_dir o --dataset_name d", []),
        (SFT, '--output_dir o "$@"', []),
        (GRPO, "--output_dir o", []),
        ("from trl import SFTConfig, SFTTrainer\nSFTTrainer('m', args=SFTConfig('out')).train()\n", "", []),
    ],
)
def test_only_the_script_arguments_of_old_releases_require_a_dataset(launched, program, arguments, codes):
    assert [code for code, _, _ in launched(program, arguments, OLD)[1]] == codes


@each_case("given", ["--use_it true", "--use_it=false", "--use_it", "--no_use_it"])
def test_a_boolean_of_the_programs_own_class(launched, given):
    assert launched(GRPO, f"--output_dir o --bf16 true {given}")[1] == []


OWN_TRAINER = """\
from transformers import Trainer
from trl import KTOConfig, ModelConfig, TrlParser

class OwnTrainer({base}):
    pass

model, args = TrlParser((ModelConfig, KTOConfig)).parse_args_and_config()
OwnTrainer(model="m", args=args).train()
"""


@each_case(("base", "severity"), [("Trainer", "warning"), ("KTOTrainer", "error")])
def test_checks_of_a_trainer_hold_for_programs_that_build_it(launched, base, severity):
    program = f"from trl import KTOTrainer\n{OWN_TRAINER.format(base=base)}"
    found = launched(program, "--output_dir out --per_device_train_batch_size 1")[1]
    assert [each for code, _, each in found if code == "TRL054"] == [severity]


HYDRA = """\
import hydra
from hydra.utils import instantiate
from trl import SFTTrainer

@hydra.main(config_path="conf", config_name="sft")
def main(cfg):
    more = {"seed": 1}
    SFTTrainer(model="m", args=instantiate(cfg.arguments, **more, _convert_="all")).train()

main()
"""
OF_HYDRA = {
    "conf/sft.yaml": "arguments: {_target_: trl.SFTConfig, output_dir: o, per_device_train_batch_size: 2}\n",
    "conf/dpo.yaml": "arguments: {_target_: trl.DPOConfig, output_dir: o, per_device_train_batch_size: 4, beta: 0.2}\n",
    "conf/own.yaml": "arguments: {_target_: trl.experimental.sdpo.SDPOConfig, output_dir: o, per_device_train_batch_size: 4, own: 0.2}\n",
}


@each_case(("config", "batch", "unread"), [("sft", 8, []), ("dpo", 16, []), ("own", None, ["the arguments of `instantiate`"])])
def test_the_class_that_hydra_makes_is_that_of_the_lines_config(launched, tmp_path, config, batch, unread):
    (tmp_path / "conf").mkdir(exist_ok=True)
    run, found = launched(HYDRA, f"--config-name {config}", OF_HYDRA)
    assert run["resolved"]["global_batch"] == batch
    assert [each["what"] for each in run["not_read"]] == unread
    assert [each for each in found if each[2] == "error"] == []


def test_an_unknown_key_of_the_file_is_no_error_where_the_release_of_trl_decides(launched):
    """Releases 0.13.0 to 0.18.2 of TRL drop it (scripts/utils.py, parse_args_and_config)."""
    program = "from transformers import Trainer, TrainingArguments\nfrom trl import ModelConfig, TrlParser\n"
    program += "args, model = TrlParser((TrainingArguments, ModelConfig)).parse_args_and_config()\nTrainer(model='m', args=args).train()\n"
    _, found = launched(program, "--config own.yaml --output_dir out", {"own.yaml": "seed: 1\npeft_task_type: CAUSAL_LM\n"})
    assert found == []
    assert ("KEY200", "--peft_task_type", "error") in launched(program, "--output_dir out --peft_task_type CAUSAL_LM")[1]
