"""The report of a change as text and as JSON; `comment` has the Markdown."""

from __future__ import annotations

import os

from cfglint.findings.diagnostic import ERROR, WARNING, Diagnostic, Outcome
from cfglint.report.text import Segments
from cfglint.review.compare import Comparison
from cfglint.review.consequence import Consequence
from cfglint.review.consequences import VERSION
from cfglint.review.left_out import NotCompared, lines_of
from cfglint.review.release_groups import Fact, ReleaseGroup, grouped_by_release, listed_runs
from cfglint.review.releases import ReleaseChange
from cfglint.review.settings import SettingChange, SettingState
from cfglint.source.annotations import Iterable, Sequence
from cfglint.source.record import changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.entries import ChangeEntry, ConsequenceEntry, SettingChangeEntry, StateEntry

NOTHING = "no effective change"
NOTHING_COMPARED = "no change in what is compared; code that is not compared has changed"
NO_RUN = "no run compared"
PLACE = r" \([^()]+:\d+\)"  # in a sentence: ` (train.yaml:3)`


def only_new(comparisons: list[Comparison]) -> list[Outcome]:
    """The new sides, with only their new findings."""
    return [changed(comparison.after, diagnostics=comparison.new) for comparison in comparisons if comparison.after is not None]


def notices(comparisons: list[Comparison], unused: Sequence[NotCompared] = ()) -> str:
    """The GitHub annotations: one for each run that changed, one for all that only depend on a changed release, and what is left out."""
    from cfglint.report.escapes import shown
    from cfglint.report.github import escape

    groups, others = grouped_by_release(comparisons)
    left_out = [f"::notice title=cfglint::{escape(shown(each))}\n" for each in lines_of(unused)]
    return "".join(dict.fromkeys([*map(release_notice, groups), *map(notice, sorted(others, key=urgency)), *left_out]))


def release_notice(group: ReleaseGroup) -> str:
    """A GitHub annotation with the facts about changed releases, at the first file that states one."""
    file = next((release.file for release in group.releases if release.file), "")
    if not group.affected or not file:
        return ""
    return annotation(file, "1", f"{', '.join(group.texts)}: {group.headline}", group.lines)


def notice(comparison: Comparison) -> str:
    """A GitHub annotation with the consequences, at the first setting that changed; empty for a deleted run."""
    if not comparison.sentences or comparison.after is None:
        return ""
    place = next((setting.after.place for setting in comparison.settings if setting.after.written), None)
    file, _, line = (place or f"{comparison.files[0]}:1").rpartition(":")
    return annotation(file, line, comparison.consequences[0].headline, [sentence.text for sentence in comparison.sentences])


def annotation(file: str, line: str, title: str, lines: Iterable[str]) -> str:
    """A notice of GitHub at a line of a file."""
    from cfglint.report.escapes import shown
    from cfglint.report.github import escape, escape_property

    file = os.path.normpath(file).replace(os.sep, "/")
    text = "\n".join(map(shown, lines))
    return f"::notice file={escape_property(shown(file))},line={line},title={escape_property(shown(title))}::{escape(text)}\n"


def nothing(comparisons: Sequence[Comparison], left_out: bool) -> str:
    """The headline for runs without an effective change; `left_out`: something changed that is not compared."""
    if left_out and not comparisons:
        return NO_RUN
    return NOTHING_COMPARED if any(comparison.code_changed for comparison in comparisons) else NOTHING


# ---- order


def urgency(comparison: Comparison) -> tuple[int, ...]:
    """The sort key of a run: those that no longer start first, then by new errors and warnings, then by consequences."""
    broken = comparison.after is not None and comparison.after.verdict == "reject"
    started = comparison.before is None or comparison.before.verdict != "reject"
    new = [diagnostic.severity for diagnostic in comparison.new]
    return (-(broken and started), -new.count(ERROR), -new.count(WARNING), -len(comparison.consequences), -len(comparison.settings))


def alike(comparisons: list[Comparison]) -> list[list[Comparison]]:
    """The runs with an effective change, worst first; those that changed in the same way are one group."""
    groups: dict[str, list[Comparison]] = {}
    for each in sorted((comparison for comparison in comparisons if not comparison.empty), key=urgency):
        groups.setdefault(repr(facts_of(each)), []).append(each)
    return [*groups.values()]


def facts_of(comparison: Comparison) -> list[object]:
    """What a report says of a run, without its places."""
    import re

    return [
        comparison.still,
        [re.sub(PLACE, "", sentence.text) for sentence in comparison.sentences],
        [(setting.key, setting.before.text, setting.after.text) for setting in comparison.settings],
        [(diagnostic.code, diagnostic.key, diagnostic.message) for diagnostic in (*comparison.new, *comparison.gone)],
    ]


# ---- text


def as_text(comparisons: list[Comparison], colour: bool, width: int | None = None, unused: Sequence[NotCompared] = ()) -> str:
    """A block for each run that changed, one for all that only depend on a changed release; folded to a width if one is given."""
    from cfglint.report.text import paint, plain

    groups, others = grouped_by_release(comparisons)
    blocks = [release_block(group, width) for group in groups]
    blocks += [block(group[0], width, group) for group in alike(others)]
    if not blocks and not any(each.release is not None for each in unused):
        blocks = [[("", f"{nothing(comparisons, bool(unused))}\n")]]
    blocks += [[("", line("", each, width)) for each in lines_of(unused)]] if unused else []
    parts = [part for number, each in enumerate(blocks) for part in ([[("", "\n")]] if number else []) + [each]]
    return paint(parts) if colour else plain(parts)


def block(comparison: Comparison, width: int | None = None, group: Sequence[Comparison] = ()) -> Segments:
    """One run: consequences, settings, findings; folded to a width if one is given. The `group` changed in the same way."""
    segments: Segments = [("bold", line("", title(comparison), width))]
    if len(group) > 1:
        segments.append(("", line("  ", f"and in the same way: {listed_runs([each.name or each.files[0] for each in group[1:]])}", width)))
    segments += [("", line("  ", sentence.text, width)) for sentence in comparison.sentences]
    if comparison.still:
        segments.append(("", line("  ", f"still does not start: {', '.join(comparison.still)}", width)))
    for name, effect in (("settings", True), ("other settings (names, ports, paths)", False)):
        changed = [setting for setting in comparison.settings if setting.effect is effect]
        if changed:
            segments.append(("dim", f"  {name}\n"))
            segments += [
                ("", line("    ", text, width)) for setting_change in changed for text in setting_lines(setting_change, comparison)
            ]
    if comparison.new:
        segments += [("dim", "  new findings\n"), *findings(comparison, width)]
    if comparison.gone:
        segments.append(("dim", "  resolved findings\n"))
        segments += [
            ("", line("    ", f"{diagnostic.severity} {diagnostic.code} {diagnostic.name}: {diagnostic.message}", width))
            for diagnostic in comparison.gone
        ]
    return segments


def release_block(group: ReleaseGroup, width: int | None = None) -> Segments:
    """The runs that depend on changed releases: each fact once, with its runs; folded to a width if one is given."""
    segments: Segments = [("bold", line("", each, width)) for each in group.titles]
    segments.append(("", line("  ", group.first_line, width)))
    segments += [fact_line("  ", fact, width) for fact in group.starts]
    if group.new:
        segments.append(("dim", "  new findings\n"))
        for fact in group.new:
            assert fact.finding is not None
            assert fact.outcome is not None
            segments += [*finding_block(fact.finding, fact.outcome, width), ("", line("      ", f"in {listed_runs(fact.runs)}", width))]
    segments += [fact_line("  ", fact, width) for fact in group.consequences]
    for heading, facts in (("settings", group.settings), ("resolved findings", group.gone)):
        if facts:
            segments += [("dim", f"  {heading}\n"), *(fact_line("    ", fact, width) for fact in facts)]
    return segments


def fact_line(indent: str, fact: Fact, width: int | None) -> tuple[str, str]:
    return "", line(indent, fact.line, width)


def line(indent: str, text: str, width: int | None) -> str:
    """A string on a line of its own, folded to a width if one is given."""
    from cfglint.report.escapes import shown
    from cfglint.report.text import folded

    return indent + folded(shown(text), len(indent), indent + "  ", width)


def title(comparison: Comparison) -> str:
    """The files of a run, a script with the line of its launch, and their old names if they had others."""
    files = ", ".join([comparison.name or "", *comparison.files[1:]])
    return f"{', '.join(comparison.renamed)} -> {files}" if comparison.renamed else files


def setting_lines(change: SettingChange, comparison: Comparison) -> list[str]:
    """`gradient_accumulation_steps: 8 -> 4 (train.yaml:4)`, followed by the notes on the setting."""
    line = f"{change.key}: {change.before.text} -> {change.after.text} ({place(change, comparison)})"
    return [line, *(f"  {note}" for note in change.notes)]


def place(change: SettingChange, comparison: Comparison) -> str:
    """The place of a setting before and after; only line numbers if the comparison is of two files."""
    (old, _, before), (new, _, after) = ((setting_state.place or "").rpartition(":") for setting_state in (change.before, change.after))
    if len(comparison.files) == len(comparison.renamed) == 1:
        return f"line {before}" if before == after else f"line {before or '-'} -> {after or '-'}"
    if not (old and new) or (old, before) == (new, after):
        return f"{new or old}:{after or before}"
    return f"{old}:{before} -> {after}" if old == new else f"{old}:{before} -> {new}:{after}"


def findings(comparison: Comparison, width: int | None) -> Segments:
    """The new findings as `check` prints them, indented; a line for each where it does so in the same commit."""
    side = comparison.after
    assert side is not None
    if comparison.is_checked:
        places = [
            f"{diagnostic.place.file}:{diagnostic.place.line}: {diagnostic.severity} {diagnostic.code} {diagnostic.name}"
            for diagnostic in comparison.new
        ]
        return [("", line("    ", each, width)) for each in places]
    return [segment for diagnostic in comparison.new for segment in finding_block(diagnostic, side, width)]


def finding_block(found: Diagnostic, side: Outcome, width: int | None) -> Segments:
    """A finding as `check` prints it, indented."""
    from cfglint.report.text import block as finding

    segments: Segments = []
    fresh = True
    for style, text in finding(found, side, width - 4 if width else None):
        indent = "    " if fresh else ""
        segments.append((style, indent + text[:-1].replace("\n", "\n    ") + text[-1:]))
        fresh = text.endswith("\n")
    return segments


# ---- JSON


def as_json(comparisons: list[Comparison], unused: Sequence[NotCompared] = ()) -> str:
    """`{"cfglint", "changes": [...], "not_compared": [...]}`, one entry per run, also for those without an effective change, and one for
    each release that no compared run depends on.
    """
    from cfglint.report.json import dumps

    left_out = [{"file": each.file, "reason": each.reason} for each in unused]
    releases = [release_entry(each.release) for each in unused if each.release is not None]
    return dumps({"changes": [*(entry(comparison) for comparison in comparisons), *releases], "not_compared": left_out})


def release_entry(change: ReleaseChange) -> ChangeEntry:
    """The entry of a release that no compared run depends on: there is no run before and after."""
    consequence = Consequence(VERSION, change.text, change.before, change.after)
    return {
        "files": [change.file],
        "renamed_from": [],
        "run": change.file,
        "before": None,
        "after": None,
        "consequences": [consequence_entry(consequence)],
        "settings": [],
        "new": [],
        "gone": [],
        "still": [],
        "no_effect": False,
    }


def entry(comparison: Comparison) -> ChangeEntry:
    """A comparison as plain values."""
    from cfglint.report.json import entry as finding

    return {
        "files": comparison.files,
        "renamed_from": comparison.renamed,
        "run": comparison.name,
        "before": comparison.before.entry() if comparison.before else None,
        "after": comparison.after.entry() if comparison.after else None,
        "consequences": [consequence_entry(consequence) for consequence in comparison.consequences],
        "settings": [setting_entry(setting) for setting in comparison.settings],
        "new": [finding(diagnostic) for diagnostic in comparison.new],
        "gone": [finding(diagnostic) for diagnostic in comparison.gone],
        "still": comparison.still,
        "no_effect": comparison.no_effect,
    }


def consequence_entry(consequence: Consequence) -> ConsequenceEntry:
    return {
        "what": consequence.what,
        "before": consequence.before,
        "after": consequence.after,
        "factor": consequence.factor,
        "known": consequence.known,
        "text": consequence.text,
    }


def setting_entry(change: SettingChange) -> SettingChangeEntry:
    """The entry of a changed setting; a missing value is null."""
    return {
        "kind": change.kind,
        "key": change.key,
        "before": state_entry(change.before),
        "after": state_entry(change.after),
        "effect": change.effect,
        "notes": change.notes,
    }


def state_entry(state: SettingState) -> StateEntry:
    """The entry of a value with its place; `written` is false for a default."""
    return {"value": state.known, "written": state.written, "place": state.place}
