"""The batch as GPT-NeoX resolves it, against a table of what its launcher computes."""

from __future__ import annotations

import pytest

from cases import each_case

TOTAL, MICRO, ACCUMULATION = "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"


def resolved(run):
    return tuple(run.resolved[name] for name in ("global_batch", "micro_batch", "accumulation", "data_parallel"))


def problem(run):
    found = run.batch.problem
    return found.reason if found else None


@pytest.fixture
def batch(runs):
    def of(total=None, micro=None, accumulation=runs.ABSENT, gpus=8, **changes):
        given = {TOTAL: total, MICRO: micro, ACCUMULATION: accumulation}
        return runs.of(gpus=gpus, **given, **changes)

    return of


@each_case(
    ("given", "expected"),
    [
        ({"total": 64, "micro": 4, "accumulation": 2}, (64, 4, 2, 8)),
        ({"total": 64, "micro": 4, "accumulation": None}, (64, 4, 2, 8)),
        ({"total": 64, "accumulation": 2}, (64, 4, 2, 8)),
        ({"total": 64}, (64, 8, 1, 8)),
        ({"total": 64, "accumulation": None}, (64, 8, 1, 8)),
        ({"micro": 4, "accumulation": 2}, (64, 4, 2, 8)),
        ({"micro": 4}, (32, 4, 1, 8)),
        ({"micro": 4, "accumulation": None}, (32, 4, 1, 8)),
        ({"micro": 4.0}, (32, 4, 1, 8)),
        ({"micro": True}, (8, 1, 1, 8)),
        ({"total": 64.0}, (64, 8, 1, 8)),
    ],
)
def test_inference(batch, given, expected):
    run = batch(**given)
    assert resolved(run) == expected
    assert run.verdict == "accept"


@each_case(
    ("given", "reason", "exception"),
    [
        ({}, "missing", "AssertionError: Either train_batch_size or train_micro_batch_size_per_gpu needs to be provided"),
        ({"total": 64, "micro": 4}, "mismatch", "AssertionError: Check batch related parameters."),
        ({"total": 30, "accumulation": 2}, "mismatch", "AssertionError: Check batch related parameters."),
        ({"total": 65}, "mismatch", "AssertionError: Check batch related parameters."),
        ({"total": 4}, "not-positive", "AssertionError: Micro batch size per gpu: 0 has to be greater than 0"),
        ({"total": 4, "micro": 4, "accumulation": None}, "not-positive", "AssertionError: Gradient accumulation steps: 0"),
        ({"total": 64, "micro": 0, "accumulation": None}, "not-positive", "ZeroDivisionError"),
        ({"micro": -4}, "not-positive", "AssertionError: Train batch size: -32 has to be greater than 0"),
        ({"micro": 4, "gpus": 0}, "not-positive", "AssertionError: Train batch size: 0 has to be greater than 0"),
        ({"total": "64"}, "type", "TypeError: unsupported operand type(s) for //: 'str' and 'float'"),
        ({"micro": "auto"}, "type", "TypeError: can't multiply sequence by non-int of type 'float'"),
        ({"total": 64, "micro": "4", "accumulation": 2}, "type", "TypeError: '>' not supported between instances of 'str' and 'int'"),
        ({"micro": []}, "type", "TypeError: can't multiply sequence by non-int of type 'float'"),
        ({"micro": 4, "pipe_parallel_size": None}, "type", "TypeError: '>=' not supported between instances of 'NoneType' and 'int'"),
        ({"micro": 4, "model_parallel_size": "2"}, "type", "TypeError: '>=' not supported between instances of 'str' and 'int'"),
        ({"micro": 4, "model_parallel_size": 3}, "layout", "AssertionError: [ERROR] NeoXArgs.calculate_derived()"),
    ],
)
def test_refusals(batch, given, reason, exception):
    run = batch(**given)
    assert problem(run) == reason
    assert run.batch.problem.exception.startswith(exception)
    assert (run.verdict, run.fails_at) == ("reject", "config")


def test_text_of_the_mismatch(batch):
    assert batch(total=64, micro=4).batch.problem.exception.endswith("\n64 != 4 * 1 * 8.0")


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ({"pipe_parallel_size": 0, "model_parallel_size": 0}, (8, 1, 1)),
        ({"pipe_parallel_size": -1, "model_parallel_size": 2}, (4, 2, 1)),
        ({"pipe_parallel_size": 2, "model_parallel_size": 2}, (2, 2, 2)),
        ({"sequence_parallel": True, "model_parallel_size": 2}, (4, 2, 1)),
    ],
)
def test_layout(batch, sizes, expected):
    run = batch(micro=1, **sizes)
    assert tuple(run.resolved[name] for name in ("data_parallel", "tensor_parallel", "pipeline_parallel")) == expected
    assert run.resolved["sequence_parallel"] == 1


@each_case(
    ("given", "ways"),
    [
        ({"global_num_gpus": 4}, 4),
        ({"num_gpus": 4}, 8),
        ({"hostfile": "hosts", "include": "a:0,1@b:0"}, 3),
        ({"hostfile": "hosts", "include": "a@b:0"}, 8),
        ({"include": "a:0"}, 8),
    ],
)
def test_gpu_count(batch, given, ways):
    assert batch(micro=4, **given).resolved["data_parallel"] == ways


def test_unknown_gpus_leave_the_product_open(batch):
    run = batch(micro=4, accumulation=2, gpus=None)
    assert resolved(run) == (None, 4, 2, None)
    assert run.verdict == "accept"


def test_fragment_is_not_held_to_what_it_does_not_say(runs):
    text = {"a.yml": f"{{{TOTAL}: 64, {MICRO}: 4}}"}
    assert "BAT001" in [each.code for each in runs.files(text).diagnostics]
    assert runs.files(text, complete=False).verdict == "accept"
    complete = {"a.yml": f"{{{TOTAL}: 64, {MICRO}: 4, {ACCUMULATION}: 1, pipe_parallel_size: 0, model_parallel_size: 1}}"}
    assert runs.files(complete, complete=False).verdict == "reject"


def test_huge_numbers_are_refused_and_not_computed(batch):
    assert batch(micro="x", accumulation=10**12).verdict == "reject"
    assert batch(micro=4, pipe_parallel_size=10**400).verdict == "reject"


@each_case(
    ("micro", "accumulation", "key"),
    [(0, None, "train_micro_batch_size_per_gpu"), (None, 0, "gradient_accumulation_steps"), (4, 0, "gradient_accumulation_steps")],
)
def test_a_size_of_zero_is_the_one_that_is_wrong(runs, micro, accumulation, key):
    run = runs.of(train_batch_size=64, train_micro_batch_size_per_gpu=micro, gradient_accumulation_steps=accumulation)
    assert run.batch.problem.setting.path == (key,)
