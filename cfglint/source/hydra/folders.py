"""The search path of a composition: folders with config files, each of which may shadow those of the next; the options of groups."""

from __future__ import annotations

import os
import posixpath
from functools import lru_cache

from cfglint.source.annotations import Callable, ConfigValue, Sequence
from cfglint.source.document import Document
from cfglint.source.hydra.defaults_list import CompositionError, Repository, Source
from cfglint.source.project_files import Project
from cfglint.source.record import Record

SUFFIX = ".yaml"
DEFAULTS, HYDRA, SEARCH_PATH = "defaults", "hydra", "searchpath"
FILE = "file://"
PACKAGE = "pkg://"
HEADER = 512  # characters of a file that may name its package
MOST_CACHED = 512  # files whose values are kept
DEEPEST = 3  # folders between an option and the config that names its group
MOST_FILES = 30  # of a folder, in which a defaults list is looked for
SUFFIXES = (".yaml", ".yml")
PREFIXES = ("override ", "optional ")
LOADED = "yaml.scanner.ScannerError"


class ConfigFolder(Record):
    """The config files below a folder of the project. `read` and `names` take paths relative to the working directory.

    `documents` are the files that were loaded, by their paths.
    """

    top: str
    read: Callable[[str], str | None]
    names: Callable[[str], list[str]]
    documents: dict[str, Document] = {}

    def load(self, path: str) -> Source | None:
        """The file at a path; raises CompositionError if it cannot be loaded."""
        place = self._place(path.removesuffix(SUFFIX) + SUFFIX)
        text = self.read(place)
        if text is None:
            return None
        source, self.documents[place], exception = parsed(place, text)
        if source is None:
            raise CompositionError(exception)
        return source

    def is_group(self, path: str) -> bool:
        return self._has(path) and bool(self.names(self._place(path)))

    def options(self, group: str) -> list[str]:
        names = self.names(self._place(group)) if self._has(group) else []
        return sorted(name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX))

    def _place(self, path: str) -> str:
        return os.path.normpath(os.path.join(self.top, path))

    def _has(self, path: str) -> bool:
        """Whether the folder above has this name: only then the folder itself is looked at."""
        return posixpath.basename(path) in self.names(self._place(posixpath.dirname(path)))


class SearchPath(Record):
    """The repository of a composition: the first of several that has a file provides it."""

    repositories: Sequence[Repository]

    def load(self, path: str) -> Source | None:
        """The file at a path; None if no repository has it."""
        return next((source for repository in self.repositories if (source := repository.load(path)) is not None), None)

    def is_group(self, path: str) -> bool:
        return any(repository.is_group(path) for repository in self.repositories)

    def options(self, group: str) -> list[str]:
        return sorted({name for repository in self.repositories for name in repository.options(group)})


@lru_cache(MOST_CACHED)
def parsed(path: str, text: str) -> tuple[Source | None, Document, str]:
    """A file as Hydra loads it, its document, and the exception if it cannot be loaded."""
    from cfglint.source.omegaconf import YAML
    from cfglint.source.parse import parse

    document = parse(path, text, "yaml")
    result = YAML.read(document)
    if result.problems:
        return None, document, result.problems[0].exception or LOADED
    values = {} if result.value is None else result.value
    if not isinstance(values, dict):
        return None, document, f"ValueError: Config {path} must be a Dictionary, got {type(values).__name__}"
    defaults = values.get(DEFAULTS, [])
    if not isinstance(defaults, list):
        return None, document, f"ValueError: Invalid defaults list in '{path}', defaults must be a list."
    own = {key: value for key, value in values.items() if key != DEFAULTS}
    return Source(path, own, defaults, header(text)), document, ""


def header(text: str) -> str | None:
    """The package that a file's first comments name; None if they name none (plugins/config_source.py, _get_header_dict)."""
    for line in text[:HEADER].splitlines():
        words = line.strip().lstrip("#").split()
        if words and not (line.strip().startswith("#") and words[0].startswith("@")):
            return None
        if words[:1] == ["@package"] and len(words) > 1:
            return words[1]
    return None


def further_folders(primary: Source) -> list[str]:
    value: ConfigValue = primary.values.get(HYDRA)
    listed = value.get(SEARCH_PATH) if isinstance(value, dict) else None
    return [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []


class ConfigGroups(Record):
    """The groups that the defaults lists of a project name: files of them are parts of a composition. Each folder is looked at once."""

    project: Project
    named: dict[str, set[str]] = {}

    def has_option(self, path: str) -> bool:
        """Whether a config in one of the folders above a file has a defaults list that names the folder of the file as a group."""
        folder, group = posixpath.dirname(path), ""
        for _ in range(DEEPEST):
            name = posixpath.basename(folder)
            if name in ("", ".", ".."):
                return False
            folder, group = posixpath.dirname(folder), posixpath.join(name, group) if group else name
            if folder not in self.named:
                found = [posixpath.join(folder, each) for each in self.project.names(folder or ".") if each.endswith(SUFFIXES)]
                self.named[folder] = {named for file in found[:MOST_FILES] for named in groups_of(file, self.project.read(file) or "")}
            if group in self.named[folder]:
                return True
        return False


def groups_of(path: str, text: str) -> set[str]:
    """The groups that the defaults list of a config names, from its own folder."""
    return {group for entry in defaults_of(path, text) if (group := group_of(entry))}


def defaults_of(path: str, text: str) -> Sequence[ConfigValue]:
    """The defaults list of a config; empty if it has none or cannot be loaded."""
    source = parsed(path, text)[0] if "defaults:" in text else None
    return source.defaults if source is not None else ()


def group_of(entry: ConfigValue) -> str:
    """The group of an entry, `override /optimizer@trainer.optim: adam` or `optimizer/adam`; empty if it has none."""
    name = next(iter(entry), "") if isinstance(entry, dict) else entry
    if not isinstance(name, str):
        return ""
    for prefix in PREFIXES:
        name = name.removeprefix(prefix)
    name = name.partition("@")[0].strip("/")
    return name if isinstance(entry, dict) else posixpath.dirname(name)
