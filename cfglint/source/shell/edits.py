"""Changes of a command's arguments as edits of the script: the literal on the line, or the only assignment of its variable."""

from __future__ import annotations

import re

from cfglint.source.change import INSERT, RENAME, REPLACE, Change, Edit, EditRefused
from cfglint.source.document import Node
from cfglint.source.shell.command import CommandDocument
from cfglint.source.shell.placed_text import EMPTY

OF_CALLER = re.compile(r"[ \t]+\"?\$(?:[@*]|\{@\})\"?\Z")
PLAIN = "_./:=,+-@%^"
MOST_NAMED = 3


def edits_of(document: CommandDocument, changes: list[Change]) -> list[Edit]:
    """The edits that make all changes; raises EditRefused for a value that is not a literal in the script."""
    return sorted((edit_of(document, change) for change in changes), key=lambda edit: edit.start)


def edit_of(document: CommandDocument, change: Change) -> Edit:
    if change.kind == INSERT:
        return inserted(document, change.key, unquoted(change.text))
    key, node = document.find(change.path)
    if change.path in document.around and node is not None and change.kind == REPLACE:
        return Edit(node.start, node.end, shell_word(unquoted(change.text)))
    name = str(change.path[0]) if len(change.path) == 1 else ""
    if key is None or node is None or not name:
        raise EditRefused("there is no such argument on the launch line", document.extent[0])
    if change.kind == REPLACE:
        text = unquoted(change.text)
        if not document.edges.get(name) or document.text[node.start : node.end] != node.raw:
            line = document.position(node.start)[0]
            what = f"`{name if name.isupper() else f'--{name}'}`"
            raise EditRefused(f"the value of {what} in line {line} is computed by the script and not edited", node.start)
        quote = document.text[node.start - 1 : node.start]
        return Edit(node.start, node.end, text if quote in ("'", '"') and quote not in text else shell_word(text))
    written = document.text[key.start : key.end]
    if written.lstrip("-").replace("-", "_") != name:
        raise EditRefused(f"`--{name}` is put together by the script and not edited", key.start)
    if change.kind == RENAME:
        return Edit(key.start, key.end, change.key)
    return removed(document, key, node, name)


def inserted(document: CommandDocument, name: str, text: str) -> Edit:
    """Add an option after the last one, in the form of the others, on a line of its own if these have their own; a variable goes before
    the command.
    """
    start, end = document.extent
    if name.isupper():
        return Edit(start, start, f"{name}={shell_word(text)} ")
    body = document.text[start:end].rstrip()
    end = start + len(OF_CALLER.sub("", body))  # what the caller of the script adds stays last
    body = document.text[start:end]
    pairs = document.roots[0].pairs()
    last = max((node.end for pair in pairs for node in pair), default=0)
    if not pairs or not start < last <= end or body.endswith("\\"):
        raise EditRefused("the launch line is put together by the script: no argument can be added", start)
    lines = body.split("\n")
    separator = " "
    if len(lines) > 1 and lines[-2].endswith("\\"):
        indent = lines[-1][: len(lines[-1]) - len(lines[-1].lstrip())]
        separator = f" \\\n{indent}"
    return Edit(end, end, f"{separator}{option_of(document, name)}{shell_word(text)}")


def option_of(document: CommandDocument, name: str) -> str:
    """A new option up to its value, as the line writes the others: `--a_b `, `--a-b=`, or `a_b=` for OmegaConf and variables."""
    if document.assignments or name.isupper():
        return f"{name}="
    written = [flag for flag in document.flags.values() if flag.startswith("--")]
    if any("-" in flag[2:] for flag in written) and not any("_" in flag for flag in written):
        name = name.replace("_", "-")
    pairs = [pair for pair in document.roots[0].pairs() if document.edges.get(pair[0].raw) and pair[0].raw in document.words]
    joined = [document.text[key.end : node.start].strip("\"'") == "=" for key, node in pairs if key.start < node.start]
    return f"--{name}=" if joined and all(joined) else f"--{name} "


def after_option(text: str, end: int, value: str) -> str:
    """A script with another value of the option that ends there, in the place of one word; empty if no such word follows."""
    match = re.compile(r"(?:=|[ \t]+)(\"[^\"\n]*\"|(?:\$\(\([^\n]*?\)\)|[^\s\"'])+)").match(text, end)
    return f"{text[: match.start(1)]}{value}{text[match.end(1) :]}" if match is not None else ""


def removed(document: CommandDocument, key: Node, node: Node, name: str) -> Edit:
    """Remove an option with its value, and the separator before it."""
    words = document.words.get(name)
    start, end = key.start - 2, max(key.end, node.end if document.edges.get(name) else key.end)
    if words and (not document.edges.get(name) or document.text[key.end : node.start].strip(" =\"'")):
        raise EditRefused(f"the value of `--{name}` is not written after it", key.start)
    if document.text[end : end + 1] in ("'", '"'):
        end += 1
    while document.text[start - 1 : start] in (" ", "\t"):
        start -= 1
    if document.text[start - 2 : start] == "\\\n":
        start -= 2
        while document.text[start - 1 : start] in (" ", "\t"):
            start -= 1
    return Edit(start, end, "")


def unquoted(text: str) -> str:
    """The string of a value that is spelled for YAML."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text


def shell_word(text: str) -> str:
    if text and all(char.isalnum() or char in PLAIN for char in text):
        return text
    return "'" + text.replace("'", "'\\''") + "'"


def checked(document: CommandDocument, text: str, changes: list[Change]) -> CommandDocument:
    """The document of the edited script, in which only these arguments may differ in all launches."""
    if document.again is None:
        raise EditRefused("this launch line cannot be read again", document.extent[0])
    after = document.again(text)
    expected = dict(document.words)
    for change in changes:
        if change.path in document.around or change.key.isupper():
            continue
        if change.kind == INSERT:
            expected[change.key] = [unquoted(change.text)]
            continue
        name = str(change.path[0])
        value = expected.pop(name, None)
        if change.kind == REPLACE and name in document.words:
            expected[name] = [unquoted(change.text)]
        elif change.kind == RENAME:
            expected[change.key] = value
    names = [name for name in {**expected, **after.words} if expected.get(name, False) != after.words.get(name, False)]
    for change in changes:
        if str(change.key or change.path[0]) in names:
            raise EditRefused(f"`--{change.key or change.path[0]}` is put together by the script and not edited", document.extent[0])
    names = [name for name in names if name not in document.following or name not in after.words]
    sizes = []  # the number of processes of the launcher's option: after the edit, and as the changes ask for
    for version in (after, document):
        node = version.find((version.size_key,))[1] if version.size_key else None
        sizes.append(node.raw if node is not None else None)
    asked = [change.text for change in changes if change.path == (document.size_key,) or change.key.isupper()]
    if names or sizes[0] != (unquoted(asked[-1]) if asked else sizes[1]):
        listed = ", ".join(f"`--{name}`" for name in names[:MOST_NAMED]) or "the number of processes"
        raise EditRefused(f"the edit would also change {listed} of this launch", document.extent[0])
    protect_siblings(document, after)
    return after


def protect_siblings(document: CommandDocument, after: CommandDocument) -> None:
    """Raise EditRefused if an edit changes another launch of the script that does not get the same target."""
    for position, (before, now) in enumerate(zip(document.siblings, after.siblings, strict=True)):
        if document.targeted and position in document.partners:
            continue
        exported = [call.environment.get(document.size_key, EMPTY).string for call in (before, now)]
        if [word.string for word in before.words] != [word.string for word in now.words] or exported[0] != exported[1]:
            raise EditRefused(f"the edit would change the launch of line {before.line} too", document.extent[0])
