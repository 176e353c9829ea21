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
    place = next((number for number, each in enumerate(found) if each.code == CODE), None)
    if place is None:
        return found
    cut, lost, spans = found[place], lost_names(line), spans_of_blanks(line)
    lost |= {word.string for word in line.call.words if is_stray(word, line)}
    caused = [each for each in found if each is not cut and (name_of(each) in lost or is_within(each, line, spans))]
    refused = next((each for each in (cut, *caused) if each.severity == ERROR), None)
    if refused is not None:
        cut = changed(cut, severity=ERROR, exception=refused.exception, fails_at=refused.fails_at)
        caused += [each for each in found if each.code != CODE and each.about != LAUNCH and each.place.file == line.call.path]
    return [cut if number == place else each for number, each in enumerate(found) if not any(each is other for other in caused)]


def name_of(each: Diagnostic) -> str:
    """The argument that a finding is about."""
    return each.key.strip("/").replace("/", ".").lstrip("-").replace("-", "_")


def lost_names(line: LaunchLine) -> set[str]:
    """The arguments that do not reach the program, and that the line does not give otherwise."""
    words = (word.string.partition("=")[0] for lost, _ in line.call.lost for word in lost)
    names = {word.lstrip("-+~").replace("-", "_") for word in words}
    return names - {each.name for each in line.given or ()}


def spans_of_blanks(line: LaunchLine) -> list[tuple[int, int]]:
    """Where the blanks are that the line passes, each with the option before it."""
    found: list[tuple[int, int]] = []
    start: int | None = None
    for word in line.call.words:
        if word.place is None:
            continue
        if is_stray(word, line):
            found.append((word.place[1] if start is None else start, word.place[2]))
        elif word.string.startswith("-"):
            start = word.place[1]
    return found


def is_within(each: Diagnostic, line: LaunchLine, spans: list[tuple[int, int]]) -> bool:
    """Whether a finding is about one of some parts of a line."""
    return each.place.file == line.call.path and any(start <= each.place.start <= end for start, end in spans)
