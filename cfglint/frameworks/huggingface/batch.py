"""The Trainer's batch and step arithmetic (transformers 5.23.0 trainer.py:2557-2573)."""

from __future__ import annotations

from math import prod

from cfglint.batch.steps import RATIO_TAKEN, batches_per_rank, rebalanced_batches, training_length, warmup_steps
from cfglint.findings.remedy import Remedy, set_key
from cfglint.findings.setting import DEFAULT, Batch, BatchProblem, Layout, Setting, derived
from cfglint.findings.vocabulary import Stage
from cfglint.findings.wording import spelled
from cfglint.frameworks.huggingface import PACKAGE
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.fields import has_field
from cfglint.frameworks.releases.versions import Version
from cfglint.source.annotations import Operand
from cfglint.source.record import Record

TENSOR_DIVIDES = (4, 53)
INFERS_STEPS = (5, 14)
ALL_DIVIDE = (5,)  # from here on context and sequence parallelism divide the processes, too
MESH_LAUNCHED = (4, 56)  # from here on used with an accelerate that supports the axes of its config file
MESH_SHARES = (4, 46)  # from here on used with an accelerate that gives tensor-parallel ranks the same samples
NUM_STEPS_REPLACES = (4, 46, 2)  # from here on `num_steps` becomes the trainer's own accumulation; before, only accelerate uses it
INFINITE = float("inf")
PER_EPOCH_LOOP = (4, 46)  # from here on the training loop counts updates with range()
REBALANCE = (5, 17)
MICRO = "per_device_train_batch_size"
ACCUMULATION = "gradient_accumulation_steps"


def resolve(config: TrainerConfig) -> Batch:
    micro, accumulation, tensor = of(config, MICRO), accumulation_steps(config), tensor_parallel(config)
    world, launch, replica = config.world_size, config.deepspeed, tensor if config.version >= TENSOR_DIVIDES else 1
    if config.version >= ALL_DIVIDE:
        replica *= axis(config, "cp") * axis(config, "sp")
    parallel = None if world is None else world // replica
    size = product(micro.value, accumulation.value, parallel)
    steps = 1 if launch is not None and launch.steps_every_micro_batch else accumulation.value
    if config.accelerator.get("split_batches"):  # then the micro batch is that of all processes together
        consumed = product(micro.value, steps)
    else:
        takers = shards(config, world, tensor) // axis(config, "sp") if world is not None else None
        consumed = product(micro.value, steps, takers)
    layout = Layout(world, tensor, context_parallel=axis(config, "cp"), sequence_parallel=axis(config, "sp"))
    replicas = derived("data_parallel", parallel, "processes that take different samples")
    total = derived("train_batch_size", size, f"{MICRO} x {ACCUMULATION} x data-parallel size")
    problem = problem_of(config, micro, accumulation) if config.parsed else None
    return Batch(layout, micro, accumulation, replicas, total, consumed if isinstance(consumed, int) else None, problem, replica)


def of(config: TrainerConfig, name: str) -> Setting:
    if not config.arguments.known(name):
        return config.unknown(name)
    return config.setting(config.arguments.written(name), value=config.arguments[name])


def accumulation_steps(config: TrainerConfig) -> Setting:
    kwargs, setting = config.accumulation_kwargs, of(config, ACCUMULATION)
    is_above_one = isinstance(setting.value, (int, float)) and setting.value > 1
    if "num_steps" not in kwargs or config.version < NUM_STEPS_REPLACES or is_above_one:
        return setting
    path = ("accelerator_config", "gradient_accumulation_kwargs", "num_steps")
    return config.setting(*path) if config.has(*path) else Setting(path, kwargs["num_steps"], DEFAULT, because="accelerator_config")


def tensor_parallel(config: TrainerConfig) -> int:
    """The size of DeepSpeed's automatic tensor parallelism, without DeepSpeed that of the launcher; 1 without either."""
    launch = config.deepspeed
    return launch.tensor_parallel if launch is not None else axis(config, "tp")


def axis(config: TrainerConfig, name: str) -> int:
    if config.launcher is None or config.version < MESH_LAUNCHED:
        return 1
    return max(config.launcher.axis(name) or 1, 1)


def product(*factors: object) -> Operand:
    size: int | float = 1
    for factor in factors:
        if not isinstance(factor, (int, float)):
            return None
        size *= factor
    return size


def shards(config: TrainerConfig, world: int, tensor: int) -> int:
    """The parts into which the samples of an epoch are divided: under DeepSpeed only tensor-parallel ranks get the same samples."""
    if config.version < MESH_SHARES:
        return world
    context = axis(config, "cp") if config.deepspeed is None else 1
    return max(world // max(tensor, axis(config, "tp")) // context, 1)


def problem_of(config: TrainerConfig, micro: Setting, accumulation: Setting) -> BatchProblem | None:
    """The exception that the Trainer would raise about the batch sizes; TYP200 reports a float accumulation in the field itself."""
    early: Stage = "config" if config.uses_deepspeed else "init"
    size, steps = micro.value, accumulation.value
    if config.arguments.known(MICRO):
        if not isinstance(size, int | float | str | list):
            text = f"TypeError: unsupported operand type(s) for *: '{type(size).__name__}' and 'int'"
            return BatchProblem("type", micro, f"`{micro.name}` is {spelled(size)}, not a number", text, early)
        text = f"ValueError: batch_size should be a positive integer value, but got batch_size={size * 1}"  # times the devices
        if not isinstance(size, int):
            return BatchProblem("type", micro, f"`{micro.name}` is {spelled(size)}, not an integer", text, "init")
        if size <= 0:
            return BatchProblem("not-positive", micro, f"`{micro.name}` is {size}; it must be positive", text, "init")
    if config.arguments.known(ACCUMULATION):
        name, kind = accumulation.name, type(steps).__name__
        message = f"`{name}` is {spelled(steps)}, not a number"
        if steps is None or isinstance(steps, dict):
            text = f"TypeError: unsupported operand type(s) for *: 'int' and '{kind}'"
            return BatchProblem("type", accumulation, message, text, early)
        if not isinstance(steps, (int, float)):
            text = f"TypeError: unsupported operand type(s) for //: 'int' and '{kind}'"
            return BatchProblem("type", accumulation, message, text, "init")
        if steps == 0:
            text = "ZeroDivisionError: integer division or modulo by zero"
            return BatchProblem("not-positive", accumulation, f"{name} is 0", text, "init")
        if isinstance(steps, float) and accumulation.path[0] != ACCUMULATION:
            text = "TypeError: 'float' object cannot be interpreted as an integer"
            return BatchProblem("type", accumulation, f"`{name}` is {steps}, not an integer", text, "first-step")
    world, whole = config.world_size, micro.integer
    if not world or world == 1 or not config.accelerator.get("split_batches") or whole is None:
        return None
    at_once: int | None = config.part("at_once", 1, whole)
    processes = shards(config, world, tensor_parallel(config))
    return uneven_split(micro, processes, bool(config.accelerator.get("dispatch_batches")), at_once) if at_once is not None else None


def uneven_split(micro: Setting, processes: int, dispatched: bool, at_once: int = 1) -> BatchProblem | None:
    """The problem of a batch that `split_batches` cannot split evenly (accelerate 1.15.0 data_loader.py:1183 and :159)."""
    size = micro.value * at_once
    if size % processes == 0 or (size == 1 and dispatched):
        return None
    label = "`BatchSamplerShard`" if size == 1 else "a `DataLoader`"
    text = f"ValueError: To use {label} in `split_batches` mode, the batch size ({size})"
    text += f" needs to be a round multiple of the number of processes ({processes})."
    amount = f"({micro.value})" if at_once == 1 else f"({micro.value}) x `steps_per_generation` ({at_once})"
    message = f"`{micro.name}` {amount} must be a multiple of the number of processes ({processes}) with `split_batches`"
    return BatchProblem("layout", micro, message, text, "init")


class Steps(Record):
    """The `batches` per process and epoch, the `updates` per epoch, and the steps of the run and its warm-up; None where unknown."""

    batches: int | None = None
    updates: int | None = None
    total: int | None = None
    warmup: int | None = None


UNKNOWN = Steps()


def step_numbers(config: TrainerConfig) -> dict[str, int | None]:
    run = steps(config)
    return {"steps_per_epoch": run.updates, "total_steps": run.total, "warmup_steps": run.warmup}


def steps(config: TrainerConfig) -> Steps:
    args, batch = config.arguments, config.batch
    if config.counts_samples and config.parsed:
        return updates(config)
    limit, epochs, has_epochs = args["max_steps"], args["num_train_epochs"], args.known("num_train_epochs")
    if not args.known("max_steps") or not config.parsed or batch.problem is not None or not isinstance(limit, (int, float)):
        return UNKNOWN
    if isinstance(limit, float) and not -INFINITE < limit <= 0:
        return UNKNOWN
    limit, batches = int(limit), batches_of_rank(config)
    if not isinstance(epochs, (int, float)) and (has_epochs or limit <= 0):
        return UNKNOWN
    accumulation: Operand = batch.accumulation.value
    if batches is None or accumulation is None or batch.accumulation.is_unknown or not has_epochs:
        total = limit if limit > 0 else None
        return Steps(None, None, total, warmup(config, total))
    try:
        length = training_length(batches, accumulation, epochs=epochs, max_steps=limit, version=config.version)
    except (ValueError, OverflowError):
        return Steps(batches)
    return Steps(batches, as_integer(length.updates_per_epoch), length.total_steps, warmup(config, length.total_steps))


def updates(config: TrainerConfig) -> Steps:
    """The updates of a run that counts samples, after each of which the learning rate changes."""
    args, batch = config.arguments, config.batch
    samples, epochs, examples = args["total_episodes"], args["num_train_epochs"], config.facts.num_examples
    if samples is None and examples is not None and isinstance(epochs, (int, float)) and args.known("total_episodes"):
        samples = int(epochs * examples)
    sizes = (batch.micro_batch.integer, batch.accumulation.integer, batch.data_parallel.integer, args["num_mini_batches"])
    known = [size for size in (samples, *sizes) if isinstance(size, int) and size > 0]
    total = -(-known[0] // prod(known[1:])) if len(known) == 1 + len(sizes) else None
    return Steps(None, None, total, warmup(config, total))


def takes_steps(config: TrainerConfig) -> bool:
    """Whether the run reaches a first step, as far as is known: with some values it silently trains nothing."""
    args = config.arguments
    limit, epochs, accumulation = args["max_steps"], args["num_train_epochs"], accumulation_steps(config).value
    if isinstance(accumulation, (int, float)) and accumulation < 0 and config.version >= PER_EPOCH_LOOP:
        return False
    if isinstance(limit, (int, float)) and isinstance(epochs, (int, float)) and limit < 0 and epochs <= 0:
        return False
    return config.batch.problem is not None or not config.parsed or batches_of_rank(config) != 0


def batches_of_rank(config: TrainerConfig) -> int | None:
    (examples, micro), world = config.loaded(), config.world_size
    if examples is None or micro is None or not world:
        return None
    drop = bool(config.arguments["dataloader_drop_last"])
    if config.arguments["train_sampling_strategy"] == "batch_rebalance" and config.version >= REBALANCE:
        accumulation = config.batch.accumulation.integer
        return rebalanced_batches(examples, micro, accumulation, world, drop_last=drop) if accumulation is not None else None
    accelerator = config.accelerator
    parts, sequence = shards(config, world, tensor_parallel(config)), axis(config, "sp")
    switches = {name: bool(accelerator.get(name, name == "even_batches")) for name in ("split_batches", "even_batches", "dispatch_batches")}
    return batches_per_rank(examples, micro, parts, drop_last=drop, processes=world, sequence_parallel=sequence, **switches)


def warmup(config: TrainerConfig, total: int | None) -> int | None:
    if not config.arguments.known("warmup_steps", "warmup_ratio"):
        return None
    given, ratio = config.arguments["warmup_steps"], config.arguments["warmup_ratio"]
    if not has_field("warmup_ratio", config.version):
        removed = config.values.get("warmup_ratio")
        if removed and not config.facts.strict_keys and not config.facts.is_known(PACKAGE):
            return None
        ratio = removed if config.facts.strict_keys else None  # refused: it starts in another release only, in which the ratio counts
    if config.version >= RATIO_TAKEN and ratio is not None:
        given = 0  # the ratio replaces it, even if it is null
    if not all(isinstance(each, (int, float)) and abs(each) < INFINITE for each in (given, 0 if ratio is None else ratio)):
        return None
    shared = warmup_steps(0, given, ratio, config.version) == 0 and bool(given or ratio)
    if total is None and shared:
        return None
    try:
        return as_integer(warmup_steps(total or 0, given, ratio, config.version))
    except OverflowError:  # more steps than a float can hold
        return None


def as_integer(value: object) -> int | None:
    return int(value) if isinstance(value, int) or (isinstance(value, float) and value.is_integer()) else None


def no_length(release: Version) -> str:
    more = "max_steps has to be specified. The number of steps needs to be known in advance for the learning rate scheduler."
    if release >= INFERS_STEPS:
        more = "so the number of training steps cannot be inferred; max_steps has to be specified. The total number of steps must be known"
        more += " in advance to bound the training loop and to configure the learning rate scheduler."
    return f"ValueError: The train_dataset does not implement __len__, {more}"


def wanted_steps(config: TrainerConfig) -> Remedy:
    examples, size = config.facts.num_examples, config.batch.consumed_batch
    if examples and isinstance(size, int) and size > 0:
        return set_key("max_steps", -(-examples // size), f", which is one epoch of {examples:,} samples")
    return set_key("max_steps", 1000) | "another number of steps"
