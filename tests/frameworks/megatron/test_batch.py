"""Launch lines of Megatron-LM's programs: batch, steps, warm-up and what `explain` tells, as its arguments give them."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint import api

NEEDED = "--micro-batch-size 2 --num-layers 4 --hidden-size 8 --num-attention-heads 2"


@pytest.fixture
def resolved(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def explained(arguments, gpus=8):
        (tmp_path / "run.sh").write_text(f"torchrun --nproc_per_node {gpus} pretrain_gpt.py {NEEDED} {arguments}\n")
        found = api.explain(["run.sh"]).resolved
        names = ("micro_batch", "accumulation", "data_parallel", "global_batch", "total_steps", "warmup_steps")
        return tuple(found[name] for name in names)

    return explained


@each_case(
    ("arguments", "expected"),
    [
        ("", (2, 1, 8, 16, None, 0)),
        ("--global-batch-size 64", (2, 4, 8, 64, None, 0)),
        ("--global-batch-size 63", (2, None, 8, 63, None, 0)),
        ("--global-batch-size x", (2, None, 8, None, None, 0)),
        ("--global-batch-size 0", (2, None, 8, None, None, 0)),
        ("--tensor-model-parallel-size 2", (2, 1, 4, 8, None, 0)),
        ("--pipeline-model-parallel-size 2 --tensor-model-parallel-size 2", (2, 1, 2, 4, None, 0)),
        ("--context-parallel-size 4", (2, 1, 2, 4, None, 0)),
        ("--ds-sequence-parallel-size 8", (2, 1, 1, 2, None, 0)),
        ("--tensor-model-parallel-size 3", (2, None, None, None, None, 0)),
        ("--tensor-model-parallel-size $T", (2, None, None, None, None, 0)),
        ("--global-batch-size 64 --rampup-batch-size 16 16 1000", (2, None, 8, None, None, 0)),
        ("--train-iters 1000", (2, 1, 8, 16, 1000, 0)),
        ("--train-iters 1000 --lr-warmup-iters 10", (2, 1, 8, 16, 1000, 10)),
        ("--train-iters 1000 --lr-warmup-fraction 0.01", (2, 1, 8, 16, 1000, 10)),
        ("--train-iters 1000 --lr-warmup-fraction 0.0105", (2, 1, 8, 16, 1000, None)),
        ("--train-iters 1000 --lr-decay-iters 500 --lr-warmup-fraction 0.01", (2, 1, 8, 16, 1000, 5)),
        ("--lr-warmup-fraction 0.01", (2, 1, 8, 16, None, None)),
        ("--train-iters 1000 --lr-warmup-fraction x", (2, 1, 8, 16, 1000, None)),
        ("--train-samples 1000 --train-iters 10", (2, 1, 8, 16, None, 0)),
        ("--train-iters 1000 --lr-warmup-samples 10", (2, 1, 8, 16, 1000, None)),
    ],
)
def test_batch_and_steps(resolved, arguments, expected):
    assert resolved(arguments) == expected


@each_case(
    ("arguments", "expected"),
    [
        ("", "schedule linear;gradient clipping 1.0;lowest rate 0.0;precision fp32;tensor parallel 1;pipeline 1"),
        ("--lr 1e-4 --min-lr 1e-5 --clip-grad 0.5 --bf16", "learning rate 1e-4;lowest rate 1e-5;gradient clipping 0.5;precision bf16"),
        ("--lr x --fp16 --lr-decay-style cosine", "precision fp16;schedule cosine"),
        ("--tensor-model-parallel-size 2 --pipeline-model-parallel-size 4", "tensor parallel 2;pipeline 4"),
        ("--train-iters 1000", "warm-up steps 0 lr_warmup_iters is not set"),
        ("--train-iters 1000 --lr-warmup-iters 10", "warm-up steps 10 run.sh:1"),
        ("--train-iters 1000 --lr-warmup-fraction 0.01", "warm-up steps 10 run.sh:1"),
    ],
)
def test_what_explain_tells(tmp_path, monkeypatch, arguments, expected):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.sh").write_text(f"torchrun --nproc_per_node 8 pretrain_gpt.py {NEEDED} {arguments}\n")
    text = " ".join(str(api.explain(["run.sh"])).split())
    assert [each for each in expected.split(";") if each not in text] == []
