"""Rules about values that LLaMA-Factory accepts and then ignores."""

from __future__ import annotations

from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.llamafactory.config import LlamaFactoryConfig
from cfglint.frameworks.llamafactory.field_operations import SMALL
from cfglint.frameworks.llamafactory.releases import ARGUMENTS, HISTORY, arguments
from cfglint.frameworks.releases.history import DEFAULT
from cfglint.frameworks.releases.versions import dotted
from cfglint.frameworks.remedies import insert, remove, replace
from cfglint.source.annotations import Callable, Iterator

Condition = Callable[[LlamaFactoryConfig], bool]


@rule("LLF080")
def nothing_trained(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if config.parsed and not config.trains and not config.evaluates and not config.arguments["do_predict"] and config.stage != "ppo":
        written = "do_train" in config.values
        message = "`do_train` is false" if written else "`do_train` is missing and false by default"
        yield Finding(config.field("do_train"), f"{message}: nothing is trained or evaluated", help=set_key("do_train", True))


@rule("LLF081")
def evaluation_never_run(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if "evaluation_strategy" in config.values:
        return  # the removed name of the strategy is the finding
    size, predicts = config.own("val_size"), config.arguments["do_predict"]
    if config.trains and isinstance(size, (int, float)) and size > SMALL and not config.evaluates and not predicts:
        message = "`val_size` holds samples out of training, but nothing is evaluated"
        yield Finding(config.field("val_size"), message, help=set_key("eval_strategy", "epoch") | remove_key("val_size"))


@rule("LLF082")
def packing_not_used(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if config.own("packing") and config.stage in ("rm", "ppo", "dpo", "kto"):
        message = f"`packing` has no effect with `stage: {config.stage}`"
        note = "the only trace is a `cutoff_len` that is one token shorter"
        yield Finding(config.field("packing"), message, related=(config.field("stage"),), note=note, help=remove_key("packing"))


@rule("LLF083")
def fp8_gather_without_fp8(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if config.own("fp8_enable_fsdp_float8_all_gather") and not config.own("fp8"):
        title = "set fp8: true"
        written = "fp8" in config.values
        fix = replace(config.field("fp8"), True, title, safe=False) if written else insert(config, ("fp8",), True, title, safe=False)
        message = "`fp8_enable_fsdp_float8_all_gather` has no effect without `fp8`"
        yield Finding(config.field("fp8_enable_fsdp_float8_all_gather"), message, fix=fix)


@rule("LLF084")
def overwritten_value(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if config.values.get("remove_unused_columns"):
        setting = config.setting("remove_unused_columns")
        yield Finding(
            setting,
            "`remove_unused_columns` is overridden by LLaMA-Factory, which always sets it to false",
            fix=remove(setting, "remove it", safe=True),
        )
    if config.own("use_mca"):
        message = "`use_mca` is set by the environment variable USE_MCA, not by the file"
        yield Finding(config.field("use_mca"), message, help="remove `use_mca`, and start with USE_MCA=1")


@rule("LLF085")
def interpolation_kept(config: LlamaFactoryConfig) -> Iterator[Finding]:
    for name, value in config.values.items():
        if isinstance(value, str) and "${" in value and name in config.values and config.overridden.get((name,)) is None:
            message = f"`{name}` stays the string `{value[:60]}`: LLaMA-Factory does not resolve it"
            yield Finding(config.setting(name), message, help="write the value itself")


def prefixed(prefix: str) -> tuple[str, ...]:
    """The fields of any release whose names begin with a prefix."""
    return tuple(name for name in HISTORY.names(ARGUMENTS) if name.startswith(prefix))


def is_on(name: str) -> Condition:
    return lambda config: bool(config.own(name))


def in_stage(*stages: str) -> Condition:
    return lambda config: config.stage in stages


# Fields that are used only if another one is set: names, the missing setting, condition.
GROUPS: tuple[tuple[tuple[str, ...], str, Condition], ...] = (
    *((prefixed(f"{name}_"), f"`use_{name}: true`", is_on(f"use_{name}")) for name in ("galore", "apollo", "badam", "swanlab")),
    (prefixed("ppo_"), "`stage: ppo`", in_stage("ppo")),
    (("reward_model", "reward_model_adapters", "reward_model_quantization_bit", "reward_model_type"), "`stage: ppo`", in_stage("ppo")),
    (
        ("ref_model", "ref_model_adapters", "ref_model_quantization_bit"),
        "`stage: dpo`, kto or ppo",
        lambda config: config.stage in ("dpo", "kto", "ppo") or bool(config.own("use_asft_loss")),
    ),
    (("pref_loss", "dpo_label_smoothing", "pref_bco_weight", "ld_alpha"), "`stage: dpo`", in_stage("dpo")),
    (("pref_beta", "pref_ftx"), "`stage: dpo` or kto", in_stage("dpo", "kto")),
    (("kto_chosen_weight", "kto_rejected_weight"), "`stage: kto`", in_stage("kto")),
    (
        ("simpo_gamma",),
        "`stage: dpo` with `pref_loss: simpo`",
        lambda config: config.stage == "dpo" and config.own("pref_loss") == "simpo",
    ),
    (
        ("lora_rank", "lora_alpha", "lora_dropout", "lora_target"),
        "`finetuning_type: lora`",
        lambda config: config.method == "lora" or bool(config.own("adapter_name_or_path")),
    ),
    (("oft_rank", "oft_block_size", "oft_target", "module_dropout"), "`finetuning_type: oft`", lambda config: config.method == "oft"),
    (
        ("freeze_trainable_layers", "freeze_trainable_modules", "freeze_extra_modules"),
        "`finetuning_type: freeze`",
        lambda config: config.method == "freeze" or bool(config.own("use_llama_pro")),
    ),
    (
        ("quantization_type", "double_quantization"),
        "`quantization_bit: 4`",
        lambda config: config.own("quantization_bit") is not None or config.own("quantization_method") != "bnb",
    ),
    (("buffer_size",), "`streaming: true`", is_on("streaming")),
    (("pissa_iter", "pissa_convert"), "`pissa_init: true`", is_on("pissa_init")),
    (("loraplus_lr_embedding",), "`loraplus_lr_ratio`", lambda config: config.own("loraplus_lr_ratio") is not None),
)


@rule("LLF086")
def option_without_its_switch(config: LlamaFactoryConfig) -> Iterator[Finding]:
    fields = arguments(config.own_version)
    for names, needed, holds in GROUPS:
        written = [name for name in names if name in fields and config.values.get(name) is not None]
        used = [name for name in written if config.values[name] != fields[name][DEFAULT]]
        if used and not holds(config):
            first = config.field(used[0])
            others = f" (also {', '.join(f'`{name}`' for name in used[1:])})" if used[1:] else ""
            message = f"`{used[0]}` has no effect without {needed}{others}"
            yield Finding(first, message, help=(f"add {needed}" | remove_key(used[0])) if ": " in needed else remove_key(used[0]))


@rule("LLF087")
def ppo_needs_old_trl(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if config.stage == "ppo" and not any(config.outside(config.framework.package)):  # a copy may require others
        message = f"`stage: ppo` requires trl 0.9.6 or older, but LLaMA-Factory {dotted(config.own_version)} requires trl 0.18.0 or newer"
        note = "LLaMA-Factory fails with either, unless the environment variable DISABLE_VERSION_CHECK=1 turns the checks off"
        yield Finding(config.field("stage"), message, note=note, help="train with `stage: dpo` or kto, or use an older LLaMA-Factory")


@rule("LLF088")
def checkpoint_not_resumed(config: LlamaFactoryConfig) -> Iterator[Finding]:
    value = config.arguments["resume_from_checkpoint"]
    if value is not None and config.stage in ("rm", "ppo") and config.method in ("full", "freeze"):
        message = f"`resume_from_checkpoint` is ignored with `stage: {config.stage}` and `finetuning_type: {config.method}`"
        remedy = f"replace it with `model_name_or_path: {value}`"
        note = "the training begins at step 0"
        yield Finding(config.field("resume_from_checkpoint"), message, related=(config.field("stage"),), note=note, help=remedy)
