"""Rules about values that the trainers for preferences refuse: DPO, KTO, reward models."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.remedies import choice
from cfglint.frameworks.trl.batch import WITHOUT_KL
from cfglint.frameworks.trl.config import TrlConfig
from cfglint.frameworks.trl.field_operations import adapters as peft
from cfglint.frameworks.trl.rules import losses, of, shown
from cfglint.source.annotations import Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.vocabulary import Stage

KTO_PAIR = Releases((0, 9, 6), (0, 29, 0), "kto_pair")
KTO_PAIR_IN_CLASS = (0, 10, 1)  # before, the configuration class refuses it, then the trainer
REWRITTEN = Releases((0, 29, 0), of="exo_pair with `label_smoothing: 0`, and aot with `use_weighting`")
DIVERGENCE = Releases((1, 10, 0), of="`f_divergence_type` with another loss than those of divergences")
DIVERGENCE_NAMES = Releases((0, 24, 0), (0, 28, 0), "an unknown `f_divergence_type`")
DIVERGENCES = ("reverse_kl", "js_divergence", "alpha_divergence")
DIVERGENCE_LOSSES = ("sigmoid", "sigmoid_norm", "hinge", "ipo", "exo_pair", "robust", "discopop", "sft")


@rule("TRL050")
def dpo_loss_combination(config: TrlConfig) -> Iterator[Finding]:
    if not config.only("dpo"):
        return
    args, chosen, setting = config.arguments, losses(config), of(config, "loss_type")
    release, divergence = config.trl_version, args["f_divergence_type"]
    if release in KTO_PAIR and "kto_pair" in chosen:
        text = "ValueError: Support for kto_pair has been removed in DPOTrainer. Please use KTOTrainer."
        remedy = "set `loss_type: sigmoid`, or train with the script `kto`"
        stage: Stage = "config" if release < KTO_PAIR_IN_CLASS else "init"
        yield Finding(setting, "`loss_type: kto_pair` is not supported by DPO", exception=text, help=remedy, fails_at=stage)
    elif release in DIVERGENCE_NAMES and divergence not in DIVERGENCES and args.known("f_divergence_type"):
        yield Finding(
            of(config, "f_divergence_type"),
            f"`f_divergence_type` is {shown(divergence)}, which is not one of {', '.join(DIVERGENCES)}",
            exception=f"ValueError: {divergence!r} is not a valid FDivergenceType",
            fails_at="config",
            help=choice("f_divergence_type", divergence, DIVERGENCES),
        )
    if release not in REWRITTEN:
        return
    if release in DIVERGENCE and divergence != "reverse_kl" and not all(each in DIVERGENCE_LOSSES for each in chosen):
        text = (
            f"ValueError: `f_divergence_type={divergence!r}` is only supported for the following loss types: {sorted(DIVERGENCE_LOSSES)}."
        )
        message = f"`f_divergence_type: {divergence}` does not support the loss {listed_values(chosen)}"
        unset = config.unset("f_divergence_type", "loss_type")
        remedy = "set `f_divergence_type: reverse_kl`, or another `loss_type`"
        yield Finding(of(config, "f_divergence_type"), message, related=(setting,), exception=text, depends_on=unset, help=remedy)
    elif args["use_weighting"] and any(each in ("aot", "aot_unpaired") for each in chosen):
        text = "NotImplementedError: WPO-style weighting is not implemented for 'aot' or 'aot_unpaired'"
        message = f"`use_weighting` does not support the loss {listed_values(chosen)}"
        remedy = "set `use_weighting: false`, or another `loss_type`"
        yield Finding(of(config, "use_weighting"), message, related=(setting,), exception=text, help=remedy)
    elif "exo_pair" in chosen and args["label_smoothing"] == 0.0:
        text = "ValueError: Label smoothing must be greater than 0.0 when using 'exo_pair' loss."
        message = "`loss_type: exo_pair` requires `label_smoothing` above 0"
        unset = config.unset("label_smoothing")
        remedy = "set `label_smoothing: 0.1`, or another `loss_type`"
        yield Finding(setting, message, related=(of(config, "label_smoothing"),), exception=text, depends_on=unset, help=remedy)


def listed_values(values: list[object]) -> str:
    """Values as a list in a message."""
    return ", ".join(map(str, values))


SYNC_WITHOUT_MODEL = Releases((0, 9, 2), (0, 29, 0), "DPO without a reference model")
SYNC_WITH_LOG_PROBS = Releases((0, 13, 0), (0, 29, 0), "DPO with `precompute_ref_log_probs`, from a file")
SYNC_GENERATING = Releases((0, 28, 0), of="GRPO and RLOO")
SYNC: dict[str, Releases] = {
    "dpo": Releases((0, 29, 0), of="DPO with LoRA or with `precompute_ref_log_probs`"),
    "kto": Releases((1, 7, 0), of="KTO with LoRA or with `precompute_ref_log_probs`"),
    "grpo": SYNC_GENERATING,
    "rloo": SYNC_GENERATING,
}


def synchronizes(config: TrlConfig) -> bool:
    """Whether all trainers that the file may be for check `sync_ref_model` in this release."""
    return config.only(*(name for name, releases in SYNC.items() if config.trl_version in releases))


@rule("TRL052")
def reference_model_not_synchronized(config: TrlConfig) -> Iterator[Finding]:
    args = config.arguments
    if not args["sync_ref_model"]:
        return
    setting = of(config, "sync_ref_model")
    head = "You passed `sync_ref_model=True` while"
    checks = synchronizes(config)
    if checks and config.own_sampler and args["beta"] == 0.0 and args.known("beta"):
        text = f"ValueError: {head} `beta=0.0`, which means the reference model is not used during training."
        remedy = "set `beta: 0.04`, or set `sync_ref_model: false`"
        message = "`sync_ref_model` requires `beta` above 0"
        yield Finding(setting, message, related=(of(config, "beta"),), exception=text, depends_on=config.unset("beta"), help=remedy)
    elif checks and peft(config):
        text = f"NotImplementedError: {head} using a PEFT model, which is currently not supported."
        remedy = "set `sync_ref_model: false`, or set `use_peft: false`"
        yield Finding(setting, "`sync_ref_model` does not support LoRA", related=(of(config, "use_peft"),), exception=text, help=remedy)
    elif config.only("dpo") and refuses_old_synchronization(config):
        other = "use_peft" if peft(config) else "precompute_ref_log_probs"
        text = "ValueError: You currently cannot use `ref_model=None` with TR-DPO method. Please provide `ref_model`."
        remedy = f"set `sync_ref_model: false`, or set `{other}: false`"
        message = f"`sync_ref_model` is incompatible with `{other}`"
        yield Finding(setting, message, related=(of(config, other),), exception=text, help=remedy)
    elif checks and config.only("dpo", "kto") and args["precompute_ref_log_probs"]:
        text = "ValueError: You cannot use `sync_ref_model=True` together with `precompute_ref_log_probs=True`."
        related = (of(config, "precompute_ref_log_probs"),)
        remedy = "set `sync_ref_model: false`, or set `precompute_ref_log_probs: false`"
        message = "`sync_ref_model` is incompatible with `precompute_ref_log_probs`"
        yield Finding(setting, message, related=related, exception=text, help=remedy)


def refuses_old_synchronization(config: TrlConfig) -> bool:
    """Whether DPO before its rewriting refuses `sync_ref_model`: there is no reference model with LoRA or precomputed probabilities."""
    if config.trl_version in SYNC_WITHOUT_MODEL and peft(config):
        return True
    return config.trl_version in SYNC_WITH_LOG_PROBS and bool(config.arguments["precompute_ref_log_probs"])


STREAMED = {"dpo": Releases((0, 29, 0), of="DPO"), "kto": Releases((1, 3, 0), of="KTO")}


@rule("TRL053")
def precompute_with_streaming(config: TrlConfig) -> Iterator[Finding]:
    checks = config.only(*(name for name, releases in STREAMED.items() if config.trl_version in releases))
    if checks and config.streams and config.arguments["precompute_ref_log_probs"]:
        key = "dataset_streaming" if config.arguments["dataset_streaming"] else "streaming"
        message = "`precompute_ref_log_probs` does not support streamed data"
        yield Finding(
            of(config, "precompute_ref_log_probs"),
            message,
            related=(of(config, key),),
            help=f"set `precompute_ref_log_probs: false`, or set `{key}: false`",
        )


ANY_LOSS = Releases((0, 8, 0), (0, 12, 0), "a micro batch of 1, with every loss")
IN_ORDER = Releases((1, 6, 0), of="another order of the samples")


@rule("TRL054")
def kto_batch(config: TrlConfig) -> Iterator[Finding]:
    args = config.arguments
    if not config.only("kto") or (args["loss_type"] == WITHOUT_KL and config.trl_version not in ANY_LOSS):
        return
    micro, order = config.batch.micro_batch, args["train_sampling_strategy"]
    if config.trl_version in IN_ORDER and order != "sequential":
        text = f"ValueError: Loss type `{args['loss_type']!r}` estimates the KL divergence term and requires "
        text += "`train_sampling_strategy='sequential'`"
        message = f'`train_sampling_strategy` is {shown(order)}; KTO requires "sequential"'
        yield Finding(
            of(config, "train_sampling_strategy"),
            message,
            exception=text,
            help="set `train_sampling_strategy: sequential`, or remove `train_sampling_strategy`",
        )
    elif isinstance(micro.value, int) and micro.value == 1:
        head = "Batch size is 1 (too small)" if config.trl_version in ANY_LOSS else "Actual (not effective) batch size must be > 1"
        text = f"ValueError: {head}. KTO will not work properly because the KL term will be "
        yield Finding(
            micro,
            "`per_device_train_batch_size` is 1; KTO requires at least 2",
            exception=f"{text}equivalent to the implied reward.",
            help="set `per_device_train_batch_size: 2` or more",
        )


@rule("TRL059")
def reward_length_missing(config: TrlConfig) -> Iterator[Finding]:
    if config.only("reward") and config.arguments["max_length"] is None and config.arguments.known("max_length"):
        yield Finding(
            of(config, "max_length"),
            "`max_length` is null, and the reward trainer of this release requires a number",
            help="set `max_length: 1024`",
        )


REWARD_ADAPTERS = (0, 7, 11)  # the first release with `ModelConfig`
ADAPTER_NEEDS_GENERATION = (4, 50, 0)  # from here on transformers' models do not inherit what generation needs


@rule("TRL061")
def reward_adapter_task(config: TrlConfig) -> Iterator[Finding]:
    task = config.arguments["lora_task_type"]
    adapts = config.version >= ADAPTER_NEEDS_GENERATION and config.trl_version >= REWARD_ADAPTERS
    if adapts and config.only("reward") and peft(config) and task in ("CAUSAL_LM", "SEQ_2_SEQ_LM"):
        setting, related = of(config, "lora_task_type"), (of(config, "use_peft"),)
        message = f'`lora_task_type` is {shown(task)}; a reward model with LoRA requires "SEQ_CLS"'
        yield Finding(setting, message, related=related, depends_on=config.unset("lora_task_type"), help="set `lora_task_type: SEQ_CLS`")
