"""The report for people: place, code and message, the line with the value marked, what would happen, what to do."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR, INFO, WARNING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.diagnostic import Diagnostic, Outcome, Place

    Segments = list[tuple[str, str]]  # (style, text)

STYLES = {ERROR: "bold red", WARNING: "bold yellow", INFO: "bold cyan"}
WIDEST = 160  # characters of a source line that are shown
MOMENTS = {
    "load": "when it reads the file",
    "config": "while it builds its configuration",
    "init": "while it builds trainer, model or optimizer",
    "first-step": "at the first step",
}
PACKAGES = {"huggingface": "transformers", "neox": "gpt-neox"}  # where a kind is not called like its package
TITLES = {"deepspeed": "DeepSpeed", "huggingface": "transformers", "neox": "GPT-NeoX", "accelerate": "accelerate"}


def render(outcomes: list[Outcome], colour: bool = False) -> str:
    """All findings that are not silenced; an empty text when there are none."""
    blocks = [block(each, outcome) for outcome in outcomes for each in outcome.diagnostics if not each.suppressed]
    return paint(blocks) if colour else "".join(text for segments in blocks for _, text in segments)


def block(diagnostic: Diagnostic, outcome: Outcome) -> Segments:
    """One finding."""
    place = diagnostic.place
    style = STYLES[diagnostic.severity]
    segments: Segments = [
        ("bold", f"{shown(place.file)}:{place.line}:{place.column}"),
        ("", ": "),
        (style, f"{diagnostic.severity} {diagnostic.code}"),
        ("", f" {diagnostic.name}: {shown(diagnostic.message)}\n"),
    ]
    segments += excerpt(place, style)
    for other, text in diagnostic.related:
        segments.append(("", f"      with {shown(text)} ({shown(other.file)}:{other.line})\n"))
    if diagnostic.exception and diagnostic.severity == ERROR:
        who = framework_of(diagnostic, outcome)
        segments.append(("", f"      {who} stops {MOMENTS.get(diagnostic.fails_at or '', '')}: {shown(diagnostic.exception)}\n"))
    if diagnostic.fix:
        how = "cfglint fix" if diagnostic.fix.safe else "cfglint fix --unsafe-fixes"
        segments += [("", "      "), ("bold green", "fix"), ("", f": {shown(diagnostic.fix.title)} ({how})\n")]
    return segments


def framework_of(diagnostic: Diagnostic, outcome: Outcome) -> str:
    """Who would stop, with the version: the run's framework, and the one whose file it is where another one reads it."""
    file = diagnostic.place.file
    kind = outcome.kinds[outcome.files.index(file)] if file in outcome.files else outcome.kinds[0]
    return " with ".join(titled(each, outcome) for each in dict.fromkeys((outcome.kinds[0], kind)))


def titled(kind: str, outcome: Outcome) -> str:
    """`DeepSpeed 0.19.8`."""
    return shown(f"{TITLES.get(kind, kind)} {outcome.target.get(PACKAGES.get(kind, kind), '')}".strip())


def excerpt(place: Place, style: str) -> Segments:
    """The source line with the value underlined; nothing for an empty line."""
    line = place.source
    if not line.strip():
        return []
    first = max(0, place.column - 1 - WIDEST // 2) if len(line) > WIDEST else 0
    cut = line[first : first + WIDEST]
    width = (place.end_column if place.end_line == place.line else len(line) + 1) - place.column
    width = max(1, min(width, len(cut) - (place.column - 1 - first)))
    number = str(place.line)
    margin = " " * len(number)
    marks = "".join("\t" if char == "\t" else " " for char in cut[: place.column - 1 - first]) + "^" * width
    return [("dim", f"  {number} | "), ("", f"{shown(cut)}\n"), ("dim", f"  {margin} | "), (style, f"{marks}\n")]


def shown(text: str) -> str:
    """Text from a file made harmless for a terminal: control characters and lone surrogates as escapes."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\t" else char.encode("unicode_escape").decode("ascii") for char in text)


def paint(blocks: list[Segments]) -> str:
    """The blocks with terminal colours."""
    from io import StringIO

    from rich.console import Console
    from rich.text import Text

    console = Console(file=StringIO(), force_terminal=True, width=10_000, highlight=False)
    for segments in blocks:
        console.print(Text.assemble(*((text, style) for style, text in segments)), end="", soft_wrap=True)
    written = console.file.getvalue()  # type: ignore[attr-defined]
    return str(written)
