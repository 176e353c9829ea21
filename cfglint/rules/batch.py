"""Rules about the batch: one equation for all frameworks, whatever the names of their keys."""

from __future__ import annotations

import math

from cfglint.findings.diagnostic import Fix
from cfglint.findings.remedy import Remedy, remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import AUTO, Batch, BatchProblem, Setting
from cfglint.findings.vocabulary import BatchReason
from cfglint.findings.wording import counted
from cfglint.frameworks.base import Config
from cfglint.frameworks.remedies import replace
from cfglint.source.annotations import Iterator
from cfglint.source.limits import LONGEST_NUMBER


@rule("BAT001")
def batch_mismatch(config: Config) -> Iterator[Finding]:
    yield from _problem(config, "mismatch")
    batch = config.batch
    terms = _written_terms(batch)
    if terms is None or batch.layout.gpus is not None or batch.problem is not None or terms[1].name not in config.batch_keys.values():
        return  # the last is the size of a loader, which the framework does not compare
    total, micro, accumulation = (term.value for term in terms)
    if total % (micro * accumulation):
        yield Finding(
            batch.global_batch,
            f"`{batch.global_batch.name}` is {total}, not a multiple of micro batch {micro} x accumulation {accumulation}",
            note="this fails on every GPU count",
            related=(batch.micro_batch, batch.accumulation),
            exception="AssertionError: Check batch related parameters",
            help=f"set `{batch.global_batch.name}` to a multiple of {micro * accumulation}",
        )


rule("BAT002")(lambda config: _problem(config, "missing"))
rule("BAT003")(lambda config: _problem(config, "type"))
rule("BAT004")(lambda config: _problem(config, "not-positive"))
rule("BAT005")(lambda config: _problem(config, "layout"))


@rule("BAT006")
def gpu_count_mismatch(config: Config) -> Iterator[Finding]:
    imposed, offered = config.get("global_num_gpus"), config.facts.gpus
    if isinstance(imposed, int) and offered is not None and imposed != offered:
        yield Finding(
            config.setting("global_num_gpus"),
            f"`global_num_gpus` is {imposed}, but {config.facts.gpus_source} is {offered}",
            note=f"GPT-NeoX computes the batch for {counted(imposed, 'GPU')}",
            help=remove_key("global_num_gpus"),
        )


@rule("BAT007")
def fixed_gpu_count(config: Config) -> Iterator[Finding]:
    batch = config.batch
    terms = _written_terms(batch)
    if terms is None or batch.layout.gpus is not None or batch.problem is not None or terms[1].name not in config.batch_keys.values():
        return  # the last is the size of a loader, which the framework does not compare
    total, micro, accumulation = (term.value for term in terms)
    data_parallel, rest = divmod(total, micro * accumulation)
    if not rest:
        gpus = data_parallel * batch.gpus_per_replica
        yield Finding(
            batch.global_batch,
            f"these batch sizes only work on {gpus} GPU{'s' * (gpus > 1)} ({total} = {micro} x {accumulation} x {data_parallel})",
            related=(batch.micro_batch, batch.accumulation),
            note="on any other number the framework fails to start",
        )


def _problem(config: Config, reason: BatchReason) -> Iterator[Finding]:
    problem = config.batch.problem
    if problem is None or problem.reason != reason or any(key in config.mismatched_keys for key in config.batch_keys.values()):
        return
    batch = config.batch
    terms = () if reason == "layout" else (batch.global_batch, batch.micro_batch, batch.accumulation)
    fix = _solution(config) if reason == "mismatch" else None
    yield Finding(
        config.absent(*problem.setting.path) if reason == "missing" else problem.setting,
        problem.message,
        related=[term for term in terms if term.written and term.path != problem.setting.path],
        exception=problem.exception,
        fails_at=problem.fails_at,
        fix=fix,
        help=None if fix else problem.help or _remedy(config, problem),
    )


def _remedy(config: Config, problem: BatchProblem) -> Remedy | str | None:
    """The number to write, or those that come near to it."""
    setting, batch = problem.setting, config.batch
    if problem.reason == "type" and isinstance(setting.value, str) and len(setting.value) < LONGEST_NUMBER and setting.value.isdecimal():
        return set_key(setting.name, int(setting.value), ", without quotes")
    if problem.reason == "type" and isinstance(setting.value, float) and setting.value > 0 and setting.value.is_integer():
        return set_key(setting.name, int(setting.value))
    if problem.reason == "not-positive" and setting.path == batch.accumulation.path:
        return set_key(setting.name, 1, " for no accumulation")
    if problem.reason in ("type", "not-positive"):
        return f"set `{setting.name}` to a positive integer"
    if problem.reason == "elasticity" and setting.path != ("elasticity",):
        return remove_key(setting.name)
    if problem.reason == "missing":
        return f"set `{batch.micro_batch.name}`"
    if problem.reason == "mismatch" and setting.node is None and setting.path == batch.accumulation.path:
        return set_key(setting.name, "auto")
    if problem.reason != "mismatch" or not setting.written or setting.path != batch.global_batch.path:
        return None
    factors = [term.value for term in (batch.micro_batch, batch.accumulation) if term.written] + [batch.data_parallel.value]
    if not all(type(factor) is int and factor > 0 for factor in factors):
        return None
    unit = math.prod(factors)
    if batch.micro_batch.written and batch.accumulation.written:
        return set_key(setting.name, unit) | remove_key(setting.name)
    below = setting.value // unit * unit
    above = set_key(setting.name, below + unit)
    return set_key(setting.name, below) | above if below else above


def _written_terms(batch: Batch) -> tuple[Setting, Setting, Setting] | None:
    """Global batch size, micro batch size and accumulation steps, if all three are written as positive integers."""
    terms = (batch.global_batch, batch.micro_batch, batch.accumulation)
    if all(term.written and type(term.value) is int and term.value > 0 for term in terms):
        return terms
    return None


def _solution(config: Config) -> Fix | None:
    """The fix that sets the accumulation steps, if that alone makes the equation hold."""
    batch = config.batch
    terms = _written_terms(batch)
    data_parallel = batch.data_parallel.value
    if terms is None or type(data_parallel) is not int or data_parallel < 1:
        return None
    if any(term.node is not None and term.node.raw == AUTO for term in terms):  # the number is in the trainer's file
        return None
    accumulation, rest = divmod(batch.global_batch.value, batch.micro_batch.value * data_parallel)
    if rest or not accumulation:
        return None
    return replace(batch.accumulation, accumulation, f"set `{batch.accumulation.name}` to {accumulation}", safe=True)
