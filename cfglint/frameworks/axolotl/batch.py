"""What axolotl computes after validation: batch, precision, intervals (utils/config/__init__.py:270-350 of 0.21.0), and its own steps
(utils/trainer.py:551, core/builders/base.py:285-320).
"""

from __future__ import annotations

from math import ceil, isfinite

from cfglint.batch.steps import batches_per_rank, training_length
from cfglint.evaluate import Unknown
from cfglint.evaluate.operations import unknown
from cfglint.findings.releases import Releases
from cfglint.findings.setting import Batch, BatchProblem, Layout, Setting, derived
from cfglint.frameworks.axolotl.refusals import ATTENTION, BATCH, FSDP, AxolotlModel, refuses
from cfglint.frameworks.axolotl.releases import FSDP2_ONLY, OWN_STEPS
from cfglint.frameworks.axolotl.values import AxolotlValues
from cfglint.frameworks.huggingface.batch import steps, uneven_split
from cfglint.frameworks.refusal import Refusal, Removal
from cfglint.frameworks.releases.versions import Version
from cfglint.source.annotations import ConfigTable

MICRO = "micro_batch_size"
ACCUMULATION = "gradient_accumulation_steps"
FIRST_OPTION: tuple[tuple[Version, str], ...] = (  # of those that axolotl reads under FSDP
    ((), "fsdp_activation_checkpointing"),
    ((0, 9, 0), "fsdp_version"),
    ((0, 12, 0), "activation_checkpointing"),
)
NAMED_DEEPSPEED = Releases((), (0, 13, 1))  # `deepspeed` is the name of a file
OWN_LENGTH = ("grpo", "ebft", "gdpo")  # trainers that compute their steps themselves
SEVERAL_PROCESSES = Releases((0, 12, 0))  # only several processes multiply the batch size, also for FSDP
SHARED_SAMPLES = Releases((0, 15, 0))  # processes of one tensor or context parallel group count once


def normalize(model: AxolotlModel, capabilities: ConfigTable) -> Refusal | None:
    """Complete the values of the model; return the refusal if axolotl fails at that."""
    if model.release in NAMED_DEEPSPEED and isinstance(model.deepspeed, dict):  # setup_deepspeed_env puts it into the environment
        says = "str expected, not DictDefault"
        return refuses(FSDP, "deepspeed", "`deepspeed` is a mapping; this release requires the name of a file", says, raises="TypeError")
    if model.fsdp and model.fsdp_config is None and model.release not in FSDP2_ONLY:  # whose options prepare_optim_env reads
        says = f"'NoneType' object has no attribute '{next(name for since, name in reversed(FIRST_OPTION) if since <= model.release)}'"
        steps = ("set `fsdp_config`", Removal("fsdp"))
        return refuses(FSDP, ("fsdp", "fsdp_config"), "`fsdp` requires `fsdp_config`", says, remedy=steps, raises="AttributeError")
    # The accumulation is divided only where it is null or 0; the default of 1 is filled in before.
    micro, accumulation, size = model.micro_batch_size, model.gradient_accumulation_steps, model.batch_size
    try:
        model.gradient_accumulation_steps = accumulation or (size // micro)
        model.batch_size = size or micro * model.gradient_accumulation_steps
    except (TypeError, ZeroDivisionError) as error:
        key = MICRO if not micro and accumulation else ACCUMULATION
        message = f"`{key}` is {'null' if getattr(model, key) is None else getattr(model, key)}, and " + (
            "`micro_batch_size` is not a divisor" if isinstance(error, ZeroDivisionError) else "nothing else gives the batch size"
        )
        return refuses(BATCH, (key, "batch_size"), message, str(error), raises=type(error).__name__)
    # On a GPU with bf16, auto is true, else fp16 is; bf16 switches fp16 off.
    if model.bf16 == "auto" and (not model.fp16 or model.release < (0, 9, 1)):  # a written fp16 keeps `bf16: auto` off
        model.bf16 = bool(capabilities["bf16"])
        model.fp16 = model.fp16 or not model.bf16
    if model.fp16 and model.bf16 == "auto":
        model.bf16 = False
    if model.bf16:
        model.fp16 = False
    if model.tf32 == "auto":
        model.tf32 = bool(capabilities["tf32"])
    native = model.diffusion_lm is not None and not model.diffusion_lm["from_causal_lm"]
    refusal = intervals(model)
    if refusal is None and model.attn_implementation == "varlen" and not native and model.release >= (0, 21, 0):
        says = "attn_implementation: varlen is supported only for native full-sequence diffusion models that declare diffusion_varlen."
        message = "`attn_implementation: varlen` is for native diffusion models only"
        return refuses(ATTENTION, "attn_implementation", message, says, remedy="use another `attn_implementation`", raises="ValueError")
    return refusal


def intervals(model: AxolotlModel) -> Refusal | None:
    """Compute the intervals as lines 283-303 do: a number per epoch becomes a fraction of the run, below 1 only."""
    for per_epoch, every, on in (("saves_per_epoch", "save_steps", True), ("evals_per_epoch", "eval_steps", evaluates(model))):
        count = getattr(model, per_epoch)
        if not count or not on:
            continue
        if not model.num_epochs:
            message = f"`{per_epoch}` is {count}, and `num_epochs` is 0: there is nothing to divide"
            return refuses(BATCH, ("num_epochs", per_epoch), message, "float division by zero", raises="ZeroDivisionError")
        try:
            fraction = 1.0 / (count * model.num_epochs)
        except OverflowError as error:
            return refuses(BATCH, per_epoch, f"`{per_epoch}` is too large to compute with", str(error), raises="OverflowError")
        if fraction < 1.0:
            setattr(model, every, fraction)
    return None


def evaluates(model: AxolotlModel) -> bool:
    return bool(model.val_set_size or model.test_datasets)


def resolve(config: AxolotlValues) -> Batch:
    """The batch: `micro_batch_size` x `gradient_accumulation_steps` x the processes that take different samples.

    Where the run is refused before it is computed, it is what the keys say; unknown with the obsolete `batch_size`.
    """
    model, world = config.model if config.parsed else None, config.facts.gpus
    consumed = failing = None
    if model is None:
        micro, accumulation = (setting_of(config, key, written(config, key)) for key in (MICRO, ACCUMULATION))
        tensor, context = (written(config, key) for key in ("tensor_parallel_size", "context_parallel_size"))
        parallel = max(world // (tensor * context), 1) if world and tensor and context else None
        size = product(micro.integer, accumulation.integer, parallel)
    else:
        world = world if not model.use_ray or model.ray_num_workers == world else None  # Ray starts the workers
        micro, accumulation = (setting_of(config, key, getattr(model, key)) for key in (MICRO, ACCUMULATION))
        tensor, context = int(model.tensor_parallel_size or 1), sequence_parallel(model)
        parallel = None if world is None else max(world // context // tensor, 1)
        size = None if world is None else batch_size(model, world)
        consumed, failing = product(micro.integer, accumulation.integer, parallel), problem(config, micro, accumulation)
    share = "batch_size" if model is not None and config.get("batch_size") else "micro_batch_size x gradient_accumulation_steps"
    return Batch(
        Layout(world, tensor or 1, context_parallel=context or 1),
        micro,
        accumulation,
        derived("data_parallel", parallel, "processes / context_parallel_size / tensor_parallel_size"),
        derived("batch_size", size, f"{share} x data-parallel size"),
        consumed,
        failing,
    )


def batch_size(model: AxolotlModel, world: int) -> int | None:
    """The batch size of all processes, from which the steps are counted (:275-281): `ddp: false` leaves their number out."""
    size: int | None = model.batch_size
    sharded = bool(model.fsdp or model.fsdp_config) and model.release in SEVERAL_PROCESSES
    is_multiplied = sharded or (model.ddp if model.ddp is not None else world != 1)
    if size is None or not is_multiplied or (world == 1 and model.release in SEVERAL_PROCESSES):
        return size
    return size * (world // shared_by(model) if model.release in SHARED_SAMPLES else world)


def shared_by(model: AxolotlModel) -> int:
    """The number of processes that take the same samples."""
    return sequence_parallel(model) * int(model.tensor_parallel_size or 1)


def sequence_parallel(model: AxolotlModel) -> int:
    """The number of processes that share a sequence: `sequence_parallel_degree` up to 0.11.0."""
    return int(model.context_parallel_size or (model.sequence_parallel_degree if model.release not in SEVERAL_PROCESSES else None) or 1)


def written(config: AxolotlValues, key: str) -> int | None:
    """A positive integer of the file; 1, axolotl's default, for a missing one; None in a file that cannot be loaded."""
    if config.fatal_problems or not config.values or config.get("batch_size") is not None:
        return None
    value = config.get(key)
    if value is None:
        return 1
    return value if type(value) is int and value > 0 else None


def setting_of(config: AxolotlValues, key: str, value: object) -> Setting:
    setting = config.place((key,))
    setting.value = value
    return setting


def product(*factors: object) -> int | None:
    size = 1
    for factor in factors:
        if not isinstance(factor, int):
            return None
        size *= factor
    return size


def problem(config: AxolotlValues, micro: Setting, accumulation: Setting) -> BatchProblem | None:
    packed = config.model is not None and config.model.sample_packing  # packed samples have a sampler that builds the batches itself
    if isinstance(micro.value, int) and micro.value < 0 and not packed:
        text = f"ValueError: batch_size should be a positive integer value, but got batch_size={micro.value}"
        return BatchProblem("not-positive", micro, f"`{MICRO}` is {micro.value}", text, "init")
    if micro.value == 0:
        text = "ZeroDivisionError: division by zero"
        return BatchProblem("not-positive", micro, f"`{MICRO}` is 0", text, "init")
    model, world = config.model, config.facts.gpus
    loader = (model.accelerator_config or {}) if model is not None else {}
    if model is None or not world or world == 1 or not loader.get("split_batches") or model.sample_packing or streams(config):
        return None  # packed rows have a sampler of their own

    return uneven_split(micro, max(world // shared_by(model), 1), bool(loader.get("dispatch_batches")))


def streams(config: AxolotlValues) -> bool:
    """Whether the data is streamed, so that its length is unknown."""
    model = config.model
    return model is not None and bool(model.streaming or model.pretraining_dataset)


def counted(config: AxolotlValues) -> int | None:
    """The steps that axolotl computes from the data; None if they depend on more than the files."""
    model, examples = config.model, config.facts.num_examples
    size = config.batch.global_batch.integer
    if model is None or examples is None or not size or streams(config) or model.sample_packing or model.rl in OWN_LENGTH:
        return None
    if unknown(model.num_epochs, model.sample_packing, model.streaming, model.pretraining_dataset) is not None:
        return None
    shared = 1 if model.release in SHARED_SAMPLES else shared_by(model)
    steps = examples * model.num_epochs * shared / size
    return ceil(steps) if isfinite(steps) else None


def total_steps(config: AxolotlValues) -> int | None:
    """The steps of the run: a written `max_steps`, else the computed steps, which axolotl passes to the Trainer as `max_steps`."""
    model = config.model
    if model is None or not config.parsed or isinstance(model.max_steps, Unknown):
        return None
    if model.max_steps:
        written = int(model.max_steps)
        if model.release < (0, 9, 1) and not model.rl:  # a written `max_steps` ends the run no later than the data does
            total = counted(config)
            written = written if streams(config) else min(total, written) if total is not None else 0
            if not written:
                return None
        return written if written > 0 else by_epochs(config)
    if not passes_steps(model):
        return by_epochs(config)
    total = counted(config)
    return by_epochs(config) if total == 0 else total


def passes_steps(model: AxolotlModel) -> bool:
    """Whether axolotl passes its count of steps to the Trainer; before 0.10.0 only trainers of preferences get it."""
    return model.release in OWN_STEPS or bool(model.rl)


def by_epochs(config: AxolotlValues) -> int | None:
    """The steps for a negative or missing `max_steps`: the Trainer computes them from `num_epochs` itself."""
    if config.model is None or config.model.sample_packing or streams(config) or not hasattr(config, "arguments"):
        return None
    shared = sequence_parallel(config.model)
    if shared <= 1 or config.model.release in SEVERAL_PROCESSES:
        return steps(config).total
    # several processes get the same samples, and the data loader is not accelerate's (core/trainers/mixins/sequence_parallel.py)

    model, examples, world = config.model, config.facts.num_examples, config.facts.gpus
    if examples is None or world is None or world % shared or not model.gradient_accumulation_steps:
        return None
    if unknown(model.micro_batch_size, model.max_steps, model.gradient_accumulation_steps, model.num_epochs) is not None:
        return None
    batches = batches_per_rank(examples, model.micro_batch_size, world // shared, drop_last=bool(model.dataloader_drop_last))
    limit = int(model.max_steps or -1)
    length = training_length(batches, model.gradient_accumulation_steps, epochs=model.num_epochs, max_steps=limit, version=config.version)
    return length.total_steps


def planned(config: AxolotlValues) -> int | None:
    """The smaller of the computed steps and `max_steps`, which warm-up and logging depend on (train.py); None if it is unknown."""
    model = config.model
    if model is None or isinstance(model.max_steps, Unknown):
        return None
    if streams(config):
        return int(model.max_steps)
    total = counted(config)
    if total is None:
        return None
    return min(total, int(model.max_steps)) if model.max_steps else total


def warmup_steps(config: AxolotlValues) -> int | float | None:
    """The warm-up that axolotl passes to the Trainer: steps, or a ratio if the total is missing; None if unknown."""
    model = config.model
    if model is None:
        return None
    given, ratio_given = model.warmup_steps, model.warmup_ratio
    if isinstance(given, Unknown) or isinstance(ratio_given, Unknown):
        return None
    if model.rl and model.release not in OWN_STEPS:  # trainers of preferences get the key alone
        return int(given) if given is not None else None
    if (0, 10, 0) <= model.release < (0, 13, 1):  # a warm-up of 0 is taken for none given
        given, ratio_given = given or None, ratio_given or None
    if given is not None:
        return 2 if given == 1 else int(given)
    total = planned(config)
    if total is None and model.rl not in OWN_LENGTH:
        return None
    ratio = 0.03 if ratio_given is None else ratio_given
    if not isfinite(ratio):
        return None
    if not total and (total is None or model.release >= (0, 10, 0)):  # without a number of steps, the ratio is passed on
        return float(ratio) if ratio > 0 else 0
    steps = max(int(ratio * total), 0) if ratio_given is not None else min(int(ratio * total), 100)
    return 2 if steps == 1 else steps


def numbers(config: AxolotlValues) -> dict[str, int | None]:
    model = config.model
    if model is None or not config.parsed:
        return {"steps_per_epoch": None, "total_steps": None, "warmup_steps": None}
    total, warmup = total_steps(config), warmup_steps(config)
    if isinstance(warmup, float):
        warmup = ceil(warmup * total) if total is not None else None
    found = {"steps_per_epoch": None, "total_steps": total, "warmup_steps": warmup}
    if model.sample_packing and not isinstance(model.sequence_len, Unknown):
        found["seq_length"] = int(model.sequence_len)
    return found
