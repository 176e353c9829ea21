"""A comment for a pull request: a table of the runs, and the findings of each folded below it.

No string from a file becomes markup: names are put into code spans and folded titles as HTML text, findings in
fenced blocks whose fence is longer than any in them.
"""

from __future__ import annotations

from cfglint.findings.diagnostic import SEVERITIES, Diagnostic, Outcome, severity_counts
from cfglint.findings.wording import counted
from cfglint.report.escapes import shown
from cfglint.report.grouping import Group, grouped
from cfglint.report.text import group_block
from cfglint.source.annotations import Iterable

LIMIT = 65_000  # bytes; GitHub refuses comments of more than 65,536 characters
MARK = "<!-- cfglint -->"  # with which a workflow finds its comment again
MOST_ROWS = 60
LONGEST_NAME = 120  # characters of a file name
HEAD = "| run | GPUs | starts | global batch | total steps | errors | warnings | info |\n|---|--:|---|--:|--:|--:|--:|--:|\n"
DETAILS_END = "\n\n</details>\n\n"
TAIL = 200  # bytes reserved for the end of a shortened comment


def render(outcomes: list[Outcome]) -> str:
    """The comment; findings beyond the size limit are only counted, the worst come first."""
    order = sorted(outcomes, key=lambda outcome: [-number for number in counts(outcome.open_findings)])
    diagnostics = [diagnostic for outcome in outcomes for diagnostic in outcome.open_findings]
    runs = counted(len(outcomes), "run")
    parts = [f"{MARK}\n### cfglint: {tally(diagnostics) or 'nothing found'} in {runs}\n\n"]
    rows = []
    for outcome in order[:MOST_ROWS]:
        starts = {"accept": "yes", None: "unknown"}.get(outcome.verdict, f"**no** ({outcome.fails_at})")
        gpus, batch, steps = (
            "" if number is None else str(number)
            for number in (outcome.gpus, outcome.resolved.get("global_batch"), outcome.resolved.get("total_steps"))
        )
        rows.append([code(", ".join(outcome.files)), gpus, starts, batch, steps, *map(str, counts(outcome.open_findings))])
    parts.append(table(HEAD, rows, len(order) - MOST_ROWS))
    # Below it the findings of several runs, then those of each run.
    sections: dict[int, tuple[str, list[Group]]] = {0: ("In several runs", [])}
    sections.update({id(outcome): (f"<code>{html(cut(', '.join(outcome.files)))}</code>", []) for outcome in order})
    for group in grouped(outcomes):
        sections[0 if group.across else id(group.outcomes[0])][1].append(group)
    left = LIMIT - TAIL - sum(map(size, parts))
    left_out = 0
    for name, groups in sections.values():
        if groups:
            title = f"{name}: {tally(diagnostic for group in groups for diagnostic in group.found)}"
            text, shared = folded(title, ["".join(part for _, part in group_block(group)) for group in groups], left)
            left -= size(text)
            left_out += sum(len(group.found) for group in groups[shared:])
            parts.append(text)
    if left_out:
        more = "1 more finding does" if left_out == 1 else f"{left_out} more findings do"
        parts.append(f"{more} not fit into a comment; `--format json` has them all.\n")
    return "".join(parts)


def table(head: str, rows: list[list[str]], left_out: int) -> str:
    """A table of runs, and a sentence on those that it has no row for; empty without rows."""
    text = head + "".join(f"| {' | '.join(row)} |\n" for row in rows) + "\n" if rows else ""
    return text + (f"{counted(left_out, 'more run')} {'is' if left_out == 1 else 'are'} not in the table.\n\n" if left_out > 0 else "")


def counts(found: list[Diagnostic]) -> list[int]:
    """The number of errors, warnings and infos."""
    return [sum(diagnostic.severity == severity for diagnostic in found) for severity in reversed(SEVERITIES)]


def tally(found: Iterable[Diagnostic]) -> str:
    """`2 errors, 1 warning`; empty for no findings."""
    return ", ".join(severity_counts(diagnostic.severity for diagnostic in found).values())


def code(text: str) -> str:
    """A string as a code span that is safe in a table."""
    text = cut(shown(text)).replace("|", "\\x7c")
    ticks = "`" * (longest_ticks(text) + 1)
    return f"{ticks} {text} {ticks}" if "`" in text else f"`{text}`"


def cut(text: str) -> str:
    """A string whose middle is left out if it is too long for a table."""
    half = LONGEST_NAME // 2
    return text if len(text) <= LONGEST_NAME else f"{text[:half]}...{text[-half:]}"


def folded(title: str, texts: list[str], room: int) -> tuple[str, int]:
    """Texts in a fenced block that is folded below a title, which is HTML, and how many of them fit into a number of bytes."""
    head = f"<details><summary>{title}</summary>\n\n"
    marks = "`" * max(3, longest_ticks("".join(texts)) + 1)
    room -= size(head) + 2 * size(marks) + size("text\n") + size(DETAILS_END)
    shared = 0
    for text in texts:
        room -= size(text)
        if room < 0:
            break
        shared += 1
    return f"{head}{marks}text\n{''.join(texts[:shared])}{marks}{DETAILS_END}" if shared else "", shared


def longest_ticks(text: str) -> int:
    """The length of the longest run of backticks."""
    longest = 0
    while "`" * (longest + 1) in text:
        longest += 1
    return longest


def html(text: str) -> str:
    return shown(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def size(text: str) -> int:
    """The number of bytes in UTF-8."""
    return len(text.encode())
