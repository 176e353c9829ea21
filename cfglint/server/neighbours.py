"""The files that may read an open one: those of its project that mention its name."""

from __future__ import annotations

from cfglint.run.discovery import Discovery
from cfglint.run.readers import Readers
from cfglint.source.file_source import FileSource


class Neighbours(Readers):
    """Searches the projects of the open files; their files are listed again when any file may have come or gone."""

    def __init__(self, source: FileSource) -> None:
        super().__init__(source)
        self.listed: dict[tuple[str, str], list[str]] = {}  # by configuration and root

    def naming(self, paths: list[str], discovery: Discovery, configuration: str) -> list[str]:
        """The files that may read one of some files, directly or by another file."""
        around: list[str] = []
        for root in dict.fromkeys(map(discovery.root_of, paths)):
            if (configuration, root) not in self.listed:
                self.listed[configuration, root] = [*discovery.around(root)]
            around += self.listed[configuration, root]
        return self.of(paths, around)
