"""The interpolations of OmegaConf: `${a.b}`, `${.sibling}`, `${oc.select:key,default}` and strings that contain them.

Source: omegaconf 2.3.1 base.py (Container.resolve_parent_container, _evaluate_custom_resolver), resolvers/oc.
"""

from __future__ import annotations

import re

from cfglint.evaluate import Reason, Unknown
from cfglint.source.annotations import Any, ConfigMapping, ConfigValue
from cfglint.source.hydra.overrides import GrammarError, ValueParser, tokens
from cfglint.source.record import Record

MISSING = "???"
KEY = re.compile(r"\$\{[A-Za-z_][\w.]*\}")
RELATIVE = re.compile(r"\.*")
BRACE = re.compile(r"[{}]")
STEPS = re.compile(r"[^.\[\]]+")
MOST_STEPS = 10_000  # references that are followed for one composition
MOST_LENGTH = 100_000  # characters of a resolved string


class ResolutionError(Exception):
    """An interpolation that cannot be resolved; the argument is the exception that OmegaConf raises."""


class Resolver(Record):
    """Resolves the interpolations of a tree; what is outside of it is unknown: an environment variable, a resolver of the program."""

    root: ConfigMapping
    active: set[tuple[Any, ...]] = set()
    steps: int = 0

    def beyond(self, limit: str) -> ConfigValue:
        """The value in place of one that is beyond a limit."""
        return Unknown(Reason("budget", limit))

    def get(self, path: tuple[Any, ...], default: ConfigValue = None) -> ConfigValue:
        """The resolved value at a path; the default if there is none. Raises ResolutionError."""
        parent, found = self._look_up(path)
        return self.value(parent, path) if found else default

    def has(self, path: tuple[Any, ...]) -> bool:
        return self._look_up(path)[1]

    def value(self, value: ConfigValue, path: tuple[Any, ...]) -> ConfigValue:
        """A value of the tree at a path, with its interpolations resolved in depth."""
        if isinstance(value, dict):
            return {key: self.value(item, (*path, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [self.value(item, (*path, index)) for index, item in enumerate(value)]
        if not isinstance(value, str) or "${" not in value:
            return value
        if path in self.active:
            raise ResolutionError(f"omegaconf.errors.InterpolationResolutionError: Recursive interpolation detected in '{value}'")
        self.steps += 1
        if self.steps > MOST_STEPS:
            return self.beyond("the number of interpolations")
        self.active.add(path)
        try:
            return self._string(value, path)
        finally:
            self.active.discard(path)

    def _look_up(self, path: tuple[Any, ...]) -> tuple[ConfigValue, bool]:
        value: ConfigValue = self.root
        for index, step in enumerate(path):
            if isinstance(value, str) and "${" in value:
                value = self.value(value, path[:index])
            if isinstance(value, dict) and step in value:
                value = value[step]
            elif isinstance(value, list) and str(step).isdecimal() and int(step) < len(value):
                value = value[int(step)]
            else:
                return None, False
        return value, True

    def _string(self, text: str, path: tuple[Any, ...]) -> ConfigValue:
        parts: list[ConfigValue] = []
        position = 0
        while True:
            begin = text.find("${", position)
            if begin < 0:
                parts.append(text[position:])
                break
            depth, end = 1, begin + 1  # the brace that closes it
            while depth and (brace := BRACE.search(text, end + 1)):
                depth, end = depth + (1 if brace.group() == "{" else -1), brace.start()
            if depth:
                raise ResolutionError(f"omegaconf.errors.GrammarParseError: missing BRACE_CLOSE at '<EOF>' in '{text}'")
            if begin > position:
                parts.append(text[position:begin])
            value = self._reference(text[begin + 2 : end], path)
            if begin == 0 and end == len(text) - 1:
                return value
            parts.append(value)
            position = end + 1
        unknown = next((part for part in parts if isinstance(part, Unknown)), None)
        if unknown is not None:
            return unknown
        joined = "".join(map(str, parts))  # a list or mapping as Python prints it
        return joined if len(joined) <= MOST_LENGTH else self.beyond("the length of a string")

    def _reference(self, body: str, path: tuple[Any, ...]) -> ConfigValue:
        body = body.strip()
        if "${" in body:
            name, colon, _ = body.partition(":")
            if not colon or name not in ("oc.select", "oc.env"):
                return Unknown(Reason("program", f"the interpolation `${{{body}}}`"))
        name, colon, arguments = body.partition(":")
        if colon and name.strip() == "oc.select":
            key, comma, default = arguments.partition(",")
            target = absolute(key.strip(), path)
            value, found = self._look_up(target)
            selected = self.value(value, target) if found and value != MISSING else None
            if selected is not None or not comma:
                return selected
            default = default.strip()
            if "${" in default:
                return self._string(default, path)
            try:
                return ValueParser(tokens(default)).element() if default else ""
            except GrammarError as problem:
                raise ResolutionError(f"omegaconf.errors.GrammarParseError: {problem}") from None
        if colon and name.strip() == "oc.env":
            variable = arguments.partition(",")[0].strip()
            return Unknown(Reason("environment", f"the variable `{variable}`", f"pass --env {variable}=VALUE", name=variable))
        if colon:
            return Unknown(Reason("program", f"the resolver `{name.strip()}`"))
        target = absolute(body, path)
        value, found = self._look_up(target)
        if not found:
            raise ResolutionError(f"omegaconf.errors.InterpolationKeyError: Interpolation key '{body}' not found")
        if value == MISSING:
            raise ResolutionError(f"omegaconf.errors.InterpolationToMissingValueError: Missing mandatory value: {body}")
        return self.value(value, target)


class OfKeys(Resolver):
    """Resolves the references to keys alone, if all of them can be: what another interpolation gives depends on the launch."""

    size: int = 0  # characters and nodes of the resolved values

    def beyond(self, limit: str) -> ConfigValue:
        raise ResolutionError(limit)

    def value(self, value: ConfigValue, path: tuple[Any, ...]) -> ConfigValue:
        found = super().value(value, path) if not isinstance(value, str) or names_keys(value) else value
        self.size += len(found) if isinstance(found, str) else 1
        return found if self.size <= MOST_LENGTH else self.beyond("the size of the values")


def interpolated(values: ConfigMapping) -> ConfigMapping:
    """The values with `${key}` replaced by the value it refers to; unchanged if that cannot be resolved here, or never ends."""
    try:
        found = OfKeys(values).value(values, ())
        return found if isinstance(found, dict) else values
    except (ResolutionError, RecursionError):
        return values


def refers(values: object) -> bool:
    if isinstance(values, (dict, list)):
        return any(map(refers, values.values() if isinstance(values, dict) else values))
    return isinstance(values, str) and "${" in values and names_keys(values)


def names_keys(text: str) -> bool:
    """Whether every interpolation of a string is a plain key; any other may contain a resolver."""
    return "${" not in KEY.sub("", text)


def absolute(key: str, path: tuple[Any, ...]) -> tuple[Any, ...]:
    """The path that a reference in the value at a path means: relative to its mapping with one leading dot, one level up for each more."""
    match = RELATIVE.match(key)
    dots = match.end() if match is not None else 0
    steps = tuple(STEPS.findall(key[dots:]))
    if not dots:
        return steps
    base = path[: max(0, len(path) - dots)]
    return (*base, *steps)
