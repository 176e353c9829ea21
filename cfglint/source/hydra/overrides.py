"""Overrides of a Hydra command line: `key=value`, `+key=value`, `++key=value`, `~key`, `group@package=option`.

Source: hydra-core 1.3.8 grammar/OverrideParser.g4, core/override_parser/types.py.
"""

from __future__ import annotations

import re

from cfglint.source.annotations import Any, Final
from cfglint.source.hydra.values import GrammarError, Sweep, parse_value
from cfglint.source.record import Record

CHANGE: Final = ""
ADD: Final = "+"
FORCE: Final = "++"
DELETE: Final = "~"

NAME = r"[a-zA-Z_][a-zA-Z0-9_-]*"
STEP = r"(?:[a-zA-Z_$][a-zA-Z0-9_$-]*|0|[1-9](?:_?[0-9])*)"
PACKAGE = rf"(?:[a-zA-Z_$][a-zA-Z0-9_$-]*|{STEP}(?:\.{STEP})+|)"
PREFIX = re.compile(r"\+\+|\+|~|")
KEY = re.compile(rf"(?P<key>{NAME}(?:/{NAME})+|{PACKAGE})(?:@(?P<package>{PACKAGE}))?(?=[=]|\Z)")
EXCEPTION = "hydra.errors.OverrideParseException"


class HydraOverride(Record):
    """One override. `sign` is `+`, `++`, `~` or empty; `package` follows an `@`; `text` is the word as Hydra gets it.

    The value of `~key` alone is None.
    """

    sign: str
    key: str
    package: str | None
    value: Any  # or the `Sweep` or `Call` that it would be
    text: str

    @property
    def target(self) -> str:
        """The key with its package, as the defaults list names a group."""
        return self.key if self.package is None else f"{self.key}@{self.package}"


class OverrideError(Exception):
    """A word that is not an override; the argument is the exception that Hydra raises."""


def parse_override(text: str) -> HydraOverride:
    """The override of one word of a command line; raises OverrideError."""
    sign = PREFIX.match(text)
    begin = sign.end() if sign is not None else 0
    match = KEY.match(text, begin)
    if match is None:
        characters = re.compile(r"[a-zA-Z0-9_$.~+@:/-]*").match(text, begin)
        end = characters.end() if characters is not None else begin
        if end < len(text) and text[end] != "=":  # a character that no key has, or one at the wrong place
            raise error(text, f"LexerNoViableAltException: {text[end]}")
        if text[begin:end].isdigit() or text[begin : begin + 1] == "-":
            raise error(text, f"LexerNoViableAltException: {text[begin]}")
        raise error(text, f"extraneous input '{text[begin:end]}'")
    sign_text = text[:begin]
    key, package = match["key"], match["package"]
    if match.end() == len(text):
        if sign_text != DELETE:
            raise error(text, "missing EQUAL at '<EOF>'")
        return HydraOverride(sign_text, key, package, None, text)
    try:
        value = parse_value(text[match.end() + 1 :].lstrip(" \t"))
    except GrammarError as problem:
        raise error(text, str(problem)) from None
    return HydraOverride(sign_text, key, package, value, text)


def error(text: str, why: str) -> OverrideError:
    return OverrideError(f"{EXCEPTION}: Error parsing override '{text}'\n{why}")


def sweep_error(override: HydraOverride) -> str | None:
    """The exception for several values without `--multirun`; None for a single value."""
    if not isinstance(override.value, Sweep):
        return None
    exception = "hydra.errors.ConfigCompositionException"
    if override.value.simple:
        return f"{exception}: Ambiguous value for argument '{override.text}'"
    return f"{exception}: Sweep parameters '{override.text}' requires --multirun"
