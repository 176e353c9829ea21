from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import each_case
from cfglint.batch import steps
from cfglint.batch.equation import implied_gpus

FLOOR = (4, 51, 3)
CEIL = (4, 52, 0)
LAST_4 = (4, 57, 6)


# ---- published examples


def test_128770_examples_three_epochs() -> None:
    assert implied_gpus(256, 8, 8) == 4
    batches = steps.batches_per_rank(128_770, 8, 4)
    old = steps.training_length(batches, 8, epochs=3, version=FLOOR)
    new = steps.training_length(batches, 8, epochs=3, version=CEIL)
    assert (old.updates_per_epoch, old.total_steps) == (503, 1509)
    assert (new.updates_per_epoch, new.total_steps) == (504, 1512)
    assert steps.releases_giving(1509, batches, 8, 3) == [steps.FLOOR_RELEASES]
    assert steps.releases_giving(1512, batches, 8, 3) == [steps.CEIL_RELEASES]


def test_1047_examples_three_hundred_epochs() -> None:
    assert implied_gpus(80, 10, 8) == 1
    batches = steps.batches_per_rank(1_047, 10)
    old = steps.training_length(batches, 8, epochs=300, version=(4, 49, 0))
    assert (batches, old.updates_per_epoch, old.total_steps) == (105, 13, 3900)
    assert steps.training_length(batches, 8, epochs=300, version=CEIL).total_steps == 4200
    # accumulation was not ignored: without it the total would have been 31,500; the loop just stopped early
    assert steps.training_length(batches, 1, epochs=300, version=(4, 49, 0)).total_steps == 31_500
    taken, epochs = steps.run_end(batches, 8, 1_047, old, (4, 49, 0))
    assert (taken, round(epochs, 1)) == (3900, 278.6)


def test_31267487_samples_of_2048_tokens() -> None:
    samples, sequence, batch = 31_267_487, 2_048, 1_024
    assert samples * sequence == 64_035_813_376
    assert samples / batch == pytest.approx(30_534.66, abs=0.005)
    assert steps.neox_train_iters(samples, 4, 256, 1, 1) == 30_534
    assert steps.neox_train_iters(samples, 4, 32, 8, 1) == 30_534
    assert steps.neox_train_iters(samples, 4, 32, 8, 3) == 91_603


def test_1000_samples_with_and_without_accumulation() -> None:
    assert steps.batches_per_rank(1_000, 10) == 100
    assert steps.updates_per_epoch(100, 1) == 100
    assert steps.batches_per_rank(1_000, 5) == 200
    assert steps.updates_per_epoch(200, 2) == 100


def test_three_epochs_have_three_times_the_steps_of_one() -> None:
    updates = steps.updates_per_epoch(steps.batches_per_rank(64_000, 8, 4), 2)
    total = steps.total_steps(-1, 3, updates)
    assert total == 3 * 64_000 / 64


# ---- batches of a rank


@each_case(
    ("options", "expected"),
    [
        ({}, 3),
        ({"drop_last": True}, 2),
        ({"split_batches": True}, 10),
        ({"split_batches": True, "drop_last": True}, 9),
        ({"even_batches": False, "rank": 1}, 3),
        ({"even_batches": False, "rank": 2}, 2),
        ({"dispatch_batches": True}, 3),
        ({"dispatch_batches": True, "even_batches": False, "rank": 3}, 3),
        ({"dispatch_batches": True, "drop_last": True}, 2),
        ({"dispatch_batches": True, "processes": 8}, 2),
        ({"sequence_parallel": 2}, 6),
    ],
)
def test_batches_of_a_rank(options: dict[str, int], expected: int) -> None:
    assert steps.batches_per_rank(39, 4, 4, **options) == expected  # type: ignore[arg-type]


def test_too_few_examples_for_every_rank() -> None:
    assert steps.batches_per_rank(7, 1, 8) == 1
    assert steps.batches_per_rank(7, 1, 8, drop_last=True) == 0


def test_rebalanced_batches_come_in_whole_updates() -> None:
    assert steps.rebalanced_batches(100, 4, 3, 2) == 15
    assert steps.rebalanced_batches(100, 4, 3, 2, drop_last=True) == 12


# ---- updates and totals


@each_case(("version", "updates"), [((4, 30, 2), 2), (FLOOR, 2), (CEIL, 3), ((4, 52, 4), 3), ((5, 23, 0), 3)])
def test_the_last_accumulation_counts_from_4_52(version: tuple[int, ...], updates: int) -> None:
    assert steps.updates_per_epoch(11, 4, version) == updates


def test_an_epoch_has_at_least_one_update() -> None:
    assert steps.updates_per_epoch(3, 8, FLOOR) == 1
    assert steps.updates_per_epoch(0, 8, FLOOR) == 1
    assert steps.updates_per_epoch(100, -2) == 1


@each_case(
    ("max_steps", "epochs", "version", "expected"),
    [
        (-1, 2.5, CEIL, 25),
        (-1, 0.01, CEIL, 1),
        (-1, 0, CEIL, 0),
        (-1, 1.1, CEIL, 11),
        (-1, 2.3, CEIL, 23),
        (7, 3, CEIL, 7),
        (1, 3, CEIL, 1),
        (1, 3, (4, 42, 4), 1),
        (0, 3, (4, 48, 3), 30),
        (0, 3, (4, 49, 0), 0),
    ],
)
def test_total_steps(max_steps: int, epochs: float, version: tuple[int, ...], expected: int) -> None:
    assert steps.total_steps(max_steps, epochs, 10, version) == expected


def test_fractional_epochs_are_plain_floating_point() -> None:
    assert 0.07 * 100 > 7
    assert steps.total_steps(-1, 0.07, 100) == 8


def test_max_steps_decides_the_epochs_that_are_shown() -> None:
    length = steps.training_length(10, 4, epochs=1, max_steps=7)
    assert (length.updates_per_epoch, length.total_steps, length.epochs) == (3, 7, 3)
    assert steps.training_length(10, 4, epochs=1.5).epochs == 2


def test_no_batches_need_max_steps_from_4_49() -> None:
    old = steps.training_length(0, 4, epochs=3, version=(4, 42, 4))
    assert (old.updates_per_epoch, old.total_steps) == (1, 3)
    with pytest.raises(ValueError, match="does not have a length, was -1"):
        steps.training_length(0, 4, epochs=3)
    new = steps.training_length(0, 4, max_steps=50)
    assert (new.updates_per_epoch, new.total_steps, new.epochs) == (50, 50, None)
    assert steps.training_length(0, 4, epochs=3, version=(4, 48, 3)).total_steps == 3
    with pytest.raises(ValueError, match="max_steps"):
        steps.training_length(0, 4, epochs=3, version=(4, 49, 0))


def test_a_run_of_one_step() -> None:
    assert steps.training_length(None, 4, max_steps=1).total_steps == 1
    with pytest.raises(ValueError, match="was 0"):
        steps.training_length(None, 4, max_steps=0)
    length = steps.training_length(10, 4, epochs=5, max_steps=1)
    assert (length.total_steps, length.epochs) == (1, 1)


def test_a_data_set_without_length_needs_max_steps() -> None:
    assert steps.training_length(None, 4, max_steps=50, version=(4, 42, 4)).total_steps == 50
    with pytest.raises(ValueError, match="max_steps"):
        steps.training_length(None, 4, version=(4, 42, 4))


# ---- where the loop stops; each row was seen in a real training


@each_case(
    ("version", "run", "taken", "seen"),
    [
        ((4, 42, 4), (47, 5, 4, 10), 20, 8.0),
        ((4, 45, 2), (47, 5, 4, 10), 20, 8.0),
        ((4, 49, 0), (47, 5, 4, 10), 20, 6.8),
        ((4, 51, 3), (21, 2, 4, 10), 20, 9 + 8 / 11),
        ((4, 45, 2), (21, 2, 4, 10), 20, 7 + 3 / 11),
        ((4, 46, 0), (21, 2, 4, 10), 20, 8 + 8 / 11),
        ((4, 47, 0), (21, 2, 4, 10), 20, 9 + 8 / 11),
        ((4, 46, 3), (7, 1, 7, 2), 2, 2.0),
        ((4, 52, 0), (21, 2, 4, 10), 30, 10.0),
        ((4, 52, 4), (47, 5, 4, 10), 30, 10.0),
        ((5, 23, 0), (21, 2, 4, 10), 30, 10.0),
        ((4, 42, 4), (28, 5, 16, 10), 10, 8.0),
        ((4, 42, 4), (17, 1, 4, 3), 12, 2 + 14 / 17),
    ],
)
def test_where_the_loop_stops(version: tuple[int, ...], run: tuple[int, int, int, int], taken: int, seen: float) -> None:
    examples, batch, accumulation, epochs = run
    batches = steps.batches_per_rank(examples, batch)
    length = steps.training_length(batches, accumulation, epochs=epochs, version=version)
    steps_taken, epochs_seen = steps.run_end(batches, accumulation, examples, length, version)
    assert steps_taken == taken
    assert epochs_seen == pytest.approx(seen)


@pytest.mark.parametrize(
    ("version", "batches", "begin", "epochs", "max_steps", "skips", "end"),
    [
        ((5, 23, 0), 12, 4, 3.0, -1, True, 18),  # 6 updates of an epoch
        ((5, 23, 0), 12, 4, 3.0, -1, False, 18),  # the epoch begins again, the total ends it
        ((5, 23, 0), 12, 13, 2.0, -1, True, 13),  # the epochs are over
        ((5, 23, 0), 12, 13, 3.0, 4, True, 13),
        ((5, 23, 0), 12, 5, 3.0, 5, True, 6),  # the test is behind a step
        ((5, 23, 0), 12, 6, 1.0, -1, True, 6),
        ((4, 57, 6), 13, 4, 2.0, -1, True, 14),
        ((4, 51, 3), 13, 4, 2.0, -1, True, 12),  # no step for the rest of an epoch that was begun before
    ],
)
def test_where_a_resumed_run_stops(
    version: tuple[int, ...], batches: int, begin: int, epochs: float, max_steps: int, skips: bool, end: int
) -> None:
    length = steps.training_length(batches, 2, epochs=epochs, max_steps=max_steps, version=version)
    assert steps.run_end(batches, 2, batches * 4, length, version, begin=begin, skips=skips)[0] == end


def test_an_epoch_whose_tail_is_never_read_takes_no_step() -> None:
    length = steps.training_length(3, 4, epochs=5, version=FLOOR)
    assert steps.run_end(3, 4, 5, length, FLOOR) == (0, 0.0)


def test_max_steps_zero_takes_one_step() -> None:
    length = steps.training_length(10, 4, max_steps=0)
    assert steps.run_end(10, 4, 40, length) == (1, 0.4)


# ---- warm-up and intervals


@each_case(
    ("warmup", "ratio", "version", "expected"),
    [
        (0, None, LAST_4, 0),
        (0, 0.1, LAST_4, 101),
        (20, 0.1, LAST_4, 20),
        (1, 0.1, LAST_4, 1),
        (1, None, (5, 23, 0), 1),
        (0, 1.0, LAST_4, 1003),
        (20, 0.1, (5, 0, 0), 101),
        (20, 0.1, (5, 14, 1), 101),
        (0, 1.0, (5, 0, 0), 1),
        (20, None, (5, 15, 0), 20),
        (0.1, None, (5, 23, 0), 101),
        (95.4, None, (5, 23, 0), 95),
        (95.4, None, (4, 42, 4), 95.4),
    ],
)
def test_warmup_steps(warmup: float, ratio: float | None, version: tuple[int, ...], expected: float) -> None:
    assert steps.warmup_steps(1003, warmup, ratio, version) == expected


@each_case(("value", "expected"), [(500, 500), (500.0, 500), (1, 1), (0.1, 101), (0, 0)])
def test_intervals_below_one_are_shares(value: float, expected: int) -> None:
    assert steps.interval(value, 1003) == expected


def test_evaluations() -> None:
    assert steps.evaluations(100, 10) == 10
    assert steps.evaluations(105, 10, (5, 3, 0)) == 10
    assert steps.evaluations(105, 10, (5, 4, 0)) == 11
    assert steps.evaluations(105, 10, delay=30) == 9
    assert steps.evaluations(105, 10, delay=30.5) == 8
    assert steps.evaluations(105, 10, delay=200) == 0


def test_saves_include_the_last_step() -> None:
    assert (steps.saves(100, 10), steps.saves(105, 10), steps.saves(100, 500), steps.saves(100, 0)) == (10, 11, 1, 1)


# ---- GPT-NeoX


def test_neox_floors_an_epochs_batches_and_the_products_accumulation() -> None:
    assert steps.neox_train_iters(109, 2, 5, 4, 1) == 2
    assert steps.neox_train_iters(109, 2, 5, 4, 3) == 7


def test_neox_decay_and_warmup() -> None:
    assert steps.neox_decay_iters(1_000) == 1_000
    assert steps.neox_decay_iters(1_001, lr_decay_fraction=0.5) == 500
    assert steps.neox_decay_iters(1_000, 400, 0.9) == 400
    assert steps.neox_decay_iters(1_000, 0) == steps.neox_decay_iters(0) == steps.neox_decay_iters(1) == 1
    assert steps.neox_decay_iters(1_000, 1) == steps.neox_decay_iters(2, lr_decay_fraction=0.5) == 1
    assert steps.neox_decay_iters(1, lr_decay_fraction=0.5) == 1
    assert steps.neox_warmup_iters(0.01, 1_000) == 10
    assert steps.neox_warmup_iters(0.01, 1_050) == 10.5


def test_neox_saves() -> None:
    assert steps.neox_save_iterations(10, 4) == {4, 8, 10}
    assert steps.neox_save_iterations(10, 2, "log", [3, 11]) == {1, 2, 3, 4, 8, 10}
    assert steps.neox_save_iterations(5, 1.5, "log") == {1, 2, 3, 5}
    assert steps.neox_save_iterations(10, 4, "LOG") == {10}
    assert steps.neox_save_iterations(10, None) == {10}
    assert steps.neox_save_iterations(4, 1) == {1, 2, 3, 4}
    assert steps.neox_save_iterations(4, 1, "log") == {4}
    assert steps.neox_save_iterations(10, 20, extra=[-1, 0, 1, 10, 11]) == {1, 10}


# ---- DeepSpeed


def test_deepspeed_schedulers() -> None:
    assert [steps.deepspeed_warmup_steps(number) for number in (0, 1, 2, 3)] == [2, 2, 2, 3]


@given(st.integers(1, 300), st.integers(1, 350), st.sampled_from([0, 0.5, 7, 120, 400]), st.sampled_from([(4, 42, 4), (5, 23, 0)]))
def test_the_steps_of_evaluations_are_as_many_as_are_counted(total, every, delay, version):
    on_the_last = version >= (5, 4)
    expected = [step for step in range(1, total + 1) if step >= delay and (step % every == 0 or (on_the_last and step == total))]
    assert list(steps.evaluation_steps(total, every, version, delay)) == expected
    assert steps.evaluations(total, every, version, delay) == len(expected)


@given(st.integers(1, 300), st.integers(0, 350))
def test_the_last_step_is_always_saved(total, every):
    expected = [step for step in range(1, total + 1) if step == total or (every and step % every == 0)]
    assert list(steps.save_steps(total, every)) == expected
    assert steps.saves(total, every) == len(expected)
