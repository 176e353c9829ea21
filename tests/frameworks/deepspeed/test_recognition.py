"""Which files are taken for DeepSpeed's, by keys and by name."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.frameworks.base import CERTAIN, MAYBE, NO_MATCH
from cfglint.frameworks.deepspeed import FRAMEWORK
from cfglint.source.parse import parse


def recognised(name, text, syntax="json"):
    return FRAMEWORK.detect(parse(name, text, syntax))


@each_case(
    "text",
    [
        '{"zero_optimization": {"stage": 2}}',
        '{"train_micro_batch_size_per_gpu": "auto"}',
        '{"bf16": {"enabled": "auto"}, "gradient_clipping": "auto"}',
        '{"fp16": {"loss_scale": 0}, "activation_checkpointing": {"cpu_checkpointing": true}}',
        "{\n  // a comment, and no quotes\n  zero_optimization: {stage: 3},\n}",
        "train_batch_size: 8\nzero_optimization: {stage: 1}\n",
    ],
)
def test_keys_that_only_deepspeed_has(text):
    assert recognised("settings.json", text) == CERTAIN


@pytest.mark.parametrize("name", ["ds_config.json", "configs/ds_zero3.json", "deepspeed.json", "zero2.json"])
def test_a_telling_name_settles_shared_keys(name):
    assert recognised(name, '{"train_batch_size": 8}') == CERTAIN


def test_shared_keys_alone_are_unclear():
    assert recognised("config.json", '{"train_batch_size": 8, "gradient_accumulation_steps": 2}') == MAYBE


def test_one_section_alone_is_unclear():
    section = '{"gradient_clipping": 1.0, "fp16": {"loss_scale": 0}}'
    assert recognised("settings.json", section) == CERTAIN
    assert recognised("settings.json", section.replace('"gradient_clipping": 1.0, ', "")) == MAYBE


def test_a_name_alone_is_unclear():
    assert recognised("ds_config.json", "{}") == MAYBE


def test_a_broken_file_is_known_by_its_keys():
    assert recognised("x.json", '{"zero_optimization": {"stage": 2') == CERTAIN
    assert recognised("x.json", '{"name": {"a": 2') == NO_MATCH


@each_case(
    ("name", "text"),
    [
        ("package.json", '{"name": "app", "version": "1.0.0", "dependencies": {}}'),
        ("config.json", '{"architectures": ["LlamaForCausalLM"], "quantization_config": {"bits": 4}}'),
        ("tsconfig.json", '{"compilerOptions": {"strict": true}, /* note */ }'),
        ("tokenizer_config.json", '{"add_bos_token": true, "model_max_length": 4096}'),
        ("settings.json", '{"editor.formatOnSave": true}'),
        ("trainer_state.json", '{"train_batch_size": 8, "global_step": 10, "log_history": []}'),
        ("training_args.json", '{"per_device_train_batch_size": 8, "fp16": true, "gradient_accumulation_steps": 2}'),
        ("experiment.json", '{"optimizer": {"type": "Adam", "args": {}}, "lr": 0.1}'),
        ("neox.json", '{"num_layers": 12, "zero_optimization": {"stage": 1}}'),
        ("list.json", "[1, 2]"),
        ("deepspeed_notes.json", '{"author": "me"}'),
    ],
)
def test_strangers(name, text):
    assert recognised(name, text) == NO_MATCH


def test_yaml_is_not_deepspeeds():
    assert recognised("zero.yaml", "zero_optimization: {stage: 1}\n", "yaml") == NO_MATCH
