from __future__ import annotations

from cases import each_case
from cfglint.frameworks import detect
from cfglint.frameworks.base import CERTAIN, NO_MATCH
from cfglint.frameworks.llamafactory import FRAMEWORK
from cfglint.source.parse import parse


def yaml(text):
    return parse("a.yaml", text, "yaml")


@each_case(
    ("text", "clarity"),
    [
        ("model_name_or_path: m\nstage: sft\ntemplate: llama3\nlearning_rate: 1e-5\n", CERTAIN),
        ("model_name_or_path: m\nfinetuning_type: lora\ncutoff_len: 1024\ndo_train: true\nexport_dir: out\n", CERTAIN),
        ("model_name_or_path: m\ntemplate: llama3\ninfer_backend: vllm\nfinetuning_type: lora\n", NO_MATCH),
        ("model_name_or_path: m\ntemplate: llama3\nexport_dir: out\nfinetuning_type: lora\n", NO_MATCH),
        ("base_model: m\nlora_rank: 8\nlora_target: all\ndataset: d\n", NO_MATCH),
        ("output_dir: out\nper_device_train_batch_size: 4\n", NO_MATCH),
        ("stage: build\nscript: make\n", NO_MATCH),
        ("model: m\nstage: sft\ntuner_type: lora\nlora_rank: 8\noutput_dir: out\n", NO_MATCH),
        ("", NO_MATCH),
    ],
)
def test_clarity(text, clarity):
    assert FRAMEWORK.detect(yaml(text)) == clarity


def test_no_other_kind_claims_a_training_file():
    assert detect(yaml("model_name_or_path: m\nstage: sft\ntemplate: x\ndo_train: true\nnum_train_epochs: 3\n")) == (
        "llamafactory",
        CERTAIN,
    )


def test_a_file_of_another_command_is_named():
    assert FRAMEWORK.related_tool(yaml("model_name_or_path: m\ntemplate: llama3\ninfer_backend: vllm\n")) == "LLaMA-Factory inference"
    assert FRAMEWORK.related_tool(yaml("template: llama3\n")) is None
