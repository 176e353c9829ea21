"""Unknown names in the values of options: misspelt packages, keys and codes are usage errors."""

from __future__ import annotations

from cfglint.frameworks import kinds, known_packages
from cfglint.frameworks.validation import schema
from cfglint.launch.overrides import Override
from cfglint.source.similar_keys import closest

DEEPEST = 10  # maximum depth of a key that is looked up; no framework nests deeper


def unknown_package(name: str) -> str | None:
    known = known_packages()
    if name in known:
        return None
    near = closest(name, known)
    return f"unknown package `{name}`" + (f"; did you mean `{near}`?" if near else f"; known are {', '.join(sorted(known))}")


def misspelt_key(override: Override) -> str | None:
    """The known key that a misspelt key of `--set` or `--args` resembles; None for a known key, or one that resembles none."""
    path = tuple(override.key.replace("-", "_").split("."))
    if len(path) > DEEPEST:
        return None
    names: set[str] = set()
    for kind in kinds():
        try:
            table = schema.load(kind)
        except OSError:
            continue
        if table.lookup(path) is not None or table.lookup(path[-1:]) is not None:
            return None
        top: list[str] = table.keys()
        names.update(name.replace("-", "_") for name in top)
    return closest(path[0], names) if len(path) == 1 else None
