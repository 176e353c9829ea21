"""What the functions of the library take and refuse, value by value."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.api import arguments
from cfglint.api.arguments import ArgumentError


def answer(function, *values, **named):
    """What a function returns, or says of a value that it refuses."""
    try:
        return function(*values, **named)
    except ArgumentError as error:
        return str(error)


@each_case(
    ("value", "expected"),
    [
        (None, None),
        (1, 1),
        (10**18, 10**18),
        (0, "gpus must be a positive integer, not 0"),
        (-1, "gpus must be a positive integer, not -1"),
        (True, "gpus must be a positive integer, not True"),
        ("8", "gpus must be a positive integer, not '8'"),
        (8.0, "gpus must be a positive integer, not 8.0"),
        (1e20, "gpus must be a positive integer, not 1e+20"),
        (10**18 + 1, f"gpus must be a positive integer up to 10**18, not {10**18 + 1}"),
    ],
)
def test_a_count(value, expected):
    assert answer(arguments.positive, "gpus", value) == expected


@each_case(
    ("value", "expected"),
    [
        (8, [8]),
        ([4, 8], [4, 8]),
        (range(1, 3), [1, 2]),
        ([], "gpus must have at least one count"),
        ("8", "gpus must be a positive integer or several, not '8'"),
        (b"8", "gpus must be a positive integer or several, not b'8'"),
        (None, "gpus must be a positive integer or several, not None"),
        ([0], "gpus must be a positive integer, not 0"),
        (0, "gpus must be a positive integer, not 0"),
    ],
)
def test_several_counts(value, expected):
    assert answer(arguments.counted, value) == expected


@each_case(
    ("value", "above_zero", "expected"),
    [
        (None, True, None),
        (1, True, 1),
        (0.5, True, 0.5),
        (0, True, "lr must be a number above 0, not 0"),
        (0, False, 0),
        (-1, False, "lr must be a number of at least 0, not -1"),
        (float("inf"), True, "lr must be a number above 0, not inf"),
        (True, True, "lr must be a number above 0, not True"),
        ("1", False, "lr must be a number of at least 0, not '1'"),
    ],
)
def test_a_number(value, above_zero, expected):
    assert answer(arguments.number, "lr", value, above_zero) == expected


@each_case(
    ("value", "expected"),
    [
        (None, None),
        (1, 1),
        (True, "zero must be one of 0, 1, not True"),
        (2, "zero must be one of 0, 1, not 2"),
        ("1", "zero must be one of 0, 1, not '1'"),
    ],
)
def test_one_of_some_values(value, expected):
    assert answer(arguments.one_of, "zero", value, (0, 1)) == expected


def test_a_switch_and_a_string():
    assert [answer(arguments.boolean, "run", value) for value in (True, False, 1)] == [True, False, "run must be True or False, not 1"]
    assert [answer(arguments.text, "model", value) for value in ("m", None, 1)] == ["m", None, "model must be a string, not 1"]


@each_case(
    ("target", "expected"),
    [
        (None, {}),
        ({"transformers": "4.57.1"}, {"transformers": "4.57.1"}),
        ({"transformers": "x"}, "target: 'x' is not a version of transformers, such as '4.57.1'"),
        ({"transformers": 4.5}, "target: 4.5 is not a version of transformers, such as '4.57.1'"),
        ({"transformer": "4.57.1"}, "target: unknown package `transformer`; did you mean `transformers`?"),
        ({5: "4.57.1"}, "target: 5 is not the name of a package"),
        ("transformers", "target must be a mapping from packages to versions, not 'transformers'"),
    ],
)
def test_versions(target, expected):
    assert answer(arguments.versions, target) == expected


@each_case(
    ("overrides", "expected"),
    [
        (None, []),
        ({}, []),
        (
            {"max_steps": 5, "bf16": True, "run_name": "x", "seed": None},
            [("max_steps", "5"), ("bf16", "true"), ("run_name", "x"), ("seed", "null")],
        ),
        ({"max_step": 5}, "overrides: unknown key 'max_step'; did you mean 'max_steps'?"),
        ({"": 5}, "overrides: a key must be a string, not ''"),
        ({5: 5}, "overrides: a key must be a string, not 5"),
        ([1], "overrides must be a mapping from keys to values, not [1]"),
        ({"a": {1}}, "overrides: 'a' must be a string, number, boolean, list, mapping or None, not {1}"),
    ],
)
def test_overrides(overrides, expected):
    found = answer(arguments.given_on_the_line, overrides)
    assert (found if isinstance(found, str) else [(each.key, each.texts[0]) for each in found]) == expected


@each_case(
    ("value", "expected"),
    [
        (None, None),
        (79.2, 79.2),
        ("80GB", 79.2),
        ("x", "gpu_memory must be GiB such as 79.2, or a card such as '80GB' or 'H100', not 'x'"),
        (0, "gpu_memory must be GiB such as 79.2, or a card such as '80GB' or 'H100', not 0"),
    ],
)
def test_the_memory_of_a_gpu(value, expected):
    assert answer(arguments.memory_of_a_gpu, value) == expected


@each_case(
    ("name", "value", "message"),
    [
        ("gpus", 0, "gpus must be a positive integer, not 0"),
        ("seed", -1, "seed must be a positive integer, not -1"),
        ("learning_rate", 0, "learning_rate must be a number above 0, not 0"),
        ("warmup", -1, "warmup must be a number of at least 0, not -1"),
        ("lora", 1, "lora must be True or False, not 1"),
        ("model", 1, "model must be a string, not 1"),
        ("zero", 4, "zero must be one of 0, 1, 2, 3, not 4"),
        ("precision", "fp8", "precision must be one of bf16, fp16, fp32, not 'fp8'"),
        ("target", "x", "target must be a mapping from packages to versions, not 'x'"),
    ],
)
def test_a_fact_that_is_refused(name, value, message):
    with pytest.raises(ArgumentError) as refused:
        arguments.check_fact(name, value)
    assert str(refused.value) == message


@each_case(
    ("name", "value"),
    [
        ("seed", 0),
        ("seed", 7),
        ("warmup", 0),
        ("warmup", 0.5),
        ("lora", None),
        ("lora", True),
        ("clipping", 0.0),
        ("zero", 0),
        ("model", None),
    ],
)
def test_a_fact_that_is_taken(name, value):
    arguments.check_fact(name, value)
