"""The files that may read an open one: those of its project that mention its name."""

from __future__ import annotations

import os

from cfglint.run.discovery import Discovery
from cfglint.run.readers import Readers
from cfglint.source.annotations import Iterable
from cfglint.source.file_source import FileSource
from cfglint.source.files import state_of


class Neighbours(Readers):
    """Searches the projects of the open files; their files are listed again when any file may have come or gone.

    A folder that is no work tree and has no configuration may be a home with many projects below it: of such a root, only the folders
    around an open file are searched, without what is below them.
    """

    def __init__(self, source: FileSource) -> None:
        super().__init__(source)
        self.known: dict[tuple[str, int, int], dict[str, bool]] = {}  # by path, time of the last change in ns, and size
        self.listed: dict[tuple[str, str], list[str]] = {}  # by configuration and root

    def known_of(self, path: str) -> dict[str, bool]:
        """What is known of a file on disk is kept until it changes, as an editor asks often."""
        return {} if self.source.is_given(path) else self.known.setdefault((path, *state_of(path)), {})

    def mentions(self, path: str, names: Iterable[str]) -> bool:
        """Whether a file mentions one of some names."""
        return bool(self.mentioning({path: self.known_of(path)}, [*names]))

    def naming(self, paths: list[str], discovery: Discovery, configuration: str) -> list[str]:
        """The files that may read one of some files, directly or by another file."""
        around: list[str] = []
        walk = discovery.walk
        for folder, deep in dict.fromkeys(each for path in paths for each in folders_around(path, walk.root_of(path), configuration)):
            if (configuration, folder) not in self.listed:
                self.listed[configuration, folder] = [*walk.around(folder, deep)]
            around += self.listed[configuration, folder]
        return self.of(paths, around)


def folders_around(path: str, root: str, configuration: str) -> list[tuple[str, bool]]:
    """The folders in which files may read an open one, each with whether everything below it belongs to the same project."""
    if configuration or os.path.exists(os.path.join(root, ".git")):
        return [(root, True)]
    folder = os.path.dirname(path)
    folders = [(folder, False)]
    while folder not in (root, "", os.path.dirname(folder)):
        folder = os.path.dirname(folder)
        folders.append((folder, False))
    return folders
