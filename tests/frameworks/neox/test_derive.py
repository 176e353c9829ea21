"""What the launcher derives: precision, attention, ZeRO, learning rate, steps."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.frameworks.neox.derive import expand
from cfglint.frameworks.neox.fields import describe, raised


@each_case(
    ("given", "expected"),
    [
        ({}, "fp32"),
        ({"precision": "fp16"}, "fp16"),
        ({"precision": "bfloat16"}, "bfloat16"),
        ({"precision": "bf16"}, "fp32"),
        ({"precision": "FP16"}, "fp32"),
        ({"fp16": {"enabled": True}}, "fp16"),
        ({"fp16": {"enabled": "false"}}, "fp16"),
        ({"fp16": {"enabled": False}, "bf16": {"enabled": True}}, "bfloat16"),
        ({"fp16": {"enabled": True, "type": "bfloat16"}}, "fp16"),
    ],
)
def test_precision(runs, given, expected):
    assert runs.of(**given).configs[0].derived.precision == expected


@each_case(
    ("pattern", "layers", "kinds", "count"),
    [
        ([[["global"], 4]], 4, ["global"], 4),
        ([[["global", "flash"], "all"]], 4, ["global", "flash"], 4),
        ([[["global"], 2], [["flash"], "all"]], 4, ["flash"], 4),
        ([[["global"], 2], [["flash"], 2]], 4, ["global", "flash"], 4),
        ([[["global"], 0]], 4, [], 0),
        (["global", "flash"], 4, ["global", "flash"], 2),
        ([[["global"], 10**9]], 4, ["global"], 10**9),
        ([["gg", "all"]], 4, ["g"], 4),
    ],
)
def test_attention_patterns(pattern, layers, kinds, count):
    attention = expand(pattern, layers)
    assert (attention.kinds, attention.layers) == (kinds, count)


@each_case(
    ("pattern", "layers", "exception"),
    [
        ([[["global", "flash"], "all"]], 5, "AssertionError: Number of layers (5) is not divisible"),
        ([[["global"], None]], 4, "TypeError: 'NoneType' object cannot be interpreted as an integer"),
        ([[["global"]]], 4, "IndexError: list index out of range"),
        ([[["global"], "ALL"]], 4, "TypeError: 'str' object cannot be interpreted as an integer"),
        ([[[], "all"]], 4, "ZeroDivisionError"),
        (5, 4, "TypeError: 'int' object is not iterable"),
    ],
)
def test_patterns_that_cannot_be_expanded(pattern, layers, exception):
    assert raised(lambda: expand(pattern, layers)).startswith(exception)


@each_case(
    ("given", "expected"),
    [
        ({"train_iters": 1000}, (1000, 10)),
        ({"train_iters": 1000, "warmup": 0.0015}, (1000, None)),
        ({"train_iters": 1000, "lr_decay_iters": 500}, (1000, 5)),
        ({"train_iters": 1000, "lr_decay_fraction": 0.5}, (1000, 5)),
        ({"train_iters": 1000, "lr_decay_iters": 500, "lr_decay_fraction": 0.1}, (1000, 5)),
        ({"train_iters": 1000, "lr_decay_iters": 0, "warmup": 1}, (1000, 1)),
        ({"train_iters": 1000, "warmup": "0.1"}, (1000, None)),
    ],
)
def test_steps(runs, given, expected):
    resolved = runs.of(**given).resolved
    assert (resolved["total_steps"], resolved["warmup_steps"]) == expected


@pytest.mark.parametrize(
    ("epochs", "accumulation", "gpus", "expected"),
    [(1, 1, 256, 30_534), (1, 8, 32, 30_534), (3, 8, 32, 91_603)],
)
def test_epochs_are_floored_once(runs, epochs, accumulation, gpus, expected):
    run = runs.of(
        gpus=gpus,
        num_examples=31_267_487,
        train_iters=runs.ABSENT,
        train_epochs=epochs,
        gradient_accumulation_steps=accumulation,
    )
    assert run.resolved["total_steps"] == expected
    assert run.resolved["steps_per_epoch"] == 30_534
    assert run.resolved["global_batch"] == 1024


def test_steps_of_epochs_are_unknown_without_samples(runs):
    assert runs.of(train_iters=runs.ABSENT, train_epochs=1).resolved["total_steps"] is None


@each_case(
    ("value", "told"),
    [("8", 'the string "8"'), ([8], "a list"), ({"a": 8}, "a mapping"), (True, "true"), (None, "null"), (0.5, "0.5")],
)
def test_a_value_is_told_as_the_file_spells_it(value, told):
    assert describe(value) == told
