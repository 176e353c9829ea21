"""Findings made by hand in every format, line by line: one and several, short and long, known and unknown.

`CFGLINT_UPDATE=1` rewrites the records; the difference is to be read.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left

import pytest

from cfglint.findings.diagnostic import ERROR, INFO, WARNING, FileEdit, Fix, Place
from cfglint.report import FORMATS, render
from cfglint.report.markdown import LIMIT, LONGEST_NAME, MOST_ROWS, TAIL
from records import check_parts


def scenes(make):
    """(title, outcomes) of what a report is made of."""
    found, run = make.diagnostic, make.outcome
    yield "no runs", []
    yield "nothing found", [run([])]
    yield "unknown", [unknown(run([], gpus=None)), unknown(run([found("odd", WARNING)]))]
    yield "one of each", [run([found("note", INFO), found("odd", WARNING), found("no")], global_batch=256, total_steps=1512)]
    yield "several of each", [run([found(f"{word} {severity}", severity) for severity in (INFO, WARNING, ERROR) for word in "ab"])]
    yield "parts", [run([whole(make, safe=True), whole(make, safe=False, line=8)], files=("train.yaml", "ds.json"))]
    yield "parts of a warning", [run([whole(make, WARNING), whole(make, INFO, line=8)], files=("ds.json", "train.yaml"))]
    yield "suppressed", [run([found("quiet", suppressed="comment"), found("baseline", suppressed="baseline"), found("loud", WARNING)])]
    yield "only suppressed", [run([found("quiet", suppressed="comment")])]
    for count in (2, 4, 5, 6):
        yield f"the same in {count} runs", [same(make, f"{number}.yaml") for number in range(count)]
    yield "the same twice in a run", [run([found("twice", line=3), found("twice", line=5)])]
    yield "first in the second run", [run([found("odd", WARNING)]), run([found("no", file="b.yaml")], files=("b.yaml",))]
    yield "lines", [run([at(make, number, *span) for number, span in enumerate(SPANS)])]
    yield "names", [run([found(name, file=f"{name}.yaml")], files=(f"{name}.yaml",)) for name in ("a`b", "``", "a|b", "x" * 114, "y" * 116)]
    yield "stages", [staged(make, stage) for stage in ("load", "config", "init", "first-step")]
    yield "folders", [run([found("m", file="./a/../b.yaml"), found("m", file="/abs/é x.yaml"), found("m", file="-")], files=("-",))]


SCENES = {  # of formats whose records would be long
    "sarif": ("no runs", "parts", "parts of a warning", "suppressed", "stages", "folders"),
    "html": ("no runs", "nothing found", "unknown", "one of each", "parts", "suppressed", "the same in 6 runs", "first in the second run"),
}
SPANS = (
    *(
        (1, 1, 1, 1, 0, 0, "key: text"),
        (1, 1, 1, 4, 0, 3, "key: text"),
        (2, 6, 2, 10, 6, 10, "key: text"),
        (2, 9, 2, 10, 9, 10, "key: text"),
    ),
    *((2, 6, 3, 2, 6, 12, "key: [1,"), (99, 2, 99, 3, 5, 6, "\ta\tb"), (100, 1, 100, 1, 5, 5, ""), (7, 1, 7, 1, 5, 5, "  ")),
    *((7, 150, 7, 160, 5, 15, "x" * 159), (7, 150, 7, 160, 5, 15, "x" * 160), (7, 150, 7, 160, 5, 15, "x" * 161)),
    *((7, 3, 7, 6, 5, 8, "abcdefghi " * 30), (7, 200, 7, 206, 5, 8, "abcdefghi " * 30), (7, 296, 7, 301, 5, 8, "abcdefghi " * 30)),
    *((7, 81, 7, 84, 5, 8, "abcdefghi " * 30), (7, 82, 7, 84, 5, 8, "abcdefghi " * 30), (7, 155, 7, 400, 5, 8, "abcdefghi " * 30)),
)


def at(make, number, *span):
    """A finding at a place with its source line."""
    diagnostic = make.diagnostic(f"{number}: at {span[:4]}", WARNING)
    diagnostic.place = Place("train.yaml", *span)
    return diagnostic


def unknown(outcome):
    """A run of which nothing is known."""
    outcome.verdict = None
    return outcome


def staged(make, stage):
    """A run that fails at a stage."""
    diagnostic = make.diagnostic("refused", exception="ValueError: a long story")
    diagnostic.fails_at = stage
    outcome = make.outcome([diagnostic])
    outcome.fails_at = stage
    return outcome


def same(make, file):
    """A run with a finding that other runs have too."""
    return make.outcome([make.diagnostic("copied", WARNING, file=file)], files=(file,))


def whole(make, severity=ERROR, *, safe=False, line=3):
    """A finding with everything that one can have."""
    diagnostic = make.diagnostic("`key` is text", severity, exception="ValueError: key must be a number", line=line)
    diagnostic.note, diagnostic.help = "trains without it", "set `key: 8`"
    diagnostic.related = tuple((make.place(file, number), text) for file, number, text in RELATED)
    diagnostic.fix = Fix("write 8", [FileEdit("train.yaml", 20, 24, "8"), FileEdit("ds.json", 1, 1, "{}")], safe, [])
    return diagnostic


RELATED = (("train.yaml", 9, "`other` is 2 here"), ("ds.json", 3, "`key` is text here"), ("train.yaml", 3, "`key` is text here"))


def content(page):
    """The header and the content of a page, an element a line."""
    return re.search(r"<header.*</main>", page, re.DOTALL).group().replace("><", ">\n<")


@pytest.mark.parametrize("form", [*FORMATS, "narrow", "coloured"])
def test_by_hand(make, form, root, updating, monkeypatch):
    monkeypatch.setattr("cfglint.report.json.__version__", "0")
    monkeypatch.setattr("cfglint.report.sarif.__version__", "0")
    options = {"narrow": {"width": 60}, "coloured": {"colour": True}}.get(form, {})
    lines = []
    for title, outcomes in scenes(make):
        if title not in SCENES.get(form, (title,)) or (title == "lines" and form not in ("text", "narrow", "github")):
            continue
        text = render(form if form in FORMATS else "text", outcomes, **options)
        if form == "sarif":
            [given] = json.loads(text)["runs"]
            text = json.dumps({**given, "tool": [each["id"] for each in given["tool"]["driver"]["rules"]]}, indent=1)
        lines += [f"=== {title}", *(content(text) if form == "html" else text).splitlines()]
    purpose = "a report of findings that no file gives: each case has one trait"
    check_parts(root / "tests" / "report" / "expected" / f"by-hand-{form}", purpose, lines, updating)


class TestRoom:
    def test_the_longest_finding_fills_a_comment(self, make):
        """But for the bytes that are kept for the sentence on what does not fit."""

        def comment(length):
            return render("markdown", [make.outcome([make.diagnostic("x" * length)])])

        longest = bisect_left(range(LIMIT), True, key=lambda length: "does not fit" in comment(length)) - 1
        assert len(comment(longest)) == LIMIT - TAIL

    @pytest.mark.parametrize(
        ("runs", "more"),
        [(MOST_ROWS, ""), (MOST_ROWS + 1, "1 more run is not in the table."), (MOST_ROWS + 2, "2 more runs are not in the table.")],
    )
    def test_a_table_has_so_many_rows(self, make, runs, more):
        text = render("markdown", [make.outcome([], files=(f"{number}.yaml",)) for number in range(runs)])
        assert text.count("\n| `") == MOST_ROWS
        assert more in text
        assert ("not in the table" in text) == bool(more)

    @pytest.mark.parametrize(("length", "shown"), [(LONGEST_NAME, LONGEST_NAME), (LONGEST_NAME + 1, LONGEST_NAME + 3)])
    def test_a_name_is_cut_in_its_middle(self, make, length, shown):
        name = "".join(chr(97 + number % 26) for number in range(length))
        row = render("markdown", [make.outcome([], files=(name,))]).split("| `")[1].partition("`")[0]
        assert len(row) == shown
        assert (row[:60], row[-60:]) == (name[:60], name[-60:])
