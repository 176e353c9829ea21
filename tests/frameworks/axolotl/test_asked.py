"""A check of axolotl is called only for files with a key that it looks up; the results are those of all checks."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.frameworks.axolotl.asked import Checks, NoKeys, OnlyDefaults
from cfglint.frameworks.axolotl.refusals import AxolotlModel
from cfglint.frameworks.axolotl.releases import ever, top

NEWEST = (0, 21, 0)


def rank(data):
    data.get("adapter") and data.get("lora_r")


def sees_gpus(data):
    data["capabilities"]


def fills_in(data):
    data["pad_to_sequence_len"] = True


def refuses(data):
    if not data.get("datasets"):
        raise ValueError("no data")


@pytest.mark.parametrize(
    ("check", "keys", "is_called"),
    [
        (rank, {"adapter"}, True),
        (rank, {"lora_r"}, False),  # without `adapter` it is never looked up
        (sees_gpus, set(), True),
        (fills_in, set(), True),
        (refuses, set(), True),
    ],
)
def test_check_of_the_values_of_a_file(check, keys, is_called):
    checks = Checks([check], lambda: NoKeys(NEWEST))
    assert [*checks.that_use(set())] == [check]  # the first file gets all of them
    assert [*checks.that_use(keys)] == ([check] if is_called else [])


def test_check_of_the_fields_gets_their_defaults():
    def balanced(model):
        assert model.micro_batch_size == 1

    checks = Checks([balanced], lambda: OnlyDefaults(NEWEST, {name: row[2] for name, row in top(NEWEST).items()}))
    assert [*checks.that_use(set())] == [balanced]
    assert [*checks.that_use({"optimizer"})] == []
    assert [*checks.that_use({"micro_batch_size"})] == [balanced]


def test_key_that_a_check_fills_in_is_one_of_the_file():
    def completes(data):
        data["lora_dropout"] = 0.0

    def uses(data):
        data.get("lora_dropout")

    data = {}
    checks = Checks([completes, uses], lambda: NoKeys(NEWEST))
    [*checks.that_use(data.keys())]
    called = []
    for check in checks.that_use(data.keys()):
        called.append(check)
        check(data)
    assert called == [completes, uses]


@each_case(
    ("name", "exists"), [("micro_batch_size", True), ("liger_rope", True), ("sequence_parallel_degree", True), ("micro_batch_sze", False)]
)
def test_field_that_no_release_has_is_a_mistake_in_the_check(name, exists):
    assert ever(name) is exists
    model = AxolotlModel({}, foreign_plugins=False, release=NEWEST)
    if exists:
        assert getattr(model, name) is None
    else:
        with pytest.raises(RuntimeError, match=f"axolotl has no field {name}"):
            getattr(model, name)
