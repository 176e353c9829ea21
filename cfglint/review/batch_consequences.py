"""The consequences of a change for the batch: its size, its tokens, its memory, the learning rate that it was tuned for."""

from __future__ import annotations

from math import isclose

from cfglint.explanation.summary import origin
from cfglint.review.consequence import NOTEWORTHY, Consequence, as_written, changed, number, quotient, ratio
from cfglint.review.snapshot import Side
from cfglint.rewrite.retarget import tuned

PEAKS = ("learning_rate", "lr", "warmup_max_lr", "cycle_max_lr")  # keys of the highest learning rate
ACCUMULATION = "gradient_accumulation_steps"
GIB = 1 << 30


def batch(old: Side, new: Side, changed_keys: set[str]) -> list[Consequence]:
    """The global batch and its factors, the learning rates that did not follow it, and the memory that it needs."""
    consequences = [*global_batch(old, new), *consumed(old, new), *unchanged_rates(old, new, changed_keys)]
    before, after = old.number("micro_batch"), new.number("micro_batch")
    if before and after and before != after:
        text = f"micro batch {before:,} -> {after:,} ({ratio(before, after)}), which changes activation memory"
        consequences.append(Consequence("micro_batch", text, before, after))
    return [*consequences, *tokens(old, new), *memory(old, new)]


def tokens(old: Side, new: Side) -> list[Consequence]:
    """The tokens per optimizer step; their factor if the number of GPUs is unknown."""
    was, now = old.number("seq_length"), new.number("seq_length")
    exact = changed("tokens_per_step", "tokens per step", old.number("tokens_per_step"), new.number("tokens_per_step"))
    if exact or not was or not now or was == now:
        return exact
    text = f"tokens per step change with the sequence length {was:,} -> {now:,} ({ratio(was, now)})"
    return [Consequence("tokens_per_step", text, factor=(quotient(now, was) or 1) * (growth(old, new) or 1), known=False)]


def memory(old: Side, new: Side) -> list[Consequence]:
    """The memory per GPU, if the model is known."""
    from cfglint.frameworks.memory.estimate import memory_of

    before, after = (memory_of(side.run.configs[0]) if side.run.configs else None for side in (old, new))
    if before is None or after is None or not (before.inputs.known and after.inputs.known):
        return []
    sizes = before.estimate.total, after.estimate.total
    if before.verdict == after.verdict and isclose(*sizes, rel_tol=NOTEWORTHY):
        return []
    return [Consequence("memory", after.told(before), round(sizes[0] / GIB, 3), round(sizes[1] / GIB, 3))]


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
    split_changed = any(old.number(name) != new.number(name) for name in ("micro_batch", "accumulation"))
    if after is not None and split_changed and old.outcome.verdict == new.outcome.verdict:
        return [Consequence("global_batch", f"global batch unchanged at {after:,}", after, after, 1.0)]
    return []


def batch_factor(old: Side, new: Side) -> float | None:
    """The ratio of the samples per GPU, if the number of GPUs stays the same."""
    before, after = per_gpu(old), per_gpu(new)
    return quotient(after, before) if before and after and old.outcome.gpus == new.outcome.gpus else None


def part_of_batch(old: Side, new: Side) -> list[Consequence]:
    """The consequence of the accumulation alone, if the micro batch is set elsewhere, or the reverse."""
    if micro_batch_alone(old, new):
        sizes = old.number("micro_batch") or 1, new.number("micro_batch") or 1
        text = f"global batch {ratio(*sizes)} for the same accumulation: micro batch {sizes[0]:,} -> {sizes[1]:,}"
        return [Consequence("global_batch", text, factor=quotient(sizes[1], sizes[0]), known=False)]
    before, after = old.number("accumulation"), new.number("accumulation")
    whose = ""
    if before is None and after is None:
        before, after, whose = launcher_accumulation(old), launcher_accumulation(new), " of the launcher, unless the Trainer sets its own"
    if not before or not after or before == after or old.number("micro_batch") != new.number("micro_batch"):
        return []
    text = f"global batch {ratio(before, after)} for the same micro batch: accumulation {before:,} -> {after:,}{whose}"
    return [Consequence("global_batch", text, factor=quotient(after, before), known=False)]


def micro_batch_alone(old: Side, new: Side) -> bool:
    """Whether the micro batch changes, and no side says what the accumulation is."""
    before, after = old.number("micro_batch"), new.number("micro_batch")
    if not before or not after or before == after or old.run.facts.gpus != new.run.facts.gpus:
        return False
    return not any(states_accumulation(side) for side in (old, new))


def states_accumulation(side: Side) -> bool:
    """Whether a side has an accumulation, known or not."""
    batch, command = side.run.batch, side.run.launch.command
    is_written = batch is None or batch.accumulation.written or side.number("accumulation") is not None
    return is_written or launcher_accumulation(side) is not None or (command is not None and ACCUMULATION in command.unknown)


def launcher_accumulation(side: Side) -> int | None:
    """The accumulation that an accelerate config sets for DeepSpeed; accelerate prefers it to that of the script."""
    for config in side.run.configs:
        value = config.get("deepspeed_config", "gradient_accumulation_steps")
        if type(value) is int and value > 0:
            return value
    return None


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
        if rates[0] is None or rates[1] is None or number(rates[1].setting.known) is None:
            return []
        if number(rates[0].setting.known) != number(rates[1].setting.known):
            return []
        value = number(rates[1].setting.known)
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
