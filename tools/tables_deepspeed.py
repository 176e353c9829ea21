"""The text of `cfglint/frameworks/deepspeed/_tables.py` from DeepSpeed's schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schema_source import release

if TYPE_CHECKING:
    from collections.abc import Iterator

Raw = dict[str, Any]
KeyPath = tuple[str, ...]

HEAD = """Generated from schemas/deepspeed.json by tools/rebuild_schema.py; do not edit.

Releases are tuples of numbers: `since` is the first release that has something, () if it is older than all modelled ones; `until`
the first without it, () if there is none. How a value is read: see `models.py`.
"""


def tables(schema: Raw) -> str:
    """The text of `cfglint/frameworks/deepspeed/_tables.py`."""
    sections = dict(_sections((), schema))
    strict = {path: raw for path, raw in sections.items() if "x-model" in raw and "x-renamed-to" not in raw}
    fields = {".".join(path): _rows(raw["properties"]) for path, raw in strict.items()}
    models = {
        ".".join(path): (raw["x-model"], release(raw.get("x-since") or sections[path[:-1]].get("x-since", "")), "null" in raw["type"])
        for path, raw in strict.items()
    }
    for path, raw in strict.items():
        if "x-parent-model" in raw:
            models[raw["x-parent-model"]] = (raw["x-parent-model"], (), False)
            fields.setdefault(raw["x-parent-model"], {}).update(_rows({path[-1]: raw}))
    parts = [
        "# section: (its model's class, since, whether it may be null); the last holds sections of the top level.\n"
        f"MODELS: dict[str, tuple[str, Version, bool]] = {_display(models)}\n",
        "# section: field: (how its value is read, default in the newest release that has it, the name that files use, since, until).\n"
        "FIELDS: dict[str, dict[str, Row]] = {\n"
        + "".join(f"    {name!r}: {_display(rows, 4)},\n" for name, rows in fields.items())
        + "}\n",
        "# (section, field): ((since, default), ...), of fields and of keys of the top level (section '') whose default has changed.\n"
        f"DEFAULT_HISTORY: dict[tuple[str, str], History] = {_display(_histories({(): schema, **strict}, 'default'))}\n",
        "# (section, field): ((since, how the value is read), ...), of fields for which that has changed.\n"
        f"READS_HISTORY: dict[tuple[str, str], History] = {_display(_histories(strict, 'x-reads'))}\n",
        "# section: the keys that are looked up one by one, the removed ones of the top level included; all others there are ignored.\n"
        f"KEYS: dict[tuple[str, ...], str] = {_display(_looked_up(sections))}\n",
        "# path of a key that is looked up: the first release that has it, where not every modelled one does.\n"
        f"SINCE: dict[tuple[str, ...], Version] = {_display(_since(sections))}\n",
        "# path of a key that is looked up: the values that DeepSpeed allows, null aside.\n"
        f"CHOICES: dict[tuple[str, ...], tuple[str, ...]] = {_display(_choices(sections))}\n",
        "# path: (the first release that refuses the key, the exception).\n"
        f"REMOVED: dict[tuple[str, ...], tuple[Version, str]] = {_display(_removed(sections))}\n",
        "# Deprecated fields, which must not be set together with the field that replaces them, by section.\n"
        f"REPLACED: dict[str, dict[str, str]] = {_display(_replaced(strict))}\n",
    ]
    return f'"""{HEAD}"""\n{PREAMBLE}' + "\n".join(parts)


PREAMBLE = """
# ruff: noqa
# fmt: off

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cfglint.frameworks.versions import Version

    Row = tuple[Any, Any, str, Version, Version]
    History = tuple[tuple[Version, Any], ...]

"""


def _sections(path: KeyPath, raw: Raw) -> Iterator[tuple[KeyPath, Raw]]:
    """Every section with its path, the outer one first."""
    yield path, raw
    for name, inner in raw["properties"].items():
        if "properties" in inner:
            yield from _sections((*path, name), inner)


def _rows(properties: dict[str, Raw]) -> dict[str, tuple[Any, ...]]:
    """The fields of a model by their Python names."""
    rows: dict[str, tuple[Any, ...]] = {}
    for key, raw in properties.items():
        if "x-alias-of" in raw:
            continue
        name, alias = (raw["x-aliases"][0], key) if "x-aliases" in raw else (key, "")
        reads = _tupled(raw["x-reads"])
        default = {} if reads[0] == "model" else raw.get("default")
        rows[name] = (reads, _tupled(default), alias, release(raw.get("x-since", "")), release(raw.get("x-removed", "")))
    return rows


def _histories(strict: dict[KeyPath, Raw], keyword: str) -> dict[tuple[str, str], Any]:
    """The histories of a keyword: (section, field) -> ((since, value), ...)."""
    return {
        (".".join(path), raw.get("x-aliases", [key])[0]): tuple(
            (() if entry["since"] == "0" else release(entry["since"]), _tupled(entry[keyword.removeprefix("x-")]))
            for entry in raw[_history_of(keyword)]
        )
        for path, section in strict.items()
        for key, raw in section["properties"].items()
        if _history_of(keyword) in raw and "x-alias-of" not in raw
    }


def _history_of(keyword: str) -> str:
    return f"x-{keyword.removeprefix('x-')}-history"


def _looked_up(sections: dict[KeyPath, Raw]) -> dict[KeyPath, str]:
    """The known keys of the sections that ignore all others."""
    found = {path: raw["properties"] for path, raw in sections.items() if raw["x-section-policy"] == "ignore"}
    return {path: " ".join(name for name, raw in keys.items() if not path or "x-removed" not in raw) for path, keys in found.items()}


def _since(sections: dict[KeyPath, Raw]) -> dict[KeyPath, tuple[int, ...]]:
    return {
        (*path, key): release(raw["x-since"])
        for path, section in sections.items()
        for key, raw in section["properties"].items()
        if "x-since" in raw and "x-model" not in section
    }


def _choices(sections: dict[KeyPath, Raw]) -> dict[KeyPath, tuple[str, ...]]:
    """The allowed strings of each key that is looked up, where the notes list them."""
    found = {}
    for path, section in sections.items():
        for key, raw in section["properties"].items():
            values = [value for part in (raw, *raw.get("anyOf", ())) for value in part.get("enum", ()) if isinstance(value, str)]
            if values and "x-model" not in section:
                found[(*path, key)] = tuple(values)
    return found


def _removed(sections: dict[KeyPath, Raw]) -> dict[KeyPath, Any]:
    return {
        (*path, key): (release(raw["x-removed"]), raw["x-raises"])
        for path, section in sections.items()
        for key, raw in section["properties"].items()
        if "x-raises" in raw
    }


def _replaced(strict: dict[KeyPath, Raw]) -> dict[str, dict[str, str]]:
    """Deprecated field -> the field whose value it becomes, by Python names."""
    found: dict[str, dict[str, str]] = {}
    for path, section in strict.items():
        for key, raw in section["properties"].items():
            heir = tuple(raw.get("x-renamed-to", raw.get("x-replaced-by", "")).split("."))
            if "x-removed" not in raw and heir[:-1] == path:
                aliases = section["properties"][heir[-1]].get("x-aliases", [heir[-1]])
                found.setdefault(".".join(path), {})[key] = aliases[0]
    return found


def _tupled(value: Any) -> Any:
    """Nested lists as tuples, the bounds of a value as pairs: constants, which take no time to build."""
    if isinstance(value, dict):
        return tuple(value.items()) or {}
    return tuple(_tupled(part) for part in value) if isinstance(value, list) else value


def _display(entries: dict[Any, Any], margin: int = 0) -> str:
    """A dict display with an entry a line."""
    pad = " " * margin
    return "{\n" + "".join(f"{pad}    {key!r}: {value!r},\n" for key, value in entries.items()) + pad + "}"
