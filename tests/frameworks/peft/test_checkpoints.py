"""The config of a checkpoint that a run names."""

from __future__ import annotations

from cases import each_case
from cfglint.frameworks.peft.checkpoints import config_of


@each_case(
    ("name", "model_type"),
    [
        ("Qwen/Qwen2-VL-7B-Instruct", "qwen2_vl"),
        ("HuggingFaceH4/zephyr-7b-beta", "mistral"),
        ("openbmb/MiniCPM-o-2_6", None),  # of the shape of another model, not with its modules
        ("openbmb/MiniCPM-V-2_6", None),
    ],
)
def test_a_published_model_has_the_modules_of_its_own_architecture(name, model_type):
    config = config_of(name, "train.py")
    assert (config and config["model_type"]) == model_type
