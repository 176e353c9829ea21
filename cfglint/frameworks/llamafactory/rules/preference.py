"""Rules about requirements of single stages: reward models, preference losses, options of supervised fine-tuning."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.llamafactory.config import LlamaFactoryConfig
from cfglint.frameworks.llamafactory.rules import FROM_083, FROM_090, SMALL, conflict
from cfglint.frameworks.remedies import choice
from cfglint.source.annotations import Iterator
from cfglint.source.numbers import is_number

WITHOUT_REFERENCE = ("orpo", "simpo")
PPO_TRACKERS = ("wandb", "tensorboard", "trackio", "none")
PPO_TRACKS_MORE = Releases((0, 9, 5))  # before, only the first tracker counts, and Trackio is refused
OLD_PPO_TRACKERS = ("wandb", "tensorboard")
SFT_ONLY = {
    "predict_with_generate": (Releases(), "`predict_with_generate` cannot be set as True except SFT."),
    "neat_packing": (FROM_083, "`neat_packing` cannot be set as True except SFT."),
    "train_on_prompt": (FROM_090, "`train_on_prompt` or `mask_history` cannot be set as True except SFT."),
    "mask_history": (FROM_090, "`train_on_prompt` or `mask_history` cannot be set as True except SFT."),
}


@rule("LLF040")
def reward_model_missing(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if config.stage == "ppo" and config.own("reward_model") is None:
        yield Finding(
            config.field("stage"),
            "`stage: ppo` requires `reward_model`",
            depends_on=config.unset("reward_model"),
            help="set `reward_model` to the model that `stage: rm` trained",
        )


@rule("LLF041")
def reward_model_type(config: LlamaFactoryConfig) -> Iterator[Finding]:
    kind = config.own("reward_model_type")
    if config.stage == "ppo" and kind in ("lora", "oft") and config.method != kind and config.own("reward_model") is not None:
        text = f"ValueError: `reward_model_type` cannot be {kind} for Freeze/Full PPO training."
        message = f"`reward_model_type: {kind}` requires `finetuning_type: {kind}`, but it is {config.method}"
        name, other = ("reward_model_type", "finetuning_type")
        if name not in config.values:
            name, other = other, name
        yield conflict(
            config, name, other, message=message, exception=text, needs=("reward_model_type",), remedy="set `reward_model_type: full`"
        )


@rule("LLF042")
def label_smoothing_loss(config: LlamaFactoryConfig) -> Iterator[Finding]:
    smoothing = config.own("dpo_label_smoothing")
    if config.stage == "dpo" and config.own("pref_loss") != "sigmoid" and is_number(smoothing) and smoothing > SMALL:
        message = f"`dpo_label_smoothing` requires `pref_loss: sigmoid`, but it is {config.own('pref_loss')}"
        remedy = "set `pref_loss: sigmoid`, or remove `dpo_label_smoothing`"
        yield Finding(config.field("dpo_label_smoothing"), message, related=(config.field("pref_loss"),), help=remedy)


@rule("LLF043")
def pissa_stage(config: LlamaFactoryConfig) -> Iterator[Finding]:
    compares = config.stage in ("ppo", "kto") or (config.stage == "dpo" and config.own("pref_loss") not in WITHOUT_REFERENCE)
    if config.own("pissa_init") and compares:
        message = f"`pissa_init` is incompatible with `stage: {config.stage}`"
        yield Finding(config.field("pissa_init"), message, related=(config.field("stage"),), help="set `pissa_init: false`")


@rule("LLF044")
def supervised_only_option(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if config.stage == "sft":
        return
    for name, (releases, text) in SFT_ONLY.items():
        if config.own_version in releases and config.own(name):
            message = f"`{name}` requires `stage: sft`, but it is {config.stage}"
            yield conflict(config, name, "stage", message=message, exception=f"ValueError: {text}", remedy=f"set `{name}: false`")


@rule("LLF045")
def prediction_without_generation(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if config.stage == "sft" and config.arguments["do_predict"] and not config.own("predict_with_generate"):
        unset = config.unset("predict_with_generate")
        message = "`do_predict` requires `predict_with_generate` with `stage: sft`"
        remedy = "set `predict_with_generate: true`, or set `do_predict: false`"
        yield Finding(config.field("do_predict"), message, depends_on=unset, help=remedy)


@rule("LLF046")
def best_model_stage(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if config.stage in ("rm", "ppo") and config.arguments["load_best_model_at_end"]:
        message = f"`load_best_model_at_end` is incompatible with `stage: {config.stage}`"
        remedy = "set `load_best_model_at_end: false`"
        yield Finding(config.field("load_best_model_at_end"), message, related=(config.field("stage"),), help=remedy)


@rule("LLF047")
def ppo_option(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if config.stage != "ppo":
        return
    if not config.trains:
        text = "ValueError: PPO training does not support evaluation, use the SFT stage to evaluate models."
        message = "`stage: ppo` requires `do_train`"
        yield conflict(config, "stage", message=message, exception=text, needs=("do_train",), remedy="set `do_train: true`")
    if config.own("shift_attn"):
        text = "ValueError: PPO training is incompatible with S^2-Attn."
        message = "`shift_attn` is incompatible with `stage: ppo`"
        yield conflict(config, "shift_attn", "stage", message=message, exception=text, remedy="set `shift_attn: false`")
    for name, title in (("use_kt", "KTransformers"), ("use_unsloth", "Unsloth")):
        if config.own(name) and config.own("reward_model_type") == "lora":
            text = f"ValueError: {title} does not support lora reward model."
            message = f"`{name}` is incompatible with `reward_model_type: lora`, the default of `stage: ppo`"
            remedy = f"set `reward_model_type: full`, or set `{name}: false`"
            yield conflict(config, name, "reward_model_type", message=message, exception=text, needs=("reward_model_type",), remedy=remedy)
    many = config.own_version in PPO_TRACKS_MORE
    accepted = PPO_TRACKERS if many else OLD_PPO_TRACKERS
    for tracker in config.arguments.trackers if many else config.arguments.trackers[:1]:
        if tracker not in accepted:
            text = f"ValueError: PPO only accepts {'wandb, tensorboard, or trackio' if many else 'wandb or tensorboard'} logger."
            message = f"`report_to: {tracker}` is incompatible with `stage: ppo`"
            yield conflict(config, "report_to", "stage", message=message, exception=text, remedy=choice("report_to", tracker, accepted))
            return
