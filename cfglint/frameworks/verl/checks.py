"""The checks of verl on a composed tree, in the order of its stages: tree, workers, first step; the kind of a refusal is its rule's code.

Source: verl 0.3.0 to 0.5.0 trainer/ppo/ray_trainer.py (_validate_config), 0.6.1 to 0.9.1 utils/config.py (validate_config),
workers/config/actor.py, critic.py, rollout.py; 0.3.0 to 0.7.1 workers/fsdp_workers.py, 0.8.0 and 0.9.1 workers/engine_workers.py.
"""

from __future__ import annotations

from cfglint.evaluate import Unknown
from cfglint.findings.wording import counted
from cfglint.frameworks.refusal import Refusal
from cfglint.frameworks.verl.sizes import (
    ACTOR,
    BATCH,
    CRITIC,
    FSDP,
    GLOBAL_MICRO,
    MICRO,
    MINI,
    REF,
    ROLLOUT,
    SAMPLES,
    STRATEGY,
    Sizes,
    megatron_size,
    uses_critic,
    uses_reference,
)
from cfglint.frameworks.verl.values import ComposedConfig
from cfglint.source.annotations import ConfigValue, Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.vocabulary import Stage

CONFIG: Stage = "config"
INIT: Stage = "init"
STEP: Stage = "first-step"
STAGES = (CONFIG, INIT, STEP)
INSTANTIATION = "hydra.errors.InstantiationException: Error in call to target"
LOG_PROB = "log_prob_micro_batch_size"
LOSS_MODES = ("token-mean", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm")
ESTIMATORS = ("gae", "grpo", "reinforce_plus_plus", "remax", "rloo")
ESTIMATORS_04 = (*ESTIMATORS, "reinforce_plus_plus_baseline", "grpo_passk", "opo")
ESTIMATORS_05 = (*ESTIMATORS_04, "gpg")
REWARD_MANAGERS = ("naive", "prime")
AGENT_WORKERS = f"{ROLLOUT}.agent.num_workers"
ON_ENGINES = ("veomni", "torchtitan")  # strategies that the older workers do not have
KL_CONTROLS = ("fixed", "adaptive")
LARGEST_LORA = 512


def failed(tree: ComposedConfig, sizes: Sizes) -> list[Refusal]:
    """The failing checks of a tree, in the order in which a run reaches them."""
    if not tree.values:
        return []
    found = [each for check in CHECKS for each in check(tree, sizes)]
    if sizes.batch is None or sizes.batch > 0:
        return found
    about = sorted((each for each in found if BATCH in each.keys), key=lambda each: STAGES.index(each.fails_at))
    return [each for each in found if each not in about[1:]]  # a batch of no prompts fails once, at the first of its checks


def numbers(tree: ComposedConfig, sizes: Sizes) -> Iterator[Refusal]:
    """Sizes that are no numbers: the arithmetic of the checks fails, or the data loader."""
    for key in (BATCH, SAMPLES, MINI, "trainer.nnodes", "trainer.n_gpus_per_node"):
        value = tree.value(key)
        if type(value) is int or isinstance(value, (Unknown, bool)):
            continue
        if isinstance(value, float) and key == BATCH:
            exception = f"ValueError: batch_size should be a positive integer value, but got batch_size={value}"
        elif value is None:
            exception = "TypeError: unsupported operand type(s) for *: 'NoneType' and 'int'"
        else:
            exception = "TypeError"
        stage = INIT if key != BATCH and sizes.is_dynamic else CONFIG
        yield Refusal("VRL010", (key,), f"`{key}` is not an integer", exception, (f"write `{key}` as an integer without quotes",), stage)
    if isinstance(tree.value(MICRO), str) and not (sizes.engine and sizes.is_dynamic is not False):
        message = f"`{MICRO}` is a string, not an integer"
        exception = "TypeError: unsupported operand type(s) for %: 'int' and 'str'"
        yield Refusal("VRL010", (MICRO,), message, exception, (f"write `{MICRO}` as an integer",), STEP if sizes.engine else INIT)
    if sizes.batch is not None and sizes.batch <= 0:
        exception = f"ValueError: batch_size should be a positive integer value, but got batch_size={sizes.batch}"
        yield Refusal("VRL010", (BATCH,), f"`{BATCH}` is not positive", exception, (f"set `{BATCH}` to a number above 0",), INIT)


def strategies(tree: ComposedConfig, sizes: Sizes) -> Iterator[Refusal]:
    """An unknown strategy or estimator, and different strategies of actor and critic."""
    actor, critic = tree.value(STRATEGY), tree.value("critic.strategy")
    known = (*FSDP, "megatron") if tree.since(0, 4) else ("fsdp", "megatron")
    if isinstance(actor, str) and actor not in known and has_legacy_workers(tree):
        message = f"`{STRATEGY}` is {actor}, not one of {', '.join(known)}"
        named = actor in ON_ENGINES and tree.since(0, 7, 1)
        exception = f"NotImplementedError: {actor} does not support legacy worker implementation" if named else "NotImplementedError"
        yield Refusal("VRL011", (STRATEGY,), message, exception, (f"set `{STRATEGY}=fsdp`",), CONFIG)
    elif isinstance(actor, str) and isinstance(critic, str) and not tree.since(0, 6) and actor in known:
        fits = critic in FSDP if tree.since(0, 4) and actor in FSDP else critic == actor
        if not fits:
            message = f"`critic.strategy` is {critic}, but `{STRATEGY}` is {actor}"
            yield Refusal("VRL012", ("critic.strategy", STRATEGY), message, "AssertionError", (f"set `critic.strategy={actor}`",), CONFIG)
    estimator = tree.value("algorithm.adv_estimator")
    choices = ESTIMATORS_05 if tree.since(0, 5) else ESTIMATORS_04 if tree.since(0, 4) else ESTIMATORS
    if isinstance(estimator, (str, int, float)) and not tree.since(0, 6) and estimator not in choices:
        message = f"`algorithm.adv_estimator` is {estimator}, not one of {', '.join(choices)}"
        yield Refusal("VRL011", ("algorithm.adv_estimator",), message, "NotImplementedError", ("set one of these",), INIT)


def has_legacy_workers(tree: ComposedConfig) -> bool:
    """Whether the workers are those before the engines, which 0.7 uses unless it is told otherwise.

    Source: verl 0.7.1 trainer/main_ppo.py:123-175 (add_actor_rollout_worker).
    """
    return not tree.since(0, 7) or (not tree.since(0, 8) and tree.value("trainer.use_legacy_worker_impl", "auto") in ("auto", "enable"))


def reward_managers(tree: ComposedConfig, sizes: Sizes) -> Iterator[Refusal]:
    """A reward manager that the release does not have; from 0.4.1 on programs may register their own.

    Source: verl 0.3.0 trainer/main_ppo.py:144-152, 0.4.1 trainer/ppo/reward.py (load_reward_manager).
    """
    key = "reward_model.reward_manager"
    known = (*REWARD_MANAGERS, "batch", "dapo") if tree.since(0, 4) else REWARD_MANAGERS
    name = tree.value(key, "naive")
    if isinstance(name, str) and name not in known and not tree.since(0, 4, 1):
        yield Refusal(
            "VRL011", (key,), f"`{key}` is {name}, not one of {', '.join(known)}", "NotImplementedError", ("set one of these",), CONFIG
        )


def divisible_batch(tree: ComposedConfig, sizes: Sizes) -> Iterator[Refusal]:
    """The samples of a step have to be a multiple of the GPUs; from 0.6 on only without dynamic batch sizes."""
    total, gpus = sizes.step_samples, sizes.gpus
    if total is None or not gpus or (tree.since(0, 6) and sizes.is_dynamic is not False):
        return
    stage = CONFIG if tree.since(0, 6) else INIT
    least, text = gpus, "minimal possible batch size"
    if not tree.since(0, 4):
        text = "total n_gpus"
    if sizes.is_megatron and tree.since(0, 4):
        parallel = megatron_size(tree)
        micro = tree.integer(MICRO)
        if parallel is None:
            return
        if gpus % parallel:
            keys = tuple(f"{ACTOR}.megatron.{name}_parallel_size" for name in ("tensor_model", "pipeline_model", "context"))
            message = f"{counted(gpus, 'GPU')} do not divide into Megatron-LM replicas of {parallel}"
            exception = f"AssertionError: n_gpus ({gpus}) must be divisible by model_parallel_size"
            yield Refusal("VRL013", keys, message, exception, ("choose sizes whose product divides the GPUs",), stage)
            return
        if micro is None:
            return
        least = gpus // parallel * micro
    if least and total % least:
        message = f"`{BATCH}` x `{SAMPLES}` is {total}, not a multiple of {least}"
        exception = f"AssertionError: real_train_batch_size ({total}) must be divisible by {text} ({least})"
        yield Refusal(
            "VRL014", (BATCH, SAMPLES), message, exception, (f"set `{BATCH}` so that the product is a multiple of {least}",), stage
        )


def micro_batches(tree: ComposedConfig, sizes: Sizes) -> Iterator[Refusal]:
    """Exactly one of the global and the per-GPU micro batch is given for each worker that needs one."""
    if sizes.is_dynamic is False:
        yield from actor_micro(tree)
        if uses_reference(tree):
            yield from one_of(tree, REF, LOG_PROB)
        yield from one_of(tree, ROLLOUT, LOG_PROB)
    if uses_critic(tree) and tree.is_true("critic.use_dynamic_bsz") is False:
        yield from critic_micro(tree)


def actor_micro(tree: ComposedConfig) -> Iterator[Refusal]:
    """The micro batch of the actor; from 0.6 on its dataclass refuses it."""
    if not tree.since(0, 6):
        yield from one_of(tree, ACTOR, "ppo_micro_batch_size", "micro_batch_size")
        return
    every, each = tree.value(GLOBAL_MICRO), tree.value(MICRO)
    if every is None and each is None:
        message = f"neither `{MICRO}` nor `{DYNAMIC_NAME}` is set"
        text = "[actor] Please set at least one of 'actor.ppo_micro_batch_size' or 'actor.ppo_micro_batch_size_per_gpu'"
        exception = f'{INSTANTIATION} ...: AssertionError("{text}")'
        yield Refusal("VRL015", (MICRO,), message, exception, (f"set `{MICRO}`, or `{DYNAMIC_NAME}=True`",), CONFIG)
    elif every is not None and each is not None and not isinstance(every, Unknown):
        yield both(tree, GLOBAL_MICRO, MICRO, f'{INSTANTIATION} ...: ValueError("[actor] You have set both')


DYNAMIC_NAME = f"{ACTOR}.use_dynamic_bsz"


def critic_micro(tree: ComposedConfig) -> Iterator[Refusal]:
    """The micro batch of the critic."""
    if not tree.since(0, 6):
        yield from one_of(tree, CRITIC, "ppo_micro_batch_size", "micro_batch_size")
        return
    every, each = tree.value("critic.ppo_micro_batch_size"), tree.value("critic.ppo_micro_batch_size_per_gpu")
    key = "critic.ppo_micro_batch_size_per_gpu"
    if every is None and each is None:
        text = "[critic] Please set at least one of 'critic.ppo_micro_batch_size' or 'critic.ppo_micro_batch_size_per_gpu'"
        message = f"neither `{key}` nor `critic.use_dynamic_bsz` is set, and the run trains a critic"
        exception = f'{INSTANTIATION} ...: ValueError("{text}")'
        yield Refusal(
            "VRL015", (key,), message, exception, (f"set `{key}`, or an `algorithm.adv_estimator` without critic such as grpo",), CONFIG
        )
    elif every is not None and each is not None and not isinstance(every, Unknown):
        yield both(tree, "critic.ppo_micro_batch_size", key, f'{INSTANTIATION} ...: ValueError("[critic] You have set both')


def one_of(tree: ComposedConfig, section: str, name: str, shown: str = "") -> Iterator[Refusal]:
    """The refusal if neither or both of two keys of a section are set."""
    every, each = f"{section}.{name}", f"{section}.{name}_per_gpu"
    text = f"{section}.{shown or name}"
    stage = CONFIG if tree.since(0, 6) else INIT
    if tree.value(every) is None and tree.value(each) is None:
        exception = f"ValueError: [{section}] Please set at least one of '{text}' or '{text}_per_gpu'."
        yield Refusal("VRL015", (each,), f"`{each}` is not set", exception, (f"set `{each}`",), stage)
    elif tree.value(every) is not None and tree.value(each) is not None and not isinstance(tree.value(every), Unknown):
        yield both(tree, every, each, f"ValueError: [{section}] You have set both")


def both(tree: ComposedConfig, every: str, each: str, exception: str) -> Refusal:
    """The refusal of a deprecated global micro batch next to that of a GPU."""
    stage = CONFIG if tree.since(0, 6) else INIT
    message = f"`{every}` is deprecated and cannot be set together with `{each}`"
    return Refusal("VRL016", (every, each), message, exception, (f"remove `{every}`",), stage)


def mini_batches(tree: ComposedConfig, sizes: Sizes) -> Iterator[Refusal]:
    """The mini batch is not above the batch, and a multiple of the deprecated global micro batch."""
    stage = CONFIG if tree.since(0, 6) else INIT
    sections = [(ACTOR, sizes.is_dynamic)]
    if uses_critic(tree):
        sections.append((CRITIC, tree.is_true("critic.use_dynamic_bsz")))
    for section, dynamic in sections:
        key, mini = f"{section}.ppo_mini_batch_size", tree.integer(f"{section}.ppo_mini_batch_size")
        if dynamic is not False or mini is None or sizes.batch is None:
            continue
        name = "actor" if section == ACTOR else "critic"
        if sizes.batch < mini:
            text = f"train_batch_size ({sizes.batch}) must be >= {name}.ppo_mini_batch_size ({mini})"
            exception = f"ValueError: {text}" if tree.since(0, 6) else "AssertionError"
            message = f"`{key}` is {mini}, above `{BATCH}` ({sizes.batch})"
            yield Refusal("VRL017", (key, BATCH), message, exception, (f"set `{key}` to at most {sizes.batch}",), stage)
            continue
        yield from global_micro(tree, sizes, section, mini)


def global_micro(tree: ComposedConfig, sizes: Sizes, section: str, mini: int) -> Iterator[Refusal]:
    """The deprecated global micro batch divides the mini batch, and has a sample for each GPU; the workers of 0.8 do not take it."""
    key = f"{section}.ppo_micro_batch_size"
    micro, parallel, gpus = tree.integer(key), sizes.sequence_parallel(section), sizes.gpus
    if micro is None or not micro or gpus is None or parallel is None:
        return
    stage = CONFIG if tree.since(0, 6) else INIT
    plain = "" if tree.since(0, 6) else "AssertionError"
    if mini % micro:
        exception = plain or f"ValueError: ppo_mini_batch_size ({mini}) must be divisible by ppo_micro_batch_size ({micro})"
        message = f"`{key}` is {micro}, which does not divide `{section}.ppo_mini_batch_size` ({mini})"
        yield Refusal("VRL018", (key,), message, exception, (f"set `{key}_per_gpu` in its place",), stage)
    elif micro * parallel < gpus:
        exception = (
            plain or f"ValueError: ppo_micro_batch_size ({micro}) * ulysses_sequence_parallel_size ({parallel}) must be >= n_gpus ({gpus})"
        )
        message = f"`{key}` is {micro}, less than the {gpus} GPUs"
        yield Refusal("VRL018", (key,), message, exception, (f"set `{key}_per_gpu` in its place",), stage)


def choices(tree: ComposedConfig, sizes: Sizes) -> Iterator[Refusal]:
    """Values that are not among those that verl accepts."""
    modes = (*LOSS_MODES, "token-sum") if tree.since(0, 9) else LOSS_MODES
    key = f"{ACTOR}.loss_agg_mode"
    mode = tree.value(key, LOSS_MODES[0])
    if isinstance(mode, str) and mode not in modes and tree.since(0, 4):
        text = f"Invalid loss_agg_mode: {mode}"
        exception = f"{INSTANTIATION} ...: ValueError('{text}')" if tree.since(0, 6) else f"AssertionError: {text}"
        stage = CONFIG if tree.since(0, 6) else INIT
        yield Refusal("VRL011", (key,), f"`{key}` is {mode}, not one of {', '.join(modes)}", exception, ("set one of these",), stage)
    for name in ("warmup_style", "lr_scheduler_type"):
        key = f"{ACTOR}.optim.{name}"
        schedule = tree.value(key)
        if isinstance(schedule, str) and schedule not in ("constant", "cosine"):
            exception = f"{INSTANTIATION} ...: AssertionError()" if tree.since(0, 6) else "NotImplementedError"
            stage = CONFIG if tree.since(0, 6) else INIT
            yield Refusal("VRL011", (key,), f"`{key}` is {schedule}, not constant or cosine", exception, (f"set `{key}=cosine`",), stage)
    name = f"{ROLLOUT}.name"
    if tree.is_missing(name):
        exception = f"omegaconf.errors.MissingMandatoryValue: Missing mandatory value: {name}"
        yield Refusal("VRL019", (name,), f"`{name}` has no default and is not set", exception, (f"set `{name}=vllm` or sglang",), INIT)
    key = "algorithm.kl_ctrl.type"
    control = tree.value(key)
    if isinstance(control, str) and control not in KL_CONTROLS and tree.is_true("algorithm.use_kl_in_reward") and tree.since(0, 4):
        message = f"`{key}` is {control}, not one of {', '.join(KL_CONTROLS)}"
        yield Refusal("VRL011", (key,), message, "NotImplementedError", (f"set `{key}=fixed`",), INIT)
    mode_key = f"{ROLLOUT}.mode"
    if tree.since(0, 7) and tree.value(mode_key) == "sync":
        text = "Rollout mode 'sync' has been removed"
        yield Refusal(
            "VRL011",
            (mode_key,),
            f"`{mode_key}=sync` was removed",
            f'{INSTANTIATION} ...: ValueError("{text}")',
            (f"set `{mode_key}=async`",),
            INIT,
        )


def padding_free(tree: ComposedConfig, sizes: Sizes) -> Iterator[Refusal]:
    """Sequence parallelism requires `use_remove_padding` of the model."""
    if not sizes.is_fsdp:
        return
    stage = CONFIG if tree.since(0, 6) else INIT
    text = "When using sequence parallelism for actor/ref policy, you must enable `use_remove_padding`."
    kind = "ValueError" if tree.since(0, 6) else "AssertionError"
    key = "actor_rollout_ref.model.use_remove_padding"
    for section in (ACTOR,) if tree.since(0, 6) else (ACTOR, REF):
        own = f"{section}.ulysses_sequence_parallel_size"
        if (tree.integer(own, 1) or 0) > 1 and tree.is_true(key) is False:
            yield Refusal("VRL020", (own, key), f"`{own}` above 1 requires `{key}=True`", f"{kind}: {text}", (f"set `{key}=True`",), stage)
            return
    own = "critic.ulysses_sequence_parallel_size"
    if uses_critic(tree) and (tree.integer(own, 1) or 0) > 1 and tree.is_true("critic.model.use_remove_padding") is False:
        text = "When using sequence parallelism for critic, you must enable `use_remove_padding`."
        message = f"`{own}` above 1 requires `critic.model.use_remove_padding=True`"
        yield Refusal("VRL020", (own,), message, f"{kind}: {text}", ("set `critic.model.use_remove_padding=True`",), stage)


def sampling(tree: ComposedConfig, sizes: Sizes) -> Iterator[Refusal]:
    """Validation that samples needs a temperature above 0; vLLM's LoRA ranks have a limit."""
    key = f"{ROLLOUT}.temperature"
    temperature = tree.value(key)
    if tree.is_true(f"{ROLLOUT}.val_kwargs.do_sample") and isinstance(temperature, (int, float)) and temperature <= 0:
        text = "validation gen temperature should be greater than 0 when enabling do_sample"
        stage = CONFIG if tree.since(0, 6) else INIT
        message = f"`{key}` is {temperature}, but `val_kwargs.do_sample` needs one above 0"
        yield Refusal("VRL021", (key,), message, f"AssertionError: {text}", (f"set `{key}` above 0",), stage)
    rank_key = "actor_rollout_ref.model.lora_rank"
    rank = tree.integer(rank_key, 0) or 0
    if tree.since(0, 6, 1) and rank > LARGEST_LORA and tree.value(f"{ROLLOUT}.name") == "vllm":
        text = "AssertionError: LoRA rank in vLLM must be less than or equal to 512" if not tree.since(0, 7) else "ValueError"
        yield Refusal(
            "VRL021", (rank_key,), f"`{rank_key}` is {rank}; vLLM accepts at most {LARGEST_LORA}", text, ("set a smaller rank",), CONFIG
        )


def data(tree: ComposedConfig, sizes: Sizes) -> Iterator[Refusal]:
    """The training set has at least one batch."""
    if sizes.steps_per_epoch != 0:
        return
    message = f"`{BATCH}` is {sizes.loader_batch}, more than the {sizes.rows} examples of the training set"
    if tree.since(0, 9):
        yield Refusal("VRL022", (BATCH,), message, "ZeroDivisionError: integer division or modulo by zero", ("set a smaller batch",), STEP)
    else:
        yield Refusal("VRL022", (BATCH,), message, "AssertionError: Train dataloader is empty!", ("set a smaller batch",), INIT)


def rollout_groups(tree: ComposedConfig, sizes: Sizes) -> Iterator[Refusal]:
    """The GPUs are a multiple of those of one inference engine."""
    gpus = sizes.gpus
    if not sizes.is_fsdp and not (sizes.is_megatron and tree.since(0, 4)):
        return
    key = f"{ROLLOUT}.tensor_model_parallel_size"
    names = ["tensor_model_parallel_size"]
    if tree.since(0, 6):
        names += ["data_parallel_size"]
    if tree.since(0, 7):
        names += ["pipeline_model_parallel_size"]
    product = 1
    for name in names:
        size = tree.integer(f"{ROLLOUT}.{name}", 1)
        if size is None or not gpus:
            return
        product *= size
    word = "infer_world_size" if tree.since(0, 6) else "infer_tp"
    if product and gpus and gpus % product:
        message = f"`{key}` makes groups of {product} GPUs, which do not divide the {gpus} of the run"
        exception = f"AssertionError: rollout world_size: {gpus} is not divisible by {word}: {product}"
        yield Refusal("VRL023", (key,), message, exception, (f"set `{key}` to a divisor of {gpus}",), INIT)
    elif product == 0:
        yield Refusal("VRL023", (key,), f"`{key}` is 0", "ZeroDivisionError: integer division or modulo by zero", (f"set `{key}=1`",), INIT)


def workers(tree: ComposedConfig, sizes: Sizes) -> Iterator[Refusal]:
    """The mini batch of a GPU consists of complete micro batches."""
    if sizes.is_megatron:
        yield from megatron_workers(tree, sizes)
    if not sizes.is_fsdp:
        return
    gpus, parallel = sizes.gpus, sizes.sequence_parallel()
    if gpus and parallel and parallel > gpus:
        key = f"{ACTOR}.ulysses_sequence_parallel_size"
        message = f"`{key}` is {parallel}, more than the {gpus} GPUs"
        stage = STEP if sizes.engine else INIT
        yield Refusal(
            "VRL029",
            (key,),
            message,
            "ZeroDivisionError: integer division or modulo by zero",
            (f"set `{key}` to a divisor of {gpus}",),
            stage,
        )
        return
    if sizes.engine:
        yield from engine_workers(tree, sizes)
        return
    for section in [ACTOR, *([CRITIC] if uses_critic(tree) else [])]:
        key, mini = f"{section}.ppo_mini_batch_size", sizes.mini_per_gpu(section)
        micro = sizes.micro(section) if tree.since(0, 4) or tree.value(f"{section}.ppo_micro_batch_size") is not None else None
        if mini == 0:
            exception = "AssertionError: ppo_mini_batch_size 0 should be larger than 0 after normalization"
            yield Refusal("VRL024", (key,), f"`{key}` has less than one sample for each GPU", exception, (f"set a larger `{key}`",), INIT)
        elif mini and micro is not None and micro > 0 and mini % micro:
            message = f"`{key}` is {mini} samples on each GPU, not a multiple of the micro batch {micro}"
            exception = f"AssertionError: normalized ppo_mini_batch_size {mini} should be divisible by ppo_micro_batch_size_per_gpu {micro}"
            micro_key = f"{section}.ppo_micro_batch_size_per_gpu"
            yield Refusal("VRL024", (micro_key, key), message, exception, (f"set `{micro_key}` to a divisor of {mini}",), INIT)
        elif mini and micro == 0:
            message = f"`{section}.ppo_micro_batch_size` has less than one sample for each GPU"
            exception = "ZeroDivisionError: integer division or modulo by zero"
            yield Refusal(
                "VRL024", (f"{section}.ppo_micro_batch_size",), message, exception, (f"set `{section}.ppo_micro_batch_size_per_gpu`",), INIT
            )


def megatron_workers(tree: ComposedConfig, sizes: Sizes) -> Iterator[Refusal]:
    """The sizes that Megatron-LM itself refuses.

    Source: megatron-core 0.12.1 core/parallel_state.py:630-702 (initialize_model_parallel).
    """
    replica = sizes.replica()
    if replica and sizes.gpus and sizes.gpus % replica and not (tree.since(0, 4) and sizes.is_dynamic is False):
        key = f"{ACTOR}.megatron.tensor_model_parallel_size"
        exception = f"RuntimeError: world_size ({sizes.gpus}) is not divisible by {replica}"
        message = f"{counted(sizes.gpus, 'GPU')} do not divide into Megatron-LM replicas of {replica}"
        yield Refusal("VRL013", (key,), message, exception, ("choose sizes whose product divides the GPUs",), INIT)
        return
    names = ("expert_tensor", "expert_model", "pipeline_model")
    etp, ep, pp = (tree.integer(f"{ACTOR}.megatron.{name}_parallel_size", 1) for name in names)
    etp = etp if etp is not None else tree.integer(f"{ACTOR}.megatron.tensor_model_parallel_size")
    key = f"{ACTOR}.megatron.expert_model_parallel_size"
    if etp and ep and pp and sizes.gpus and sizes.gpus % (etp * ep * pp):
        size = etp * ep * pp
        exception = (
            f"RuntimeError: decoder world_size ({sizes.gpus}) is not divisible by expert_tensor_model_pipeline_parallel size ({size})"
        )
        message = f"{counted(sizes.gpus, 'GPU')} do not divide into groups of {size} (expert tensor x expert x pipeline parallel size)"
        yield Refusal("VRL013", (key,), message, exception, ("choose sizes whose product divides the GPUs",), INIT)
    key = f"{ACTOR}.megatron.virtual_pipeline_model_parallel_size"
    if tree.integer(key) and pp == 1:
        exception = "RuntimeError: pipeline-model-parallel size should be greater than 1 with interleaved schedule"
        message = f"`{key}` requires `pipeline_model_parallel_size` above 1"
        yield Refusal("VRL013", (key,), message, exception, (f"remove `{key}`",), INIT)
    if sizes.engine:
        yield from engine_workers(tree, sizes)


def engine_workers(tree: ComposedConfig, sizes: Sizes) -> Iterator[Refusal]:
    """From 0.8 on the workers take the micro batches of a GPU only, and the same kind of batches for training and rollout."""
    log_dynamic = tree.is_true(f"{ROLLOUT}.log_prob_use_dynamic_bsz")
    key = f"{ROLLOUT}.log_prob_use_dynamic_bsz"
    if sizes.is_dynamic is not None and log_dynamic is not None and sizes.is_dynamic != log_dynamic:
        message = f"`{key}` differs from `{DYNAMIC_NAME}`"
        yield Refusal("VRL025", (key, DYNAMIC_NAME), message, "AssertionError", (f"remove `{key}`: it follows `{DYNAMIC_NAME}`",), INIT)
    if sizes.is_dynamic is not False:
        return
    for every, each in ((GLOBAL_MICRO, MICRO), (f"{ROLLOUT}.{LOG_PROB}", f"{ROLLOUT}.{LOG_PROB}_per_gpu")):
        if tree.value(each) is None and tree.value(every) is not None:
            message = f"`{every}` is not read from verl 0.8.0 on, and `{each}` is not set"
            yield Refusal("VRL018", (every,), message, "AssertionError", (f"set `{each}`",), INIT)


def first_step(tree: ComposedConfig, sizes: Sizes) -> Iterator[Refusal]:
    """What the first step divides comes out even."""
    if not sizes.has_workers:
        return
    yield from chunks(tree, sizes)
    if sizes.engine:
        yield from engine_step(tree, sizes)
    elif sizes.is_megatron and (each := sizes.mini_per_gpu()) is not None:
        yield from complete_minis(sizes.step_samples, sizes.data_parallel(), each)


def complete_minis(total: int | None, parallel: int | None, each: int) -> Iterator[Refusal]:
    """The samples of a rank are complete mini batches."""
    if not total or not parallel or total % parallel:
        return
    own = total // parallel
    if not each:
        exception = "ZeroDivisionError: integer division or modulo by zero"
        yield Refusal("VRL024", (MINI,), f"`{MINI}` has less than one sample for each GPU", exception, (f"set a larger `{MINI}`",), STEP)
    elif own % each:
        exception = f"AssertionError: {own} % {each} != 0"
        message = f"a step has {own} samples on each GPU, which are no complete mini batches of {each}"
        yield Refusal("VRL027", (MINI, BATCH), message, exception, (f"set `{MINI}` to a divisor of `{BATCH}`",), STEP)


def chunks(tree: ComposedConfig, sizes: Sizes) -> Iterator[Refusal]:
    """Prompts and samples are sent to the workers in equal parts."""
    batch, gpus = sizes.loader_batch if not sizes.engine else sizes.batch, sizes.gpus
    if batch is None or not gpus or sizes.samples is None:
        return
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
    total, parts = sizes.step_samples, sizes.data_parallel() if sizes.engine or sizes.is_megatron else gpus
    if total is not None and parts and not v1 and total % parts:
        yield unequal(BATCH, total, parts, f"{parts} data-parallel ranks")


def unequal(key: str, size: int, parts: int, shown: str) -> Refusal:
    """The refusal of a batch that does not divide into equal parts."""
    message = f"a step has {size} samples, which do not divide among {shown}"
    exception = f"AssertionError: only support equal chunk. Got size of DataProto {size} and chunk {parts}."
    return Refusal("VRL026", (key, BATCH, SAMPLES), message, exception, (f"make `{BATCH}` x `{SAMPLES}` a multiple of {parts}",), STEP)


def engine_step(tree: ComposedConfig, sizes: Sizes) -> Iterator[Refusal]:
    """From 0.8 on the samples of a rank consist of complete micro batches and, in 0.8, complete mini batches."""
    total, parallel, padding, mini = sizes.step_samples, sizes.data_parallel(), sizes.padding, sizes.mini_samples()
    if total is None or not parallel or padding is None or (total + padding) % parallel:
        return
    own = (total + padding) // parallel
    keys = [f"{ROLLOUT}.{LOG_PROB}_per_gpu"] if sizes.is_dynamic is False else []
    if uses_reference(tree) and tree.is_true(f"{REF}.log_prob_use_dynamic_bsz") is False:
        keys.append(f"{REF}.{LOG_PROB}_per_gpu")
    for key in keys:
        yield from uneven_micro(key, tree.integer(key), own, "step")
    if not mini:
        return
    if mini % parallel:
        message = f"`{MINI}` x `{SAMPLES}` is {mini}, not a multiple of the {parallel} data-parallel ranks"
        exception = f"AssertionError: Got mini_batch_size={mini} and self.engine.get_data_parallel_size()={parallel}"
        yield Refusal(
            "VRL024", (MINI, SAMPLES), message, exception, (f"set `{MINI}` so that the product is a multiple of {parallel}",), STEP
        )
        return
    each = mini // parallel
    if own % each:
        yield from complete_minis(total + padding, parallel, each)
    elif sizes.is_dynamic is False:
        yield from uneven_micro(MICRO, tree.integer(MICRO), each, "mini batch")


def uneven_micro(key: str, micro: int | None, size: int, what: str) -> Iterator[Refusal]:
    """The refusal of a micro batch that does not divide what a GPU gets."""
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
            name = key.rpartition(".")[2]
            kind = target.rpartition(".")[2]
            exception = f"TypeError(\"{kind}.__init__() got an unexpected keyword argument '{name}'\")"
            if section.endswith(".model") and not sizes.engine:
                exception = f"omegaconf.errors.ConfigKeyError: Key '{name}' not in '{kind}'"
            else:
                exception = f"{INSTANTIATION} '{target}': {exception}"
            yield Refusal("VRL030", (key,), f"`{key}` is not a field of `{kind}`", exception, (f"remove `{key}`",), stage)


def unexpected(tree: ComposedConfig, section: str) -> Iterator[tuple[str, str]]:
    """(key, class) for the keys of a section, and of those in it, that its class does not have."""
    values = tree.raw(section)
    if not isinstance(values, dict):
        return
    target = values.get("_target_")
    fields = tree.fields_of(target) if isinstance(target, str) else set()
    for name, value in values.items():
        if fields and name not in fields and not str(name).startswith("_"):
            yield f"{section}.{name}", str(target)
        elif isinstance(value, dict):
            yield from unexpected(tree, f"{section}.{name}")


CHECKS: ConfigValue = (
    keywords,
    numbers,
    strategies,
    reward_managers,
    divisible_batch,
    micro_batches,
    mini_batches,
    choices,
    padding_free,
    sampling,
    data,
    rollout_groups,
    workers,
    first_step,
)
