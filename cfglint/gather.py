"""From paths to runs: which files are ours, of which kind, and which belong together."""

from __future__ import annotations

import os

from cfglint.frameworks import framework, recognise, relative
from cfglint.frameworks.base import UNCLEAR
from cfglint.run import Run
from cfglint.source import files
from cfglint.source.document import Document, Problem
from cfglint.source.parse import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cfglint.frameworks.base import Facts
    from cfglint.versions import Found

EXTENSIONS = (".yaml", ".yml", ".json", ".jsonc", ".hjson")


class Tally:
    """What became of the files that were looked at."""

    __slots__ = ("checked", "relatives", "strangers", "targets", "unclear", "unreadable")

    def __init__(self) -> None:
        self.checked = 0
        self.strangers = 0
        self.unclear: list[str] = []
        self.relatives: dict[str, int] = {}
        self.unreadable: list[str] = []  # paths that could not be opened: exit status 2
        self.targets: dict[str, None] = {}  # versions that files of the repository gave: `transformers 4.57.1 (uv.lock)`


def load(path: str, syntax: str | None = None, text: str | None = None) -> Document:
    """The document of a file, or of a text that stands for it; what keeps it from being read is its problem."""
    bom = False
    syntax = syntax or ("json" if path.lower().endswith((".json", ".jsonc", ".hjson")) else "yaml")
    if text is None:
        try:
            text, bom, _ = files.read(path)
        except files.FileProblem as problem:
            document = Document(path, "", syntax)
            document.problems.append(Problem(0, 0, str(problem), problem.kind))
            return document
    return parse(path, text, syntax, bom)


def missing(document: Document) -> bool:
    """Whether there is no such file, or it may not be opened: cfglint could not do its job."""
    return any(problem.kind == "unreadable" for problem in document.problems)


class Gathering:
    """Runs from the paths of a command line: every file is its own run, with the files that it names."""

    def __init__(self, facts: Facts, kind: str | None = None, section: tuple[str, ...] = ()) -> None:
        self.facts = facts
        self.kind = kind
        self.section = section
        self.tally = Tally()
        self.folders: dict[str, dict[str, list[Found]]] = {}  # what they say of versions, for runs to share

    def one(self, paths: list[str], texts: dict[str, str] | None = None) -> Run:
        """All the paths as one run."""
        documents, kinds = self._declared(paths, texts or {})
        return self._run(documents, kinds)

    def each(self, paths: list[str], texts: dict[str, str] | None = None) -> Iterator[tuple[int, Run]]:
        """(position, run) for every file of the paths that is ours; a file that another one names is in that one's run."""
        taken: set[str] = set()
        waiting: list[tuple[int, str]] = []
        for index, path in enumerate(self._expanded(paths)):
            document, kind = self._look(path, (texts or {}).get(path))
            if kind is None:
                continue
            if framework(kind).referable and path not in (texts or {}):
                waiting.append((index, path))
                continue
            documents, kinds = self._with_references([document], [kind])
            taken.update(os.path.realpath(each.path) for each in documents)
            yield index, self._run(documents, kinds)
        for index, path in waiting:
            if os.path.realpath(path) not in taken:
                document, kind = self._look(path, None)
                if kind is not None:
                    yield index, self._run(*self._with_references([document], [kind]))

    def _expanded(self, paths: list[str]) -> Iterator[str]:
        for path in paths:
            if path != "-" and os.path.isdir(path):
                for found in files.walk(path):
                    if found.lower().endswith(EXTENSIONS):
                        yield found
            else:
                yield path

    def _look(self, path: str, text: str | None) -> tuple[Document, str | None]:
        document = self._load(path, text, self.kind)
        if missing(document):
            self.tally.unreadable.append(path)
            return document, self.kind
        if self.kind:
            return document, self.kind
        kind, clarity = recognise(document)
        if kind is None:
            name = relative(document)
            if name:
                self.tally.relatives[name] = self.tally.relatives.get(name, 0) + 1
            elif clarity == UNCLEAR:
                self.tally.unclear.append(path)
            else:
                self.tally.strangers += 1
            return document, None
        if framework(kind).syntax(path) != document.syntax:
            document = self._load(path, text, kind)
        return document, kind

    def _load(self, path: str, text: str | None, kind: str | None) -> Document:
        document = load(path, framework(kind).syntax(path) if kind else None, text)
        return in_section(document, self.section) if self.section else document

    def _declared(self, paths: list[str], texts: dict[str, str]) -> tuple[list[Document], list[str]]:
        documents: list[Document] = []
        kinds: list[str] = []
        for path in paths:
            document = self._load(path, texts.get(path), self.kind if not kinds else None)
            if missing(document):
                self.tally.unreadable.append(path)
            kind = self._kind_in_run(document, kinds)
            if framework(kind).syntax(path) != document.syntax:
                document = self._load(path, texts.get(path), kind)
            documents.append(document)
            kinds.append(kind)
        return self._with_references(documents, kinds)

    def _kind_in_run(self, document: Document, before: list[str]) -> str:
        if not before and self.kind:
            return self.kind
        found = recognise(document)[0]
        if found:
            return found
        if before:
            return before[0]
        raise UnknownKind(document.path)

    def _with_references(self, documents: list[Document], kinds: list[str]) -> tuple[list[Document], list[str]]:
        there = {os.path.realpath(document.path): position for position, document in enumerate(documents)}
        position = 0
        while position < len(documents):
            document = documents[position]
            after = position + 1
            for _, name, kind in framework(kinds[position]).references(document):
                path = locate(name, document.path)
                if path is None:
                    continue
                known = there.get(os.path.realpath(path))
                if known is not None:
                    kinds[known] = kind
                    continue
                documents.insert(after, load(path, framework(kind).syntax(path)))
                kinds.insert(after, kind)
                there = {os.path.realpath(each.path): index for index, each in enumerate(documents)}
                after += 1
            position += 1
        return documents, kinds

    def _run(self, documents: list[Document], kinds: list[str]) -> Run:
        self.tally.checked += len(documents)
        return Run(documents, kinds, self._facts(documents[0], kinds))

    def _facts(self, document: Document, kinds: list[str]) -> Facts:
        """The facts with the versions that the file's repository tells, where nobody named a target."""
        packages = [package for kind in dict.fromkeys(kinds) for package in framework(kind).packages()]
        if all(package in self.facts.target for package in packages):
            return self.facts
        from cfglint.versions import Repositories

        facts = Repositories(self.folders).complete(self.facts, document.path, packages)
        for package, said_by in facts.target_from.items():
            self.tally.targets[f"{package} {facts.target[package]} ({said_by})"] = None
        return facts


class UnknownKind(Exception):
    """The kind of a file of a run cannot be told, and none was given."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path}: cannot tell what kind of file this is; say it with --kind deepspeed|huggingface|neox")
        self.path = path


def locate(name: str, origin: str) -> str | None:
    """The path of a file that another names: relative to that one, then to the working directory."""
    for base in (os.path.dirname(origin), ""):
        path = os.path.join(base, name)
        if os.path.isfile(path):
            return path
    return None


def in_section(document: Document, section: tuple[str, ...]) -> Document:
    """The document with the mapping under a key as its root; a problem where there is none."""
    node = document.find(section)[1]
    if node is None:
        document.problems.append(Problem(0, 0, f"there is no `{'.'.join(section)}` in this file", "value"))
        document.roots = []
    else:
        document.roots = [node.resolved()]
    return document
