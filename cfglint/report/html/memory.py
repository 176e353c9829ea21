"""The memory of a run as stacked bars: one bar per moment of a step, its terms side by side, compared with the memory of the card."""

from __future__ import annotations

from dataclasses import dataclass

from cfglint.report.html import svg

TYPE_CHECKING = False
if TYPE_CHECKING:
    from markupsafe import Markup

    from cfglint.findings.entries import MemoryDrawing

WIDTH = 1000  # units of a bar, which is scaled to the available width
HEIGHT = 16


@dataclass
class Bar:
    """A moment of a step, its memory in GiB, and its diagram."""

    name: str
    gib: str
    drawing: Markup


@dataclass
class Bars:
    """The terms in the order of their colours, a bar for each moment, the memory of the card, and a sentence."""

    terms: list[str]
    bars: list[Bar]
    card: str
    line: str


def bars(memory: MemoryDrawing | None) -> Bars | None:
    """The memory diagram; None if nothing is known about the memory."""
    if memory is None or not memory["moments"]:
        return None
    card = memory["available_gib"]
    totals = [sum(terms.values()) for _, terms in memory["moments"]]
    scale = WIDTH / max(size for size in (memory["high_gib"], card, *totals) if size is not None)
    limit = None if card is None else card * scale
    shown = [Bar(name, f"{total:.1f}", bar(terms, scale, limit)) for (name, terms), total in zip(memory["moments"], totals, strict=True)]
    return Bars(list(memory["terms"]), shown, "" if card is None else f"{card:g} GiB", memory["line"])


def bar(terms: dict[str, float], scale: float, limit: float | None) -> Markup:
    """The terms of a moment side by side, and a line at the limit of the card."""
    parts: list[str] = []
    x = 0.0
    for place, size in enumerate(terms.values()):
        parts.append(svg.element("rect", class_=f"term{place}", x=x, y=0, width=size * scale, height=HEIGHT))
        x += size * scale
    if limit is not None:
        parts.append(svg.element("path", class_="card", d=f"M{svg.number(limit)} 0v{HEIGHT}"))
    box: dict[str, float | int | str] = {
        "viewBox": f"0 0 {WIDTH} {HEIGHT}",
        "preserveAspectRatio": "none",
        "height": HEIGHT,
        "aria_hidden": "true",
    }
    return svg.element("svg", *parts, class_="bar", **box)
