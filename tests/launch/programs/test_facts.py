"""What follows from the code of programs: the files in `recorded` hold each program and, behind `=>`, what was recorded about it.

`# file: NAME` begins another file; the first one is `train.py`, the program. Shown are the parser and what it fills, the arguments of the
program (their type, the words that they take, default, choices), what the parser refuses, and the calls that build arguments in code, with
the value of each argument or the reason why it is not known.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cfglint.evaluate import Unknown
from cfglint.launch.program import MISSING
from cfglint.launch.programs.context import Context
from cfglint.launch.programs.documents import call_document
from cfglint.launch.programs.reading import Constructor, read_program

FILES = sorted((Path(__file__).parent / "recorded").glob("*.txt"))
BOOLEANS = ("complete", "refuses", "refuses_in_file", "own_trainer", "exact")
NAMES = ("parser", "arguments", "classes", "trainer", "changed", "config_files")


def files_of(text):
    files = {}
    for part in f"# file: train.py\n{text}\n".split("# file: ")[1:]:
        name, _, content = part.partition("\n")
        files[name] = content
    return files


def default_of(field):
    return "required" if field.default is MISSING else "?" if isinstance(field.default, Unknown) else repr(field.default)


def described(facts):
    for name in NAMES:
        value = getattr(facts, name)
        if value:
            yield f"{name}: {value if isinstance(value, str) else shortened(value)}"
    yield " ".join(name for name in BOOLEANS if getattr(facts, name)) or "nothing is certain"
    for kind, fields in (("own", facts.fields), ("default", facts.defaults)):
        for name, field in fields.items():
            choices = f" of {', '.join(map(repr, field.choices))}" if field.choices else ""
            yield f"{kind} {name}: {field.kind or 'any'}, {field.takes or '?'}, {default_of(field)}{choices} ({field.place})"
    for call in facts.built:
        yield from built(call, facts, facts.evaluations.under(Context(is_open=True)))


def shortened(names):
    return ", ".join(names) if len(names) < 12 else f"{len(names)} names"


def built(call, facts, evaluated):
    document = call_document(call, facts, evaluated)
    own = call.facts(facts, evaluated) if isinstance(call, Constructor) else facts
    complete = " complete" if getattr(call, "complete", False) else ""
    yield f"{type(call).__name__} {call.kind} {document.name}{complete}{' conditional' if call.is_conditional else ''}"
    for name, value in document.values.items():
        unknown = document.unknown.get(name)
        shown = f"? {'; '.join(reason.cause for reason in unknown.reasons)}" if unknown is not None else repr(value)
        key, node = document.find((name,))
        notes = " literal" if name in document.literal else ""
        if name in document.borrowed:
            notes += f" from --{document.borrowed[name]}"
        written = f"{document.text[key.start : key.end]}: {document.text[node.start : node.end]}"
        yield f"  {name} = {shown} at {written}{notes}"
    if own is not facts:
        yield f"  {' '.join(name for name in (*NAMES, *BOOLEANS) if getattr(own, name) and name not in ('parser', 'trainer', 'changed'))}"
        yield f"  own: {shortened([*own.fields])}; defaults: {shortened([*own.defaults])}; open: {shortened(own.changed)}"


def recorded(text):
    files = files_of(text)
    facts = read_program("train.py", "", ["."], files.get)
    found = ["not read"] if facts is None else [*described(facts)]
    return "\n".join([text, *(f"=> {line}" for line in found)])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_programs(file, updating):
    """`CFGLINT_UPDATE=1` rewrites what comes of them."""
    cases = file.read_text(encoding="utf-8").strip("\n").split("\n---\n")
    found = [recorded(each.partition("\n=>")[0]) for each in cases]
    if updating:
        file.write_text("\n---\n".join(found) + "\n", encoding="utf-8")
    changed = [f"recorded:\n{before}\nfound:\n{after}" for before, after in zip(cases, found, strict=True) if before != after]
    assert updating or not changed, "\n\n".join(changed)
