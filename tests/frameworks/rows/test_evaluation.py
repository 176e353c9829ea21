"""Rows on values: what they refuse, set and leave open."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.evaluate import Reason, Unknown
from cfglint.frameworks.rows.evaluation import Evaluation
from cfglint.frameworks.rows.expressions import Raised

RAISE = {"raise": "ValueError", "say": "no"}


def evaluated(rows, values, **facts):
    """The evaluation after the rows, and what they raised."""
    run = Evaluation(values, lambda name, *arguments: facts.get(name))
    try:
        run.run(rows)
    except Raised as raised:
        return run, f"{raised.kind}: {raised.message}"
    return run, ""


@each_case(
    ("expression", "expected"),
    [
        (["f", "a"], 3),
        (["f", "missing"], None),
        (["f?", "missing", 7], 7),
        (["f!", "missing"], "KeyError: 'missing'"),
        (["has", "a"], True),
        (["get", ["f", "box"], "b", None], 2),
        (["get", ["f", "a"], "b", None], "AttributeError: 'int' object has no attribute 'get'"),
        (["at", ["f", "items"], 5], "IndexError: list index out of range"),
        ([">", ["f", "a"], "3"], "TypeError: '>' not supported between instances of 'int' and 'str'"),
        (["%", ["f", "a"], 0], "ZeroDivisionError: integer modulo by zero"),
        (["is", ["f", "a"], 3], True),
        (["is", 1, True], False),
        (["is a", ["f", "items"], "list"], True),
        (["or", ["f", "missing"], ["dict"]], {}),
        (["and", ["f", "a"], ["f", "box"]], {"b": 2}),
        (["if", ["f", "a"], "yes", "no"], "yes"),
        (["some", "list", [["f", "a"], "a"], [["f", "missing"], "missing"]], ["a"]),
        (["each", "list", "x0", ["f", "items"], [">", ["x", "x0"], 1], ["x", "x0"]], [2]),
        (["m", "lower", "ABC"], "abc"),
        (["call", "any", ["list", False, ["f", "a"]]], True),
        (["with", ["f", "box"], "c", 1], {"b": 2, "c": 1}),
        (["slice", "abc", 1, None], "bc"),
        (["member", "x", "Kind", ["list", ["tuple", "A", "a"]]], "ValueError: 'x' is not a valid Kind"),
        (["fails", ["list", ["re", "compile", "("]], "error"], True),
        (["fails", ["list", ["re", "compile", "a"]], "error"], False),
        (["<", ["version", "2.9.1"], ["version", "2.10"]], True),
        (["math", "ceil", 1.5], 2),
        (["parsed", "loads", '{"b": [1]}'], {"b": [1]}),
        (["fails", ["list", ["parsed", "literal_eval", "(1"]], "SyntaxError"], True),
        (["fmt", "a is ", [["f", "a"], "r", ""], " of ", [["set", "y", "x"], "", ""]], "a is 3 of {'x', 'y'}"),
        (["fact", "device_count"], 8),
    ],
)
def test_value(expression, expected):
    values = {"a": 3, "box": {"b": 2}, "items": [1, 2]}
    run, raised = evaluated([{"when": [], "set": "result", "be": expression}], values, device_count=8)
    assert (raised or run.values["result"]) == expected


@each_case(
    ("guards", "outcome"),
    [
        ([["f", "a"]], "raises"),
        ([["f", "u"]], "open"),
        ([["f", "u"], ["f", "a"]], "open"),
        ([["f", "u"], ["not", ["f", "a"]]], "passes"),
        ([["or", ["f", "u"], ["f", "a"]]], "raises"),
        ([["and", ["f", "u"], ["f", "missing"]]], "passes"),
        ([["f", "u"], [">", ["f", "a"], "x"]], "open"),  # Python may not get to the comparison
        ([["fact", "unanswered"]], "open"),
        ([["?", "not read"]], "open"),
        ([["==", ["or", ["f", "u"], 1], 1]], "open"),
        ([["in", ["f", "u"], ["list", 1]]], "open"),
    ],
)
def test_what_is_unknown_is_no_refusal(guards, outcome):
    run, raised = evaluated([{"when": guards, **RAISE}], {"a": 3, "u": Unknown(Reason("argument", "u"))})
    assert ("raises" if raised else "open" if run.undecided else "passes") == outcome


def test_what_an_undecided_row_would_set_is_unknown_unless_it_is_the_same():
    rows = [{"when": [["f", "u"]], "set": "a", "be": 4}, {"when": [["f", "u"]], "set": "b", "be": 1}, {"when": [["f", "a"]], **RAISE}]
    run, raised = evaluated(rows, {"u": Unknown(Reason("argument", "u")), "a": 3, "b": 1})
    assert (raised, isinstance(run.values["a"], Unknown), run.values["b"]) == ("", True, 1)


def test_rows_in_order():
    item = ["fmt", "item ", [["v", "$item"], "", ""]]
    rows = [
        {"when": [["is", ["f", "new"], None]], "let": "$old", "be": ["f", "old"]},
        {"when": [["v", "$old"]], "set": "new", "be": ["v", "$old"]},
        {"when": [], "drop": "old"},
        {"when": [], "put": ["f", "box"], "key": "n", "be": 1},
        {"when": [], "each": "$item", "in": ["f", "items"], "rows": [{"when": [["==", ["v", "$item"], 2]], **RAISE, "say": item}]},
    ]
    run, raised = evaluated(rows, {"old": 5, "box": {}, "items": [1, 2]})
    assert run.values == {"new": 5, "box": {"n": 1}, "items": [1, 2]}
    assert raised == "ValueError: item 2"


def test_the_row_that_raises_tells_a_refusal_from_a_failure():
    for row, intended in (({"when": [], **RAISE}, True), ({"when": [], "try": [">", None, 1]}, False)):
        with pytest.raises(Raised) as caught:
            Evaluation({}, lambda name, *arguments: None).run([row])
        assert (caught.value.intended, caught.value.row) == (intended, row)


def test_a_member_of_an_enum_is_written_by_its_class():
    row = {"when": [], "raise": "ValueError", "say": ["fmt", "rl: ", [["f", "rl"], "", ""], [["f", "rl"], "r", ""]]}
    with pytest.raises(Raised) as caught:
        Evaluation({"rl": "dpo"}, lambda name, *arguments: None, {"rl": "RLType"}).run([row])
    assert caught.value.message == "rl: RLType.DPO<RLType.DPO: 'dpo'>"
