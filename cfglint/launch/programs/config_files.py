"""The configuration files that a program loads itself: YAML, JSON and TOML, OmegaConf's containers, and what Hydra composes of its files
and the overrides of the launch line.
"""

from __future__ import annotations

import posixpath

from cfglint.evaluate import Reason, Unknown
from cfglint.launch.program import DataRecipe
from cfglint.launch.programs import data_sets
from cfglint.launch.programs.interpreter import Interpreter
from cfglint.launch.programs.modules import ProgramModule
from cfglint.launch.programs.objects import (
    MOST_TURNS,
    OPEN,
    PROJECT,
    FilePlace,
    Given,
    LoadedFile,
    Mapping,
    Named,
    OpenFile,
    Sequence,
    Value,
    plain,
    text_of_path,
    unknown,
    wrapped,
)
from cfglint.source.annotations import Any, Iterable
from cfglint.source.hydra import command_line
from cfglint.source.hydra.composition import compose
from cfglint.source.hydra.defaults_list import GLOBAL, CompositionError, Source
from cfglint.source.hydra.folders import parsed
from cfglint.source.hydra.overrides import ADD, CHANGE, FORCE, HydraOverride, OverrideError, parse_override
from cfglint.source.record import changed
from cfglint.source.shell.placed_text import UNKNOWN

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
BY_PATH = "toml.load"  # which opens the file itself
OMEGACONF = "omegaconf.OmegaConf."
INSTANTIATING = ("hydra.utils.instantiate", "hydra.utils.call")
TARGET = "_target_"
NO_OBJECT = ("_partial_", "_args_")  # keys with which Hydra makes something else of a target than an object by keywords
FOR_HYDRA = (TARGET, "_convert_", "_recursive_")
PACKAGES: dict[str | None, str | None] = {
    "_root_": GLOBAL,
    "_group_": None,
}  # of older files; None is the group's own


def external(run: Interpreter, name: str, given: Given) -> Value | None:
    if name in PARSED and given:
        is_path = name == BY_PATH and not isinstance(given[0].data, OpenFile)
        return loaded(run, PARSED[name], Value(OpenFile(given[0])) if is_path else given[0])
    return omegaconf(run, name.removeprefix(OMEGACONF), given) if name.startswith(OMEGACONF) else None


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
    if isinstance(source.data, str):
        text, place = source.data, source.written.file.path if source.written is not None else ""
    else:
        path = source.data.path if isinstance(source.data, OpenFile) else source
        file = file_of(run, path)
        if syntax == "json" and (file is None or len(file[1]) > LARGEST):
            name, names = text_of_path(path), data_sets.names_of(path)  # the rows of a file that is too large for a config
            if isinstance(name, str) and len(names) == 1 and ((file is not None and file[1]) or run.context.has(name)):
                return data_sets.list_of(DataRecipe(data_sets.LIST, names))
        if file is None:
            return unknown(Reason("file", spelled(path), "it is not read"))
        place, text = file
    content = values(place or "config", text, syntax, omega)
    if syntax == "json" and isinstance(content, list) and len(content) > MOST_TURNS and place:
        return data_sets.list_of(DataRecipe(data_sets.LIST, (place,)))
    if isinstance(content, Unknown) or entries(content, 0) > MOST_ENTRIES:
        return unknown(Reason("file", f"`{place}`" if place else "a text", "it is not understood"))
    value = wrapped(content, by_attribute=omega)
    if place and syntax in ("yaml", "json"):
        locate(value, LoadedFile(place, text, "json" if syntax == "json" else "yaml"), ())
    return value


def locate(value: Value, file: LoadedFile, path: tuple[Any, ...]) -> None:
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
        return loaded(run, "yaml", first if isinstance(first.data, OpenFile) else Value(OpenFile(first)), omega=True)
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
        words, is_open = (plain(first), False) if first is not None else run.line_words()
        if not isinstance(words, (list, tuple)) or None in words or is_open:
            return Value(Mapping({OPEN: True}, by_attribute=True))
        mapping = Mapping(None, by_attribute=True)
        for word in map(str, words):
            name, mark, text = word.lstrip("-").partition("=")
            read = values("words", f"x: {text}", omega=True) if mark else None  # as OmegaConf reads it
            inside, steps = mapping, name.split(".")
            for step in steps[:-1]:
                inner = inside.slots.get(step)
                if not isinstance(inner, Value) or not isinstance(inner.data, Mapping):
                    inner = inside.slots[step] = Value(Mapping(None, by_attribute=True))
                inside = inner.data
            inside.slots[steps[-1]] = wrapped(read["x"] if isinstance(read, dict) else REFUSED, True) if mark else unknown()
        share_root(mapping, mapping)
        return Value(mapping)
    if name in ("to_container", "to_object") and first is not None and isinstance(first.data, Mapping):
        return resolved(run, first)
    if name == "select" and len(given) > 1 and isinstance(given[1].data, str):
        value = first or unknown()
        for step in given[1].data.split("."):
            value = run.item(value, Value(step))
        return value
    return Value(None) if name in ("set_struct", "set_readonly", "resolve", "save", "register_new_resolver") else unknown()


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


def resolved(run: Interpreter, value: Value) -> Value:
    data = value.data
    if isinstance(data, Mapping):
        return Value(Mapping({**data.slots, **{key: resolved(run, run.item(value, Value(key))) for key in data.items}}))
    if isinstance(data, Sequence):
        return Value(Sequence([resolved(run, item) for item in data.items], data.kind))
    return value


def overrides_of(run: Interpreter) -> tuple[list[str] | None, list[str]]:
    """The known words of a launch line, None if there may be others, and the keys that it sets to unknown values."""
    changed, is_open = run.line_words()
    context = run.context
    if changed != context.words:
        return None if is_open or None in changed else [word for word in changed if word is not None], []
    words: list[str] = []
    keys: list[str] = []
    for word, spelled in zip(context.words, context.spelled or map(str, context.words), strict=True):
        key, mark, _ = spelled.partition("=")
        if word is not None:
            words.append(word)
        elif mark and UNKNOWN not in key:
            keys.append(key.lstrip("+"))
        else:
            return None, []
    return (None if context.is_open else words), keys


def composed(run: Interpreter, folder: Value, name: Value, words: object, module: ProgramModule, unknown_keys: Iterable[str] = ()) -> Value:
    if not isinstance(name.data, str) or not isinstance(folder.data, (str, type(None))) or not isinstance(words, (list, tuple)):
        return unknown(Reason("file", "the config of Hydra"))
    given = [word for word in words if word]
    options, places = command_line.split(given)
    named, path = name.data, folder.data or ""
    for flag, value, _ in options:
        named = value if flag in command_line.NAMES else named
        path = value if flag in command_line.FOLDERS else path
    here = posixpath.dirname(PROJECT + module.path.removeprefix("./"))
    top = posixpath.join(here, path) if not path.startswith("\0") else path
    try:
        overrides = [parse_override(given[place]) for place in places]
        files = ProjectFiles(run, top, overrides)
        tree = compose(files, named.removesuffix(".yaml"), [files.lenient(override) for override in overrides])
    except (OverrideError, CompositionError) as problem:
        return unknown(Reason("file", str(problem)))
    result = wrapped(tree.values, True)
    for key in unknown_keys:
        if "/" in key or isinstance(tree.values.get(key), dict):
            return unknown(Reason("argument", "the file of Hydra's config that the launch line chooses"))
        leave_open(result, key.split("."))
    share_root(result.data, result.data)
    return result


def target_of(run: Interpreter, config: Value, named: Named) -> tuple[str, dict[Any, Value]]:
    """The class that Hydra makes an object of for a config, empty if it is unknown, and its arguments: the other keys, and those of the
    call.

    Source: hydra-core 1.3.2 hydra/_internal/instantiate/_instantiate2.py (instantiate, instantiate_node).
    """
    mapping = resolved(run, config).data
    keys = {**mapping.items, **named} if isinstance(mapping, Mapping) else {}
    target = keys.get(TARGET)
    if target is None or not isinstance(target.data, str) or not keys.keys().isdisjoint(NO_OBJECT):
        return "", {}
    arguments = {key: unknown() if makes_objects(value) else value for key, value in keys.items() if key not in FOR_HYDRA}
    if mapping.has_unknown_keys:
        arguments[None] = unknown()
    return target.data, arguments


def makes_objects(value: Value) -> bool:
    inner = value.data
    parts = inner.items.values() if isinstance(inner, Mapping) else inner.items if isinstance(inner, Sequence) else ()
    return (isinstance(inner, Mapping) and TARGET in inner.slots) or any(map(makes_objects, parts))


def leave_open(config: Value, path: list[str]) -> None:
    for step in path[:-1]:
        inner = config.data.slots.get(step) if isinstance(config.data, Mapping) else None
        if not isinstance(inner, Value) or not isinstance(inner.data, Mapping):
            return
        config = inner
    if isinstance(config.data, Mapping):
        config.data.slots[path[-1]] = unknown(Reason("argument", "a word of the launch line"))


class ProjectFiles:
    """The repository of a composition: the config files below a folder of the project."""

    def __init__(self, run: Interpreter, top: str, overrides: list[HydraOverride]) -> None:
        self._run = run
        self._top = top
        self._groups = {
            override.key
            for override in overrides
            if isinstance(override.value, str) and self._found(f"{override.key}/{override.value.removesuffix('.yaml')}")
        }

    def load(self, path: str) -> Source | None:
        found = self._found(path.removesuffix(".yaml"))
        if found is None:
            return None
        source = parsed(*found)[0]
        if source is None:
            raise CompositionError(f"`{path}.yaml` of Hydra's config is not understood")
        return changed(source, package=PACKAGES[source.package]) if source.package in PACKAGES else source

    def is_group(self, path: str) -> bool:
        return path in self._groups

    def options(self, group: str) -> list[str]:
        """None: the project's folders are not listed here."""
        return []

    def lenient(self, override: HydraOverride) -> HydraOverride:
        """An override of a value as one that never fails: whether the program accepts it is not judged here."""
        return changed(override, sign=FORCE) if override.sign in (ADD, CHANGE) and not self.is_group(override.key) else override

    def _found(self, path: str) -> tuple[str, str] | None:
        full = posixpath.normpath(f"{self._top.removeprefix(PROJECT)}/{path}.yaml")
        return self._run.context.content(PROJECT + full if self._top.startswith(PROJECT) else full)
