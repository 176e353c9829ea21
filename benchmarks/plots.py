"""A plot as a small SVG: logarithmic both ways, readable on light and dark, the same for the same figures."""

from __future__ import annotations

import math
from html import escape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 64, 150, 40, 48  # margins: numbers, names of the lines, title, unit
STYLE = """
 text { font: 13px system-ui, sans-serif; fill: #333 } .title { font-weight: 600 }
 .grid { stroke: #8884; stroke-width: 1 } .slope { stroke: #888; stroke-dasharray: 5 4 } .quiet { fill: #666 }
 .line { fill: none; stroke-width: 2.2 } .line0 { stroke: #0a66c2 } .line1 { stroke: #c2410c } .line2 { stroke: #15803d }
 .dot0 { fill: #0a66c2 } .dot1 { fill: #c2410c } .dot2 { fill: #15803d }
 @media (prefers-color-scheme: dark) { text { fill: #ddd } .quiet { fill: #aaa }
  .line0 { stroke: #6cb6ff } .line1 { stroke: #f69d50 } .line2 { stroke: #57ab5a }
  .dot0 { fill: #6cb6ff } .dot1 { fill: #f69d50 } .dot2 { fill: #57ab5a } }
"""


class Axis:
    """A logarithmic axis from one power of ten to another, laid on pixels."""

    def __init__(self, values: list[float], start: float, end: float) -> None:
        self.low = math.floor(math.log10(min(values)) + 1e-9)
        self.high = max(self.low + 1, math.ceil(math.log10(max(values)) - 1e-9))
        self.start = start
        self.end = end

    def at(self, value: float) -> float:
        """The pixel of a value."""
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    @property
    def ticks(self) -> list[float]:
        """The powers of ten."""
        return [10.0**power for power in range(self.low, self.high + 1)]


def plot(growth: dict[str, Any]) -> str:
    """The SVG of a growth: its lines, and one of slope 1 through the last point of the first."""
    lines: dict[str, list[dict[str, float]]] = growth["lines"]
    points = [point for line in lines.values() for point in line]
    across = Axis([point["x"] for point in points], LEFT, WIDTH - RIGHT)
    up = Axis([point["seconds"] for point in points], HEIGHT - BOTTOM, TOP)
    parts = [*frame(growth, across, up), slope(next(iter(lines.values()))[-1], across, up)]
    parts += [drawn(number, line, across, up) for number, line in enumerate(lines.values())]
    parts += names(lines, across, up)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img">'
    return "\n".join([head, f"<title>{escape(growth['title'])}</title>", f"<style>{STYLE}</style>", *parts, "</svg>"]) + "\n"


def frame(growth: dict[str, Any], across: Axis, up: Axis) -> list[str]:
    """Title, grid, and what the axes count."""
    parts = [f'<text class="title" x="{LEFT}" y="22">{escape(growth["title"])}: time</text>']
    for tick in across.ticks:
        x = across.at(tick)
        parts.append(f'<path class="grid" d="M{x} {TOP}V{HEIGHT - BOTTOM}"/>')
        parts.append(f'<text x="{x}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{tick:,.0f}</text>')
    for tick in up.ticks:
        y = up.at(tick)
        parts.append(f'<path class="grid" d="M{LEFT} {y}H{WIDTH - RIGHT}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{duration(tick)}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text class="quiet" x="{middle}" y="{HEIGHT - 10}" text-anchor="middle">{escape(growth["unit"])}</text>')
    return parts


def slope(last: dict[str, float], across: Axis, up: Axis) -> str:
    """The dashed line on which twice as much costs twice the time, through the last point and down to the frame's edge."""
    lowest = max(10.0**across.low, last["x"] * 10.0**up.low / last["seconds"])
    begin = across.at(lowest), up.at(last["seconds"] * lowest / last["x"])
    return f'<path class="slope" d="M{begin[0]} {begin[1]}L{across.at(last["x"])} {up.at(last["seconds"])}"/>'


def drawn(number: int, line: list[dict[str, float]], across: Axis, up: Axis) -> str:
    """One line and its points."""
    places = [(across.at(point["x"]), up.at(point["seconds"])) for point in line]
    path = "L".join(f"{x} {y}" for x, y in places)
    dots = "".join(f'<circle class="dot{number}" cx="{x}" cy="{y}" r="3"/>' for x, y in places)
    return f'<path class="line line{number}" d="M{path}"/>{dots}'


def names(lines: dict[str, list[dict[str, float]]], across: Axis, up: Axis) -> list[str]:
    """The names of the lines at their ends, not closer than text is high, and that of the dashed one below."""
    ends = sorted((up.at(line[-1]["seconds"]), number, name) for number, (name, line) in enumerate(lines.items()))
    parts: list[str] = []
    x, lowest = WIDTH - RIGHT + 10, 0.0
    for y, number, name in ends:
        lowest = max(y, lowest + 17)
        parts.append(f'<circle class="dot{number}" cx="{x}" cy="{lowest}" r="4"/><text x="{x + 9}" y="{lowest + 4}">{escape(name)}</text>')
    below = HEIGHT - BOTTOM - 8
    parts.append(f'<path class="slope" d="M{x - 4} {below}h18"/><text class="quiet" x="{x + 19}" y="{below + 4}">proportional</text>')
    return parts


def duration(seconds: float) -> str:
    """`10 ms`, `1 s`."""
    return f"{seconds:,.0f} s" if seconds >= 1 else f"{1000 * seconds:,.0f} ms"
