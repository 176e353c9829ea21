"""Finds the files of a project that may read a named file: those whose content mentions its name, and those that mention them in turn."""

from __future__ import annotations

import os
from bisect import bisect_right
from itertools import accumulate

from cfglint.run.paths import PROGRAMS, is_script
from cfglint.run.quick_scan import content_of, has_marks, starts_commands
from cfglint.source import files
from cfglint.source.annotations import Callable, Iterable, Iterator
from cfglint.source.file_source import FileSource
from cfglint.source.files import EXTENSIONS, JSON_EXTENSIONS
from cfglint.source.shell import MARKDOWN, is_markdown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.launch.console_scripts import ConsoleScript

LARGEST = 1 << 20  # bytes; a config or script that names another file is smaller
ROUNDS = 6  # a script starts another one, which starts a program, which imports a package, whose module imports another one
# What is before a file name: no part of a longer one, as in `my_config.json`; `\\nds.json` and `-cds.json` mention `ds.json`.
NAMING = rb"(?:\A|[^\w-]|\\[abfnrtv]|\s-\w)\Z"
# What is before the name of a module, with its package as a group: `from a.b import c, `, `import a.b.`, `from a.b.`, `-m a.b.`, and
# `--module a.b.`.
IMPORTING = (
    rb"(?:\bfrom[ \t]+([\w.]+)[ \t]+import[ \t]+[\w., \t(]*|\bimport[ \t]+(?:[\w., \t]*[, \t])?([\w.]*)"
    rb"|\bfrom[ \t]+([\w.]*)|-m(?:odule)?[\s\\]+([\w.]*))(?<!\w)\Z"
)
BY_IMPORT, BY_OPTION = b"import", b"-m"  # what a program, and what a script or cell names a module with
OPTIONS = (b"-m ", b"-m\t", b"-m\\", b"-module ", b"-module\t", b"-module\\")  # and how such an option begins
IMPORT = "import "  # before the folder and the name of a module among the marks of a file
COMMAND = "command "  # before the name of a command that the project installs for a module
COMPOSED = "composed "  # before the folder and the name of a file that a script may compose: `conf/part_$k.yaml`
VARIABLE = rb"\$(?:\w+|\{[^}\s]*\})"
COMPOSING = rb"[\w./@%+-]*(?:" + VARIABLE + rb"[\w./@%+-]*)+"
LEAST_WRITTEN = 3  # characters of such a name, if its folder is not written either
HYDRA = "hydra "  # before the name of a config without its extension, by which Hydra finds it
CHOOSING = (b"config_name", b"config-name", b"defaults:")  # what a file has that names a config to Hydra
FURTHEST = 200  # bytes before a name in which these are looked for
MOST_KEPT = 64_000_000  # bytes of contents that one search keeps
MOST_JOINED = 16_000_000  # bytes of contents that are searched together
SEPARATOR = b"\0"
MOST_READERS = 20  # files of one round whose own readers are searched for: a name that more files mention is searched for once


_encoded: dict[str, tuple[bytes, bytes | None]] = {}


class Readers:
    """Searches files for the names of others."""

    def __init__(self, source: FileSource) -> None:
        self.source = source
        self.kept: dict[str, bytes] = {}  # contents, for the next round of one search
        self.importing: dict[str, bytes] = {}  # their lines that may name a module
        self.room = 0  # bytes that may still be kept
        self.marks: dict[str, None] = {}  # the names that the last search looked for
        self.commands: dict[str, dict[str, ConsoleScript]] = {}  # by the top of a project

    def known_of(self, path: str) -> dict[str, bool]:
        """What is known from former searches: whether a file mentions some names."""
        return {}

    def mentioning(self, known: dict[str, dict[str, bool]], marks: list[str]) -> list[str]:
        """Those of some files, with what is `known` of them, that mention one of the names."""
        unknown = [path for path, mentioned in known.items() if any(mark not in mentioned for mark in marks)]
        for path in unknown:
            known[path].update(dict.fromkeys(marks, False))
        for path, mark in self.mentioned(unknown, marks):
            known[path][mark] = True
        return [path for path, mentioned in known.items() if True in mentioned.values() and any(mentioned[mark] for mark in marks)]

    def mentioned(self, paths: list[str], marks: list[str]) -> Iterator[tuple[str, str]]:
        """(file, name that it mentions). The contents are searched together, which takes a fraction of the time of a search in each."""
        modules = [mark for mark in marks if mark.startswith(IMPORT)]
        programs = [mark for mark in marks if mark.endswith(".py") or mark.startswith(COMMAND)]
        configs = [mark for mark in marks if mark.startswith(HYDRA)]
        composed = [mark for mark in marks if mark.startswith(COMPOSED)]
        others = [mark for mark in marks if mark not in (*modules, *programs, *configs, *composed)]
        for path in filter(is_script, paths) if composed else ():
            yield from ((path, mark) for mark in composed if may_compose(self.content(path), mark))
        for sought, searched, text in (
            (others, paths, self.content),
            (programs, [path for path in paths if starts_programs(path, self.content(path))] if programs else (), self.content),
            (configs, [path for path in paths if chooses_configs(self.content(path))] if configs else (), self.content),
            (modules, [path for path in paths if import_words(path) and not self.is_test(path)] if modules else (), self.imports),
        ):
            for part in parts(searched, text) if sought else ():
                joined = SEPARATOR.join(content for _, content in part)
                ends = [*accumulate(len(content) + len(SEPARATOR) for _, content in part)]
                for mark in sought:
                    name, folder = _encoded.get(mark) or encoded(mark)
                    place = joined.find(name) if name else -1  # no import names a module with an empty name: `a..py`
                    while place >= 0:
                        index = bisect_right(ends, place)
                        path, content = part[index]
                        if is_markdown(path):  # nothing but the blocks of a page that may contain commands names a file of a run
                            from cfglint.launch.markdown import blocks

                            page = self.content(path).decode("utf-8", "replace")
                            content = b"\n".join(block.text.encode() for block in blocks(page))
                            content = content if folder is None else lines_with_imports(content, *import_words(path))
                        if is_in(name, folder, content):
                            yield path, mark
                        place = joined.find(name, ends[index])

    def imports(self, path: str) -> bytes:
        """The lines of a file that may name a module."""
        lines = self.importing.get(path)
        if lines is None:
            lines = self.importing[path] = lines_with_imports(self.content(path), *import_words(path))
        return lines

    def content(self, path: str) -> bytes:
        """The content of a file; empty if it cannot be read."""
        content = self.kept.get(path)
        if content is None:
            try:
                content = self.source.read_bytes(path)
            except files.FileProblem:
                content = b""
            if len(content) > LARGEST:
                content = b""
            if self.room >= len(content):
                self.room -= len(content)
                self.kept[path] = content
        return content

    def is_mentioned_in(self, block: str) -> bool:
        """Whether a block of a page mentions one of the names of the last search."""
        return any(mentions(block.encode(), MARKDOWN[0], mark) for mark in self.marks)

    def is_test(self, path: str) -> bool:
        """Whether a file is a module of tests, which no other one imports and no launch line starts."""
        name = os.path.basename(path)
        return name == "conftest.py" or (name.endswith(".py") and name.startswith("test_") and b"\ndef test_" in self.content(path))

    def marks_of(self, paths: Iterable[str]) -> list[str]:
        """The names by which other files mention some files, those of commands included that their project installs for modules."""
        paths = [*paths]
        modules = [path for path in paths if path.endswith(".py")]
        folders = ((os.path.basename(os.path.dirname(os.path.abspath(path))), os.path.basename(path)) for path in paths)
        marks = [*marks_of(paths), *(f"{COMPOSED}{folder}/{name}" for folder, name in folders if not is_markdown(name))]
        if not modules:
            return marks
        from cfglint.launch.console_scripts import console_scripts

        root = self.source.root(modules[0])
        if root not in self.commands:
            self.commands[root] = console_scripts(self.source.project(modules[0], root))
        of_modules = {f".{path.removesuffix('.py').replace(os.sep, '.')}" for path in modules}
        commands = self.commands[root].items()
        names = [name for name, command in commands if any(module.endswith(f".{command.module}") for module in of_modules)]
        return [*marks, *(f"{COMMAND}{name}" for name in names)]

    def of(self, named: Iterable[str], searched: Iterable[str]) -> list[str]:
        """Those of some files that mention one of the named ones, directly or by a file that does."""
        named = [*named]
        self.kept, self.importing, self.room = {}, {}, MOST_KEPT
        found: dict[str, None] = {}
        marks, members = self.marks_of(named), {*named}
        left = {path: self.known_of(path) for path in searched if path not in members}
        self.marks = {}
        for _ in range(ROUNDS):
            self.marks.update(dict.fromkeys(marks))
            new = self.mentioning(left, marks)
            found.update(dict.fromkeys(new))
            for path in new:
                del left[path]
            if not new or not left or len(new) > MOST_READERS:
                break
            marks = self.marks_of(path for path in new if not self.is_test(path))
        self.kept, self.importing = {}, {}
        return [*found]


def parts(paths: Iterable[str], text: Callable[[str], bytes]) -> Iterator[list[tuple[str, bytes]]]:
    """Files with a text of each, in parts of limited size."""
    part: list[tuple[str, bytes]] = []
    size = 0
    for path in paths:
        content = text(path)
        part.append((path, content))
        size += len(content)
        if size > MOST_JOINED:
            yield part
            part, size = [], 0
    yield part


def marks_of(paths: Iterable[str]) -> list[str]:
    """The names by which other files mention some files; nothing that runs reads a page of Markdown.

    Of a module of Python also the name by which it is imported, with that of its folder (`import FOLDER.NAME`), of a YAML those by which
    Hydra finds it, alone or as an option of a group.
    """
    marks: dict[str, None] = {}
    for path in paths:
        name = os.path.basename(path)
        if not is_markdown(path):
            marks[name] = None
        if name.endswith(".yaml"):
            stem = name.removesuffix(".yaml")
            marks[f"{HYDRA}{stem}"] = marks[f"{os.path.basename(os.path.dirname(os.path.abspath(path)))}={stem}"] = None
        elif name.endswith(".py"):
            marks[f"{IMPORT}{'.'.join(imported_as(path))}"] = None
    return [*marks]


def imported_as(path: str) -> tuple[str, str]:
    """The folder or package in which a module is, and the name by which it is imported."""
    module = os.path.splitext(os.path.abspath(path))[0].removesuffix(f"{os.sep}__init__")
    return os.path.basename(os.path.dirname(module)), os.path.basename(module)


def mentions(content: bytes, path: str, mark: str) -> bool:
    """Whether the content of a file mentions a file name, or imports a module or runs it with `-m`."""
    if mark.startswith(COMPOSED):
        return may_compose(content, mark)
    words = import_words(path)
    if (mark.startswith(IMPORT) and not words) or (mark.endswith(".py") and not starts_programs(path, content)):
        return False
    if mark.startswith(HYDRA) and not chooses_configs(content):
        return False
    name, folder = _encoded.get(mark) or encoded(mark)
    return name in content and is_in(name, folder, content if folder is None else lines_with_imports(content, *words))


def may_compose(content: bytes, mark: str) -> bool:
    """Whether a script has a word with variables that may be a file: by what is written of its name, and of its folder."""
    import re

    folder, name = (os.fsencode(part) for part in mark.removeprefix(COMPOSED).split("/"))
    ending = os.path.splitext(name)[1]
    place = content.find(ending) if b"$" in content and ending else -1
    while place >= 0:
        end = place + len(ending)
        word = content[max(0, place - FURTHEST) : end].split()[-1]
        place = content.find(ending, end)
        composed = re.search(COMPOSING + rb"\Z", word) if b"$" in word else None
        above, _, last = composed.group().rpartition(b"/") if composed else (b"", b"", b"")
        written = re.split(VARIABLE, last)
        if b"$" not in last or not re.fullmatch(b".*".join(map(re.escape, written)), name):
            continue
        above = above.rpartition(b"/")[2]
        if above == folder if above and above.strip(b".") and b"$" not in above else len(b"".join(written)) >= LEAST_WRITTEN + len(ending):
            return True
    return False


def chooses_configs(content: bytes) -> bool:
    """Whether a file may name a config to Hydra."""
    return any(word in content for word in CHOOSING)


def starts_programs(path: str, content: bytes) -> bool:
    """Whether a file may name a program that it starts or that its run calls: few modules do, and no JSON."""
    return starts_commands(content) if path.endswith(".py") else not path.lower().endswith(JSON_EXTENSIONS)


def import_words(path: str) -> tuple[bytes, ...]:
    """What a file names a module with; a config imports none."""
    if path.endswith(PROGRAMS):
        return (BY_IMPORT,) if path.endswith(".py") else (BY_IMPORT, BY_OPTION)
    return () if path.lower().endswith(EXTENSIONS) else (BY_OPTION,)


def encoded(mark: str) -> tuple[bytes, bytes | None]:
    """(file name, None) or (name of a module, its folder) of a mark."""
    folder, _, module = mark.removeprefix(IMPORT).rpartition(".")
    name = mark.removeprefix(HYDRA).removeprefix(COMMAND)
    _encoded[mark] = (os.fsencode(module), os.fsencode(folder)) if mark.startswith(IMPORT) else (os.fsencode(name), None)
    return _encoded[mark]


def lines_with_imports(content: bytes, *words: bytes) -> bytes:
    """The lines with an import, `-m` or `--module`, the last two with what follows them."""
    found = []
    for word in words:
        place = content.find(word)
        while place >= 0:
            following = place + len(word)
            if word == BY_IMPORT or content.startswith(OPTIONS, place):
                end = content.find(b"\n", place) % (len(content) + 1)
                found.append(content[content.rfind(b"\n", 0, place) + 1 : end if word == BY_IMPORT else max(end, place + FURTHEST)])
                following = max(end, following)
            place = content.find(word, following)
    return b"\n".join(found)


def is_in(name: bytes, folder: bytes | None, content: bytes) -> bool:
    """Whether a content mentions a file name, or lines with imports have a module of a folder."""
    import re

    before = re.compile(NAMING if folder is None else IMPORTING).search
    place = content.find(name)
    while place >= 0:
        end = place + len(name)
        following = content[end : end + 1]
        match = None if following.isalnum() or following == b"_" else before(content, max(0, place - FURTHEST), place)
        if match and (folder is None or b"".join(match.groups(b"")).strip(b".").rpartition(b".")[2] in (b"", folder)):
            return True
        place = content.find(name, end)
    return False


MOST_MODULES = 60  # that are followed from one program: what lies behind more is a package of its own, not the program's training
IMPORTS = rb"(?m)^[ \t]*(?:from[ \t]+\.*([\w.]*)[ \t]+import[ \t]+([\w., \t(]*(?:\n[\w., \t]+)*)|import[ \t]+([\w., \t]+))"


class Imports:
    """The modules of a project by their names, and what each imports."""

    def __init__(self, programs: Iterable[str]) -> None:
        self.modules: dict[str, list[tuple[str, str]]] = {}  # name -> (package, path)
        for path in programs:
            package, name = imported_as(path)
            self.modules.setdefault(name, []).append((package, path))
        self._read: dict[str, tuple[bool, list[str]]] = {}

    def lead_to_training(self, path: str) -> bool:
        """Whether a program imports a module that may build the arguments of a trainer, itself or by others."""
        seen = {path: None}
        queue = [path]
        while queue and len(seen) <= MOST_MODULES:
            for module in self.read(queue.pop(0))[1]:
                if module not in seen:
                    if self.read(module)[0]:
                        return True
                    seen[module] = None
                    queue.append(module)
        return False

    def read(self, path: str) -> tuple[bool, list[str]]:
        """Whether a module may build the arguments of a trainer, and the modules of the project that it may import: those of a name in
        the folder that the import has, if it has one.
        """
        if path not in self._read:
            content = content_of(path)
            imported = [
                module
                for package, name in dict.fromkeys(imported_names(content))
                for folder, module in self.modules.get(name, ())
                if package in ("", folder) and module != path
            ]
            self._read[path] = has_marks(content), imported
        return self._read[path]


def imported_names(content: bytes) -> Iterator[tuple[str, str]]:
    """(last part of the package or empty, name) of each module that a program may import: `from a.b import c` names b and c."""
    import re

    for package, members, modules in re.findall(IMPORTS, content):
        for module in modules.split(b",") if modules else [package]:
            above, _, name = module.split(b" as ")[0].strip().decode("utf-8", "replace").rpartition(".")
            yield above.rpartition(".")[2], name
            for member in re.findall(rb"\w+", members):
                yield name, member.decode("utf-8", "replace")
