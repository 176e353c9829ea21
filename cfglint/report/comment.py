"""A comment for a pull request about its effect on runs: a table, and the details of each run folded below it."""

from __future__ import annotations

from collections import Counter

from cfglint.findings.diagnostic import Outcome
from cfglint.findings.wording import counted
from cfglint.report.changes import alike, block, nothing, release_block, title, urgency
from cfglint.report.markdown import LIMIT, MARK, MOST_ROWS, TAIL, code, cut, folded, html, size, table, tally
from cfglint.report.summary import sentence
from cfglint.review.compare import Comparison
from cfglint.review.effects import by_importance
from cfglint.review.left_out import NotCompared, lines_of
from cfglint.review.release_groups import grouped_by_release
from cfglint.source.annotations import Sequence

HEAD = "| run | starts | global batch | total steps | new findings | resolved |\n|---|---|---|---|---|--:|\n"
MOST_HEADLINES = 5  # consequences in the folded title of a run
OUT_OF_MEMORY = "MEM001"  # a run that does not fit does not start


def render(comparisons: list[Comparison], unused: Sequence[NotCompared] = (), note: str = "") -> str:
    """The comment, the most important first, the rest counted beyond its limit; runs of a changed release have one section."""
    groups, others = grouped_by_release(comparisons)
    rows = Counter(map(cells_of, sorted((other for other in others if not other.empty), key=urgency)))
    cells = [[f"{name} ({runs} runs)" if runs > 1 else name, *rest] for (name, *rest), runs in [*rows.items()][:MOST_ROWS]]
    parts = [f"{MARK}\n### cfglint: {headline(comparisons, bool(unused))}\n\n", table(HEAD, cells, len(rows) - MOST_ROWS)]
    parts += [f"{html(line)}\n\n" for line in [*lines_of(unused)[:MOST_ROWS], *([sentence(note)] if note else [])]]
    # (title, headline, lines below it) of the runs that depend on changed releases, then of those that changed in one way
    sections = [(", ".join(group.titles), group.headline, release_block(group), len(group.titles)) for group in groups]
    for alike_runs in alike(others):
        comparison = alike_runs[0]
        ordered = by_importance(comparison.sentences)
        texts = [consequence.headline for consequence in ordered[:MOST_HEADLINES]]
        more = [f"{len(ordered) - MOST_HEADLINES} more"] if len(ordered) > MOST_HEADLINES else []
        heads = "; ".join([*texts, *more]) or tally(comparison.new) or "other settings"
        sections.append((title(comparison), heads, block(comparison, group=alike_runs), 1))
    left = LIMIT - TAIL - sum(map(size, parts))
    left_out = 0
    for name, heads, segments, skipped in sections:
        lines = "".join(text for _, text in segments).splitlines(keepends=True)[skipped:]
        text, shared = folded(f"<code>{html(cut(name))}</code>: {html(heads)}", lines, left)
        left -= size(text)
        left_out += len(lines) - shared
        parts.append(text)
    if left_out:
        more_lines = "1 more line does" if left_out == 1 else f"{left_out} more lines do"
        parts.append(f"{more_lines} not fit into a comment; `--format json` has everything.\n")
    return "".join(parts)


def headline(comparisons: list[Comparison], left_out: bool) -> str:
    """The number of changed runs, and what is new in them; `left_out`: something changed that is not compared."""
    altered = [comparison for comparison in comparisons if comparison.in_effect]
    runs = counted(len(comparisons), "run")
    if not altered:
        return nothing(comparisons, left_out) + (f" in {runs}" if comparisons or not left_out else "")
    new = tally(diagnostic for comparison in altered for diagnostic in comparison.new)
    changed = f"{len(altered)} of {runs} changed in effect" if len(comparisons) > 1 else "1 run changed in effect"
    return f"{changed}, new: {new}" if new else changed


def cells_of(comparison: Comparison) -> tuple[str, ...]:
    before, after = comparison.before, comparison.after
    name = code(title(comparison))
    if before is None or after is None:
        name += " (new)" if after else " (deleted)"
    numbers = []
    for key in ("global_batch", "total_steps"):
        values = ["" if side is None or side.resolved.get(key) is None else f"{side.resolved[key]:,}" for side in (before, after)]
        factor = next((consequence.factor for consequence in comparison.consequences if consequence.what == key), None)
        numbers.append(f"x{factor:.3g}" if not any(values) and factor not in (None, 1) else turned(*values))
    return name, turned(starts(before), starts(after)), *numbers, tally(comparison.new), str(len(comparison.gone) or "")


def starts(side: Outcome | None) -> str:
    """Whether the framework would start the run, and the memory of a GPU is enough for it."""
    if side is None:
        return ""
    if side.verdict == "accept" and any(diagnostic.code == OUT_OF_MEMORY for diagnostic in side.diagnostics):
        return "**no** (memory)"
    return {"accept": "yes", None: "unknown"}.get(side.verdict, f"**no** ({side.fails_at})")


def turned(before: str, after: str) -> str:
    """`512 -> 256`; only one of them if they are equal or the other is unknown."""
    return f"{before} -> {after}" if before and after and before != after else after or before
