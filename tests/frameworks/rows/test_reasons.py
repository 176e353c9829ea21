"""The keys, the sentence and the remedies of a row that refuses values."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.findings._places import PLACES
from cfglint.frameworks.refusal import Removal, Words
from cfglint.frameworks.rows.evaluation import Evaluation
from cfglint.frameworks.rows.expressions import Raised
from cfglint.frameworks.rows.reasons import Condition, Explanation
from remedies import sentence

WORDS = Words(
    kept=("rl",),
    machine={("gpus",): " on several GPUs"},
    is_flag=lambda key: key.startswith("use_"),
)


@pytest.fixture(autouse=True)
def placed(monkeypatch):
    """The places of a check, as the head of its page has them."""
    monkeypatch.setitem(PLACES, "placed", ("last",))


def explained(guards, values, said="", function="check", before=()):
    """(keys, sentence, remedies) of the refusal of some values."""
    rows = [*before, {"when": guards, "raise": "ValueError", "say": said}]
    run = Evaluation(dict(values), lambda name, *arguments: None)
    try:
        run.run(rows)
    except Raised as raised:
        found = Explanation(Condition(raised.row, rows, run, values), function, said, WORDS)
    else:
        raise AssertionError("nothing is refused")

    def lifts(changed, key):
        try:
            Evaluation(changed, lambda name, *arguments: None).run(rows)
        except Raised:
            return False
        return True

    steps = [
        f"use another `{step.key}`" if step.value else f"remove `{step.key}`"
        for step in found.remedies(run.values, lifts)
        if isinstance(step, Removal)
    ]
    return (
        found.keys,
        found.sentence,
        [*(sentence(step) for step in found.remedies(run.values, lifts) if not isinstance(step, Removal)), *steps],
    )


@each_case(
    ("guards", "values", "said", "expected"),
    [
        (
            [["f", "a"], ["f", "b"]],
            {"a": True, "b": 2},
            "b and a are exclusive",
            (["b", "a"], "`b` is incompatible with `a`", ["remove `b`", "remove `a`"]),
        ),
        (
            [["f", "a"], ["not", ["f", "use_b"]]],
            {"a": True},
            "",
            (["a", "use_b"], "`a` requires `use_b: true`", ["set `use_b: true`", "remove `a`"]),
        ),
        (
            [["==", ["f", "mode"], "x"], ["!=", ["f", "kind"], "y"]],
            {"mode": "x", "kind": "z"},
            "",
            (["mode", "kind"], "`mode: x` requires `kind: y`", ["set `kind: y`", "use another `mode`"]),
        ),
        (
            [["not in", ["m", "lower", ["f", "kind"]], ["tuple", "one", "two"]]],
            {"kind": "ones"},
            "",
            (["kind"], '`kind` is "ones"; it must be "one" or "two"', ["set `kind: one`"]),
        ),
        (
            [[">", ["or", ["f", "size"], 1], 1], ["f", "a"]],
            {"size": 4, "a": True},
            "",
            (["size", "a"], "`size` above 1 is incompatible with `a`", ["set `size: 1`", "remove `a`"]),
        ),
        (
            [["!=", ["%", ["f", "steps"], ["f", "every"]], 0]],
            {"steps": 10, "every": 4},
            "",
            (["steps", "every"], "`steps` (10) is not a multiple of `every` (4)", []),
        ),
        ([["f", "a"], ["f", "rl"]], {"a": True, "rl": "dpo"}, "", (["a", "rl"], "`a` is incompatible with `rl: dpo`", ["remove `a`"])),
        (
            [["f", "a"], [">", ["f", "gpus"], 1]],
            {"a": True, "gpus": 8},
            "",
            (["a"], "`a` is not supported on several GPUs", ["remove `a`"]),
        ),
        (
            [["f", "a"], ["get", ["or", ["f", "box"], ["dict"]], "b", None]],
            {"a": True, "box": {"b": True}},
            "",
            (["a", "box.b"], "`a` is incompatible with `box.b`", ["remove `a`", "remove `box.b`"]),
        ),
        (
            [["<", ["m", "count", ["f", "some_text"], "x"], 3]],
            {"some_text": "x"},
            "Please write some_text longer. It helps.",
            (["some_text"], "please write `some_text` longer", []),
        ),
        (
            [["is", ["f", "a"], False]],
            {"a": False},
            "a has to be switched on. Set `a: true` again",
            (["a"], "a has to be switched on", ["set `a: true`"]),
        ),
    ],
)
def test_refusal_in_words(guards, values, said, expected):
    keys, sentence, remedies = explained(guards, values, said)
    assert (keys, sentence) == expected[:2]
    assert set(expected[2]) <= set(remedies)


def test_place_of_the_page():
    assert explained([["f", "a"], ["f", "last"]], {"a": True, "last": True})[0] == ["a", "last"]
    assert explained([["f", "a"], ["f", "last"]], {"a": True, "last": True}, function="placed")[0] == ["last", "a"]


def test_kept_values_and_loops_lead_to_their_keys():
    kept = [{"when": [["f", "a"]], "let": "$x", "be": ["f", "b"]}]
    assert explained([["v", "$x"]], {"a": True, "b": True}, before=kept)[0] == ["a", "b"]
    refuses = {"when": [["==", ["get", ["v", "$item"], "type", None], "old"]], "raise": "ValueError", "say": ""}
    rows = [{"when": [], "each": "$item", "in": ["f", "sets"], "rows": [refuses]}]
    run = Evaluation({"sets": [{"type": "new"}, {"type": "old"}]}, lambda name, *arguments: None)
    with pytest.raises(Raised) as caught:
        run.run(rows)
    assert Explanation(Condition(caught.value.row, rows, run, run.values), "check", "", WORDS).keys == ["sets.1.type"]


def test_a_change_that_does_not_help_is_not_offered():
    guards = [["or", ["f", "a"], ["f", "b"]]]
    assert explained(guards, {"a": True, "b": True})[2] == []
