"""Rules about requirements of single stages: reward models, preference losses, options of supervised fine-tuning."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.rule import Example, Finding, config_error
from cfglint.frameworks.llamafactory.config import LlamaFactoryConfig
from cfglint.frameworks.llamafactory.rules import BASE, FROM_083, FROM_090, KIND, SMALL, conflict
from cfglint.frameworks.remedies import choice
from cfglint.source.annotations import Iterator
from cfglint.source.numbers import is_number

PPO = BASE.replace("sft", "ppo") + "reward_model: org/reward\n"
DPO = BASE.replace("sft", "dpo")
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


@config_error(
    "LLF040",
    raises="ValueError: `reward_model` is necessary for PPO training.",
    source="llamafactory 0.9.5 hparams/finetuning_args.py:580",
    bad=BASE.replace("sft", "ppo"),
    good=PPO,
    example={**KIND, "at": "/stage"},
)
def reward_model_missing(config: LlamaFactoryConfig) -> Iterator[Finding]:
    """Stage ppo requires `reward_model`."""
    if config.stage == "ppo" and config.own("reward_model") is None:
        yield Finding(
            config.field("stage"),
            "`stage: ppo` requires `reward_model`",
            depends_on=config.unset("reward_model"),
            help="set `reward_model` to the model that `stage: rm` trained",
        )


@config_error(
    "LLF041",
    source="llamafactory 0.9.5 hparams/finetuning_args.py:583-587",
    bad=PPO + "finetuning_type: full\n",
    good=PPO + "finetuning_type: full\nreward_model_type: full\n",
    example={**KIND, "at": "/finetuning_type"},
)
def reward_model_type(config: LlamaFactoryConfig) -> Iterator[Finding]:
    """In stage ppo a reward model that is an adapter (lora, the default, or oft) requires the same `finetuning_type`."""
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


@config_error(
    "LLF042",
    raises="ValueError: `dpo_label_smoothing` is only valid for sigmoid loss function.",
    source="llamafactory 0.9.5 hparams/finetuning_args.py:589",
    bad=DPO + "pref_loss: ipo\ndpo_label_smoothing: 0.1\n",
    good=DPO + "pref_loss: sigmoid\ndpo_label_smoothing: 0.1\n",
    example={**KIND, "at": "/dpo_label_smoothing"},
)
def label_smoothing_loss(config: LlamaFactoryConfig) -> Iterator[Finding]:
    """In stage dpo `dpo_label_smoothing` requires `pref_loss: sigmoid`, the default."""
    smoothing = config.own("dpo_label_smoothing")
    if config.stage == "dpo" and config.own("pref_loss") != "sigmoid" and is_number(smoothing) and smoothing > SMALL:
        message = f"`dpo_label_smoothing` requires `pref_loss: sigmoid`, but it is {config.own('pref_loss')}"
        remedy = "set `pref_loss: sigmoid`, or remove `dpo_label_smoothing`"
        yield Finding(config.field("dpo_label_smoothing"), message, related=(config.field("pref_loss"),), help=remedy)


@config_error(
    "LLF043",
    releases=FROM_083,
    raises="ValueError: Cannot use PiSSA for current training stage.",
    source="llamafactory 0.9.5 hparams/finetuning_args.py:574, 601",
    bad=DPO + "pissa_init: true\n",
    good=DPO + "pissa_init: true\npref_loss: orpo\n",
    example={**KIND, "at": "/pissa_init"},
)
def pissa_stage(config: LlamaFactoryConfig) -> Iterator[Finding]:
    """PiSSA changes the base model, so it excludes the stages that compare with it: ppo, kto, and dpo but for orpo and simpo."""
    compares = config.stage in ("ppo", "kto") or (config.stage == "dpo" and config.own("pref_loss") not in WITHOUT_REFERENCE)
    if config.own("pissa_init") and compares:
        message = f"`pissa_init` is incompatible with `stage: {config.stage}`"
        yield Finding(config.field("pissa_init"), message, related=(config.field("stage"),), help="set `pissa_init: false`")


@config_error(
    "LLF044",
    source="llamafactory 0.9.5 hparams/parser.py:316-324",
    bad=(
        DPO + "neat_packing: true\n",
        Example(DPO + "predict_with_generate: true\n", at="/predict_with_generate"),
        Example(DPO + "mask_history: true\n", at="/mask_history"),
    ),
    good=BASE + "neat_packing: true\n",
    example={**KIND, "at": "/neat_packing"},
)
def supervised_only_option(config: LlamaFactoryConfig) -> Iterator[Finding]:
    """`predict_with_generate`, `neat_packing`, `train_on_prompt` and `mask_history` are for stage sft."""
    if config.stage == "sft":
        return
    for name, (releases, text) in SFT_ONLY.items():
        if config.own_version in releases and config.own(name):
            message = f"`{name}` requires `stage: sft`, but it is {config.stage}"
            yield conflict(config, name, "stage", message=message, exception=f"ValueError: {text}", remedy=f"set `{name}: false`")


@config_error(
    "LLF045",
    raises="ValueError: Please enable `predict_with_generate` to save model predictions.",
    source="llamafactory 0.9.5 hparams/parser.py:326",
    bad=BASE + "eval_dataset: other\ndo_predict: true\n",
    good=BASE + "eval_dataset: other\ndo_predict: true\npredict_with_generate: true\n",
    example={**KIND, "at": "/do_predict"},
)
def prediction_without_generation(config: LlamaFactoryConfig) -> Iterator[Finding]:
    """In stage sft `do_predict` requires `predict_with_generate`."""
    if config.stage == "sft" and config.arguments["do_predict"] and not config.own("predict_with_generate"):
        unset = config.unset("predict_with_generate")
        message = "`do_predict` requires `predict_with_generate` with `stage: sft`"
        remedy = "set `predict_with_generate: true`, or set `do_predict: false`"
        yield Finding(config.field("do_predict"), message, depends_on=unset, help=remedy)


@config_error(
    "LLF046",
    raises="ValueError: RM and PPO stages do not support `load_best_model_at_end`.",
    source="llamafactory 0.9.5 hparams/parser.py:329",
    bad=BASE.replace("sft", "rm") + "load_best_model_at_end: true\neval_strategy: epoch\nsave_strategy: epoch\nval_size: 0.1\n",
    good=BASE + "load_best_model_at_end: true\neval_strategy: epoch\nsave_strategy: epoch\nval_size: 0.1\n",
    example={**KIND, "at": "/load_best_model_at_end"},
)
def best_model_stage(config: LlamaFactoryConfig) -> Iterator[Finding]:
    """Stages rm and ppo do not support `load_best_model_at_end`."""
    if config.stage in ("rm", "ppo") and config.arguments["load_best_model_at_end"]:
        message = f"`load_best_model_at_end` is incompatible with `stage: {config.stage}`"
        remedy = "set `load_best_model_at_end: false`"
        yield Finding(config.field("load_best_model_at_end"), message, related=(config.field("stage"),), help=remedy)


@config_error(
    "LLF047",
    source="llamafactory 0.9.5 hparams/parser.py:332-348",
    bad=(
        PPO + "shift_attn: true\n",
        PPO.replace("do_train: true", "do_train: false"),
        PPO + "use_unsloth: true\n",
        PPO + "report_to: mlflow\n",
    ),
    good=PPO + "report_to: wandb\n",
    example={**KIND, "at": "/shift_attn"},
)
def ppo_option(config: LlamaFactoryConfig) -> Iterator[Finding]:
    """Stage ppo supports only training, without shifted attention, and only some trackers.

    `use_kt` and `use_unsloth` do not support a reward model that is a LoRA adapter, which is the default.
    """
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
