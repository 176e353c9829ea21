"""The consequences of a change for the length of a run, its warm-up and its learning rate."""

from __future__ import annotations

from math import isclose, sqrt

from cfglint.launch.kinds import ENGINE
from cfglint.review.batch_consequences import growth
from cfglint.review.consequence import NOTEWORTHY, Consequence, approximate_ratio, as_written, changed, number, percent, quotient, ratio
from cfglint.review.snapshot import Side
from cfglint.source.annotations import Iterator

SCHEDULES = (  # lines of a schedule that has steps of its own
    ("decay", "decay steps", "decay"),
    ("schedule_length", "schedule's total", "schedule"),
    ("warmup", "schedule's warm-up", "schedule's warm-up"),
)


def length(old: Side, new: Side) -> Iterator[Consequence]:
    """Steps, samples, and the fractions of the run for warm-up and decay."""
    before, after = old.number("total_steps"), new.number("total_steps")
    steps = changed("total_steps", "total steps", before, after)
    if (before is None) != (after is None):  # on the other side it is unknown, or epochs and data determine it
        by_data = ("set by the epochs and the data" if by_epochs(side) else "unknown" for side in (old, new))
        was, now = (f"{total:,}" if total is not None else why for total, why in zip((before, after), by_data, strict=True))
        steps = [Consequence("total_steps", f"total steps {was} -> {now}", before, after, known=False)]
    yield from steps or changed("steps_per_epoch", "steps per epoch", old.number("steps_per_epoch"), new.number("steps_per_epoch"))
    yield from estimated(old, new) if before is None and after is None else samples(old, new)
    yield from part("warmup", "warm-up", old, new, (old.number("warmup_steps"), new.number("warmup_steps")))
    for what, label, name in SCHEDULES:
        before, after = old.line(label), new.line(label)
        if isinstance(before, int) and isinstance(after, int):
            yield from part(what, name, old, new, (before, after))
        elif what == "warmup":
            yield from one_sided_line(what, label, name, old, new)


def by_epochs(side: Side) -> bool:
    """Whether epochs and data determine an unknown number of steps."""
    return bool(number(side.line("epochs"))) and "max steps" not in side.lines


def estimated(old: Side, new: Side) -> Iterator[Consequence]:
    """The change of an unknown number of steps, for as many samples: whether the data is the same is not known."""
    epochs = [number(side.line("epochs")) for side in (old, new)]
    times = growth(old, new)
    # An epoch has a sample for each completion of a prompt.
    was, now = (side.line("generations") for side in (old, new))
    completions = 1 if was == now else now / was if isinstance(was, int) and isinstance(now, int) and was else None
    if (
        not (epochs[0] and epochs[1] and by_epochs(old) and by_epochs(new))
        or not times
        or not completions
        or old.run.facts.num_examples != new.run.facts.num_examples
    ):
        return
    factor = epochs[1] / epochs[0] / times * completions
    if isclose(factor, 1):
        return
    same = "the same epoch" if epochs[1] == 1 else f"the same {epochs[1]:g} epochs"
    how = f"{epochs[0]:g} -> {epochs[1]:g} epochs" if epochs[0] != epochs[1] else same
    how += "" if times == 1 else f" in {'larger' if times > 1 else 'smaller'} batches"
    how += "" if completions == 1 else f" with {'more' if completions > 1 else 'fewer'} completions per prompt"
    own = next((config.own_samples for side in (new, old) for config in side.run.configs if config.own_samples), "")
    if own:
        yield Consequence("total_steps", f"total steps may change: {how}, and {own} decides which samples an epoch has", known=False)
        return
    yield Consequence("total_steps", f"total steps {approximate_ratio(factor)} for as many samples: {how}", factor=factor, known=False)
    steps = old.number("warmup_steps"), new.number("warmup_steps")
    if steps[0] and steps[0] == steps[1]:
        text = f"warm-up stays {steps[1]:,} steps, {approximate_ratio(1 / factor)} as a fraction of the run"
        yield Consequence("warmup", text, steps[1], steps[1], 1 / factor)


def samples(old: Side, new: Side) -> Iterator[Consequence]:
    """The total samples of the run, if another batch size changes them."""
    times, totals = growth(old, new), (old.number("total_steps"), new.number("total_steps"))
    if times in (None, 1) or not totals[0] or not totals[1]:
        return
    factor = (quotient(totals[1], totals[0]) or 1) * (times or 1)
    batches = old.number("consumed_batch"), new.number("consumed_batch")
    if abs(factor - 1) >= NOTEWORTHY and batches[0] and batches[1]:
        yield from changed("samples", "total samples", totals[0] * batches[0], totals[1] * batches[1])
    elif abs(factor - 1) >= NOTEWORTHY:
        yield Consequence("samples", f"total samples {approximate_ratio(factor)}, in {totals[1]:,} steps")


def one_sided_line(what: str, label: str, name: str, old: Side, new: Side) -> Iterator[Consequence]:
    """A number that only one version of a DeepSpeed config sets: the program, which is not known, may set the other one."""
    sides = old, new
    if any(side.outcome.consumer != ENGINE for side in sides) or sum(label in side.lines for side in sides) != 1:
        return
    values = [side.line(label) for side in sides]
    before, after = (value if isinstance(value, int) else number(value) for value in values)
    if before is not None or after is not None:
        was, now = (as_written(side.lines[label]) if label in side.lines else "not in these files" for side in sides)
        yield Consequence(what, f"{name} {was} -> {now}", before, after, known=False)


def part(what: str, name: str, old: Side, new: Side, steps: tuple[int | None, int | None]) -> Iterator[Consequence]:
    """Steps as a fraction of the run, if that changed; only the steps if the length of the run is unknown."""
    before, after = steps
    totals = old.number("total_steps"), new.number("total_steps")
    if before is None or after is None or not totals[0] or not totals[1] or totals[0] < 0 or totals[1] < 0:
        yield from changed(what, f"{name} steps", before, after)
        return
    was, now = quotient(100 * before, totals[0]), quotient(100 * after, totals[1])
    if was is not None and now is not None and not isclose(was, now, rel_tol=NOTEWORTHY):
        spelled_out = f"{before:,} of {totals[0]:,} steps -> {after:,} of {totals[1]:,}"
        text = f"{name} {percent(was)} -> {percent(now)} of the run ({spelled_out})"
        yield Consequence(what, text, before, after, quotient(now, was) if was else None)


def rate(old: Side, new: Side) -> Iterator[Consequence]:
    """The learning rate, and whether it scales with the batch."""
    before, after = number(old.line("learning rate")), number(new.line("learning rate"))
    if before is None or after is None:
        yield from one_sided_line("learning_rate", "learning rate", "learning rate", old, new)
    elif before != after:
        how, times = ratio(before, after), growth(old, new)
        if before and times is not None and times != 1:
            if isclose(after / before, times, rel_tol=NOTEWORTHY):
                how += ", linear with the global batch"
            elif isclose(after / before, sqrt(times), rel_tol=NOTEWORTHY):
                how += ", with the square root of the global batch"
        text = f"learning rate {as_written(old.lines['learning rate'])} -> {as_written(new.lines['learning rate'])} ({how})"
        yield Consequence("learning_rate", text, before, after)
