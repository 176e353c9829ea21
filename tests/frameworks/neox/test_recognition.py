"""Which files are GPT-NeoX's: by their keys, in both spellings, down to fragments."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.frameworks.base import CERTAIN, MAYBE, NO_MATCH
from cfglint.frameworks.neox import FRAMEWORK
from cfglint.source.parse import parse

MODEL = '{"pipe_parallel_size": 1, "model_parallel_size": 1, "num_layers": 12, "hidden_size": 768, "norm": "layernorm",}'


def recognised(text, name="config.yml"):
    return FRAMEWORK.detect(parse(name, text, FRAMEWORK.syntax(name)))


@each_case(
    "text",
    [
        MODEL,
        MODEL.replace("_", "-"),
        "pipe_parallel_size: 1\nmodel_parallel_size: 2\nnum_layers: 12\n",
        '{"data_path": "d", "vocab_file": "v", "merge_file": "m", "save": "c", "checkpoint_validation_with_forward_pass": False}',
        '{"attention-config": [[["local"], "all"]], "sparsity-config": {"block": 16}}',
        '{"tensorboard_dir": "t", "launcher": "slurm", "deepspeed_slurm": true}',
    ],
)
def test_sure(text):
    assert recognised(text) == CERTAIN


@pytest.mark.parametrize("name", ["tune.json", "model.yml", "model.yaml"])
def test_every_name_is_yaml(name):
    assert FRAMEWORK.syntax(name) == "yaml"


def test_one_key_in_flow_style_is_unclear():
    assert recognised('{"seed": 1, "data_path": "d", "save": "c"}') == MAYBE
    assert recognised("seed: 1\ndata_path: d\nsave: c\n") == NO_MATCH


@each_case(
    "text",
    [
        "",
        "[1, 2]",
        "just text",
        '{"train_batch_size": 32, "fp16": {"enabled": true}, "zero_optimization": {"stage": 2}}',
        "output_dir: out\nper_device_train_batch_size: 4\nlearning_rate: 1e-4\nweight_decay: 0.1\n",
        "tensor_model_parallel_size: 2\nnum_layers: 4\ntrain_iters: 10\nlr_decay_style: cosine\nmin_lr: 0\n",
        '{"architectures": ["GPTNeoXForCausalLM"], "rotary_pct": 0.25, "hidden_dropout": 0.0, "hidden_size": 64}',
        "train_iters: 1\nmin_lr: 0\n" + "".join(f"key{index}: 1\n" for index in range(40)),
    ],
)
def test_strangers(text):
    assert recognised(text) == NO_MATCH
