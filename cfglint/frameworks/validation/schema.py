"""The JSON Schema of a kind as a table: the keys with their types and releases, and the violations in a file.

`check` gives the answers that a JSON Schema validator gives for the keywords that cfglint's schemas use, a few
hundred times faster; the tests compare the two. cfglint's own keywords (`x-...`) are described in
`editors/schemas.md`.
"""

from __future__ import annotations

import os

from cfglint.frameworks.releases.versions import parse_version
from cfglint.source.annotations import Any, ConfigMapping, ConfigValue, Operand
from cfglint.source.record import Record
from cfglint.source.similar_keys import Candidate, near, plain, spelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.source.similar_keys import Names

Raw = dict[str, Any]
Path = tuple[str | int, ...]
Types = frozenset[type]

PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDERS = (os.path.join(PACKAGE, "schemas"), os.path.join(os.path.dirname(PACKAGE), "schemas"))  # in a wheel, in a checkout

REJECT = "reject"
IGNORE = "ignore"
PASS_THROUGH = "pass-through"

UNKNOWN_KEYS = "config"  # the stage at which a section without other checks refuses unknown keys

KEPT = 10_000  # cached suggestions for keys

NULL = type(None)
PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "null": (NULL,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "string": (str,),
    "array": (list,),
    "object": (dict,),
}
JSON_NAMES = {NULL: "null", bool: "a boolean", int: "an integer", float: "a number", str: "a string", list: "a list", dict: "a mapping"}
EVERY_TYPE: Types = frozenset(JSON_NAMES)
NUMERIC = frozenset((int, float))
SUSPECTS: dict[str, Types] = {  # the types to which a keyword applies
    "enum": EVERY_TYPE,
    "const": EVERY_TYPE,
    "not": EVERY_TYPE,
    "minimum": NUMERIC,
    "maximum": NUMERIC,
    "exclusiveMinimum": NUMERIC,
    "exclusiveMaximum": NUMERIC,
    "pattern": frozenset((str,)),
    "items": frozenset((list,)),
    "minItems": frozenset((list,)),
    "properties": frozenset((dict,)),
    "additionalProperties": frozenset((dict,)),
}
BOUNDS = (
    ("minimum", "below the minimum"),
    ("exclusiveMinimum", "not above"),
    ("maximum", "above the maximum"),
    ("exclusiveMaximum", "not below"),
)

_loaded: dict[str, Schema] = {}


def kinds() -> list[str]:
    """The kinds that have a schema, in alphabetical order."""
    names = [name for folder in FOLDERS if os.path.isdir(folder) for name in os.listdir(folder)]
    return sorted({name[:-5] for name in names if name.endswith(".json")})


def file_of(kind: str, form: str = "") -> str:
    """The path of a kind's schema, in another form if one is named; raises FileNotFoundError if there is none."""
    for folder in FOLDERS:
        path = os.path.join(folder, form, kind + ".json")
        if os.path.exists(path):
            return path
    raise FileNotFoundError(f"no schema for {kind!r}; there are: {', '.join(kinds())}")


def load(kind: str) -> Schema:
    """The schema of a kind, loaded once per process; raises FileNotFoundError if there is none."""
    if kind not in _loaded:
        import json

        with open(file_of(kind), encoding="utf-8") as file:
            _loaded[kind] = Schema(kind, json.load(file))
    return _loaded[kind]


class Property(Record):
    """The facts about one key in a schema. `path` is the key's path, without indices of lists.

    `checked_at` is the stage at which the framework refuses every value that this schema refuses; None
    if it accepts some of them: then a violation is probably a mistake, but no refusal.
    """

    schema: Schema
    path: tuple[str, ...]
    raw: Raw
    checked_at: str | None

    @property
    def name(self) -> str:
        return ".".join(self.path)

    @property
    def types(self) -> frozenset[str]:
        """The JSON type names that the key accepts; `number` includes `integer`. Empty: not restricted."""
        return self.schema.type_names(self.raw)

    @property
    def enum(self) -> tuple[Any, ...] | None:
        """The allowed values if there is a closed list, else None."""
        return self.schema.closed_list(self.raw)

    def enum_at(self, version: tuple[int, ...]) -> tuple[Any, ...] | None:
        """The allowed values in a release, by their histories; None for an open list."""
        since: dict[str, str] = self.raw.get("x-enum-since", {})
        removed: dict[str, str] = self.raw.get("x-enum-removed", {})
        if self.enum is None:
            return None
        known = [value for value in self.enum if not isinstance(value, str) or parse_version(since.get(value, "0")) <= version]
        return (*known, *(value for value, release in removed.items() if version < parse_version(release)))

    @property
    def default(self) -> Operand:
        """The default of the framework in the newest known version; None also if it has none (see `has_default`)."""
        return self.raw.get("default")

    @property
    def has_default(self) -> bool:
        return "default" in self.raw

    def default_at(self, version: tuple[int, ...]) -> ConfigValue:
        """The default in a release, by the history of the key."""
        current = self.raw.get("default")
        for entry in self.raw.get("x-default-history", ()):
            if parse_version(entry["since"]) <= version:
                current = entry["default"]
        return current

    @property
    def since(self) -> str | None:
        """The first release with the key; None if it is older than the oldest modelled release."""
        return self.raw.get("x-since")

    @property
    def removed(self) -> str | None:
        return self.raw.get("x-removed")

    @property
    def renamed_to(self) -> tuple[str, ...] | None:
        """The path of the key that replaced this one and, with `renamed_value`, took its value."""
        path = self.raw.get("x-renamed-to")
        return tuple(path.split(".")) if path else None

    def renamed_value(self, value: object) -> Operand:
        """The value under `renamed_to`; None if the key must be removed instead."""
        values = self.raw.get("x-renamed-values")
        if values is None:
            return value
        return values.get(str(value).lower())

    @property
    def deprecated(self) -> bool:
        """Whether the newest known version warns about the key or has removed it."""
        return bool(self.raw.get("deprecated"))

    @property
    def alias_of(self) -> str | None:
        """The usual spelling, if this is an alternative spelling of the same key."""
        return self.raw.get("x-alias-of")

    @property
    def policy(self) -> str | None:
        """The treatment of unknown keys in a section; None for other keys."""
        return self.raw.get("x-section-policy")

    @property
    def description(self) -> str:
        return str(self.raw.get("description", ""))

    def known_to(self, version: tuple[int, ...]) -> bool:
        """Whether a release has the key."""
        too_old = self.since is not None and version < parse_version(self.since)
        return not too_old and (self.removed is None or version < parse_version(self.removed))

    def __repr__(self) -> str:
        return f"Property({self.name})"


class Violation(Record):
    """A value that its schema does not allow.

    `keyword` is the one that fails (`type`, `enum`, `minimum`, `additionalProperties`, ...). `checked_at`
    is the stage at which the framework refuses it, None if the framework may accept it.
    """

    path: Path
    keyword: str
    message: str
    checked_at: str | None

    def __repr__(self) -> str:
        return f"Violation({'.'.join(map(str, self.path))}: {self.keyword}, {self.message!r}, {self.checked_at})"


class Schema:
    """The schema of a kind. Paths are tuples of keys; list indices in them are skipped."""

    __slots__ = ("_homes", "_levels", "_names", "_nearest", "_others", "_quick", "exact_types", "kind", "raw")

    def __init__(self, kind: str, raw: Raw) -> None:
        self.kind = kind
        self.raw = raw
        self.exact_types: bool = raw.get("x-exact-types", False)
        self._quick: dict[int, dict[str, frozenset[ConfigValue]]] = {}
        self._levels: dict[tuple[str, ...], tuple[Raw, str | None] | None] = {(): (raw, raw.get("x-checked-at"))}
        self._homes: dict[str, list[tuple[str, ...]]] | None = None
        self._nearest: dict[tuple[tuple[str, ...], str], list[Candidate]] = {}
        self._names: dict[tuple[str, ...], Names] = {}
        self._others: Names = []

    # Looking up keys

    def keys(self, path: Path = ()) -> list[str]:
        """The keys of a section, without removed keys and other spellings; empty if there is no such section."""
        return [name for name, raw in self._properties(path).items() if "x-removed" not in raw and "x-alias-of" not in raw]

    def keys_at(self, version: tuple[int, ...], path: tuple[str, ...] = ()) -> list[str]:
        """The keys of a section in a release, including those that a later release removed."""
        entries = {name: self.lookup((*path, name)) for name, raw in self._properties(path).items() if "x-alias-of" not in raw}
        return [name for name, entry in entries.items() if entry is not None and entry.known_to(version)]

    def lookup(self, path: Path | str) -> Property | None:
        """The facts about a key, given as a path or as `zero_optimization.stage`; None for an unknown key."""
        steps = tuple(path.split(".")) if isinstance(path, str) else tuple(step for step in path if isinstance(step, str))
        found = self._find(steps)
        return Property(self, steps, found[0], found[1]) if found is not None and steps else None

    def policy(self, path: Path = ()) -> str:
        """The framework's treatment of unknown keys in a section: reject, ignore or pass-through."""
        found = self._find(tuple(step for step in path if isinstance(step, str)))
        return str(found[0].get("x-section-policy", PASS_THROUGH)) if found is not None else PASS_THROUGH

    def homes(self, key: str) -> list[tuple[str, ...]]:
        """Every path with a key of this name, the shortest first."""
        if self._homes is None:
            self._homes = {}
            sections: list[tuple[str, ...]] = [()]
            for section in sections:
                for name in self.keys(section):
                    path = (*section, name)
                    self._homes.setdefault(name, []).append(path)
                    if self._properties(path):
                        sections.append(path)
        return self._homes.get(key, [])

    def nearest(self, path: Path, key: str, count: int = 3) -> list[Candidate]:
        """Suggestions for an unknown key of a section, the most likely first.

        First similar names in the section itself, then the same name in other sections, then similar names there.
        The same typo is often in many files of a repository, so answers are cached.
        """
        section = tuple(step for step in path if isinstance(step, str))
        candidates = self._nearest.get((section, key))
        if candidates is None:
            if len(self._nearest) >= KEPT:
                self._nearest.clear()
            candidates = self._nearest[section, key] = self._search(section, key)
        return candidates[:count]

    def _search(self, section: tuple[str, ...], key: str) -> list[Candidate]:
        if section not in self._names and self.keys(section):
            self._names[section] = [((*section, name), spelled(name)) for name in self.keys(section)]
        candidates = near(key, self._names.get(section, []))
        candidates += [Candidate(home, 0) for home in self.homes(key) or self.homes(plain(key)) if home[:-1] != section]
        return candidates or [candidate for candidate in near(key, self._everywhere()) if candidate.path[:-1] != section]

    def _everywhere(self) -> Names:
        """The first path of every key."""
        if not self._others:
            self.homes("")
            self._others = [(homes[0], spelled(name)) for name, homes in (self._homes or {}).items()]
        return self._others

    def _properties(self, path: Path) -> dict[str, Raw]:
        found = self._find(tuple(step for step in path if isinstance(step, str)))
        properties: dict[str, Raw] = found[0].get("properties", {}) if found is not None else {}
        return properties

    def _find(self, path: tuple[str, ...]) -> tuple[Raw, str | None] | None:
        """The schema at a path, and the stage at which it is checked."""
        if path not in self._levels:
            above = self._find(path[:-1])
            raw = above[0].get("properties", {}).get(path[-1]) if above is not None else None
            if raw is not None and "$ref" in raw and ("x-alias-of" in raw or "properties" in self._target(raw["$ref"])):
                raw = {**self._target(raw["$ref"]), **raw}
            self._levels[path] = (raw, raw.get("x-checked-at", handed_down(*above))) if raw is not None and above is not None else None
        return self._levels[path]

    def _target(self, reference: str) -> Raw:
        node: Any = self.raw
        for step in reference[2:].split("/"):
            node = node[step]
        target: Raw = node
        return target

    def type_names(self, raw: Raw) -> frozenset[str]:
        """The JSON types that a schema can accept, through `$ref` and `anyOf`; empty when unrestricted."""
        names: set[str] = set()
        if "$ref" in raw:
            names |= self.type_names(self._target(raw["$ref"]))
        for branch in raw.get("anyOf", ()):
            names |= self.type_names(branch)
        given = raw.get("type", ())
        names.update((given,) if isinstance(given, str) else given)
        for value in raw.get("enum", [raw["const"]] if "const" in raw else ()):
            names.add(next(name for name in PYTHON_TYPES if type(value) in PYTHON_TYPES[name]))
        return frozenset(names | {"integer"} if "number" in names else names)

    def closed_list(self, raw: Raw) -> tuple[Any, ...] | None:
        """The values of `enum`, also where `anyOf` adds other spellings of them."""
        if "enum" in raw:
            return tuple(raw["enum"])
        return next((tuple(branch["enum"]) for branch in raw.get("anyOf", ()) if "enum" in branch), None)

    # Checking values

    def check(self, values: object, path: Path = ()) -> list[Violation]:
        """The violations in a mapping, or in the section at `path`; empty if there are none."""
        violations: list[Violation] = []
        level = self._find(tuple(step for step in path if isinstance(step, str)))
        if level is not None:
            self._violations(level[0], values, path, level[1], violations)
        return violations

    def _violations(self, raw: Raw, value: Operand, path: Path, stage: str | None, found: list[Violation]) -> None:
        stage = raw.get("x-checked-at", stage)
        if "$ref" in raw:
            self._violations(self._target(raw["$ref"]), value, path, stage, found)
        if "anyOf" in raw and not any(self._allows(branch, value) for branch in raw["anyOf"]):
            found.append(Violation(path, "anyOf", self._not_allowed(raw, value), stage))
        if "type" in raw and not self._is_type(raw["type"], value):
            found.append(Violation(path, "type", self._not_allowed(raw, value), stage))
        if "enum" in raw and not any(equal(value, allowed) for allowed in raw["enum"]):
            taken = raw.get("x-enum-case") == "unchecked" and differs_in_case(value, raw["enum"])
            found.append(Violation(path, "enum", self._not_allowed(raw, value), None if taken else stage))
        if "const" in raw and not equal(value, raw["const"]):
            found.append(Violation(path, "const", f"{shown(value)} is not {shown(raw['const'])}", stage))
        if "not" in raw and self._allows(raw["not"], value):
            found.append(Violation(path, "not", "the key is refused with any value", stage))
        kind = type(value)
        if kind is int or kind is float:
            found += [Violation(path, *broken, stage) for broken in out_of_bounds(raw, value)]
        elif kind is str:
            if "pattern" in raw and not matches(raw["pattern"], value):
                found.append(Violation(path, "pattern", self._not_allowed(raw, value), stage))
        elif kind is list:
            if len(value) < raw.get("minItems", 0):
                found.append(Violation(path, "minItems", f"a list of at least {raw['minItems']} is required", stage))
            if "items" in raw:
                for index, item in enumerate(value):
                    self._violations(raw["items"], item, (*path, index), stage, found)
        elif kind is dict:
            self._section(raw, value, path, stage, found)

    def _section(self, raw: Raw, values: ConfigMapping, path: Path, stage: str | None, found: list[Violation]) -> None:
        others = raw.get("additionalProperties")
        properties = raw.get("properties")
        if properties is None and not isinstance(others, dict):
            return
        properties = properties or {}
        stage = handed_down(raw, stage)
        quick = self._quick.get(id(raw))
        if quick is None:
            quick = self._quick[id(raw)] = {}
        for key, value in values.items():
            safe = quick.get(key)
            if safe is None:
                if key not in properties:
                    if isinstance(others, dict):
                        self._violations(others, value, (*path, key), stage, found)
                    elif others is False and not allowed_by_pattern(raw, key):
                        found.append(Violation((*path, key), "additionalProperties", "unknown key", stage or UNKNOWN_KEYS))
                    continue
                safe = quick[key] = self._safe(properties[key])
            kind = type(value)
            if kind not in safe and (kind is not str or value not in safe):
                self._violations(properties[key], value, (*path, key), stage, found)

    def _safe(self, raw: Raw) -> frozenset[Operand]:
        """The types of which every value is allowed, and the allowed strings, so that one look-up is enough."""
        texts = [value for value in raw.get("enum", ()) if isinstance(value, str)] if "pattern" not in raw and "not" not in raw else []
        return self._safe_types(raw) | frozenset(texts)

    def _safe_types(self, raw: Raw) -> Types:
        types = EVERY_TYPE
        if "type" in raw:
            names = (raw["type"],) if isinstance(raw["type"], str) else raw["type"]
            types = frozenset(python for name in names for python in PYTHON_TYPES[name])
        if "$ref" in raw:
            types &= self._safe_types(self._target(raw["$ref"]))
        if "anyOf" in raw:
            types &= frozenset().union(*(self._safe_types(branch) for branch in raw["anyOf"]))
        for keyword in raw:
            types -= SUSPECTS.get(keyword, frozenset())
        return types

    def _allows(self, raw: Raw, value: object) -> bool:
        violations: list[Violation] = []
        self._violations(raw, value, (), None, violations)
        return not violations

    def _is_type(self, names: str | list[str], value: Operand) -> bool:
        kind = type(value)
        names = [names] if isinstance(names, str) else names
        if any(kind in PYTHON_TYPES[name] for name in names):
            return True
        return kind is float and "integer" in names and not self.exact_types and value.is_integer()

    def _not_allowed(self, raw: Raw, value: object) -> str:
        """The message: the value, and what the key accepts."""
        allowed = self.closed_list(raw)
        if allowed is not None:
            return f"{shown(value)} is not one of {', '.join(shown(one) for one in allowed)}"
        names = self.type_names(raw)
        wanted = [name for name in PYTHON_TYPES if name in names and not (name == "integer" and "number" in names)]
        return f"{shown(value)} is {JSON_NAMES.get(type(value), type(value).__name__)}, not {' or '.join(wanted) or 'allowed'}"


def handed_down(raw: Raw, stage: str | None) -> str | None:
    """The stage at which the keys of a section are checked; a section that accepts unknown keys does not check known ones."""
    return stage if raw.get("x-section-policy") == REJECT else None


def out_of_bounds(raw: Raw, value: float) -> list[tuple[str, str]]:
    """(keyword, message) of each bound of a schema that a number violates."""
    broken = []
    for keyword, words in BOUNDS:
        bound = raw.get(keyword)
        if bound is None:
            continue
        if (
            (keyword == "minimum" and value < bound)
            or (keyword == "maximum" and value > bound)
            or (keyword == "exclusiveMinimum" and value <= bound)
            or (keyword == "exclusiveMaximum" and value >= bound)
        ):
            broken.append((keyword, f"{shown(value)} is {words} {bound}"))
    return broken


def allowed_by_pattern(raw: Raw, key: object) -> bool:
    """Whether a key without a property of its own matches one of `patternProperties`."""
    return any(matches(pattern, str(key)) for pattern in raw.get("patternProperties", ()))


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern occurs in a string; `$` is the very end, as in JSON Schema's dialect."""
    import re

    return re.search(pattern.replace("$", r"\Z") if pattern.endswith("$") else pattern, text) is not None


def equal(one: object, other: object) -> bool:
    """Equality of JSON values: `true` is not 1, and 2.0 is 2."""
    return (type(one) is bool) == (type(other) is bool) and one == other


def differs_in_case(value: object, allowed: list[ConfigValue]) -> bool:
    """Whether a string differs from an allowed one only in case."""
    return isinstance(value, str) and value.lower() in {one.lower() for one in allowed if isinstance(one, str)}


def shown(value: object) -> str:
    """A value as JSON spells it, shortened."""
    if isinstance(value, str):
        return f'"{value if len(value) <= 40 else value[:37] + "..."}"'
    if value is None or isinstance(value, bool):
        return str(value).replace("None", "null").lower()
    if isinstance(value, dict):
        return "{...}" if value else "{}"
    if isinstance(value, list):
        return "[...]" if value else "[]"
    return str(value)
