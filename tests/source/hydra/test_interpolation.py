"""Interpolations: references, defaults that follow another key, and what cannot be known."""

from __future__ import annotations

import pytest

from cfglint.evaluate import Unknown
from cfglint.source.hydra.interpolation import ResolutionError, Resolver, interpolated
from tests.cases import each_case

TREE = {
    "a": 8,
    "name": "x",
    "list": [1, 2],
    "nothing": None,
    "must": "???",
    "inner": {
        "up": "${a}",
        "sibling": "${.micro}",
        "above": "${..a}",
        "micro": 4,
        "text": "run-${name}-${a}",
        "select": "${oc.select:.missing,${a}}",
        "null_select": "${oc.select:nothing,16}",
        "plain_select": "${oc.select:.micro,7}",
        "item": "${list.1}",
        "through": "${link.micro}",
        "environment": "${oc.env:HOME}",
        "joined": "x${oc.env:HOME}",
        "own": "${my:1}",
        "of_list": "x${list}",
    },
    "link": "${inner}",
    "loop": "${loop}",
    "gone": "${nope}",
    "mandatory": "${must}",
    "broken": "${a",
}


@each_case(
    ("key", "expected"),
    [
        ("up", 8),
        ("sibling", 4),
        ("above", 8),
        ("text", "run-x-8"),
        ("select", 8),
        ("null_select", 16),
        ("plain_select", 4),
        ("item", 2),
        ("environment", "the variable `HOME` (pass --env HOME=VALUE)"),
        ("joined", "the variable `HOME` (pass --env HOME=VALUE)"),
        ("own", "the resolver `my`"),
        ("of_list", "x[1, 2]"),  # as Python prints it
    ],
)
def test_a_value_is_resolved_or_unknown(key: str, expected: object) -> None:
    found = Resolver(TREE).get(("inner", key))
    assert (found.reasons[0].text if isinstance(found, Unknown) else found) == expected


@each_case(
    ("key", "exception"),
    [
        ("loop", "Recursive interpolation"),
        ("gone", "InterpolationKeyError: Interpolation key 'nope' not found"),
        ("mandatory", "InterpolationToMissingValueError"),
        ("broken", "GrammarParseError"),
    ],
)
def test_what_cannot_be_resolved_quotes_omegaconfs_exception(key: str, exception: str) -> None:
    with pytest.raises(ResolutionError, match=exception):
        Resolver(TREE).get((key,))


def test_a_missing_key_has_its_default() -> None:
    assert Resolver(TREE).get(("inner", "nope"), 3) == 3
    assert not Resolver(TREE).has(("inner", "nope"))


@each_case(
    ("values", "expected"),
    [
        ({"a": "${b.0}/x", "b": ["${c}"], "c": 1}, {"a": "1/x", "b": [1], "c": 1}),
        ({"a": "${oc.env:HOME}", "b": "${a}", "c": "${d}", "d": 2}, {"a": "${oc.env:HOME}", "b": "${oc.env:HOME}", "c": 2, "d": 2}),
        ({"a": "${gone}", "b": "${c}", "c": 2}, {"a": "${gone}", "b": "${c}", "c": 2}),  # as a whole or not at all
        ({"a": "${b}", "b": "${a}"}, {"a": "${b}", "b": "${a}"}),
    ],
)
def test_references_to_keys_alone(values: dict[str, object], expected: dict[str, object]) -> None:
    assert interpolated(values) == expected
