"""The consequences of a change for the batch: its size, its tokens, its memory, the learning rate that it was tuned for."""

from __future__ import annotations

from math import isclose

from cfglint.explanation.summary import origin
from cfglint.review.consequence import NOTEWORTHY, Consequence, as_written, changed, number, quotient, ratio
from cfglint.review.snapshot import Side
from cfglint.rewrite.retarget import tuned
from cfglint.source.annotations import Iterator

PEAKS = ("learning_rate", "lr", "warmup_max_lr", "cycle_max_lr")  # keys of the highest learning rate
ACCUMULATION = "gradient_accumulation_steps"
GIB = 1 << 30


def batch(old: Side, new: Side, changed_keys: set[str]) -> Iterator[Consequence]:
    """The global batch and its factors, the learning rates that did not follow it, and the memory that it needs."""
    yield from global_batch(old, new)
    before, after = old.number("consumed_batch"), new.number("consumed_batch")
    if (before, after) != (old.number("global_batch"), new.number("global_batch")):
        yield from changed("consumed_batch", "samples that one step really takes", before, after)
    yield from unchanged_rates(old, new, changed_keys)
    before, after = old.number("micro_batch"), new.number("micro_batch")
    if before and after and before != after:
        text = f"micro batch {before:,} -> {after:,} ({ratio(before, after)}), which changes activation memory"
        yield Consequence("micro_batch", text, before, after)
    exact = changed("tokens_per_step", "tokens per step", old.number("tokens_per_step"), new.number("tokens_per_step"))
    yield from exact
    was, now = old.number("seq_length"), new.number("seq_length")
    if not exact and was and now and was != now:
        text = f"tokens per step change with the sequence length {was:,} -> {now:,} ({ratio(was, now)})"
        yield Consequence("tokens_per_step", text, factor=(quotient(now, was) or 1) * (growth(old, new) or 1), known=False)
    yield from memory(old, new)


def memory(old: Side, new: Side) -> Iterator[Consequence]:
    """The memory per GPU, if the model is known, and in which way its weights are trained is not assumed of one side only."""
    before, after = old.run.memory, new.run.memory
    if before is None or after is None or not (before.inputs.known and after.inputs.known):
        return
    if before.inputs.all_trained_assumed != after.inputs.all_trained_assumed:
        return
    sizes = before.estimate.total, after.estimate.total
    if before.verdict != after.verdict or not isclose(*sizes, rel_tol=NOTEWORTHY):
        yield Consequence("memory", after.told(before), round(sizes[0] / GIB, 3), round(sizes[1] / GIB, 3))


def global_batch(old: Side, new: Side) -> Iterator[Consequence]:
    """The global batch; with an unknown number of GPUs the samples per GPU."""
    before, after = old.number("global_batch"), new.number("global_batch")
    shares, terms = (per_gpu(old), per_gpu(new)), split(old, new)
    # The samples per GPU tell the ratio if the number of GPUs stays the same.
    same_gpus = shares[0] and shares[1] and old.outcome.gpus == new.outcome.gpus
    factor = quotient(shares[1] or 0, shares[0] or 1) if same_gpus else None
    split_changed = any(old.number(name) != new.number(name) for name in ("micro_batch", "accumulation"))
    if before is not None and after is not None and before != after:
        yield Consequence("global_batch", f"global batch {before:,} -> {after:,} ({ratio(before, after)}){terms}", before, after)
    elif before is None and after is not None:
        yield Consequence("global_batch", f"global batch {after:,}, unknown before", before, after, factor)
    elif before is not None and after is None:
        yield Consequence("global_batch", f"global batch is no longer known, before {before:,}", before, after, factor)
    elif before is None and shares[0] and shares[1] and shares[0] != shares[1]:
        how, replicas = ratio(shares[0], shares[1]), (gpus_per_replica(old), gpus_per_replica(new))
        samples = " -> ".join(f"{share * gpus:,.0f}" for share, gpus in zip(shares, replicas, strict=True) if share)
        unit = "GPU" if replicas == (1, 1) else "data-parallel replica"
        sizes = "" if replicas[0] == replicas[1] else f", on {replicas[0]} -> {replicas[1]} GPUs each"
        text = f"global batch {how} on any number of GPUs: {samples} samples per {unit} and step{sizes}{terms}"
        yield Consequence("global_batch", text, factor=quotient(shares[1], shares[0]), known=False)
    elif before is None and None in shares and gpus_per_replica(old) == gpus_per_replica(new):
        yield from part_of_batch(old, new)
    elif terms:
        stays = f"global batch unchanged at {after:,}" if after is not None else "global batch unchanged on any number of GPUs"
        yield Consequence("global_batch", f"{stays}{terms}", after, after, 1.0, after is not None)
    elif after is not None and split_changed and old.outcome.verdict == new.outcome.verdict:
        yield Consequence("global_batch", f"global batch unchanged at {after:,}", after, after, 1.0)


def part_of_batch(old: Side, new: Side) -> Iterator[Consequence]:
    """The consequence of the accumulation alone, if the micro batch is set elsewhere, or the reverse."""
    was, now = old.number("micro_batch"), new.number("micro_batch")
    if was and now and was != now and old.run.facts.gpus == new.run.facts.gpus and not any(map(states_accumulation, (old, new))):
        text = f"global batch {ratio(was, now)} for the same accumulation: micro batch {was:,} -> {now:,}"
        yield Consequence("global_batch", text, factor=quotient(now, was), known=False)
        return
    before, after, whose = old.number("accumulation"), new.number("accumulation"), ""
    if before is None and after is None:
        before, after, whose = launcher_accumulation(old), launcher_accumulation(new), " of the launcher, unless the Trainer sets its own"
    if before and after and before != after and was == now:
        text = f"global batch {ratio(before, after)} for the same micro batch: accumulation {before:,} -> {after:,}{whose}"
        yield Consequence("global_batch", text, factor=quotient(after, before), known=False)


def states_accumulation(side: Side) -> bool:
    """Whether a side has an accumulation, known or not."""
    batch, command = side.run.batch, side.run.launch.command
    is_written = batch is None or batch.accumulation.written or side.number("accumulation") is not None
    return is_written or launcher_accumulation(side) is not None or (command is not None and ACCUMULATION in command.unknown)


def launcher_accumulation(side: Side) -> int | None:
    """The accumulation that an accelerate config sets for DeepSpeed; accelerate prefers it to that of the script."""
    values = (config.get("deepspeed_config", "gradient_accumulation_steps") for config in side.run.configs)
    return next((value for value in values if type(value) is int and value > 0), None)


def per_gpu(side: Side) -> float | None:
    """The samples of a step, for each GPU."""
    micro, accumulation = side.number("micro_batch"), side.number("accumulation")
    return micro * accumulation / gpus_per_replica(side) if micro and accumulation else None


def gpus_per_replica(side: Side) -> int:
    """The GPUs that process the same samples."""
    return side.run.batch.gpus_per_replica if side.run.batch is not None else 1


def growth(old: Side, new: Side) -> float | None:
    before: float | None = old.number("global_batch")
    after: float | None = new.number("global_batch")
    if before is None and after is None and old.run.facts.gpus == new.run.facts.gpus:
        before, after = per_gpu(old), per_gpu(new)
    return quotient(after, before) if before and after and before > 0 and after > 0 else None


def split(old: Side, new: Side) -> str:
    """`: 4 x 8 x 16 -> 4 x 4 x 16`, without the GPUs if their number is unknown; empty if nothing changed."""
    sides: list[list[int]] = []
    for side in (old, new):
        total, *sizes = (side.number(name) for name in ("global_batch", "micro_batch", "accumulation", "data_parallel"))
        terms = [size for size in sizes if size]
        is_product = terms[0] * terms[1] * terms[2] == total if len(terms) == 3 else total is None and sizes[2] is None
        sides.append(terms if len(terms) > 1 and is_product else [])
    before, after = sides
    if before == after or len(before) != len(after):
        return ""
    names = ("micro batch", "accumulation", "data parallel")[: len(before)]
    both = " -> ".join(" x ".join(f"{term:,}" for term in terms) for terms in (before, after))
    return f": {both} ({' x '.join(names)})"


def unchanged_rates(old: Side, new: Side, changed_keys: set[str]) -> Iterator[Consequence]:
    """The learning rates that do not change although the batch size does."""
    if growth(old, new) in (None, 1):
        return
    # The rates in the files, by key: (value, value with place for display).
    before, after = (
        {
            setting.name: (value, f"{setting.name} {setting.value} ({setting.place})")
            for setting in tuned(side.run)
            if setting.path[-1] in PEAKS and (value := number(setting.value)) is not None
        }
        for side in (old, new)
    )
    stay = {text: value for key, (value, text) in after.items() if before.get(key, (None,))[0] == value and key not in changed_keys}
    if stay:
        value = max(stay.values())
        yield Consequence("learning_rate", f"learning rate unchanged: {', '.join(stay)}", value, value)
    was, now = (side.lines.get("learning rate") for side in (old, new))
    rate = number(now.setting.known) if was is not None and now is not None else None
    if not after and was is not None and now is not None and rate is not None and rate == number(was.setting.known):
        yield Consequence("learning_rate", f"learning rate unchanged: {as_written(now)} ({origin(now)})", rate, rate)
