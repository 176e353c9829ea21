"""The JSON Schema of a kind as a table of keys with their types and releases.

cfglint's own keywords (`x-...`) are described in `editors/schemas.md`.
"""

from __future__ import annotations

import os

from cfglint.frameworks.releases.versions import parse_version
from cfglint.source import cached
from cfglint.source.annotations import Any, ConfigValue, Operand
from cfglint.source.similar_keys import Candidate, Names, near, plain, spelled

Raw = dict[str, Any]
Path = tuple[str | int, ...]

PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDERS = (os.path.join(PACKAGE, "schemas"), os.path.join(os.path.dirname(PACKAGE), "schemas"))  # in a wheel, in a checkout
KEPT = 10_000  # cached suggestions for keys
PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "null": (type(None),),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "string": (str,),
    "array": (list,),
    "object": (dict,),
}


def kinds() -> list[str]:
    names = [name for folder in FOLDERS if os.path.isdir(folder) for name in os.listdir(folder)]
    return sorted({name[:-5] for name in names if name.endswith(".json")})


def file_of(kind: str, form: str = "") -> str:
    """The path of a kind's schema, in another form if one is named; raises FileNotFoundError if there is none."""
    for folder in FOLDERS:
        path = os.path.join(folder, form, kind + ".json")
        if os.path.exists(path):
            return path
    raise FileNotFoundError(f"no schema for {kind!r}; there are: {', '.join(kinds())}")


@cached
def load(kind: str) -> Schema:
    """The schema of a kind, loaded once per process; raises FileNotFoundError if there is none."""
    import json

    with open(file_of(kind), encoding="utf-8") as file:
        return Schema(kind, json.load(file))


class Property:
    """The facts about one key in a schema. `path` is the key's path, without indices of lists, `name` the dotted key.

    `default` is that of the newest known release, None also if it has none. `since` is the first release with the key, None if it is older
    than the oldest modelled one, `removed` the first without it; `deprecated`: the newest known one warns about it or has removed
    it. `alias_of` is the usual spelling of the same key, `renamed_to` the path of the key that, with `renamed_value`, replaced it.
    """

    def __init__(self, schema: Schema, path: tuple[str, ...], raw: Raw) -> None:
        self.schema = schema
        self.path = path
        self.raw = raw
        self.name = ".".join(path)
        self.default: ConfigValue = raw.get("default")
        self.has_default = "default" in raw
        self.since: str | None = raw.get("x-since")
        self.removed: str | None = raw.get("x-removed")
        self.deprecated = bool(raw.get("deprecated"))
        self.alias_of: str | None = raw.get("x-alias-of")
        self.renamed_to: tuple[str, ...] | None = tuple(raw["x-renamed-to"].split(".")) if raw.get("x-renamed-to") else None
        self.description = str(raw.get("description", ""))

    @property
    def types(self) -> frozenset[str]:
        """The JSON type names that the key accepts; `number` includes `integer`. Empty: not restricted."""
        return self.schema.type_names(self.raw)

    @property
    def enum(self) -> tuple[Any, ...] | None:
        """The allowed values if there is a closed list, also where `anyOf` adds other spellings of them, else None."""
        return next((tuple(branch["enum"]) for branch in (self.raw, *self.raw.get("anyOf", ())) if "enum" in branch), None)

    def enum_at(self, version: tuple[int, ...]) -> tuple[Any, ...] | None:
        since: dict[str, str] = self.raw.get("x-enum-since", {})
        removed: dict[str, str] = self.raw.get("x-enum-removed", {})
        if self.enum is None:
            return None
        known = [value for value in self.enum if not isinstance(value, str) or parse_version(since.get(value, "0")) <= version]
        return (*known, *(value for value, release in removed.items() if version < parse_version(release)))

    def default_at(self, version: tuple[int, ...]) -> ConfigValue:
        """The default in a release, by the history of the key."""
        current = self.default
        for entry in self.raw.get("x-default-history", ()):
            if parse_version(entry["since"]) <= version:
                current = entry["default"]
        return current

    def renamed_value(self, value: object) -> Operand:
        """The value under `renamed_to`; None if the key must be removed instead."""
        values = self.raw.get("x-renamed-values")
        return value if values is None else values.get(str(value).lower())

    def known_to(self, version: tuple[int, ...]) -> bool:
        too_old = self.since is not None and version < parse_version(self.since)
        return not too_old and (self.removed is None or version < parse_version(self.removed))


class Schema:
    """The schema of a kind. Paths are tuples of keys; list indices in them are skipped."""

    def __init__(self, kind: str, raw: Raw) -> None:
        self.kind = kind
        self.raw = raw
        self._levels: dict[tuple[str, ...], Raw | None] = {(): raw}
        self._homes: dict[str, list[tuple[str, ...]]] = {}
        self._nearest: dict[tuple[tuple[str, ...], str], list[Candidate]] = {}
        self._names: dict[tuple[str, ...], Names] = {}
        self._others: Names = []

    def keys(self, path: Path = ()) -> list[str]:
        """The keys of a section, without removed keys and other spellings; empty if there is no such section."""
        return [name for name, raw in self._properties(path).items() if "x-removed" not in raw and "x-alias-of" not in raw]

    def keys_at(self, version: tuple[int, ...], path: tuple[str, ...] = ()) -> list[str]:
        """The keys of a section in a release, including those that a later release removed."""
        entries = {name: self.lookup((*path, name)) for name, raw in self._properties(path).items() if "x-alias-of" not in raw}
        return [name for name, entry in entries.items() if entry is not None and entry.known_to(version)]

    def lookup(self, path: Path | str) -> Property | None:
        """The facts about a key, given as a path or as `zero_optimization.stage`; None for an unknown key."""
        steps = tuple(path.split(".")) if isinstance(path, str) else without_indices(path)
        raw = self._find(steps)
        return Property(self, steps, raw) if raw is not None and steps else None

    def homes(self, key: str) -> list[tuple[str, ...]]:
        """Every path with a key of this name, the shortest first."""
        if not self._homes:
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
        section = without_indices(path)
        candidates = self._nearest.get((section, key))
        if candidates is None:
            if section not in self._names and self.keys(section):
                self._names[section] = [((*section, name), spelled(name)) for name in self.keys(section)]
            candidates = near(key, self._names.get(section, []))
            candidates += [Candidate(home, 0) for home in self.homes(key) or self.homes(plain(key)) if home[:-1] != section]
            if not candidates:
                self._others = self._others or [(homes[0], spelled(name)) for name, homes in self._homes.items()]
                candidates = [candidate for candidate in near(key, self._others) if candidate.path[:-1] != section]
            if len(self._nearest) >= KEPT:
                self._nearest.clear()
            self._nearest[section, key] = candidates
        return candidates[:count]

    def _properties(self, path: Path) -> dict[str, Raw]:
        properties: dict[str, Raw] = (self._find(without_indices(path)) or {}).get("properties", {})
        return properties

    def _find(self, path: tuple[str, ...]) -> Raw | None:
        if path not in self._levels:
            raw = (self._find(path[:-1]) or {}).get("properties", {}).get(path[-1])
            if raw is not None and "$ref" in raw and ("x-alias-of" in raw or "properties" in self._target(raw["$ref"])):
                raw = {**self._target(raw["$ref"]), **raw}
            self._levels[path] = raw
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
        types = raw.get("type", ())
        names.update((types,) if isinstance(types, str) else types)
        for value in raw.get("enum", [raw["const"]] if "const" in raw else ()):
            names.add(next(name for name in PYTHON_TYPES if type(value) in PYTHON_TYPES[name]))
        return frozenset(names | {"integer"} if "number" in names else names)


def without_indices(path: Path) -> tuple[str, ...]:
    return tuple(step for step in path if isinstance(step, str))


def equal(one: object, other: object) -> bool:
    """Equality of JSON values: `true` is not 1, and 2.0 is 2."""
    return (type(one) is bool) == (type(other) is bool) and one == other


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
