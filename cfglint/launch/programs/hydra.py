"""The config of a Hydra program of the project: composed from its files and the overrides of the launch line."""

from __future__ import annotations

import posixpath
from functools import lru_cache

from cfglint.evaluate import Reason
from cfglint.launch.programs import config_files
from cfglint.launch.programs.context import Context
from cfglint.launch.programs.interpreter import Interpreter
from cfglint.launch.programs.modules import ProgramModule
from cfglint.launch.programs.objects import PROJECT, Mapping, Named, Sequence, Value, unknown, wrapped
from cfglint.source.annotations import Any, ConfigValue, Iterable
from cfglint.source.hydra import command_line
from cfglint.source.hydra.composition import compose
from cfglint.source.hydra.defaults_list import GLOBAL, CompositionError, Source
from cfglint.source.hydra.overrides import ADD, CHANGE, FORCE, HydraOverride, OverrideError, parse_override
from cfglint.source.record import changed
from cfglint.source.shell.placed_text import UNKNOWN

INSTANTIATING = ("hydra.utils.instantiate", "hydra.utils.call")
TARGET = "_target_"
NO_OBJECT = ("_partial_", "_args_")  # keys with which Hydra makes something else of a target than an object by keywords
FOR_HYDRA = (TARGET, "_convert_", "_recursive_")
MOST_FILES = 256  # whose values are kept
PACKAGES = {"_root_": GLOBAL, "_group_": None}  # words of older files in a package comment; None is the group's own


def overrides_of(context: Context) -> tuple[list[str] | None, list[str]]:
    """The known words of a launch line, None if there may be others, and the keys that it sets to unknown values."""
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
    """The config of a program; `words` are its overrides, None if they are unknown; other overrides have `unknown_keys`."""
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
    config_files.share_root(result.data, result.data)
    return result


def target_of(run: Interpreter, config: Value, named: Named) -> tuple[str, dict[Any, Value]]:
    """The class that Hydra makes an object of for a config, empty if it is unknown, and its arguments: the other keys, and those of the
    call.

    Source: hydra-core 1.3.2 hydra/_internal/instantiate/_instantiate2.py (instantiate, instantiate_node).
    """
    mapping = config_files.resolved(run, config).data
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
    """Make the value at a path of a config unknown."""
    for step in path[:-1]:
        inner = config.data.slots.get(step) if isinstance(config.data, Mapping) else None
        if not isinstance(inner, Value) or not isinstance(inner.data, Mapping):
            return
        config = inner
    if isinstance(config.data, Mapping):
        config.data.slots[path[-1]] = unknown(Reason("argument", "a word of the launch line"))


@lru_cache(MOST_FILES)
def content(path: str, text: str) -> ConfigValue:
    """The values of a config file, which many launch lines compose with others."""
    values: ConfigValue = config_files.values(path, text, "yaml", omega=True)
    return {} if values is None else values


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
        """The file at a path; raises CompositionError if it is not a mapping."""
        found = self._found(path.removesuffix(".yaml"))
        if found is None:
            return None
        values = content(*found)
        defaults = values.get("defaults", []) if isinstance(values, dict) else None
        if not isinstance(values, dict) or not isinstance(defaults, list):
            raise CompositionError(f"`{path}.yaml` of Hydra's config is not understood")
        first = found[1].lstrip().partition("\n")[0]
        package = first.split()[-1] if first.startswith("# @package") else None
        values = {key: value for key, value in values.items() if key != "defaults"}
        return Source(found[0], values, defaults, PACKAGES.get(package, package) if package else None)

    def is_group(self, path: str) -> bool:
        """Whether an override chooses a file of this group."""
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
