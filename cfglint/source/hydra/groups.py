"""The options of config groups: files of a Hydra `conf/` tree that are parts of a composition, and no config of their own."""

from __future__ import annotations

import posixpath

from cfglint.source.annotations import ConfigValue
from cfglint.source.hydra.folders import parsed
from cfglint.source.project_files import Project

DEEPEST = 3  # folders between an option and the config that names its group
MOST_FILES = 30  # of a folder, in which a defaults list is looked for
SUFFIXES = (".yaml", ".yml")
PREFIXES = ("override ", "optional ")


class ConfigGroups:
    """The groups that the defaults lists of a project name; each folder is looked at once."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._named: dict[str, set[str]] = {}

    def has_option(self, path: str) -> bool:
        """Whether a config in one of the folders above a file has a defaults list that names the folder of the file as a group."""
        folder, group = posixpath.dirname(path), ""
        for _ in range(DEEPEST):
            name = posixpath.basename(folder)
            if name in ("", ".", ".."):
                return False
            folder, group = posixpath.dirname(folder), posixpath.join(name, group) if group else name
            if group in self._named_in(folder):
                return True
        return False

    def _named_in(self, folder: str) -> set[str]:
        """The groups that the YAML files of a folder name."""
        if folder not in self._named:
            found = [posixpath.join(folder, name) for name in self._project.names(folder or ".") if name.endswith(SUFFIXES)]
            self._named[folder] = {group for path in found[:MOST_FILES] for group in groups_of(path, self._project.read(path) or "")}
        return self._named[folder]


def groups_of(path: str, text: str) -> set[str]:
    """The groups that the defaults list of a config names, from its own folder."""
    if "defaults:" not in text:
        return set()
    source, _, _ = parsed(path, text)
    return {group for entry in (source.defaults if source is not None else ()) if (group := group_of(entry))}


def group_of(entry: ConfigValue) -> str:
    """The group of an entry, `override /optimizer@trainer.optim: adam` or `optimizer/adam`; empty if it has none."""
    name = next(iter(entry), "") if isinstance(entry, dict) else entry
    if not isinstance(name, str):
        return ""
    for prefix in PREFIXES:
        name = name.removeprefix(prefix)
    name = name.partition("@")[0].strip("/")
    return name if isinstance(entry, dict) else posixpath.dirname(name)
