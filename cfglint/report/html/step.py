"""One optimizer step of one replica as a drawing: a block for each pass, a square for each sample in it, then the update."""

from __future__ import annotations

from math import ceil, sqrt

from cfglint.report.html import svg

TYPE_CHECKING = False
if TYPE_CHECKING:
    from markupsafe import Markup

WIDTH = 336
BLOCK = 40
PITCH = 46
HEIGHT = 60
MOST_BLOCKS = 5  # passes that are drawn; of more, the first ones and the last
MOST_SQUARES = 25  # samples of a pass that are drawn; of more, their number
UPDATE = 58


def draw(micro: int | None, accumulation: int | None, label: str) -> Markup:
    """A step of `accumulation` passes with `micro` samples each; None for what is not known."""
    numbers = passes(accumulation)
    parts: list[str] = []
    for place, each in enumerate(numbers):
        x = 1 + place * PITCH
        if each is None:
            parts.append(svg.text(x + BLOCK / 2, BLOCK / 2 + 4, "?" if accumulation is None else "\u2026", class_="big"))
            continue
        parts += [*block(x, micro), svg.text(x + BLOCK / 2, HEIGHT - 4, f"{each:,}")]
    after = 1 + len(numbers) * PITCH
    parts.append(svg.element("path", class_="arrow", d=f"M{after - 2} {BLOCK / 2:g}h14m-5 -4l5 4l-5 4"))
    parts.append(svg.element("rect", class_="update", x=after + 16, y=1, width=UPDATE, height=BLOCK, rx=4))
    parts.append(svg.text(after + 16 + UPDATE / 2, BLOCK / 2 + 5, "update", class_="onup"))
    return svg.picture(WIDTH, HEIGHT, label, *parts)


def passes(accumulation: int | None) -> list[int | None]:
    """The numbers of the passes to draw; None where some are left out or not known."""
    if accumulation is None:
        return [1, None]
    if accumulation <= MOST_BLOCKS:
        return list(range(1, accumulation + 1))
    return [*range(1, MOST_BLOCKS - 1), None, accumulation]


def block(x: int, micro: int | None) -> list[str]:
    """One pass at x."""
    frame = svg.boxes([(x, 1)], BLOCK, BLOCK)
    if micro is None or micro > MOST_SQUARES:
        words = "?" if micro is None else f"{micro:,}"
        name = "ghost" if micro is None else "o1"
        return [svg.element("path", class_=name, d=frame), svg.text(x + BLOCK / 2, 26, words, class_="big")]
    side = max(ceil(sqrt(micro)), 2)
    pitch = (BLOCK - 6) / side
    gap = min(pitch / 4, 3)
    rows = [range(row * side, min((row + 1) * side, micro)) for row in range(ceil(micro / side))]
    lines = [(x + 3 + gap / 2, 4 + pitch * (row + 0.5), len(each) * pitch - gap) for row, each in enumerate(rows)]
    dash = f"{svg.number(pitch - gap)} {svg.number(gap)}"
    squares = svg.element("path", class_="m1", stroke_width=pitch - gap, stroke_dasharray=dash, d=svg.dashes(lines))
    return [svg.element("path", class_="o1", d=frame), squares]
