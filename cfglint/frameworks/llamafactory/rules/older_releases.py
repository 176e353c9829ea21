"""Rules about checks of older releases that the newest one no longer has."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.rule import Example, ExampleFacts, Finding, config_error
from cfglint.frameworks.llamafactory.config import LlamaFactoryConfig
from cfglint.frameworks.llamafactory.rules import BASE, KIND, conflict
from cfglint.frameworks.remedies import excludes, one_off
from cfglint.frameworks.versions import dotted, parse_version
from cfglint.source.annotations import Iterator
from cfglint.source.numbers import is_number

TEMPLATE_REQUIRED = Releases((), (0, 9, 2))
SLOW_TOKENIZER_REQUIRED = Releases((), (0, 9, 5))
PROJECTOR_ALONE = Releases((0, 8, 0), (0, 9, 2))
PACKING_REFUSED = Releases((0, 9, 4), (0, 9, 5))
TRANSFORMERS_OF_PACKING = (4, 53, 0)
OPTIONS_OF_MODELS = Releases((), (0, 8, 3))  # the last checks of bits, of generation while training, of mixed precision
IMAGES_BY_SWITCH = Releases((), (0, 9, 0))
DORA_WITHOUT_UNSLOTH = Releases((), (0, 8, 2))
STORAGE_CHECKED = Releases((0, 9, 3), (0, 9, 5))
STORAGES = ("s3", "gs", "gcs")
BITS = {"quantization_bit": (8, 4), "export_quantization_bit": (8, 4, 3, 2)}

FULL = BASE + "finetuning_type: full\n"
TEMPLATED = BASE + "template: llama3\n"


def of(release: str, **facts: str) -> ExampleFacts:
    """The facts of an example for a release."""
    return {**KIND, "target": {"llamafactory": release}, "at": facts.get("at", "")}


@config_error(
    "LLF100",
    releases=TEMPLATE_REQUIRED,
    raises="ValueError: Please specify which `template` to use.",
    source="llamafactory 0.9.1 hparams/parser.py (get_train_args)",
    bad=BASE,
    good=TEMPLATED,
    example=of("0.9.1", at="/stage"),
)
def template_missing(config: LlamaFactoryConfig) -> Iterator[Finding]:
    """Before 0.9.2 every stage but pt requires `template`."""
    if config.stage != "pt" and config.own("template") is None:
        yield Finding(
            config.field("stage"),
            f"`template` is required by LLaMA-Factory {dotted(config.own_version)} with `stage: {config.stage}`",
            depends_on=config.unset("template"),
            help="set `template` to the template of the model, such as llama3",
        )


@config_error(
    "LLF101",
    releases=SLOW_TOKENIZER_REQUIRED,
    raises="ValueError: `split_special_tokens` is only supported for slow tokenizers.",
    source="llamafactory 0.9.4 hparams/model_args.py (BaseModelArguments.__post_init__)",
    bad=TEMPLATED + "split_special_tokens: true\n",
    good=TEMPLATED + "split_special_tokens: true\nuse_fast_tokenizer: false\n",
    example=of("0.9.4", at="/split_special_tokens"),
)
def split_tokens_of_fast_tokenizer(config: LlamaFactoryConfig) -> Iterator[Finding]:
    """Before 0.9.5 `split_special_tokens` requires a slow tokenizer, and `use_fast_tokenizer` is true by default."""
    if config.own("split_special_tokens") and config.own("use_fast_tokenizer"):
        yield conflict(
            config,
            "split_special_tokens",
            message="`split_special_tokens` requires `use_fast_tokenizer: false`",
            exception="ValueError: `split_special_tokens` is only supported for slow tokenizers.",
            needs=("use_fast_tokenizer",),
            remedy="set `use_fast_tokenizer: false`, or remove `split_special_tokens`",
        )


@config_error(
    "LLF102",
    releases=PROJECTOR_ALONE,
    raises="ValueError: `train_mm_proj_only` is only valid for full training.",
    source="llamafactory 0.9.1 hparams/finetuning_args.py (__post_init__)",
    bad=TEMPLATED + "train_mm_proj_only: true\n",
    good=FULL + "template: llama3\ntrain_mm_proj_only: true\n",
    example=of("0.9.1", at="/train_mm_proj_only"),
)
def projector_only_with_adapter(config: LlamaFactoryConfig) -> Iterator[Finding]:
    """`train_mm_proj_only`, a key of 0.8.0 to 0.9.1, requires `finetuning_type: full`; the default is lora."""
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


@config_error(
    "LLF103",
    releases=PACKING_REFUSED,
    raises="ValueError: Neat packing is incompatible with transformers>=4.53.0.",
    source="llamafactory 0.9.4 hparams/parser.py (get_train_args)",
    bad=BASE + "neat_packing: true\n",
    good=BASE + "packing: true\n",
    example=of("0.9.4", at="/neat_packing"),
)
def neat_packing_with_new_transformers(config: LlamaFactoryConfig) -> Iterator[Finding]:
    """LLaMA-Factory 0.9.4 refuses `neat_packing` with transformers 4.53.0 and newer; it accepts transformers 4.51.0 to 4.57.1."""
    if not config.own("neat_packing") or config.version < TRANSFORMERS_OF_PACKING:
        return
    yield Finding(
        config.field("neat_packing"),
        f"`neat_packing` is incompatible with transformers {dotted(config.version)} in LLaMA-Factory {dotted(config.own_version)}",
        help="set `neat_packing: false`, or install transformers 4.52.4 or LLaMA-Factory 0.9.5",
    )


@config_error(
    "LLF104",
    source="llamafactory 0.8.2 hparams/parser.py (get_train_args), hparams/model_args.py, hparams/data_args.py (__post_init__)",
    name="option-refused-by-0.8",
    releases=OPTIONS_OF_MODELS,
    bad=(
        TEMPLATED + "finetuning_type: full\npure_bf16: true\nbf16: true\n",
        Example(TEMPLATED + "predict_with_generate: true\n", at="/predict_with_generate"),
        Example(TEMPLATED + "quantization_bit: 3\n", at="/quantization_bit"),
        Example(TEMPLATED + "reserved_label_len: 4096\n", at="/reserved_label_len"),
    ),
    good=TEMPLATED + "finetuning_type: full\npure_bf16: true\n",
    example=of("0.8.2", at="/pure_bf16"),
)
def option_refused_by_old_release(config: LlamaFactoryConfig) -> Iterator[Finding]:
    """Before 0.8.3 `pure_bf16` excludes mixed precision, generation excludes training, and bits and label lengths are checked."""
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


@config_error(
    "LLF105",
    source="llamafactory 0.8.3 hparams/model_args.py (__post_init__), hparams/parser.py (get_train_args)",
    name="images-refused-by-0.8",
    releases=(IMAGES_BY_SWITCH, DORA_WITHOUT_UNSLOTH),
    bad=(
        TEMPLATED + "visual_inputs: true\nuse_unsloth: true\n",
        TEMPLATED + "visual_inputs: true\npacking: true\n",
        Example(TEMPLATED + "use_dora: true\nuse_unsloth: true\n", at="/use_dora", facts={"target": {"llamafactory": "0.8.1"}}),
    ),
    good=TEMPLATED + "visual_inputs: true\n",
    example=of("0.8.3", at="/visual_inputs"),
)
def images_refused_by_old_release(config: LlamaFactoryConfig) -> Iterator[Finding]:
    """Before 0.9.0 `visual_inputs` excludes `use_unsloth` and `packing`; before 0.8.2 `use_dora` excludes `use_unsloth`."""
    pairs = (
        (IMAGES_BY_SWITCH, "visual_inputs", "use_unsloth", "Unsloth does not support MLLM yet. Stay tuned."),
        (IMAGES_BY_SWITCH, "visual_inputs", "packing", "Cannot use packing in MLLM fine-tuning."),
        (DORA_WITHOUT_UNSLOTH, "use_dora", "use_unsloth", "Unsloth does not support DoRA."),
    )
    for releases, name, other, text in pairs:
        if config.own_version in releases and config.own(name) and config.own(other):
            yield excludes(config.field(name), config.field(other), one_off(other, name), exception=f"ValueError: {text}")


@config_error(
    "LLF106",
    source="llamafactory 0.9.4 hparams/training_args.py (RayArguments.__post_init__)",
    releases=STORAGE_CHECKED,
    bad=BASE + "ray_storage_filesystem: hdfs\n",
    good=BASE + "ray_storage_filesystem: s3\n",
    example=of("0.9.4", at="/ray_storage_filesystem"),
)
def unknown_ray_storage(config: LlamaFactoryConfig) -> Iterator[Finding]:
    """`ray_storage_filesystem`, a key of 0.9.3 and 0.9.4, is s3, gs or gcs."""
    value = config.own("ray_storage_filesystem")
    if value is not None and value not in STORAGES:
        end = "." if config.own_version >= parse_version("0.9.4") else ""
        yield Finding(
            config.field("ray_storage_filesystem"),
            f"`ray_storage_filesystem` is {value}; it must be one of {', '.join(STORAGES)}",
            exception=f"ValueError: ray_storage_filesystem must be one of ['s3', 'gs', 'gcs'], got {value}{end}",
            help="set `ray_storage_filesystem: s3`, gs or gcs",
        )
