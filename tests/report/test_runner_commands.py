"""Commands that build servers obey in the output of a step, which no text of a file may give."""

from __future__ import annotations

from cases import each_case
from cfglint.report import FORMATS, render

MARKS = ("::error file=x::", "##[error]", "##vso[task.setvariable variable=x]y", "##teamcity[buildStop comment='x']", "::stop-commands::t")
SHAPES = (
    "{}",
    "  {}",
    "a {} b",
    "`key` is {} here " + "and more words " * 20 + "{} end",
    "one\n{}",
    "one\r{}",
    "\u2028{}",
    "\x0b{}",
    "\xa0{}",
)


def obeyed(printed):
    """The commands that a runner finds in its log: GitHub's `::` at the start of a line, the others anywhere."""
    lines = [line.lstrip() for line in printed.splitlines()]
    found = [line for line in lines if line.startswith("::")]
    return found + [line for line in lines if any(mark in line for mark in ("##[", "##vso[", "##teamcity["))]


@each_case("form", FORMATS)
@each_case("mark", MARKS)
def test_no_text_of_a_file_is_a_command(make, form, mark):
    for shape in SHAPES:
        text = shape.format(mark, mark)
        found = make.diagnostic(text, file=text, source=text, key=f"/{text}", exception=text, related=text, fix=text)
        found.note = found.help = text
        outcomes = [make.outcome([found, make.diagnostic(text, file=text)], files=[text])]
        for width in (None, 60, 80, 97) if form == "text" else (None,):
            commands = obeyed(render(form, outcomes, width=width))
            if form == "github":
                assert len(commands) == 2
                assert all(command.startswith("::error file=") for command in commands)
            else:
                assert commands == []
