"""The batch as DeepSpeed resolves it: every combination of keys, wrong types, floors, and the world size."""

from __future__ import annotations

import pytest

from cases import each_case

TOTAL, MICRO, ACCUMULATION = "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"


def resolved(run):
    return tuple(run.resolved[name] for name in ("global_batch", "micro_batch", "accumulation", "data_parallel"))


def problem(run):
    """(reason, exception) of what is wrong with the sizes; None if nothing is."""
    assert run.batch is not None, f"no batch; findings: {[f'{each.code} {each.message}' for each in run.diagnostics]}"
    found = run.batch.problem
    return (found.reason, found.exception) if found else None


@each_case(
    ("values", "expected"),
    [
        ({TOTAL: 64, MICRO: 4, ACCUMULATION: 2}, (64, 4, 2, 8)),
        ({TOTAL: 64, MICRO: 4}, (64, 4, 2, 8)),
        ({TOTAL: 64, ACCUMULATION: 2}, (64, 4, 2, 8)),
        ({MICRO: 4, ACCUMULATION: 2}, (64, 4, 2, 8)),
        ({TOTAL: 64}, (64, 8, 1, 8)),
        ({MICRO: 4}, (32, 4, 1, 8)),
        ({TOTAL: 64, MICRO: None, ACCUMULATION: None}, (64, 8, 1, 8)),
        ({TOTAL: True, MICRO: True, ACCUMULATION: True}, (1, 1, 1, 1)),
    ],
)
def test_what_is_missing_is_derived(runs, values, expected):
    run = runs.of(values, gpus=expected[-1])
    assert resolved(run) == expected
    assert problem(run) is None


@pytest.mark.parametrize("values", [{}, {ACCUMULATION: 4}, {TOTAL: None}])
def test_one_of_two_keys_is_needed(runs, values):
    assert problem(runs.of(values))[0] == "missing"
    assert problem(runs.of(values, complete=False)) is None


@each_case(
    ("values", "reason", "exception"),
    [
        ({TOTAL: 65, MICRO: 4, ACCUMULATION: 2}, "mismatch", "65 != 4 * 2 * 8"),
        ({TOTAL: 6, MICRO: 2}, "mismatch", "Gradient accumulation steps: 0 has to be greater than 0"),
        ({TOTAL: 6}, "mismatch", "Micro batch size per gpu: 0 has to be greater than 0"),
        ({TOTAL: 30, MICRO: 2}, "mismatch", "30 != 2 * 1 * 8"),
        ({TOTAL: 0}, "not-positive", "Train batch size: 0 has to be greater than 0"),
        ({TOTAL: 64, MICRO: 0}, "not-positive", "ZeroDivisionError: integer division or modulo by zero"),
        ({TOTAL: 64, MICRO: 0, ACCUMULATION: 8}, "not-positive", "Micro batch size per gpu: 0"),
        ({MICRO: -2, ACCUMULATION: -4}, "not-positive", "Micro batch size per gpu: -2"),
        ({TOTAL: "64"}, "type", "unsupported operand type(s) for //: 'str' and 'int'"),
        ({MICRO: "auto"}, "type", "'>' not supported between instances of 'str' and 'int'"),
        ({TOTAL: 64, ACCUMULATION: [2]}, "type", "unsupported operand type(s) for //=: 'int' and 'list'"),
    ],
)
def test_what_deepspeed_refuses(runs, values, reason, exception):
    found = problem(runs.of(values))
    assert found is not None, f"refused for {reason}: {exception}"
    assert found[0] == reason
    assert exception in found[1]


def test_a_long_string_is_not_made(runs):
    found, text = problem(runs.of({MICRO: "8", ACCUMULATION: 10**12}))
    assert found == "type"
    assert "'>' not supported" in text


def test_the_message_points_at_the_key_that_is_wrong(runs):
    run = runs.of({TOTAL: 64, ACCUMULATION: 0})
    assert run.batch.problem.setting.path == (ACCUMULATION,)


def test_fractions_go_through_as_python_lets_them(runs):
    run = runs.of({MICRO: 2.5})
    assert problem(run) is None
    assert resolved(run) == (20, None, 1, 8)


def test_hjson_makes_whole_numbers_of_floats(runs):
    assert resolved(runs.text('{"train_batch_size": 6.4e1}')) == (64, 8, 1, 8)


def test_auto_waits_for_a_trainer_in_a_fragment(runs):
    run = runs.of({TOTAL: "auto", MICRO: "auto", ACCUMULATION: 4}, complete=False)
    assert problem(run) is None
    assert resolved(run) == (None, None, 4, 8)


class TestWithoutGpus:
    """What holds for every number of GPUs is decided, and nothing else."""

    @pytest.mark.parametrize(
        ("values", "reason"),
        [
            ({TOTAL: 65, MICRO: 4, ACCUMULATION: 2}, "mismatch"),
            ({TOTAL: 65, MICRO: 4}, "mismatch"),
            ({TOTAL: "65"}, "type"),
            ({MICRO: -1}, "not-positive"),
        ],
    )
    def test_decided(self, runs, values, reason):
        assert problem(runs.of(values, gpus=None))[0] == reason

    @pytest.mark.parametrize("values", [{TOTAL: 64, MICRO: 4, ACCUMULATION: 2}, {TOTAL: 7}, {TOTAL: 64, MICRO: 4}])
    def test_open(self, runs, values):
        run = runs.of(values, gpus=None)
        assert problem(run) is None
        assert run.resolved["data_parallel"] is None


class TestWorldSize:
    """What divides the GPUs before the batch is computed."""

    def test_sequence_parallel_size_divides(self, runs):
        assert resolved(runs.of({TOTAL: 16, "sequence_parallel_size": 2})) == (16, 4, 1, 4)

    def test_a_fraction_of_a_copy_is_accepted(self, runs):
        run = runs.of({TOTAL: 16, "sequence_parallel_size": 3})
        assert problem(run) is None
        assert run.resolved["data_parallel"] is None

    @pytest.mark.parametrize(("size", "exception"), [(0, "ZeroDivisionError"), ("auto", "TypeError"), (None, "TypeError")])
    def test_no_number_to_divide_by(self, runs, size, exception):
        values = {TOTAL: 16, "sequence_parallel_size": size}
        assert problem(runs.of(values))[1].startswith(exception)
        assert resolved(runs.of(values, target="0.19.2")) == (16, 16, 1, 1)  # fell back to one process in silence

    def test_older_releases_do_not_read_the_key(self, runs):
        assert resolved(runs.of({TOTAL: 16, "sequence_parallel_size": 2}, target="0.16.9")) == (16, 2, 1, 8)

    def test_no_key_is_looked_for_in_the_path_of_a_file(self, runs):
        values = {TOTAL: 16, "data_parallel_size": 4, "sequence_parallel_size": 2}
        assert resolved(runs.of(values, target="0.18.5")) == (16, 2, 1, 8)
        assert resolved(runs.of(values, target="0.18.6")) == (16, 4, 1, 4)

    def test_a_mesh_covers_the_gpus(self, runs):
        values = {TOTAL: 16, "data_parallel_size": 4, "sequence_parallel_size": 2}
        assert resolved(runs.of(values)) == (16, 4, 1, 4)
        assert problem(runs.of(values, gpus=4))[0] == "layout"
        assert problem(runs.of(values, gpus=16))[0] == "layout"

    def test_data_parallel_size_alone_is_not_read(self, runs):
        assert resolved(runs.of({TOTAL: 16, "data_parallel_size": 2})) == (16, 2, 1, 8)

    def test_tensor_parallel_ranks_share_a_batch_that_is_counted_twice(self, runs):
        run = runs.of({TOTAL: 16, "tensor_parallel": {"autotp_size": 2}})
        assert resolved(run) == (16, 2, 1, 8)
        assert run.resolved["consumed_batch"] == 8

    def test_the_elastic_planner_of_older_releases_sets_the_batch(self, runs):
        elastic = {
            "elasticity": {
                "enabled": True,
                "max_train_batch_size": 64,
                "micro_batch_sizes": [2, 4],
                "version": 0.1,
                "ignore_non_elastic_batch_info": True,
            },
            TOTAL: 7,
        }
        assert problem(runs.of(elastic, target="0.19.7")) is None
