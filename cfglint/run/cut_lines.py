"""A launch line that a broken continuation cuts off or adds blanks to: that is one finding, and what follows from it is no second one."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR, Diagnostic
from cfglint.findings.rule import LAUNCH
from cfglint.launch.findings import CODE, is_stray
from cfglint.launch.line import LaunchLine
from cfglint.source.record import changed


def without_consequences(line: LaunchLine, found: list[Diagnostic]) -> list[Diagnostic]:
    """The findings about a line, without those that the lost words and the blanks cause. If one of these is an error, the broken
    continuation is: no argument of the line is judged then, because its parser ends the program.
    """
    place = next((number for number, diagnostic in enumerate(found) if diagnostic.code == CODE), None)
    if place is None:
        return found
    spans: list[tuple[int, int]] = []  # of the blanks that the line passes, each with the option before it
    option: int | None = None
    for word in line.call.words:
        if word.place is not None and is_stray(word, line):
            spans.append((word.place[1] if option is None else option, word.place[2]))
        elif word.place is not None and word.string.startswith("-"):
            option = word.place[1]
    cut = found[place]
    words = (word.string.partition("=")[0] for lost_words, _ in line.call.lost for word in lost_words)
    lost = {word.lstrip("-+~").replace("-", "_") for word in words} - {argument.name for argument in line.given or ()}
    lost |= {word.string for word in line.call.words if is_stray(word, line)}
    caused: list[Diagnostic] = []
    for diagnostic in found:
        name = diagnostic.key.strip("/").replace("/", ".").lstrip("-").replace("-", "_")
        is_of_line = diagnostic.place.file == line.call.path
        if name in lost or (is_of_line and any(start <= diagnostic.place.start <= end for start, end in spans)):
            caused.append(diagnostic)
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
        if number == place or not any(diagnostic is other for other in caused)
    ]
