"""The report of a change as text and as JSON; `comment` has the Markdown."""

from __future__ import annotations

import re

from cfglint.findings.diagnostic import ERROR, WARNING, Diagnostic, Outcome
from cfglint.report import github
from cfglint.report.escapes import shown
from cfglint.report.json import dumps
from cfglint.report.json import entry as finding_entry
from cfglint.report.text import Segments, folded, joined
from cfglint.report.text import block as finding_text
from cfglint.review.compare import Comparison
from cfglint.review.consequence import Consequence
from cfglint.review.consequences import VERSION
from cfglint.review.left_out import NotCompared, lines_of
from cfglint.review.release_groups import ReleaseGroup, grouped_by_release, listed_runs
from cfglint.review.settings import SettingChange
from cfglint.source.annotations import Iterable, Sequence
from cfglint.source.record import changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.entries import ChangeEntry, ConsequenceEntry, SettingChangeEntry

NOTHING = "no effective change"
NOTHING_COMPARED = "no change in what is compared; code that is not compared has changed"
NO_RUN = "no run compared"
PLACE = r" \([^()]+:\d+\)"  # in a sentence: ` (train.yaml:3)`


def only_new(comparisons: list[Comparison]) -> list[Outcome]:
    return [changed(comparison.after, diagnostics=comparison.new) for comparison in comparisons if comparison.after is not None]


def notices(comparisons: list[Comparison], unused: Sequence[NotCompared] = ()) -> str:
    """The GitHub annotations: of each run that changed, at its first changed setting, of each release in its file, and what is left out."""
    groups, others = grouped_by_release(comparisons)
    texts: list[str] = []
    for group in groups:
        file = next((release.file for release in group.releases if release.file), "")
        if group.affected and file:
            texts.append(notice(file, "1", f"{', '.join(group.texts)}: {group.headline}", group.lines))
    for comparison in sorted(others, key=urgency):
        if comparison.sentences and comparison.after is not None:
            place = next((setting.after.place for setting in comparison.settings if setting.after.written), None)
            file, _, line = (place or f"{comparison.files[0]}:1").rpartition(":")
            texts.append(notice(file, line, comparison.consequences[0].headline, [sentence.text for sentence in comparison.sentences]))
    texts += [f"::notice title=cfglint::{github.escape(shown(left_out))}\n" for left_out in lines_of(unused)]
    return "".join(dict.fromkeys(texts))


def notice(file: str, line: str, title: str, texts: Iterable[str]) -> str:
    return github.command("notice", file, {"line": line, "title": shown(title)}, "\n".join(map(shown, texts)))


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
    """The runs with an effective change, worst first; those that changed in the same way, but for places, are one group."""
    groups: dict[str, list[Comparison]] = {}
    for comparison in sorted((comparison for comparison in comparisons if not comparison.empty), key=urgency):
        facts = [
            comparison.still,
            [re.sub(PLACE, "", sentence.text) for sentence in comparison.sentences],
            [(setting.key, setting.before.text, setting.after.text) for setting in comparison.settings],
            [(diagnostic.code, diagnostic.key, diagnostic.message) for diagnostic in (*comparison.new, *comparison.gone)],
        ]
        groups.setdefault(repr(facts), []).append(comparison)
    return [*groups.values()]


# ---- text


def as_text(comparisons: list[Comparison], colour: bool, width: int | None = None, unused: Sequence[NotCompared] = ()) -> str:
    """A block for each run that changed, one for all that only depend on a changed release; folded to a width if one is given."""
    groups, others = grouped_by_release(comparisons)
    blocks = [release_block(group, width) for group in groups]
    blocks += [block(group[0], width, group) for group in alike(others)]
    if not blocks and not any(left_out.release is not None for left_out in unused):
        blocks = [[("", f"{nothing(comparisons, bool(unused))}\n")]]
    if unused:
        blocks.append(lines(lines_of(unused), "", width))
    return joined(([("", "\n")] * bool(number) + segments for number, segments in enumerate(blocks)), colour)


def block(comparison: Comparison, width: int | None = None, group: Sequence[Comparison] = ()) -> Segments:
    """One run: consequences, settings, findings; folded to a width if one is given. The `group` changed in the same way."""
    texts = [sentence.text for sentence in comparison.sentences]
    others = [(other.name or other.files[0]) + caller(other) for other in group[1:]]
    others = [name for name in others if name != (comparison.name or "") + caller(comparison)]  # a program may build several runs
    if others:
        texts.insert(0, f"and in the same way: {listed_runs(others)}")
    if comparison.still:
        texts.append(f"still does not start: {', '.join(comparison.still)}")
    segments = lines([title(comparison)], "", width, "bold") + lines(texts, "  ", width)
    for name, effect in (("settings", True), ("other settings (names, ports, paths)", False)):
        texts = []
        for setting in comparison.settings:
            if setting.effect is effect:
                texts.append(f"{setting.key}: {setting.before.text} -> {setting.after.text} ({place(setting, comparison)})")
                texts += [f"  {note}" for note in setting.notes]
        segments += [("dim", f"  {name}\n"), *lines(texts, "    ", width)] if texts else []
    if comparison.new:
        segments.append(("dim", "  new findings\n"))
        assert comparison.after is not None
        for diagnostic in comparison.new:
            named = f"{diagnostic.place.file}:{diagnostic.place.line}: {diagnostic.severity} {diagnostic.code} {diagnostic.name}"
            # One line where `check` prints it in the same commit.
            segments += lines([named], "    ", width) if comparison.is_checked else finding_block(diagnostic, comparison.after, width)
    if comparison.gone:
        texts = [f"{diagnostic.severity} {diagnostic.code} {diagnostic.name}: {diagnostic.message}" for diagnostic in comparison.gone]
        segments += [("dim", "  resolved findings\n"), *lines(texts, "    ", width)]
    return segments


def release_block(group: ReleaseGroup, width: int | None = None) -> Segments:
    """The runs that depend on changed releases: each fact once, with its runs; folded to a width if one is given."""
    segments = lines(group.titles, "", width, "bold") + lines([group.first_line, *(fact.line for fact in group.starts)], "  ", width)
    if group.new:
        segments.append(("dim", "  new findings\n"))
        for fact in group.new:
            assert fact.finding is not None
            assert fact.outcome is not None
            segments += finding_block(fact.finding, fact.outcome, width) + lines([f"in {listed_runs(fact.runs)}"], "      ", width)
    segments += lines([fact.line for fact in group.consequences], "  ", width)
    for heading, facts in (("settings", group.settings), ("resolved findings", group.gone)):
        if facts:
            segments += [("dim", f"  {heading}\n"), *lines([fact.line for fact in facts], "    ", width)]
    return segments


def lines(texts: Iterable[str], indent: str, width: int | None, style: str = "") -> Segments:
    """Strings on lines of their own, folded to a width if one is given."""
    return [(style, indent + folded(shown(text), len(indent), indent + "  ", width)) for text in texts]


def title(comparison: Comparison) -> str:
    """The files of a run, a script with the line of its launch, and their old names if they had others."""
    others = [file for file in comparison.files[1:] if file != comparison.files[0]]  # a config that the script itself writes is in it
    files = ", ".join([comparison.name or "", *others])
    files += caller(comparison)
    return f"{', '.join(comparison.renamed)} -> {files}" if comparison.renamed else files


def caller(comparison: Comparison) -> str:
    """The line of another file that calls the script, with which arguments: a script may be called by several."""
    side = comparison.after or comparison.before
    launch = side.launch if side is not None else None
    return f" (called from {launch['called_from']})" if launch and launch["called_from"] else ""


def place(change: SettingChange, comparison: Comparison) -> str:
    """The place of a setting before and after; only line numbers if the comparison is of two files."""
    (old, _, before), (new, _, after) = ((setting_state.place or "").rpartition(":") for setting_state in (change.before, change.after))
    if len(comparison.files) == len(comparison.renamed) == 1:
        moved = f"{before} -> {after}" if before and after else f"{after} now" if after else f"{before} before"
        return f"line {before if before == after else moved}"
    if not (old and new) or (old, before) == (new, after):
        return f"{new or old}:{after or before}"
    return f"{old}:{before} -> {after}" if old == new else f"{old}:{before} -> {new}:{after}"


def finding_block(found: Diagnostic, side: Outcome, width: int | None) -> Segments:
    segments: Segments = []
    fresh = True
    for style, text in finding_text(found, side, width - 4 if width else None):
        segments.append((style, "    " * fresh + text[:-1].replace("\n", "\n    ") + text[-1:]))
        fresh = text.endswith("\n")
    return segments


# ---- JSON


def as_json(comparisons: list[Comparison], unused: Sequence[NotCompared] = ()) -> str:
    """`{"cfglint", "changes": [...], "not_compared": [...]}`, one entry per run, also for those without an effective change, and one for
    each release that no compared run depends on.
    """
    left_out = [{"file": other.file, "reason": other.reason} for other in unused]
    changes = [entry(comparison) for comparison in comparisons]
    for release in (other.release for other in unused if other.release is not None):
        consequence = Consequence(VERSION, release.text, release.before, release.after)
        changes.append(
            {
                "files": [release.file],
                "renamed_from": [],
                "run": release.file,
                "before": None,
                "after": None,
                "consequences": [consequence_entry(consequence)],
                "settings": [],
                "new": [],
                "gone": [],
                "still": [],
                "no_effect": False,
            }
        )
    return dumps({"changes": changes, "not_compared": left_out})


def entry(comparison: Comparison) -> ChangeEntry:
    return {
        "files": comparison.files,
        "renamed_from": comparison.renamed,
        "run": comparison.name,
        "before": comparison.before.entry() if comparison.before else None,
        "after": comparison.after.entry() if comparison.after else None,
        "consequences": [consequence_entry(consequence) for consequence in comparison.consequences],
        "settings": [setting_entry(setting) for setting in comparison.settings],
        "new": [finding_entry(diagnostic) for diagnostic in comparison.new],
        "gone": [finding_entry(diagnostic) for diagnostic in comparison.gone],
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
    """The entry of a changed setting with the places of its values; a missing value is null, and a default is not `written`."""
    before, after = change.before, change.after
    return {
        "kind": change.kind,
        "key": change.key,
        "before": {"value": before.known, "written": before.written, "place": before.place},
        "after": {"value": after.known, "written": after.written, "place": after.place},
        "effect": change.effect,
        "notes": change.notes,
    }
