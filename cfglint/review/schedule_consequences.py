"""The consequences of a change for the length of a run, its warm-up and its learning rate."""

from __future__ import annotations

from math import isclose, sqrt

from cfglint.launch.registered import ENGINE
from cfglint.review.batch_consequences import growth
from cfglint.review.consequence import NOTEWORTHY, Consequence, approximate_ratio, as_written, changed, number, percent, quotient, ratio
from cfglint.review.snapshot import Side

SCHEDULES = (  # lines of a schedule that has steps of its own
    ("decay", "decay steps", "decay"),
    ("schedule_length", "schedule's total", "schedule"),
    ("warmup", "schedule's warm-up", "schedule's warm-up"),
)


def length(old: Side, new: Side, *, same_data: bool = True) -> list[Consequence]:
    """Steps, samples, and the fractions of the run for warm-up and decay."""
    before, after = old.number("total_steps"), new.number("total_steps")
    consequences = changed("total_steps", "total steps", before, after) or one_sided(old, new)
    consequences = consequences or changed(
        "steps_per_epoch", "steps per epoch", old.number("steps_per_epoch"), new.number("steps_per_epoch")
    )
    consequences += estimated(old, new, same_data) if before is None and after is None else samples(old, new)
    return [*consequences, *warmup(old, new), *schedule(old, new)]


def one_sided(old: Side, new: Side) -> list[Consequence]:
    """A number of steps on one side, while on the other it is unknown, or epochs and data determine it."""
    before, after = old.number("total_steps"), new.number("total_steps")
    if (before is None) == (after is None):
        return []
    shown = [f"{steps:,}" if steps is not None else unknown_length(side) for side, steps in ((old, before), (new, after))]
    return [Consequence("total_steps", f"total steps {shown[0]} -> {shown[1]}", before, after, known=False)]


def unknown_length(side: Side) -> str:
    """What determines an unknown number of steps."""
    return "set by the epochs and the data" if number(side.line("epochs")) and "max steps" not in side.lines else "unknown"


def estimated(old: Side, new: Side, same_data: bool) -> list[Consequence]:
    """The change of an unknown number of steps, for the same data, or for as many samples of other data."""
    epochs = [number(side.line("epochs")) for side in (old, new)]
    times = growth(old, new)
    completions = completions_growth(old, new)
    if not epochs[0] or not epochs[1] or not times or not completions or old.run.facts.num_examples != new.run.facts.num_examples:
        return []
    factor = epochs[1] / epochs[0] / times * completions
    if isclose(factor, 1):
        return []
    same = "the same epoch" if epochs[1] == 1 else f"the same {epochs[1]:g} epochs"
    how = f"{epochs[0]:g} -> {epochs[1]:g} epochs" if epochs[0] != epochs[1] else same
    batches = "" if times == 1 else f" in {'larger' if times > 1 else 'smaller'} batches"
    batches += "" if completions == 1 else f" with {'more' if completions > 1 else 'fewer'} completions per prompt"
    data = "" if same_data else ", if the other data has as many samples"
    consequences = [
        Consequence("total_steps", f"total steps {approximate_ratio(factor)}: {how}{batches}{data}", factor=factor, known=False)
    ]
    steps = old.number("warmup_steps"), new.number("warmup_steps")
    if steps[0] and steps[0] == steps[1]:
        text = f"warm-up stays {steps[1]:,} steps, {approximate_ratio(1 / factor)} as a fraction of the run"
        consequences.append(Consequence("warmup", text, steps[1], steps[1], 1 / factor))
    return consequences


def completions_growth(old: Side, new: Side) -> float | None:
    """The factor by which the completions of one prompt grew: an epoch has a sample for each; 1 without them, None if it is unknown."""
    before, after = (side.line("generations") for side in (old, new))
    if before == after:
        return 1
    return after / before if isinstance(before, int) and isinstance(after, int) and before else None


def samples(old: Side, new: Side) -> list[Consequence]:
    """The total samples of the run, if another batch size changes them."""
    times, totals = growth(old, new), (old.number("total_steps"), new.number("total_steps"))
    if times in (None, 1) or not totals[0] or not totals[1]:
        return []
    factor = (quotient(totals[1], totals[0]) or 1) * (times or 1)
    if abs(factor - 1) < NOTEWORTHY:
        return []
    batches = old.number("consumed_batch"), new.number("consumed_batch")
    if batches[0] and batches[1]:
        return changed("samples", "total samples", totals[0] * batches[0], totals[1] * batches[1])
    return [Consequence("samples", f"total samples {approximate_ratio(factor)}, in {totals[1]:,} steps")]


def warmup(old: Side, new: Side) -> list[Consequence]:
    """The fraction of the run for warm-up."""
    return part("warmup", "warm-up", old, new, (old.number("warmup_steps"), new.number("warmup_steps")))


def schedule(old: Side, new: Side) -> list[Consequence]:
    """The fractions of the run in a schedule with steps of its own."""
    consequences: list[Consequence] = []
    for what, label, name in SCHEDULES:
        before, after = old.line(label), new.line(label)
        if isinstance(before, int) and isinstance(after, int):
            consequences += part(what, name, old, new, (before, after))
        elif what == "warmup":
            consequences += one_sided_line(what, label, name, old, new)
    return consequences


def one_sided_line(what: str, label: str, name: str, old: Side, new: Side) -> list[Consequence]:
    """A number that only one version of a DeepSpeed config sets: the program, which is not known, may set the other one."""
    sides = old, new
    if any(side.outcome.consumer != ENGINE for side in sides) or sum(label in side.lines for side in sides) != 1:
        return []
    values = [side.line(label) for side in sides]
    before, after = (value if isinstance(value, int) else number(value) for value in values)
    if before is None and after is None:
        return []
    was, now = (as_written(side.lines[label]) if label in side.lines else "not in these files" for side in sides)
    return [Consequence(what, f"{name} {was} -> {now}", before, after, known=False)]


def part(what: str, name: str, old: Side, new: Side, steps: tuple[int | None, int | None]) -> list[Consequence]:
    """Steps as a fraction of the run, if that changed; only the steps if the length of the run is unknown."""
    before, after = steps
    totals = old.number("total_steps"), new.number("total_steps")
    if before is None or after is None or not totals[0] or not totals[1] or totals[0] < 0 or totals[1] < 0:
        return changed(what, f"{name} steps", before, after)
    was, fraction = quotient(100 * before, totals[0]), quotient(100 * after, totals[1])
    if was is None or fraction is None or isclose(was, fraction, rel_tol=NOTEWORTHY):
        return []
    times = quotient(fraction, was) if was else None
    spelled_out = f"{before:,} of {totals[0]:,} steps -> {after:,} of {totals[1]:,}"
    text = f"{name} {percent(was)} -> {percent(fraction)} of the run ({spelled_out})"
    return [Consequence(what, text, before, after, times)]


def rate(old: Side, new: Side) -> list[Consequence]:
    """The learning rate, and whether it scales with the batch."""
    before, after = number(old.line("learning rate")), number(new.line("learning rate"))
    if before is None or after is None:
        return one_sided_line("learning_rate", "learning rate", "learning rate", old, new)
    if before == after:
        return []
    how, times = ratio(before, after), growth(old, new)
    if before and times not in (None, 1):
        if isclose(after / before, times or 1, rel_tol=NOTEWORTHY):
            how += ", linear with the global batch"
        elif isclose(after / before, sqrt(times or 1), rel_tol=NOTEWORTHY):
            how += ", with the square root of the global batch"
    text = f"learning rate {as_written(old.lines['learning rate'])} -> {as_written(new.lines['learning rate'])} ({how})"
    return [Consequence("learning_rate", text, before, after)]
