"""Overrides by Hydra's grammar; what each gives was compared with hydra-core 1.3.8 (tests/conformance/test_hydra.py asks it again)."""

from __future__ import annotations

from typing import Any

import pytest

from cfglint.source.hydra.overrides import OverrideError, Sweep, parse_override, sweep_error
from tests.cases import each_case

VALUES: list[tuple[str, Any]] = [
    ("", ""),
    ("8", 8),
    ("1_000", 1000),
    ("007", "007"),
    ("1e3", 1000.0),
    ("1.e-6", 1e-6),
    (".5", 0.5),
    ("-3", -3),
    ("1.5", 1.5),
    ("1_0.5", 10.5),
    ("TRUE", True),
    ("yes", "yes"),
    ("null", None),
    ("None", "None"),
    ("'1024'", "1024"),
    ('"a b"', "a b"),
    (r"'it\'s'", "it's"),
    (r"'c:\\'", "c:\\"),
    ("a b", "a b"),
    ("a:b/c%d*e@f?g-h+i$", "a:b/c%d*e@f?g-h+i$"),
    (r"a\,b", "a,b"),
    ("[a, 'b', [1]]", ["a", "b", [1]]),
    ("{a: 1, b: {c: null}}", {"a": 1, "b": {"c": None}}),
    ("${oc.env:HOME,x}/y", "${oc.env:HOME,x}/y"),
]


@each_case(("text", "expected"), VALUES)
def test_a_value_has_the_type_that_hydra_gives_it(text: str, expected: object) -> None:
    value = parse_override(f"a.b={text}").value
    assert (value, type(value)) == (expected, type(expected))


KEYS = [
    ("a=1", ("", "a", None)),
    ("+a.b=1", ("+", "a.b", None)),
    ("++a.0.c=1", ("++", "a.0.c", None)),
    ("~a", ("~", "a", None)),
    ("~a.b=1", ("~", "a.b", None)),
    ("actor@actor_rollout_ref.actor=megatron_actor", ("", "actor", "actor_rollout_ref.actor")),
    ("hydra/job_logging=disabled", ("", "hydra/job_logging", None)),
]


@each_case(("text", "expected"), KEYS)
def test_sign_key_and_package_of_an_override(text: str, expected: tuple[str, str, str | None]) -> None:
    override = parse_override(text)
    assert (override.sign, override.key, override.package) == expected


REFUSED = [
    ("data.shuffle", "missing EQUAL at '<EOF>'"),
    ("2", "LexerNoViableAltException: 2"),
    ("--a=1", "LexerNoViableAltException: -"),
    ("a=b=c", "mismatched input '='"),
    ("a=[b,c", "mismatched input '<EOF>'"),
    ("a=#c", "LexerNoViableAltException: #"),
    ("a=<path>", "LexerNoViableAltException: <"),
    ("a=it's", "LexerNoViableAltException: '"),
    ("a=f(1)", "Unknown function 'f'"),
]


@each_case(("text", "why"), REFUSED)
def test_a_word_that_hydra_cannot_parse_quotes_its_exception(text: str, why: str) -> None:
    with pytest.raises(OverrideError, match="OverrideParseException: Error parsing override") as raised:
        parse_override(text)
    assert why in str(raised.value)


def test_nesting_beyond_any_use_is_refused_without_a_recursion_error() -> None:
    with pytest.raises(OverrideError, match="nested too deeply"):
        parse_override("a=" + "[" * 5000)


@each_case(
    ("text", "exception"),
    [
        ("a=1,2", "Ambiguous value for argument 'a=1,2'"),
        ("a=range(1,3)", "Sweep parameters 'a=range(1,3)' requires --multirun"),
        ("a=range(start=1,stop=3)", "Sweep parameters 'a=range(start=1,stop=3)' requires --multirun"),
    ],
)
def test_several_values_need_multirun(text: str, exception: str) -> None:
    override = parse_override(text)
    assert isinstance(override.value, Sweep)
    assert exception in (sweep_error(override) or "")


def test_a_single_value_is_no_sweep() -> None:
    assert sweep_error(parse_override("a=[1,2]")) is None
