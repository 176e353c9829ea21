"""DeepSpeed's batch arithmetic (0.19.8, runtime/config.py:455-475 and 593-655), operators and order included.

    train_batch_size = train_micro_batch_size_per_gpu * gradient_accumulation_steps * data parallel size

DeepSpeed does not check the types first, so the arithmetic accepts strings and fractions as far as Python does.
"""

from __future__ import annotations

from cfglint.batch.equation import completed
from cfglint.evaluate import Unknown
from cfglint.findings.setting import Batch, BatchProblem, Layout, Setting, derived
from cfglint.findings.vocabulary import BatchReason
from cfglint.findings.wording import described, spelled
from cfglint.frameworks.deepspeed.checks import CONSTRUCTOR
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.frameworks.refusal import Refusal
from cfglint.frameworks.rows.refusals import refused_batch
from cfglint.source.annotations import ConfigTable, ConfigValue, Operand, Sequence
from cfglint.source.numbers import hollow, is_positive
from cfglint.source.record import Record

TRAIN = "train_batch_size"
MICRO = "train_micro_batch_size_per_gpu"
ACCUMULATION = "gradient_accumulation_steps"
KEYS = (TRAIN, MICRO, ACCUMULATION)
MESH_SINCE = (0, 15, 0)
LOADED_SINCE = (0, 18, 6)  # before, `initialize` looks for both keys in the path of a file
STRICT_WORLD_SINCE = (0, 19, 3)


class Triple(Record):
    """The three values as DeepSpeed holds them, and those that it derives."""

    values: ConfigTable
    derived: set[str] = set()


def resolve(config: DeepSpeedConfig) -> Batch:
    divisor, because, problem = data_parallel(config)
    # a trainer may resolve an "auto"
    sizes = {key: config.values.get(key) for key in KEYS}
    triple = Triple({key: None if value == "auto" and config.open else value for key, value in sizes.items()})
    if problem is None and config.readable:
        problem = infer_missing(config, triple, divisor)
    settings = {}
    for key in KEYS:
        value = integral(triple.values[key])
        if key in triple.derived:
            others = [other for other in KEYS if other != key and other not in triple.derived] or ["elasticity"]
            settings[key] = derived(key, value, f"from {' and '.join(others)} and the data parallel size")
            settings[key].document = config.documents[0]
        else:
            settings[key] = config.setting(key)
            unknown = [size for size in (triple.values[key], *sizes.values()) if isinstance(size, Unknown)]
            settings[key].value = unknown[0] if unknown and value is None else value  # one that is not set follows from the others
    tensor = config.section("tensor_parallel")["autotp_size"] if config.looks_up("tensor_parallel") else 1
    tensor = tensor if isinstance(tensor, int) and tensor > 1 else 1  # which DeepSpeed's arithmetic does not divide by
    size = config.values.get("sequence_parallel_size", 1)
    size = size if isinstance(size, int) and size > 1 else 1
    layout = Layout(config.world_size, tensor_parallel=tensor, sequence_parallel=size if has_sequence_key(config) else 1)
    ranks = ranks_of_replica(config) or 1
    replica = (size if has_mesh(config) or has_sequence_key(config) else 1) * ranks
    micro, samples = taken_by_program(config, settings, divisor)
    parallel = derived("data_parallel", integral(divisor), because)
    samples = samples or consumed(layout, settings, divisor)
    if config.megatron is not None:
        layout = config.megatron.batch.layout
    else:
        layout.pipeline_parallel = ranks
    numbers = config.loop.numbers if config.loop is not None else None
    turns = numbers.values.get("turns", 1) if numbers is not None else 1  # the calls of `step()`, which DeepSpeed counts
    samples = samples * turns if samples is not None and isinstance(turns, int) else None
    return Batch(layout, micro, settings[ACCUMULATION], parallel, settings[TRAIN], samples, problem, replica)


def integral(value: object) -> ConfigValue:
    """The number, with an integral float as an integer; None for a value that is not a number."""
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    return value if isinstance(value, (int, float)) else None


def has_mesh(config: DeepSpeedConfig) -> bool:
    return config.version >= MESH_SINCE and reads_parallel_sizes(config) and "data_parallel_size" in config.values


def has_sequence_key(config: DeepSpeedConfig) -> bool:
    return config.looks_up("sequence_parallel_size") and reads_parallel_sizes(config)


def reads_parallel_sizes(config: DeepSpeedConfig) -> bool:
    """Whether `sequence_parallel_size` is there and looked for in a mapping: of a trainer or program, or a file that is loaded first."""
    is_passed = config.trainer is not None or config.loop is not None or config.documents[0].is_call
    return "sequence_parallel_size" in config.values and (is_passed or config.version >= LOADED_SINCE)


def consumed(layout: Layout, settings: dict[str, Setting], divisor: object) -> int | None:
    """Samples per optimizer step: the ranks of an AutoTP group process the same batch, which the arithmetic counts for each."""
    micro, accumulation, total = (settings[key].value for key in (MICRO, ACCUMULATION, TRAIN))
    if not isinstance(total, int) or layout.tensor_parallel == 1:
        return total if isinstance(total, int) else None
    if not isinstance(micro, int) or not isinstance(accumulation, int) or not isinstance(divisor, int):
        return None
    return micro * accumulation * (divisor // layout.tensor_parallel)


def taken_by_program(config: DeepSpeedConfig, settings: dict[str, Setting], divisor: object) -> tuple[Setting, int | None]:
    """(micro batch, samples per optimizer step) with a data loader of the program's own, which decides; None where it does not."""
    loop, micro, accumulation = config.loop, settings[MICRO], settings[ACCUMULATION].value
    if loop is None or loop.loader is None:
        return micro, None
    from cfglint.frameworks.own_loops import setting

    written, size = setting(loop.loader, "batch_size", config.facts.launch), loop.loader.values.get("batch_size")
    micro = written if written is not None and written.value != micro.value else micro
    if loop.accumulates is not False:
        return micro, None
    is_known = type(size) is int and isinstance(accumulation, int) and isinstance(divisor, int)
    return micro, size * accumulation * divisor if is_known else None


def numbers(config: DeepSpeedConfig) -> dict[str, int | None]:
    """The steps and the length that Megatron-LM's arguments give; no file of DeepSpeed's has them."""
    return config.megatron.numbers() if config.megatron is not None else {}


def ranks_of_replica(config: DeepSpeedConfig) -> int | None:
    """The processes of each replica of a pipeline, or of a model that Megatron-LM splits, 1 without; None if they are not known."""
    if config.megatron is not None:
        from cfglint.frameworks.megatron.batch import SIZES

        return config.megatron.batch.gpus_per_replica if all(config.megatron.integer(name, 1) for name in SIZES) else None
    if config.loop is None and config.facts.launch.lacks_engine:  # which may be that of a pipeline
        return None
    return 1 if config.loop is None else config.loop.stages


def data_parallel(config: DeepSpeedConfig) -> tuple[ConfigValue, str, BatchProblem | None]:
    """(divisor of DeepSpeed's arithmetic, how it is computed, the error before it has one); None where the GPU count is unknown.

    Source: deepspeed 0.19.8 runtime/pipe/topology.py (PipelineParallelGrid: the world size is a multiple of the stages).
    """
    ranks, world = ranks_of_replica(config), config.world_size
    size: Operand = config.values.get("sequence_parallel_size")
    if ranks != 1:
        because = (
            "data_parallel_size" if has_mesh(config) else "GPUs / GPUs of a replica" if config.megatron else "GPUs / stages of the pipeline"
        )
        return (world // ranks if ranks and world else None), because, None
    if has_mesh(config):
        return of_mesh(config, config.values["data_parallel_size"], size)
    if not has_sequence_key(config):
        return world, "GPUs", None
    because, problem, divisor = "GPUs / sequence_parallel_size", None, None
    if size == "auto" and config.open:
        return None, because, None
    try:
        divisor = (8 if world is None else world) / size
    except (TypeError, ZeroDivisionError, OverflowError) as raised:
        if config.version < STRICT_WORLD_SINCE:
            return 1, because, None
        reason: BatchReason = "not-positive" if isinstance(raised, ZeroDivisionError) else "type"
        message = f"`sequence_parallel_size` is {spelled(size)}; it must be a positive number"
        problem = BatchProblem(reason, config.setting("sequence_parallel_size"), message, f"{type(raised).__name__}: {raised}")
    return (divisor if world is not None else None), because, problem


def of_mesh(config: DeepSpeedConfig, size: Operand, ranks: Operand) -> tuple[ConfigValue, str, BatchProblem | None]:
    """The data-parallel size of the device mesh, which must use all GPUs."""
    world, because = config.world_size, "data_parallel_size"
    for key, value in (("data_parallel_size", size), ("sequence_parallel_size", ranks)):
        if not isinstance(value, int):
            text = f"TypeError: {key} is {type(value).__name__}, not an integer"
            return None, because, BatchProblem("type", config.setting(key), f"`{key}` is {described(value)}, not an integer", text)
    total = size * ranks
    if world is None or total == world or total <= 0:
        return (size if world is not None else None), because, None
    text = f"RuntimeError: Mesh should not be bigger than default world size {world}, but found {total}"
    compared = f"{total}, {'more' if total > world else 'less'} than {world} GPUs"
    message = f"`data_parallel_size` {size} x `sequence_parallel_size` {ranks} = {compared}"
    problem = BatchProblem("layout", config.setting("data_parallel_size"), message, text)
    if total < world:
        problem.exception = "IndexError: list index out of range"
    return (size if total < world else None), because, problem


def infer_missing(config: DeepSpeedConfig, triple: Triple, divisor: object) -> BatchProblem | None:
    """Infer the missing values and check them; without a GPU count, only what holds for every count."""
    written = [key for key in KEYS if triple.values[key] is not None]
    if config.looks_up("elasticity") and bool(config.get("elasticity", "enabled")):
        return elastic(config, triple, divisor)
    if config.open and any(config.values.get(key) == "auto" for key in KEYS):
        return certain_problem(config, triple)
    if TRAIN not in written and MICRO not in written:
        if config.open:
            return None
        setting, message = config.setting(written[0] if written else MICRO), f"neither `{TRAIN}` nor `{MICRO}` is set"
        return BatchProblem("missing", setting, message, refused(config, (None, None, None), 1))
    if divisor is None:
        return certain_problem(config, triple)
    sizes = [triple.values[key] for key in KEYS]
    triple.derived = {*KEYS}.difference(written)
    raised: Exception | None = None
    try:
        total, micro, steps = map(hollow, sizes)
        resolved = completed(total, micro, steps, divisor)
        triple.values = dict(zip(KEYS, resolved, strict=True))
        below = next((key for key in KEYS if not triple.values[key] > 0), "")
        if not below and resolved[0] == resolved[1] * resolved[2] * divisor:
            return None
    except (TypeError, ZeroDivisionError, OverflowError) as error:
        raised = error
    exception = refused(config, sizes, divisor)
    if raised is not None:
        triple.values = dict(zip(KEYS, sizes, strict=True))
        if sizes[2] is None and None in sizes[:2]:
            triple.values[ACCUMULATION] = 1
        return operand_problem(config, triple, written, exception)
    is_rounded = below in triple.derived and triple.values[below] == 0
    reason: BatchReason = "not-positive" if below and not is_rounded else "mismatch"
    return BatchProblem(reason, blamed(config, triple, written, below or TRAIN, reason), explain(triple, divisor, below, reason), exception)


def refused(config: DeepSpeedConfig, sizes: Sequence[object], divisor: object) -> str:
    return refused_batch(config.kind, CONSTRUCTOR, config.version, sizes, divisor)


def elastic(config: DeepSpeedConfig, triple: Triple, divisor: object) -> BatchProblem | None:
    """Set the three values as elastic training does, regardless of written values; unknown without a GPU count."""
    from cfglint.frameworks.deepspeed import elasticity

    section = config.values["elasticity"]
    triple.values = dict.fromkeys(KEYS)
    items = [item for value in section.values() for item in (value if isinstance(value, list) else [value])]
    is_known = all(item is None or isinstance(item, (bool, int, float, str, list, dict)) for item in items)
    if not is_known or (config.open and "auto" in items):
        return None
    try:
        if isinstance(divisor, (int, float)):
            triple.values = dict(zip(KEYS, elasticity.plan(section, divisor), strict=True))
        else:
            elasticity.Elasticity(section)
    except elasticity.TooLarge:
        return None
    except Refusal as refusal:
        return BatchProblem("elasticity", config.setting(*refusal.paths[0]), refusal.message, refusal.exception)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError) as raised:
        return BatchProblem("elasticity", config.setting("elasticity"), f"elastic training: {raised}", f"{type(raised).__name__}: {raised}")
    written = [key for key in KEYS if key in config.values]
    if written and not section.get("ignore_non_elastic_batch_info", False):
        text = "ElasticityConfigError: One or more batch related parameters were found in your ds_config"
        message = f"`{written[0]}` is not accepted with `elasticity`, which chooses the batch"
        return BatchProblem("elasticity", config.setting(written[0]), message, text)
    triple.derived = set(KEYS)
    return None


def blamed(config: DeepSpeedConfig, triple: Triple, written: list[str], key: str, reason: BatchReason) -> Setting:
    """The written key to point at: the invalid one, or the first from which it is derived.

    The values may be unequal only because the file has no `gradient_accumulation_steps`, which accelerate then sets to 1, whatever the
    trainer accumulates: accelerate 1.15.0 utils/dataclasses.py (DeepSpeedPlugin.__post_init__).
    """
    if reason == "mismatch" and config.trainer is not None and config.documents[0].find((ACCUMULATION,))[1] is None:
        total, micro, steps = (triple.values[each] for each in KEYS)
        accumulated, world = config.trainer.batch.accumulation.value, config.world_size
        are_integers = all(type(number) is int for number in (total, micro, accumulated, world))
        if steps == 1 and are_integers and total == micro * accumulated * world:
            return config.setting(ACCUMULATION)
    if key in written and (reason == "mismatch" or not is_positive(triple.values[key])):
        return config.setting(key)
    invalid = [each for each in written if not is_positive(triple.values[each])]
    return config.setting((invalid or written)[0])


def explain(triple: Triple, divisor: object, below: str, reason: BatchReason) -> str:
    values = triple.values
    if reason == "not-positive":
        key = next((key for key in KEYS if key not in triple.derived and not is_positive(values[key])), below)
        return f"`{key}` is {plain(values[key])}; it must be positive"
    parts = {MICRO: f"micro batch {plain(values[MICRO])}", ACCUMULATION: f"accumulation {plain(values[ACCUMULATION])}"}
    known = [part for key, part in parts.items() if key not in triple.derived]
    factors = " x ".join([*known, f"data parallel {plain(divisor)}"]) if known else f"the data-parallel size {plain(divisor)}"
    if not triple.derived:
        return f"`{TRAIN}` is {plain(values[TRAIN])}, but {factors} = {plain(values[MICRO] * values[ACCUMULATION] * divisor)}"
    return f"`{TRAIN}` is {plain(values[TRAIN])}, not a multiple of {factors}"


def plain(value: object) -> str:
    """A number without a superfluous fraction: 4, not 4.0."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def operand_problem(config: DeepSpeedConfig, triple: Triple, written: list[str], exception: str) -> BatchProblem:
    """The problem when an operator raises for the type of its operands."""
    values = triple.values
    if exception.startswith("ZeroDivisionError"):
        key = next((key for key in written if values[key] == 0), written[0])
        return BatchProblem("not-positive", config.setting(key), f"`{key}` is 0; it must be positive", exception)
    key = next((key for key in written if not isinstance(values[key], (int, float))), written[0])
    return BatchProblem("type", config.setting(key), f"`{key}` is {described(values[key])}, not a number", exception)


def certain_problem(config: DeepSpeedConfig, triple: Triple) -> BatchProblem | None:
    """The problem that every GPU count has: an invalid type, a value that is not positive, a remainder."""
    written = [key for key in KEYS if triple.values[key] is not None]
    for key in written:
        value = triple.values[key]
        if not is_positive(value):
            exception = refused(config, [value if each == key else 1 for each in KEYS], 1)
            if not isinstance(value, (int, float)):
                return operand_problem(config, triple, [key], exception)
            return BatchProblem("not-positive", config.setting(key), f"`{key}` is {value}; it must be positive", exception)
    total, micro, steps = (triple.values[key] for key in KEYS)
    unit = (1 if micro is None else micro) * (1 if steps is None else steps)
    if TRAIN in written and isinstance(total, int) and isinstance(unit, int) and total % unit and not has_sequence_key(config):
        message = f"`{TRAIN}` is {total}, not a multiple of {unit} on any GPU count"
        exception = refused(config, (total, unit, 1), 1)
        return BatchProblem("mismatch", config.setting(TRAIN), message, exception[: exception.index(" world_size") + len(" world_size")])
    return None
