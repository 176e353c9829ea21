"""A comment for a pull request about its effect on runs: a table, and the details of each run folded below it."""

from __future__ import annotations

from collections import Counter

from cfglint.findings.diagnostic import Outcome
from cfglint.report.changes import alike, block, nothing, release_block, title, urgency
from cfglint.report.markdown import (
    LIMIT,
    MARK,
    MOST_ROWS,
    TAIL,
    code,
    cut,
    html,
    longest_ticks,
    rows_left_out,
    severity_counts,
    size,
)
from cfglint.report.summary import sentence
from cfglint.review.compare import Comparison
from cfglint.review.consequence import Consequence
from cfglint.review.effects import by_importance
from cfglint.review.left_out import NotCompared, lines_of
from cfglint.review.release_groups import ReleaseGroup, grouped_by_release
from cfglint.source.annotations import Sequence

HEAD = "| run | starts | global batch | total steps | new findings | resolved |\n|---|---|---|---|---|--:|\n"
MOST_HEADLINES = 5  # consequences in the folded title of a run
OUT_OF_MEMORY = "MEM001"  # a run that does not fit does not start
DETAILS_END = "\n\n</details>\n\n"


def render(comparisons: list[Comparison], unused: Sequence[NotCompared] = (), note: str = "") -> str:
    """The comment; details beyond the size limit are only counted, the most important come first.

    The runs that only depend on a changed release have one section instead of a row each.
    """
    groups, others = grouped_by_release(comparisons)
    altered = [comparison for comparison in comparisons if comparison.in_effect]
    rows = Counter(map(cells_of, sorted((other for other in others if not other.empty), key=urgency)))
    parts = [f"{MARK}\n### cfglint: {headline(comparisons, altered, bool(unused))}\n\n"]
    if rows:
        parts.append(HEAD + "".join(row(cells, runs) for cells, runs in [*rows.items()][:MOST_ROWS]) + "\n")
    parts.append(rows_left_out(len(rows) - MOST_ROWS))
    parts += [f"{html(each)}\n\n" for each in [*lines_of(unused)[:MOST_ROWS], *([sentence(note)] if note else [])]]
    left = LIMIT - TAIL - sum(map(size, parts))
    left_out = 0
    sections = [release_section(group) for group in groups] + [section(each) for each in alike(others)]
    for head, body in sections:
        text, lines = folded(head, body, left)
        left -= size(text)
        left_out += lines
        parts.append(text)
    if left_out:
        parts.append(
            f"{left_out} more {'line does' if left_out == 1 else 'lines do'} not fit into a comment; `--format json` has everything.\n"
        )
    return "".join(parts)


def headline(comparisons: list[Comparison], altered: list[Comparison], left_out: bool) -> str:
    """The number of changed runs, and what is new in them; `left_out`: something changed that is not compared."""
    runs = "1 run" if len(comparisons) == 1 else f"{len(comparisons)} runs"
    if not altered:
        return nothing(comparisons, left_out) + (f" in {runs}" if comparisons or not left_out else "")
    new = severity_counts([diagnostic for comparison in altered for diagnostic in comparison.new])
    changed = f"{len(altered)} of {runs} changed in effect" if len(comparisons) > 1 else "1 run changed in effect"
    return f"{changed}, new: {new}" if new else changed


def row(cells: tuple[str, ...], runs: int) -> str:
    """The line of the table for the runs with the same cells."""
    name, *others = cells
    return f"| {' | '.join([f'{name} ({runs} runs)' if runs > 1 else name, *others])} |\n"


def cells_of(comparison: Comparison) -> tuple[str, ...]:
    """The cells of a run in the table."""
    before, after = comparison.before, comparison.after
    name = code(title(comparison))
    if before is None or after is None:
        name += " (new)" if after else " (deleted)"
    figures = (turned(starts(before), starts(after)), *(numbers(comparison, key) for key in ("global_batch", "total_steps")))
    return name, *figures, severity_counts(comparison.new), str(len(comparison.gone) or "")


def starts(side: Outcome | None) -> str:
    """Whether the framework would start the run, and the memory of a GPU is enough for it."""
    if side is None:
        return ""
    if side.verdict == "accept" and any(diagnostic.code == OUT_OF_MEMORY for diagnostic in side.diagnostics):
        return "**no** (memory)"
    return {"accept": "yes", None: "unknown"}.get(side.verdict, f"**no** ({side.fails_at})")


def numbers(comparison: Comparison, key: str) -> str:
    """A number on both sides; the factor between them if the numbers are unknown."""
    sides = (comparison.before, comparison.after)
    values = ["" if side is None or side.resolved.get(key) is None else f"{side.resolved[key]:,}" for side in sides]
    factor = next((consequence.factor for consequence in comparison.consequences if consequence.what == key), None)
    if not any(values) and factor not in (None, 1):
        return f"x{factor:.3g}"
    return turned(*values)


def turned(before: str, after: str) -> str:
    """`512 -> 256`; only one of them if they are equal or the other is unknown."""
    return f"{before} -> {after}" if before and after and before != after else after or before


def section(group: list[Comparison]) -> tuple[str, list[str]]:
    """The headline of the runs that changed in one way as HTML, and the lines below it."""
    comparison = group[0]
    heads = headlines(comparison.sentences) or severity_counts(comparison.new) or "other settings"
    lines = "".join(text for _, text in block(comparison, group=group)).splitlines(keepends=True)[1:]
    return f"<code>{html(cut(title(comparison)))}</code>: {html(heads)}", lines


def headlines(found: Sequence[Consequence]) -> str:
    """The most important consequences without their explanations, and how many more there are."""
    ordered = by_importance(found)
    texts = [consequence.headline for consequence in ordered[:MOST_HEADLINES]]
    more = len(ordered) - MOST_HEADLINES
    return "; ".join([*texts, f"{more} more"] if more > 0 else texts)


def release_section(group: ReleaseGroup) -> tuple[str, list[str]]:
    """The headline of the runs that depend on changed releases as HTML, and the facts about them."""
    lines = "".join(text for _, text in release_block(group)).splitlines(keepends=True)[len(group.titles) :]
    return f"<code>{html(cut(', '.join(group.titles)))}</code>: {html(group.headline)}", lines


def folded(heading: str, lines: list[str], room: int) -> tuple[str, int]:
    """The details of a section below its headline, and the number of lines that exceed the given number of bytes."""
    head = f"<details><summary>{heading}</summary>\n\n"
    marks = "`" * max(3, longest_ticks("".join(lines)) + 1)
    room -= size(head) + 2 * size(marks) + size("text\n") + size(DETAILS_END)
    fitting: list[str] = []
    for line in lines:
        room -= size(line)
        if room < 0:
            break
        fitting.append(line)
    if not fitting:
        return "", len(lines)
    return f"{head}{marks}text\n{''.join(fitting)}{marks}{DETAILS_END}", len(lines) - len(fitting)
