"""A launch line that a broken continuation cuts off or adds blanks to: that is one finding, and what follows from it is no second one."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR, Diagnostic
from cfglint.findings.rule import LAUNCH
from cfglint.launch.continuations import CODE, is_stray
from cfglint.launch.line import LaunchLine
from cfglint.source.record import changed


def without_consequences(line: LaunchLine, found: list[Diagnostic]) -> list[Diagnostic]:
    """The findings about a line, without those that the lost words and the blanks cause. If one of these is an error, the broken
    continuation is: no argument of the line is judged then, because its parser ends the program.
    """
    place = next((number for number, diagnostic in enumerate(found) if diagnostic.code == CODE), None)
    if place is None:
        return found
    cut, lost, spans = found[place], lost_names(line), spans_of_blanks(line)
    lost |= {word.string for word in line.call.words if is_stray(word, line)}
    caused = [
        diagnostic for diagnostic in found if diagnostic is not cut and (name_of(diagnostic) in lost or is_within(diagnostic, line, spans))
    ]
    refused = next((diagnostic for diagnostic in (cut, *caused) if diagnostic.severity == ERROR), None)
    if refused is not None:
        cut = changed(cut, severity=ERROR, exception=refused.exception, fails_at=refused.fails_at)
        caused += [
            diagnostic
            for diagnostic in found
            if diagnostic.code != CODE and diagnostic.about != LAUNCH and diagnostic.place.file == line.call.path
        ]
    return [
        cut if number == place else diagnostic
        for number, diagnostic in enumerate(found)
        if not any(diagnostic is other for other in caused)
    ]


def name_of(each: Diagnostic) -> str:
    """The argument that a finding is about."""
    return each.key.strip("/").replace("/", ".").lstrip("-").replace("-", "_")


def lost_names(line: LaunchLine) -> set[str]:
    """The arguments that do not reach the program, and that the line does not give otherwise."""
    words = (word.string.partition("=")[0] for lost, _ in line.call.lost for word in lost)
    names = {word.lstrip("-+~").replace("-", "_") for word in words}
    return names - {argument.name for argument in line.given or ()}


def spans_of_blanks(line: LaunchLine) -> list[tuple[int, int]]:
    """Where the blanks are that the line passes, each with the option before it."""
    spans: list[tuple[int, int]] = []
    start: int | None = None
    for word in line.call.words:
        if word.place is None:
            continue
        if is_stray(word, line):
            spans.append((word.place[1] if start is None else start, word.place[2]))
        elif word.string.startswith("-"):
            start = word.place[1]
    return spans


def is_within(each: Diagnostic, line: LaunchLine, spans: list[tuple[int, int]]) -> bool:
    """Whether a finding is about one of some parts of a line."""
    return each.place.file == line.call.path and any(start <= each.place.start <= end for start, end in spans)
