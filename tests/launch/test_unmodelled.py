"""Launch lines of frameworks that are not modelled are said by name, and never judged as those of a Trainer."""

from __future__ import annotations

import json

import pytest

from cases import each_case
from cfglint.cli import main


@pytest.fixture
def checked(tmp_path, monkeypatch, capsys):
    """(runs, the last line on standard error) of a script."""

    def run(script, status=0):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "run.sh").write_text(script)
        assert main(["check", "run.sh", "--format", "json"]) == status
        printed = capsys.readouterr()
        report = json.loads(printed.out)
        assert report["diagnostics"] == []
        return report["runs"], printed.err

    return run


@each_case(
    ("line", "name"),
    [
        (
            "ray job submit --address=http://127.0.0.1:8265 -- python3 -m openrlhf.cli.train_ppo_ray_box --save_steps 9",
            "another program of OpenRLHF",
        ),
        ("tune run --nproc_per_node 4 full_finetune_distributed --config llama3/8B_full batch_size=4", "torchtune"),
        ("NPROC_PER_NODE=8 xtuner train internlm2_chat_7b_qlora_oasst1_e3.py --deepspeed deepspeed_zero2", "XTuner"),
        ("mpirun -np 64 python train_sft.py lr=1e-5 mbs=1", "train_sft.py"),
        ("python train.py +trainer.max_epochs=1 ~callbacks", "train.py"),
        ("megatron rlhf --use_ray true --config grpo.yaml", "Megatron-SWIFT with Ray"),
        ("torchrun --nproc_per_node=8 -m torchtitan.train --job.config_file train.toml", "torchtitan"),
        ("python3 -m MaxText.train MaxText/configs/base.yml per_device_batch_size=4", "MaxText"),
        ("python examples/nlp/language_modeling/megatron_gpt_pretraining.py trainer.devices=8", "NeMo"),
        ("torchrun --nproc_per_node 8 pretrain_t5.py --micro-batch-size 4", "Megatron-LM"),
        ("python3 -m verl.trainer.train_other data.train_batch_size=64", "another program of verl"),
        ("python3 -m recipe.dapo.main_dapo data.train_batch_size=512 trainer.nnodes=4", "a recipe of verl"),
    ],
)
def test_it_is_said_by_name(checked, line, name):
    [run], said = checked(f"{line}\n")
    assert f"1 launch line of {name}, which is not modelled: only the launcher is checked" in said
    assert run["kinds"] == ["launch"]
    assert (run["verdict"], run["resolved"]["micro_batch"]) == (None, None)


def test_a_recipe_that_does_not_train_is_no_run(checked):
    assert checked("tune run eleuther_eval --config eval.yaml\n", status=2)[0] == []


def test_a_job_of_ray_is_the_command_behind_its_dashes(checked):
    [run], _ = checked("ray job submit --no-wait -- torchrun --nproc_per_node 4 train.py --lr 1 --epochs 3\n")
    assert (run["launch"]["program"], run["gpus"]) == ("train.py", 4)
    [run], _ = checked("ray job submit -- A=1 B=2 torchrun --nproc_per_node 2 train.py --lr 1 --epochs 3\n")  # which a shell runs
    assert (run["launch"]["program"], run["gpus"]) == ("train.py", 2)


def test_the_processes_of_tune_run(checked):
    [several], _ = checked("tune run --nproc_per_node 4 lora_finetune_distributed --config a.yaml\n")
    [one], _ = checked("tune run lora_finetune_single_device --config a.yaml\n")
    assert (several["launch"]["processes"], one["launch"]["processes"]) == (4, 1)
