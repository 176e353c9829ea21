"""Rules about options that are incompatible with several processes, DeepSpeed or other engines (`get_train_args`)."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.rule import Example, Finding, config_error
from cfglint.frameworks.llamafactory.config import LlamaFactoryConfig
from cfglint.frameworks.llamafactory.rules import APOLLO_KNOWN, BASE, FROM_083, FROM_090, KIND, conflict
from cfglint.frameworks.remedies import excludes, one_off
from cfglint.source.annotations import Iterator

FULL = BASE + "finetuning_type: full\n"
ZERO3 = '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 3}}\n'
ZERO2 = '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}\n'
ENGINES_LISTED = Releases((0, 9, 3))  # before, only vllm is refused
EXCLUDES_ZERO3 = {
    "predict_with_generate": (FROM_090, "`predict_with_generate` is incompatible with DeepSpeed ZeRO-3."),
    "pissa_init": (FROM_083, "Please use scripts/pissa_init.py to initialize PiSSA in DeepSpeed ZeRO-3."),
    "pure_bf16": (FROM_083, "`pure_bf16` is incompatible with DeepSpeed ZeRO-3."),
    "use_unsloth": (Releases((0, 8, 0)), "Unsloth is incompatible with DeepSpeed ZeRO-3."),
    "use_kt": (Releases((0, 9, 4)), "KTransformers is incompatible with DeepSpeed ZeRO-3."),
}


@config_error(
    "LLF060",
    source="llamafactory 0.9.5 hparams/parser.py:368-413",
    bad=(
        {"train.yaml": FULL + "pure_bf16: true\ndeepspeed: ds.json\n", "ds.json": ZERO3},
        Example({"train.yaml": FULL + "use_unsloth: true\ndeepspeed: ds.json\n", "ds.json": ZERO3}, at="/use_unsloth"),
        Example({"train.yaml": BASE + "pissa_init: true\ndeepspeed: ds.json\n", "ds.json": ZERO3}, at="/pissa_init"),
    ),
    good={"train.yaml": FULL + "pure_bf16: true\ndeepspeed: ds.json\n", "ds.json": ZERO2},
    example={**KIND, "gpus": 8, "at": "/pure_bf16"},
)
def zero3_conflict(config: LlamaFactoryConfig) -> Iterator[Finding]:
    """`predict_with_generate`, `pissa_init`, `pure_bf16`, `use_unsloth` and `use_kt` do not support ZeRO stage 3."""
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


@config_error(
    "LLF061",
    source="llamafactory 0.9.5 hparams/parser.py:387-399",
    bad=(FULL + "use_badam: true\n", FULL + "use_badam: true\nbadam_mode: ratio\n", FULL + "use_galore: true\ngalore_layerwise: true\n"),
    good=FULL + "use_muon: true\n",
    example={**KIND, "gpus": 8, "at": "/use_badam"},
)
def distributed_optimizer(config: LlamaFactoryConfig) -> Iterator[Finding]:
    """Layer-wise GaLore and APOLLO, and BAdam, do not support several processes; layer-wise BAdam does under ZeRO stage 3."""
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


@config_error(
    "LLF062",
    raises="ValueError: GaLore and APOLLO are incompatible with DeepSpeed yet.",
    source="llamafactory 0.9.5 hparams/parser.py:400",
    bad=(
        {"train.yaml": FULL + "use_apollo: true\noptim: adamw_torch\ndeepspeed: ds.json\n", "ds.json": ZERO2},
        Example(
            {"train.yaml": FULL + "use_badam: true\ntemplate: llama2\ndeepspeed: ds.json\n", "ds.json": ZERO2},
            exception="ValueError: GaLore and BAdam are incompatible with DeepSpeed yet.",
            at="/use_badam",
            facts={"target": {"llamafactory": "0.8.2"}},
        ),
        Example(
            {"train.yaml": FULL + "use_galore: true\ntemplate: llama2\ndeepspeed: ds.json\n", "ds.json": ZERO2},
            exception="ValueError: GaLore is incompatible with DeepSpeed yet.",
            at="/use_galore",
            facts={"target": {"llamafactory": "0.9.1"}},
        ),
    ),
    good={"train.yaml": FULL + "deepspeed: ds.json\n", "ds.json": ZERO2},
    example={**KIND, "gpus": 8, "at": "/use_apollo"},
)
def low_rank_with_deepspeed(config: LlamaFactoryConfig) -> Iterator[Finding]:
    """GaLore and APOLLO are incompatible with DeepSpeed, and before 0.8.3 BAdam is."""
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


@config_error(
    "LLF063",
    releases=FROM_083,
    raises="ValueError: Cannot use `predict_with_generate` and `compute_accuracy` together.",
    source="llamafactory 0.9.5 hparams/parser.py:371",
    bad=BASE + "val_size: 0.1\npredict_with_generate: true\ncompute_accuracy: true\n",
    good=BASE + "val_size: 0.1\ncompute_accuracy: true\n",
    example={**KIND, "at": "/compute_accuracy"},
)
def generation_and_accuracy(config: LlamaFactoryConfig) -> Iterator[Finding]:
    """`predict_with_generate` and `compute_accuracy` are two ways to evaluate that exclude each other."""
    if config.own("predict_with_generate") and config.own("compute_accuracy"):
        remedy = one_off("compute_accuracy", "predict_with_generate")
        yield excludes(config.field("compute_accuracy"), config.field("predict_with_generate"), remedy)


@config_error(
    "LLF064",
    source="llamafactory 0.9.5 hparams/parser.py:374, 406",
    old_names=("inference-option",),
    bad=(
        BASE + "infer_backend: vllm\n",
        BASE + "quantization_bit: 4\nquantization_device_map: auto\n",
        Example(
            BASE + "template: llama3\ninfer_backend: vllm\n",
            exception="ValueError: vLLM backend is only available for API, CLI and Web.",
            facts={"target": {"llamafactory": "0.9.0"}},
        ),
    ),
    good=BASE + "infer_backend: huggingface\n",
    example={**KIND, "at": "/infer_backend"},
)
def inference_option_in_training(config: LlamaFactoryConfig) -> Iterator[Finding]:
    """`infer_backend` vllm or sglang, and `quantization_device_map: auto`, are for inference."""
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
