"""What a change does to a run, in sentences: whether it starts, its batch, its length, its learning rate, the rest."""

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
UNTOLD = {  # what the absence of a line stands for
    "optimizer offload": "off",
    "weights offload": "off",
    "FSDP": "off",
    "tensor parallel": 1,
    "pipeline": 1,
    "context parallel": 1,
    "sequence parallel": 1,
}
ABOUT = 0.01  # from here on a number is no longer about twice another
HUGE = 1e300  # numbers from here on are not divided by each other
NOTEWORTHY = 0.02  # relative change from which a number that is rounded on its way counts as changed


class Consequence:
    """A sentence, what it is `about`, and the values before and after; None where there is no single one."""

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
    """What becomes of a run, the weightiest first; a side is None when the run is new or gone.

    `changed_keys` are the settings that differ, as people say them.
    """
    if old is None:
        return [alone(new, "new run", "starts", "does not start")] if new is not None else []
    if new is None:
        return [alone(old, "run gone", "started", "did not start")]
    lost = unfound(old, new)
    if lost:  # what is in such a file would decide all the rest
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
    """Another verdict, or another moment at which it dies."""
    before, after = old.outcome, new.outcome
    if before.verdict != after.verdict:
        how = {"accept": "starts now", "reject": "does not start any more"}.get(after.verdict or "", "not known whether it starts")
        died = after.fails_at or before.fails_at
        text = f"{how}{on_gpus(new)}: {before.verdict or 'unknown'} -> {after.verdict or 'unknown'}{f' (at {died})' if died else ''}"
        return [Consequence("verdict", text, before.verdict, after.verdict)]
    if before.fails_at != after.fails_at:
        text = f"still does not start{on_gpus(new)}: stops at {after.fails_at}, before at {before.fails_at}"
        return [Consequence("fails_at", text, before.fails_at, after.fails_at)]
    return []


def on_gpus(side: Side) -> str:
    """` on 8 GPUs`; nothing where the count is not known."""
    gpus = side.outcome.gpus
    return "" if gpus is None else f" on {gpus} GPU{'s' if gpus > 1 else ''}"


def unfound(old: Side, new: Side) -> list[Consequence]:
    """Files that the run names and that are not there any more, so that nothing in them counts."""
    before = [name for name, _ in missing_files(old.run)]
    names = [name for name, _ in missing_files(new.run) if name not in before]
    return [Consequence("file", f"{name} is named and not there: what it said is not compared", None, name) for name in names]


def launch(old: Side, new: Side) -> list[Consequence]:
    """GPUs and versions."""
    told = changed("gpus", "GPUs", old.line("GPUs"), new.line("GPUs"))
    before, after = old.line("GPUs implied"), new.line("GPUs implied")
    if before and after and before != after:
        told.append(Consequence("implied_gpus", f"the batch sizes multiply up on {after:,} GPUs, before on {before:,}", before, after))
    for package, version in new.outcome.target.items():
        was = old.outcome.target.get(package, version)
        if was != version:
            told.append(Consequence(VERSION, f"{package} {was} -> {version}", was, version))
    return told


# ---- the batch


def batch(old: Side, new: Side, changed_keys: set[str]) -> list[Consequence]:
    """The global batch and how it is split, the learning rates that did not follow it, and the memory that it needs."""
    told = [*global_batch(old, new), *consumed(old, new), *unchanged_rates(old, new, changed_keys)]
    before, after = old.number("micro_batch"), new.number("micro_batch")
    if before and after and before != after:
        text = f"micro batch {before:,} -> {after:,} ({ratio(before, after)}), and with it the memory for activations"
        told.append(Consequence("micro_batch", text, before, after))
    told += changed("seq_length", "sequence length", old.number("seq_length"), new.number("seq_length"))
    return told + changed("tokens_per_step", "tokens per step", old.number("tokens_per_step"), new.number("tokens_per_step"))


def global_batch(old: Side, new: Side) -> list[Consequence]:
    """The global batch; on an unknown number of GPUs what each of them contributes."""
    before, after = old.number("global_batch"), new.number("global_batch")
    terms = split(old, new)
    if before is not None and after is not None and before != after:
        return [Consequence("global_batch", f"global batch {before:,} -> {after:,} ({ratio(before, after)}){terms}", before, after)]
    if before is None and after is not None:
        return [Consequence("global_batch", f"global batch {after:,}, not known before", before, after)]
    if before is not None and after is None:
        return [Consequence("global_batch", f"global batch not known any more, before {before:,}", before, after)]
    shares = per_gpu(old), per_gpu(new)
    if before is None and shares[0] and shares[1] and shares[0] != shares[1]:
        how = ratio(shares[0], shares[1])
        text = f"global batch {how} on any number of GPUs: {shares[0]:,} -> {shares[1]:,} samples a GPU and step{terms}"
        return [Consequence("samples_per_gpu", text, *shares)]
    if before is None and None in shares:
        return part_of_batch(old, new)
    if terms:
        stays = f"global batch stays {after:,}" if after is not None else "global batch stays the same on any number of GPUs"
        return [Consequence("split", f"{stays}, split otherwise{terms}")]
    return []


def part_of_batch(old: Side, new: Side) -> list[Consequence]:
    """What follows from the accumulation alone, where somebody else gives the micro batch."""
    before, after = old.number("accumulation"), new.number("accumulation")
    if not before or not after or before == after:
        return []
    text = f"accumulation {before:,} -> {after:,} ({ratio(before, after)}), and with it the global batch for the same micro batch"
    return [Consequence("accumulation", text, before, after)]


def per_gpu(side: Side) -> int | None:
    """The samples that one GPU contributes to a step."""
    micro, accumulation = side.number("micro_batch"), side.number("accumulation")
    return micro * accumulation if micro and accumulation else None


def growth(old: Side, new: Side) -> float | None:
    """How many times as large a batch is; None when that is not known."""
    before, after = old.number("global_batch"), new.number("global_batch")
    if before is None and after is None and old.run.facts.gpus == new.run.facts.gpus:
        before, after = per_gpu(old), per_gpu(new)
    return quotient(after, before) if before and after and before > 0 and after > 0 else None


def quotient(above: float, below: float) -> float | None:
    """A quotient; None where it is beyond all floats."""
    try:
        return above / below
    except OverflowError:
        return None


def split(old: Side, new: Side) -> str:
    """`: 4 x 8 x 16 -> 4 x 4 x 16`, without the GPUs where their number is not known; nothing where nothing is to be told."""
    before, after = terms_of(old), terms_of(new)
    if before == after or len(before) != len(after):
        return ""
    names = ("micro batch", "accumulation", "data parallel")[: len(before)]
    told = " -> ".join(" x ".join(f"{term:,}" for term in terms) for terms in (before, after))
    return f": {told} ({' x '.join(names)})"


def terms_of(side: Side) -> list[int]:
    """Micro batch, accumulation and data-parallel size as far as they multiply up to the global batch; empty when not."""
    terms = [side.number(name) for name in ("micro_batch", "accumulation", "data_parallel")]
    known = [term for term in terms if term]
    total = side.number("global_batch")
    if len(known) == 3:
        return known if known[0] * known[1] * known[2] == total else []
    return known if len(known) == 2 and terms[2] is None and total is None else []


def consumed(old: Side, new: Side) -> list[Consequence]:
    """The samples that a step really takes, where that is not the global batch."""
    before, after = old.number("consumed_batch"), new.number("consumed_batch")
    if (before, after) == (old.number("global_batch"), new.number("global_batch")):
        return []
    return changed("consumed_batch", "samples that a step really takes", before, after)


def unchanged_rates(old: Side, new: Side, changed_keys: set[str]) -> list[Consequence]:
    """The learning rates that stay although the batch does not."""
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
    """The learning rates that the files give, by their keys: (value, text with place)."""
    found = {}
    for setting in tuned(side.run):
        value = number(setting.value)
        if setting.path[-1] in PEAKS and value is not None:
            found[setting.name] = value, f"{setting.name} {setting.value} ({setting.place})"
    return found


# ---- the length


def length(old: Side, new: Side) -> list[Consequence]:
    """Steps, samples, and the parts of the run that warm-up and decay take."""
    before, after = old.number("total_steps"), new.number("total_steps")
    told = changed("total_steps", "total steps", before, after)
    told = told or changed("steps_per_epoch", "steps per epoch", old.number("steps_per_epoch"), new.number("steps_per_epoch"))
    told += estimated(old, new) if before is None and after is None else samples(old, new)
    return [*told, *warmup(old, new), *schedule(old, new)]


def estimated(old: Side, new: Side) -> list[Consequence]:
    """What becomes of a number of steps that is not known, for the same data."""
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
        text = f"warm-up stays {steps[1]:,} steps, {about(1 / factor)} as a share of the run"
        told.append(Consequence("warmup_share", text))
    return told


def samples(old: Side, new: Side) -> list[Consequence]:
    """What the run sees in all, where another batch changes that."""
    times, totals = growth(old, new), (old.number("total_steps"), new.number("total_steps"))
    if times in (None, 1) or not totals[0] or not totals[1]:
        return []
    factor = (quotient(totals[1], totals[0]) or 1) * (times or 1)
    if abs(factor - 1) < NOTEWORTHY:
        return []
    batches = old.number("consumed_batch"), new.number("consumed_batch")
    if batches[0] and batches[1]:
        return changed("samples", "samples in all", totals[0] * batches[0], totals[1] * batches[1])
    return [Consequence("samples", f"samples in all {about(factor)}, in {totals[1]:,} steps")]


def warmup(old: Side, new: Side) -> list[Consequence]:
    """The part of the run in which the learning rate rises."""
    return part("warmup", "warm-up", old, new, (old.number("warmup_steps"), new.number("warmup_steps")))


def schedule(old: Side, new: Side) -> list[Consequence]:
    """The parts of the run that a schedule with steps of its own takes."""
    told: list[Consequence] = []
    for about_what, label, name in SCHEDULES:
        before, after = old.line(label), new.line(label)
        if isinstance(before, int) and isinstance(after, int):
            told += part(about_what, name, old, new, (before, after))
    return told


def part(about: str, name: str, old: Side, new: Side, steps: tuple[int | None, int | None]) -> list[Consequence]:
    """Steps as a share of the run, where that changed; the steps alone where the length of the run is not known."""
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
    """The learning rate, and whether it follows the batch."""
    before, after = number(old.line("learning rate")), number(new.line("learning rate"))
    if before is None or after is None or before == after:
        return []
    how, times = ratio(before, after), growth(old, new)
    if before and times not in (None, 1):
        if isclose(after / before, times or 1, rel_tol=NOTEWORTHY):
            how += ", like the global batch"
        elif isclose(after / before, sqrt(times or 1), rel_tol=NOTEWORTHY):
            how += ", with the square root of the global batch"
    text = f"learning rate {as_written(old.lines['learning rate'])} -> {as_written(new.lines['learning rate'])} ({how})"
    return [Consequence("learning_rate", text, before, after)]


def rest(old: Side, new: Side) -> list[Consequence]:
    """Every other line of the account whose value differs."""
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
    """The value of a line; what its absence stands for where there is none; None where it is not known."""
    return side.line(label) if label in side.lines else UNTOLD.get(label)


# ---- numbers and words


def changed(about: str, name: str, before: Any, after: Any) -> list[Consequence]:
    """`total steps 1,512 -> 3,024 (doubled)`, when both are known and differ."""
    if before is None or after is None or before == after:
        return []
    return [Consequence(about, f"{name} {before:,} -> {after:,} ({ratio(before, after)})", before, after)]


def ratio(before: float, after: float) -> str:
    """How much more or less, in words that people use."""
    if not (abs(before) < HUGE and abs(after) < HUGE):
        return "beyond compare"
    times = after / before if before else 0
    if times <= 0:
        return f"{after - before:+g}"
    if isclose(times, 2, rel_tol=ABOUT) or isclose(times, 0.5, rel_tol=ABOUT):
        about = "" if isclose(times, 2) or isclose(times, 0.5) else "about "
        return about + ("doubled" if times > 1 else "halved")
    if times >= 2:
        return f"{times:.3g} times as much"
    if isclose(1 / times, round(1 / times), rel_tol=ABOUT):
        return f"1/{round(1 / times)} of it"
    return f"{100 * (times - 1):+.3g} %"


def percent(share: float) -> str:
    """`6.6 %`, `12 %`."""
    return f"{share:.0f} %" if share >= 10 else f"{share:.2g} %"


def about(times: float) -> str:
    """A growth that is not known exactly."""
    told = ratio(1, times)
    return told if told.startswith("about") else f"about {told}"


def number(value: Any) -> float | None:
    """A value as a finite number, text that spells one included; None for anything else."""
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
    """A value as people write it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:,}" if isinstance(value, int) else str(value)
