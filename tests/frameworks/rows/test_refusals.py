"""What the rows of a class refuse at once: each with its page, keys, exception and remedies."""

from __future__ import annotations

from cases import each_case
from cfglint.evaluate import Reason, Unknown
from cfglint.frameworks.refusal import Words
from cfglint.frameworks.rows.refusals import Check, Plan
from remedies import sentence

SIZE = ["*", ["f", "micro"], ["f", "processes"]]
SET = {"when": [["is", ["f", "made"], None]], "set": "made", "be": SIZE}
DIVIDES = {"when": [["!=", ["%", ["f", "made"], ["f", "group"]], 0]], "raise": "ValueError", "say": "divide"}
COMPARES = {"when": [["<", ["f", "group"], 2]], "raise": "ValueError", "say": "compare"}
EXCLUDES = {"when": [["f", "a"], ["f", "b"]], "raise": "ValueError", "say": "a with b"}
LATE = {"when": [["==", ["f", "mode"], "x"]], "raise": "TypeError", "say": "no x"}
ORDER = {"when": [["<", ["f", "high"], ["f", "low"]]], "raise": "ValueError", "say": "order"}
WORDS = Words((), {("processes",): ""}, {"a", "b"}.__contains__, {("processes",): "GPU"})
DEFAULTS = {"micro": 4, "made": None, "group": 4, "processes": 2, "low": 1, "high": 2, "a": False, "b": True, "mode": "y"}


PLAN = Plan({"config": [SET, DIVIDES, COMPARES, ORDER, EXCLUDES], "init": [LATE]})  # from the second case on it knows what does nothing


def refused(**written):
    """(page, keys, message, exception, stage, steps) of each refusal."""
    check = Check(PLAN, written, DEFAULTS, ("processes",), lambda *_: None, lambda row: row["say"])
    return [
        (each.kind, each.keys, each.message, each.exception, each.fails_at, sentence(each.help_for(written)))
        for each in check.refusals(WORDS)
    ]


@each_case(
    ("written", "expected"),
    [
        ({}, []),
        (
            {"micro": 3, "group": 4},
            [
                (
                    "divide",
                    ["micro", "group"],
                    "`micro` (3) x 2 GPUs = 6 is not a multiple of `group` (4)",
                    "ValueError: divide",
                    "config",
                    "set `micro: 4`, or set `group: 3`",
                )
            ],
        ),
        (
            {"made": 6},
            [("divide", ["made"], "`made` (6) is not a multiple of `group` (4)", "ValueError: divide", "config", "set `made: 8`")],
        ),
        (
            {"a": True, "mode": "x"},
            [
                ("a with b", ["a", "b"], "`a` is incompatible with `b`", "ValueError: a with b", "config", "remove `a`, or set `b: false`"),
                ("no x", ["mode"], "no x", "TypeError: no x", "init", "use another `mode`"),
            ],
        ),
        ({"made": Unknown(Reason("argument", "made"))}, []),
    ],
)
def test_refusals(written, expected):
    assert refused(**written) == expected


def test_a_check_that_fails_is_told_by_the_one_that_refuses_the_value():
    [found] = refused(group=0)
    assert found[0] == "compare"
    assert found[3] == "ZeroDivisionError: integer modulo by zero"
    [found] = refused(group=[])
    assert (found[0], found[1][0]) == ("type", "group")


@each_case(
    ("written", "key"),
    [
        ({"high": None}, "high"),
        ({"low": None}, "low"),
        ({"high": None, "low": 3}, "high"),
        ({"low": "3", "high": 5}, "low"),
    ],
)
def test_a_comparison_of_two_keys_fails_on_the_one_that_is_no_number(written, key):
    [found] = refused(**written)
    assert (found[0], found[1][0]) == ("type", key)
    assert found[3].startswith("TypeError: '<' not supported between instances of")


def test_the_defaults_of_a_run_do_not_decide_what_the_next_one_is_checked_for():
    plan = Plan({"config": [COMPARES, EXCLUDES]})
    found = []
    for filled in ({}, {}, {"group": 1}, {"a": True}, {}):  # what a framework around the class fills in
        check = Check(plan, {}, DEFAULTS | filled, (), lambda *_: None, lambda row: row["say"])
        found.append([refusal.kind for refusal in check.refusals(WORDS)])
    assert found == [[], [], ["compare"], ["a with b"], []]


def test_what_rows_put_into_a_default_is_not_the_default_of_the_next_run():
    fills = {"when": [["not", ["f", "items"]]], "put": ["f", "items"], "key": None, "be": ["list", 1]}
    empty = {"when": [["not", ["f", "items"]]], "raise": "ValueError", "say": "no items"}
    plan, defaults = Plan({"config": [empty, fills]}), {"items": []}
    checks = [Check(plan, {}, defaults, ("items",), lambda *_: None, lambda row: row["say"]) for _ in range(3)]
    assert [[refusal.kind for refusal in check.refusals(WORDS)] for check in checks] == [["no items"]] * 3
