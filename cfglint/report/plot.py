"""Plans as a plot: the GPU counts and micro batches that work, and the length of each run. Needs matplotlib.

Everything is distinguished by shape, fill, hatching and words, so that it is readable in black and white.
"""

from __future__ import annotations

from cfglint.report.plans import duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cfglint.findings.entries import PlanEntry, PlanTable

WIDTH_OF_COUNT = 1.1  # inches for each GPU count
MARGIN = 2.4
HEIGHT_OF_SIZE = 0.42  # inches for each micro batch
BLACK = "black"
GREY = "0.55"


class NoPlotting(Exception):
    """matplotlib is not installed; the message explains how to install it."""


def draw(plan_table: PlanTable, form: str) -> bytes:
    """The plot in a format, `svg` or another; raises NoPlotting, or ValueError for a format that matplotlib does not support.

    `plan_table` is `cfglint.rewrite.plan.table`.
    """
    from io import BytesIO

    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise NoPlotting("a picture needs matplotlib, which is not installed") from error
    plans = plan_table["plans"]
    sizes = sorted({option["micro_batch"] for plan in plans for option in plan["options"]})
    with rc_context({"svg.hashsalt": "cfglint", "svg.fonttype": "none", "font.family": "sans-serif"}):
        figure = Figure(figsize=(MARGIN + WIDTH_OF_COUNT * len(plans), 4.4 + HEIGHT_OF_SIZE * len(sizes)), layout="constrained")
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(max(len(sizes), 2), 4))
        splits(upper, plans, sizes)
        lengths(lower, plans)
        lower.set_xticks(range(len(plans)), [str(plan["gpus"]) for plan in plans])
        lower.set_xlim(-0.6, len(plans) - 0.4)
        lower.set_xlabel("GPUs")
        picture = BytesIO()
        figure.savefig(picture, format=form, metadata={"Date": None} if form == "svg" else None)
    return picture.getvalue()


def splits(axes: Axes, plans: list[PlanEntry], sizes: list[int]) -> None:
    """A mark for each split that works, labelled with its accumulation; the chosen one is filled."""
    for place, plan in enumerate(plans):
        taken = plan["chosen"]["micro_batch"] if plan["chosen"] else None
        for option in plan["options"]:
            is_chosen = option["micro_batch"] == taken
            height = sizes.index(option["micro_batch"])
            axes.plot(place, height, "s", markersize=11, markeredgecolor=BLACK, markerfacecolor=BLACK if is_chosen else "white")
            axes.annotate(f"x{option['accumulation']}", (place, height), (9, -3), textcoords="offset points", fontsize=8)
        if not plan["options"]:
            axes.plot(place, (len(sizes) - 1) / 2, "x", markersize=14, color=GREY)
            axes.annotate("no split", (place, (len(sizes) - 1) / 2), (0, -18), textcoords="offset points", fontsize=8, ha="center")
    batches = sorted({plan["global_batch"] for plan in plans})
    axes.set_title(f"Splits of a global batch of {', '.join(map(str, batches))}: filled is chosen, x is accumulation", fontsize=10)
    axes.set_yticks(range(len(sizes)), [str(size) for size in sizes])
    axes.set_ylim(-0.7, max(len(sizes), 1) - 0.3)
    axes.set_ylabel("micro batch")
    axes.grid(axis="y", color="0.85", linewidth=0.6)
    axes.set_axisbelow(True)


def lengths(axes: Axes, plans: list[PlanEntry]) -> None:
    """The hours of each run, or its steps if no pace is known."""
    timed = any(plan["hours"] is not None for plan in plans)
    for place, plan in enumerate(plans):
        value = plan["hours"] if timed else plan["total_steps"]
        if value is None or not plan["feasible"]:
            axes.annotate("-", (place, 0), (0, 4), textcoords="offset points", ha="center")
            continue
        axes.bar(place, value, width=0.55, facecolor="white", edgecolor=BLACK, hatch="//")
        plan_table = duration(plan) if timed else f"{value:,}"
        axes.annotate(plan_table, (place, value), (0, 3), textcoords="offset points", fontsize=8, ha="center")
    axes.set_ylabel("hours" if timed else "steps")
    axes.margins(y=0.15)
