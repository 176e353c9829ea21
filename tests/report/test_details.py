"""What is said below a message: not what it says already."""

from __future__ import annotations

import pytest

from cfglint.findings.diagnostic import Fix, Place
from cfglint.report.details import details

CHECKING = "transformers 5.23.0 fails while checking the config"


@pytest.fixture
def lines(make):
    """The lines below a finding, for its message and parts."""

    def build(message="`stage` is 3", related=(), fix=None, **given):
        found = make.diagnostic(message, **given)
        found.related, found.fix = related, fix
        return [f"{label}: {text}" for label, text in details(found, make.outcome([found]))]

    return build


@pytest.mark.parametrize(
    ("exception", "note"),
    [
        ("ValueError: stage must be 2", f"{CHECKING}: ValueError: stage must be 2"),
        ("AssertionError", f"{CHECKING} (AssertionError)"),
        ("AssertionError: ", f"{CHECKING} (AssertionError)"),
        ("ParserError: expected a colon", f"{CHECKING} (ParserError)"),
        ("KeyError: 3", f"{CHECKING}: KeyError: 3"),
    ],
    ids=["another text", "none", "an empty one", "the message's", "a word of the message"],
)
def test_an_exception_is_quoted_for_what_it_adds(lines, exception, note):
    assert lines("invalid YAML: expected a colon at 3", exception=exception) == [f"note: {note}"]


def test_a_long_exception_is_cut_after_a_word(lines):
    (note,) = lines(exception="ValueError: one of " + ", ".join(f"optimizer_{number}" for number in range(100)))
    assert note.endswith(", ...")
    assert len(note) < 400


def test_another_place_that_is_shown_already_is_left_out(lines):
    same, other = Place("train.yaml", 3, 12, 3, 13, 30, 31, "x"), Place("train.yaml", 9, 1, 9, 2, 90, 91, "y")
    about_zero = "`stage` is 3, but `offload` is cpu"
    assert lines(about_zero, ((same, "`offload` is cpu here"),)) == []
    assert lines(about_zero, ((other, "`offload` is cpu here"),)) == ["note: `offload` is set here (train.yaml:9)"]
    assert lines("`stage` is 3", ((same, "`offload` is cpu here"),)) == ["note: `offload` is cpu here (train.yaml:3)"]


def test_a_fix_says_why_it_is_not_safe(lines):
    def remedy(safe, by_release=False, severity="error"):
        fix = Fix("write 2", [], safe, [])
        fix.by_release = by_release
        return lines(fix=fix, severity=severity)

    assert remedy(True) == ["help: write 2 (cfglint fix)"]
    assert remedy(False) == ["help: write 2 (cfglint fix --unsafe-fixes; unsafe: it is a guess)"]
    assert remedy(False, severity="warning") == ["help: write 2 (cfglint fix --unsafe-fixes; unsafe: it changes what the run does)"]
    assert "--target" in remedy(False, by_release=True)[0]


@pytest.mark.parametrize(
    ("about", "stage", "moment"),
    [
        ("launch", "load", "at launch"),
        ("argument", "load", "at launch"),
        ("launch", "init", "during initialization"),
        ("batch", "load", "while reading the file"),
        ("batch", "first-step", "at the first step"),
    ],
)
def test_the_moment_of_a_failure(make, about, stage, moment):
    found = make.diagnostic("refused", exception="ValueError: a long story")
    found.about, found.fails_at = about, stage
    assert details(found, make.outcome([found])) == [("note", f"transformers 5.23.0 fails {moment}: ValueError: a long story")]


def test_a_warning_has_no_exception_to_quote(make):
    found = make.diagnostic("odd", severity="warning", exception="ValueError: a long story")
    assert details(found, make.outcome([found])) == []
