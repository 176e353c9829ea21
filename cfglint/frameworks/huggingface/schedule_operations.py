"""The arithmetic of the learning-rate schedules, executed here for the first steps, so that an unsuitable argument fails in the same way.

A schedule is built before the first step, with the multiplier of step 0, and evaluated again after that step. The functions are those
of transformers 5.23.0 optimization.py, whose line each one names, and of 4.48.3 where warmup_stable_decay differs.
"""

from __future__ import annotations

import math

from cfglint.findings.diagnostic import STAGES
from cfglint.findings.vocabulary import Stage
from cfglint.source.annotations import Any, Callable, ConfigValue, Iterable, Mapping, Operand
from cfglint.source.record import Record

Multiplier = Callable[[int], Any]

Build = Callable[["ScheduleRun", Mapping[str, Any]], Multiplier]

FIRST_STEP = -1  # of LambdaLR: an optimizer that has not been trained has no other
NOT_TRAINED = "param 'initial_lr' is not specified in param_groups[0] when resuming scheduler with last_epoch >= 0."
ASSUMED_WARMUPS = (0, 100)  # steps, where they are unknown
STABLE_STEPS_OPTIONAL = (4, 49)  # warmup_stable_decay got warmup_type and decay_type here too


class ScheduleRun(Record):
    """What the Trainer passes to a schedule: its learning rate, the steps of the warm-up and of the run; and the release."""

    rate: float
    warmup: int
    total: int
    version: tuple[int, ...]

    def risen(self, step: int) -> float:
        return float(step) / float(max(1, self.warmup))

    def progress(self, step: int) -> float:
        return float(step - self.warmup) / float(max(1, self.total - self.warmup))


def cosine(run: ScheduleRun, given: Mapping[str, Operand]) -> Multiplier:
    """The schedule of line 134, and with a minimum rate that of line 326, which `least` is."""
    waves = given.get("num_cycles", 0.5)
    least: Operand = given.get("min_lr_rate")
    if given.get("min_lr") is not None:
        least = given["min_lr"] / run.rate

    def multiplier(step: int) -> ConfigValue:
        factor = 0.5 * (1.0 + math.cos(math.pi * float(waves) * 2.0 * run.progress(step)))
        return max(0, factor if least is None else factor * (1 - least) + least)

    return multiplier


def restarts(run: ScheduleRun, given: Mapping[str, Operand]) -> Multiplier:
    """The schedule of line 177."""
    cycles = given.get("num_cycles", 1)

    def multiplier(step: int) -> ConfigValue:
        progress = run.progress(step)
        return 0.0 if progress >= 1.0 else max(0.0, 0.5 * (1.0 + math.cos(math.pi * ((float(cycles) * progress) % 1.0))))

    return multiplier


def polynomial(run: ScheduleRun, given: Mapping[str, Operand]) -> Multiplier:
    """The schedule of line 221."""
    end, power = given.get("lr_end", 1e-7), given.get("power", 1.0)

    def multiplier(step: int) -> Operand:
        if step > run.total:
            return end / run.rate
        left = 1 - (step - run.warmup) / (run.total - run.warmup)
        return ((run.rate - end) * left**power + end) / run.rate

    return multiplier


def inverse_root(run: ScheduleRun, given: Mapping[str, Operand]) -> Multiplier:
    """The schedule of line 288."""
    scale: Operand = given.get("timescale")
    if scale is None:
        scale = run.warmup or 10_000
    return lambda step: 1.0 / math.sqrt((step + (scale - run.warmup)) / scale)


def cosine_from_rate(run: ScheduleRun, given: Mapping[str, Operand]) -> Multiplier:
    """The schedule of line 389."""
    waves = given.get("num_cycles", 0.5)
    least: Operand = given.get("min_lr_rate")
    first: Operand = given.get("warmup_lr_rate")
    if given.get("min_lr") is not None:
        least = given["min_lr"] / run.rate

    def multiplier(step: int) -> Operand:
        if step < run.warmup and first is None:
            return (step + 1.0) / max(1.0, run.warmup)
        if step < run.warmup:
            return float(first) + (1.0 - float(first)) * step / max(1, run.warmup - 1)
        progress = (step - run.warmup + 1.0) / max(1.0, run.total - run.warmup)
        factor = 0.5 * (1.0 + math.cos(math.pi * waves * 2.0 * progress))
        return max(0, factor * (1 - least) + least)

    return multiplier


def stable_decay(run: ScheduleRun, given: Mapping[str, Operand]) -> Multiplier:
    """The schedule of line 470; before 4.49 num_stable_steps is required and the warm-up has no minimum."""
    decay, least = given["num_decay_steps"], given.get("min_lr_ratio", 0)
    stable: Operand = given.get("num_stable_steps")
    modern = run.version >= STABLE_STEPS_OPTIONAL
    if stable is None and modern:
        stable = run.total - run.warmup - decay

    def shaped(shape: ConfigValue, left: float, waves: Operand = 0.5) -> Operand:
        if shape == "cosine":
            factor = 0.5 * (1.0 + math.cos(math.pi * float(waves) * 2.0 * left))
        else:
            factor = 1.0 - left if shape == "linear" else 1.0 - math.sqrt(left)
        return max(0.0, factor * (1.0 - least) + least)

    def multiplier(step: int) -> Operand:
        if step < run.warmup:
            return shaped(given.get("warmup_type", "linear"), 1.0 - run.risen(step)) if modern else run.risen(step)
        if step < run.warmup + stable:
            return 1.0
        if step < run.warmup + stable + decay:
            part = float(step - run.warmup - stable) / float(max(1, decay))
            return shaped(given.get("decay_type", "cosine"), part, given.get("num_cycles", 0.5))
        return least

    return multiplier


BUILDS: dict[str, Build] = {  # what becomes of a step after the warm-up, or of each
    "cosine": cosine,
    "cosine_with_restarts": restarts,
    "polynomial": polynomial,
    "inverse_sqrt": inverse_root,
    "cosine_with_min_lr": cosine,
    "cosine_warmup_with_min_lr": cosine_from_rate,
    "warmup_stable_decay": stable_decay,
}
OWN_WARMUP = ("cosine_warmup_with_min_lr", "warmup_stable_decay")


def schedule(kind: str, given: Mapping[str, Operand], run: ScheduleRun) -> Multiplier:
    built = BUILDS[kind](run, given)
    return built if kind in OWN_WARMUP else lambda step: run.risen(step) if step < run.warmup else built(step)


def failure(kind: str, given: Mapping[str, ConfigValue], run: ScheduleRun) -> tuple[Stage, Exception] | None:
    stage: Stage = "init"
    try:
        multiplier = schedule(kind, given, run)
        if given.get("last_epoch", FIRST_STEP) != FIRST_STEP:
            raise KeyError(NOT_TRAINED)
        _ = run.rate * multiplier(0)
        stage = "first-step"
        _ = run.rate * multiplier(1)
    except Exception as error:
        return stage, error
    return None


def certain_failure(kind: str, given: Mapping[str, ConfigValue], runs: Iterable[ScheduleRun]) -> tuple[Stage, Exception] | None:
    """The failure that each of several possible runs has in common, None if one of them has none."""
    found = [failure(kind, given, run) for run in runs]
    if not found or found[0] is None or any(each is None or type(each[1]) is not type(found[0][1]) for each in found):
        return None
    return max((each for each in found if each is not None), key=lambda each: STAGES.index(each[0]))


def possible_runs(rate: float, warmup: int | None, total: int | None, version: tuple[int, ...]) -> list[ScheduleRun]:
    """The run, or several unlike ones where the warm-up or the length is unknown."""
    warmups = ASSUMED_WARMUPS if warmup is None else (warmup,)
    lengths = {each: (total,) if total is not None else (each + 2, each + 1000) for each in warmups}
    return [ScheduleRun(rate, each, length, version) for each in warmups for length in lengths[each]]
