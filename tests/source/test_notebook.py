"""The code of a notebook as one module."""

from __future__ import annotations

import json

import pytest

from cfglint.source.python.notebook import code_of


def notebook(*cells, indent=1):
    """A notebook of code cells, and of cells of text in parentheses."""
    made = [{"cell_type": "code" if isinstance(cell, str) else "markdown", "source": lines(cell)} for cell in cells]
    return json.dumps({"cells": made}, indent=indent)


def lines(cell):
    return (cell if isinstance(cell, str) else cell[0]).splitlines(keepends=True)


def test_lines_of_code_are_at_their_lines_of_the_file():
    text = notebook("a = 1\nb = 'x'", ("a = 3\n",), 'c = """\n"""\n', 'd = """\n"""')
    code, found = code_of(text).splitlines(), text.splitlines()
    assert [(line, json.loads(source.strip().rstrip(",")).rstrip("\n")) for line, source in zip(code, found, strict=False) if line] == [
        ("a = 1", "a = 1"),
        ("b = 'x'", "b = 'x'"),
        ('c = """', 'c = """'),
        ('"""', '"""'),
        ('d = """', 'd = """'),
        ('"""', '"""'),
    ]


@pytest.mark.parametrize(
    ("cell", "left"),
    [
        ("!pip install x\na = 1", ["pass", "a = 1"]),
        ("!a \\\n  b\nc = 1", ["pass", "c = 1"]),
        ("%%bash\nls", []),
        ("%%time\na = 1", ["a = 1"]),
        ("files = !ls", ["files = ''"]),
        ("this is no Python", []),
        ("model?", ["pass"]),
    ],
)
def test_what_is_no_python(cell, left):
    found = [line.strip() for line in code_of(notebook(cell, "z = 1")).splitlines() if line.strip()]
    assert found == [*left, "z = 1"]


def test_a_notebook_on_one_line():
    assert [line for line in code_of(notebook("a = 1", "b = 2", indent=None)).splitlines() if line] == ["a = 1", "b = 2"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"cells": 1}', "a = 1"])
def test_what_is_no_notebook(text):
    assert code_of(text) is None


def test_the_end_of_a_string_is_no_empty_line():
    text = notebook('def f():\n    """\n    Text.\n\n    """\n\n    return 1\n')
    assert code_of(text).splitlines()[4:12] == ["", "def f():", '    """', "    Text.", "", '    """', "", "    return 1"]
