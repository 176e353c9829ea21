"""The analysis of a training log, as text and as JSON."""

from __future__ import annotations

from cfglint.explanation.failures import Failure
from cfglint.explanation.log_analysis import ENDLESS, ExplainedLog, LogExplanation
from cfglint.frameworks import framework
from cfglint.report.summary import BLANK, Paragraph, columns, folded, paragraph, sentence
from cfglint.rules.catalogue import rule_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.entries import BannerEntry, FailureEntry

LOG_LABELS = (
    ("training samples", "num_examples"),
    ("epochs", "num_epochs"),
    ("micro batch", "micro_batch"),
    ("accumulation", "accumulation"),
    ("global batch", "global_batch"),
    ("total steps", "total_steps"),
)
NOTHING = "no numbers follow a training banner in this log, and it shows no exception, memory error, overflow or time-out."


def as_text(path: str, found: ExplainedLog, width: int | None = None) -> str:
    """The analysis of a log, wrapped at a width in columns (80 by default): its failures, then its banners."""
    parts = [failure_lines(path, failure) for failure in found.failures]
    parts += [banner_lines(path, banner, found.files) for banner in found.banners]
    return "\n".join(folded(part, width) for part in parts or [paragraph("", f"{path}: {NOTHING}")])


def failure_lines(path: str, found: Failure) -> list[Paragraph]:
    lines = paragraph("", f"{path}:{found.line}  {found.summary}")
    one_of = "one of: " if len(found.rules) > 1 else "rule: "
    for code in found.rules:
        rule = rule_of(code)
        named = f"{code} {rule.name}: {' '.join(rule.page.partition(chr(10) * 2)[0].split())}" if rule is not None else code
        lines += paragraph("  ", f"{one_of}{named} (`cfglint rule {code}`)", "    ")
    if len(found.causes) > 1:
        lines += paragraph("  ", "several causes, the most frequent first:")
    for cause in found.causes:
        lines += paragraph("  - " if len(found.causes) > 1 else "  cause: ", cause, "    ")
    for detail in found.details:
        lines += paragraph("  ", detail, "    ")
    return lines + (paragraph("  help: ", found.remedy, "    ") if found.remedy else [])


def failure_entry(found: Failure) -> FailureEntry:
    return {
        "line": found.line,
        "kind": found.kind,
        "rank": found.rank,
        "phase": found.phase or None,
        "summary": found.summary,
        "exception": found.exception or None,
        "rules": found.rules,
        "causes": found.causes,
        "details": found.details,
        "help": found.remedy or None,
        "gpu_memory": found.gpu_memory,
    }


def banner_entry(found: LogExplanation) -> BannerEntry:
    """One banner; a number that is neither printed nor computable is null."""
    banner = found.banner
    return {
        "line": banner.line,
        "framework": banner.framework,
        "num_examples": banner["num_examples"],
        "num_epochs": banner["num_epochs"],
        "micro_batch": banner["micro_batch"],
        "accumulation": banner["accumulation"],
        "global_batch": banner["global_batch"],
        "total_steps": banner["total_steps"],
        "data_parallel": found.data_parallel,
        "steps_per_epoch": found.steps_per_epoch,
        "consistent_with": [{"transformers": releases} for releases in found.consistent_with],
        "note": found.note,
        "compared": found.compared,
        "differences": [
            {"key": difference.key, "log": difference.logged, "config": difference.configured, "place": difference.place}
            for difference in found.differences
        ],
    }


def banner_lines(path: str, found: LogExplanation, files: list[str]) -> list[Paragraph]:
    """What a banner says and means, and what was compared with the files, if any were given."""
    banner = found.banner
    lines = [
        *paragraph("", f"{path}:{banner.line}  {found.first_line} ({framework(banner.framework).title})"),
        BLANK,
        ("The log says", "", ""),
    ]
    for label, key in LOG_LABELS:
        number = banner[key]
        if number is not None:
            lines += columns(label, "endless" if number == ENDLESS else f"{number:,}", "")
    lines += [BLANK, ("That means", "", "")]
    if found.data_parallel is not None:
        because = f"{banner['global_batch']:,} / (micro batch {found.micro_batch:,} x accumulation {banner['accumulation']:,})"
        lines += columns("data parallel", f"{found.data_parallel:,}", because)
    for label, value, because in found.details:
        lines += columns(label, value, because)
    if found.consistent_with:
        lines += columns("transformers", "any" if len(found.consistent_with) > 1 else found.consistent_with[0], "")
    lines += paragraph("  ", sentence(found.note))
    for difference in found.differences:
        numbers = f"{difference.logged:,} in the log, {difference.configured:,} by the files ({difference.place})"
        lines += paragraph("  ", f"NOT as configured: {difference.key} is {numbers}.")
    if files and not found.compared:
        return lines + paragraph("  ", f"Nothing could be compared with {', '.join(files)}: no number is known on both sides.")
    if files and found.differences:
        lines += paragraph("  ", "The files may have changed since the log.")
    agree = [name for name in found.compared if all(difference.key != name for difference in found.differences)]
    if files and agree:
        text = f"{', '.join(agree)} as configured in {', '.join(files)}."
        lines += paragraph("  ", f"{text[:1].upper()}{text[1:]}")
    return lines
