"""A comment for a pull request: a table of the runs, and the findings of each folded below it.

No string from a file becomes markup: names are put into code spans and folded titles as HTML text, findings in
fenced blocks whose fence is longer than any in them.
"""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR, INFO, WARNING, Diagnostic, Outcome
from cfglint.findings.wording import counted
from cfglint.report.escapes import shown
from cfglint.report.grouping import Group, grouped
from cfglint.report.text import group_block

LIMIT = 65_000  # bytes; GitHub refuses comments of more than 65,536 characters
MARK = "<!-- cfglint -->"  # with which a workflow finds its comment again
MOST_ROWS = 60
LONGEST_NAME = 120  # characters of a file name
SEVERITIES = (ERROR, WARNING, INFO)
HEAD = "| run | GPUs | starts | global batch | total steps | errors | warnings | info |\n|---|--:|---|--:|--:|--:|--:|--:|\n"
TAIL = 200  # bytes reserved for the end of a shortened comment


def render(outcomes: list[Outcome]) -> str:
    """The comment; findings beyond the size limit are only counted, the worst come first."""
    order = sorted(outcomes, key=urgency)
    diagnostics = [diagnostic for outcome in outcomes for diagnostic in outcome.open_findings]
    runs = "1 run" if len(outcomes) == 1 else f"{len(outcomes)} runs"
    parts = [f"{MARK}\n### cfglint: {severity_counts(diagnostics) or 'nothing found'} in {runs}\n\n"]
    if outcomes:
        parts.append(HEAD + "".join(row(outcome) for outcome in order[:MOST_ROWS]) + "\n")
    parts.append(rows_left_out(len(order) - MOST_ROWS))
    left = LIMIT - TAIL - sum(map(size, parts))
    left_out = 0
    for title, groups in sections(outcomes, order):
        text, shared = folded(title, groups, left)
        left -= size(text)
        left_out += sum(len(group.found) for group in groups[shared:])
        parts.append(text)
    if left_out:
        more = "1 more finding does" if left_out == 1 else f"{left_out} more findings do"
        parts.append(f"{more} not fit into a comment; `--format json` has them all.\n")
    return "".join(parts)


def rows_left_out(count: int) -> str:
    """A sentence on the runs that the table has no row for; empty if there is none."""
    if count <= 0:
        return ""
    return f"{counted(count, 'more run')} {'is' if count == 1 else 'are'} not in the table.\n\n"


def sections(outcomes: list[Outcome], order: list[Outcome]) -> list[tuple[str, list[Group]]]:
    """(title, findings) of the sections below the table: findings of several runs, then those of each run in order."""
    groups = grouped(outcomes)
    common = [group for group in groups if group.across]
    own: dict[int, list[Group]] = {}
    for group in groups:
        if not group.across:
            own.setdefault(id(group.outcomes[0]), []).append(group)
    shared = [("In several runs", common)] if common else []
    runs = [(f"<code>{html(cut(', '.join(outcome.files)))}</code>", own[id(outcome)]) for outcome in order if id(outcome) in own]
    return [*shared, *runs]


def urgency(outcome: Outcome) -> tuple[int, ...]:
    """The sort key of a run: most errors first, then most warnings, then most info."""
    return tuple(-number for number in counts(outcome.open_findings))


def counts(found: list[Diagnostic]) -> list[int]:
    """The number of errors, warnings and infos."""
    return [sum(diagnostic.severity == severity for diagnostic in found) for severity in SEVERITIES]


def severity_counts(found: list[Diagnostic]) -> str:
    """`2 errors, 1 warning`; empty for no findings."""
    named = zip(counts(found), SEVERITIES, strict=True)
    return ", ".join(f"{number} {severity}{'s' if number > 1 and severity != INFO else ''}" for number, severity in named if number)


def row(outcome: Outcome) -> str:
    """A run in the table."""
    starts = {"accept": "yes", None: "unknown"}.get(outcome.verdict, f"**no** ({outcome.fails_at})")
    numbers = [outcome.resolved.get("global_batch"), outcome.resolved.get("total_steps")]
    cells = [code(", ".join(outcome.files)), known(outcome.gpus), starts, *map(known, numbers), *map(str, counts(outcome.open_findings))]
    return f"| {' | '.join(cells)} |\n"


def known(number: int | None) -> str:
    """A number, or an empty string if it is unknown."""
    return "" if number is None else str(number)


def code(text: str) -> str:
    """A string as a code span that is safe in a table."""
    text = cut(shown(text)).replace("|", "\\x7c")
    ticks = "`" * (longest_ticks(text) + 1)
    return f"{ticks} {text} {ticks}" if "`" in text else f"`{text}`"


def cut(text: str) -> str:
    """A string whose middle is left out if it is too long for a table."""
    half = LONGEST_NAME // 2
    return text if len(text) <= LONGEST_NAME else f"{text[:half]}...{text[-half:]}"


def folded(name: str, groups: list[Group], room: int) -> tuple[str, int]:
    """The findings below a title, which is HTML, and how many of the groups fit into a number of bytes."""
    title = f"<details><summary>{name}: {severity_counts([diagnostic for each in groups for diagnostic in each.found])}</summary>\n\n"
    room -= size(title) + size("\n\n</details>\n\n")
    texts: list[str] = []
    fence = 3
    for group in groups:
        text = "".join(part for _, part in group_block(group))
        fence = max(fence, longest_ticks(text) + 1)
        room -= size(text)
        if room < 2 * fence:
            break
        texts.append(text)
    if not texts:
        return "", 0
    marks = "`" * fence
    return f"{title}{marks}text\n{''.join(texts)}{marks}\n\n</details>\n\n", len(texts)


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
