"""Plans as a chart: a column for each GPU count, a row for each micro batch, a square for each split that works."""

from __future__ import annotations

from cfglint.report.html import svg

TYPE_CHECKING = False
if TYPE_CHECKING:
    from markupsafe import Markup

    from cfglint.findings.entries import PlanEntry

LEFT = 100  # for the micro batches
COLUMN = 84
ROW = 40
SIDE = 30
TOP = 40
BARS = 96  # of the bars below
LABEL = 34


def draw(plans: list[PlanEntry], label: str) -> Markup:
    """The chart of `cfglint.rewrite.plan.table`'s plans."""
    sizes = sorted({option["micro_batch"] for plan in plans for option in plan["options"]}, reverse=True)
    height = TOP + ROW * max(len(sizes), 2)
    width = LEFT + COLUMN * len(plans)
    parts: list[str] = [
        svg.text(LEFT - 16, TOP - 16, "GPUs", class_="end"),
        svg.text(LEFT - 16, TOP + 4, "micro batch", class_="end"),
    ]
    for place, size in enumerate(sizes):
        y = TOP + ROW * (place + 0.5)
        parts.append(svg.element("path", class_="rule", d=f"M{LEFT} {svg.number(y)}H{width}"))
        parts.append(svg.text(LEFT - 16, y + 5, f"{size:,}", class_="end"))
    for place, plan in enumerate(plans):
        x = LEFT + COLUMN * (place + 0.5)
        parts.append(svg.text(x, TOP - 16, f"{plan['gpus']:,}", class_="strong"))
        parts += column(plan, sizes, x) if plan["options"] else crossed(plan, x, (TOP + height) / 2)
    name, values = lengths(plans)
    if name:
        parts += bars(name, values, height)
    return svg.picture(width, height + (BARS + LABEL if name else LABEL / 2), *parts, label=label)


def column(plan: PlanEntry, sizes: list[int], x: float) -> list[str]:
    """The splits of one GPU count."""
    chosen = plan["chosen"]["micro_batch"] if plan["chosen"] else None
    parts: list[str] = []
    for option in plan["options"]:
        y = TOP + ROW * (sizes.index(option["micro_batch"]) + 0.5)
        taken = option["micro_batch"] == chosen
        words = f"\u00d7{option['accumulation']:,}"
        wide = max(SIDE, 8 * len(words) + 10)
        corner = {"x": x - wide / 2, "y": y - SIDE / 2, "width": wide, "height": SIDE, "rx": 4}
        parts.append(svg.element("rect", class_="cell chosen" if taken else "cell", **corner))
        parts.append(svg.text(x, y + 5, words, class_="in-chosen" if taken else "strong"))
    return parts


def crossed(plan: PlanEntry, x: float, y: float) -> list[str]:
    """A GPU count without a split, and the batches next to the target that it has splits for."""
    cross = f"M{svg.number(x - 9)} {svg.number(y - 9)}l18 18m0 -18l-18 18"
    near = [f"{plan['alternatives'][side]:,}" for side in ("below", "above") if plan["alternatives"][side]]
    words = svg.text(x, y + 28, " or ".join(near)) if near else ""
    return [svg.element("path", class_="cross", d=cross), words]


def lengths(plans: list[PlanEntry]) -> tuple[str, list[float | None]]:
    """What the bars show: hours where a pace is known, else steps; an empty name where neither is."""
    hours = [plan["hours"] if plan["feasible"] else None for plan in plans]
    steps: list[float | None] = [plan["total_steps"] if plan["feasible"] else None for plan in plans]
    for name, values in (("hours", hours), ("steps", steps)):
        if any(value is not None for value in values):
            return name, values
    return "", []


def bars(name: str, values: list[float | None], top: float) -> list[str]:
    """A bar for each length, its number above it."""
    most = max(value for value in values if value is not None) or 1
    floor = top + BARS + LABEL / 2
    parts: list[str] = [
        svg.text(LEFT - 16, floor, name, class_="end"),
        svg.element("path", class_="rule", d=f"M{LEFT} {svg.number(floor)}h{COLUMN * len(values)}"),
    ]
    for place, value in enumerate(values):
        x = LEFT + COLUMN * (place + 0.5)
        if value is None:
            parts.append(svg.text(x, floor - 6, "-"))
            continue
        tall = (BARS - 30) * value / most
        parts.append(svg.element("rect", class_="bar", x=x - 20, y=floor - tall, width=40, height=tall))
        parts.append(svg.text(x, floor - tall - 6, f"{value:,.1f}" if name == "hours" else f"{value:,}"))
    return parts
