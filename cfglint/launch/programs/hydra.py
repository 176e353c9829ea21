"""Composes the config of a Hydra program: the primary file, its defaults list, and the overrides of the launch line.

Source: hydra-core 1.3.8 (_internal/config_loader_impl.py, _internal/defaults_list.py, core/override_parser), omegaconf 2.3.1.
"""

from __future__ import annotations

import posixpath

from cfglint.launch.programs import config_files
from cfglint.launch.programs.objects import UNCLEAR, Mapping, Value, unknown, wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cfglint.launch.programs.interpreter import Interpreter
    from cfglint.launch.programs.modules import Module

DEEPEST = 12
GLOBAL = "_global_"
SELF = "_self_"


class NotComposed(Exception):
    """A part of the config is unknown."""


def composed(run: Interpreter, folder: Value, name: Value, words: Any, module: Module) -> Value:
    """The config of a program; `words` are its overrides, None if they are unknown."""
    if not isinstance(name.data, str) or not isinstance(folder.data, (str, type(None))) or not isinstance(words, (list, tuple)):
        return unknown("the config of Hydra is unknown")
    overrides = [each for each in words if each]
    named, path = name.data, folder.data or ""
    for place, word in enumerate(overrides):
        flag, mark, inline = word.partition("=")
        value = inline if mark else overrides[place + 1] if place + 1 < len(overrides) else ""
        named = value if flag in ("--config-name", "-cn") else named
        path = value if flag in ("--config-path", "-cp") else path
    here = posixpath.dirname("\0/" + module.path.removeprefix("./"))
    top = posixpath.join(here, path) if not path.startswith("\0") else path
    try:
        pairs = (word.lstrip("+").split("=", 1) for word in overrides if "=" in word and word[0] not in "-~")
        choices = {key: text for key, text in pairs if "." not in key}
        result = Composition(run, top, choices).file("", named.removesuffix(".yaml"), "", 0)
        for word in overrides:
            if not word.startswith("-"):
                apply(result, word, choices if is_group(run, top, word) else {})
    except NotComposed as problem:
        return unknown(str(problem) or "the config of Hydra is not understood")
    config_files.share_root(result, result)
    return Value(result)


def is_group(run: Interpreter, top: str, word: str) -> bool:
    """Whether an override chooses a file of a group."""
    name, _, option = word.lstrip("+").partition("=")
    return run.context.content(f"{top}/{name.partition('@')[0]}/{option}.yaml") is not None


def apply(config: Mapping, word: str, choices: dict[str, str]) -> None:
    """Apply one override of the line."""
    deleted = word.startswith("~")
    name, mark, text = word.lstrip("+~").partition("=")
    if name in choices or name.startswith("hydra"):
        return
    steps = name.partition("@")[0].split(".")
    if deleted:
        at: Any = config
        for step in steps[:-1]:
            inner = at.slots.get(step)
            at = inner.data if isinstance(inner, Value) and isinstance(inner.data, Mapping) else Mapping()
        at.slots.pop(steps[-1], None)
        return
    if not mark:
        raise NotComposed(f"`{word}` is not understood")
    content = config_files.value_of_word(text) if text else ""
    config_files.set_path(config, steps, wrapped(content, True) if content is not UNCLEAR else unknown())


class Composition:
    """The files of a config, joined in the order of their defaults lists."""

    def __init__(self, run: Interpreter, top: str, choices: dict[str, str]) -> None:
        self.run = run
        self.top = top
        self.choices = choices

    def file(self, group: str, name: str, package: str, depth: int, optional: bool = False) -> Mapping:
        """The config of a file with what its defaults list names, under its package."""
        path = "/".join(each for each in (self.top, group, f"{name}.yaml") if each)
        found = self.run.context.content(posixpath.normpath(path) if not path.startswith("\0") else "\0/" + posixpath.normpath(path[2:]))
        if found is None:
            if optional:
                return Mapping(None, by_attribute=True)
            raise NotComposed(f"`{name}.yaml` of Hydra's config is not found")
        content = config_files.values(found[0], found[1], "yaml", omega=True)
        content = {} if content is None else content
        if not isinstance(content, dict) or depth > DEEPEST:
            raise NotComposed
        first = found[1].lstrip().partition("\n")[0]
        if first.startswith("# @package"):
            package = first.split()[-1]
            package = "" if package in (GLOBAL, "_root_") else group.replace("/", ".") if package == "_group_" else package
        return self._joined(content, group, package, depth)

    def _joined(self, content: dict[Any, Any], group: str, package: str, depth: int) -> Mapping:
        """A file's own keys and those of its defaults, the last one first."""
        defaults = content.pop("defaults", [])
        if not isinstance(defaults, list):
            raise NotComposed
        result = Mapping(None, by_attribute=True)
        own = placed(content, package)
        entries = list(defaults)
        if SELF not in entries:
            entries.append(SELF)
        for each in entries:
            part = own if each == SELF else self._entry(each, group, package, depth)
            config_files.merge_into(result, part)
        return result

    def _entry(self, entry: Any, group: str, package: str, depth: int) -> Mapping:
        """The config of one entry of a defaults list."""
        if isinstance(entry, str):
            folder, _, name = entry.lstrip("/").rpartition("/")
            inside = folder if entry.startswith("/") else "/".join(each for each in (group, folder) if each)
            return self.file(inside, name, package if not folder else joined(package, folder.replace("/", ".")), depth + 1)
        if not isinstance(entry, dict) or len(entry) != 1:
            raise NotComposed
        ((key, option),) = entry.items()
        words = str(key).split()
        if "override" in words:
            return Mapping(None, by_attribute=True)
        where, _, target = words[-1].partition("@")
        inside = where.lstrip("/") if where.startswith("/") else "/".join(each for each in (group, where) if each)
        option = self.choices.get(inside, option)
        options = option if isinstance(option, list) else [option]
        result = Mapping(None, by_attribute=True)
        own = target if target else inside.replace("/", ".")
        own = "" if own == GLOBAL else own if not target or target.startswith(GLOBAL) else joined(package, own)
        for each in options:
            if each is None or inside.startswith("hydra"):
                continue
            if not isinstance(each, str) or "${" in each or each == "???":
                raise NotComposed(f"the choice of `{inside}` is unknown")
            config_files.merge_into(result, self.file(inside, each.removesuffix(".yaml"), own, depth + 1, "optional" in words))
        return result


def joined(package: str, name: str) -> str:
    """A package inside another one."""
    return f"{package}.{name}" if package and name else package or name


def placed(content: dict[Any, Any], package: str) -> Mapping:
    """The keys of a file under their package."""
    inner = wrapped(content, True)
    for step in reversed(package.split(".") if package else []):
        outer = Mapping(None, by_attribute=True)
        outer.slots[step] = inner
        inner = Value(outer)
    found: Mapping = inner.data
    return found
