"""The memory of a run as stacked bars: a bar for each moment of a step, its terms beside each other, against what the card offers."""

from __future__ import annotations

from cfglint.report.html import svg

TYPE_CHECKING = False
if TYPE_CHECKING:
    from markupsafe import Markup

    from cfglint.findings.entries import MemoryDrawing

LEFT = 170
WIDTH = 520
RIGHT = 70
ROW = 24
BAR = 16
HEAD = 26


def draw(memory: MemoryDrawing | None) -> Markup | None:
    """The picture; None where nothing is known of the memory."""
    if memory is None or not memory["moments"]:
        return None
    moments, card = memory["moments"], memory["available_gib"]
    largest = max(size for size in (memory["high_gib"], card) if size is not None)
    scale = WIDTH / largest
    parts: list[str] = legend(list(memory["terms"]))
    for place, (name, terms) in enumerate(moments):
        parts += row(name, terms, HEAD + ROW * place, scale)
    bottom = HEAD + ROW * len(moments)
    if card is not None:
        x = LEFT + card * scale
        parts.append(svg.element("path", class_="card", d=f"M{svg.number(x)} {HEAD - 4}V{bottom}"))
        parts.append(svg.text(x, bottom + 14, f"{card:g} GiB"))
    return svg.picture(LEFT + WIDTH + RIGHT, bottom + 22, *parts, label=f"GPU memory: {memory['line']}")


def legend(terms: list[str]) -> list[str]:
    """The colours of the terms."""
    parts: list[str] = []
    for place, name in enumerate(terms):
        x = LEFT + place * (WIDTH + RIGHT) / len(terms)
        parts.append(svg.element("rect", class_=f"term{place}", x=x, y=2, width=10, height=10))
        parts.append(svg.text(x + 14, 11, name, class_="left"))
    return parts


def row(name: str, terms: dict[str, float], y: float, scale: float) -> list[str]:
    """One moment: its name, its terms, its sum."""
    parts: list[str] = [svg.text(LEFT - 8, y + BAR - 4, name, class_="end")]
    x = float(LEFT)
    for place, size in enumerate(terms.values()):
        if size * scale >= 0.5:
            parts.append(svg.element("rect", class_=f"term{place}", x=x, y=y, width=size * scale, height=BAR))
        x += size * scale
    return [*parts, svg.text(x + 6, y + BAR - 4, f"{sum(terms.values()):.1f}", class_="left")]
