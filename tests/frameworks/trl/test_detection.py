"""Which files are TRL's: those that only its keys tell apart."""

from __future__ import annotations

import pytest

from cfglint.frameworks import detect
from cfglint.frameworks.base import CERTAIN
from cfglint.source.parse import parse

COMMON = "output_dir: out\nlearning_rate: 1.0e-5\nper_device_train_batch_size: 4\nnum_train_epochs: 1\n"


@pytest.mark.parametrize(
    ("extra", "kind"),
    [
        ("", "huggingface"),
        ("packing: true\n", "trl"),
        ("num_generations: 8\n", "trl"),
        ("max_seq_length: 128\n", "huggingface"),
        ("use_peft: true\ntorch_dtype: bfloat16\nmax_seq_length: 128\n", "trl"),
        ("finetuning_type: lora\ntemplate: qwen\nstage: sft\ndataset: d\npacking: true\n", "llamafactory"),
    ],
)
def test_own_keys_tell(extra, kind):
    assert detect(parse("train.yaml", COMMON + extra, "yaml")) == (kind, CERTAIN)


def test_a_json_file_is_the_trainers():
    assert detect(parse("train.json", '{"output_dir": "o", "num_train_epochs": 1, "packing": true}', "json")) == ("huggingface", CERTAIN)
