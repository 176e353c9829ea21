"""Rules about options that are incompatible with a fine-tuning method, adapters, quantization or special optimizers."""

from __future__ import annotations

from cfglint.findings.diagnostic import Fix
from cfglint.findings.releases import Releases
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import spelled
from cfglint.frameworks.huggingface.fields import OPTIMIZERS
from cfglint.frameworks.llamafactory.arguments import comma_list
from cfglint.frameworks.llamafactory.config import LlamaFactoryConfig
from cfglint.frameworks.llamafactory.releases import choices
from cfglint.frameworks.llamafactory.rules import APOLLO_KNOWN, conflict
from cfglint.frameworks.remedies import choice, excludes, insert, one_off, replace
from cfglint.source.annotations import Iterator

STAGE_NAMED = Releases((0, 8, 3))  # in the message about an unknown stage
BADAM_WITHOUT_LORA = Releases((0, 8, 0))
OFT_KNOWN = Releases((0, 9, 4))
PISSA_REFUSED = Releases((0, 8, 2))
LORA_OPTIONS = Releases((0, 8, 3), of="`use_rslora`, `use_dora`, `pissa_init`")
MISSPELT_OPTIMIZER = Releases((), (0, 9, 1))
SWITCHES = ("use_galore", "use_apollo", "use_badam")
LORA_ONLY = ("loraplus_lr_ratio", "use_rslora", "use_dora", "pissa_init")
UNQUANTIZED = {
    "finetuning_type": "set `finetuning_type: lora`, or remove `quantization_bit`",
    "fp8": "set `fp8: false`, or remove `quantization_bit`",
    "pissa_init": "set `pissa_init: false`, or remove `quantization_bit`",
    "resize_vocab": "set `resize_vocab: false`, or remove `quantization_bit`",
    "create_new_adapter": "set `create_new_adapter: false`, or remove `quantization_bit`",
    "adapter_name_or_path": "merge the adapters but one into the model, and name that one",
}
GALORE_OPTIMIZERS = ("adamw_torch", "adamw_bnb_8bit", "adamw_8bit", "paged_adamw_8bit", "adafactor")
APOLLO_OPTIMIZERS = ("adamw_torch",)


def methods(config: LlamaFactoryConfig) -> tuple[str, ...]:
    """The fine-tuning methods of the release."""
    return choices("finetuning_type", config.own_version)


@rule("LLF020")
def unknown_finetuning_type(config: LlamaFactoryConfig) -> Iterator[Finding]:
    known = methods(config)
    if config.method not in known:
        quantized = "set `finetuning_type: lora` and `quantization_bit: 4`"
        remedy = quantized if config.method == "qlora" else choice("finetuning_type", config.method, known)
        message = f"`finetuning_type` is {spelled(config.method)}; it must be one of {', '.join(known)}"
        yield Finding(config.field("finetuning_type"), message, help=remedy)


@rule("LLF021")
def unknown_stage(config: LlamaFactoryConfig) -> Iterator[Finding]:
    stages = choices("stage", config.own_version)
    if config.stage not in stages and config.package not in config.facts.outside:  # a fork may have more
        message = f"`stage` is {spelled(config.stage)}; it must be one of {', '.join(stages)}"
        text = f"ValueError: Unknown task: {config.stage}." if config.own_version in STAGE_NAMED else "ValueError: Unknown task."
        yield Finding(config.field("stage"), message, exception=text, help=choice("stage", config.stage, stages))


@rule("LLF022")
def lora_only_option(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if config.method == "lora" or config.method not in methods(config):
        return
    for name in LORA_ONLY if config.own_version in LORA_OPTIONS else LORA_ONLY[:1]:
        value = config.own(name)
        if value is not None if name == "loraplus_lr_ratio" else value:
            text = f"ValueError: `{name}` is only valid for LoRA training."
            message = f"`{name}` requires `finetuning_type: lora`, but it is {config.method}"
            remedy = f"set `finetuning_type: lora`, or remove `{name}`"
            yield conflict(config, name, "finetuning_type", message=message, exception=text, remedy=remedy)


@rule("LLF023")
def llama_pro_with_full(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if config.own("use_llama_pro") and config.method == "full":
        message = "`use_llama_pro` is incompatible with `finetuning_type: full`"
        remedy = "set `finetuning_type: freeze`, or set `use_llama_pro: false`"
        yield Finding(config.field("use_llama_pro"), message, related=(config.field("finetuning_type"),), help=remedy)


@rule("LLF024")
def special_optimizers(config: LlamaFactoryConfig) -> Iterator[Finding]:
    used = [name for name in SWITCHES if config.own(name)]
    those = "GaLore, APOLLO or BAdam" if config.own_version in APOLLO_KNOWN else "GaLore or BAdam"
    if config.method == "lora" and config.own_version not in BADAM_WITHOUT_LORA:
        used, those = [name for name in used if name == "use_galore"], "GaLore"
    if used and config.method == "lora":
        text = f"ValueError: Cannot use LoRA with {those} together."
        message = f"`{used[0]}` is incompatible with `finetuning_type: lora`" + (
            "" if "finetuning_type" in config.values else ", the default"
        )
        remedy = "set `finetuning_type: full`"
        yield conflict(config, used[0], "finetuning_type", message=message, exception=text, needs=("finetuning_type",), remedy=remedy)
    elif len(used) > 1:
        text = f"ValueError: Cannot use {those if config.own_version in APOLLO_KNOWN else 'GaLore with BAdam'} together."
        yield excludes(config.field(used[1]), config.field(used[0]), one_off(used[0], used[1]), exception=text)


@rule("LLF025")
def low_rank_optimizer(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if not config.trains or not config.parsed or not config.makes_optimizer:
        return
    for name, taken in (("use_galore", GALORE_OPTIMIZERS), ("use_apollo", APOLLO_OPTIMIZERS)):
        if not config.own(name):
            continue
        optimizer = config.arguments.optimizer
        if optimizer not in taken and optimizer in OPTIMIZERS:
            unknown = "Unknow" if config.own_version in MISSPELT_OPTIMIZER else "Unknown"
            text = f"NotImplementedError: {unknown} optim: OptimizerNames.{str(optimizer).upper()}."
            message = f"`{name}` requires `optim: adamw_torch`" + ("" if "optim" in config.values else f" (the default is {optimizer})")
            where = "optim" if "optim" in config.values else name
            unset = config.unset("optim")
            yield Finding(config.field(where), message, exception=text, depends_on=unset, fix=plain_adamw(config))
        return


def plain_adamw(config: LlamaFactoryConfig) -> Fix | None:
    """The fix that writes `optim: adamw_torch`."""
    if "optim" in config.values:
        return replace(config.field("optim"), "adamw_torch", "write adamw_torch", safe=True)
    return insert(config, ("optim",), "adamw_torch", "add optim: adamw_torch", safe=True)


@rule("LLF026")
def layerwise_accumulation(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if not config.trains or config.arguments["gradient_accumulation_steps"] == 1 or not config.makes_optimizer:
        return
    for switch, name, title in (("use_galore", "galore_layerwise", "GaLore"), ("use_apollo", "apollo_layerwise", "APOLLO")):
        if config.own(switch) and config.own(name):
            text = f"ValueError: Per-layer {title} does not support gradient accumulation."
            message = f"`{name}` requires `gradient_accumulation_steps: 1`"
            remedy = f"set `gradient_accumulation_steps: 1`, or set `{name}: false`"
            yield conflict(config, name, "gradient_accumulation_steps", message=message, exception=text, remedy=remedy)
            return


@rule("LLF027")
def adapter_without_lora(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if config.own("adapter_name_or_path") is not None and config.method != "lora" and config.method in methods(config):
        message = f"`adapter_name_or_path` requires `finetuning_type: lora`, but it is {config.method}"
        remedy = "set `finetuning_type: lora`, or remove `adapter_name_or_path`"
        yield Finding(config.field("adapter_name_or_path"), message, related=(config.field("finetuning_type"),), help=remedy)


@rule("LLF028")
def quantization_conflict(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if config.own("quantization_bit") is None:
        return
    for name, message, text in quantization_conflicts(config):
        yield conflict(
            config,
            "quantization_bit",
            name,
            message=f"`quantization_bit` {message}",
            exception=f"ValueError: {text}",
            remedy=UNQUANTIZED[name],
        )


def quantization_conflicts(config: LlamaFactoryConfig) -> Iterator[tuple[str, str, str]]:
    """(other field, message, exception) for each option that is incompatible with a quantized model."""
    adapters = comma_list(config.own("adapter_name_or_path"))
    if config.method in ("freeze", "full"):
        oft = config.own_version in OFT_KNOWN
        text = f"Quantization is only compatible with the LoRA {'or OFT ' if oft else ''}method."
        yield "finetuning_type", f"requires `finetuning_type: lora`{' or oft' if oft else ''}, but it is {config.method}", text
    if config.own("fp8"):
        yield "fp8", "is incompatible with `fp8`", "FP8 training is not compatible with quantization. Please disable one of them."
    if config.own("pissa_init") and config.own_version in PISSA_REFUSED:
        text = "Please use scripts/pissa_init.py to initialize PiSSA for a quantized model."
        yield "pissa_init", "is incompatible with `pissa_init`", text
    if config.own("resize_vocab"):
        yield "resize_vocab", "is incompatible with `resize_vocab`", "Cannot resize embedding layers of a quantized model."
    if adapters is not None and config.own("create_new_adapter"):
        text = "Cannot create new adapter upon a quantized model."
        yield "create_new_adapter", "is incompatible with `create_new_adapter` if `adapter_name_or_path` is set", text
    if isinstance(adapters, list) and len(adapters) != 1:
        text = "Quantized model only accepts a single adapter. Merge them first."
        yield "adapter_name_or_path", f"accepts one adapter, not {len(adapters)}", text


@rule("LLF029")
def model_quantization_bits(config: LlamaFactoryConfig) -> Iterator[Finding]:
    for name in ("ref_model_quantization_bit", "reward_model_quantization_bit"):
        if config.own(name) not in (None, 8, 4):
            yield Finding(
                config.field(name), f"`{name}` is {config.own(name)}; it must be 4 or 8", help=f"set `{name}: 8`, or remove `{name}`"
            )
