"""The tables of the kind name arguments that exist, and take values as pydantic does."""

from __future__ import annotations

from cases import each_case
from cfglint.frameworks.neox import MARKERS
from cfglint.frameworks.neox._tables import FIELDS, MEMBERS
from cfglint.frameworks.neox.rules import fields as field_rules
from cfglint.frameworks.neox.rules import model, no_effect
from cfglint.frameworks.neox.rules.deepspeed_engine import read_as_deepspeed


@each_case(
    "names",
    [
        MARKERS,
        MEMBERS,
        model.CASED,
        no_effect.DIVISORS,
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


@each_case(
    ("name", "section", "paths"),
    [
        ("zero_optimization", {"stage": 1, "foo": 1, "bar": "auto"}, [("zero_optimization", "foo")]),
        ("zero_optimization", {"stage": 1, "reduce_bucket_size": -1}, [("zero_optimization", "reduce_bucket_size")]),
        ("zero_optimization", {"stage": 1, "reduce_bucket_size": "5_000", "overlap_comm": "Yes"}, []),
        ("zero_optimization", {"stage": 1, "reduce_bucket_size": "_5"}, [("zero_optimization", "reduce_bucket_size")]),
        ("zero_optimization", {"stage": "\u00b2"}, [("zero_optimization", "stage")]),
        ("zero_optimization", {"stage": 1, "leaf_module": {}}, [("zero_optimization", "leaf_module")]),
        ("zero_optimization", {"stage": 1, "offload_optimizer": None, "overlap_comm": None}, []),
        ("zero_optimization", {"stage": 3, "offload_param": {"pin": 1}}, [("zero_optimization", "offload_param", "pin")]),
        ("zero_optimization", {"stage": 3, "offload_param": "cpu"}, [("zero_optimization", "offload_param")]),
        ("zero_optimization", {"stage": 2, "offload_optimizer": {"ratio": 0.5}}, [("zero_optimization",)]),
        ("zero_optimization", {"stage": 3, "offload_optimizer": {"ratio": 2}}, [("zero_optimization", "offload_optimizer", "ratio")]),
        ("hybrid_engine", {"enable_cuda_graph": True}, [("hybrid_engine", "enable_cuda_graph")]),
        ("hybrid_engine", {"max_out_tokens": 0}, []),
        ("tensorboard", {"enabled": True, "job": "x"}, [("tensorboard", "job")]),
    ],
)
def test_sections_of_the_pinned_deepspeed(name, section, paths):
    assert [path for path, _ in read_as_deepspeed(name, section)[1]] == paths


def test_monitors_are_checked_as_one():
    ((_, fault),) = read_as_deepspeed("wandb", {"entity": "x"})[1]
    assert fault.exception == "ValidationError: 1 validation error for DeepSpeedMonitorConfig: wandb.entity: Extra inputs are not permitted"
