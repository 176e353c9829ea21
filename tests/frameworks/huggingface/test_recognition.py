from __future__ import annotations

import pytest

from cases import each_case
from cfglint.frameworks.base import CERTAIN, MAYBE, NO_MATCH
from cfglint.frameworks.huggingface import FRAMEWORK
from cfglint.source.parse import parse


def yaml(text):
    return parse("a.yaml", text, "yaml")


@each_case(
    ("text", "clarity"),
    [
        ("per_device_train_batch_size: 4\nlearning_rate: 1.0e-5\n", CERTAIN),
        ("model_name_or_path: x\nnum_train_epochs: 3\noutput_dir: out\n", CERTAIN),
        ("learning_rate: 1.0e-5\nseed: 1\noutput_dir: out\n", MAYBE),
        ("output_dir: out\nfp16: true\ntorch_compile: true\ndeepspeed: ds.json\ndo_train: true\n", CERTAIN),
        ("output_dir: out\nfp16: true\ntorch_compile: true\ndeepspeed: ds.json\nown: true\n", MAYBE),
        ("lr_scheduler_type: cosine\n", MAYBE),
        ("seed: 1\n", NO_MATCH),
        ("services: {web: {image: x}}\n", NO_MATCH),
        ("name: ci\non: push\njobs: {test: {}}\n", NO_MATCH),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n", NO_MATCH),
        ("site_name: docs\nnav: []\n", NO_MATCH),
        ("name: env\nchannels: [conda-forge]\ndependencies: [python]\n", NO_MATCH),
        ("- a\n- b\n", NO_MATCH),
        ("", NO_MATCH),
    ],
)
def test_clarity(text, clarity):
    assert FRAMEWORK.detect(yaml(text)) == clarity


def test_a_state_dump_is_a_stranger():
    state = '{"log_history": [], "num_train_epochs": 3, "max_steps": 10, "logging_steps": 5, "save_steps": 5}'
    assert FRAMEWORK.detect(parse("trainer_state.json", state, "json")) == NO_MATCH


def test_a_deepspeed_file_is_a_stranger():
    text = '{"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2, "bf16": {"enabled": true}, "seed": 1}'
    assert FRAMEWORK.detect(parse("ds.json", text, "json")) == NO_MATCH


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("stage: sft\nfinetuning_type: lora\ntemplate: llama3\nper_device_train_batch_size: 1\nnum_train_epochs: 3\n", None),
        ("base_model: x\ndatasets: []\nmicro_batch_size: 2\nsequence_len: 2048\nnum_epochs: 1\nlearning_rate: 0.0002\n", "axolotl"),
        ("model: m\nstage: sft\ntuner_type: lora\noutput_dir: out\nnum_train_epochs: 3\n", "ms-swift"),
        ("per_device_train_batch_size: 4\nnum_train_epochs: 3\n", None),
    ],
)
def test_relatives_are_named_and_strangers(text, name):
    document = yaml(text)
    assert FRAMEWORK.related_tool(document) == name
    if name:
        assert FRAMEWORK.detect(document) == NO_MATCH


def test_references():
    text = "deepspeed: conf/ds.json\naccelerator_config: acc.json\nfsdp_config: null\n"
    assert FRAMEWORK.references(yaml(text)) == [
        (("deepspeed",), "conf/ds.json", "deepspeed"),
        (("accelerator_config",), "acc.json", "huggingface"),
    ]


@each_case("value", ["null", "~", "{stage: 2}", "'{\"a\": 1}'", "true", ""])
def test_what_names_no_file(value):
    assert FRAMEWORK.references(yaml(f"deepspeed: {value}\n")) == []
