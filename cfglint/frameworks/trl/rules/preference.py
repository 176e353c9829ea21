"""Rules about values that the trainers for preferences refuse: DPO, KTO, reward models; and about options that the losses of Liger do not
support: from 1.15 on TRL's trainers have a fused loss of their own instead.
"""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.trl.batch import WITHOUT_KL
from cfglint.frameworks.trl.config import TrlConfig
from cfglint.frameworks.trl.field_operations import adapters as peft
from cfglint.frameworks.trl.rules import losses, of, refused, shown
from cfglint.source.annotations import Iterator

KTO_PAIR_ARGUMENT = Releases((0, 11, 0), (0, 13, 0))  # the constructor compares a parameter that stands for the field


@rule("TRL050")
def dpo_loss_combination(config: TrlConfig) -> Iterator[Finding]:
    yield from refused(config, "TRL050")
    if config.trl_version in KTO_PAIR_ARGUMENT and config.only("dpo") and "kto_pair" in losses(config):
        text = "ValueError: Support for kto_pair has been removed in DPOTrainer. Please use KTOTrainer."
        message = "`loss_type: kto_pair` is not supported by DPO"
        yield Finding(
            of(config, "loss_type"), message, exception=text, help=set_key("loss_type", "sigmoid") | "train with the script `kto`"
        )


SYNC_WITHOUT_MODEL = Releases((0, 9, 2), (0, 29, 0), "DPO without a reference model")
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
    yield from refused(config, "TRL052")
    setting = of(config, "sync_ref_model")
    if not setting.value or any(refusal.kind == "TRL052" and refusal.key == setting.name for refusal in config.refusals):
        return
    if synchronizes(config) and peft(config):
        text = "NotImplementedError: You passed `sync_ref_model=True` while using a PEFT model, which is currently not supported."
        remedy = set_key("sync_ref_model", False) | set_key("use_peft", False)
        yield Finding(setting, "`sync_ref_model` does not support LoRA", related=(of(config, "use_peft"),), exception=text, help=remedy)
    elif config.only("dpo") and config.trl_version in SYNC_WITHOUT_MODEL and peft(config):
        text = "ValueError: You currently cannot use `ref_model=None` with TR-DPO method. Please provide `ref_model`."
        remedy = set_key("sync_ref_model", False) | set_key("use_peft", False)
        yield Finding(
            setting, "`sync_ref_model` is incompatible with `use_peft`", related=(of(config, "use_peft"),), exception=text, help=remedy
        )


STREAMED = {"dpo": Releases((0, 29, 0), of="DPO"), "kto": Releases((1, 3, 0), of="KTO")}


@rule("TRL053")
def precompute_with_streaming(config: TrlConfig) -> Iterator[Finding]:
    checks = config.only(*(name for name, releases in STREAMED.items() if config.trl_version in releases))
    if checks and config.streams and config.arguments["precompute_ref_log_probs"]:
        key = "dataset_streaming" if config.arguments["dataset_streaming"] else "streaming"
        message = "`precompute_ref_log_probs` does not support streamed data"
        remedy = set_key("precompute_ref_log_probs", False) | set_key(key, False)
        yield Finding(of(config, "precompute_ref_log_probs"), message, related=(of(config, key),), help=remedy)


ANY_LOSS = Releases((0, 8, 0), (0, 12, 0), "a micro batch of 1, with every loss")
IN_ORDER = Releases((1, 6, 0), of="another order of the samples")


@rule("TRL054")
def kto_batch(config: TrlConfig) -> Iterator[Finding]:
    yield from refused(config, "TRL054")
    args = config.arguments
    if not config.only("kto") or any(refusal.kind == "TRL054" for refusal in config.refusals):
        return
    if args["loss_type"] == WITHOUT_KL and config.trl_version not in ANY_LOSS:
        return
    micro, order = config.batch.micro_batch, args["train_sampling_strategy"]
    if config.trl_version in IN_ORDER and order != "sequential":
        text = f"ValueError: Loss type `{args['loss_type']!r}` estimates the KL divergence term and requires "
        text += "`train_sampling_strategy='sequential'`"
        message = f'`train_sampling_strategy` is {shown(order)}; KTO requires "sequential"'
        remedy = set_key("train_sampling_strategy", "sequential") | remove_key("train_sampling_strategy")
        yield Finding(of(config, "train_sampling_strategy"), message, exception=text, help=remedy)
    elif isinstance(micro.value, int) and micro.value == 1:
        head = "Batch size is 1 (too small)" if config.trl_version in ANY_LOSS else "Actual (not effective) batch size must be > 1"
        text = f"ValueError: {head}. KTO will not work properly because the KL term will be "
        words = "`per_device_train_batch_size` is 1; KTO requires at least 2"
        advice = "set `per_device_train_batch_size: 2` or more"
        yield Finding(micro, words, exception=f"{text}equivalent to the implied reward.", help=advice)


@rule("TRL059")
def reward_length_missing(config: TrlConfig) -> Iterator[Finding]:
    if config.only("reward") and config.arguments["max_length"] is None and config.arguments.known("max_length"):
        message = "`max_length` is null, and the reward trainer of this release requires a number"
        yield Finding(of(config, "max_length"), message, help=set_key("max_length", 1024))


REWARD_ADAPTERS = (0, 7, 11)  # the first release with `ModelConfig`
ADAPTER_NEEDS_GENERATION = (4, 50, 0)  # from here on transformers' models do not inherit what generation needs


@rule("TRL061")
def reward_adapter_task(config: TrlConfig) -> Iterator[Finding]:
    task = config.arguments["lora_task_type"]
    adapts = config.version >= ADAPTER_NEEDS_GENERATION and config.trl_version >= REWARD_ADAPTERS
    if adapts and config.only("reward") and peft(config) and task in ("CAUSAL_LM", "SEQ_2_SEQ_LM"):
        setting, related = of(config, "lora_task_type"), (of(config, "use_peft"),)
        message = f'`lora_task_type` is {shown(task)}; a reward model with LoRA requires "SEQ_CLS"'
        yield Finding(
            setting, message, related=related, depends_on=config.unset("lora_task_type"), help=set_key("lora_task_type", "SEQ_CLS")
        )


OLD_SWITCH, SWITCH = "use_liger_loss", "use_liger_kernel"
RENAMED_SWITCH = (0, 25, 0)  # from here on `use_liger_kernel` turns Liger's loss on, which `use_liger_loss` sets until 0.28

OLD_ADAPTERS = Releases((0, 17, 0), (0, 18, 0), "`use_peft`")

DPO_ADAPTERS = Releases((0, 29, 0), (1, 8, 0), "DPO, `use_peft`")
KTO_ADAPTERS = Releases((0, 17, 0), (1, 8, 0), "KTO, `use_peft`")


def switch(config: TrlConfig) -> str:
    """The field that turns Liger's loss on in this release, as the file has it."""
    return OLD_SWITCH if config.trl_version < RENAMED_SWITCH else config.arguments.written(SWITCH)


def enabled(config: TrlConfig) -> bool:
    name = OLD_SWITCH if config.trl_version < RENAMED_SWITCH else SWITCH
    return bool(config.arguments[name]) and config.arguments.known(name)


def with_adapters(config: TrlConfig, exception: str) -> Finding:
    """The finding that Liger's loss does not support LoRA."""
    related, remedy = (of(config, switch(config)),), set_key(switch(config), False) | remove_key("use_peft")
    message = f"`use_peft` is not supported with `{switch(config)}`"
    return Finding(of(config, "use_peft"), message, related=related, exception=exception, help=remedy)


@rule("TRL063")
def liger_with_grpo_option(config: TrlConfig) -> Iterator[Finding]:
    yield from refused(config, "TRL063")
    if config.only("grpo") and enabled(config) and config.trl_version in OLD_ADAPTERS and peft(config):
        yield with_adapters(config, "TypeError: Liger loss is not supported with a PEFT model.")


@rule("TRL064")
def liger_with_preference_option(config: TrlConfig) -> Iterator[Finding]:
    yield from refused(config, "TRL064")
    if len(config.trainers) != 1 or not enabled(config) or not peft(config):
        return
    if config.only("dpo") and config.trl_version in DPO_ADAPTERS:
        yield with_adapters(config, "NotImplementedError: Liger DPO loss is not implemented for PEFT models.")
    elif config.only("kto") and config.trl_version in KTO_ADAPTERS:
        name = OLD_SWITCH if config.trl_version < RENAMED_SWITCH else SWITCH
        yield with_adapters(config, f"ValueError: You cannot use `{name}=True` with Peft models.")
