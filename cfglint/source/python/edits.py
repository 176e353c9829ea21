"""Changes of a call's keyword arguments as edits of the program's text."""

from __future__ import annotations

import ast
import json

from cfglint.source import edit
from cfglint.source.edit import Change, Edit, EditRefused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cfglint.source.document import Node
    from cfglint.source.python.call import CallDocument

WORDS = {"true": "True", "false": "False", "null": "None"}


def edits_of(document: CallDocument, changes: list[Change]) -> list[Edit]:
    """The edits that make all changes; raises EditRefused for a value that is not written as a literal."""
    return sorted((edit_of(document, change) for change in changes), key=lambda each: each.start)


def edit_of(document: CallDocument, change: Change) -> Edit:
    """The edit that makes one change."""
    if change.kind == edit.INSERT:
        if change.path:
            raise EditRefused("a key inside of a value of a call is not added", document.extent[0])
        return inserted(document, change.key, python_text(change.text))
    key, node = document.find(change.path)
    name = str(change.path[0])
    if key is None or node is None or len(change.path) != 1:
        raise EditRefused("only whole keyword arguments of a call are edited", document.extent[0])
    if change.kind == edit.REPLACE:
        if name not in document.literal:
            raise EditRefused(f"the value of `{name}` is computed by the program and not edited", node.start)
        return Edit(node.start, node.end, python_text(change.text))
    if document.text[key.start : key.end] != name:
        raise EditRefused(f"`{name}` is given without its name and not edited", key.start)
    return Edit(key.start, key.end, change.key) if change.kind == edit.RENAME else removed(document, key)


def inserted(document: CallDocument, name: str, text: str) -> Edit:
    """A new keyword behind the last one, on a line of its own where that has one."""
    pairs = document.roots[0].pairs()
    if not pairs:
        raise EditRefused("the call has no keyword arguments to add one to", document.extent[0])
    key = max((key for key, _ in pairs), key=lambda each: each.start)
    end = argument_end(document, key)
    before = document.text[document.text.rfind("\n", 0, key.start) + 1 : key.start]
    separator = ",\n" + before if not before.strip() and document.text.rfind("\n", 0, key.start) >= 0 else ", "
    return Edit(end, end, f"{separator}{name}={text}")


def removed(document: CallDocument, key: Node) -> Edit:
    """A keyword argument with the comma and the blanks behind it, and its line where it has one of its own."""
    text, end = document.text, argument_end(document, key)
    after = end
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


def argument_end(document: CallDocument, key: Node) -> int:
    """Where the argument ends whose name is at a place: its value may be a name whose literal lies elsewhere."""
    from cfglint.source.dataclass_fields import parsed
    from cfglint.source.python.literals import Offsets

    tree, offsets = parsed(document.text), Offsets(document.text)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.keyword) and offsets.span(node)[0] == key.start:
            return offsets.span(node)[1]
    raise EditRefused("the argument is given without its name and not edited", key.start)


def python_text(text: str) -> str:
    """A value that is spelled for JSON as Python spells it."""
    return WORDS.get(text, text)


def checked(document: CallDocument, text: str, changes: list[Change]) -> CallDocument:
    """The call in the edited text, of whose arguments these and no others may have changed."""
    if document.again is None:
        raise EditRefused("this call cannot be read again", document.extent[0])
    after = document.again(text)
    expected = dict(document.values)
    for change in changes:
        if change.kind == edit.INSERT:
            expected[change.key] = value_of(change.text)
            continue
        value = expected.pop(change.path[0], None)
        if change.kind == edit.REPLACE:
            expected[change.path[0]] = value_of(change.text)
        elif change.kind == edit.RENAME:
            expected[change.key] = value
    if after.values != expected or after.others != document.others:
        raise EditRefused("the edit would change something else of this program too", document.extent[0])
    return after


def value_of(text: str) -> Any:
    """The value that a change spells."""
    try:
        return json.loads(text)
    except ValueError:
        return text
