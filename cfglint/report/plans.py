"""Plans as a table for people, Markdown, CSV or JSON."""

from __future__ import annotations

import textwrap
from io import StringIO

from cfglint.batch.memory.estimate import in_words, largest_in_words
from cfglint.findings.wording import counted
from cfglint.report.escapes import shown
from cfglint.report.json import dumps
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
        return dumps(plan_table)
    rows = [row(plan) for plan in plan_table["plans"]]
    if form == "csv":
        import csv

        buffer = StringIO()
        csv.writer(buffer, lineterminator="\n").writerows([COLUMNS, *rows])
        return buffer.getvalue()
    if form == "markdown":
        return as_markdown(rows, plan_table)
    text = as_text(rows, width or WIDTH, colour)
    for note in notes(plan_table, shown):
        indent = " " * (len(note) - len(note.lstrip()))
        folder = textwrap.TextWrapper(width or WIDTH, indent, f"{indent}  ", break_on_hyphens=False)
        text += "".join(f"{line}\n" for line in folder.wrap(note.lstrip()) or [""])
    return text


def row(plan: PlanEntry) -> list[str]:
    """The cells of a plan; an unknown number is an empty cell. Hours that were not measured have a mark."""
    chosen = plan["chosen"]
    split = (chosen["micro_batch"], chosen["accumulation"], chosen["data_parallel"]) if chosen else (None, None, None)
    numbers = [plan["global_batch"], plan["steps_per_epoch"], plan["total_steps"], plan["tokens_per_step"]]
    hours = "" if plan["hours"] is None else f"{'~' if plan['hours_from'] == 'scaled' else ''}{plan['hours']:.1f}"
    cells = [label(plan), plan["nodes"], *split, *numbers, memory(plan.get("memory")), hours, remark(plan)]
    return ["" if cell is None else str(cell) for cell in cells]


def label(plan: PlanEntry) -> str:
    count = "" if plan["gpus"] is None else str(plan["gpus"])
    return f"{count} x {plan['gpu']}".removeprefix(" x ") if "gpu" in plan else count


def memory(found: MemoryEntry | None) -> str | None:
    """The peak on a GPU and whether it fits."""
    if found is None or found["peak_gib"] is None:
        return None

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
        return ((plan["reasons"][0].partition(", ")[0] if plan["reasons"] else "") + idle + card + cost).removeprefix("; ")
    offers = plan["alternatives"]
    near = [str(offers[side]) for side in ("below", "above") if offers[side]]
    text = "not reachable"
    if near:
        text += f"; nearest {' and '.join(near)}"
    if offers["gpus"]:
        text += f"; works on {', '.join(map(str, offers['gpus']))} GPUs"
    return text


def notes(plan_table: PlanTable, quoted: Callable[[str], str]) -> list[str]:
    """The notes: the batch as written, other splits, changes that make a plan fit, the basis of the hours, the settings tuned for another
    batch and the published scaling rules for them.

    `quoted` escapes a place, which contains the name of a file.
    """
    gpus, batch = plan_table["gpus_before"], plan_table["before"]
    lines: list[str] = []
    if gpus is not None and all(plan["gpus"] != gpus for plan in plan_table["plans"]):
        lines += ["", f"As written: {counted(gpus, 'GPU')}{f', global batch {batch}' if batch is not None else ''}."]
    splits: list[str] = []
    changes: list[str] = []
    for plan in plan_table["plans"]:
        used = plan.get("memory")
        taken = plan["chosen"]["micro_batch"] if plan["chosen"] else None
        others = [f"{split['micro_batch']} x {split['accumulation']}" for split in plan["options"] if split["micro_batch"] != taken]
        if others:
            more = ", ..." if len(others) > MOST_SPLITS else ""
            surely = used["largest_micro_batch"]["surely"] if used is not None else None
            if used is not None and surely is not None:
                more += f" ({largest_in_words(surely, used['largest_micro_batch']['possibly'], used['class'])})"
            splits.append(f"  {label(plan)}: {', '.join(others[:MOST_SPLITS])}{more}")
        if used is not None and used["would_fit"] is not None:
            changes.append(f"  {label(plan)}: {' + '.join(used['would_fit']['changes'])} ({used['would_fit']['peak_gib']:.1f} GiB)")
    lines += ["", "Other splits that work (GPUs: micro batch x accumulation):", *splits] if splits else []
    lines += ["", "Changes that make it fit (GPUs: changes):", *changes] if changes else []
    lines += ["", f"Hours: {plan_table['pace']}."] if plan_table["pace"] else []
    advised: dict[str, list[str]] = {}
    for advice in plan_table["advice"]:
        where = f"{advice['key']} {advice['value']} ({quoted(advice['place'])})"
        advised.setdefault(where, []).append(f"{format_number(advice['advised'])} ({advice['rule'].partition(',')[0]})")
    if advised:
        suggest = f"Tuned for a global batch of {batch} and not changed. Common scaling rules suggest for {plan_table['after']}:"
        lines += ["", suggest, *(f"  {where}: {' or '.join(values)}" for where, values in advised.items())]
        lines += [f"  {rule}" for rule in dict.fromkeys(advice["rule"] for advice in plan_table["advice"]) if "," in rule]
    return lines


def format_number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else f"{value:.4g}"


def as_text(rows: list[list[str]], width: int, colour: bool) -> str:
    """Columns aligned by spaces, with their notes beside or below; in colour the head is bold, and a line without a plan dim."""
    *numbers, note = [index for index in range(len(COLUMNS)) if any(line[index] for line in rows)]
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
        drawn += [(style, " " * indent + text) for text in folded]
    return "".join(f"{painted(style, line.rstrip()) if colour else line.rstrip()}\n" for style, line in drawn)


def aligned(cells: list[str], widths: list[int]) -> str:
    return "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))


def as_markdown(rows: list[list[str]], plan_table: PlanTable) -> str:
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "--:|" * (len(COLUMNS) - 1) + "---|"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in rows]
    for line in notes(plan_table, code):
        lines.append(f"- {line.strip()}" if line.startswith("  ") else line)
    return "\n".join(lines) + "\n"
