"""Rules about options that are incompatible with several processes, DeepSpeed or other engines (`get_train_args`)."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.llamafactory.config import LlamaFactoryConfig
from cfglint.frameworks.llamafactory.rules import APOLLO_KNOWN, FROM_083, FROM_090, conflict
from cfglint.frameworks.remedies import excludes, one_off
from cfglint.source.annotations import Iterator

ENGINES_LISTED = Releases((0, 9, 3))  # before, only vllm is refused
EXCLUDES_ZERO3 = {
    "predict_with_generate": (FROM_090, "`predict_with_generate` is incompatible with DeepSpeed ZeRO-3."),
    "pissa_init": (FROM_083, "Please use scripts/pissa_init.py to initialize PiSSA in DeepSpeed ZeRO-3."),
    "pure_bf16": (FROM_083, "`pure_bf16` is incompatible with DeepSpeed ZeRO-3."),
    "use_unsloth": (Releases((0, 8, 0)), "Unsloth is incompatible with DeepSpeed ZeRO-3."),
    "use_kt": (Releases((0, 9, 4)), "KTransformers is incompatible with DeepSpeed ZeRO-3."),
}


@rule("LLF060")
def zero3_conflict(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if not config.zero3:
        return
    for name, (releases, text) in EXCLUDES_ZERO3.items():
        if config.own_version in releases and config.own(name):
            message = f"`{name}` is incompatible with ZeRO stage 3"
            yield conflict(
                config,
                name,
                "deepspeed",
                message=message,
                exception=f"ValueError: {text}",
                remedy=f"set `{name}: false`, or use ZeRO stage 2",
            )


@rule("LLF061")
def distributed_optimizer(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if not config.launched:
        return
    for switch, name, title in (("use_galore", "galore_layerwise", "GaLore"), ("use_apollo", "apollo_layerwise", "APOLLO")):
        if config.own(switch) and config.own(name):
            text = f"ValueError: Distributed training does not support layer-wise {title}."
            yield conflict(
                config, name, message=f"`{name}` is incompatible with several processes", exception=text, remedy=f"set `{name}: false`"
            )
    if not config.own("use_badam"):
        return
    if config.own("badam_mode") == "ratio" and config.own_version not in FROM_083:
        return
    if config.own("badam_mode") == "ratio":
        text = "ValueError: Radio-based BAdam does not yet support distributed training, use layer-wise BAdam."
        yield conflict(
            config,
            "badam_mode",
            message="`badam_mode: ratio` is incompatible with several processes",
            exception=text,
            remedy="set `badam_mode: layer`, and use ZeRO stage 3",
        )
    elif config.zero3 is False or config.own_version not in FROM_083:
        text = "ValueError: Layer-wise BAdam only supports DeepSpeed ZeRO-3 training."
        if config.own_version not in FROM_083:
            text = "ValueError: Layer-wise BAdam does not yet support distributed training, use ratio-wise BAdam."
        message = "`use_badam` requires ZeRO stage 3 when there are several processes"
        yield conflict(
            config,
            "use_badam",
            message=message,
            exception=text,
            needs=("deepspeed",),
            remedy="use ZeRO stage 3 in `deepspeed`, or set `use_badam: false`",
        )


@rule("LLF062")
def low_rank_with_deepspeed(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if config.arguments["deepspeed"] is None:
        return
    names, refused = refused_under_deepspeed(config)
    for name in names:
        if config.own(name):
            yield Finding(
                config.field(name),
                f"`{name}` is incompatible with DeepSpeed",
                exception=f"ValueError: {refused} incompatible with DeepSpeed yet.",
                related=(config.field("deepspeed"),),
                help=f"set `{name}: false`, or remove `deepspeed`",
            )


def refused_under_deepspeed(config: LlamaFactoryConfig) -> tuple[tuple[str, ...], str]:
    """The optimizers that the release refuses under DeepSpeed, and how its message begins."""
    if config.own_version in APOLLO_KNOWN:
        return ("use_galore", "use_apollo"), "GaLore and APOLLO are"
    return (("use_galore",), "GaLore is") if config.own_version in FROM_083 else (("use_galore", "use_badam"), "GaLore and BAdam are")


@rule("LLF063")
def generation_and_accuracy(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if config.own("predict_with_generate") and config.own("compute_accuracy"):
        remedy = one_off("compute_accuracy", "predict_with_generate")
        yield excludes(config.field("compute_accuracy"), config.field("predict_with_generate"), remedy)


@rule("LLF064")
def inference_option_in_training(config: LlamaFactoryConfig) -> Iterator[Finding]:
    every_other = config.own_version in ENGINES_LISTED
    if config.own("infer_backend") != "huggingface" if every_other else config.own("infer_backend") == "vllm":
        text = f"ValueError: {'vLLM/SGLang' if every_other else 'vLLM'} backend is only available for API, CLI and Web."
        message = f"`infer_backend` is {config.own('infer_backend')}; with `do_train` it must be huggingface"
        yield conflict(
            config, "infer_backend", message=message, exception=text, remedy="set `infer_backend: huggingface`, or remove `infer_backend`"
        )
    if config.trains and config.own("quantization_device_map") == "auto":
        text = "ValueError: Cannot use device map for quantized models in training."
        message = "`quantization_device_map: auto` is incompatible with `do_train`"
        yield conflict(
            config, "quantization_device_map", "do_train", message=message, exception=text, remedy="remove `quantization_device_map`"
        )
