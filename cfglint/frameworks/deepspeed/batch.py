"""DeepSpeed's batch arithmetic (0.19.8, runtime/config.py:455-475 and 593-655), operators and order included.

    train_batch_size = train_micro_batch_size_per_gpu * gradient_accumulation_steps * data parallel size

DeepSpeed does not check the types first, so the arithmetic accepts strings and fractions as far as Python does.
"""

from __future__ import annotations

from cfglint.batch.equation import completed
from cfglint.findings.setting import Batch, BatchProblem, Layout, Setting, derived
from cfglint.findings.wording import described, spelled
from cfglint.frameworks.deepspeed.checks import CONSTRUCTOR
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.frameworks.refusal import Refusal
from cfglint.source.annotations import ConfigTable, ConfigValue, Operand, Sequence
from cfglint.source.numbers import hollow, is_positive
from cfglint.source.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.vocabulary import BatchReason

TRAIN = "train_batch_size"
MICRO = "train_micro_batch_size_per_gpu"
ACCUMULATION = "gradient_accumulation_steps"
KEYS = (TRAIN, MICRO, ACCUMULATION)
MESH_SINCE = (0, 15, 0)
STRICT_WORLD_SINCE = (0, 19, 3)


class Triple(Record):
    """The three values as DeepSpeed holds them, and the key that an error is about."""

    values: ConfigTable
    derived: set[str] = set()
    at: str = ""
    reason: BatchReason = "mismatch"


def resolve(config: DeepSpeedConfig) -> Batch:
    divisor, problem = data_parallel(config)
    triple = Triple({key: number(config, key) for key in KEYS})
    if problem is None and config.readable:
        problem = infer_missing(config, triple, divisor)
    layout = Layout(config.world_size, tensor_parallel=tensor_parallel(config), sequence_parallel=sequence_parallel(config))
    settings = {key: setting(config, triple, key) for key in KEYS}
    parallel = derived("data_parallel", integral(divisor), why_parallel(config))
    samples = loaded(config, settings, divisor) or consumed(layout, settings, divisor)
    layout.pipeline_parallel = stages(config) or 1
    size = config.values.get("sequence_parallel_size", 1)
    replica = (
        size if isinstance(size, int) and size > 1 and (has_mesh(config) or has_sequence_key(config)) else 1
    ) * layout.pipeline_parallel
    micro = loader_size(config, settings[MICRO])
    return Batch(layout, micro, settings[ACCUMULATION], parallel, settings[TRAIN], samples, problem, replica)


def number(config: DeepSpeedConfig, key: str) -> Operand:
    """The value of a batch key; None (unknown) if a trainer may still resolve its "auto"."""
    value = config.values.get(key)
    return None if value == "auto" and config.open else value


def setting(config: DeepSpeedConfig, triple: Triple, key: str) -> Setting:
    value = integral(triple.values[key])
    if key not in triple.derived:
        found = config.setting(key)
        found.value = value
        return found
    others = [other for other in KEYS if other != key and other not in triple.derived] or ["elasticity"]
    found = derived(key, value, f"from {' and '.join(others)} and the data parallel size")
    found.document = config.documents[0]
    return found


def integral(value: object) -> ConfigValue:
    """The number, with an integral float as an integer; None for a value that is not a number."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, (int, float)) else None


def why_parallel(config: DeepSpeedConfig) -> str:
    if has_mesh(config):
        return "data_parallel_size"
    if stages(config) != 1:
        return "GPUs / stages of the pipeline"
    return "GPUs / sequence_parallel_size" if has_sequence_key(config) else "GPUs"


def has_mesh(config: DeepSpeedConfig) -> bool:
    return config.version >= MESH_SINCE and "sequence_parallel_size" in config.values and "data_parallel_size" in config.values


def has_sequence_key(config: DeepSpeedConfig) -> bool:
    return config.looks_up("sequence_parallel_size") and "sequence_parallel_size" in config.values


def tensor_parallel(config: DeepSpeedConfig) -> int:
    """The AutoTP size, which partitions the GPUs but is not part of DeepSpeed's batch arithmetic."""
    size = config.section("tensor_parallel")["autotp_size"] if config.looks_up("tensor_parallel") else 1
    return size if isinstance(size, int) and size > 1 else 1


def sequence_parallel(config: DeepSpeedConfig) -> int:
    size = config.values.get("sequence_parallel_size", 1)
    return size if isinstance(size, int) and size > 1 and has_sequence_key(config) else 1


def consumed(layout: Layout, settings: dict[str, Setting], divisor: object) -> int | None:
    """Samples per optimizer step: the ranks of an AutoTP group process the same batch, which the arithmetic counts for each."""
    micro, accumulation, total = (settings[key].value for key in (MICRO, ACCUMULATION, TRAIN))
    if not isinstance(total, int):
        return None
    if layout.tensor_parallel == 1:
        return total
    if not isinstance(micro, int) or not isinstance(accumulation, int) or not isinstance(divisor, int):
        return None
    return micro * accumulation * (divisor // layout.tensor_parallel)


def loader_size(config: DeepSpeedConfig, micro: Setting) -> Setting:
    """The micro batch: that of the data loader of the program's own, which decides, if it is not the number of the config."""
    loop = config.loop
    if loop is None or loop.loader is None:
        return micro
    from cfglint.frameworks.own_loops import setting

    size = setting(loop.loader, "batch_size", config.facts.launch)
    return size if size is not None and size.value != micro.value else micro


def loaded(config: DeepSpeedConfig, settings: dict[str, Setting], divisor: object) -> int | None:
    """Samples per optimizer step if the program takes its batches of a data loader of its own: the file's micro batch is not used then."""
    loop = config.loop
    if (
        loop is None
        or loop.loader is None
        or loop.accumulates is not False
        or (loop.numbers is not None and "turns" in loop.numbers.values)
    ):
        return None
    size, accumulation = loop.loader.values.get("batch_size"), settings[ACCUMULATION].value
    if type(size) is not int or not isinstance(accumulation, int) or not isinstance(divisor, int):
        return None
    return size * accumulation * divisor


def stages(config: DeepSpeedConfig) -> int | None:
    """The processes of each replica of a pipeline, 1 without one; None if they are not known."""
    if config.loop is None and config.facts.launch.lacks_engine:  # which may be that of a pipeline
        return None
    return 1 if config.loop is None else config.loop.stages


def data_parallel(config: DeepSpeedConfig) -> tuple[ConfigValue, BatchProblem | None]:
    """The divisor of DeepSpeed's arithmetic, or the error before it has one; None where the GPU count is unknown.

    Source: deepspeed 0.19.8 runtime/pipe/topology.py (PipelineParallelGrid: the world size is a multiple of the stages).
    """
    ranks = stages(config)
    if ranks != 1:
        return (config.world_size // ranks if ranks and config.world_size else None), None
    if has_mesh(config):
        size, ranks = config.values["data_parallel_size"], config.values["sequence_parallel_size"]
        world = config.world_size
        for key in ("data_parallel_size", "sequence_parallel_size"):
            if not isinstance(config.values[key], int):
                raised = TypeError(f"{key} is {type(config.values[key]).__name__}, not an integer")
                return None, refusal(config, key, raised, f"`{key}` is {described(config.values[key])}, not an integer")
        if world is None:
            return None, None
        if size * ranks > world:
            text = f"RuntimeError: Mesh should not be bigger than default world size {world}, but found {size * ranks}"
            message = f"`data_parallel_size` {size} x `sequence_parallel_size` {ranks} = {size * ranks}, more than {world} GPUs"
            return None, BatchProblem("layout", config.setting("data_parallel_size"), message, text)
        if 0 < size * ranks < world:
            message = f"`data_parallel_size` {size} x `sequence_parallel_size` {ranks} = {size * ranks}, less than {world} GPUs"
            return size, BatchProblem("layout", config.setting("data_parallel_size"), message, "IndexError: list index out of range")
        return size, None
    if not has_sequence_key(config):
        return config.world_size, None
    size = config.values["sequence_parallel_size"]
    if size == "auto" and config.open:
        return None, None
    try:
        found = (8 if config.world_size is None else config.world_size) / size
    except (TypeError, ZeroDivisionError, OverflowError) as raised:
        if config.version < STRICT_WORLD_SINCE:
            return 1, None
        return None, refusal(
            config, "sequence_parallel_size", raised, f"`sequence_parallel_size` is {spelled(size)}; it must be a positive number"
        )
    return (found if config.world_size is not None else None), None


def refusal(config: DeepSpeedConfig, key: str, raised: Exception, message: str, reason: BatchReason | None = None) -> BatchProblem:
    reason = reason or ("not-positive" if isinstance(raised, ZeroDivisionError) else "type")
    return BatchProblem(reason, config.setting(key), message, f"{type(raised).__name__}: {raised}")


def infer_missing(config: DeepSpeedConfig, triple: Triple, divisor: object) -> BatchProblem | None:
    """Infer the missing values and check them; without a GPU count, only what holds for every count."""
    written = [key for key in KEYS if triple.values[key] is not None]
    if config.looks_up("elasticity") and bool(config.get("elasticity", "enabled")):
        return elastic(config, triple, divisor)
    if any(config.values.get(key) == "auto" and number(config, key) is None for key in KEYS):
        return certain_problem(config, triple)
    if TRAIN not in written and MICRO not in written:
        if config.open:
            return None
        key = written[0] if written else MICRO
        return BatchProblem(
            "missing", config.setting(key), f"neither `{TRAIN}` nor `{MICRO}` is set", refused(config, (None, None, None), 1)
        )
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
    triple.at = below or TRAIN
    triple.reason = "not-positive" if below and not (below in triple.derived and triple.values[below] == 0) else "mismatch"
    return BatchProblem(triple.reason, blamed(config, triple, written), explain(triple, divisor), exception)


def refused(config: DeepSpeedConfig, sizes: Sequence[object], divisor: object) -> str:
    from cfglint.frameworks.rows.refusals import refused_batch

    return refused_batch(config.kind, CONSTRUCTOR, config.version, sizes, divisor)


def elastic(config: DeepSpeedConfig, triple: Triple, divisor: object) -> BatchProblem | None:
    from cfglint.frameworks.deepspeed import elasticity

    section = config.values["elasticity"]
    triple.values = dict.fromkeys(KEYS)
    if not decided(config, section):
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
        raised_text = "ElasticityConfigError: One or more batch related parameters were found in your ds_config"
        text = f"`{written[0]}` is not accepted with `elasticity`, which chooses the batch"
        return BatchProblem("elasticity", config.setting(written[0]), text, raised_text)
    triple.derived = set(KEYS)
    return None


def decided(config: DeepSpeedConfig, section: ConfigTable) -> bool:
    values = [item for value in section.values() for item in (value if isinstance(value, list) else [value])]
    if any(value is not None and not isinstance(value, (bool, int, float, str, list, dict)) for value in values):
        return False
    return not config.open or "auto" not in values


def blamed(config: DeepSpeedConfig, triple: Triple, written: list[str]) -> Setting:
    """The written key to point at: the invalid one, or the first from which it is derived. `gradient_accumulation_steps` if the file
    does not have it, so that it is 1 and not what the trainer accumulates.
    """
    if lacks_accumulation(config, triple):
        return config.setting(ACCUMULATION)
    if triple.at in written and (triple.reason == "mismatch" or not is_positive(triple.values[triple.at])):
        return config.setting(triple.at)
    error = [key for key in written if not is_positive(triple.values[key])]
    return config.setting((error or written)[0])


def lacks_accumulation(config: DeepSpeedConfig, triple: Triple) -> bool:
    """Whether the values are unequal only because the file has no `gradient_accumulation_steps`, which accelerate then sets to 1.

    Source: accelerate 1.15.0 utils/dataclasses.py (DeepSpeedPlugin.__post_init__).
    """
    if triple.reason != "mismatch" or config.trainer is None or config.documents[0].find((ACCUMULATION,))[1] is not None:
        return False
    total, micro, steps = (triple.values[key] for key in KEYS)
    accumulated = config.trainer.batch.accumulation.value
    numbers = (total, micro, accumulated, config.world_size)
    return steps == 1 and all(type(each) is int for each in numbers) and total == micro * accumulated * config.world_size


def explain(triple: Triple, divisor: object) -> str:
    values = triple.values
    total, micro, steps = (plain_number(values[key]) for key in KEYS)
    if triple.reason == "not-positive":
        key = next((key for key in KEYS if key not in triple.derived and not is_positive(values[key])), triple.at)
        return f"`{key}` is {plain_number(values[key])}; it must be positive"
    if not triple.derived:
        factors = f"micro batch {micro} x accumulation {steps} x data parallel {plain_number(divisor)}"
        return f"`{TRAIN}` is {total}, but {factors} = {plain_number(values[MICRO] * values[ACCUMULATION] * divisor)}"
    written = ((MICRO, f"micro batch {micro}"), (ACCUMULATION, f"accumulation {steps}"))
    known = [part for key, part in written if key not in triple.derived]
    factors = " x ".join([*known, f"data parallel {plain_number(divisor)}"]) if known else f"the data-parallel size {plain_number(divisor)}"
    return f"`{TRAIN}` is {total}, not a multiple of {factors}"


def plain_number(value: object) -> str:
    return str(integral(value)) if isinstance(value, float) and value.is_integer() else str(value)


def operand_problem(config: DeepSpeedConfig, triple: Triple, written: list[str], exception: str) -> BatchProblem:
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
