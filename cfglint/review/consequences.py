"""The consequences of a change for a run: whether it starts, its batch, its length, its learning rate and the rest; each has one name."""

from __future__ import annotations

from math import isclose, isfinite, sqrt

from cfglint.explanation.summary import origin
from cfglint.review.effects import EFFECTS, LENGTHS, length_key
from cfglint.review.settings import equal, missing_files
from cfglint.rewrite.retarget import tuned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cfglint.frameworks.summary import Item
    from cfglint.review.settings import SettingChange
    from cfglint.review.snapshot import Side

VERSION = "target"
PEAKS = ("learning_rate", "lr", "warmup_max_lr", "cycle_max_lr")  # keys of the highest learning rate
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
        "sequence length",
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
NAMES = {  # label of a line -> name of its consequence, if it differs from the label
    "optimizer offload": "offload",
    "weights offload": "offload",
    "lowest rate": "lowest_rate",
}
SCHEDULES = (  # lines of a schedule that has steps of its own
    ("decay", "decay steps", "decay"),
    ("schedule_length", "schedule's total", "schedule"),
    ("warmup", "schedule's warm-up", "schedule's warm-up"),
)
ABSENT = {  # the value that the absence of a line means
    "optimizer offload": "off",
    "weights offload": "off",
    "FSDP": "off",
    "tensor parallel": 1,
    "pipeline": 1,
    "context parallel": 1,
    "sequence parallel": 1,
}
LEFT_OPEN = {  # lines whose absence means that these files do not determine the value
    "schedule": "not in these files",
    "ZeRO stage": "without DeepSpeed",
}
NUMERIC = ("warmup", "learning_rate", "lowest_rate", "gradient_clipping")  # consequences whose values are numbers
ABOUT = 0.01  # relative tolerance of "about doubled"
HUGE = 1e300  # larger numbers are not divided
GIB = 1 << 30
NOTEWORTHY = 0.02  # relative change from which a rounded number counts as changed


class Consequence:
    """A sentence with its data: the name of the quantity, the values before and after, and their ratio.

    A missing value is None. `factor` is the ratio, which may be known if the
    values are not. `known` is False if a value cannot be known from the files.
    """

    __slots__ = ("after", "before", "factor", "known", "text", "what")

    def __init__(
        self, what: str, text: str, before: Any = None, after: Any = None, factor: float | None = None, known: bool = True
    ) -> None:
        self.what = what
        self.text = text
        self.before = before
        self.after = after
        self.factor = factor if factor is not None else relation(before, after)
        self.known = known

    def __repr__(self) -> str:
        return f"Consequence({self.what!r}, {self.text!r})"

    @property
    def headline(self) -> str:
        """The sentence without its explanation."""
        return self.text.partition(": ")[0]


def relation(before: Any, after: Any) -> float | None:
    """The ratio of a number to the one before; None where it is unknown."""
    numbers = [value for value in (before, after) if isinstance(value, (int, float)) and not isinstance(value, bool)]
    return quotient(numbers[1], numbers[0]) if len(numbers) == 2 and numbers[0] else None


def consequences_of(old: Side | None, new: Side | None, settings: list[SettingChange]) -> list[Consequence]:
    """The consequences of a change for a run, most important first; a side is None if the run is new or deleted."""
    if old is None:
        return one_sided_run(new, "new run", "starts", "does not start") if new is not None else []
    if new is None:
        return [as_deleted(each) for each in one_sided_run(old, "deleted run", "started", "did not start")]
    if not (old.readable and new.readable):
        return unreadable(old, new)
    lost = missing_references(old, new)
    if lost:  # all other consequences depend on such a file
        return lost
    changed_keys = {each.key for each in settings}
    found = [
        *start(old, new),
        *launch(old, new),
        *batch(old, new, changed_keys),
        *length(old, new),
        *rate(old, new),
        *other_lines(old, new),
    ]
    return [*found, *from_settings(old, new, settings, {each.what for each in found if each.before != each.after or each.factor != 1})]


def one_sided_run(side: Side, text: str, starts: str, fails: str) -> list[Consequence]:
    """A run that the other side does not have, with its numbers."""
    if not side.readable:
        return [Consequence("run", text), Consequence("unreadable", f"{side.unreadable_file} cannot be read", None, True)]
    found: list[Consequence] = []
    for what, label in (("global_batch", "global batch"), ("total_steps", "total steps")):
        number = side.number(what)
        if number is not None:
            found.append(Consequence(what, f"{label} {number:,}", None, number))
    labels = [label for label in ("learning rate", "precision", "ZeRO stage", "schedule") if side.line(label) is not None]
    found += [
        Consequence(name_of(label), f"{label} {as_written(side.lines[label])}", None, plain(label, side.line(label))) for label in labels
    ]
    verdict = side.outcome.verdict
    state = [] if verdict is None else [(starts if verdict == "accept" else fails) + on_gpus(side)]
    return [Consequence("run", f"{text}: {', '.join([*state, *(each.text for each in found)])}", None, verdict), *found]


def as_deleted(consequence: Consequence) -> Consequence:
    """The number of a deleted run: its value is the one before."""
    consequence.before, consequence.after = consequence.after, None
    return consequence


# ---- start and hardware


def unreadable(old: Side, new: Side) -> list[Consequence]:
    """The consequence of a side that cannot be parsed: nothing else is derived from it."""
    sides = not old.readable, not new.readable
    if [document.text for document in old.run.documents] == [document.text for document in new.run.documents]:
        return []
    if all(sides):
        text = f"{new.unreadable_file} could not be read before and cannot be read now"
    elif sides[1]:
        text = f"{new.unreadable_file} cannot be read any more"
    else:
        text = f"{old.unreadable_file} could not be read before and can be read now"
    return [Consequence("unreadable", text, *sides), *start(old, new)]


def start(old: Side, new: Side) -> list[Consequence]:
    """The consequence of another verdict, or another stage of failure."""
    before, after = old.outcome, new.outcome
    if before.verdict != after.verdict and None in (before.verdict, after.verdict):
        return [Consequence("verdict", "whether it starts cannot be decided on both sides", before.verdict, after.verdict, known=False)]
    if before.verdict != after.verdict:
        how = "starts now" if after.verdict == "accept" else "no longer starts"
        stage = after.fails_at or before.fails_at
        text = f"{how}{on_gpus(new)}: {before.verdict} -> {after.verdict}{f' (at {stage})' if stage else ''}"
        return [Consequence("verdict", text, before.verdict, after.verdict)]
    if before.fails_at != after.fails_at:
        text = f"still does not start{on_gpus(new)}: fails at {after.fails_at}, before at {before.fails_at}"
        return [Consequence("fails_at", text, before.fails_at, after.fails_at)]
    return []


def on_gpus(side: Side) -> str:
    """` on 8 GPUs`; empty if the count is unknown."""
    gpus = side.outcome.gpus
    return "" if gpus is None else f" on {gpus} GPU{'s' if gpus > 1 else ''}"


def missing_references(old: Side, new: Side) -> list[Consequence]:
    """The consequence of named files that no longer exist, so that nothing in them counts."""
    before = [name for name, _ in missing_files(old.run)]
    names = [name for name, _ in missing_files(new.run) if name not in before]
    return [Consequence("file", f"{name} does not exist any more: its settings are not compared", None, name) for name in names]


def launch(old: Side, new: Side) -> list[Consequence]:
    """The consequences for GPUs and versions."""
    found = changed("gpus", "GPUs", old.line("GPUs"), new.line("GPUs"))
    before, after = old.line("GPUs implied"), new.line("GPUs implied")
    if before and after and before != after:
        found.append(Consequence("implied_gpus", f"the batch sizes now imply {after:,} GPUs, previously {before:,}", before, after))
    for package, version in new.outcome.target.items():
        was = old.outcome.target.get(package, version)
        if was != version:
            found.append(Consequence(VERSION, f"{package} {was} -> {version}", was, version))
    return found


# ---- the batch


def batch(old: Side, new: Side, changed_keys: set[str]) -> list[Consequence]:
    """The global batch and its factors, the learning rates that did not follow it, and the memory that it needs."""
    found = [*global_batch(old, new), *consumed(old, new), *unchanged_rates(old, new, changed_keys)]
    before, after = old.number("micro_batch"), new.number("micro_batch")
    if before and after and before != after:
        text = f"micro batch {before:,} -> {after:,} ({ratio(before, after)}), which changes activation memory"
        found.append(Consequence("micro_batch", text, before, after))
    return [*found, *tokens(old, new), *memory(old, new)]


def tokens(old: Side, new: Side) -> list[Consequence]:
    """The tokens per optimizer step; their factor if the number of GPUs is unknown."""
    was, now = old.number("seq_length"), new.number("seq_length")
    exact = changed("tokens_per_step", "tokens per step", old.number("tokens_per_step"), new.number("tokens_per_step"))
    if exact or not was or not now or was == now:
        return exact
    text = f"tokens per step change with the sequence length {was:,} -> {now:,} ({ratio(was, now)})"
    return [Consequence("tokens_per_step", text, factor=(quotient(now, was) or 1) * (growth(old, new) or 1), known=False)]


def memory(old: Side, new: Side) -> list[Consequence]:
    """The memory per GPU, if a model or a card is named."""
    facts = new.run.facts
    if facts.model is None and facts.gpu_memory is None:
        return []
    from cfglint.frameworks.memory import memory_of, rounded

    before, after = (memory_of(side.run.configs[0]) if side.run.configs else None for side in (old, new))
    if before is None or after is None or not (before.inputs.micro_known and after.inputs.micro_known):
        return []
    sizes = before.estimate.total, after.estimate.total
    if before.verdict == after.verdict and isclose(*sizes, rel_tol=NOTEWORTHY):
        return []
    card = f" of {after.available:g}: {(after.verdict or '').replace('-', ' ')}" if after.available is not None else ""
    text = f"memory peak {rounded(sizes[0])} -> {rounded(sizes[1])} GiB per GPU{card}"
    return [Consequence("memory", text, round(sizes[0] / GIB, 3), round(sizes[1] / GIB, 3))]


def global_batch(old: Side, new: Side) -> list[Consequence]:
    """The global batch; with an unknown number of GPUs the samples per GPU."""
    before, after = old.number("global_batch"), new.number("global_batch")
    terms = split(old, new)
    if before is not None and after is not None and before != after:
        return [Consequence("global_batch", f"global batch {before:,} -> {after:,} ({ratio(before, after)}){terms}", before, after)]
    shares = per_gpu(old), per_gpu(new)
    if before is None and after is not None:
        return [Consequence("global_batch", f"global batch {after:,}, unknown before", before, after, batch_factor(old, new))]
    if before is not None and after is None:
        return [Consequence("global_batch", f"global batch is no longer known, before {before:,}", before, after, batch_factor(old, new))]
    if before is None and shares[0] and shares[1] and shares[0] != shares[1]:
        how = ratio(shares[0], shares[1])
        text = f"global batch {how} on any number of GPUs: {shares[0]:,} -> {shares[1]:,} samples per GPU and step{terms}"
        return [Consequence("global_batch", text, factor=quotient(shares[1], shares[0]), known=False)]
    if before is None and None in shares:
        return part_of_batch(old, new)
    if terms:
        stays = f"global batch unchanged at {after:,}" if after is not None else "global batch unchanged on any number of GPUs"
        return [Consequence("global_batch", f"{stays}{terms}", after, after, 1.0, after is not None)]
    return []


def batch_factor(old: Side, new: Side) -> float | None:
    """The ratio of the samples per GPU, if the number of GPUs stays the same."""
    before, after = per_gpu(old), per_gpu(new)
    return quotient(after, before) if before and after and old.outcome.gpus == new.outcome.gpus else None


def part_of_batch(old: Side, new: Side) -> list[Consequence]:
    """The consequence of the accumulation alone, if the micro batch is set elsewhere."""
    before, after = old.number("accumulation"), new.number("accumulation")
    if not before or not after or before == after or old.number("micro_batch") != new.number("micro_batch"):
        return []
    text = f"global batch {ratio(before, after)} for the same micro batch: accumulation {before:,} -> {after:,}"
    return [Consequence("global_batch", text, factor=quotient(after, before), known=False)]


def per_gpu(side: Side) -> int | None:
    """The samples that one GPU contributes to a step."""
    micro, accumulation = side.number("micro_batch"), side.number("accumulation")
    return micro * accumulation if micro and accumulation else None


def growth(old: Side, new: Side) -> float | None:
    """The ratio of the batches; None if it is unknown."""
    before, after = old.number("global_batch"), new.number("global_batch")
    if before is None and after is None and old.run.facts.gpus == new.run.facts.gpus:
        before, after = per_gpu(old), per_gpu(new)
    return quotient(after, before) if before and after and before > 0 and after > 0 else None


def quotient(above: float, below: float) -> float | None:
    """A quotient; None if it exceeds a float."""
    try:
        return above / below
    except OverflowError:
        return None


def split(old: Side, new: Side) -> str:
    """`: 4 x 8 x 16 -> 4 x 4 x 16`, without the GPUs if their number is unknown; empty if nothing changed."""
    before, after = terms_of(old), terms_of(new)
    if before == after or len(before) != len(after):
        return ""
    names = ("micro batch", "accumulation", "data parallel")[: len(before)]
    both = " -> ".join(" x ".join(f"{term:,}" for term in terms) for terms in (before, after))
    return f": {both} ({' x '.join(names)})"


def terms_of(side: Side) -> list[int]:
    """Micro batch, accumulation and data-parallel size, if their product is the global batch; else empty."""
    terms = [side.number(name) for name in ("micro_batch", "accumulation", "data_parallel")]
    known = [term for term in terms if term]
    total = side.number("global_batch")
    if len(known) == 3:
        return known if known[0] * known[1] * known[2] == total else []
    return known if len(known) == 2 and terms[2] is None and total is None else []


def consumed(old: Side, new: Side) -> list[Consequence]:
    """The samples that a step actually consumes, if they differ from the global batch."""
    before, after = old.number("consumed_batch"), new.number("consumed_batch")
    if (before, after) == (old.number("global_batch"), new.number("global_batch")):
        return []
    return changed("consumed_batch", "samples that one step really takes", before, after)


def unchanged_rates(old: Side, new: Side, changed_keys: set[str]) -> list[Consequence]:
    """The learning rates that do not change although the batch size does."""
    if growth(old, new) in (None, 1):
        return []
    before, after = peaks(old), peaks(new)
    if not after:
        rates = [side.lines.get("learning rate") for side in (old, new)]
        if rates[0] is None or rates[1] is None or number(rates[1].setting.value) is None:
            return []
        if number(rates[0].setting.value) != number(rates[1].setting.value):
            return []
        value = number(rates[1].setting.value)
        return [Consequence("learning_rate", f"learning rate unchanged: {as_written(rates[1])} ({origin(rates[1])})", value, value)]
    stay = {text: value for key, (value, text) in after.items() if before.get(key, (None,))[0] == value and key not in changed_keys}
    if not stay:
        return []
    value = max(stay.values())
    return [Consequence("learning_rate", f"learning rate unchanged: {', '.join(stay)}", value, value)]


def peaks(side: Side) -> dict[str, tuple[float, str]]:
    """The learning rates in the files, by key: (value, value with place for display)."""
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
    found = changed("total_steps", "total steps", before, after) or one_sided(before, after)
    found = found or changed("steps_per_epoch", "steps per epoch", old.number("steps_per_epoch"), new.number("steps_per_epoch"))
    found += estimated(old, new) if before is None and after is None else samples(old, new)
    return [*found, *warmup(old, new), *schedule(old, new)]


def one_sided(before: int | None, after: int | None) -> list[Consequence]:
    """A number of steps on one side, while on the other epochs and data determine it."""
    if (before is None) == (after is None):
        return []
    shown = [f"{steps:,}" if steps is not None else "set by the epochs and the data" for steps in (before, after)]
    return [Consequence("total_steps", f"total steps {shown[0]} -> {shown[1]}", before, after, known=False)]


def estimated(old: Side, new: Side) -> list[Consequence]:
    """The change of an unknown number of steps, for the same data."""
    epochs = [number(side.line("epochs")) for side in (old, new)]
    times = growth(old, new)
    if not epochs[0] or not epochs[1] or not times or old.run.facts.num_examples != new.run.facts.num_examples:
        return []
    factor = epochs[1] / epochs[0] / times
    if isclose(factor, 1):
        return []
    same = "the same epoch" if epochs[1] == 1 else f"the same {epochs[1]:g} epochs"
    how = f"{epochs[0]:g} -> {epochs[1]:g} epochs" if epochs[0] != epochs[1] else same
    batches = "" if times == 1 else f" in {'larger' if times > 1 else 'smaller'} batches"
    found = [Consequence("total_steps", f"total steps {approximate_ratio(factor)}: {how}{batches}", factor=factor, known=False)]
    steps = old.number("warmup_steps"), new.number("warmup_steps")
    if steps[0] and steps[0] == steps[1]:
        text = f"warm-up stays {steps[1]:,} steps, {approximate_ratio(1 / factor)} as a fraction of the run"
        found.append(Consequence("warmup", text, steps[1], steps[1], 1 / factor))
    return found


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
    found: list[Consequence] = []
    for what, label, name in SCHEDULES:
        before, after = old.line(label), new.line(label)
        if isinstance(before, int) and isinstance(after, int):
            found += part(what, name, old, new, (before, after))
    return found


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


def other_lines(old: Side, new: Side) -> list[Consequence]:
    """Every other line of the summary with a different value."""
    found = []
    for label in dict.fromkeys((*new.lines, *old.lines)):
        if label in OWN_SENTENCE:
            continue
        before, after = line_of(old, label), line_of(new, label)
        if equal(before, after) or (None in (before, after) and not undecided(label, old, new)):
            continue
        known = None not in (before, after)
        text = f"{label} {spelled(before, label)} -> {spelled(after, label)}"
        if label == "ZeRO stage" and isinstance(after, int) and after in SHARDED:
            text += f": {SHARDED[after]}"
        found.append(Consequence(name_of(label), text, plain(label, before), plain(label, after), known=known))
    return found


def undecided(label: str, old: Side, new: Side) -> bool:
    """Whether a line without a value means that these files do not determine it (`"auto"`, no section)."""
    lines = [side.lines.get(label) for side in (old, new)]
    return label in LEFT_OPEN or (label == "precision" and None not in lines)


def line_of(side: Side, label: str) -> Any:
    """The value of a line; without the line, the value that its absence means; None if it is unknown."""
    return side.line(label) if label in side.lines else ABSENT.get(label)


def name_of(label: str) -> str:
    """The name of the consequence of a line: `zero_stage` for `ZeRO stage`."""
    return NAMES.get(label, label.replace(" ", "_").replace("-", "").lower())


def plain(label: str, value: Any) -> Any:
    """A value in the wording of the report: precisions have one name each, rates are numbers."""
    if label == "precision":
        return {"no": "fp32", "bfloat16": "bf16", "half": "fp16", "float32": "fp32"}.get(str(value).lower(), value)
    if label in ("learning rate", "lowest rate", "gradient clipping"):
        return number(value)
    return value


def from_settings(old: Side, new: Side, settings: list[SettingChange], covered: set[str]) -> list[Consequence]:
    """The consequences of changed settings that no line of the summary shows, such as a warm-up ratio of a run of unknown length."""
    found: dict[str, Consequence] = {}
    for change in settings:
        key = change.key.rpartition(".")[2].replace("-", "_")
        what = EFFECTS.get(key)
        if what is None and length_key(key) and any(config.has_field(key) for side in (old, new) for config in side.run.configs):
            what = LENGTHS
        if what is None or what in covered or what in found:
            continue
        before, after = change.before.known, change.after.known
        text = f"`{change.key}` {change.before.text} -> {change.after.text}"
        if what == "total_steps" and limited(old, new):
            continue
        if what in ("total_steps", LENGTHS):
            times = relation(number(before), number(after))
            factor = None if times is None else times * (growth(old, new) or 1 if what == LENGTHS else 1)
            found[what] = Consequence(what, f"{what.replace('_', ' ')} change with {text}", factor=factor, known=False)
        else:
            numeric = (
                (number(before), number(after))
                if what in ("warmup", "learning_rate", "lowest_rate", "gradient_clipping")
                else (before, after)
            )
            found[what] = Consequence(what, text, *numeric)
    return list(found.values())


def limited(old: Side, new: Side) -> bool:
    """Whether the number of steps is known or set on a side: then epochs do not determine it."""
    return any(side.number("total_steps") is not None or side.line("max steps") is not None for side in (old, new))


# ---- formatting of numbers


def changed(what: str, name: str, before: Any, after: Any) -> list[Consequence]:
    """`total steps 1,512 -> 3,024 (doubled)`, if both are known and differ."""
    if before is None or after is None or before == after:
        return []
    return [Consequence(what, f"{name} {before:,} -> {after:,} ({ratio(before, after)})", before, after)]


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
    if times * HUGE < 1:
        return "beyond comparison"
    if isclose(1 / times, round(1 / times), rel_tol=ABOUT):
        return f"1/{round(1 / times)} of the previous value"
    return f"{100 * (times - 1):+.3g} %"


def percent(percentage: float) -> str:
    """`6.6 %`, `12 %`."""
    return f"{percentage:.0f} %" if percentage >= 10 else f"{percentage:.2g} %"


def approximate_ratio(times: float) -> str:
    """The wording for an approximate ratio."""
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


def spelled(value: Any, label: str = "") -> str:
    """A value as people write it; None is the meaning of a missing line."""
    if value is None:
        return LEFT_OPEN.get(label, "unknown (set by the trainer)")
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:,}" if isinstance(value, int) else str(value)
