"""SVG elements as escaped strings; paths and numbers are as short as possible."""

from __future__ import annotations

from markupsafe import Markup, escape

from cfglint.source.annotations import Iterable

Number = float | int


def number(value: Number) -> str:
    """A coordinate with at most one decimal."""
    text = f"{value:.1f}"
    return text.removesuffix(".0")


def element(name: str, *children: str, **attributes: Number | str) -> Markup:
    """An element; `class_` is `class`, other underscores are hyphens. Children that are not Markup are escaped."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value if isinstance(value, str) else number(value))}"'
        for key, value in attributes.items()
    )
    inner = "".join(map(escape, children))
    return Markup(f"<{name}{given}>{inner}</{name}>" if inner else f"<{name}{given}/>")


def picture(width: Number, height: Number, *children: str, label: str = "") -> Markup:
    """A scalable drawing: an image with a label, hidden from screen readers if words next to it are equivalent."""
    named = {"role": "img", "aria_label": label} if label else {"aria_hidden": "true"}
    box = f"0 0 {number(width)} {number(height)}"
    return element("svg", *children, viewBox=box, width=width, height=height, **named)


def dashes(rows: Iterable[tuple[Number, Number, Number]]) -> str:
    """The path of horizontal lines (x, y, length), whose strokes are dashed into cells."""
    return "".join(f"M{number(x)} {number(y)}h{number(length)}" for x, y, length in rows)


def boxes(corners: Iterable[tuple[Number, Number]], width: Number, height: Number) -> str:
    """The path of equal rectangles by their upper left corners."""
    shape = f"h{number(width)}v{number(height)}h-{number(width)}z"
    return "".join(f"M{number(x)} {number(y)}{shape}" for x, y in corners)


def text(x: Number, y: Number, words: str, **attributes: Number | str) -> Markup:
    """Words centred at x, with their baseline at y."""
    return element("text", words, x=x, y=y, **attributes)
