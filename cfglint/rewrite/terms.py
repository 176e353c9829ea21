"""The batch keys of a run as terms of the batch equation: the edits that give them new values, and in which order they are tried."""

from __future__ import annotations

import re
from itertools import combinations, product

from cfglint.findings.setting import DEFAULT, OVERRIDE, Setting, integer
from cfglint.frameworks.base import Config
from cfglint.rewrite.value_change import ValueChange, value_at
from cfglint.run.templates import PLACEHOLDER
from cfglint.source import edit
from cfglint.source.annotations import Iterator
from cfglint.source.change import DELETE, INSERT, RENAME, REPLACE, Change, EditRefused
from cfglint.source.document import SCALAR, Document, Node, Path, Written, pointer
from cfglint.source.python.call import CallDocument
from cfglint.source.sections import file_document, in_file
from cfglint.source.shell.command import CommandDocument
from cfglint.source.spelling import spell

ASSIGNED = re.compile(r"^[ \t]*(?:export[ \t]+)?(\w+)=[\"']?(?:\$\{\w+:?[-=])?([1-9]\d{0,9})(?=[\"'}\s;#]|$)", re.MULTILINE)
MOST_VARIABLES = 32  # assignments of a script that are tried


class Term:
    """A batch key of a file: its role in the equation, and its new value; it may replace an `obsolete` key."""

    def __init__(self, config: Config, role: str, setting: Setting, value: int | str) -> None:
        self.config = config
        self.role = role
        self.setting = setting
        self.value = value
        self.obsolete: Setting | None = None
        if role in config.obsolete_batch_keys:
            obsolete = config.setting(config.obsolete_batch_keys[role])
            self.obsolete = obsolete if obsolete.key_node is not None else None

    @property
    def in_file(self) -> bool:
        """Whether the key is written; a value that a consumer fills in has no place."""
        override = self.setting.origin == OVERRIDE and self.setting.document is not None  # an argument of a launch line
        if self.setting.at_value is not self.setting:
            return True
        return (self.setting.written or override) and self.setting.node is not None

    @property
    def is_on_line(self) -> bool:
        """Whether a launch line gives the value."""
        document = self.setting.at_value.document
        return document is not None and document.is_command

    def changes(self) -> tuple[Document, list[Change]]:
        """The changes of a file that set the key: in place, as a new key, or instead of an obsolete one."""
        setting = self.setting.at_value
        document = setting.document or self.config.documents[0]
        path = in_file(document, setting.path)
        facts, node = self.config.facts, setting.node
        declared = facts.complete or facts.kind_given or document.is_command or document.is_call
        mark = PLACEHOLDER.fullmatch(node.raw.strip()) if self.in_file and not declared and node is not None else None
        if mark is not None:
            raise EditRefused(f"`{setting.name}` is the placeholder {mark[0]}, which is filled elsewhere and not edited", 0)
        if self.obsolete is not None:
            text, obsolete = spell(self.value, document), in_file(document, self.obsolete.path)
            if self.in_file:
                return file_document(document), [Change(REPLACE, path, text=text), Change(DELETE, obsolete)]
            return file_document(document), [Change(REPLACE, obsolete, text=text), Change(RENAME, obsolete, str(path[-1]))]
        if self.in_file:
            return file_document(document), [Change(REPLACE, path, text=spell(self.value, document, setting.node))]
        if setting.elsewhere is not None:
            document, path = setting.elsewhere.document, setting.elsewhere.path
        return file_document(document), [Change(INSERT, path[:-1], str(path[-1]), spell(self.value, document))]

    def value_changes(self) -> list[ValueChange]:
        setting = self.setting.at_value
        path = (setting.document or self.config.documents[0]).path
        before = self.setting.value
        if self.setting.origin == DEFAULT and setting.document is not None:  # of the program's own class
            before = value_at(setting.document, setting.path)
        place, added_to = setting.pointer, self.setting.elsewhere if not self.in_file else None
        if added_to is not None:
            path, place = added_to.document.path, pointer(added_to.path)
        found = [ValueChange(path, place, before if self.in_file else None, self.value)]
        if self.obsolete is not None:
            found.append(ValueChange(path, self.obsolete.pointer, self.obsolete.value, None))
        return found


class SourceTerm(Term):
    """A number that the program computes a batch key from: `number` is its new value, so that the key gets its own."""

    def __init__(self, term: Term, place: Written, number: int) -> None:
        super().__init__(term.config, term.role, term.setting, term.value)
        self.place = place
        self.number = number

    def changes(self) -> tuple[Document, list[Change]]:
        document, path = self.place.document, self.place.path
        return file_document(document), [
            Change(REPLACE, in_file(document, path), text=spell(self.number, document, document.find(path)[1]))
        ]

    def value_changes(self) -> list[ValueChange]:
        document, path = self.place.document, self.place.path
        is_variable = isinstance(document, CommandDocument) and path in document.around
        pointer = str(path[0]) if is_variable else Setting(path, None, document=document).pointer
        return [ValueChange(document.path, pointer, value_at(document, path), self.number)]


def sources_of(term: Term, batch: tuple[int, int | None]) -> Iterator[SourceTerm]:
    """The numbers that a key is computed from, each with the value that gives the key its new one if it is a factor or a divisor; `batch`
    are the global batch sizes after and before, one of which a script may compute its arguments from.
    """
    document, current, wanted = term.setting.document, integer(term.setting.value), integer(term.value)
    if len(term.setting.path) > 1 or current is None or not wanted or current == wanted:
        return
    name = str(term.setting.path[0])
    ratios = [(wanted, current), (current, wanted)]
    places: list[Written] = []
    if isinstance(document, CallDocument):
        places = [*document.computed.get(name, ())]
    elif isinstance(document, CommandDocument) and not document.edges.get(name):
        for variable, start, end in assigned_numbers(document.text[: document.extent[1]]):
            document.around[f"${variable}", start] = Node(SCALAR, start, end, document.text[start:end])
            places.append(Written(document, (f"${variable}", start)))
        ratios = [(batch[0], batch[1] or 0), *ratios]
    for place in places:
        before = integer(value_at(place.document, place.path))
        numbers = {
            before * numerator // divisor for numerator, divisor in ratios if before and divisor and before * numerator % divisor == 0
        }
        yield from (SourceTerm(term, place, number) for number in sorted(numbers) if number not in (0, before))


def assigned_numbers(text: str) -> list[tuple[str, int, int]]:
    """(name, start, end) of the numbers that a script assigns to variables: `N=4`, `N=${N:-4}`."""
    return [(match[1], *match.span(2)) for match in [*ASSIGNED.finditer(text)][:MOST_VARIABLES]]


def by_cost(there: list[Term], missing: list[Term]) -> Iterator[list[Term]]:
    """Sets of changes, one of each key at most: those without a new key first, then the smaller ones."""
    of_key: dict[tuple[int, Path], list[Term]] = {}
    for term in there:
        of_key.setdefault((id(term.setting.document), term.setting.path), []).append(term)
    for new in range(len(missing) + 1):
        for added in combinations(missing, new):
            for size in range(len(of_key) + 1):
                for changed in combinations(of_key.values(), size):
                    yield from ([*replaced, *added] for replaced in product(*changed))


def texts_of(chosen: list[Term]) -> dict[str, str]:
    """The new contents of the files; raises EditRefused. The calls of a program are documents of their own."""
    of_files: dict[str, dict[int, tuple[Document, list[Change]]]] = {}
    for term in chosen:
        document, changes = term.changes()
        of_files.setdefault(document.path, {}).setdefault(id(document), (document, []))[1].extend(changes)
    texts: dict[str, str] = {}
    for path, parts in of_files.items():
        first, *others = parts.values()
        edits = (each for part in parts.values() for each in edit.edits(*part))
        texts[path] = edit.edited(first[0].text, edits) if others else edit.apply(*first)
    return texts
