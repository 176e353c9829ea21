"""What ends a run of axolotl after the validation of its file, beyond the example of each rule."""

from __future__ import annotations

from cases import each_case

HEAD = """\
base_model: org/m
learning_rate: 2.0e-5
micro_batch_size: 1
gradient_accumulation_steps: 1
num_epochs: 1
output_dir: o
datasets:
  - {path: d, type: alpaca}
"""


@each_case(
    ("text", "release", "expected"),
    [
        ("fsdp: [full_shard, auto_wrap]\n", "0.9.2", ["AXL018"]),
        ("fsdp: [full_shard, auto_wrap]\n", "0.19.0", ["AXL018"]),
        ("fsdp: [full_shard, auto_wrap]\nfsdp_config: {}\n", "0.9.2", []),
        ("val_set_size: null\n", "0.21.0", ["AXL066"]),
        ("val_set_size: null\neval_steps: 10\n", "0.9.2", ["AXL066"]),
        ("val_set_size: null\nrl: dpo\n", "0.21.0", []),
        ("val_set_size: 0\n", "0.21.0", []),
        ("", "0.21.0", []),
    ],
)
def test_after_validation(checked_project, text, release, expected):
    options = ["--kind", "axolotl", "--run", "--gpus", "2"]
    report = checked_project({"a.yml": HEAD + text}, f"axolotl=={release}", options=options, paths=["a.yml"])
    assert [each["code"] for each in report["diagnostics"] if each["severity"] == "error"] == expected


@each_case(
    ("text", "release", "expected"),
    [("max_steps: 20\n", "0.21.0", ["AXL065"]), ("max_steps: 20\n", "0.9.0", []), ("", "0.21.0", [])],  # 0.9.0: whichever ends first
)
def test_epochs_beside_a_number_of_steps(checked_project, text, release, expected):
    report = checked_project({"a.yml": HEAD + text}, f"axolotl=={release}", options=["--kind", "axolotl"], paths=["a.yml"])
    assert [each["code"] for each in report["diagnostics"] if each["code"] == "AXL065"] == expected


SHARDED = "adapter: lora\nlora_r: 8\nlora_alpha: 16\nlora_target_linear: true\nload_in_8bit: true\n"


@each_case(
    ("text", "codes"),
    [
        (SHARDED + "fsdp: [full_shard]\nfsdp_config: {fsdp_offload_params: false}\n", ["AXL067"]),
        (SHARDED, []),
        (SHARDED.replace("8bit: true", "8bit: false") + "fsdp: [full_shard]\nfsdp_config: {fsdp_offload_params: false}\n", []),
    ],
)
def test_8bit_weights_under_fsdp(checked_project, text, codes):
    report = checked_project({"a.yml": HEAD + text}, "axolotl==0.9.2", options=["--kind", "axolotl"], paths=["a.yml"])
    assert [each["code"] for each in report["diagnostics"] if each["code"] == "AXL067"] == codes
