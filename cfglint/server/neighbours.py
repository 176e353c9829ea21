"""The files that may name an open one: those near it that mention its name."""

from __future__ import annotations

import os

from cfglint.run.paths import EXTENSIONS, PROGRAMS, is_script
from cfglint.run.readers import Mentions, marks_of, names_of
from cfglint.source.root import is_inside, leads_out, root_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_FILES = 500  # that are searched
MOST_FOLDERS = 60
LARGEST = 1 << 18  # bytes; a config or script that names another one is smaller


class Neighbours(Mentions):
    """Searches the files near the open ones."""

    largest = LARGEST

    def naming(self, paths: Iterable[str]) -> list[str]:
        """The files that mention one of some files by name, and those that mention these in turn."""
        near = [*self.near(paths)]
        found: dict[str, None] = {}
        names = marks_of(paths)
        for _ in range(2):  # a script names a trainer file, which names a DeepSpeed file
            others = [path for path in near if path not in found]
            found.update((path, None) for path in others if self.mentions(path, [each for each in names if each not in names_of(path)]))
            names = marks_of(found)
        return [*found]

    def near(self, paths: Iterable[str]) -> Iterator[str]:
        """The configs and scripts in the folders around some files."""
        left = MOST_FILES
        for folder in list(dict.fromkeys(folder for path in paths for folder in folders_around(path)))[:MOST_FOLDERS]:
            for name in sorted(entries(folder)):
                path = os.path.join(folder, name)
                looked_at = left and (name.lower().endswith((*EXTENSIONS, *PROGRAMS)) or is_script(name)) and os.path.isfile(path)
                if looked_at and not leads_out(path, path):
                    left -= 1
                    yield path


def folders_around(path: str) -> list[str]:
    """The folder of a file and its parents in the project, and the folders next to it and at the top of the project."""
    root = root_of(path)
    folder = os.path.dirname(os.path.abspath(path))
    upwards = [folder]
    while os.path.realpath(upwards[-1]) != root and is_inside(upwards[-1], root):
        upwards.append(os.path.dirname(upwards[-1]))
    below = [os.path.join(each, name) for each in (*upwards[1:2], upwards[-1]) for name in sorted(entries(each)) if name[0] != "."]
    found = dict.fromkeys([*upwards, *filter(os.path.isdir, below[:MOST_FILES])])
    return [as_given(each, path) for each in found]


def as_given(folder: str, path: str) -> str:
    """A folder as a relative path if the file's own path is relative."""
    relative = folder if os.path.isabs(path) else os.path.relpath(folder)
    return "" if relative == os.curdir else relative


def entries(folder: str) -> list[str]:
    """The names in a folder; empty if it cannot be read."""
    try:
        return os.listdir(folder or os.curdir)
    except OSError:
        return []
