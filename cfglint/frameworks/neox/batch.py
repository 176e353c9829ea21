"""The batch of a GPT-NeoX run (gpt-neox 2026-05 megatron/neox_arguments/arguments.py:826-960)."""

from __future__ import annotations

from cfglint.batch.equation import completed
from cfglint.findings.setting import Batch, BatchProblem, Layout, Setting, derived
from cfglint.frameworks.neox import KIND, NEWEST
from cfglint.frameworks.neox.config import NeoXConfig
from cfglint.frameworks.neox.fields import describe, raised
from cfglint.frameworks.releases.versions import parse_version
from cfglint.frameworks.rows.refusals import refused_batch
from cfglint.source.annotations import Any, Operand
from cfglint.source.numbers import hollow, is_number

Terms = tuple[Any, Any, Any]

TOTAL = "train_batch_size"
MICRO = "train_micro_batch_size_per_gpu"
ACCUMULATION = "gradient_accumulation_steps"


def resolve(config: NeoXConfig) -> Batch:
    """The batch sizes that the launcher computes, and the exception that it would raise about them."""
    layout, problem = resolve_layout(config)
    written = (config.argument(TOTAL), config.argument(MICRO), config.argument(ACCUMULATION))
    data_parallel = None if problem else data_parallel_size(layout)
    resolved: Terms = written
    if problem is None:
        resolved, problem = infer(config, layout, data_parallel, written)
    names = (TOTAL, MICRO, ACCUMULATION)
    total, micro, accumulation = (term(config, name, before, after) for name, before, after in zip(names, written, resolved, strict=True))
    divisor = derived("data_parallel", data_parallel, "GPUs / pipeline / model parallel size")
    consumed = total.value if type(total.value) is int else None
    replica = layout.pipeline_parallel * layout.tensor_parallel
    return Batch(layout, micro, accumulation, divisor, total, consumed, problem, replica)


def term(config: NeoXConfig, name: str, before: object, after: object) -> Setting:
    """A resolved batch size, with its place if it is written as a number."""
    setting = config.setting(name, value=before)
    if before is not None and setting.written:
        if is_number(after):
            setting.value = after
        return setting
    if before is not None:
        return Setting(setting.path, after, because="the default of GPT-NeoX")
    because = "computed from the other two and the data-parallel size"
    return derived(setting.name, after, because)


def gpus(config: NeoXConfig) -> Operand:
    """The GPU count that the arithmetic uses: the file's own, else the launch's; None when unknown.

    With a hostfile, an `include` that names every GPU determines their count; for `num_gpus` and complete hosts the count
    depends on the hostfile, so it is taken from the launch. Without a hostfile none of them changes the
    arithmetic (arguments.py:892-909).
    """
    imposed = config.argument("global_num_gpus")
    if imposed is not None:
        return imposed
    if config.argument("hostfile") is None:
        return config.facts.gpus
    return sum(slots(config.argument("include")).values()) or config.facts.gpus


def slots(include: object) -> dict[str, int]:
    """The number of GPUs of each host in an `include` such as `node-1:0,1@node-2:0`; empty if it does not name them all."""
    counts: dict[str, int] = {}
    for host in include.split("@") if isinstance(include, str) else ():
        name, _, numbers = host.partition(":")
        if not numbers:
            return {}
        counts[name.strip()] = len(set(numbers.split(",")))
    return counts


def resolve_layout(config: NeoXConfig) -> tuple[Layout, BatchProblem | None]:
    """The GPUs and the axes that divide them; sizes below 1 count as 1."""
    sizes = []
    for name in ("pipe_parallel_size", "model_parallel_size"):
        value = config.argument(name)
        error = raised(lambda value=value: value >= 1)  # type: ignore[misc]
        if error:
            text = f"`{name}` is {describe(value)}, not an integer"
            return Layout(None), BatchProblem("type", config.setting(name), text, error)
        sizes.append(value if value >= 1 else 1)
    pipe, tensor = sizes
    count = gpus(config)
    error = raised(lambda: hollow(count) / 1) if count is not None else None
    if error:
        text = f"`global_num_gpus` is {describe(count)}, not an integer"
        return Layout(None), BatchProblem("type", config.setting("global_num_gpus"), text, error)
    layout = Layout(count, *(int(size) if isinstance(size, (int, float)) and size % 1 == 0 else size for size in (tensor, pipe)))
    if count is None or data_parallel_size(layout) is not None or not (config.facts.complete or has_sizes(config)):
        return layout, None
    name = "model_parallel_size" if tensor != 1 else "pipe_parallel_size"
    text = f"`pipe_parallel_size` ({pipe}) x `model_parallel_size` ({tensor}) does not divide the number of GPUs ({count})"
    exception = (
        f"AssertionError: [ERROR] NeoXArgs.calculate_derived() (global_num_gpus / pp_size) / mp_size "
        f"[({count} / {pipe}) / {tensor}] must be a whole number"
    )
    remedy = f"set `{name}` to a size that divides the number of GPUs"
    return layout, BatchProblem("layout", config.setting(name), text, exception, help=remedy)


def data_parallel_size(layout: Layout) -> float | int | None:
    """The data-parallel size as the framework computes it; None when the GPU count is unknown or does not divide."""
    if layout.gpus is None:
        return None
    try:
        size = layout.gpus / layout.pipeline_parallel / layout.tensor_parallel
    except ArithmeticError:
        return None
    return int(size) if size % 1 == 0 else None


def infer(config: NeoXConfig, layout: Layout, data_parallel: Operand, written: Terms) -> tuple[Terms, BatchProblem | None]:
    """(global, micro, accumulation) as the framework computes them, and the exception that it would raise about them."""
    names = (TOTAL, MICRO, ACCUMULATION)
    name, value = next((pair for pair in zip(names, written, strict=True) if pair[1] is not None and not is_number(pair[1])), ("", None))
    if name:
        exception = refused(written, float(data_parallel or 1))
        text = f"`{name}` is {describe(value)}, not an integer"
        return written, BatchProblem("type", config.setting(name), text, exception or "TypeError")
    if written[0] is None and written[1] is None:
        exception = refused(written, 1.0)
        text = f"`{TOTAL}` or `{MICRO}` is required, but neither is set"
        return written, BatchProblem("missing", config.setting(TOTAL), text, exception)
    total, micro, accumulation = written
    if data_parallel is None:  # an accumulation that does not depend on it is known
        return (total, micro, 1 if accumulation is None and (total is None or micro is None) else accumulation), None
    try:
        sizes = completed(total, micro, accumulation, float(data_parallel))
        resolved: Terms = written if None not in written else (int(sizes[0]), int(sizes[1]), int(sizes[2]))
    except (ArithmeticError, ValueError):
        exception = refused(written, float(data_parallel))
        setting = config.setting(MICRO if not micro and micro is not None else ACCUMULATION)
        text = f"`{setting.name}` is {describe(setting.value)}; it must be positive"
        return written, BatchProblem("not-positive", setting, text, exception)
    problem = check(config, float(data_parallel), written, resolved)
    certain = config.facts.complete or (has_sizes(config) and all(name in config.values for name in names))
    if problem is not None and not certain and not (problem.reason == "not-positive" and problem.setting.value in resolved):
        # Whether no accumulation makes the written batch fit, whatever another file of the run gives.
        known = has_sizes(config) and TOTAL in config.values and MICRO in config.values and type(total) is int and type(micro) is int
        problem = problem if known and micro * data_parallel and total % (micro * data_parallel) else None
    return resolved, problem


def refused(sizes: Terms, data_parallel: float) -> str:
    return refused_batch(KIND, "NeoXArgs", parse_version(NEWEST), sizes, data_parallel)


def check(config: NeoXConfig, data_parallel: float, written: Terms, resolved: Terms) -> BatchProblem | None:
    total, micro, accumulation = resolved
    low = next((name for name, value in zip((TOTAL, MICRO, ACCUMULATION), resolved, strict=True) if not value > 0), None)
    if low is None and total == micro * accumulation * data_parallel:
        return None
    exception = refused(written, data_parallel)
    if low is not None:
        value = resolved[(TOTAL, MICRO, ACCUMULATION).index(low)]
        return BatchProblem("not-positive", culprit(config, low), f"`{low}` is {value}; it must be greater than 0", exception)
    equation = f"micro batch {micro} x accumulation {accumulation} x data parallel {int(data_parallel)}"
    text = f"`{TOTAL}` is {total}, but {equation} = {int(micro * accumulation * data_parallel)}"
    if written[2] is not None and ACCUMULATION not in config.values:
        text += f"; `{ACCUMULATION}` is not set and defaults to 1"
    return BatchProblem("mismatch", culprit(config, TOTAL), text, exception)


def culprit(config: NeoXConfig, name: str) -> Setting:
    """The setting to report: the one in question if it is written, else another of the three that is."""
    for each in (name, TOTAL, MICRO, ACCUMULATION):
        if config.argument(each) is not None and each in config.values:
            return config.setting(each)
    return config.setting(name)


def has_sizes(config: NeoXConfig) -> bool:
    return all(name in config.values for name in ("pipe_parallel_size", "model_parallel_size"))
