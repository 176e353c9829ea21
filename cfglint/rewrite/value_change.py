"""One value of a file before and after an edit, for reports."""

from __future__ import annotations

from cfglint.source.annotations import ConfigValue
from cfglint.source.change import DELETE, INSERT, RENAME, REPLACE, Change
from cfglint.source.document import SCALAR, Document, Node, Path, pointer
from cfglint.source.loaders import YamlLoader
from cfglint.source.python.edits import value_of
from cfglint.source.record import Record


class ValueChange(Record):
    """One changed value: None before means that the key was added, None after that it was removed."""

    file: str
    key: str
    before: ConfigValue
    after: ConfigValue


def value_changes(document: Document, change: Change) -> list[ValueChange]:
    """The changed values of a change to a document's tree; a renamed key is one removed and one added."""
    if change.kind == INSERT:
        return [ValueChange(document.path, pointer((*change.path, change.key)), None, plain(change.text, document))]
    before = value_at(document, change.path)
    if change.kind == REPLACE:
        return [ValueChange(document.path, pointer(change.path), before, plain(change.text, document))]
    removed = ValueChange(document.path, pointer(change.path), before, None)
    if change.kind == DELETE:
        return [removed]
    return [removed, ValueChange(document.path, pointer((*change.path[:-1], change.key)), None, before)]


def combined_changes(changes: list[tuple[Document, Change]]) -> list[ValueChange]:
    """The changes of one fix, combined: replacing a value and renaming its key is one removal and one addition."""
    found: list[ValueChange] = []
    replaced: dict[tuple[str, Path], ValueChange] = {}
    for document, change in changes:
        values = value_changes(document, change)
        where = document.path, change.path
        if change.kind == RENAME and where in replaced:
            earlier = replaced[where]
            found.remove(earlier)
            values[1].after = earlier.after
        elif change.kind == REPLACE:
            replaced[where] = values[0]
        found += values
    return found


def count_in(text: str) -> int | str:
    """A number of a launch line as such."""
    return int(text) if text.isdigit() else text


def value_at(document: Document, path: Path) -> ConfigValue:
    """The value at a path as plain data; a list or mapping as its source."""
    node = document.find(path)[1]
    if node is None:
        return None
    if node.kind != SCALAR or (not node.raw and document.is_call):
        return document.text[node.start : node.end]
    return node.raw if node.style else plain(node.raw, document)


def plain(text: str, document: Document) -> ConfigValue:
    """The number, boolean or null that an unquoted string means in the document's syntax, else the string.

    YAML is parsed as by PyYAML: `2e-5` is a string there, `2.0e-5` a number.
    """
    if document.syntax == "yaml" and not text.startswith(('"', "'", "[", "{")):
        return YamlLoader("PyYAML").scalar(Node(SCALAR, 0, len(text), text))
    return value_of(text)
