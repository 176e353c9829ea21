"""Rules about checks of older releases that the newest one no longer has."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.llamafactory.config import LlamaFactoryConfig
from cfglint.frameworks.llamafactory.rules import conflict
from cfglint.frameworks.remedies import excludes, one_off
from cfglint.frameworks.versions import dotted, parse_version
from cfglint.source.annotations import Iterator
from cfglint.source.numbers import is_number

TRANSFORMERS_OF_PACKING = (4, 53, 0)
IMAGES_BY_SWITCH = Releases((), (0, 9, 0))
DORA_WITHOUT_UNSLOTH = Releases((), (0, 8, 2))
STORAGES = ("s3", "gs", "gcs")
BITS = {"quantization_bit": (8, 4), "export_quantization_bit": (8, 4, 3, 2)}


@rule("LLF100")
def template_missing(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if config.stage != "pt" and config.own("template") is None:
        yield Finding(
            config.field("stage"),
            f"`template` is required by LLaMA-Factory {dotted(config.own_version)} with `stage: {config.stage}`",
            depends_on=config.unset("template"),
            help="set `template` to the template of the model, such as llama3",
        )


@rule("LLF101")
def split_tokens_of_fast_tokenizer(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if config.own("split_special_tokens") and config.own("use_fast_tokenizer"):
        yield conflict(
            config,
            "split_special_tokens",
            message="`split_special_tokens` requires `use_fast_tokenizer: false`",
            exception="ValueError: `split_special_tokens` is only supported for slow tokenizers.",
            needs=("use_fast_tokenizer",),
            remedy="set `use_fast_tokenizer: false`, or remove `split_special_tokens`",
        )


@rule("LLF102")
def projector_only_with_adapter(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if config.own("train_mm_proj_only") and config.method != "full":
        yield conflict(
            config,
            "train_mm_proj_only",
            "finetuning_type",
            message=f"`train_mm_proj_only` requires `finetuning_type: full`, but it is {config.method}",
            exception="ValueError: `train_mm_proj_only` is only valid for full training.",
            needs=("finetuning_type",),
            remedy="set `finetuning_type: full`, or remove `train_mm_proj_only`",
        )


@rule("LLF103")
def neat_packing_with_new_transformers(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if not config.own("neat_packing") or config.version < TRANSFORMERS_OF_PACKING:
        return
    yield Finding(
        config.field("neat_packing"),
        f"`neat_packing` is incompatible with transformers {dotted(config.version)} in LLaMA-Factory {dotted(config.own_version)}",
        help="set `neat_packing: false`, or install transformers 4.52.4 or LLaMA-Factory 0.9.5",
    )


@rule("LLF104")
def option_refused_by_old_release(config: LlamaFactoryConfig) -> Iterator[Finding]:
    mixed = next((name for name in ("fp16", "bf16") if config.arguments[name]), None)
    if config.own("pure_bf16") and mixed is not None:
        text = "ValueError: Turn off mixed precision training when using `pure_bf16`."
        message = f"`pure_bf16` is incompatible with `{mixed}: true`"
        yield conflict(config, "pure_bf16", mixed, message=message, exception=text, remedy=f"set `{mixed}: false`")
    if config.trains and config.own("predict_with_generate"):
        text = "ValueError: `predict_with_generate` cannot be set as True while training."
        remedy = "set `predict_with_generate: false`"
        yield excludes(config.field("predict_with_generate"), config.field("do_train"), remedy, exception=text)
    for name, accepted in BITS.items():
        if config.own(name) not in (None, *accepted):
            most = "4-bit or 8-bit" if name == "quantization_bit" else "2/3/4/8-bit"
            text = f"AssertionError: We only accept {most} quantization."
            message = f"`{name}` is {config.own(name)}; it must be one of {', '.join(map(str, accepted))}"
            yield conflict(config, name, message=message, exception=text, remedy=f"set `{name}: {accepted[0]}`")
    reserved, length = config.own("reserved_label_len"), config.own("cutoff_len")
    if is_number(reserved) and is_number(length) and reserved >= length:
        text = "ValueError: `reserved_label_len` must be smaller than `cutoff_len`."
        message = f"`reserved_label_len` is {reserved}, but it must be smaller than `cutoff_len` ({length})"
        yield conflict(
            config,
            "reserved_label_len",
            "cutoff_len",
            message=message,
            exception=text,
            needs=("reserved_label_len", "cutoff_len"),
            remedy="set a smaller `reserved_label_len`",
        )


@rule("LLF105")
def images_refused_by_old_release(config: LlamaFactoryConfig) -> Iterator[Finding]:
    pairs = (
        (IMAGES_BY_SWITCH, "visual_inputs", "use_unsloth", "Unsloth does not support MLLM yet. Stay tuned."),
        (IMAGES_BY_SWITCH, "visual_inputs", "packing", "Cannot use packing in MLLM fine-tuning."),
        (DORA_WITHOUT_UNSLOTH, "use_dora", "use_unsloth", "Unsloth does not support DoRA."),
    )
    for releases, name, other, text in pairs:
        if config.own_version in releases and config.own(name) and config.own(other):
            yield excludes(config.field(name), config.field(other), one_off(other, name), exception=f"ValueError: {text}")


@rule("LLF106")
def unknown_ray_storage(config: LlamaFactoryConfig) -> Iterator[Finding]:
    value = config.own("ray_storage_filesystem")
    if value is not None and value not in STORAGES:
        end = "." if config.own_version >= parse_version("0.9.4") else ""
        yield Finding(
            config.field("ray_storage_filesystem"),
            f"`ray_storage_filesystem` is {value}; it must be one of {', '.join(STORAGES)}",
            exception=f"ValueError: ray_storage_filesystem must be one of ['s3', 'gs', 'gcs'], got {value}{end}",
            help="set `ray_storage_filesystem: s3`, gs or gcs",
        )
