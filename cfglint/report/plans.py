"""Plans as a table for people, Markdown, CSV or JSON."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

COLUMNS = ("GPUs", "micro", "accumulation", "data-parallel", "global", "steps/epoch", "total steps", "tokens/step", "hours", "note")


def render(form: str, told: dict[str, Any], terminal: bool = False) -> str:
    """The plans in a format; `told` is `cfglint.planning.table`."""
    if form == "json":
        import json

        from cfglint import __version__

        return json.dumps({"cfglint": __version__, **told}) + "\n"
    rows = [row(plan) for plan in told["plans"]]
    if form == "csv":
        return as_csv(rows)
    if form == "markdown":
        return as_markdown(rows, told)
    shown = [index for index in range(len(COLUMNS)) if any(line[index] for line in rows)]
    drawn = on_terminal(rows, shown) if terminal else as_text(rows, shown)
    return drawn + "".join(f"{line}\n" for line in notes(told))


def row(plan: dict[str, Any]) -> list[str]:
    """The cells of a plan; an empty one is a number that is not known."""
    chosen = plan["chosen"] or {}
    hours = plan["hours"]
    cells = [
        plan["gpus"],
        chosen.get("micro_batch"),
        chosen.get("accumulation"),
        chosen.get("data_parallel"),
        plan["global_batch"],
        plan["steps_per_epoch"],
        plan["total_steps"],
        plan["tokens_per_step"],
    ]
    return [*("" if cell is None else str(cell) for cell in cells), "" if hours is None else f"{hours:.1f}", remark(plan)]


def remark(plan: dict[str, Any]) -> str:
    """Why this split, or what can be had instead."""
    if plan["feasible"]:
        idle = f"; pipeline idle {100 * plan['bubble']:.0f} %" if plan["bubble"] else ""
        return (plan["reasons"][0] if plan["reasons"] else "") + idle
    offers = plan["alternatives"]
    near = [str(offers[side]) for side in ("below", "above") if offers[side]]
    text = "not reachable"
    if near:
        text += f"; nearest {' and '.join(near)}"
    if offers["gpus"]:
        text += f"; works on {', '.join(map(str, offers['gpus']))} GPUs"
    return text


def notes(told: dict[str, Any]) -> list[str]:
    """What was tuned for another batch, and what the published rules say of it."""
    if not told["advice"]:
        return []
    lines = ["", f"Tuned for a global batch of {told['before']}, and left as they are; published rules would say:"]
    for each in told["advice"]:
        lines.append(f"  {each['key']} {each['value']} ({each['place']}) -> {each['advised']:.4g}  {each['rule']}")
    return lines


def as_text(rows: list[list[str]], shown: list[int]) -> str:
    """Columns aligned by spaces."""
    heads = [COLUMNS[index] for index in shown]
    lines = [heads, *([line[index] for index in shown] for line in rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(shown))]
    last = len(shown) - 1
    drawn = ["  ".join(cell.rjust(width) if place != last else cell for place, (cell, width) in enumerate(zip(line, widths, strict=True))) for line in lines]
    return "".join(line.rstrip() + "\n" for line in drawn)


def on_terminal(rows: list[list[str]], shown: list[int]) -> str:
    """A table drawn by rich."""
    from io import StringIO

    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD)
    for index in shown:
        drawn.add_column(COLUMNS[index], justify="left" if index == len(COLUMNS) - 1 else "right")
    for line in rows:
        drawn.add_row(*(Text(line[index], style="" if line[1] else "dim") for index in shown))
    console = Console()
    buffer = StringIO()
    Console(file=buffer, width=console.width, force_terminal=not console.no_color, no_color=console.no_color).print(drawn)
    return buffer.getvalue()


def as_csv(rows: list[list[str]]) -> str:
    """Comma-separated values with a header."""
    import csv
    from io import StringIO

    buffer = StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([COLUMNS, *rows])
    return buffer.getvalue()


def as_markdown(rows: list[list[str]], told: dict[str, Any]) -> str:
    """A Markdown table and the notes as a list."""
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "--:|" * (len(COLUMNS) - 1) + "---|"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in rows]
    advice = notes(told)
    if advice:
        lines += ["", advice[1], "", *(f"- {line.strip()}" for line in advice[2:])]
    return "\n".join(lines) + "\n"
