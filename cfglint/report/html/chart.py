"""Plans as a chart: a row for each GPU count, a column for each micro batch, a square for each split that works, a bar for its length."""

from __future__ import annotations

from cfglint.report.html import svg

TYPE_CHECKING = False
if TYPE_CHECKING:
    from markupsafe import Markup

    from cfglint.findings.entries import PlanEntry

LEFT = 46  # width of the GPU counts
COLUMN = 46
ROW = 40
SIDE = 30
TOP = 46
BAR = 14


def draw(plans: list[PlanEntry], label: str) -> Markup:
    """The chart of `cfglint.rewrite.plan.table`'s plans."""
    sizes = sorted({option["micro_batch"] for plan in plans for option in plan["options"]})
    right = LEFT + COLUMN * max(len(sizes), 2)
    name, values = lengths(plans)
    height = TOP + ROW * len(plans)
    bars: list[str] = [svg.text(0, 30, name, class_="left")]
    parts: list[str] = [svg.text(LEFT - 12, 30, "GPUs", class_="end"), svg.text((LEFT + right) / 2, 13, "micro batch")]
    parts += [svg.text(LEFT + COLUMN * (place + 0.5), 30, f"{size:,}", class_="strong") for place, size in enumerate(sizes)]
    for place, plan in enumerate(plans):
        y = TOP + ROW * (place + 0.5)
        parts.append(svg.element("path", class_="rule", d=f"M{LEFT} {svg.number(y)}H{right}"))
        parts.append(svg.text(LEFT - 12, y + 5, f"{plan['gpus']:,}", class_="end strong"))
        parts += row(plan, sizes, y) if plan["options"] else unreachable_row(plan, (LEFT + right) / 2, y)
        if name:
            bars += bar(name, values, place, plan.get("hours_from") == "scaled", y)
    splits = svg.picture(right, height, *parts, label=label)
    filling = svg.element("svg", *bars, class_="lengths", height=height, aria_hidden="true") if name else ""
    return svg.element("div", splits, filling, class_="plans")


def row(plan: PlanEntry, sizes: list[int], y: float) -> list[str]:
    """The splits of one GPU count."""
    chosen = plan["chosen"]["micro_batch"] if plan["chosen"] else None
    parts: list[str] = []
    for option in plan["options"]:
        x = LEFT + COLUMN * (sizes.index(option["micro_batch"]) + 0.5)
        taken = option["micro_batch"] == chosen
        words = f"\u00d7{option['accumulation']:,}"
        wide = max(SIDE, 8 * len(words) + 10)
        corner = {"x": x - wide / 2, "y": y - SIDE / 2, "width": wide, "height": SIDE, "rx": 4}
        parts.append(svg.element("rect", class_="cell chosen" if taken else "cell", **corner))
        parts.append(svg.text(x, y + 5, words, class_="in-chosen" if taken else "strong"))
    return parts


def unreachable_row(plan: PlanEntry, x: float, y: float) -> list[str]:
    """A GPU count without a split, with the nearest batches that have one."""
    near = [f"{plan['alternatives'][side]:,}" for side in ("below", "above") if plan["alternatives"][side]]
    words = f"\u2715 {' or '.join(near)}".rstrip()
    wide = 8 * len(words) + 8
    ground = svg.element("rect", class_="ground", x=x - wide / 2, y=y - SIDE / 2, width=wide, height=SIDE)
    return [ground, svg.text(x, y + 5, words)]


def lengths(plans: list[PlanEntry]) -> tuple[str, list[float | None]]:
    """The quantity of the bars: hours if a pace is known, else steps; an empty name if neither is."""
    hours = [plan["hours"] if plan["feasible"] else None for plan in plans]
    steps: list[float | None] = [plan["total_steps"] if plan["feasible"] else None for plan in plans]
    for name, values in (("hours", hours), ("steps", steps)):
        if any(value is not None for value in values):
            return name, values
    return "", []


def bar(name: str, values: list[float | None], place: int, scaled: bool, y: float) -> list[str]:
    """The bar for the length of one plan, a part of the width, with its number and unit; one that was not measured is marked."""
    value = values[place]
    if value is None:
        return [svg.text(0, y + 5, "-", class_="left")]
    most = max(each for each in values if each is not None) or 1
    words = f"{'~' if scaled else ''}{value:,.1f} h" if name == "hours" else f"{value:,} steps"
    return [
        svg.text(0, y - 4, words, class_="left"),
        svg.element("rect", class_="bar", x=1, y=y + 1, width=f"{svg.number(99 * value / most)}%", height=BAR),
    ]
