"""The batch of a GPT-NeoX run.

Source: gpt-neox 2026-05 megatron/neox_arguments/arguments.py:826-960.
"""

from __future__ import annotations

from cfglint.findings.setting import Batch, BatchProblem, Layout, Setting, derived
from cfglint.frameworks.neox.python_errors import describe, is_integer, raised
from cfglint.source.annotations import Any, Operand
from cfglint.source.numbers import hollow, is_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.frameworks.neox.config import NeoXConfig

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
    consumed = total.value if is_integer(total.value) else None
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
    layout = Layout(count, rounded(tensor), rounded(pipe))
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
    error = next((value for value in written if value is not None and not is_number(value)), None)
    if error is not None:
        return written, invalid_type(config, data_parallel, written)
    total, micro, _ = written
    if total is None and micro is None:
        exception = "AssertionError: Either train_batch_size or train_micro_batch_size_per_gpu needs to be provided"
        text = f"`{TOTAL}` or `{MICRO}` is required, but neither is set"
        return written, BatchProblem("missing", config.setting(TOTAL), text, exception)
    if data_parallel is None:
        return partly(written), None
    try:
        resolved = derive(float(data_parallel), *written)
    except (ArithmeticError, ValueError) as failed:
        kept = f"{type(failed).__name__}: {failed}"
        setting = config.setting(MICRO if not micro and micro is not None else ACCUMULATION)
        return written, BatchProblem("not-positive", setting, f"`{setting.name}` is {describe(setting.value)}; it must be positive", kept)
    problem = check(config, float(data_parallel), written, resolved)
    if problem is not None and not certain(config) and not (problem.reason == "not-positive" and problem.setting.value in resolved):
        problem = problem if never_fits(config, data_parallel, written) else None
    return resolved, problem


def derive(data_parallel: float, total: Operand, micro: Operand, accumulation: Operand) -> Terms:
    """Fill in missing values by floor division, as calculate_batch_parameters does (arguments.py:827-863)."""
    if total is not None and micro is not None and accumulation is not None:
        return total, micro, accumulation
    if total is not None and micro is not None:
        accumulation = total // micro // data_parallel
    elif total is not None:
        micro = total // data_parallel
        if accumulation is None:
            accumulation = 1
        else:
            micro //= accumulation
    elif accumulation is not None:
        total = micro * accumulation * data_parallel
    else:
        total, accumulation = micro * data_parallel, 1
    return int(total), int(micro), int(accumulation)


def partly(written: Terms) -> Terms:
    """The values that are known without a data-parallel size: the written ones, and an accumulation that does not depend on it."""
    total, micro, accumulation = written
    if accumulation is None and (total is None or micro is None):
        accumulation = 1
    return total, micro, accumulation


def check(config: NeoXConfig, data_parallel: float, written: Terms, resolved: Terms) -> BatchProblem | None:
    """Apply the four assertions on a derived batch (arguments.py:866-883)."""
    labels = (("Train batch size", TOTAL), ("Micro batch size per gpu", MICRO), ("Gradient accumulation steps", ACCUMULATION))
    for (label, name), value in zip(labels, resolved, strict=True):
        if not value > 0:
            text = f"`{name}` is {value}; it must be greater than 0"
            return BatchProblem("not-positive", culprit(config, name), text, f"AssertionError: {label}: {value} has to be greater than 0")
    total, micro, accumulation = resolved
    if total == micro * accumulation * data_parallel:
        return None
    equation = f"micro batch {micro} x accumulation {accumulation} x data parallel {int(data_parallel)}"
    text = f"`{TOTAL}` is {total}, but {equation} = {int(micro * accumulation * data_parallel)}"
    if written[2] is not None and ACCUMULATION not in config.values:
        text += f"; `{ACCUMULATION}` is not set and defaults to 1"
    exception = (
        "AssertionError: Check batch related parameters. train_batch_size is not equal to "
        f"micro_batch_per_gpu * gradient_acc_step * world_size \n{total} != {micro} * {accumulation} * {data_parallel}"
    )
    return BatchProblem("mismatch", culprit(config, TOTAL), text, exception)


def culprit(config: NeoXConfig, name: str) -> Setting:
    """The setting to report: the one in question if it is written, else another of the three that is."""
    for each in (name, TOTAL, MICRO, ACCUMULATION):
        if config.argument(each) is not None and each in config.values:
            return config.setting(each)
    return config.setting(name)


def invalid_type(config: NeoXConfig, data_parallel: Operand, written: Terms) -> BatchProblem:
    """The problem of a batch size that is not a number, with the exception that the arithmetic raises."""
    terms = [hollow(value) for value in written]
    names = (TOTAL, MICRO, ACCUMULATION)
    name, value = next(pair for pair in zip(names, written, strict=True) if pair[1] is not None and not is_number(pair[1]))

    text = f"`{name}` is {describe(value)}, not an integer"
    exception = raised(lambda: all(each > 0 for each in derive(float(data_parallel or 1), *terms)))
    return BatchProblem("type", config.setting(name), text, exception or "TypeError")


def certain(config: NeoXConfig) -> bool:
    """Whether unwritten sizes are certainly absent; another file of the run may still set them."""
    if config.facts.complete:
        return True
    return has_sizes(config) and all(name in config.values for name in (TOTAL, MICRO, ACCUMULATION))


def has_sizes(config: NeoXConfig) -> bool:
    """Whether both sizes that divide the GPUs are written."""
    return all(name in config.values for name in ("pipe_parallel_size", "model_parallel_size"))


def never_fits(config: NeoXConfig, data_parallel: object, written: Terms) -> bool:
    """Whether no accumulation makes the written batch fit, whatever another file of the run gives."""
    total, micro, _ = written
    known = has_sizes(config) and TOTAL in config.values and MICRO in config.values
    return bool(known and is_integer(total) and is_integer(micro) and micro * data_parallel and total % (micro * data_parallel))


def rounded(value: object) -> Operand:
    """A size as an int, if it has no fractional part."""
    return int(value) if isinstance(value, (int, float)) and value % 1 == 0 else value
