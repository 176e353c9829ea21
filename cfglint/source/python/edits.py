"""Changes of a call's keyword arguments as edits of the program's source."""

from __future__ import annotations

import json

from cfglint.source.annotations import Any, ConfigMapping, ConfigValue
from cfglint.source.change import INSERT, RENAME, REPLACE, Change, Edit, EditRefused
from cfglint.source.document import Node
from cfglint.source.files import NOTEBOOK
from cfglint.source.load_results import copied
from cfglint.source.python.call import CallDocument

WORDS = {"true": "True", "false": "False", "null": "None"}


def edits_of(document: CallDocument, changes: list[Change]) -> list[Edit]:
    """The edits that make all changes; raises EditRefused for a value that is not written as a literal."""
    edits = sorted((edit_of(document, change) for change in changes), key=lambda edit: edit.start)
    if document.path.endswith(NOTEBOOK):
        edits = [Edit(edit.start, edit.end, json.dumps(edit.text, ensure_ascii=False)[1:-1]) for edit in edits]
    return edits


def edit_of(document: CallDocument, change: Change) -> Edit:
    if change.kind == INSERT:
        return inserted(document, change)
    key, node = document.find(change.path)
    name = str(change.path[-1]) if change.path else ""
    if key is None or node is None:
        raise EditRefused("there is no such argument in the call", document.extent[0])
    if change.kind == REPLACE:
        if change.path[0] not in document.literal:
            place = f"{document.path}:{document.position(node.start)[0]}"
            raise EditRefused(f"`{name}` is computed by the program ({place})", node.start)
        return Edit(node.start, node.end, WORDS.get(change.text, change.text))
    written = document.source(key.start, key.end)
    if key.raw not in (written, written[1:-1]):
        raise EditRefused(f"`{name}` is passed by position and not edited", key.start)
    if change.kind == RENAME:
        return Edit(key.start, key.end, written.replace(key.raw, change.key))
    return removed(document, key, argument_end(document, key, node))


def inserted(document: CallDocument, change: Change) -> Edit:
    """Add an argument after the last one, on a line of its own if that one has its own and the file is no notebook."""
    mapping = document.find(change.path)[1]
    pairs = mapping.pairs() if mapping is not None else []
    if change.path:
        pairs = [pair for pair in pairs if change.path[0] in document.literal]
    elif any(not key.style for key, _ in pairs):
        pairs = [pair for pair in pairs if pair[0].raw in document.ends]
    if not pairs and not document.values and not change.path:
        raise EditRefused(f"`{change.key}` is an argument of the program; pass it on the line that starts it", document.extent[0])
    if not pairs:
        raise EditRefused("there is no argument after which another one could be added", document.extent[0])
    key, node = max(pairs, key=lambda pair: pair[0].start)
    end = argument_end(document, key, node)
    line = document.text.rfind("\n", 0, key.start)
    before = document.text[line + 1 : key.start]
    separator = ",\n" + before if not before.strip() and line >= 0 else ", "
    name = f'"{change.key}": ' if key.style else f"{change.key}="
    return Edit(end, end, f"{separator}{name}{WORDS.get(change.text, change.text)}")


def removed(document: CallDocument, key: Node, end: int) -> Edit:
    """Remove an argument with the comma and the spaces after it, and its line if it has one of its own."""
    text, after = document.text, end
    while text[after : after + 1] in (" ", "\t"):
        after += 1
    if text[after : after + 1] != ",":
        start = text.rindex(",", 0, key.start) if "," in text[document.extent[0] : key.start] else key.start
        return Edit(start, end, "")
    after += 1
    line = text.rfind("\n", 0, key.start) + 1
    newline = text.find("\n", after)
    if not text[line : key.start].strip() and newline >= 0 and not text[after:newline].strip():
        return Edit(line, newline + 1, "")
    while text[after : after + 1] in (" ", "\t"):
        after += 1
    return Edit(key.start, after, "")


def argument_end(document: CallDocument, key: Node, node: Node) -> int:
    """The end of the argument whose name is at a place: its value may be a name whose literal is elsewhere."""
    if key.style:  # a key of a mapping, which is one literal
        return node.end
    if key.raw not in document.ends:
        raise EditRefused("the argument is passed by position and not edited", key.start)
    return document.ends[key.raw]


def checked(document: CallDocument, text: str, changes: list[Change]) -> CallDocument:
    """The call in the edited source, in which only the arguments of the changes may differ."""
    if document.again is None:
        from cfglint.source.dataclass_fields import parsed
        from cfglint.source.python.notebook import code_of

        code = code_of(text) if document.path.endswith(NOTEBOOK) else text
        if code is None or parsed(code) is None:
            raise EditRefused("the edited file would not parse", document.extent[0])
        return document
    after = document.again(text)
    expected = copied(document.values)
    for change in changes:
        inside: Any = expected
        for step in change.path if change.kind == INSERT else change.path[:-1]:
            inside = inside[step]
        if change.kind == INSERT:
            inside[change.key] = value_of(change.text)
            continue
        value = inside.pop(change.path[-1], None)
        if change.kind == REPLACE:
            inside[change.path[-1]] = value_of(change.text)
        elif change.kind == RENAME:
            inside[change.key] = value
    refuse_other_changes(document, after, expected)
    return after


def refuse_other_changes(before: CallDocument, after: CallDocument, expected: ConfigMapping) -> None:
    """Raise EditRefused if an edit gives a call other values than the expected ones, or changes one that does not get the same target."""
    for name in {**expected, **after.values}:
        if name not in expected or name not in after.values or after.values[name] != expected[name]:
            raise EditRefused(f"the edit would change `{name}` as well", before.extent[0])
    for number, other in before.others.items():
        if number not in before.partners and after.others[number].values != other.values:
            line = other.position(other.extent[0])[0]
            raise EditRefused(f"the edit would change the call of line {line} as well", before.extent[0])


def value_of(text: str) -> ConfigValue:
    try:
        value: ConfigValue = json.loads(text)
        return value
    except ValueError:
        return text
