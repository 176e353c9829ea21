"""Where a finding points: at a value, at the key of a mapping, and for a missing key at what makes it necessary."""

from __future__ import annotations

from cfglint import check


def places(name, text, kind, code):
    """(line, column, marked text) of the findings of a rule."""
    found = [each for each in check({name: text}, kind=kind).diagnostics if each.code == code]
    return [(each.line, each.column, text[each.place.start : each.place.end]) for each in found]


def test_a_mapping_is_pointed_at_by_its_key():
    block = "output_dir: out\ngradient_checkpointing: false\ngradient_checkpointing_kwargs:\n  use_reentrant: false\n"
    assert places("train.yaml", block, "huggingface", "HFT064") == [(3, 1, "gradient_checkpointing_kwargs")]
    adam = '"optimizer": {"type": "AdamW", "params": {"lr": 1e-4}}'
    ds = f'{{"train_batch_size": 8, "zero_optimization":\n {{"stage": 2, "zenflow":\n  {{}}}},\n {adam}}}'
    assert places("ds.json", ds, "deepspeed", "DSP051") == [(2, 15, '"zenflow"')]


def test_a_list_of_several_lines_is_pointed_at_by_its_key_and_a_short_one_by_its_value():
    head = "base_model: org/model\nlearning_rate: 2.0e-5\ndatasets:\n  - {path: data.jsonl, type: alpaca}\n"
    assert places("config.yml", f"{head}fsdp:\n  - full_shard\n  - auto_wrap\n", "axolotl", "AXL018") == [(5, 1, "fsdp")]
    text = "output_dir: out\nfsdp: [full-shard]\n"
    assert places("train.yaml", text, "huggingface", "HFT020") == [(2, 7, "[full-shard]")]


def test_a_missing_key_or_a_default_is_pointed_at_by_what_makes_it_matter():
    text = "# Model\noutput_dir: out\nper_device_train_batch_size: 1\neval_strategy: epoch\n"
    assert places("train.yaml", text, "huggingface", "STP012") == [(3, 30, "1")]
    assert places("accelerate.yaml", "num_processes: 8\n", "accelerate", "ACC003") == [(1, 1, "")]


def test_a_comment_on_the_first_line_still_covers_a_default():
    text = "# cfglint: ignore[STP012]\noutput_dir: out\nper_device_train_batch_size: 1\neval_strategy: epoch\n"
    assert [each.code for each in check({"train.yaml": text}, kind="huggingface").diagnostics if not each.suppressed] == []
