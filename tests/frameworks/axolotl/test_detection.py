from __future__ import annotations

from cases import each_case
from cfglint.frameworks import detect
from cfglint.source.parse import parse


@each_case(
    ("text", "kind"),
    [
        ("base_model: m\ndatasets: []\nmicro_batch_size: 2\n", "axolotl"),
        ("base_model: m\nsequence_len: 512\nadapter: lora\n", "axolotl"),
        ("base_model: m\npretraining_dataset: []\nlearning_rate: 1.0e-5\n", "axolotl"),
        ("base_model: m\nmodels: []\nmerge_method: ties\n", None),  # mergekit
        ("output_dir: out\nper_device_train_batch_size: 4\nlearning_rate: 1.0e-5\n", "huggingface"),
        ("model_name_or_path: m\nstage: sft\nfinetuning_type: lora\ncutoff_len: 512\ndataset: a\n", "llamafactory"),
        ("train_batch_size: 4\nmicro_batch_size: 2\n", None),
    ],
)
def test_detection(text, kind):
    assert detect(parse("config.yml", text, "yaml"))[0] == kind


def test_a_json_file_of_another_program_with_some_of_the_names():
    text = '{"base_model": "org/m", "micro_batch_size": 1, "lora_r": 8, "lora_alpha": 16, "val_set_size": 0, "num_epochs": 1DATA}'
    assert detect(parse("config.json", text.replace("DATA", ""), "json"))[0] is None
    assert detect(parse("config.json", text.replace("DATA", ', "datasets": [{"path": "x"}]'), "json"))[0] == "axolotl"
