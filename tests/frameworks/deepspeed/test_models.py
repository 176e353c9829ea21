"""Strict sections: lenient values, forbidden keys, "auto", second names, deprecated keys, releases."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.frameworks.deepspeed.models import MONITOR, ZERO, read_section
from cfglint.frameworks.validation import pydantic

NEWEST = (0, 19, 8)


@each_case(("value", "expected"), [(5e8, 500_000_000), ("5_000", 5000), (" 5 ", 5), ("5.0", 5), ("+5", 5), (True, 1), ("-0", 0)])
def test_integers_are_read_leniently(value, expected):
    assert pydantic.integer(value) == expected


@each_case("value", ["5e8", "1e3", 1.5, None, float("inf"), 1e30, "5.", "_5", "5__0", "", [], "0x10", "\u0665"])
def test_what_is_no_integer(value):
    with pytest.raises(pydantic.Invalid):
        pydantic.integer(value)


@each_case(("value", "expected"), [("YES", True), ("off", False), (1.0, True), (0, False), ("T", True), ("n", False)])
def test_booleans_are_read_leniently(value, expected):
    assert pydantic.boolean(value) is expected


@each_case("value", [2, "", "maybe", None, 0.5, " true", []])
def test_what_is_no_boolean(value):
    with pytest.raises(pydantic.Invalid):
        pydantic.boolean(value)


@each_case(("value", "expected"), [("2", 2), (2.0, 2), (True, 1), (False, 0), (3, 3)])
def test_stages(value, expected):
    assert read_section(ZERO, {"stage": value}, NEWEST)["stage"] == expected


@each_case("value", [4, -1, 2.5, None, "2.", "two"])
def test_what_is_no_stage(value):
    section = read_section(ZERO, {"stage": value}, NEWEST)
    assert section["stage"] is None
    assert "Input should be 0, 1, 2, 3 or 3" in section.faults[0].exception


def test_auto_is_dropped_at_every_depth():
    section = read_section(ZERO, {"stage": "auto", "nonsense": "auto", "offload_optimizer": {"device": "auto"}}, NEWEST)
    assert not section.faults
    assert section["stage"] == 0
    assert section["offload_optimizer"]["device"] == "none"


def test_both_names_of_a_key_are_one_too_many():
    long, short = "stage3_prefetch_bucket_size", "prefetch_bucket_size"
    assert read_section(ZERO, {short: 7}, NEWEST)[short] == 7
    assert read_section(ZERO, {long: 7}, NEWEST)[short] == 7
    assert [fault.path for fault in read_section(ZERO, {short: 7, long: 7}, NEWEST).faults] == [(short,)]


@each_case(
    ("values", "path"),
    [
        ({"reduce_bucket_size": 0}, ("reduce_bucket_size",)),
        ({"offload_optimizer": {"ratio": 1.5}}, ("offload_optimizer", "ratio")),
        ({"offload_param": {"device": "CPU"}}, ("offload_param", "device")),
        ({"zenflow": {"topk_ratio": 1.0}}, ("zenflow", "topk_ratio")),
        ({"leaf_module": ["a"]}, ("leaf_module",)),
        ({"offload_optimizer": {"ratio": 0.5}, "stage": 2}, ()),
    ],
)
def test_faults_know_their_place(values, path):
    assert [fault.path for fault in read_section(ZERO, values, NEWEST).faults] == [path]


@pytest.mark.parametrize("key", ["offload_param", "offload_optimizer", "zenflow", "leaf_module"])
def test_null_is_fine_for_inner_sections(key):
    assert not read_section(ZERO, {key: None}, NEWEST).faults


def test_null_is_not_fine_for_monitors():
    assert read_section(MONITOR, {"wandb": None}, NEWEST).faults


@pytest.mark.parametrize(
    ("key", "release", "before"),
    [("compute_grad_norm", "0.19.7", "0.19.6"), ("zenflow", "0.17.5", "0.17.4"), ("leaf_module", "0.18.0", "0.17.6")],
)
def test_a_key_is_forbidden_before_its_release(runs, key, release, before):
    values = {"zero_optimization": {"stage": 0, key: True if key == "compute_grad_norm" else {}}}
    assert "KEY102" not in runs.codes(values, target=release)
    assert "KEY102" in runs.errors(values, target=before)


def test_a_removed_key_is_known_to_the_release_that_had_it(runs):
    values = {"zero_optimization": {"stage": 3, "mics_shard_size": 8}}
    assert runs.errors(values, target="0.19.6") == []
    assert runs.errors(values) == ["KEY100"]


def test_bounds_move_with_releases(runs):
    values = {"zero_optimization": {"stage": 0, "reduce_bucket_size": 0}}
    assert runs.errors(values, target="0.19.5") == []
    assert runs.errors(values, target="0.19.6") == ["TYP101"]


def test_precision_sections_were_lenient(runs):
    values = {"fp16": {"enabled": "auto", "nonsense": 1}}
    assert runs.errors(values, target="0.17.0") == []
    assert runs.errors(values, target="0.17.1") == ["KEY102"]
