"""The report for people: place, code and message, the line with the value marked, then notes and help."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR, INFO, WARNING
from cfglint.frameworks import framework

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.diagnostic import Diagnostic, Outcome, Place

    Segments = list[tuple[str, str]]  # (style, text)

STYLES = {ERROR: "bold red", WARNING: "bold yellow", INFO: "bold cyan"}
ESCAPES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}  # SGR codes of ECMA-48
INVISIBLE = "\u115f\u1160\u3164\uffa0"  # Hangul fillers: printable to Python, and not to be seen
WIDEST = 160  # characters of a source line that are shown where the width is not known
INDENT = "      "
SHORTEST = 20  # columns that a folded text needs
MOMENTS = {
    "load": "while reading the file",
    "config": "while parsing the config",
    "init": "during initialization",
    "first-step": "at the first step",
}


def render(outcomes: list[Outcome], colour: bool = False, width: int | None = None) -> str:
    """All findings that are not suppressed, folded to a width if one is given; an empty string when there are none."""
    blocks = [block(each, outcome, width) for outcome in outcomes for each in outcome.diagnostics if not each.suppressed]
    return paint(blocks) if colour else "".join(text for segments in blocks for _, text in segments)


def block(diagnostic: Diagnostic, outcome: Outcome, width: int | None = None) -> Segments:
    """One finding, folded to a width if one is given."""
    place = diagnostic.place
    style = STYLES[diagnostic.severity]
    where, what = f"{shown(place.file)}:{place.line}:{place.column}", f"{diagnostic.severity} {diagnostic.code}"
    rest = f" {diagnostic.name}: {shown(diagnostic.message)}"
    segments: Segments = [("bold", where), ("", ": "), (style, what), ("", folded(rest, len(where) + 2 + len(what), "    ", width))]
    segments += excerpt(place, style, width)
    if diagnostic.exception and diagnostic.severity == ERROR:
        moment = MOMENTS.get(diagnostic.fails_at or "", "")
        segments += labelled("note", f"{framework_of(diagnostic, outcome)} fails {moment}: {shown(diagnostic.exception)}", width)
    if diagnostic.note:
        segments += labelled("note", shown(diagnostic.note), width)
    if diagnostic.related:
        places = [f"{shown(text)} ({shown(other.file)}:{other.line})" for other, text in diagnostic.related]
        segments += labelled("note", ", ".join(places), width)
    if diagnostic.help:
        segments += labelled("help", shown(diagnostic.help), width)
    if diagnostic.fix:
        how = "cfglint fix" if diagnostic.fix.safe else "cfglint fix --unsafe-fixes"
        segments += labelled("help", f"{shown(diagnostic.fix.title)} ({how})", width)
    return segments


def labelled(label: str, text: str, width: int | None) -> Segments:
    """A line below a finding: `note: ...` or `help: ...`."""
    style = "bold" if label == "note" else "bold green"
    return [("", INDENT), (style, label), ("", folded(f": {text}", len(INDENT) + len(label), INDENT + "  ", width))]


def folded(text: str, column: int, indent: str, width: int | None) -> str:
    """The rest of a line that begins at a column, folded to the width; the lines after the first are indented."""
    if width is None or column + len(text) <= width or column > width - SHORTEST:  # after a long path nothing fits anyway
        return text + "\n"
    from textwrap import TextWrapper

    folder = TextWrapper(width, " " * min(column, width - 1), indent, break_long_words=False, break_on_hyphens=False)
    lines = folder.wrap(text.lstrip())
    start = " " if text.startswith(" ") else ""
    return start + "\n".join([lines[0].lstrip(), *lines[1:]]) + "\n"


def framework_of(diagnostic: Diagnostic, outcome: Outcome) -> str:
    """What would fail, with its version: the run's framework, and the one whose file it is where that is another."""
    file = diagnostic.place.file
    kind = outcome.kinds[outcome.files.index(file)] if file in outcome.files else outcome.kinds[0]
    kinds = [each for each in dict.fromkeys((outcome.kinds[0], kind)) if framework(each).package]
    if not kinds:  # a launch line, whose arguments go to the first of the packages
        return next((shown(f"{package} {version}") for package, version in outcome.target.items()), titled(kind, outcome))
    return " with ".join(titled(each, outcome) for each in kinds)


def titled(kind: str, outcome: Outcome) -> str:
    """`DeepSpeed 0.19.8`."""
    title, package = framework(kind).title, framework(kind).package
    name = title if title.replace("-", "").lower() == package.replace("-", "") else package  # transformers, not its Trainer
    return shown(f"{name} {outcome.target.get(package, '')}".strip())


def excerpt(place: Place, style: str, width: int | None = None) -> Segments:
    """The source line with the value underlined; nothing for an empty line."""
    line = place.source
    if not line.strip():
        return []
    number = str(place.line)
    margin = " " * len(number)
    widest = WIDEST if width is None else min(WIDEST, width - len(number) - 5)
    first = max(0, place.column - 1 - widest // 2) if len(line) > widest else 0
    cut = line[first : first + widest]
    marked = (place.end_column if place.end_line == place.line else len(line) + 1) - place.column
    marked = max(1, min(marked, len(cut) - (place.column - 1 - first)))
    marks = "".join("\t" if char == "\t" else " " for char in cut[: place.column - 1 - first]) + "^" * marked
    return [("dim", f"  {number} | "), ("", f"{shown(cut)}\n"), ("dim", f"  {margin} | "), (style, f"{marks}\n")]


def shown(text: str) -> str:
    """Text from a file made harmless for a terminal and a build log.

    Control characters, lone surrogates and invisible letters become escapes, and so does the mark of a command that the
    runner of a build obeys anywhere in a line (`##[group]`, `##vso[...]`).
    """
    if "##" in text:
        text = text.replace("##[", "#\\x23[").replace("##vso[", "#\\x23vso[")
    if text.isprintable() and not any(char in text for char in INVISIBLE):
        return text
    return "".join(char if visible(char) else char.encode("unicode_escape").decode("ascii") for char in text)


def visible(char: str) -> bool:
    """Whether a character shows as itself."""
    return char == "\t" or (char.isprintable() and char not in INVISIBLE)


def paint(blocks: list[Segments]) -> str:
    """The blocks with terminal colours."""
    return "".join(painted(style, text) for segments in blocks for style, text in segments)


def painted(style: str, text: str) -> str:
    """Text in a style; a line break at its end stays outside, so that no colour runs into the next line."""
    if not style or not text.strip():
        return text
    body = text.rstrip("\n")
    return f"\x1b[{';'.join(ESCAPES[word] for word in style.split())}m{body}\x1b[0m{text[len(body) :]}"
