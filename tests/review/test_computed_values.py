"""Values that are unknown before and after a change, but computed from something that changed."""

from __future__ import annotations

from cases import each_case

TAIL = "train.py --output_dir o --per_device_train_batch_size 1 --save_strategy no --bf16"
MAY = "may have changed"


def script(*lines):
    return {"run.sh": "\n".join(lines) + "\n"}


def texts(compared):
    return [each.text for each in compared.consequences]


@each_case(
    ("before", "after"),
    [
        ("A=$((8 / (2 * $N)))", "A=$((128 / (2 * $N)))"),
        ("G=8\nA=$((G / N))", "G=128\nA=$((G / N))"),
        ("G=8\nA=$(($G / $(nvidia-smi -L | wc -l)))", "G=128\nA=$(($G / $(nvidia-smi -L | wc -l)))"),
        ("G=8\nB=$((G / N))\nA=$((B * 2))", "G=16\nB=$((G / N))\nA=$((B * 2))"),
        ('A=$(echo "8 / $N" | bc)', 'A=$(echo "16 / $N" | bc)'),
        ("A=$(python -c 'print(8)')", "A=$(python -c 'print(16)')"),
        ("if some_test; then A=1; else A=2; fi", "if some_test; then A=1; else A=4; fi"),
    ],
)
def test_an_unknown_number_that_is_computed_from_a_changed_one_may_have_changed(compare, before, after):
    line = f"torchrun --nproc_per_node 8 {TAIL} --gradient_accumulation_steps $A"
    compared = compare(script(before, line), script(after, line))
    assert not compared.no_effect
    assert [each.what for each in compared.consequences if not each.known] == ["global_batch"]
    assert any(MAY in each and "--gradient_accumulation_steps" in each for each in texts(compared))


def test_a_path_that_begins_with_an_unknown_variable_may_have_changed(compare):
    line = "python -m verl.trainer.main_ppo data.train_files=$D/train.parquet trainer.default_local_dir=$D/out"
    compared = compare(script("D=$1", line), script("D=$1/new", line))
    assert [each.what for each in compared.consequences] == ["train_files"]
    assert "train files may have changed: `data.train_files` is unknown" in texts(compared)[0]


def test_an_unknown_number_that_is_computed_from_the_same_ones_stays(compare):
    line = f"torchrun --nproc_per_node 8 {TAIL} --gradient_accumulation_steps $((8 / $N))"
    compared = compare(script("X=1", line), script("X=2", line))
    assert compared.no_effect


def test_an_unknown_number_of_processes_may_have_changed(compare):
    line = f"torchrun --nproc_per_node $((G / N)) {TAIL}"
    compared = compare(script("G=8", line), script("G=16", line))
    assert [each.what for each in compared.consequences] == ["gpus"]
    assert MAY in texts(compared)[0]


def test_names_and_paths_have_no_effect(compare):
    line = f"torchrun --nproc_per_node 8 {TAIL} --run_name $((G / N))"
    assert compare(script("G=8", line), script("G=16", line)).no_effect


def test_an_ignored_key_changes_no_quantity(compare):
    before = '{"train_batch_size": 8, "warmup": 0.1, "scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": 10}}}'
    after = '{"train_batch_size": 8, "scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": 100}}}'
    compared = compare({"ds.json": before}, {"ds.json": after}, gpus=8, kind="deepspeed")
    assert [(each.before, each.after) for each in compared.consequences if each.what == "warmup"] == [(10, 100)]


def test_processes_that_do_not_start_are_no_gpus(compare):
    one = 'compute_environment: LOCAL_MACHINE\ndistributed_type: "NO"\nnum_processes: {}\n'
    compared = compare({"acc.yaml": one.format(8)}, {"acc.yaml": one.format(1)})
    assert not [each for each in compared.consequences if each.what == "gpus"]
