"""The tables of the kind name arguments that exist, and take values as pydantic does."""

from __future__ import annotations

import pytest

from cfglint.frameworks.neox import MARKERS
from cfglint.frameworks.neox.deeperspeed import error, refusals
from cfglint.frameworks.neox.fields import FIELDS, MEMBERS
from cfglint.frameworks.neox.rules import fields as field_rules
from cfglint.frameworks.neox.rules import model, no_effect, schedule


@pytest.mark.parametrize(
    "names",
    [
        MARKERS,
        MEMBERS,
        model.CASED,
        schedule.DIVISORS,
        no_effect.CASE_EFFECTS,
        no_effect.COMPUTED,
        field_rules.HOMES,
        field_rules.ARITHMETIC,
        field_rules.REPLACED,
        set(field_rules.RENAMED.values()),
    ],
)
def test_names_are_arguments(names):
    assert set(names) <= set(FIELDS)


def test_former_names_are_none():
    assert not {*field_rules.RENAMED, *field_rules.REMOVED} & set(FIELDS)


@pytest.mark.parametrize(
    ("kind", "taken", "refused"),
    [
        ("bool", [True, 0, 1.0, "yes", "Off", "t"], [2, "maybe", None, [], ""]),
        ("int", [1, True, 5e8, "5", " 5 ", "1_000", "5.0"], [1.5, "5e8", "x", None, [], ""]),
        ("float", [1, 0.5, "0.5", "1e-3"], ["x", None, []]),
        ("stage", [0, 3, 1.0, "2", True], [4, -1, "x", 1.5, None, []]),
        ("str", ["", "x"], [1, None, []]),
        ("list", [[], (1,)], ["x", None, {}]),
        ("dict", [{}], [[], None, "x"]),
    ],
)
def test_conversions(kind, taken, refused):
    assert [value for value in taken if error(kind, value)] == []
    assert [value for value in refused if not error(kind, value)] == []


@pytest.mark.parametrize(
    ("name", "section", "paths"),
    [
        ("zero_optimization", {"stage": 1, "foo": 1, "bar": "auto"}, [("zero_optimization", "foo")]),
        ("zero_optimization", {"stage": 1, "reduce_bucket_size": -1}, [("zero_optimization", "reduce_bucket_size")]),
        ("zero_optimization", {"stage": 1, "offload_optimizer": None, "overlap_comm": None}, []),
        ("zero_optimization", {"stage": 3, "offload_param": {"pin": 1}}, [("zero_optimization", "offload_param", "pin")]),
        ("zero_optimization", {"stage": 3, "offload_param": "cpu"}, [("zero_optimization", "offload_param")]),
        ("zero_optimization", {"stage": 2, "offload_optimizer": {"ratio": 0.5}}, [("zero_optimization", "offload_optimizer", "ratio")]),
        ("zero_optimization", {"stage": 3, "offload_optimizer": {"ratio": 2}}, [("zero_optimization", "offload_optimizer", "ratio")]),
        ("zero_optimization", {"cpu_offload": True, "offload_optimizer": {}}, [("zero_optimization", "cpu_offload")]),
        ("tensorboard", {"enabled": True, "job": "x"}, [("tensorboard", "job")]),
    ],
)
def test_sections_of_the_pinned_deepspeed(name, section, paths):
    assert [refusal.path for refusal in refusals(name, section)] == paths


def test_monitors_are_checked_as_one():
    (refusal,) = refusals("wandb", {"entity": "x"})
    assert refusal.exception == "ValidationError: 1 validation error for DeepSpeedMonitorConfig wandb.entity Extra inputs are not permitted"
