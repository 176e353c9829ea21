"""Overrides of a Hydra command line: `key=value`, `+key=value`, `++key=value`, `~key`, `group@package=option`, and their values.

Source: hydra-core 1.3.8 grammar/OverrideLexer.g4 and OverrideParser.g4, core/override_parser/types.py and overrides_visitor.py.
"""

from __future__ import annotations

import re

from cfglint.source.annotations import Any, Callable, ConfigMapping, ConfigValue, Final, Iterator
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
INTEGER = r"(?:0|[1-9](?:_?[0-9])*)"
POINT = rf"(?:{INTEGER}?\.[0-9](?:_?[0-9])*|{INTEGER}\.)"
EXPONENT = rf"(?:(?:{POINT}|{INTEGER})[eE][+-]?[0-9](?:_?[0-9])*)"
# In the order of the lexer: of several that match, the longest is taken, of equally long ones the first.
TOKENS = [
    (name, re.compile(pattern, re.DOTALL))
    for name, pattern in (
        ("(", r"[ \t]*\([ \t]*"),
        (",", r"[ \t]*,[ \t]*"),
        (")", r"[ \t]*\)"),
        ("[", r"\[[ \t]*"),
        ("]", r"[ \t]*\]"),
        ("{", r"\{[ \t]*"),
        ("}", r"[ \t]*\}"),
        (":", r"[ \t]*:[ \t]*"),
        ("=", r"[ \t]*=[ \t]*"),
        ("float", rf"[+-]?(?:{EXPONENT}|{POINT}|[Ii][Nn][Ff]|[Nn][Aa][Nn])"),
        ("integer", rf"[+-]?{INTEGER}"),
        ("boolean", r"[Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee]"),
        ("null", r"[Nn][Uu][Ll][Ll]"),
        ("character", r"[/\-\\+.$%*@?|]"),
        ("name", r"[a-zA-Z_][a-zA-Z0-9_-]*"),
        ("escape", r"(?:\\[\\()\[\]{}:=, \t])+"),
        ("space", r"[ \t]+"),
        ("quoted", r'"(?:(?:\\\\)*|.*?[^\\](?:\\\\)*)"' + r"|'(?:(?:\\\\)*|.*?[^\\](?:\\\\)*)'"),
        ("reference", r"\$\{[^}]+\}"),
    )
]
IN_KEYS = ("name", "null", "integer", "float", "boolean", "character", "escape", "space")
IN_WORDS = (*IN_KEYS, "reference", ":")
SWEEPS = ("choice", "range", "interval", "glob", "tag")
CASTS = ("int", "float", "str", "bool", "json_str")
FUNCTIONS = (*SWEEPS, *CASTS, "sort", "shuffle", "extend_list")
LITERALS: dict[str, Callable[[str], ConfigValue]] = {
    "integer": int,
    "float": float,
    "boolean": lambda source: source.lower() == "true",
    "null": lambda _: None,
}
END = ("end", "")
MOST_NESTED = 100  # lists and mappings within each other
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


class GrammarError(Exception):
    """A string that Hydra's grammar does not accept; the argument is Hydra's message."""


class Sweep(Record):
    """Several values, one for each run of `--multirun`. `simple`: they are separated by commas, without a function."""

    simple: bool


class Call(Record):
    """A function call whose value is not computed here, such as `shuffle([1,2])`."""

    name: str


def tokens(text: str) -> list[tuple[str, str]]:
    """The tokens of a value as (kind, source); raises GrammarError at a character that no token begins with."""
    found: list[tuple[str, str]] = []
    position = 0
    while position < len(text):
        best = ("", "")
        for name, pattern in TOKENS:
            match = pattern.match(text, position)
            if match is not None and len(match[0]) > len(best[1]):
                best = (name, match[0])
        if not best[1]:
            raise GrammarError(f"LexerNoViableAltException: {text[position]}")
        found.append(best)
        position += len(best[1])
    return found


def parse_value(text: str) -> ConfigValue | Call | Sweep:
    """The value of an override: the string behind its `=`; a Sweep for several values. Raises GrammarError."""
    if not text:
        return ""
    parser = ValueParser(tokens(text))
    first = parser.element()
    count = 1
    while parser.kind == ",":
        parser.advance()
        parser.element()
        count += 1
    parser.expect("end")
    return first if count == 1 else Sweep(True)


class ValueParser:
    """A recursive descent over tokens."""

    def __init__(self, found: list[tuple[str, str]]) -> None:
        self._tokens = [*found, END, END]
        self._next = 0
        self._depth = 0

    @property
    def kind(self) -> str:
        return self._tokens[self._next][0]

    def advance(self) -> str:
        """Consume the next token and return its source."""
        self._next += 1
        return self._tokens[self._next - 1][1]

    def expect(self, kind: str) -> None:
        """Consume a token of a kind; raises GrammarError if the next one is another."""
        if self.kind != kind:
            wanted = "<EOF>" if kind == "end" else f"'{kind}'"
            raise GrammarError(f"mismatched input '{self._tokens[self._next][1] or '<EOF>'}' expecting {wanted}")
        self._next += 1

    def element(self) -> Any:
        """A list, a mapping, a function call, a quoted string, or a word."""
        self._depth += 1
        if self._depth > MOST_NESTED:
            raise GrammarError("nested too deeply")
        try:
            if self.kind == "[":
                return [self.element() for _ in self._items("]")]
            if self.kind == "{":
                pairs: ConfigMapping = {}
                for _ in self._items("}"):
                    key = self._word(IN_KEYS)
                    self.expect(":")
                    pairs[key] = self.element()
                return pairs
            if self.kind == "name" and self._tokens[self._next + 1][0] == "(":
                name = self.advance()
                for _ in self._items(")"):
                    if self.kind == "name" and self._tokens[self._next + 1][0] == "=":
                        self._next += 2
                    self.element()
                if name not in FUNCTIONS:
                    raise GrammarError(f"Unknown function '{name}'")
                return Sweep(False) if name in SWEEPS else Call(name)
            if self.kind == "quoted":  # backslashes before a quote, or at the end, escape
                source = self.advance()
                body = re.sub(rf"(?:\\\\)*\\{source[0]}", lambda match: match[0][1::2], source[1:-1])
                return re.sub(r"(?:\\\\)+$", lambda match: match[0][1::2], body)
            return self._word(IN_WORDS)
        finally:
            self._depth -= 1

    def _items(self, end: str) -> Iterator[None]:
        """Consume brackets and the commas between them; each step is where the caller parses an element."""
        self._next += 1
        is_first = True
        while self.kind != end:
            if not is_first:
                self.expect(",")
            yield
            is_first = False
        self._next += 1

    def _word(self, allowed: tuple[str, ...]) -> ConfigValue:
        parts: list[tuple[str, str]] = []
        while self.kind in allowed:
            kind = self.kind
            parts.append((kind, self.advance()))
        if not parts:
            raise GrammarError(f"no viable alternative at input '{self._tokens[self._next][1] or '<EOF>'}'")
        if len(parts) == 1 and parts[0][0] == "space":
            raise GrammarError("Trying to parse a primitive that is all whitespaces")
        if parts[0][0] == "space":
            del parts[0]
        if parts[-1][0] == "space":
            del parts[-1]
        kind, source = parts[0]
        if len(parts) == 1 and kind in LITERALS:
            return LITERALS[kind](source)
        return "".join(source[1::2] if kind == "escape" else source for kind, source in parts)
