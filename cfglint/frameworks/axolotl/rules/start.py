"""Failures after validation: the parallel sizes, the optimizer.

axolotl builds its own `ParallelismConfig` before the model is loaded (utils/distributed.py:345-446), and passes only the sizes that
the file gives to accelerate, in the environment (utils/trainer.py:672-726); their product must equal the number of processes
(accelerate 1.15.0 parallelism_config.py:336-380).
"""

from __future__ import annotations

import math

from cfglint.findings.releases import Releases
from cfglint.findings.remedy import Remedy, any_of, remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.axolotl.batch import streams
from cfglint.frameworks.axolotl.config import AxolotlConfig
from cfglint.frameworks.axolotl.refusals import PARALLEL, AxolotlModel, refuses
from cfglint.frameworks.axolotl.trainer_arguments import BUILT, DION, DION_RATE, UNHANDLED
from cfglint.frameworks.refusal import Refusal
from cfglint.source.annotations import Iterator

COSINE_MIN, COSINE_CONSTANT = "cosine_min_lr_ratio", "cosine_constant_lr_ratio"
ONE_CYCLE = tuple(
    """
    epochs steps_per_epoch pct_start anneal_strategy cycle_momentum base_momentum max_momentum div_factor final_div_factor
    three_phase last_epoch
    """.split()
)
TENSOR = "tensor_parallel_size"
CONTEXT = "context_parallel_size"
SHARD = "dp_shard_size"
REPLICATE = "dp_replicate_size"
EXPERT = "expert_parallel_size"
DEEPSPEED = Releases((0, 21, 0))  # under DeepSpeed context parallelism is its sequence parallelism
PURE = (
    "Tensor/Context parallelism (tp/cp_size > 1) cannot be used with pure data parallelism (dp_replicate_size > 1 and dp_shard_size == 1)."
)


@rule("AXL041")
def axolotl_parallel_sizes(config: AxolotlConfig) -> Iterator[Finding]:
    model, world = config.model, config.facts.gpus
    if model is None or not config.parsed or world is None or model.release < (0, 12, 0):  # the sizes are accelerate's from 0.12.0 on
        return
    uses = bool(model.fsdp or model.fsdp_config) or size(model, TENSOR) > 1 or size(model, CONTEXT) > 1
    refusal = built(model, world) if uses and world > 1 else None
    if refusal is None:
        refusal = passed(model, world)
        if refusal is not None:
            refusal.fails_at = "init"  # when the trainer is built
    if refusal is not None:
        yield refusal.finding([config.place(path) for path in refusal.paths], config.values)


@rule("AXL042")
def axolotl_optimizer_unhandled(config: AxolotlConfig) -> Iterator[Finding]:
    if not config.parsed or config.model is None:
        return
    name = config.model.optimizer
    if name == DION and config.model.dion_lr is None:
        message = f"`optimizer: dion` requires `{DION_RATE}`"
        advice = f"set `{DION_RATE}`, the learning rate of Dion's own parameters"
        yield Finding(config.place(("optimizer",)), message, exception="KeyError: 'dion_learning_rate'", help=advice)
    if name in UNHANDLED and config.own_version not in BUILT:
        message = f"`optimizer: {name}` is accepted, but axolotl cannot build it"
        exception = f"ValueError: Unhandled optimizer: {name}. Please raise an Issue."
        remedy = set_key("optimizer", "adamw_torch_8bit") | "another one"
        yield Finding(config.place(("optimizer",)), message, exception=exception, help=remedy)


@rule("AXL044")
def axolotl_empty_learning_rate(config: AxolotlConfig) -> Iterator[Finding]:
    if config.parsed and config.model is not None and config.model.learning_rate == "":
        remedy = set_key("learning_rate", 2e-05) | "another number"
        yield Finding(config.place(("learning_rate",)), "`learning_rate` is empty; a number is required", help=remedy)


@rule("AXL045")
def axolotl_cosine_ratio(config: AxolotlConfig) -> Iterator[Finding]:
    model, launch = config.model, config.deepspeed
    if not config.parsed or model is None or not model.cosine_min_lr_ratio or (launch is not None and "scheduler" in launch.written):
        return
    checked = [COSINE_MIN] if model.lr_scheduler == "rex" else [COSINE_MIN, COSINE_CONSTANT]
    if model.lr_scheduler not in (None, "cosine", "rex") or (model.lr_scheduler != "rex" and model.lr_quadratic_warmup is True):
        return
    for key in checked:
        value = getattr(model, key)
        if value is not None and not 0 <= value <= 1:
            text = f"AssertionError: {key} must be between 0.0 and 1.0"
            message = f"`{key}` is {value:g}; it must be a fraction between 0 and 1"
            yield Finding(config.place((key,)), message, exception=text, help=f"set `{key}` to a fraction, such as 0.1")
            return


@rule("AXL043")
def axolotl_schedule_argument(config: AxolotlConfig) -> Iterator[Finding]:
    model = config.model
    if not config.parsed or model is None or model.lr_scheduler != "one_cycle" or model.jagged_restart_steps:
        return
    for key in model.lr_scheduler_kwargs or ():
        if key not in ONE_CYCLE:
            text = f"TypeError: OneCycleLR.__init__() got an unexpected keyword argument {key!r}"
            setting = config.place(("lr_scheduler_kwargs", key))
            message = f"`lr_scheduler: one_cycle` has no parameter `{key}`"
            yield Finding(setting, message, exception=text, help=remove_key(f"lr_scheduler_kwargs.{key}"), on_key=True)


@rule("AXL046")
def axolotl_dataset_without_path(config: AxolotlConfig) -> Iterator[Finding]:
    model = config.model
    if not config.parsed or model is None or model.rl or model.reward_model or model.process_reward_model:
        return
    for index, item in enumerate(model.datasets if isinstance(model.datasets, list) else ()):
        if isinstance(item, dict) and item.get("path") is None and item.get("type") != "_synthetic":
            exception = "TypeError: argument should be a str or an os.PathLike object where __fspath__ returns a str, not 'NoneType'"
            advice = "add `path`: a file, a folder or a name on the Hub"
            yield Finding(config.place(("datasets", index, "path")), f"`datasets.{index}` has no `path`", exception=exception, help=advice)


@rule("AXL047")
def axolotl_infinite_epochs(config: AxolotlConfig) -> Iterator[Finding]:
    model = config.model
    if not config.parsed or model is None or model.pretraining_dataset or model.streaming or model.sample_packing_eff_est:
        return
    if model.rl and model.max_steps:
        return
    for key in ("num_epochs",) if model.rl or model.warmup_steps is not None else ("num_epochs", "warmup_ratio"):
        value = getattr(model, key)
        if not isinstance(value, float) or math.isfinite(value):
            continue
        text = "ValueError: cannot convert float NaN to integer"
        if not math.isnan(value):
            text = "OverflowError: cannot convert float infinity to integer"
        place = config.place((key,))
        yield Finding(place, f"`{key}` is {place.spelled}; it must be finite", exception=text, help=f"set `{key}` to a finite number")


@rule("AXL048")
def axolotl_invalid_trainer_class(config: AxolotlConfig) -> Iterator[Finding]:
    model = config.model
    if not config.parsed or model is None or config.validation.plugins or model.rl or model.reward_model or model.process_reward_model:
        return
    name = model.trainer_cls
    if name and "." not in name:
        message = f"`trainer_cls` is {name}, which names no module"
        exception = f"ValueError: Failed to load custom trainer class {name!r}: Invalid module string format: {name}"
        yield Finding(config.place(("trainer_cls",)), message, exception=exception, help="write it as `module.Class`, or remove it")


@rule("AXL066")
def axolotl_null_evaluation_set(config: AxolotlConfig) -> Iterator[Finding]:
    model = config.model
    if not config.parsed or model is None or model.val_set_size is not None or streams(config):
        return
    text = "TypeError: '>' not supported between instances of 'NoneType' and 'int'"
    asked = bool(model.eval_steps) or model.eval_strategy not in (None, "no")
    if model.rl:
        if model.test_datasets or not asked or model.eval_strategy == "no":
            return
        unit = "STEPS" if model.eval_steps else str(model.eval_strategy).upper()
        lacks = "but you didn't pass an `eval_dataset` to `Trainer`"
        text = f"ValueError: You have set `args.eval_strategy` to IntervalStrategy.{unit} {lacks}"
    remedy = set_key("val_set_size", 0.1) | (None if asked else set_key("val_set_size", 0, " for no evaluation"))
    yield Finding(config.place(("val_set_size",)), "`val_set_size` is null; a number is required", exception=text, help=remedy)


@rule("AXL068")
def axolotl_validation_takes_all(config: AxolotlConfig) -> Iterator[Finding]:
    model = config.model
    if config.parsed and model is not None and model.val_set_size == 1 and not model.test_datasets and not streams(config):
        message = "`val_set_size: 1` is the ratio 1.0, which has to be below 1; only numbers above 1 are counts of samples"
        exception = "ValueError: test_size=1.0 should be either positive and smaller than the number of samples"
        remedy = set_key("val_set_size", 2) | set_key("val_set_size", 0.1)
        yield Finding(config.place(("val_set_size",)), message, exception=exception, help=remedy)


@rule("AXL067")
def axolotl_8bit_weights_sharded(config: AxolotlConfig) -> Iterator[Finding]:
    model = config.model
    if not config.parsed or model is None or not model.load_in_8bit or not model.fsdp:
        return
    section = model.fsdp_config if isinstance(model.fsdp_config, dict) else {}
    version = section.get("fsdp_version", config.get("fsdp_version"))
    if str(version) != "2":
        message = "`load_in_8bit` is true, but FSDP 1 shards floating-point weights only"
        note = "torch refuses to wrap such a model (ValueError: Cannot flatten integer dtype tensors)"
        remedy = set_key("load_in_8bit", False) | "use `load_in_4bit: true` with `adapter: qlora`"
        yield Finding(config.place(("load_in_8bit",)), message, related=(config.place(("fsdp",)),), note=note, help=remedy)


def refused(keys: tuple[str, ...], message: str, says: str, remedy: Remedy | str = "") -> Refusal:
    return refuses(PARALLEL, keys, message, says, remedy=remedy, raises="ValueError")


def size(model: AxolotlModel, key: str) -> int:
    return int(getattr(model, key) or 1)


def built(model: AxolotlModel, world: int) -> Refusal | None:
    """The refusal of `build_parallelism_config`, which computes the data-parallel sizes from the remaining processes."""
    tensor, context, expert = size(model, TENSOR), size(model, CONTEXT), size(model, EXPERT)
    if world % expert:
        message = f"`{EXPERT}` ({expert}) does not divide the {world} processes"
        return refused((EXPERT,), message, f"expert_parallel_size ({expert}) must divide world_size ({world}).")
    rest = world // expert // max(tensor, 1) // max(context, 1)
    deepspeed, shard, replicate = model.deepspeed and model.release in DEEPSPEED, model.dp_shard_size, model.dp_replicate_size
    if deepspeed and context > 1 and rest > 1:  # what DeepSpeed's sequence parallelism leaves are replicas
        if not replicate or replicate <= 1 or replicate == rest:
            return None
        message = f"`{REPLICATE}` ({replicate}) must be processes / `{CONTEXT}` ({rest}) under DeepSpeed"
        says = f"dp_replicate_size ({replicate}) must equal world_size / context_parallel_size ({rest}) under DeepSpeed."
        return refused((REPLICATE, CONTEXT), message, says)
    sizes: dict[str, int] = {}
    if shard is None and replicate in (None, 1) and rest > 1:
        sizes[SHARD], rest = rest, 1
    if replicate and replicate > 1:
        sizes[REPLICATE], rest = replicate, rest // replicate
    if model.fsdp or model.fsdp_config:
        if rest > 1 and shard and shard > 1:
            sizes[SHARD], rest = shard, rest // shard
            if rest > 1 and REPLICATE not in sizes:
                sizes[REPLICATE], rest = rest, 1
        if rest > 1 and SHARD not in sizes:
            sizes[SHARD], rest = rest, 1
    if rest > 1 and (shard or 1) > 1 and not (model.fsdp or model.fsdp_config):
        says = "dp_shard_size was configured without a corresponding fsdp_config! Please ensure you have configured FSDP using fsdp_config."
        return refused((SHARD,), f"`{SHARD}` requires `fsdp_config`", says)
    if rest > 1:
        keys = tuple(key for key in (SHARD, REPLICATE, CONTEXT, TENSOR) if getattr(model, key)) or (TENSOR,)
        says = f"The configured parallelisms are incompatible with the current world size ({world})!"
        return refused(keys, f"the parallel sizes leave {rest} of {world} processes without a role", says)
    shards = sizes.get(SHARD, 1) if deepspeed else sizes.get(SHARD) or int(shard or 1)
    return _pure(model, tensor, 1 if deepspeed else context, sizes.get(REPLICATE, int(replicate or 1)), shards, expert)


def _pure(model: AxolotlModel, tensor: int, context: int, replicate: int, shard: int, expert: int) -> Refusal | None:
    """The refusal of accelerate for pure replication together with tensor or context parallelism."""
    if (tensor > 1 or context > 1) and replicate > 1 and shard == 1 and not (expert > 1 and (context > 1 or model.fsdp_config)):
        key = TENSOR if tensor > 1 else CONTEXT
        return refused((REPLICATE, key), f"`{REPLICATE}` above 1 with `{key}` above 1 requires `{SHARD}` above 1", PURE)
    return None


def passed(model: AxolotlModel, world: int) -> Refusal | None:
    tensor, context, expert = size(model, TENSOR), size(model, CONTEXT), size(model, EXPERT)
    shard, replicate = max(size(model, SHARD), 1), max(size(model, REPLICATE), 1)
    if not (tensor > 1 or context > 1 or shard > 1 or replicate > 1):
        return None
    if model.deepspeed and context > 1 and model.release in DEEPSPEED:  # accelerate leaves the product to DeepSpeed
        return None
    pure = _pure(model, tensor, context, replicate, shard, expert)
    if pure is not None:
        return pure
    total = tensor * context * shard * replicate * (expert if patched(model) else 1)
    if total == world:
        return None
    keys = tuple(key for key in (CONTEXT, TENSOR, SHARD, REPLICATE, EXPERT) if size(model, key) > 1)
    product = " x ".join(f"`{key}` ({size(model, key)})" for key in keys) + f" = {total}" if keys[1:] else f"`{keys[0]}` is {total}"
    names = "dp_shard_size/tp_size/cp_size/sp_size" + ("/ep_size" if patched(model) else "")
    message = f"{product}, but the run has {world} processes, one on each GPU: the two must be equal"
    says = f"ParallelismConfig total_size ({total}) does not match num_processes ({world}). Please adjust dp_replicate_size/ {names}."
    rests = {key: total // size(model, key) for key in keys}  # of the other sizes
    fitting = any_of(*(set_key(key, world // rest) for key, rest in rests.items() if world % rest == 0))
    return refused(keys, message, says, fitting or "")


def patched(model: AxolotlModel) -> bool:
    """Whether axolotl adds its expert axis to accelerate."""
    return size(model, CONTEXT) > 1 or bool(model.fsdp or model.fsdp_config) or size(model, EXPERT) > 1
