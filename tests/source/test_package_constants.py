"""Constants of a module that is read as a syntax tree: those that Python would compute."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.source.python.package import SourceError, Tree

MODULE = "A = 3\nB = 'x'\nC: int = A * 2\nD = {'k': [A, B]}\n\nclass Names:\n    FIRST = 'first'\n\ndef f():\n    return 1\n"


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    """A made-up module of a package, and its names in Python."""
    folder = tmp_path_factory.mktemp("sources") / "package"
    folder.mkdir()
    (folder / "__init__.py").touch()
    names: dict[str, object] = {}
    exec(MODULE, names)

    def both(expression):
        (folder / "m.py").write_text(f"{MODULE}RESULT = {expression}\n", encoding="utf-8")
        read = Tree(folder).module("package.m")
        return read.constant(read.assigned["RESULT"]), eval(expression, dict(names))

    return both


@each_case(
    "expression",
    [
        *("1", "'a'", "None", "-A", "A + 2", "A - 2", "A * 2", "A / 2", "A ** 2", "1 << A", "2 + 3 * A", "C", "D", "B + 'y'", "B * 2"),
        *("[1, A]", "{'a': A, B: 2}", "[]", "{}", "f'{A}'", "f'a{A}b{B}c'", "f'{A}{B}'", "f'plain'", "Names.FIRST", "[{'a': [A]}, -1.5]"),
    ],
)
def test_a_constant_has_the_value_that_python_computes(module, expression):
    found, expected = module(expression)
    assert repr(found) == repr(expected)


@each_case(
    "expression",
    [
        "f()",
        "f",
        "A % 2",
        "A // 2",
        "A if B else C",
        "not A",
        "[x for x in D]",
        "A == 3",
        "Names.MISSING",
        "Names.FIRST.x",
        "A.x",
        "missing",
        "missing.x",
    ],
)
def test_what_is_no_constant_is_refused(module, expression):
    with pytest.raises(SourceError, match="not a constant"):
        module(expression)
