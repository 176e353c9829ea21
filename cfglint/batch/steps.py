"""How many steps a run takes, exactly as each framework and version counts them.

Hugging Face first, where the count changed with the releases, then GPT-NeoX, DeepSpeed's schedulers, and time.
A version is a tuple of numbers, as `(4, 51, 3)`. "Steps" and "updates" are optimizer steps; a "batch" is what
one process takes from its data loader at a time. The numbers are taken as the framework would take them:
the caller has to exclude values for which the framework raises.
"""

from __future__ import annotations

from math import ceil, floor

from cfglint.source.annotations import Iterable, Iterator
from cfglint.source.record import Record

Version = tuple[int, ...]

NEWEST = (1_000_000,)  # later than any release: without a version, the arithmetic is that of the newest
# Releases of transformers that changed the arithmetic of the Trainer:
ONE_STEP_TAKEN = (4, 44)  # `warmup_steps: 1` is refused before (4.42.4 training_args.py:1783)
REST_CUT = (4, 46)  # the last accumulation of an epoch is cut to `num_examples % accumulation` batches, up to REST_COUNTED
EPOCHS_END = (4, 47)  # an epoch ends with a step of its own; before, accumulation runs on across epochs
ZERO_IS_A_LIMIT = (4, 49)  # `max_steps: 0` means no steps; before, that it is not set
REST_COUNTED = (4, 52)  # a last, shorter accumulation counts as a step of its epoch
RATIO_TAKEN = (5,)  # `warmup_steps` may be a ratio, and `warmup_ratio` takes its place; before, the steps override the ratio
LAST_EVALUATED = (5, 4)  # the last step is evaluated, whatever the interval
LAST_SAVED = (4, 42)
LAST_FLOORED = (4, 51, 3)  # the newest release before REST_COUNTED
FLOOR_RELEASES = ">=4.30,<4.52.0"
CEIL_RELEASES = ">=4.52.0"


# ---- Hugging Face Trainer


def batches_per_rank(
    num_examples: int,
    batch: int,
    data_parallel: int = 1,
    *,
    drop_last: bool = False,
    split_batches: bool = False,
    even_batches: bool = True,
    dispatch_batches: bool = False,
    processes: int | None = None,
    sequence_parallel: int = 1,
    rank: int = 0,
) -> int:
    """Batches of one rank's data loader per epoch.

    `batch` is the per-device batch times the GPUs that one process drives. Ranks agree, except with
    `even_batches` off. A dispatching loader divides by all `processes`, whatever their parallelism. Under Ulysses
    every rank works through the batches of its whole sequence-parallel group.
    accelerate 1.15.0 data_loader.py:170-184, 957-964; transformers 5.23.0 trainer.py:2507-2510.
    """
    base = num_examples // batch if drop_last else -(-num_examples // batch)
    if split_batches:
        return base * sequence_parallel
    shards = data_parallel if not dispatch_batches or processes is None else processes
    quotient, left = divmod(base, shards)
    if drop_last or not left:
        length = quotient
    elif even_batches or dispatch_batches:
        length = quotient + 1
    else:
        length = quotient + (rank < left)
    return length * sequence_parallel


def rebalanced_batches(num_examples: int, batch: int, accumulation: int, processes: int = 1, *, drop_last: bool = False) -> int:
    """Batches per rank and epoch with `train_sampling_strategy: batch_rebalance`, which distributes complete updates.

    The sampler counts all processes, also those that process the same batch.
    transformers 5.23.0 trainer.py:1129-1137, trainer_pt_utils.py:740-756, 794-795.
    """
    update = batch * accumulation * processes
    return accumulation * (num_examples // update if drop_last else -(-num_examples // update))


def updates_per_epoch(batches: int, accumulation: int, version: Version = NEWEST) -> int:
    """Optimizer steps that the Trainer counts for one epoch, at least 1.

    A last, shorter accumulation is counted from 4.52.0, and dropped up to 4.51.3.
    transformers 4.51.3 trainer.py:5303, 4.52.4 trainer.py:5323-5327, 5.23.0 trainer.py:2514-2518.
    """
    rest = batches % accumulation > 0 and version >= REST_COUNTED
    return max(batches // accumulation + rest, 1)


def total_steps(max_steps: int, epochs: float, updates: int, version: Version = NEWEST) -> int:
    """The total that the Trainer logs and passes to the learning-rate scheduler.

    A positive `max_steps` wins over `epochs`; else epochs times updates, in plain floating point, rounded up.
    `max_steps: 0` meant "unset" up to 4.48.3; from 4.49.0 the total is 0 and the run ends after one step.
    transformers 4.42.4 trainer.py:1978-1992, 4.49.0 trainer.py:5213-5223, 5.23.0 trainer.py:2501-2521.
    """
    if max_steps > 0 or (max_steps == 0 and version >= ZERO_IS_A_LIMIT):
        return max_steps
    return ceil(epochs * updates)


class Length(Record):
    """The length of a Hugging Face run: `epochs` is the number in the log, None for "as many as it takes"."""

    updates_per_epoch: int
    total_steps: int
    epochs: int | None


def training_length(
    batches: int | None, accumulation: int, *, epochs: float = 3.0, max_steps: int = -1, version: Version = NEWEST
) -> Length:
    """The length of a run from the batches of a rank; None when the data set has no length.

    Raises ValueError where the Trainer does: `max_steps` is needed when there is no length, and from 4.49.0 also
    when `dataloader_drop_last` leaves no batch at all. transformers 4.42.4 trainer.py:1971-2009, 5.23.0
    trainer.py:2500-2545.
    """
    if batches is None or (batches == 0 and version >= ZERO_IS_A_LIMIT):
        if max_steps <= 0:
            raise ValueError(f"args.max_steps must be set to a positive value if dataloader does not have a length, was {max_steps}")
        return Length(max_steps, max_steps, None)
    updates = updates_per_epoch(batches, accumulation, version)
    shown = -(-max_steps // updates) if max_steps > 0 else ceil(epochs)
    return Length(updates, total_steps(max_steps, epochs, updates, version), shown)


def run_end(
    batches: int, accumulation: int, num_examples: int, length: Length, version: Version = NEWEST, *, begin: int = 0, skips: bool = True
) -> tuple[int, float]:
    """(optimizer steps, epochs of data) when the training loop actually stops.

    A run that is resumed after `begin` steps starts in the epoch that these are in by its own length, behind the batches that they would
    take there, unless it does not skip them. It tests whether it is done after a step only: in an epoch that is left it takes one step.

    The count that is announced and the loop did not always agree: up to 4.45 accumulation ran on across epochs, so
    that a run stopped before its last epoch was over; 4.46 also began to cut an epoch's last accumulation to
    `num_examples % accumulation` batches; from 4.47 each epoch ends with an additional step, which the total of
    4.47 to 4.51 does not include; from 4.52.0 total and loop agree. transformers 4.45.2 trainer.py:2316-2420,
    4.46.3 trainer.py:2416-2437, 4.49.0 trainer.py:2489-2505, 4.52.4 trainer.py:2498-2512.
    """
    across_epochs = version < EPOCHS_END
    seen = batches
    if REST_CUT <= version < REST_COUNTED:
        tail = batches % accumulation
        seen += min(tail, num_examples % accumulation or accumulation) - tail
    first, position = divmod(begin, length.updates_per_epoch)
    skipped = position * accumulation if skips else 0
    taken, carried, epochs = begin, 0, 0.0
    for epoch in range(first, length.epochs or 0):
        left = min(batches - skipped, seen) if skipped else seen
        due, rest = divmod(carried + left, accumulation)
        closes = seen == batches and (batches <= accumulation or not across_epochs) and (not skipped or version >= REST_COUNTED)
        steps = min(due + (closes and rest > 0), max(length.total_steps - taken, 1))
        if steps > 0:
            taken += steps
            epochs = epoch + (skipped + min(steps * accumulation - carried, left)) / batches
        if steps > 0 and taken >= length.total_steps:
            break
        carried = rest if across_epochs else 0
        skipped = 0
    return taken, epochs


def warmup_steps(total: int, steps: float = 0, ratio: float | None = None, version: Version = NEWEST) -> float:
    """Steps of learning-rate warm-up, from `warmup_steps` and `warmup_ratio` as written.

    4.x: steps when positive, else the ratio. 5.x: steps below 1 are a ratio themselves, and up to 5.14 a
    `warmup_ratio` that is given replaces them; 5.15.0 removed it, so that `ratio` is None from there on.
    transformers 4.57.6 training_args.py:2551-2558, 5.14.1 training_args.py:1487-1489, 5.23.0 training_args.py:2154-2161.
    """
    if version < RATIO_TAKEN:
        return steps if steps > 0 else ceil(total * (ratio or 0))
    if ratio is not None:
        steps = ratio
    return int(steps) if steps >= 1 else ceil(total * steps)


def interval(value: float, total: int) -> int:
    """`logging_steps`, `eval_steps`, `save_steps`: below 1 a fraction of the total, rounded up (5.23.0 trainer_callback.py:156-167)."""
    return ceil(total * value) if value < 1 else int(value)


def evaluations(total: int, every: int, version: Version = NEWEST, delay: float = 0) -> int:
    """Evaluations of a run that evaluates every so many steps, none before `eval_delay`.

    From 5.4.0 the last step is evaluated too. transformers 5.3.0 and 5.23.0 trainer_callback.py:575-601.
    """
    regular = max(total // every - max(ceil(delay / every) - 1, 0), 0)
    last = version >= LAST_EVALUATED and total % every != 0 and delay <= total
    return regular + last


def evaluation_steps(total: int, every: int, version: Version = NEWEST, delay: float = 0) -> Iterator[int]:
    """The steps after which the run of `evaluations` evaluates."""
    count = evaluations(total, every, version, delay)
    last = total if total % every and version >= LAST_EVALUATED else total - total % every
    first = max(ceil(delay / every), 1) * every
    yield from (min(first + place * every, last) for place in range(count))


def saves(total: int, every: int, version: Version = NEWEST) -> int:
    """Checkpoints of a run that saves every so many steps; from 4.42.0 the last step is always saved.

    Not positive: only the last. transformers 4.40.1 trainer_callback.py:452-459, 4.42.4 trainer_callback.py:546-559, 5.23.0
    trainer_callback.py:584-604.
    """
    if version < LAST_SAVED:
        return total // every if every > 0 else 0
    return -(-total // every) if every > 0 else 1


def save_steps(total: int, every: int, version: Version = NEWEST) -> Iterator[int]:
    """The steps after which the run of `saves` saves."""
    yield from (min((place + 1) * every, total) if every > 0 else total for place in range(saves(total, every, version)))


def releases_giving(total: int, batches: int, accumulation: int, epochs: float) -> list[str]:
    """The ranges of transformers releases whose arithmetic makes `total` steps of a run that is set by epochs."""
    eras = ((FLOOR_RELEASES, LAST_FLOORED), (CEIL_RELEASES, NEWEST))
    return [releases for releases, version in eras if ceil(epochs * updates_per_epoch(batches, accumulation, version)) == total]


# ---- GPT-NeoX (copy of May 2026)


def neox_train_iters(samples: int, micro_batch: int, data_parallel: int, accumulation: int, epochs: int) -> int:
    """The number of iterations of `train_epochs`.

    An incomplete batch is dropped in each epoch, an incomplete accumulation only once, at the end.
    megatron/training.py:180-212, megatron/data/data_utils.py:31-50.
    """
    return samples // (micro_batch * data_parallel) * epochs // accumulation


def neox_decay_iters(train_iters: int, lr_decay_iters: int | None = None, lr_decay_fraction: float | None = None) -> int:
    """The iterations over which the rate decays; a fraction has no effect beside `lr_decay_iters` (megatron/training.py:1118-1125)."""
    if lr_decay_iters is not None:
        return max(1, lr_decay_iters)
    if lr_decay_fraction is not None:
        return max(1, floor(train_iters * lr_decay_fraction))
    return max(1, train_iters)


def neox_warmup_iters(warmup: float, decay_iters: int) -> float:
    """Iterations of warm-up: `warmup` is a fraction of the decay, not of the run, and is not rounded (megatron/training.py:1126)."""
    return warmup * decay_iters


def neox_save_iterations(train_iters: int, factor: float | None, scale: str = "linear", extra: Iterable[int] = ()) -> set[int]:
    """The iterations after which a checkpoint is written; the last is always among them.

    `linear`: every `factor` iterations, an integer. `log`: at the powers of `factor`, above 1, truncated to
    numbers. Any other scale, also in other letter case, saves on no interval.
    megatron/training.py:1408-1428, 329.
    """
    points = {iteration for iteration in extra if 0 < iteration <= train_iters} | {train_iters}
    if factor and factor >= 1 and scale == "linear":
        points.update(range(int(factor), train_iters + 1, int(factor)))
    elif factor and factor > 1 and scale == "log":
        power = 1.0
        while int(power) <= train_iters:
            points.add(int(power))
            power *= factor
    return points


# ---- DeepSpeed's own schedulers


def deepspeed_warmup_steps(warmup_num_steps: int) -> int:
    """The warm-up of WarmupLR, WarmupDecayLR and WarmupCosineLR: at least 2 steps (deepspeed 0.19.8 runtime/lr_schedules.py:744, 878)."""
    return max(2, warmup_num_steps)
