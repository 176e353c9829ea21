from __future__ import annotations

import pytest

from cases import each_case
from cfglint.frameworks.huggingface.batch import product


def numbers(run, *names):
    return tuple(run.resolved[name] for name in names)


TRIPLE = ("micro_batch", "accumulation", "data_parallel", "global_batch")


@each_case(
    ("text", "gpus", "expected"),
    [
        ("output_dir: out\n", 1, (8, 1, 1, 8)),
        ("output_dir: out\n", 8, (8, 1, 8, 64)),
        ("output_dir: out\nper_device_train_batch_size: 4\n", 8, (4, 1, 8, 32)),
        ("output_dir: out\ngradient_accumulation_steps: 4\n", 8, (8, 4, 8, 256)),
        ("output_dir: out\nper_device_train_batch_size: 2\ngradient_accumulation_steps: 8\n", 2, (2, 8, 2, 32)),
        ("output_dir: out\nper_device_train_batch_size: true\n", 1, (1, 1, 1, 1)),
        ("output_dir: out\ngradient_accumulation_steps: -2\n", 1, (8, -2, 1, -16)),
    ],
)
def test_batch(trainer, text, gpus, expected):
    run = trainer(text, gpus)
    assert run.verdict == "accept"
    assert numbers(run, *TRIPLE) == expected


def test_unknown_gpus_leave_the_product_open(trainer):
    run = trainer("output_dir: out\n", None)
    assert numbers(run, *TRIPLE) == (8, 1, None, None)


@each_case(
    ("line", "code", "exception", "stage"),
    [
        ('per_device_train_batch_size: "8"', "BAT003", "a positive integer value, but got batch_size=8", "init"),
        ("per_device_train_batch_size: 8.0", "BAT003", "batch_size=8.0", "init"),
        ("per_device_train_batch_size: null", "BAT003", "unsupported operand type(s) for *: 'NoneType' and 'int'", "init"),
        ("per_device_train_batch_size: [8]", "BAT003", "batch_size=[8]", "init"),
        ("per_device_train_batch_size: {a: 8}", "BAT003", "for *: 'dict' and 'int'", "init"),
        ("per_device_train_batch_size: 0", "BAT004", "batch_size=0", "init"),
        ("per_device_train_batch_size: -1", "BAT004", "batch_size=-1", "init"),
        ('gradient_accumulation_steps: "4"', "BAT003", "for //: 'int' and 'str'", "init"),
        ("gradient_accumulation_steps: null", "BAT003", "for *: 'int' and 'NoneType'", "init"),
        ("gradient_accumulation_steps: [4]", "BAT003", "for //: 'int' and 'list'", "init"),
        ("gradient_accumulation_steps: 0", "BAT004", "ZeroDivisionError", "init"),
        ("gradient_accumulation_steps: false", "BAT004", "ZeroDivisionError", "init"),
        ("gradient_accumulation_steps: 4.0", "TYP200", "'float' object cannot be interpreted as an integer", "first-step"),
    ],
)
def test_refused_batches(trainer, line, code, exception, stage):
    run = trainer(f"output_dir: out\n{line}\n")
    (found,) = [each for each in run.diagnostics if each.severity == "error"]
    assert (found.code, found.fails_at) == (code, stage)
    assert exception in found.exception


def test_a_whole_float_accumulates_in_old_releases_unless_the_steps_are_limited(trainer):
    text = "output_dir: out\ngradient_accumulation_steps: 4.0\n"
    assert trainer(text, version="4.42.4").verdict == "accept"
    assert trainer(text + "max_steps: 10\n", version="4.42.4").fails_at == "first-step"


def test_split_batches_are_printed_times_the_processes_and_are_not(trainer):
    run = trainer("output_dir: out\nper_device_train_batch_size: 16\naccelerator_config: {split_batches: true}\n", 8, 1600)
    assert numbers(run, "global_batch", "consumed_batch", "steps_per_epoch") == (128, 16, 100)


@pytest.mark.parametrize(("size", "accepted"), [(16, True), (12, False), (1, False), (8, True)])
def test_split_batches_split_evenly(trainer, size, accepted):
    run = trainer(f"output_dir: out\nper_device_train_batch_size: {size}\naccelerator_config: {{split_batches: true}}\n", 8)
    assert (run.verdict == "accept") is accepted


def test_old_top_level_split_batches(trainer):
    run = trainer("output_dir: out\nper_device_train_batch_size: 12\nsplit_batches: true\n", 8, version="4.42.4")
    assert run.verdict == "reject"


def test_num_steps_takes_the_place_of_accumulation_from_5_on(trainer):
    text = "output_dir: out\naccelerator_config: {gradient_accumulation_kwargs: {num_steps: 4}}\n"
    assert trainer(text, 2).resolved["accumulation"] == 4
    assert trainer(text, 2, version="4.42.4").resolved["accumulation"] == 1


def test_per_gpu_size_wins_in_4(trainer):
    text = "output_dir: out\nper_gpu_train_batch_size: 2\nper_device_train_batch_size: 8\n"
    assert trainer(text, version="4.42.4").resolved["micro_batch"] == 2
    assert trainer(text).resolved["micro_batch"] == 8


STEPS = ("steps_per_epoch", "total_steps", "warmup_steps")


@pytest.mark.parametrize(
    ("version", "expected"),
    [("4.42.4", (503, 1509, 0)), ("4.51.3", (503, 1509, 0)), ("4.52.1", (504, 1512, 0)), ("5.23.0", (504, 1512, 0))],
)
def test_the_published_run_of_1509_steps(trainer, version, expected):
    text = "output_dir: out\nnum_train_epochs: 3\nper_device_train_batch_size: 8\ngradient_accumulation_steps: 8\n"
    assert numbers(trainer(text, 4, 128770, version), *STEPS) == expected


@each_case(
    ("text", "expected"),
    [
        ("max_steps: 100\nwarmup_steps: 0.1\n", (125, 100, 10)),
        ("num_train_epochs: 2.5\nwarmup_steps: 50\n", (125, 313, 50)),
        ("dataloader_drop_last: true\nper_device_train_batch_size: 3\n", (333, 999, 0)),
        ("train_sampling_strategy: batch_rebalance\ngradient_accumulation_steps: 3\n", (42, 126, 0)),
        ("max_steps: 0\n", (125, 0, 0)),
    ],
)
def test_steps(trainer, text, expected):
    assert numbers(trainer("output_dir: out\n" + text, 1, 1000), *STEPS) == expected


def test_a_limit_needs_no_samples(trainer):
    run = trainer("output_dir: out\nmax_steps: 100\nwarmup_steps: 0.25\n", 8)
    assert numbers(run, *STEPS) == (None, 100, 25)


def test_a_share_of_an_unknown_length_is_unknown(trainer):
    run = trainer("output_dir: out\nwarmup_steps: 0.25\n", 8)
    assert numbers(run, *STEPS) == (None, None, None)


def test_a_product_needs_numbers():
    assert product(2, 3, 4) == 24
    assert product(2, None, 4) is None
    assert product(2, "3") is None


@each_case("steps", ["warmup_steps: -.inf", "warmup_steps: .nan", "max_steps: -.inf", "max_steps: .nan"])
@each_case("examples", [None, 1000])
def test_no_steps_come_of_what_is_no_finite_number(trainer, steps, examples):
    run = trainer(f"output_dir: out\n{steps}\n", 8, examples)
    assert run.resolved["warmup_steps"] is None or run.resolved["total_steps"] is None
    assert not run.bugs


def test_a_share_of_more_steps_than_a_float_can_count(trainer):
    run = trainer(f"output_dir: out\nmax_steps: 1{'0' * 400}\nwarmup_steps: 0.1\n", 8)
    assert run.resolved["warmup_steps"] is None
    assert not run.bugs


def test_a_ratio_that_the_release_refuses_counts_where_the_run_starts(trainer):
    text = "output_dir: out\nwarmup_ratio: 0.1\nmax_steps: 200\n"
    runs = [trainer(text, 1, 100, "5.24.0", strict=strict) for strict in (True, False)]
    assert [run.resolved["warmup_steps"] for run in runs] == [20, 0]


@each_case("value", ["{}", "{a: 1}", "[]", '""'])
def test_a_warmup_ratio_that_is_no_number_leaves_the_warmup_unknown(trainer, value):
    run = trainer(f"output_dir: out\nwarmup_ratio: {value}\n", 1, 100, "5.10.0")
    assert run.resolved["warmup_steps"] is None
    assert all(each.code != "INT000" for each in run.diagnostics)
