"""Plans as a table for people, Markdown, CSV or JSON."""

from __future__ import annotations

import textwrap

from cfglint.findings.wording import counted
from cfglint.report.escapes import shown
from cfglint.report.markdown import code
from cfglint.report.text import painted
from cfglint.source.annotations import Callable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.entries import MemoryEntry, PlanEntry, PlanTable

HEADS = {  # the columns, with their heads of two lines on a terminal
    "GPUs": ("", "GPUs"),
    "nodes": ("", "nodes"),
    "micro": ("", "micro"),
    "accumulation": ("accumu-", "lation"),
    "data-parallel": ("data", "parallel"),
    "global": ("", "global"),
    "steps/epoch": ("steps", "per epoch"),
    "total steps": ("total", "steps"),
    "tokens/step": ("tokens", "per step"),
    "GiB/GPU": ("GiB", "per GPU"),
    "hours": ("", "hours"),
    "note": ("", "note"),
}
COLUMNS = (*HEADS,)
CHOSEN = 2  # the column that is empty if no plan was found
WIDTH = 80  # columns without a terminal
MOST_SPLITS = 8  # maximum number of other splits listed per GPU count
NARROWEST = 24  # minimum columns of a note that stands beside its line


def render(form: str, plan_table: PlanTable, colour: bool = False, width: int | None = None) -> str:
    """The plans in a format; `plan_table` is `cfglint.rewrite.plan.table`; colours, and the width in columns, are for text."""
    if form == "json":
        from cfglint.report.json import dumps

        return dumps(plan_table)
    rows = [row(plan) for plan in plan_table["plans"]]
    if form == "csv":
        return as_csv(rows)
    if form == "markdown":
        return as_markdown(rows, plan_table)
    used = [index for index in range(len(COLUMNS)) if any(line[index] for line in rows)]
    drawn = as_text(rows, used, width or WIDTH, colour)
    return drawn + "".join(f"{line}\n" for note in notes(plan_table, shown) for line in wrap(note, width or WIDTH) or [""])


def row(plan: PlanEntry) -> list[str]:
    """The cells of a plan; an unknown number is an empty cell."""
    chosen = plan["chosen"]
    split = (chosen["micro_batch"], chosen["accumulation"], chosen["data_parallel"]) if chosen else (None, None, None)
    cells = [
        label(plan),
        plan["nodes"],
        *split,
        plan["global_batch"],
        plan["steps_per_epoch"],
        plan["total_steps"],
        plan["tokens_per_step"],
        memory(plan.get("memory")),
    ]
    return [*("" if cell is None else str(cell) for cell in cells), duration(plan), remark(plan)]


def label(plan: PlanEntry) -> str:
    """The GPUs, with the card if several are compared."""
    count = "" if plan["gpus"] is None else str(plan["gpus"])
    return f"{count} x {plan['gpu']}".removeprefix(" x ") if "gpu" in plan else count


def duration(plan: PlanEntry) -> str:
    """The hours, with a mark if they were not measured."""
    if plan["hours"] is None:
        return ""
    return f"{'~' if plan['hours_from'] == 'scaled' else ''}{plan['hours']:.1f}"


def memory(found: MemoryEntry | None) -> str | None:
    """The peak on a GPU and whether it fits."""
    if found is None or found["peak_gib"] is None:
        return None
    from cfglint.batch.memory.estimate import in_words

    peak = f"{found['peak_gib']:.1f}"
    if found["low_gib"] is not None and found["high_gib"] is not None:
        peak += f" ({found['low_gib']:.0f}-{found['high_gib']:.0f})"
    return f"{peak} {in_words(found['verdict'], found['peak_gib'], found['available_gib'])}" if found["verdict"] else peak


def remark(plan: PlanEntry) -> str:
    """The reason for this split, or the nearest alternatives."""
    if plan["feasible"]:
        idle = f"; pipeline idle {100 * plan['bubble']:.0f} %" if plan["bubble"] else ""
        cost = f"; costs {plan['cost']:,.2f}" if "cost" in plan else ""
        if "refused" in plan:
            return f"does not start: {plan['refused'][0]}"
        used = plan.get("memory")
        card = f"; {used['cards']}" if used is not None and used["cards"] else ""
        return ((plan["reasons"][0].partition(",")[0] if plan["reasons"] else "") + idle + card + cost).removeprefix("; ")
    offers = plan["alternatives"]
    near = [str(offers[side]) for side in ("below", "above") if offers[side]]
    text = "not reachable"
    if near:
        text += f"; nearest {' and '.join(near)}"
    if offers["gpus"]:
        text += f"; works on {', '.join(map(str, offers['gpus']))} GPUs"
    return text


def notes(plan_table: PlanTable, quoted: Callable[[str], str]) -> list[str]:
    """The notes: other splits, the basis of the hours, the settings tuned for another batch and the published scaling rules for them.

    `quoted` escapes a place, which contains the name of a file.
    """
    lines = [*as_written(plan_table), *other_splits(plan_table["plans"]), *remedies(plan_table["plans"])]
    if plan_table["pace"]:
        lines += ["", f"Hours: {plan_table['pace']}."]
    if not plan_table["advice"]:
        return lines
    lines += [
        "",
        f"Tuned for a global batch of {plan_table['before']} and not changed. Common scaling rules suggest for {plan_table['after']}:",
    ]
    advised: dict[str, list[str]] = {}
    for each in plan_table["advice"]:
        where = f"{each['key']} {each['value']} ({quoted(each['place'])})"
        advised.setdefault(where, []).append(f"{format_number(each['advised'])} ({each['rule'].partition(',')[0]})")
    lines += [f"  {where}: {' or '.join(values)}" for where, values in advised.items()]
    return [*lines, *(f"  {rule}" for rule in dict.fromkeys(each["rule"] for each in plan_table["advice"]) if "," in rule)]


def as_written(plan_table: PlanTable) -> list[str]:
    """The GPUs and the batch that a launch line gives, if all plans are for other GPUs."""
    gpus, batch = plan_table["gpus_before"], plan_table["before"]
    if gpus is None or any(each["gpus"] == gpus for each in plan_table["plans"]):
        return []
    return ["", f"As written: {counted(gpus, 'GPU')}{f', global batch {batch}' if batch is not None else ''}."]


def other_splits(plans: list[PlanEntry]) -> list[str]:
    """The splits that work in addition to the chosen ones."""
    lines: list[str] = []
    for plan in plans:
        taken = plan["chosen"]["micro_batch"] if plan["chosen"] else None
        others = [split for split in plan["options"] if split["micro_batch"] != taken]
        if others:
            listed = [f"{split['micro_batch']} x {split['accumulation']}" for split in others[:MOST_SPLITS]]
            more = ", ..." if len(others) > MOST_SPLITS else ""
            lines.append(f"  {label(plan)}: {', '.join(listed)}{more}{largest(plan.get('memory'))}")
    return ["", "Other splits that work (GPUs: micro batch x accumulation):", *lines] if lines else []


def remedies(plans: list[PlanEntry]) -> list[str]:
    """The changes that together make a plan fit into memory that does not surely fit."""
    lines: list[str] = []
    for plan in plans:
        found = plan.get("memory")
        if found is not None and found["would_fit"] is not None:
            changes = found["would_fit"]
            lines.append(f"  {label(plan)}: {' + '.join(changes['changes'])} ({changes['peak_gib']:.1f} GiB)")
    return ["", "Changes that make it fit (GPUs: changes):", *lines] if lines else []


def largest(found: MemoryEntry | None) -> str:
    """The largest micro batch for the card, in parentheses; empty if it is unknown."""
    if found is None:
        return ""
    surely, possibly = found["largest_micro_batch"]["surely"], found["largest_micro_batch"]["possibly"]
    if surely is None:
        return ""
    from cfglint.batch.memory.estimate import largest_in_words

    return f" ({largest_in_words(surely, possibly, found['class'])})"


def format_number(value: float) -> str:
    """A number with four digits; an integer with all its digits."""
    return str(int(value)) if float(value).is_integer() else f"{value:.4g}"


def wrap(line: str, width: int) -> list[str]:
    indent = " " * (len(line) - len(line.lstrip()))
    return textwrap.wrap(line.lstrip(), width, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False)


def as_text(rows: list[list[str]], used: list[int], width: int, colour: bool) -> str:
    """Columns aligned by spaces, the notes folded within their column, or below their line where that would be too narrow.

    In colour the head is bold, and GPU counts without a plan are dim.
    """
    *numbers, note = used
    heads = [[HEADS[COLUMNS[index]][part] for index in numbers] for part in (0, 1)]
    cells = [[line[index] for index in numbers] for line in rows]
    widths = [max(len(line[place]) for line in (*heads, *cells)) for place in range(len(numbers))]
    column = sum(widths) + 2 * len(widths)
    beside = width - column >= NARROWEST
    indent = column if beside else widths[0] + 2
    drawn = [("bold", aligned(heads[0], widths)), ("bold", aligned(heads[1], widths) + ("  note" if beside else ""))]
    for line, row_cells in zip(rows, cells, strict=True):
        folded = textwrap.wrap(line[note], width - indent)
        first = folded.pop(0) if beside and folded else ""
        style = "" if line[CHOSEN] else "dim"
        drawn.append((style, f"{aligned(row_cells, widths)}  {first}"))
        drawn += [(style, " " * indent + each) for each in folded]
    return "".join(f"{painted(style, line.rstrip()) if colour else line.rstrip()}\n" for style, line in drawn)


def aligned(cells: list[str], widths: list[int]) -> str:
    """The cells of one line, right-aligned."""
    return "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))


def as_csv(rows: list[list[str]]) -> str:
    """Comma-separated values with a header."""
    import csv
    from io import StringIO

    buffer = StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([COLUMNS, *rows])
    return buffer.getvalue()


def as_markdown(rows: list[list[str]], plan_table: PlanTable) -> str:
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "--:|" * (len(COLUMNS) - 1) + "---|"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in rows]
    for line in notes(plan_table, code):
        lines.append(f"- {line.strip()}" if line.startswith("  ") else line)
    return "\n".join(lines) + "\n"
