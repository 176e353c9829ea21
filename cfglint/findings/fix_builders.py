"""Functions that build the fixes of rules from settings; those of one change are in `frameworks/remedies.py`."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR, Diagnostic, FileEdit, Fix
from cfglint.findings.setting import Setting
from cfglint.source import edit, sections
from cfglint.source.annotations import ChangeKind, ConfigValue, TypeAlias
from cfglint.source.change import DELETE, INSERT, RENAME, REPLACE, Change, Edit, EditRefused
from cfglint.source.document import MAPPING, SCALAR, Document, Node
from cfglint.source.spelling import spell, spell_key
from cfglint.source.tree_edits import moved_lines

Part: TypeAlias = tuple[Document, Change] | None


def outside(parts: list[tuple[Document, Change | Edit]], title: str, safe: bool) -> Fix | None:
    """One fix of edits, and of changes of calls and commands that may be no documents of the run; None if one cannot be made."""
    try:
        made = [
            (document, each) for document, part in parts for each in ([part] if isinstance(part, Edit) else edit.edits(document, [part]))
        ]
    except EditRefused:
        return None
    edits = sorted(
        (FileEdit(document.path, each.start, each.end, each.text) for document, each in made), key=lambda each: (each.file, each.start)
    )
    return Fix(title, edits, safe, [], of=parts)


def move(setting: Setting, document: Document, path: tuple[str | int, ...], title: str, safe: bool) -> Fix | None:
    """Move a key and its value, as written, to another path of the file; None if that is taken, or its section is not a mapping.

    None, too, if the file is not that of the setting. Missing sections of the path are added.
    """
    if setting.document is None or setting.node is None or setting.document.path != document.path:
        return None
    section: tuple[str | int, ...] = ()
    while len(section) < len(path) - 1 and document.find(path[: len(section) + 1])[1] is not None:
        section = path[: len(section) + 1]
    parent = document.find(section)[1]
    if parent is None or parent.resolved().kind != MAPPING or document.find(path)[1] is not None:
        return None
    text = source_text(setting, parent)
    for name in reversed(path[len(section) + 1 :]):
        text = f"{{{spell_key(str(name), document)}: {text}}}"
    return several([removed(setting), change_in_file(document, INSERT, section, str(path[len(section)]), text)], title, safe)


def source_text(setting: Setting, parent: Node) -> str:
    """The source of a written value, its lines indented for another mapping; a YAML block becomes a flow collection."""
    assert setting.document is not None
    assert setting.node is not None
    node, text = setting.node, setting.document.text
    if node.style == "block" or (node.kind == SCALAR and node.style and node.style in "|>"):
        return spell(setting.value, setting.document)
    return moved_lines(text, node, parent)


def replaced(setting: Setting, value: ConfigValue) -> Part:
    """The change that replaces a written value; None for a number that JSON cannot hold."""
    setting = setting.at_value
    if setting.document is None or setting.node is None:
        return None
    if setting.document.syntax == "json" and isinstance(value, float) and not abs(value) < float("inf"):
        return None

    return change_in_file(setting.document, REPLACE, setting.path, text=spell(value, setting.document, setting.node))


def removed(setting: Setting) -> Part:
    """The change that removes a key and its value."""
    return change_of_key(setting, DELETE)


def renamed(setting: Setting, key: str) -> Part:
    return change_of_key(setting, RENAME, key)


def inserted(document: Document, path: tuple[str | int, ...], value: ConfigValue) -> Part:
    """The change that adds a key to an existing mapping."""
    return change_in_file(document, INSERT, path[:-1], str(path[-1]), spell(value, document))


def change_of_key(setting: Setting, kind: ChangeKind, key: str = "") -> Part:
    """A change where the key of a setting is written; None if it is written more than once."""
    setting = setting.at_key
    if setting.document is None or setting.key_node is None:
        return None
    mapping = setting.document.find(setting.path[:-1])[1]
    pairs = mapping.resolved().pairs() if mapping is not None else []
    if sum(each.raw == setting.path[-1] for each, _ in pairs) > 1:  # without the last one, an earlier one would take effect
        return None
    return change_in_file(setting.document, kind, setting.path, key)


def change_in_file(document: Document, kind: ChangeKind, path: tuple[str | int, ...], key: str = "", text: str = "") -> Part:
    return sections.file_document(document), Change(kind, sections.in_file(document, path), key, text)


def several(parts: list[Part], title: str, safe: bool) -> Fix | None:
    """One fix that makes all the changes, each on the result of the one before; None if one is missing or cannot be made."""
    by_path: dict[str, tuple[Document, list[Change]]] = {}
    for part in parts:
        if part is None:
            return None
        document, change = part
        by_path.setdefault(document.path, (document, []))[1].append(change)
    try:
        edits = [
            FileEdit(path, each.start, each.end, each.text)
            for path, (document, changes) in by_path.items()
            for each in edit.edits(document, changes)
        ]
    except EditRefused:
        return None
    return Fix(title, edits, safe, [(path, change) for path, (_, changes) in by_path.items() for change in changes])


def unsafe_because(diagnostic: Diagnostic) -> str:
    """Why the fix of a finding is not safe."""
    if diagnostic.fix is not None and diagnostic.fix.by_release:
        return "it depends on the release, which `--target` specifies"
    return "it is a guess" if diagnostic.severity == ERROR else "it changes what the run does"
