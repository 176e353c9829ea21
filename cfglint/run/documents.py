"""Files become documents: the kind of each, and the files that it names."""

from __future__ import annotations

import os

from cfglint.frameworks import detect, framework, related_tool, takes_arguments
from cfglint.frameworks.base import MAYBE, NO_MATCH
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.launch.kinds import ENGINE, LAUNCH
from cfglint.run.paths import SECTIONS, MissingSectionError, Request, UnknownKindError, is_script
from cfglint.source import files
from cfglint.source.annotations import Sequence
from cfglint.source.document import MAPPING, SCALAR, Document, Path
from cfglint.source.file_source import FileSource, missing
from cfglint.source.limits import MAX_SIZE
from cfglint.source.sections import found as in_section

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.source.hydra.folders import ConfigGroups

OPENED = (("accelerator_config",), ("fsdp_config",), ("accelerate_config",))  # keys whose string is opened as a file, whatever its suffix
DEEPSPEED = (("deepspeed",), ("deepspeed_config", "deepspeed_config_file"))  # keys whose string is a file or encoded JSON
WORTHWHILE = 10_000  # minimum characters of a named file for the quick scan, whose parsers must be imported
SHORT = 200  # characters of a file that may be the beginning of a longer one
FEW = 20  # named files; with more of them every file is worth the import
MOST_NAMES = 1000  # keys of an unrecognised file that are compared with the known kinds
TYPOGRAPHIC_QUOTES = ("\u201c", "\u201d", "\u2018", "\u2019")  # hjson takes them for letters of a key
OF_TRAINERS = ("huggingface", "trl")  # kinds with keys that the own configs of programs have as well
MOST_FOLDERS, MOST_PROGRAMS = 4, 100  # that are looked at for a program that loads a file


class Recognition:
    """Tells of which kind a file is."""

    def __init__(self, source: FileSource, request: Request) -> None:
        self.source = source
        self.request = request
        self._groups: dict[str, ConfigGroups] = {}  # by the top of their project

    def is_composed(self, path: str, text: str, kind: str) -> bool:
        """Whether Hydra reads a file, and no parser of a trainer: it has a defaults list, or is an option of a group and was not named."""
        if self.request.kind or not framework(kind).argument_classes() or self.request.kind_by_pattern(path) is not None:
            return False
        if path in self.request.named and "defaults:" not in text:
            return False
        from cfglint.source.hydra.folders import ConfigGroups, groups_of

        if groups_of(path, text):
            return True
        if path in self.request.named:
            return False
        root = self.source.root(path)
        if root not in self._groups:
            self._groups[root] = ConfigGroups(self.source.project(path, root, self.request.named))
        return self._groups[root].has_option(path.replace(os.sep, "/"))

    def is_unrelated(self, path: str, text: str) -> bool:
        """Whether a file is certainly of no kind, decided without parsing it; such a file is counted."""
        if self.request.kind or self.request.section or self.request.kind_by_pattern(path) is not None:
            return False
        is_named, is_long = path in self.request.named, len(text) > SHORT  # else it may be what is left of one
        one_of_few = is_named and len(self.request.named) <= FEW
        if not (WORTHWHILE if one_of_few else 0) <= len(text) <= MAX_SIZE:
            return False
        from cfglint.run.quick_scan import unrelated_keys

        names = unrelated_keys(path, text, files.syntax_by_name(path), SECTIONS, is_long and not is_named)
        if names is None or (not names and (one_of_few or not is_long)):
            return False
        self.count_unrecognized(path, names)
        return True

    def count_unrecognized(self, path: str, names: list[str]) -> None:
        """Count a file of no kind, with its keys if it was named on the command line; files of a branch comparison are not counted."""
        if path in self.request.named:
            self.request.stats.unrecognized_named.append((path, names[:MOST_NAMES]))
        elif self.request.are_named:
            self.request.stats.unrecognized += 1

    def look(self, path: str, content: tuple[str, bool] | None) -> tuple[Document, str | None]:
        document = self.load(path, self.request.kind, content)
        if missing(document):
            self.request.stats.unreadable.append(path)
            return document, self.request.kind
        if self.request.section and document.root is None and not document.problems:
            if path in self.request.named:
                raise MissingSectionError(path, self.request.section)
            self.request.stats.unrecognized += 1
            return document, None
        if self.request.kind == LAUNCH and not is_script(path):
            self._pass_over(document, NO_MATCH)
            return document, None
        if self.request.kind:
            return document, self.request.kind
        kind = self.request.kind_by_pattern(path)
        if kind is not None:
            return self.load(path, kind, content), kind
        kind, clarity = detect(document)
        if kind is None and not self.request.section:
            document, kind, clarity = self._look_closer(document, clarity)
        if kind in OF_TRAINERS and self._is_of_own_program(path):
            kind, clarity = None, NO_MATCH
        if kind is None:
            self._pass_over(document, clarity)
            return document, None
        return self.parsed_as(kind, document, content), kind

    def parsed_as(self, kind: str, document: Document, content: tuple[str, bool] | None = None) -> Document:
        """The document, loaded once more if files of its kind have another syntax than its name tells."""
        return document if framework(kind).syntax(document.path) == document.syntax else self.load(document.path, kind, content)

    def _is_of_own_program(self, path: str) -> bool:
        """Whether a program beside a file, or in a folder above it, loads it by its name, and trains without a trainer."""
        from cfglint.run.quick_scan import loads_itself

        root = self.source.root(path)
        folder, project = os.path.dirname(path) or os.curdir, self.source.project(path, root, self.request.named)
        for _ in range(MOST_FOLDERS):
            programs = [name for name in project.names(folder) if name.endswith(".py")][:MOST_PROGRAMS]
            texts = (project.read(os.path.join(folder, program)) or "" for program in programs)
            if any(loads_itself(text, os.path.basename(path)) for text in texts):
                return True
            if os.path.normpath(folder) == os.path.normpath(root):
                break
            folder = os.path.normpath(os.path.join(folder, os.pardir))
        return False

    def _look_closer(self, document: Document, clarity: int) -> tuple[Document, str | None, int]:
        """Examine a document that its top-level keys do not tell: by a section of it, or by the keys on the lines of a broken file."""
        root = document.root
        if not document.problems and root is not None and root.kind == MAPPING:
            for key in SECTIONS:
                if document.find((key,))[1] is not None:
                    section = in_section(document, (key,))
                    kind, clear = detect(section)
                    if kind and framework(kind).argument_classes():
                        return section, kind, clear
            if not any(key.raw.startswith(TYPOGRAPHIC_QUOTES) for key, _ in root.pairs()):
                return document, None, clarity
        elif not document.text.strip() or (not document.problems and (root is None or root.kind != SCALAR)):
            return document, None, clarity
        from cfglint.run.broken import kind_of_text

        text = document.text
        if any(problem.kind in ("encoding", "control") for problem in document.problems):
            try:  # also what is behind a byte that is not UTF-8
                text = self.source.read_bytes(document.path).decode("utf-8", "replace")
            except files.FileProblem:
                text = document.text
        kind, clear = kind_of_text(document.path, text, document.syntax)
        return document, kind, max(clarity, clear)

    def _pass_over(self, document: Document, clarity: int) -> None:
        """Count a file that is not checked."""
        path = document.path
        if path in self.request.named:
            from cfglint.run.broken import key_names

            self.count_unrecognized(path, key_names(document))
            return
        name = related_tool(document)
        if name:
            self.request.stats.related_tools[name] = self.request.stats.related_tools.get(name, 0) + 1
        elif clarity == MAYBE:
            self.request.stats.unclear.append(path)
        elif self.request.are_named and (document.root is None or bool(document.problems) or document.root.kind == SCALAR):
            self.request.stats.remnants.append(path)
        else:
            self.count_unrecognized(path, [])

    def load(self, path: str, kind: str | None, content: tuple[str, bool] | None = None) -> Document:
        document = self.source.document(path, framework(kind).syntax(path) if kind else None, content)
        return in_section(document, self.request.section) if self.request.section else document

    def declared(self, paths: list[str], before: Sequence[str] = ()) -> tuple[list[Document], list[str]]:
        """The documents of paths that are declared to be one run, and their kinds; `before` are the kinds of files that the run has."""
        documents: list[Document] = []
        kinds = [*before]
        for path in paths:
            document = self.load(path, self.request.kind if not kinds else None)
            if missing(document):
                self.request.stats.unreadable.append(path)
            elif self.request.section and document.root is None and not document.problems:
                raise MissingSectionError(path, self.request.section)
            if not kinds and self.request.kind:
                kind: str | None = self.request.kind if self.request.kind != LAUNCH or is_script(path) else None
            else:
                kind = detect(document)[0] or next(iter(kinds), None)
            if kind is None:
                raise UnknownKindError(path)
            documents.append(self.parsed_as(kind, document))
            kinds.append(kind)
        return documents, kinds[len(before) :]


class References:
    """Follows references to files. `named` are the files of the command line, which may be anywhere."""

    def __init__(self, source: FileSource, facts: LaunchFacts, named: set[str]) -> None:
        self.source = source
        self.facts = facts
        self.named = named

    def followed(self, documents: list[Document], kinds: list[str]) -> tuple[list[Document], list[str]]:
        """(documents, kinds) with the files that the documents name, each after the first one that names it."""
        of_line = ""  # the DeepSpeed file that `--args` passes to the program of a trainer file
        if self.facts.arguments and takes_arguments(kinds[0]):
            from cfglint.launch.overrides import ARGS

            passed = [override for override in self.facts.overrides if override.origin == ARGS and override.key == ENGINE]
            names = [override.texts[0] for override in passed if len(override.texts) == 1]
            if (
                names
                and names[-1]
                and self.source.is_file(names[-1])
                and not self.source.leads_out(names[-1], documents[0].path, self.named)
            ):
                of_line = names[-1]
        for document in [*documents]:  # no framework follows references in a file that is itself referenced
            self._follow(document, documents, kinds, bool(of_line) and document is documents[0])
        if of_line and all(self.source.identity(of_line) != self.source.identity(each.path) for each in documents):
            documents.append(self.source.document(of_line, framework(ENGINE).syntax(of_line)))
            kinds.append(ENGINE)
        return documents, kinds

    def _follow(self, document: Document, documents: list[Document], kinds: list[str], line_wins: bool) -> None:
        """Add the files that one document names; `line_wins`: the DeepSpeed file on the launch line takes precedence."""
        position = documents.index(document)
        after = position + 1
        same: list[str] = []  # the identities of the documents, computed when a file names another
        for key, name, kind in framework(kinds[position]).references(document):
            path = None if line_wins and key == (ENGINE,) else self._path(document, key, name)
            if path is None:
                continue
            same = same or [self.source.identity(each.path) for each in documents]
            identity = self.source.identity(path)
            known = same.index(identity) if identity in same else None
            if known is None:
                documents.insert(after, self.source.document(path, framework(kind).syntax(path)))
                kinds.insert(after, kind)
                same.insert(after, identity)
                after += 1
            elif known != position:
                kinds[known] = kind

    def _path(self, document: Document, key: Path, name: str) -> str | None:
        """The path of a file that a key names; None, after recording it, for one that is missing or outside the project."""
        path = self._locate(name, document.path)
        is_written = False
        if document.is_call:
            from cfglint.source.python.writes import may_write

            is_written = may_write(document, name, is_there=path is not None)
        if path is not None and is_written:  # what is there now is not what the program reads
            document.rewritten.append(name)
            return None
        if path is None:
            if key in DEEPSPEED:
                from cfglint.launch.accelerate_options import refused_config

                is_required = bool(refused_config(name))
            else:
                is_required = key in OPENED or name.lower().endswith(files.EXTENSIONS)
            # A relative path without placeholders and variables is in the project.
            is_in_project = not os.path.isabs(name) and not any(mark in name for mark in "${}<>~")
            if is_required and is_in_project:
                if is_written:
                    document.rewritten.append(name)
                else:
                    document.missing.append((key, name))
        elif self.source.leads_out(path, document.path, self.named):
            document.outside.append((key, name))
            return None
        return path

    def _locate(self, name: str, origin: str) -> str | None:
        """The path of a file that another file names: relative to that, to a parent folder in the project, or to the working directory."""
        adjacent = files.spelled_like(origin, os.path.normpath(os.path.join(os.path.dirname(origin), name)))
        if self.source.is_file(adjacent):
            return adjacent
        if not os.path.isabs(name):
            from cfglint.source.root import folders_upwards

            for folder in folders_upwards(origin)[1:]:
                path = files.spelled_like(origin, os.path.normpath(os.path.join(folder, name)))
                if self.source.is_file(path):
                    return path
        return name if self.source.is_file(name) else None
