"""A diagram of one optimizer step of one replica: a block for each pass, a square for each sample in it, then the update."""

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
MOST_BLOCKS = 5  # maximum number of passes drawn; of more, the first ones and the last
MOST_SQUARES = 25  # maximum number of samples drawn per pass; for more, their number
UPDATE = 58


def draw(micro: int | None, accumulation: int | None) -> Markup:
    """The diagram of a step of `accumulation` passes with `micro` samples each; None for an unknown number."""
    numbers = passes(accumulation)
    places = [1 + place * PITCH for place in range(len(numbers))]
    drawn = [x for x, number in zip(places, numbers, strict=True) if number is not None]
    parts = blocks(drawn, micro)
    for x, number in zip(places, numbers, strict=True):
        if number is not None:
            parts.append(svg.text(x + BLOCK / 2, HEIGHT - 4, f"{number:,}"))
        else:
            parts.append(svg.text(x + BLOCK / 2, BLOCK / 2 + 4, "?" if accumulation is None else "\u2026", class_="big"))
    return svg.picture(WIDTH, HEIGHT, *parts, *update(1 + len(numbers) * PITCH))


def passes(accumulation: int | None) -> list[int | None]:
    """The numbers of the passes to draw; None for a gap or an unknown number."""
    if accumulation is None:
        return [1, None]
    if accumulation <= MOST_BLOCKS:
        return list(range(1, accumulation + 1))
    return [*range(1, MOST_BLOCKS - 1), None, accumulation]


def blocks(places: list[int], micro: int | None) -> list[Markup]:
    """The passes at some places, each with its samples or their number."""
    frames = svg.element("path", class_="ghost" if micro is None else "o1", d=svg.boxes([(x, 1) for x in places], BLOCK, BLOCK))
    if micro is None or micro > MOST_SQUARES:
        words = "?" if micro is None else f"{micro:,}"
        return [frames, *(svg.text(x + BLOCK / 2, BLOCK / 2 + 6, words, class_="big") for x in places)]
    return [frames, squares(places, micro)]


def squares(places: list[int], micro: int) -> Markup:
    """The samples of the passes at some places."""
    side = max(ceil(sqrt(micro)), 2)
    pitch = (BLOCK - 6) / side
    gap = min(pitch / 4, 3)
    rows = [min(side, micro - row * side) for row in range(ceil(micro / side))]
    left, top = 3 + pitch * (side - rows[0]) / 2, 4 + pitch * (side - len(rows)) / 2
    lines = [(x + left + gap / 2, top + pitch * (row + 0.5), count * pitch - gap) for x in places for row, count in enumerate(rows)]
    dash = f"{svg.number(pitch - gap)} {svg.number(gap)}"
    return svg.element("path", class_="m1", stroke_width=pitch - gap, stroke_dasharray=dash, d=svg.dashes(lines))


def update(x: int) -> list[Markup]:
    """The update after the passes."""
    return [
        svg.element("path", class_="arrow", d=f"M{x - 2} {BLOCK / 2:g}h14m-5-4l5 4l-5 4"),
        svg.element("rect", class_="update", x=x + 16, y=1, width=UPDATE, height=BLOCK, rx=4),
        svg.text(x + 16 + UPDATE / 2, BLOCK / 2 + 5, "update", class_="onup"),
    ]
