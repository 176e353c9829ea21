"""The configuration files that a program loads itself: YAML, JSON and TOML, OmegaConf's containers."""

from __future__ import annotations

from cfglint.evaluate import Reason, Unknown
from cfglint.launch.program import DataRecipe
from cfglint.launch.programs import data_sets
from cfglint.launch.programs.calculation import MOST_TURNS
from cfglint.launch.programs.interpreter import Interpreter
from cfglint.launch.programs.objects import (
    OPEN,
    FilePlace,
    Given,
    LoadedFile,
    Mapping,
    OpenFile,
    Sequence,
    Value,
    plain,
    text_of_path,
    unknown,
    wrapped,
)
from cfglint.source.annotations import Any

YAML_LOADS = ("safe_load", "load", "full_load", "unsafe_load", "load_yaml")
REFUSED = Unknown(Reason("file", "a file that is not understood"))
LARGEST = 200_000  # characters of a config
MOST_ENTRIES = 5000
PARSED = {
    **{f"yaml.{name}": "yaml" for name in YAML_LOADS},
    "json.load": "json",
    "json.loads": "json",
    "json5.load": "json",
    "hjson.load": "json",
    "orjson.loads": "json",
    **{f"{package}.{name}": "toml" for package in ("tomllib", "tomli", "toml") for name in ("load", "loads")},
}
OMEGACONF = "omegaconf.OmegaConf."


def external(run: Interpreter, name: str, given: Given) -> Value | None:
    """The result of a function that loads or joins configs; None for other functions."""
    if name in PARSED and given:
        return loaded(run, PARSED[name], given[0])
    if name.startswith(OMEGACONF):
        return omegaconf(run, name.removeprefix(OMEGACONF), given)
    return None


def content(run: Interpreter, path: Value) -> Value:
    file = file_of(run, path)
    if file is None or len(file[1]) > LARGEST:
        text = text_of_path(path)
        if file is not None or (isinstance(text, str) and run.context.has(text)):
            return Value(OpenFile(path))
        return unknown(Reason("file", f"the content of {spelled(path)}"))
    value = Value(file[1])
    value.written = FilePlace(LoadedFile(*file, "yaml"), None)
    return value


def file_of(run: Interpreter, path: Value) -> tuple[str, str] | None:
    text = text_of_path(path)
    return run.context.content(text) if isinstance(text, str) and len(text) < 1000 else None


def spelled(path: Value) -> str:
    text = text_of_path(path)
    return f"`{text}`" if isinstance(text, str) and "\0" not in text and len(text) < 100 else "a file"


def loaded(run: Interpreter, syntax: str, source: Value, omega: bool = False) -> Value:
    """The values of a config that a program loads from an open file, a path or a text."""
    if isinstance(source.data, str):
        text, place = source.data, source.written.file.path if source.written is not None else ""
    else:
        path = source.data.path if isinstance(source.data, OpenFile) else source
        file = file_of(run, path)
        if syntax == "json" and (file is None or len(file[1]) > LARGEST):
            rows = data_file(run, path, file[1] if file is not None else "")
            if rows is not None:
                return rows
        if file is None:
            return unknown(Reason("file", spelled(path), "it is not read"))
        place, text = file
    content = values(place or "config", text, syntax, omega)
    if syntax == "json" and isinstance(content, list) and len(content) > MOST_TURNS and place:
        return data_sets.list_of(DataRecipe(data_sets.LIST, (place,)))
    if isinstance(content, Unknown) or entries(content, 0) > MOST_ENTRIES:
        return unknown(Reason("file", spelled(path), "it is not understood"))
    value = wrapped(content, by_attribute=omega)
    if place and syntax in ("yaml", "json"):
        locate(value, LoadedFile(place, text, "json" if syntax == "json" else "yaml"), ())
    return value


def data_file(run: Interpreter, path: Value, text: str) -> Value | None:
    """The rows of a JSON file that is too large for a config; None if it is not in the project."""
    name, names = text_of_path(path), data_sets.names_of(path)
    is_there = isinstance(name, str) and len(names) == 1 and (bool(text) or run.context.has(name))
    return data_sets.list_of(DataRecipe(data_sets.LIST, names)) if is_there else None


def locate(value: Value, file: LoadedFile, path: tuple[Any, ...]) -> None:
    """Give the values of a loaded config their places in the file."""
    value.written = FilePlace(file, path)
    data = value.data
    inside = data.items.items() if isinstance(data, Mapping) else enumerate(data.items) if isinstance(data, Sequence) else ()
    for key, each in inside:
        locate(each, file, (*path, key))


def entries(content: object, count: int) -> int:
    count += 1
    inside = content.values() if isinstance(content, dict) else content if isinstance(content, (list, tuple)) else ()
    for each in inside:
        if count > MOST_ENTRIES:
            break
        count = entries(each, count)
    return count


def values(path: str, text: str, syntax: str = "yaml", omega: bool = False) -> Any:
    """The values of a content; unknown if its parser refuses it."""
    if len(text) > LARGEST:
        return REFUSED
    if syntax in ("toml", "json"):
        try:
            if syntax == "toml":
                import tomllib  # which only later releases of Python have

                return tomllib.loads(text)
            import json

            return json.loads(text)
        except (ImportError, ValueError, RecursionError):
            return REFUSED
    from cfglint.source.loaders import YAML11
    from cfglint.source.parse import parse

    loader: Any = YAML11
    if omega:
        from cfglint.source.omegaconf import OMEGACONF

        loader = OMEGACONF
    result = loader.read(parse(path, text, "yaml"))
    return REFUSED if result.problems else result.value


def omegaconf(run: Interpreter, name: str, given: Given) -> Value:
    first = given[0] if given else None
    if name == "load" and first is not None:
        return loaded(run, "yaml", Value(OpenFile(first)), omega=True)
    if name in ("create", "structured"):
        content = plain(first) if first is not None else {}
        return wrapped(content, by_attribute=True) if first is None or not isinstance(content, Unknown) else structured(run, first)
    if name in ("merge", "unsafe_merge"):
        mapping = Mapping(None, by_attribute=True)
        for value in given:
            other = structured(run, value).data
            merge_into(mapping, other if isinstance(other, Mapping) else Mapping({OPEN: True}))
        share_root(mapping, mapping)
        return Value(mapping)
    if name in ("from_cli", "from_dotlist"):
        words: Any = plain(first) if first is not None else list(run.context.words)
        is_open = first is None and run.context.is_open
        if not isinstance(words, (list, tuple)) or None in words or is_open:
            return Value(Mapping({OPEN: True}, by_attribute=True))
        return from_words([str(word) for word in words])
    if name in ("to_container", "to_object") and first is not None and isinstance(first.data, Mapping):
        return resolved(run, first)
    if name == "select" and len(given) > 1 and isinstance(given[1].data, str):
        value = first or unknown()
        for step in given[1].data.split("."):
            value = run.item(value, Value(step))
        return value
    if name in ("set_struct", "set_readonly", "resolve", "save", "register_new_resolver"):
        return Value(None)
    return unknown()


def structured(run: Interpreter, value: Value) -> Value:
    """A container of an object or class of the program whose parts are not all known."""
    from cfglint.launch.programs.objects import Class, Instance

    if isinstance(value.data, Class):
        value = run.instance(value.data, [], {}, run.here())
    data = value.data
    if not isinstance(data, (Instance, Mapping)):
        return unknown()
    mapping = Mapping(None, by_attribute=True)
    for key, each in data.slots.items():
        nested = isinstance(each, Value) and isinstance(each.data, (Instance, Mapping))
        mapping.slots[key] = structured(run, each) if nested else each
    share_root(mapping, mapping)
    return Value(mapping)


def share_root(mapping: Mapping, root: Mapping) -> None:
    mapping.root = root
    for item in mapping.items.values():
        if isinstance(item.data, Mapping):
            share_root(item.data, root)


def merge_into(found: Mapping, other: Mapping) -> None:
    """Take the keys of another config, mapping by mapping."""
    if other.is_open:
        for key in found.items:
            found.slots[key] = unknown(Reason("file", "another config"))
        found.slots[OPEN] = True
    for key, value in other.items.items():
        mine = found.slots.get(key)
        if isinstance(value.data, Mapping):
            inside = Mapping(None, by_attribute=found.by_attribute)
            if isinstance(mine, Value) and isinstance(mine.data, Mapping):
                merge_into(inside, mine.data)
            merge_into(inside, value.data)
            found.slots[key] = Value(inside)
        else:
            found.slots[key] = value


def from_words(words: list[str]) -> Value:
    mapping = Mapping(None, by_attribute=True)
    for word in words:
        name, mark, text = word.lstrip("-").partition("=")
        value = values("words", f"x: {text}", omega=True) if mark else None  # as OmegaConf reads it
        inside, steps = mapping, name.split(".")
        for step in steps[:-1]:
            inner = inside.slots.get(step)
            if not isinstance(inner, Value) or not isinstance(inner.data, Mapping):
                inner = inside.slots[step] = Value(Mapping(None, by_attribute=True))
            inside = inner.data
        inside.slots[steps[-1]] = wrapped(value["x"] if isinstance(value, dict) else REFUSED, True) if mark else unknown()
    share_root(mapping, mapping)
    return Value(mapping)


def resolved(run: Interpreter, value: Value) -> Value:
    data = value.data
    if isinstance(data, Mapping):
        return Value(Mapping({**data.slots, **{key: resolved(run, run.item(value, Value(key))) for key in data.items}}))
    if isinstance(data, Sequence):
        return Value(Sequence([resolved(run, item) for item in data.items], data.kind))
    return value
