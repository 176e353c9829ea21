"""The report on a terminal: the parts of a finding, and the width."""

from __future__ import annotations

import pytest

from cfglint.findings.diagnostic import Diagnostic, Outcome, Place
from cfglint.report import text

MESSAGE = "`save_steps` is 500 " * 6
EXCEPTION = "ValueError: " + "--load_best_model_at_end requires the saving steps to be a round multiple " * 3


def outcome(**parts):
    place = Place("train.yaml", 7, 13, 7, 16, 0, 3, "save_steps: 500" + " # a long comment" * 10)
    other = Place("train.yaml", 5, 13, 5, 16, 0, 3, "eval_steps: 200")
    found = Diagnostic(
        "HFT007", "best-model-steps", "error", place, "/save_steps", "`save_steps` is 500 " * 6, "config", EXCEPTION, **parts
    )
    found.related = ((other, "`eval_steps` is 200 here"),)
    return Outcome(["train.yaml"], ["huggingface"], {"transformers": "5.23.0"}, None, "reject", "config", {}, [found])


@pytest.mark.parametrize("width", [60, 80, 120])
def test_every_line_fits_the_width(width):
    printed = text.render([outcome(note="the run keeps its last checkpoint " * 5, help="write a multiple of 200 " * 8)], width=width)
    assert max(map(len, printed.splitlines())) <= width
    assert " ".join(printed.split()).count("round multiple") == 3


def test_without_a_width_each_part_is_a_line():
    lines = text.render([outcome(note="n", help="h")]).splitlines()
    assert [line.split(":")[0].strip() for line in lines[3:]] == ["note", "note", "note", "help"]
    assert lines[3].startswith("      note: transformers 5.23.0 fails while checking the config: ValueError: --load")
    assert lines[5] == "      note: `eval_steps` is 200 here (train.yaml:5)"


def test_colours_change_nothing_but_the_escapes():
    coloured = text.render([outcome(help="h")], colour=True)
    assert "\x1b[1;31m" in coloured
    for code in ("\x1b[1m", "\x1b[2m", "\x1b[1;31m", "\x1b[1;32m", "\x1b[0m"):
        coloured = coloured.replace(code, "")
    assert coloured == text.render([outcome(help="h")])


def excerpt_of(line, column, width=60):
    """The two lines that show a column of a long line, without their margin."""
    place = Place("train.yaml", 7, column, 7, column + 3, column - 1, column + 2, line)
    shown, marks = "".join(part for _, part in text.excerpt(place, "", width)).splitlines()
    return shown[6:], marks[6:]


@pytest.mark.parametrize(
    ("column", "before", "after"), [(1, False, True), (100, True, True), (197, True, False)], ids=["its start", "in the middle", "its end"]
)
def test_a_cut_line_shows_where_it_is_cut(column, before, after):
    line = "".join(chr(ord("a") + number % 26) for number in range(199))
    shown, marks = excerpt_of(line, column)
    assert (shown.startswith("..."), shown.endswith("...")) == (before, after)
    assert len(shown) <= 55
    assert shown[marks.index("^") : marks.rindex("^") + 1] == line[column - 1 : column + 2]


def test_the_file_as_a_whole_has_no_excerpt():
    assert text.excerpt(Place("train.yaml", 1, 1, 1, 1, 0, 0, "output_dir: out"), "") == []
    assert text.excerpt(Place("train.yaml", 1, 11, 1, 11, 10, 10, "optimizer:"), "") != []
