"""What a plan says about a GPU count on which the micro batch and the accumulation stay as they are."""

from __future__ import annotations

import cfglint

TRAINER = "output_dir: out\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 2\nnum_train_epochs: 1\n"
ACCELERATE = "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_machines: 1\nnum_processes: 8\n"
DEEPSPEED = '{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2}'


def reasons(texts, gpus, global_batch):
    [found] = cfglint.plan(texts, gpus=gpus, global_batch=global_batch).plans
    return found["reasons"]


def test_a_plan_names_the_gpu_count_that_alone_changes():
    files = {"train.yaml": TRAINER, "accelerate.yaml": ACCELERATE}
    assert reasons(files, 4, 32) == ["micro batch and accumulation unchanged; `num_processes` 8 -> 4"]
    assert reasons(files, 8, 64) == ["already 64; nothing to change"]


def test_a_plan_names_the_option_of_a_launch_line_that_alone_changes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("", encoding="utf-8")
    line = "torchrun --nproc_per_node 8 train.py --output_dir o --per_device_train_batch_size 4 --gradient_accumulation_steps 2"
    line += " --save_strategy no\n"
    (tmp_path / "run.sh").write_text(line, encoding="utf-8")
    assert reasons("run.sh", 4, 32) == ["micro batch and accumulation unchanged; `--nproc_per_node` 8 -> 4"]


def test_a_plan_names_a_global_batch_that_is_written():
    assert reasons({"ds.json": DEEPSPEED}, 4, 32) == ["micro batch and accumulation unchanged; `train_batch_size` 64 -> 32"]
