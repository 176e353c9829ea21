"""Takes a release into the notes of a kind, as far as its source says what they need.

A renamed key keeps its note, and the note of a removed key goes, or stays with the values that the key took where the schema of the
kind has removed keys too. The description of a new key is the first sentence that the
source has about it: the docstring of its class, the `help` of its metadata or of its argument, or the string below it. What the
source does not say stays open, and building the schema then names it.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

import schema_merge
from schema_source import Tree

Raw = dict[str, Any]

ENTRY = re.compile(r'^  "((?:[^"\\]|\\.)*)": ', re.MULTILINE)
OF_DOCSTRING = r"^ +(?:\*\*)?`?{name}`?(?:\*\*)? ?\([^\n]*\)?:?\n+((?: +\S[^\n]*\n?)+)"
LONGEST = 300
VALUE_KEYWORDS = {*schema_merge.VALUE_KEYWORDS, "x-any"}
WHITE = re.compile(r"\s+")
EMPTY = re.compile(r"[\[\]`]|\(https?:[^)]*\)")


def updated(
    text: str, facts: dict[str, Raw], definitions: dict[str, Raw], renamed: dict[str, str], tree: Tree, keeps: dict[str, Raw] | None = None
) -> tuple[str, list[str]]:
    """The text of the notes for the facts of a release, and what was done, line by line.

    `keeps`: the properties of the schema before, for a kind whose schema has removed keys too, so that their notes stay.
    """
    notes: dict[str, Raw] = json.loads(text)["keys"]
    present = set(paths({**facts, schema_merge.DEFINITIONS: {"properties": definitions}}))
    kept, said = dict(notes), []
    for path, note in notes.items():
        above, _, name = path.rpartition(".")
        successor = f"{above}.{renamed.get(name, '')}".lstrip(".")
        if name in renamed and successor in present and successor not in notes:
            kept[successor] = {word: value for word, value in note.items() if not word.startswith("x-")}
            said.append(f"{path}: its note is also that of {successor}")
        if path in present or "x-removed" in note or "x-read-in" in note:
            continue
        if keeps is None:
            kept.pop(path)
            said.append(f"{path}: its note is removed with the key")
        elif VALUE_KEYWORDS.isdisjoint(note):
            taken = {word: value for word, value in at(keeps, path).items() if word in VALUE_KEYWORDS}
            kept[path] = {**note, **taken}
            said.append(f"{path}: its note has the values that the removed key took")
    for path in sorted(present - kept.keys()):
        if not has_description(facts, definitions, path):
            sentence = described(tree, path.rpartition(".")[2])
            if sentence:
                kept[path] = {"description": sentence}
                said.append(f"{path}: described by its source: {sentence}")
    return replaced(text, notes, kept), said


def paths(properties: dict[str, Raw], above: str = "") -> Iterator[str]:
    """The dotted paths of all keys."""
    for name, raw in properties.items():
        if above != f"{schema_merge.DEFINITIONS}." and name != schema_merge.DEFINITIONS:
            yield above + name
        yield from paths(raw.get("properties", {}), f"{above}{name}.")


def has_description(facts: dict[str, Raw], definitions: dict[str, Raw], path: str) -> bool:
    """Whether the facts describe a key themselves."""
    return "description" in at({**facts, schema_merge.DEFINITIONS: {"properties": definitions}}, path)


def at(properties: dict[str, Raw], path: str) -> Raw:
    """What a schema says of the key of a dotted path; empty for one that it does not have."""
    raw: Raw = {"properties": properties}
    for step in path.split("."):
        raw = raw.get("properties", {}).get(step, {})
    return raw


def replaced(text: str, before: dict[str, Raw], after: dict[str, Raw]) -> str:
    """The text of the notes with other entries; those that stay are as they were, to the byte."""
    start = text.index('"keys": {')
    head, body = text[: start + len('"keys": {\n')], text[start + len('"keys": {\n') :]
    begins = [(found.group(1), found.start()) for found in ENTRY.finditer(body)]
    ends = [place for _, place in begins[1:]] + [body.rindex("\n }")]
    old = {json.loads(f'"{name}"'): body[place:end].rstrip().rstrip(",") for (name, place), end in zip(begins, ends, strict=True)}
    entries = [
        old[name] if name in old and before.get(name) == note else f"  {json.dumps(name)}: {schema_merge.written(note, '  ')}"
        for name, note in after.items()
    ]
    return head + ",\n".join(entries) + body[body.rindex("\n }") :]


# What a source says about a key


def described(tree: Tree, name: str) -> str:
    """The first sentence about a key in the sources of a package; empty if there is none."""
    for path in sorted(tree.root.rglob("*.py")):
        source = path.read_text(encoding="utf-8", errors="replace")
        if name not in source or any(part in ("models", "tests") for part in path.relative_to(tree.root).parts):
            continue
        try:
            syntax = ast.parse(source)
        except SyntaxError:
            continue
        for found in (*in_fields(syntax, name), *in_docstrings(syntax, name)):
            sentence = first_sentence(found)
            if sentence:
                return sentence
    return ""


def in_fields(syntax: ast.Module, name: str) -> Iterator[str]:
    """The `help` or `description` of a field or argument, and the string below it."""
    for node in ast.walk(syntax):
        if isinstance(node, ast.ClassDef):
            for place, statement in enumerate(node.body):
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.target.id == name:
                    if statement.value is not None:
                        yield from helps(statement.value)
                    below = node.body[place + 1] if place + 1 < len(node.body) else None
                    if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str):
                        yield below.value.value
        elif isinstance(node, ast.Call) and is_argument(node, name):
            yield from helps(node)


def is_argument(node: ast.Call, name: str) -> bool:
    """Whether a call adds the argument of a key to a parser."""
    if not (isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument"):
        return False
    return any(isinstance(each, ast.Constant) and str(each.value).lstrip("-").replace("-", "_") == name for each in node.args)


def helps(node: ast.expr) -> Iterator[str]:
    """The texts that `help=` or `"help":` has in an expression."""
    for each in ast.walk(node):
        pairs: list[tuple[Any, ast.expr]] = []
        if isinstance(each, ast.Call):
            pairs = [(keyword.arg, keyword.value) for keyword in each.keywords]
        elif isinstance(each, ast.Dict):
            pairs = [(key.value, value) for key, value in zip(each.keys, each.values, strict=True) if isinstance(key, ast.Constant)]
        for key, value in pairs:
            if key in ("help", "description"):
                try:
                    yield str(ast.literal_eval(value))
                except (ValueError, SyntaxError):
                    continue


def in_docstrings(syntax: ast.Module, name: str) -> Iterator[str]:
    """The paragraph about an argument in the docstring of a class."""
    pattern = re.compile(OF_DOCSTRING.format(name=re.escape(name)), re.MULTILINE)
    for node in ast.walk(syntax):
        if isinstance(node, ast.ClassDef):
            for found in pattern.finditer(ast.get_docstring(node, clean=False) or ""):
                yield found.group(1)


def first_sentence(text: str) -> str:
    """The first sentence of a text on one line, without marks of links and code."""
    line = WHITE.sub(" ", EMPTY.sub("", text)).strip()
    sentence = re.split(r"(?<=[.!?]) (?=[A-Z])", line, maxsplit=1)[0][:LONGEST].strip()
    return sentence if not sentence or sentence.endswith((".", "!", "?")) else sentence + "."
