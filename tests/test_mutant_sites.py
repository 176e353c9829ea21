"""The changes that `tools/mutants.py` draws."""

from __future__ import annotations

import mutant_sites

from cases import each_case

SOURCE = '''"""A module."""

TYPE_CHECKING = False
LIMIT = 3
SINCE = Releases((3, 5), (4,))
FIRST = (3, 5)
MOST, LEAST = (7, 1)  # no release


@rule("ABC001")
def check(value: "int", other=1):
    """A docstring."""
    if value < LIMIT and not other:
        report(value, other)
    return value + f"{LIMIT + 1}"
'''
CHANGES = {
    "comparison": {"if value <= LIMIT and not other:"},
    "and-or": {"if value < LIMIT or not other:"},
    "negation": {"if not (value < LIMIT and (not other)):", "if value < LIMIT and other:"},
    "constant": {
        *("LIMIT = 4", "SINCE = Releases((4, 5), (4,))", "SINCE = Releases((3, 6), (4,))", "SINCE = Releases((3, 5), (5,))"),
        *("FIRST = (4, 5)", "FIRST = (3, 6)", "MOST, LEAST = (8, 1)  # no release", "MOST, LEAST = (7, 2)  # no release"),
        'def check(value: "int", other=2):',
    },
    "statement": {"pass"},
    "arguments": {"report(other, value)", "SINCE = Releases((4,), (3, 5))"},
    "arithmetic": {"return value - f'{LIMIT + 1}'"},
    "release": {"SINCE = Releases((3, 6), (4,))", "SINCE = Releases((3, 5), (5,))", "FIRST = (3, 6)"},
}


@each_case("kind", CHANGES)
def test_every_place_is_drawn_and_written_as_it_is_changed(tmp_path, kind):
    """No docstring, annotation, code of a rule or part of an f-string is changed, and nothing else of the text."""
    (tmp_path / "module.py").write_text(SOURCE)
    (tmp_path / "_tables.py").write_text(SOURCE)
    drawn = mutant_sites.drawn(tmp_path, "", 100, 0, only=kind)
    added = [[line for line in each.after.splitlines() if line not in SOURCE.splitlines()] for each in drawn]
    assert {line.strip() for lines in added for line in lines} == CHANGES[kind]
    assert all(len(lines) == 1 for lines in added)
    assert {each.path for each in drawn} == {"module.py"}


def test_what_runs_with_the_import_has_no_function(tmp_path):
    (tmp_path / "module.py").write_text(SOURCE)
    drawn = mutant_sites.drawn(tmp_path, "", 100, 0)
    assert {each.function for each in drawn if each.line > 11} == {"check"}
    assert {each.function for each in drawn if each.line < 11} == {""}
