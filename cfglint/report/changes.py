"""What a change means, as text, Markdown or JSON."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cfglint.diagnostic import Diagnostic
    from cfglint.review.compare import Comparison, SettingChange

NOTHING = "no change in meaning"
OWN_FORMATS = ("text", "json", "markdown")


def render(form: str, comparisons: list[Comparison], colour: bool = False) -> str:
    """The comparisons in a format; formats that know only findings show those that are new."""
    if form == "json":
        return as_json(comparisons)
    if form == "text":
        return as_text(comparisons, colour)
    if form == "markdown":
        from cfglint.report.markdown import review

        return review(comparisons)
    from cfglint.report import render as render_findings

    return render_findings(form, [only_new(each) for each in comparisons if each.after is not None])


def only_new(comparison: Comparison) -> Any:
    """The new side with nothing but its new findings."""
    from cfglint.diagnostic import Outcome

    side = comparison.after
    assert side is not None
    return Outcome(side.files, side.kinds, side.target, side.gpus, side.verdict, side.fails_at, side.resolved, comparison.new)


def as_text(comparisons: list[Comparison], colour: bool) -> str:
    """A block a run: consequences, settings, findings."""
    told = [block(each, colour) for each in comparisons if not each.empty]
    return "\n".join(told) if told else NOTHING + "\n"


def block(comparison: Comparison, colour: bool) -> str:
    """One run's changes."""
    from cfglint.report.text import shown

    lines = [shown(", ".join(comparison.files))]
    lines += [f"  {shown(sentence)}" for sentence in comparison.consequences]
    if comparison.settings:
        lines.append("  settings:")
        lines += [f"    {shown(setting(each))}" for each in comparison.settings]
    text = "\n".join(lines) + "\n"
    if comparison.new and comparison.after:
        text += "  new findings:\n" + indented(findings(comparison.new, comparison, colour))
    if comparison.gone:
        text += "  gone:\n" + "".join(f"    {each.severity} {each.code} {shown(each.message)}\n" for each in comparison.gone)
    return text


def setting(change: SettingChange) -> str:
    """`gradient_accumulation_steps: 8 (train.yaml:4) -> 4 (train.yaml:4)`."""
    return f"{change.key}: {told(change.before, change.before_place)} -> {told(change.after, change.after_place)}"


def told(value: object, place: str | None) -> str:
    """A value with its place."""
    text = value if value == "absent" and place is None else repr(value)
    return f"{text} ({place})" if place else str(text)


def findings(diagnostics: list[Diagnostic], comparison: Comparison, colour: bool) -> str:
    """The findings as `check` prints them."""
    from cfglint.report.text import block as finding
    from cfglint.report.text import paint

    side = comparison.after
    assert side is not None
    blocks = [finding(each, side) for each in diagnostics]
    return paint(blocks) if colour else "".join(text for segments in blocks for _, text in segments)


def indented(text: str) -> str:
    """The text four columns to the right."""
    return "".join(f"    {line}\n" for line in text.splitlines())


def as_json(comparisons: list[Comparison]) -> str:
    """`{"cfglint", "changes": [...]}`."""
    import json

    from cfglint import __version__

    return json.dumps({"cfglint": __version__, "changes": [entry(each) for each in comparisons]}, default=str) + "\n"


def entry(comparison: Comparison) -> dict[str, Any]:
    """A comparison as plain values."""
    from cfglint.report.json import entry as finding
    from cfglint.report.json import run_entry

    return {
        "files": comparison.files,
        "before": run_entry(comparison.before) if comparison.before else None,
        "after": run_entry(comparison.after) if comparison.after else None,
        "consequences": comparison.consequences,
        "settings": [
            {
                "kind": each.kind,
                "key": each.key,
                "before": each.before,
                "after": each.after,
                "before_place": each.before_place,
                "after_place": each.after_place,
            }
            for each in comparison.settings
        ],
        "new": [finding(each) for each in comparison.new],
        "gone": [finding(each) for each in comparison.gone],
    }
