"""What a verl run fails of besides the rows of its checks: fields of the config classes, libraries, and the first step.

Source: verl 0.3.0 to 0.7.1 workers/fsdp_workers.py, 0.8.0 and 0.9.1 workers/engine_workers.py, protocol.py; torch, megatron-core.
"""

from __future__ import annotations

from cfglint.evaluate import Unknown
from cfglint.findings.remedy import remove_key
from cfglint.findings.wording import counted
from cfglint.frameworks.refusal import Refusal
from cfglint.frameworks.verl.files import CLASS, HISTORY
from cfglint.frameworks.verl.sizes import (
    ACTOR,
    BATCH,
    CRITIC,
    LOG_PROB,
    MICRO,
    MINI,
    NODES,
    PER_NODE,
    REF,
    ROLLOUT,
    SAMPLES,
    Sizes,
    product,
    uses_critic,
    uses_reference,
)
from cfglint.frameworks.verl.values import ComposedConfig
from cfglint.source.annotations import Collection, Iterator, Operand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.vocabulary import Stage

CONFIG: Stage = "config"
INIT: Stage = "init"
STEP: Stage = "first-step"
INSTANTIATION = "hydra.errors.InstantiationException: Error in call to target"
DIVISION = "ZeroDivisionError: integer division or modulo by zero"
AGENT_WORKERS = f"{ROLLOUT}.agent.num_workers"


def numbers(tree: ComposedConfig, sizes: Sizes) -> Iterator[Refusal]:
    """Sizes that are no numbers: the arithmetic of the checks fails, or the data loader."""
    not_positive = f"ValueError: batch_size should be a positive integer value, but got batch_size={tree.value(BATCH)}"
    for key in (BATCH, SAMPLES, MINI, NODES, PER_NODE):
        value = tree.value(key)
        if type(value) is int or isinstance(value, (Unknown, bool)):
            continue
        if isinstance(value, float) and key == BATCH:
            exception = not_positive
        elif value is None or isinstance(value, list):
            exception = f"TypeError: unsupported operand type(s) for *: '{'NoneType' if value is None else 'ListConfig'}' and 'int'"
        else:
            exception = "TypeError"
        stage = INIT if key != BATCH and sizes.is_dynamic else CONFIG
        yield Refusal("VRL010", (key,), f"`{key}` is not an integer", exception, (f"write `{key}` as an integer without quotes",), stage)
    if isinstance(tree.value(MICRO), str) and sizes.engine and sizes.is_dynamic is False:
        message = f"`{MICRO}` is a string, not an integer"
        exception = "TypeError: unsupported operand type(s) for %: 'int' and 'str'"
        yield Refusal("VRL010", (MICRO,), message, exception, (f"write `{MICRO}` as an integer",), STEP)
    if sizes.batch is not None and sizes.batch <= 0:
        yield Refusal("VRL010", (BATCH,), f"`{BATCH}` is not positive", not_positive, (f"set `{BATCH}` to a number above 0",), INIT)


def groups(tree: ComposedConfig, sizes: Sizes) -> Iterator[Refusal]:
    """A rollout engine that is not named, sequence parallelism over more GPUs than there are, and a training set without a batch."""
    name, key = f"{ROLLOUT}.name", f"{ACTOR}.ulysses_sequence_parallel_size"
    if tree.is_missing(name):
        exception = f"omegaconf.errors.MissingMandatoryValue: Missing mandatory value: {name}"
        yield Refusal("VRL019", (name,), f"`{name}` has no default and is not set", exception, (f"set `{name}=vllm` or sglang",), INIT)
    gpus, parallel = sizes.gpus, sizes.sequence_parallel
    if sizes.is_fsdp and sizes.engine and gpus and parallel and parallel > gpus:
        message = f"`{key}` is {parallel}, more than the {gpus} GPUs"
        yield Refusal("VRL029", (key,), message, DIVISION, (f"set `{key}` to a divisor of {gpus}",), STEP)
    if sizes.steps_per_epoch == 0 and tree.since(0, 9):  # before, a row checks it
        yield Refusal("VRL022", (BATCH,), too_few(sizes), DIVISION, ("set a smaller batch",), STEP)


def too_few(sizes: Sizes) -> str:
    """What is wrong with a training set that has no batch."""
    return f"`{BATCH}` is {sizes.loader_batch}, more than the {sizes.rows} examples of the training set"


def megatron_workers(tree: ComposedConfig, sizes: Sizes) -> Iterator[Refusal]:
    """The sizes that Megatron-LM itself refuses.

    Source: megatron-core 0.12.1 core/parallel_state.py:630-702 (initialize_model_parallel).
    """
    if not sizes.is_megatron:
        return

    def key_of(name: str) -> str:
        return f"{ACTOR}.megatron.{name}_parallel_size"

    replica, gpus, remedy = sizes.replica, sizes.gpus, "choose sizes whose product divides the GPUs"
    if replica and gpus and gpus % replica and not (tree.since(0, 4) and sizes.is_dynamic is False):
        exception = f"RuntimeError: world_size ({gpus}) is not divisible by {replica}"
        message = f"{counted(gpus, 'GPU')} do not divide into Megatron-LM replicas of {replica}"
        yield Refusal("VRL013", (key_of("tensor_model"),), message, exception, (remedy,), INIT)
        return
    etp, ep, pp = (tree.integer(key_of(name), 1) for name in ("expert_tensor", "expert_model", "pipeline_model"))
    size = product(tree.integer(key_of("tensor_model")) if etp is None else etp, ep, pp)
    if size and gpus and gpus % size:
        what = f"expert_tensor_model_pipeline_parallel size ({size})"
        exception = f"RuntimeError: decoder world_size ({gpus}) is not divisible by {what}"
        message = f"{counted(gpus, 'GPU')} do not divide into groups of {size} (expert tensor x expert x pipeline parallel size)"
        yield Refusal("VRL013", (key_of("expert_model"),), message, exception, (remedy,), INIT)
    key = key_of("virtual_pipeline_model")
    if tree.integer(key) and pp == 1:
        exception = "RuntimeError: pipeline-model-parallel size should be greater than 1 with interleaved schedule"
        message = f"`{key}` requires `pipeline_model_parallel_size` above 1"
        yield Refusal("VRL013", (key,), message, exception, (remove_key(key),), INIT)


def first_step(tree: ComposedConfig, sizes: Sizes) -> Iterator[Refusal]:
    """What the first step divides comes out even."""
    if not sizes.is_fsdp and not sizes.is_megatron:
        return
    yield from chunks(tree, sizes)
    if sizes.engine:
        yield from engine_step(tree, sizes)
    elif sizes.is_megatron and sizes.mini_per_gpu is not None:
        yield from complete_minis(sizes.step_samples, sizes.data_parallel, sizes.mini_per_gpu)


def complete_minis(total: int | None, parallel: int | None, mini: int) -> Iterator[Refusal]:
    """The samples of a rank are complete mini batches."""
    if not total or not parallel or total % parallel:
        return
    samples = total // parallel
    if not mini:
        yield Refusal("VRL024", (MINI,), f"`{MINI}` has less than one sample for each GPU", DIVISION, (f"set a larger `{MINI}`",), STEP)
    elif samples % mini:
        exception = f"AssertionError: {samples} % {mini} != 0"
        message = f"a step has {samples} samples on each GPU, which are no complete mini batches of {mini}"
        yield Refusal("VRL027", (MINI, BATCH), message, exception, (f"set `{MINI}` to a divisor of `{BATCH}`",), STEP)


def chunks(tree: ComposedConfig, sizes: Sizes) -> Iterator[Refusal]:
    """Prompts and samples are sent to the workers in equal parts."""
    batch, gpus = sizes.batch if sizes.engine else sizes.loader_batch, sizes.gpus
    if batch is None or not gpus or sizes.samples is None:
        return

    def unequal(key: str, size: int, parts: int, among: str) -> Refusal:
        message = f"a step has {size} samples, which do not divide among {among}"
        exception = f"AssertionError: only support equal chunk. Got size of DataProto {size} and chunk {parts}."
        return Refusal("VRL026", (key, BATCH, SAMPLES), message, exception, (f"make `{BATCH}` x `{SAMPLES}` a multiple of {parts}",), STEP)

    sent = batch * sizes.samples if tree.since(0, 5) else batch
    mode = tree.value(f"{ROLLOUT}.mode", "sync")
    v1 = tree.since(0, 9) and tree.value("trainer.use_v1", True) is not False
    agents = tree.integer(AGENT_WORKERS) if tree.since(0, 5) and not v1 else None
    if mode == "sync" and not tree.since(0, 7):
        if sent % gpus and sizes.is_fsdp:
            yield unequal(BATCH, sent, gpus, f"{gpus} GPUs")
            return
    elif agents and isinstance(mode, str) and sent % agents:
        yield unequal(AGENT_WORKERS, sent, agents, f"`{AGENT_WORKERS}`")
        return
    total, parts = sizes.step_samples, sizes.data_parallel if sizes.engine or sizes.is_megatron else gpus
    if total is not None and parts and not v1 and total % parts:
        yield unequal(BATCH, total, parts, f"{parts} data-parallel ranks")


def engine_step(tree: ComposedConfig, sizes: Sizes) -> Iterator[Refusal]:
    """From 0.8 on the samples of a rank consist of complete micro batches and, in 0.8, complete mini batches."""
    total, parallel, padding, mini = sizes.step_samples, sizes.data_parallel, sizes.padding, sizes.mini_samples
    if total is None or not parallel or padding is None or (total + padding) % parallel:
        return
    samples = (total + padding) // parallel
    if sizes.is_dynamic is False:
        yield from uneven_micro(tree, f"{ROLLOUT}.{LOG_PROB}_per_gpu", samples, "step")
    if uses_reference(tree) and tree.is_true(f"{REF}.log_prob_use_dynamic_bsz") is False:
        yield from uneven_micro(tree, f"{REF}.{LOG_PROB}_per_gpu", samples, "step")
    if not mini:
        return
    if mini % parallel:
        message = f"`{MINI}` x `{SAMPLES}` is {mini}, not a multiple of the {parallel} data-parallel ranks"
        exception = f"AssertionError: Got mini_batch_size={mini} and self.engine.get_data_parallel_size()={parallel}"
        remedy = f"set `{MINI}` so that the product is a multiple of {parallel}"
        yield Refusal("VRL024", (MINI, SAMPLES), message, exception, (remedy,), STEP)
    elif samples % (mini // parallel):
        yield from complete_minis(total + padding, parallel, mini // parallel)
    elif sizes.is_dynamic is False:
        yield from uneven_micro(tree, MICRO, mini // parallel, "mini batch")


def uneven_micro(tree: ComposedConfig, key: str, size: int, what: str) -> Iterator[Refusal]:
    """The refusal of a micro batch that does not divide what a GPU gets."""
    micro = tree.integer(key)
    if micro and micro > 0 and size % micro:
        message = f"`{key}` is {micro}, which does not divide the {size} samples of a {what} on each GPU"
        exception = "AssertionError: data size must be divisible by force_group_size * micro_batch_size_per_gpu"
        yield Refusal("VRL028", (key,), message, exception, (f"set `{key}` to a divisor of {size}",), STEP)


def keywords(tree: ComposedConfig, sizes: Sizes) -> Iterator[Refusal]:
    """Keys of sections that become objects of a class, which from 0.6 on has a field for each of them.

    Source: verl 0.9.1 utils/config.py (omega_conf_to_dataclass, validate_config), 0.6.0 :151-181; workers/engine_workers.py (init_model).
    """
    if not tree.since(0, 6):
        return
    sections: list[tuple[str, Stage]] = [(ACTOR, CONFIG), (ROLLOUT, INIT), ("actor_rollout_ref.model", INIT)]
    if uses_critic(tree):
        sections.append((CRITIC, CONFIG))
    for section, stage in sections:
        for key, target in unexpected(tree, section):
            name, kind = key.rpartition(".")[2], target.rpartition(".")[2]
            if section.endswith(".model") and not sizes.engine:
                exception = f"omegaconf.errors.ConfigKeyError: Key '{name}' not in '{kind}'"
            else:
                said = f"TypeError(\"{kind}.__init__() got an unexpected keyword argument '{name}'\")"
                exception = f"{INSTANTIATION} '{target}': {said}"
            yield Refusal("VRL030", (key,), f"`{key}` is not a field of `{kind}`", exception, (remove_key(key),), stage)


def unexpected(tree: ComposedConfig, section: str) -> Iterator[tuple[str, str]]:
    """(key, class) for the keys of a section, and of those in it, that its class does not have."""
    values = tree.raw(section)
    if not isinstance(values, dict):
        return
    target = values.get("_target_")
    fields: Collection[str] = ()
    if isinstance(target, str) and target.startswith("verl."):
        fields = HISTORY.fields(f"{CLASS}{target.rpartition('.')[2]}", tree.release)
    for name, value in values.items():
        if fields and name not in fields and not str(name).startswith("_"):
            yield f"{section}.{name}", str(target)
        elif isinstance(value, dict):
            yield from unexpected(tree, f"{section}.{name}")


CHECKS: Operand = (keywords, numbers, groups, megatron_workers, first_step)
