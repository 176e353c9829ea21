"""Documents of many shapes: their trees, what is not strict about them, what each loader makes of them, and every change of them.

The folder `documents` holds the documents, each as a Python string behind its syntax, and what was recorded: a line for each node (path,
kind, span, style, source), the comments and relaxations, the problems, the values of the loaders, the outline of the keys. `edits` holds
what happens to some of them if one key or value is replaced, renamed, removed or added: the edits, or why they are refused; and
how values are
spelled in their style.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
import yaml

from cases import each_case
from cfglint.source import outline
from cfglint.source.change import DELETE, INSERT, RENAME, REPLACE, Change, EditRefused
from cfglint.source.document import MAPPING, SEQUENCE
from cfglint.source.edit import apply, edits
from cfglint.source.loaders import HJSON, STRICT_JSON, YAML11
from cfglint.source.parse import parse
from cfglint.source.spelling import spell, spell_key
from records import check_cases, read

HERE = Path(__file__).parent
SPELLED = (
    *(True, False, None, 3, 250000000, 2.5e8, 1e-5, 0.1, float("inf"), -0.0, [1, "a"]),
    *("x", "yes", "1e5", "a: b", "it's", 'q"', "a\nb", "", "é\x01😀"),
)


def documents(name):
    """(syntax, content) of the documents of a record."""
    for path in sorted((HERE / name).glob("*.txt")):
        yield from (document(lines[0]) for lines in read(path).values())


def document(line):
    syntax, _, text = line.partition(" ")
    return syntax, ast.literal_eval(text)


def members(node):
    """(step, key or None, value) of a collection."""
    if node.kind == MAPPING:
        yield from ((key.raw, key, value) for key, value in node.children)
    elif node.kind == SEQUENCE:
        yield from ((index, None, value) for index, value in enumerate(node.children))


def nodes(path, key, node, text):
    at = f"{key.start}-{key.end}{key.style} " if key is not None else ""
    marks = " ".join(filter(None, (node.style, node.tag, f"&{node.anchor}" if node.anchor else "")))
    yield f"{'.'.join(map(str, path)) or 'root'}: {at}{node.kind} {node.start}-{node.end} head {node.head} {marks} {node.raw!r}".rstrip()
    for step, own, value in members(node):
        yield from nodes((*path, step), own, value, text)


def loaded(loader, document):
    found = loader.read(document)
    problems = [f"{each.start}-{each.end} {each.kind} {each.message}" for each in loader.refusals(document)]
    return f"{found.value!r} {'; '.join(problems)}".rstrip()


def yaml_outline(text):
    names = outline.keys_of_lines(text.splitlines())
    return names if names is not None and outline.is_yaml(text) else None


def described(syntax, text):
    document = parse("x", text, syntax)
    for index, root in enumerate(document.roots):
        yield from (f"{index} {each}" for each in nodes((), None, root, text))
    if document.comments:
        yield f"comments {' '.join(f'{start}-{end}' for start, end, *_ in document.comments)}"
    yield from (f"relaxed {start}-{end} {what}" for start, end, what in document.relaxations)
    yield from (f"problem {each.start}-{each.end} {each.kind} {each.message}" for each in document.problems)
    for loader in (YAML11,) if syntax == "yaml" else (STRICT_JSON, HJSON):
        yield f"{loader.name}: {loaded(loader, document)}"
    names = yaml_outline(text) if syntax == "yaml" else outline.json_value(text)
    yield f"outline {names!r}"


def changes(path, node):
    """Every change of one place below a node, and of the node itself as a mapping."""
    if node.kind == MAPPING:
        yield "insert", Change(INSERT, path, "k", "9")
    for step, key, value in members(node):
        below = (*path, step)
        yield "replace", Change(REPLACE, below, text="9")
        yield "replace by lines", Change(REPLACE, below, text="[9, 8]")
        if key is not None:
            yield "rename", Change(RENAME, below, "renamed")
            yield "delete", Change(DELETE, below)
        yield from changes(below, value)


def changed(syntax, text):
    document = parse("x", text, syntax)
    for name, change in changes((), document.roots[0]):
        where = ".".join(map(str, change.path)) or "root"
        try:
            result = apply(document, [change])
            made = edits(document, [change])
        except EditRefused as refusal:
            yield f"{name} {where}: refused at {refusal.place}, {refusal}"
            continue
        assert patched(text, made) == result
        yield f"{name} {where}: {' '.join(map(repr, made))}"
    for value in SPELLED:
        spelled = [spell(value, document, each) for each in (None, *leaves(document.roots[0]))]
        yield f"spelled {value!r}: {' | '.join(dict.fromkeys(spelled))}"
    yield f"keys {' | '.join(spell_key(each, document) for each in ('a_b', 'a b', 'é', '1', 'true'))}"


def leaves(node):
    inner = [value for _, _, value in members(node)]
    return [leaf for each in inner for leaf in leaves(each)] if inner else [node]


def patched(text, made):
    for each in reversed(made):
        text = text[: each.start] + each.text + text[each.end :]
    return text


@pytest.mark.parametrize(("name", "describe"), [("documents", described), ("edits", changed)])
def test_documents(name, describe, updating):
    """`CFGLINT_UPDATE=1` rewrites what is known about them, and what becomes of them."""
    for path in sorted((HERE / name).glob("*.txt")):
        check_cases(path, lambda case: describe(*document(case)), updating)


def of_library(syntax, text):
    try:
        return repr(yaml.safe_load(text) if syntax == "yaml" else json.loads(text))
    except (ValueError, yaml.YAMLError, AttributeError):
        return "refused"


@each_case(("syntax", "text"), [each for name in ("documents", "edits") for each in documents(name)])
def test_values_are_those_of_pyyaml_and_json(syntax, text):
    document = parse("x", text, syntax)
    loaded = (YAML11 if syntax == "yaml" else STRICT_JSON).read(document)
    ours = "refused" if loaded.problems or document.problems else repr(loaded.value)
    recursive = any("inside its own anchor" in each.message for each in document.problems + loaded.problems)
    assert recursive or ours == of_library(syntax, text)
