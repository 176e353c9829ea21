"""Which settings count as changed: meaning, not text."""

from __future__ import annotations

import pytest

from cfglint.frameworks.huggingface.fields import FIELDS

TRAINER = "output_dir: out\nper_device_train_batch_size: 4\nlearning_rate: 2.0e-5\nbf16: true\n"


NO_OFFLOAD = '"offload_param": {"device": "none", "pin_memory": true}'


def changed(compare, before, after, **facts):
    """The changed settings as texts."""
    compared = compare(before, after, **facts)
    return [f"{each.key}: {each.before.text} -> {each.after.text}" for each in compared.settings]


@pytest.mark.parametrize(
    "after",
    [
        "bf16: true\nlearning_rate: 2.0e-5\nper_device_train_batch_size: 4\noutput_dir: out\n",
        "# why\noutput_dir: 'out'\nper_device_train_batch_size:   4   # four\n\nlearning_rate: 0.00002\nbf16: True\n",
        '{output_dir: "out", per_device_train_batch_size: 0x4, learning_rate: 2.0e-5, bf16: yes}\n',
        TRAINER.replace("\n", "\r\n"),
        f"---\n{TRAINER}...\n",
        f"{TRAINER}gradient_accumulation_steps: 1\nmax_grad_norm: {FIELDS['max_grad_norm'][1]}\nseed: 42\n",
    ],
    ids=["order", "spelling", "flow", "line-ends", "markers", "defaults"],
)
def test_reformatting_is_no_change(compare, after):
    assert compare(TRAINER, after, gpus=8).empty
    assert compare(after, TRAINER, gpus=8).empty


@pytest.mark.parametrize(
    "after",
    [
        '{"zero_optimization":{"stage":2.0},"train_batch_size":64}',
        "{\n  // hjson\n  train_batch_size: 64\n  zero_optimization: {stage: 2,}\n}",
        '{"train_batch_size": 64, "zero_optimization": {"stage": 2}, "fp16": {"enabled": false}, "prescale_gradients": false}',
        '{"train_batch_size": 64, "zero_optimization": {"stage": 2}, "fp16": {}}',
    ],
    ids=["compact", "hjson", "defaults", "empty-section"],
)
def test_reformatting_of_json_is_no_change(compare, after):
    before = '{"train_batch_size": 64, "zero_optimization": {"stage": 2}}'
    assert compare({"ds.json": before}, {"ds.json": after}, gpus=8, kind="deepspeed", kind_given=True).empty


def test_an_offload_to_no_device_is_none(compare):
    files = [{"ds.json": f'{{"train_batch_size": 64, "zero_optimization": {{"stage": 3{each}}}}}'} for each in ("", f", {NO_OFFLOAD}")]
    assert compare(*files, gpus=8, kind="deepspeed", kind_given=True).empty


def test_what_is_no_number_is_itself(compare):
    text = TRAINER + "num_train_epochs: .nan\nlr_scheduler_kwargs: {a: .nan, b: [.nan, 1]}\n"
    assert compare(text, text, gpus=8).empty


def test_text_is_not_a_number(compare):
    """PyYAML reads 2e-5 as text."""
    (change,) = compare(TRAINER, TRAINER.replace("2.0e-5", "2e-5")).settings
    assert (change.key, change.before.text, change.after.text) == ("learning_rate", "2.0e-5", "2e-5")
    assert change.notes == ["was parsed as a number, now as a string"]


def test_a_number_is_not_a_boolean(compare):
    assert changed(compare, TRAINER, TRAINER.replace("true", "1")) == ["bf16: true -> 1"]


def test_a_fraction_where_whole_numbers_belong(compare):
    assert changed(compare, TRAINER, TRAINER.replace("size: 4", "size: 4.0")) == ["per_device_train_batch_size: 4 -> 4.0"]
    assert changed(compare, f"{TRAINER}max_grad_norm: 2\n", f"{TRAINER}max_grad_norm: 2.0\n") == []


def test_a_default_is_a_value(compare):
    assert changed(compare, TRAINER, f"{TRAINER}gradient_accumulation_steps: 4\n") == ["gradient_accumulation_steps: 1 (default) -> 4"]
    assert changed(compare, f"{TRAINER}gradient_accumulation_steps: 4\n", TRAINER) == ["gradient_accumulation_steps: 4 -> 1 (default)"]


def test_the_default_is_that_of_the_release(compare):
    """`overwrite_output_dir` style defaults move; optim is adamw_torch, from 4.57 on adamw_torch_fused."""
    after = f"{TRAINER}optim: adamw_torch\n"
    assert changed(compare, TRAINER, after, target={"transformers": "4.42.4"}) == []
    assert changed(compare, TRAINER, after, target={"transformers": "5.23.0"}) == ['optim: "adamw_torch_fused" (default) -> adamw_torch']


def test_the_default_is_that_of_the_trainers_class_in_its_release(compare):
    """`check` reads them from the same table: grpo's temperature was 0.9, kto keeps unused columns."""
    before = "output_dir: out\nmodel_name_or_path: org/model\ndataset_name: org/data\n"
    after = f"{before}temperature: 0.7\nlogging_steps: 5\n"
    facts = {"kind": "trl", "kind_given": True, "trainer": "grpo"}
    old = changed(compare, before, after, **facts, target={"trl": "0.17.0", "transformers": "4.51.3"})
    assert old == ["temperature: 0.9 (default) -> 0.7", "logging_steps: 500 (default) -> 5"]
    assert changed(compare, before, after, **facts) == ["temperature: 1.0 (default) -> 0.7", "logging_steps: 10 (default) -> 5"]
    file = "output_dir: out\nremove_unused_columns: true\n"
    assert changed(compare, "output_dir: out\n", file, kind="trl", kind_given=True, trainer="sft") == []
    assert changed(compare, "output_dir: out\n", before, **facts)[1:] == ["dataset_name: (unset) -> org/data"]


def test_the_default_of_llamafactorys_trainer_is_that_of_its_release(compare):
    facts = {"kind": "llamafactory", "kind_given": True, "target": {"transformers": "4.49.0"}}
    assert changed(compare, "stage: sft\n", "stage: sft\nwarmup_ratio: 0.1\nlora_rank: 4\n", **facts) == [
        "warmup_ratio: 0.0 (default) -> 0.1",
        "lora_rank: 8 (default) -> 4",
    ]


def test_keys_of_the_scripts_own_count(compare):
    assert changed(compare, f"{TRAINER}dataset: a\n", f"{TRAINER}dataset: b\n") == ["dataset: a -> b"]
    assert changed(compare, f"{TRAINER}dataset: a\n", TRAINER) == ["dataset: a -> (unset)"]


def test_an_old_name_for_the_same(compare):
    before, after = (f"{TRAINER}{name}: steps\neval_steps: 10\n" for name in ("evaluation_strategy", "eval_strategy"))
    assert changed(compare, before, after, target={"transformers": "4.42.4"}) == []
    assert changed(compare, before, after, target={"transformers": "5.23.0"}) != []


def test_a_new_section_is_one_change(compare):
    before, after = {"ds.json": "{}"}, {"ds.json": '{"zero_optimization": {"stage": 2, "overlap_comm": true}}'}
    assert changed(compare, before, after, complete=False, kind="deepspeed") == [
        'zero_optimization: (unset) -> {"stage": 2, "overlap_comm": true}'
    ]


def test_lists_and_long_values(compare):
    before = f"{TRAINER}report_to: [wandb]\nrun_name: {'x' * 200}a\n"
    after = f"{TRAINER}report_to:\n- größe\n- wandb\nrun_name: {'x' * 200}b\n"
    lines = changed(compare, before, after)
    assert lines[0] == 'report_to: [wandb] -> ["größe", "wandb"]'
    assert lines[1].startswith("run_name: ...xxx")
    assert "xa -> ...x" in lines[1]
    assert len(lines[1]) < 200


def test_auto_is_compared_as_it_is_written(compare):
    """What a trainer fills in is a consequence, not a change of the file."""
    trainer = "output_dir: out\nper_device_train_batch_size: 4\nbf16: true\ndeepspeed: ds.json\n"
    engine = '{"train_micro_batch_size_per_gpu": "auto", "bf16": {"enabled": true}, "zero_optimization": {"stage": 2}}'
    sides = [{"train.yaml": trainer.replace("4", size), "ds.json": engine} for size in "48"]
    assert changed(compare, *sides, gpus=8) == ["per_device_train_batch_size: 4 -> 8"]
    written = {"train.yaml": trainer, "ds.json": engine.replace('"auto"', "4")}
    assert changed(compare, sides[0], written, gpus=8) == ['train_micro_batch_size_per_gpu: "auto" -> 4']
    assert compare(sides[0], written, gpus=8).settings[0].notes == []


def test_a_section_in_a_trainers_file_is_told_once(compare):
    trainer = "output_dir: out\nbf16: true\ndeepspeed:\n  bf16: {enabled: true}\n  zero_optimization: {stage: 2}\n"
    assert changed(compare, trainer, trainer.replace("stage: 2", "stage: 3"), gpus=8, kind="huggingface") == [
        "deepspeed.zero_optimization.stage: 2 -> 3"
    ]


def test_a_key_that_moves_between_the_files_of_a_run(compare):
    one = "train_micro_batch_size_per_gpu: 4\nnum_layers: 2\n"
    other = one.replace("_", "-")
    assert changed(compare, one, other, complete=False, kind="neox") == []


def test_places(compare):
    (change,) = compare(TRAINER, f"# new\n{TRAINER}".replace("size: 4", "size: 8")).settings
    assert (change.before.place, change.after.place) == ("train.yaml:2", "train.yaml:3")
    assert change.before.written
    assert change.after.written


def test_a_section_of_defaults_changes_nothing(compare):
    engine = {"ds.json": '{"train_batch_size": 8}'}
    same = {"ds.json": '{"train_batch_size": 8, "zero_optimization": {"stage": 0, "overlap_comm": null}}'}
    other = {"ds.json": '{"train_batch_size": 8, "zero_optimization": {"stage": 0, "contiguous_gradients": false}}'}
    for before, after, count in ((engine, same, 0), (same, engine, 0), (engine, other, 1), (other, engine, 1)):
        assert len(changed(compare, before, after, gpus=8, kind="deepspeed")) == count


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("report_to: [wandb]\n", "report_to: wandb\n"),
        ("report_to: wandb\n", "report_to: [wandb]\n"),
        (f"run_name: {'a' * 200}b\n", f"run_name: {'a' * 200}c\n"),
    ],
    ids=["no-list", "list", "end"],
)
def test_a_list_of_one_value_and_the_end_of_a_long_string_are_changes(compare, before, after):
    [found] = changed(compare, TRAINER + before, TRAINER + after)
    assert found.startswith(before.partition(":")[0])


LINE = "CUDA_VISIBLE_DEVICES={} torchrun --nproc_per_node 2 train.py --output_dir o --per_device_train_batch_size 4 --adafactor {}\n"


def test_a_key_that_one_side_refuses_keeps_its_name_where_both_have_it(compare):
    refused = "--warmup_ratio 0.1 --save_total_limit 2 --logging_steps 9"  # by the newest release, in which its name is another
    compared = compare({"run.sh": LINE.format("0,1", refused)}, {"run.sh": LINE.format("0,1", f"--fp16 --bf16_full_eval {refused}")})
    assert not [each.key for each in compared.settings if "warmup" in each.key]


def test_a_variable_of_the_environment_is_always_a_string(compare):
    compared = compare({"run.sh": LINE.format("0,1", "")}, {"run.sh": LINE.format("1", "")})
    assert [(each.key, each.notes) for each in compared.settings] == [("CUDA_VISIBLE_DEVICES", [])]


def test_an_argument_of_a_program_that_was_not_read_is_listed_once(compare):
    line = "llamafactory-cli train /elsewhere/sft.yaml dataset=a template={}\n"
    compared = compare({"run.sh": line.format("qwen")}, {"run.sh": line.format("llama3")})
    assert [each.key for each in compared.settings] == ["template"]


def test_steps_of_a_program_that_was_not_read_may_change(told):
    line = "torchrun --nproc_per_node 2 -m own.trainer --max_steps {} --per_device_train_batch_size 4 --gradient_accumulation_steps 2\n"
    assert "steps change with" not in " ".join(told({"run.sh": line.format(5)}, {"run.sh": line.format("$STEPS")}))
