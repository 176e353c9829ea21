"""The consequences of a change for a run, in sentences: whether it starts, its batch, length, learning rate, and the rest."""

from __future__ import annotations

from math import isclose, isfinite, sqrt

from cfglint.explain.summary import origin
from cfglint.review.settings import equal, missing_files
from cfglint.rewrite.retarget import tuned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cfglint.frameworks.summary import Item
    from cfglint.review.snapshot import Side

VERSION = "target"
PEAKS = ("learning_rate", "lr", "warmup_max_lr", "cycle_max_lr")  # keys that give the highest learning rate
SHARDED = {
    0: "nothing is sharded",
    1: "optimizer states are sharded",
    2: "optimizer states and gradients are sharded",
    3: "optimizer states, gradients and weights are sharded",
}
OWN_SENTENCE = frozenset(
    (
        "GPUs",
        "GPUs implied",
        "data parallel",
        "micro batch",
        "accumulation",
        "global batch",
        "samples per step",
        "tokens per sample",
        "tokens per step",
        "training samples",
        "epochs",
        "max steps",
        "batches per epoch",
        "steps per epoch",
        "total steps",
        "warm-up steps",
        "learning rate",
        "decay steps",
        "schedule's total",
        "schedule's warm-up",
    )
)
SCHEDULES = (  # lines of a schedule that has steps of its own
    ("decay", "decay steps", "decay"),
    ("schedule", "schedule's total", "schedule"),
    ("schedule_warmup", "schedule's warm-up", "schedule's warm-up"),
)
ABSENT = {  # the value of a line that is absent
    "optimizer offload": "off",
    "weights offload": "off",
    "FSDP": "off",
    "tensor parallel": 1,
    "pipeline": 1,
    "context parallel": 1,
    "sequence parallel": 1,
}
ABOUT = 0.01  # relative tolerance of "about doubled"
HUGE = 1e300  # numbers from here on are not divided by each other
NOTEWORTHY = 0.02  # relative change from which a rounded number counts as changed


class Consequence:
    """A sentence, its subject (`about`), and the values before and after; None where there is no single value."""

    __slots__ = ("about", "after", "before", "text")

    def __init__(self, about: str, text: str, before: Any = None, after: Any = None) -> None:
        self.about = about
        self.text = text
        self.before = before
        self.after = after

    @property
    def headline(self) -> str:
        """The sentence without its explanation."""
        return self.text.partition(": ")[0]


def of(old: Side | None, new: Side | None, changed_keys: set[str]) -> list[Consequence]:
    """The consequences for a run, most important first; a side is None when the run is new or deleted.

    `changed_keys` are the settings that differ, as displayed.
    """
    if old is None:
        return [alone(new, "new run", "starts", "does not start")] if new is not None else []
    if new is None:
        return [alone(old, "deleted run", "started", "did not start")]
    lost = unfound(old, new)
    if lost:  # everything else depends on the content of such a file
        return lost
    told = start(old, new)
    if not (old.readable and new.readable):
        return told
    return [*told, *launch(old, new), *batch(old, new, changed_keys), *length(old, new), *rate(old, new), *rest(old, new)]


def alone(side: Side, text: str, starts: str, dies: str) -> Consequence:
    """A run that the other side does not have."""
    parts = [(starts if side.outcome.verdict != "reject" else dies) + on_gpus(side)]
    if side.readable:
        numbers = (("global batch", side.number("global_batch")), ("total steps", side.number("total_steps")))
        parts += [f"{name} {number:,}" for name, number in numbers if number is not None]
        labels = ("learning rate", "precision", "ZeRO stage")
        parts += [f"{label} {as_written(side.lines[label])}" for label in labels if side.line(label) is not None]
    return Consequence("run", f"{text}: {', '.join(parts)}")


# ---- whether it starts, and on what


def start(old: Side, new: Side) -> list[Consequence]:
    """Another verdict, or another stage at which the run fails."""
    before, after = old.outcome, new.outcome
    if before.verdict != after.verdict:
        how = {"accept": "starts now", "reject": "no longer starts"}.get(after.verdict or "", "unknown whether it starts")
        died = after.fails_at or before.fails_at
        text = f"{how}{on_gpus(new)}: {before.verdict or 'unknown'} -> {after.verdict or 'unknown'}{f' (at {died})' if died else ''}"
        return [Consequence("verdict", text, before.verdict, after.verdict)]
    if before.fails_at != after.fails_at:
        text = f"still does not start{on_gpus(new)}: fails at {after.fails_at}, previously at {before.fails_at}"
        return [Consequence("fails_at", text, before.fails_at, after.fails_at)]
    return []


def on_gpus(side: Side) -> str:
    """` on 8 GPUs`; nothing where the count is not known."""
    gpus = side.outcome.gpus
    return "" if gpus is None else f" on {gpus} GPU{'s' if gpus > 1 else ''}"


def unfound(old: Side, new: Side) -> list[Consequence]:
    """Files that the run names and that no longer exist, so that their content is unknown."""
    before = [name for name, _ in missing_files(old.run)]
    names = [name for name, _ in missing_files(new.run) if name not in before]
    return [Consequence("file", f"{name} is referenced but does not exist: its settings are not compared", None, name) for name in names]


def launch(old: Side, new: Side) -> list[Consequence]:
    """GPUs and versions."""
    told = changed("gpus", "GPUs", old.line("GPUs"), new.line("GPUs"))
    before, after = old.line("GPUs implied"), new.line("GPUs implied")
    if before and after and before != after:
        told.append(Consequence("implied_gpus", f"the batch sizes now imply {after:,} GPUs, previously {before:,}", before, after))
    for package, version in new.outcome.target.items():
        was = old.outcome.target.get(package, version)
        if was != version:
            told.append(Consequence(VERSION, f"{package} {was} -> {version}", was, version))
    return told


# ---- the batch


def batch(old: Side, new: Side, changed_keys: set[str]) -> list[Consequence]:
    """The global batch and how it is split, the unchanged learning rates, and the memory it needs."""
    told = [*global_batch(old, new), *consumed(old, new), *unchanged_rates(old, new, changed_keys)]
    before, after = old.number("micro_batch"), new.number("micro_batch")
    if before and after and before != after:
        text = f"micro batch {before:,} -> {after:,} ({ratio(before, after)}), which changes activation memory"
        told.append(Consequence("micro_batch", text, before, after))
    told += changed("seq_length", "sequence length", old.number("seq_length"), new.number("seq_length"))
    return told + changed("tokens_per_step", "tokens per step", old.number("tokens_per_step"), new.number("tokens_per_step"))


def global_batch(old: Side, new: Side) -> list[Consequence]:
    """The global batch; with an unknown number of GPUs the contribution of each GPU."""
    before, after = old.number("global_batch"), new.number("global_batch")
    terms = split(old, new)
    if before is not None and after is not None and before != after:
        return [Consequence("global_batch", f"global batch {before:,} -> {after:,} ({ratio(before, after)}){terms}", before, after)]
    if before is None and after is not None:
        return [Consequence("global_batch", f"global batch {after:,}, previously unknown", before, after)]
    if before is not None and after is None:
        return [Consequence("global_batch", f"global batch unknown, previously {before:,}", before, after)]
    each = per_gpu(old), per_gpu(new)
    if before is None and each[0] and each[1] and each[0] != each[1]:
        how = ratio(each[0], each[1])
        text = f"global batch {how} on any number of GPUs: {each[0]:,} -> {each[1]:,} samples per GPU and step{terms}"
        return [Consequence("samples_per_gpu", text, *each)]
    if before is None and None in each:
        return part_of_batch(old, new)
    if terms:
        stays = f"global batch unchanged ({after:,})" if after is not None else "global batch unchanged on any number of GPUs"
        return [Consequence("split", f"{stays}, split differently{terms}")]
    return []


def part_of_batch(old: Side, new: Side) -> list[Consequence]:
    """The effect of the accumulation alone, where the micro batch is not in these files."""
    before, after = old.number("accumulation"), new.number("accumulation")
    if not before or not after or before == after:
        return []
    text = f"accumulation {before:,} -> {after:,} ({ratio(before, after)}), which changes the global batch for the same micro batch"
    return [Consequence("accumulation", text, before, after)]


def per_gpu(side: Side) -> int | None:
    """The samples that one GPU contributes to a step."""
    micro, accumulation = side.number("micro_batch"), side.number("accumulation")
    return micro * accumulation if micro and accumulation else None


def growth(old: Side, new: Side) -> float | None:
    """The factor between the batches; None when it is unknown."""
    before, after = old.number("global_batch"), new.number("global_batch")
    if before is None and after is None and old.run.facts.gpus == new.run.facts.gpus:
        before, after = per_gpu(old), per_gpu(new)
    return quotient(after, before) if before and after and before > 0 and after > 0 else None


def quotient(above: float, below: float) -> float | None:
    """A quotient; None where it exceeds a float."""
    try:
        return above / below
    except OverflowError:
        return None


def split(old: Side, new: Side) -> str:
    """`: 4 x 8 x 16 -> 4 x 4 x 16`, without the GPUs where their number is unknown; empty where nothing changed."""
    before, after = terms_of(old), terms_of(new)
    if before == after or len(before) != len(after):
        return ""
    names = ("micro batch", "accumulation", "data parallel")[: len(before)]
    told = " -> ".join(" x ".join(f"{term:,}" for term in terms) for terms in (before, after))
    return f": {told} ({' x '.join(names)})"


def terms_of(side: Side) -> list[int]:
    """Micro batch, accumulation and data-parallel size, if their product is the global batch; else empty."""
    terms = [side.number(name) for name in ("micro_batch", "accumulation", "data_parallel")]
    known = [term for term in terms if term]
    total = side.number("global_batch")
    if len(known) == 3:
        return known if known[0] * known[1] * known[2] == total else []
    return known if len(known) == 2 and terms[2] is None and total is None else []


def consumed(old: Side, new: Side) -> list[Consequence]:
    """The samples that a step actually consumes, where that is not the global batch."""
    before, after = old.number("consumed_batch"), new.number("consumed_batch")
    if (before, after) == (old.number("global_batch"), new.number("global_batch")):
        return []
    return changed("consumed_batch", "samples consumed per step", before, after)


def unchanged_rates(old: Side, new: Side, changed_keys: set[str]) -> list[Consequence]:
    """The learning rates that do not change although the batch does."""
    if growth(old, new) in (None, 1):
        return []
    before, after = peaks(old), peaks(new)
    if not after:
        rates = [side.lines.get("learning rate") for side in (old, new)]
        if rates[0] is None or rates[1] is None or number(rates[1].setting.value) is None:
            return []
        if number(rates[0].setting.value) != number(rates[1].setting.value):
            return []
        return [Consequence("learning_rate", f"learning rate unchanged: {as_written(rates[1])} ({origin(rates[1])})")]
    stay = [text for key, (value, text) in after.items() if key in before and before[key][0] == value and key not in changed_keys]
    return [Consequence("learning_rate", f"learning rate unchanged: {', '.join(stay)}")] if stay else []


def peaks(side: Side) -> dict[str, tuple[float, str]]:
    """The learning rates in the files, by key: (value, text with place)."""
    found = {}
    for setting in tuned(side.run):
        value = number(setting.value)
        if setting.path[-1] in PEAKS and value is not None:
            found[setting.name] = value, f"{setting.name} {setting.value} ({setting.place})"
    return found


# ---- the length


def length(old: Side, new: Side) -> list[Consequence]:
    """Steps, samples, and the fractions of the run for warm-up and decay."""
    before, after = old.number("total_steps"), new.number("total_steps")
    told = changed("total_steps", "total steps", before, after)
    told = told or changed("steps_per_epoch", "steps per epoch", old.number("steps_per_epoch"), new.number("steps_per_epoch"))
    told += estimated(old, new) if before is None and after is None else samples(old, new)
    return [*told, *warmup(old, new), *schedule(old, new)]


def estimated(old: Side, new: Side) -> list[Consequence]:
    """The change of an unknown number of steps, for the same data."""
    epochs = [number(side.line("epochs")) for side in (old, new)]
    times = growth(old, new)
    if not epochs[0] or not epochs[1] or not times or old.run.facts.num_examples != new.run.facts.num_examples:
        return []
    factor = epochs[1] / epochs[0] / times
    if isclose(factor, 1):
        return []
    how = f"{epochs[0]:g} -> {epochs[1]:g} epochs" if epochs[0] != epochs[1] else f"the same {epochs[1]:g} epochs"
    batches = "" if times == 1 else f" in {'larger' if times > 1 else 'smaller'} batches"
    told = [Consequence("total_steps", f"total steps {about(factor)}: {how}{batches}")]
    steps = old.number("warmup_steps"), new.number("warmup_steps")
    if steps[0] and steps[0] == steps[1]:
        text = f"warm-up unchanged ({steps[1]:,} steps), {about(1 / factor)} as a fraction of the run"
        told.append(Consequence("warmup_share", text))
    return told


def samples(old: Side, new: Side) -> list[Consequence]:
    """The total samples of the run, where another batch changes them."""
    times, totals = growth(old, new), (old.number("total_steps"), new.number("total_steps"))
    if times in (None, 1) or not totals[0] or not totals[1]:
        return []
    factor = (quotient(totals[1], totals[0]) or 1) * (times or 1)
    if abs(factor - 1) < NOTEWORTHY:
        return []
    batches = old.number("consumed_batch"), new.number("consumed_batch")
    if batches[0] and batches[1]:
        return changed("samples", "total samples", totals[0] * batches[0], totals[1] * batches[1])
    return [Consequence("samples", f"total samples {about(factor)}, in {totals[1]:,} steps")]


def warmup(old: Side, new: Side) -> list[Consequence]:
    """The fraction of the run for warm-up."""
    return part("warmup", "warm-up", old, new, (old.number("warmup_steps"), new.number("warmup_steps")))


def schedule(old: Side, new: Side) -> list[Consequence]:
    """The fractions of the run for a schedule with its own step counts."""
    told: list[Consequence] = []
    for about_what, label, name in SCHEDULES:
        before, after = old.line(label), new.line(label)
        if isinstance(before, int) and isinstance(after, int):
            told += part(about_what, name, old, new, (before, after))
    return told


def part(about: str, name: str, old: Side, new: Side, steps: tuple[int | None, int | None]) -> list[Consequence]:
    """Steps as a fraction of the run, where that changed; the steps alone where the length of the run is unknown."""
    before, after = steps
    totals = old.number("total_steps"), new.number("total_steps")
    if before is None or after is None or not totals[0] or not totals[1] or totals[0] < 0 or totals[1] < 0:
        return changed(f"{about}_steps", f"{name} steps", before, after)
    was, share = quotient(100 * before, totals[0]), quotient(100 * after, totals[1])
    if was is None or share is None or isclose(was, share, rel_tol=NOTEWORTHY):
        return []
    spelled_out = f"{before:,} of {totals[0]:,} steps -> {after:,} of {totals[1]:,}"
    return [Consequence(f"{about}_share", f"{name} {percent(was)} -> {percent(share)} of the run ({spelled_out})", was, share)]


# ---- the learning rate and the rest


def rate(old: Side, new: Side) -> list[Consequence]:
    """The learning rate, and whether it scales with the batch."""
    before, after = number(old.line("learning rate")), number(new.line("learning rate"))
    if before is None or after is None or before == after:
        return []
    how, times = ratio(before, after), growth(old, new)
    if before and times not in (None, 1):
        if isclose(after / before, times or 1, rel_tol=NOTEWORTHY):
            how += ", linear with the global batch"
        elif isclose(after / before, sqrt(times or 1), rel_tol=NOTEWORTHY):
            how += ", with the square root of the global batch"
    text = f"learning rate {as_written(old.lines['learning rate'])} -> {as_written(new.lines['learning rate'])} ({how})"
    return [Consequence("learning_rate", text, before, after)]


def rest(old: Side, new: Side) -> list[Consequence]:
    """Every other line of the summary whose value differs."""
    told = []
    for label in dict.fromkeys((*new.lines, *old.lines)):
        if label in OWN_SENTENCE:
            continue
        before, after = told_of(old, label), told_of(new, label)
        if before is None or after is None or equal(before, after):
            continue
        text = f"{label} {spelled(before)} -> {spelled(after)}"
        if label == "ZeRO stage" and isinstance(after, int) and after in SHARDED:
            text += f": {SHARDED[after]}"
        told.append(Consequence(label.replace(" ", "_").lower(), text, before, after))
    return told


def told_of(side: Side, label: str) -> Any:
    """The value of a line, or the value that its absence means; None where it is unknown."""
    return side.line(label) if label in side.lines else ABSENT.get(label)


# ---- numbers and words


def changed(about: str, name: str, before: Any, after: Any) -> list[Consequence]:
    """`total steps 1,512 -> 3,024 (doubled)`, when both are known and differ."""
    if before is None or after is None or before == after:
        return []
    return [Consequence(about, f"{name} {before:,} -> {after:,} ({ratio(before, after)})", before, after)]


def ratio(before: float, after: float) -> str:
    """The relative change, as `doubled`, `3 times as much` or `-66.7 %`."""
    if not (abs(before) < HUGE and abs(after) < HUGE):
        return "too large to compare"
    times = after / before if before else 0
    if times <= 0:
        return f"{after - before:+g}"
    if isclose(times, 2, rel_tol=ABOUT) or isclose(times, 0.5, rel_tol=ABOUT):
        about = "" if isclose(times, 2) or isclose(times, 0.5) else "about "
        return about + ("doubled" if times > 1 else "halved")
    if times >= 2:
        return f"{times:.3g} times as much"
    if isclose(1 / times, round(1 / times), rel_tol=ABOUT):
        return f"1/{round(1 / times)} of the previous value"
    return f"{100 * (times - 1):+.3g} %"


def percent(share: float) -> str:
    """`6.6 %`, `12 %`."""
    return f"{share:.0f} %" if share >= 10 else f"{share:.2g} %"


def about(times: float) -> str:
    """An approximate relative change."""
    text = ratio(1, times)
    return text if text.startswith("about") else f"about {text}"


def number(value: Any) -> float | None:
    """A value as a finite number, also from a string; None for anything else."""
    if isinstance(value, bool):
        return None
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if isfinite(found) else None


def as_written(item: Item) -> str:
    """A value in the spelling of its file."""
    node = item.setting.node
    return node.raw if item.setting.written and node is not None and node.kind == "scalar" else spelled(item.setting.value)


def spelled(value: Any) -> str:
    """A value for display."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:,}" if isinstance(value, int) else str(value)
