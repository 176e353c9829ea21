"""The checks that ms-swift makes of its arguments before it builds a trainer, in the order in which a run reaches them.

Source: ms-swift 4.6.0 arguments/rlhf_args.py, arguments/base_args/, arguments/sft_args.py, trainers/arguments.py,
rlhf_trainers/args_mixin.py; the releases are those whose source has the check.
"""

from __future__ import annotations

from cfglint.evaluate import Unknown
from cfglint.findings.releases import Releases
from cfglint.findings.remedy import Remedy, remove_key, set_key
from cfglint.frameworks.refusal import Refusal
from cfglint.frameworks.swift import preference_checks
from cfglint.frameworks.swift.arguments import PLUGINS
from cfglint.frameworks.swift.batch import GRPO
from cfglint.frameworks.swift.config import SwiftConfig
from cfglint.frameworks.swift.fields import MODELS, TEMPLATES
from cfglint.source.annotations import Iterator

MODEL, DATA, DEVICES, JSON = "SWF010", "SWF011", "SWF012", "SWF013"
FSDP, ATTENTION, QUANTIZATION, CONFLICT = "SWF014", "SWF015", "SWF016", "SWF017"
NAME, VALUE = "SWF021", "SWF022"

MODEL_NAMED = Releases((4, 5, 3))  # before, the message has an unmatched backtick
CACHED = Releases((3, 7))
DEVICE_MAP = Releases((3, 2, 1))  # before, the message calls it MP
RAY = Releases((3, 10))
LIGER_CHECKED = Releases((3, 5))
VLLM_CHECKED = Releases((3, 6))
GKD_VLLM = Releases((3, 10))
PACKING = Releases((3, 4, 1))
PADDING = Releases((3, 5))
FSDP_2 = Releases((3, 12))
TEMPLATE_CHECKED = Releases((4,))  # before, its look-up raises
SCALING_LENGTH = Releases((3, 11, 3))
SEVERAL_FLASH = Releases((3, 7))
FLASH_4 = Releases((4, 2))
FP8 = Releases((3, 6))
LAZY = Releases((3, 7))
WARMUP = Releases((4, 5))
LABELS = Releases((3, 0, 2))
SCALING_NAMES = Releases((3, 7))
SCALINGS = ("linear", "dynamic", "yarn")
ONLY_FLASH_ATTN = 'ValueError: The "{}" feature needs to be used in conjunction with "flash_attn". Please specify `--attn_impl flash_attn`.'
WITH_VLLM = "ValueError: {} with vLLM is not compatible with `device_map`. Please set NPROC_PER_NODE equal to num_processes."
FLASH = ("flash_attn", "flash_attention_2", "flash_attention_3")
SHARDED = "SHARDED"
CHECKPOINTS = ("resume_from_checkpoint", "adapters", "ckpt_dir")  # whose arguments `load_args` reads
TUNERS = ("lora", "full", "longlora", "adalora", "llamapro", "adapter", "vera", "boft", "fourierft", "reft", "bone")
OF_TRAINER = ("loss_type", "eval_metric")  # which the trainers of `rlhf` read in their own way
LOOKED_UP = {"loss_type": "losses", "optimizer": "optimizers", "callbacks": "callbacks", "eval_metric": "metrics"}


def failed(config: SwiftConfig) -> list[Refusal]:
    """The checks that fail."""
    return [each for check in CHECKS for each in check(config)]


def inputs(config: SwiftConfig) -> Iterator[Refusal]:
    """The model and the data that every run needs."""
    if config.is_unset("model") and not config.own("resume_from_checkpoint") and not config.own("adapters") and may_be_complete(config):
        end = "" if config.own_version in MODEL_NAMED else "`"
        text = f"ValueError: Please set --model <model_id_or_path>{end}, model: None"
        yield Refusal(MODEL, ["model"], "`--model` is missing", text, ["give `--model` a model id or a path"])
    data = [name for name in ("dataset", "cached_dataset") if name in config.known]
    if config.arguments.known(*data) and not any(config.own(name) for name in data) and may_be_complete(config):
        text = "ValueError: self.dataset: [], self.cached_dataset: []. Please input the training dataset."
        if config.own_version not in CACHED:
            text = "ValueError: self.dataset: [], Please input the training dataset."
        yield Refusal(DATA, ["dataset"], "`--dataset` is missing", text, ["give `--dataset` an id or a path"])


def may_be_complete(config: SwiftConfig) -> bool:
    """Whether the arguments are all known: no word of the line comes from elsewhere, and no checkpoint adds its own."""
    checkpoint = any(config.own(name) for name in CHECKPOINTS if name in config.known)
    return config.is_whole and not (checkpoint and config.own("load_args"))


def names(config: SwiftConfig) -> Iterator[Refusal]:
    """Names that the package does not register; plugins may register others."""
    if any(config.own(name) for name in PLUGINS if name in config.known) or not config.is_whole:
        return
    for field, shown, section in (("model_type", "model_type", MODELS), ("template", "template_type", TEMPLATES)):
        value = config.own(field)
        if isinstance(value, str) and value not in config.registered(section):
            checked = field == "model_type" or config.own_version in TEMPLATE_CHECKED
            text = f"ValueError: {shown}: '{value}' not in [" if checked else f"KeyError: '{value}'"
            message = f"`{field}` is {value}, which ms-swift does not register"
            remedy = [remove_key(field, ": it follows from the model")]
            yield Refusal(NAME, [field], message, text, remedy, "config" if checked else "init")
    key = config.swift.tuner_key
    value = config.own(key)
    if isinstance(value, str) and value not in (*TUNERS, *config.registered("tuners")):
        text = f"ValueError: Unknown {key}: {value}"
        message = f"`{key}` is {value}, which ms-swift does not have"
        yield Refusal(NAME, [key], message, text, [f"set `--{key} lora` or `--{key} full`"], "init")
    for field, section in LOOKED_UP.items():
        found = config.own(field) if config.command != "rlhf" or field not in OF_TRAINER else None
        allowed = config.registered(section)
        for value in found if isinstance(found, list) else [found]:
            if allowed and isinstance(value, str) and value not in allowed:
                message = f"`{field}` is {value}, which ms-swift does not register"
                yield Refusal(NAME, [field], message, f"KeyError: '{value}'", [f"use one of {', '.join(allowed)}"], "init")


def task(config: SwiftConfig) -> Iterator[Refusal]:
    """A classifier without a number of classes, and a name of a position scaling that is none."""
    if config.own("task_type") == "seq_cls" and config.is_unset("num_labels") and config.own_version in LABELS:
        text = "AssertionError: Please pass the parameter `num_labels`."
        yield Refusal(
            VALUE, ["task_type"], "`task_type seq_cls` requires `num_labels`", text, ["set `--num_labels` to the number of classes"]
        )
    scaling = config.own("rope_scaling")
    if isinstance(scaling, str) and scaling.isidentifier() and scaling not in SCALINGS and config.own_version in SCALING_NAMES:
        message = f"`rope_scaling` is {scaling}, not one of {', '.join(SCALINGS)}, or JSON"
        yield Refusal(VALUE, ["rope_scaling"], message, "AssertionError", [set_key("rope_scaling", "yarn")])
    if scaling in SCALINGS and config.is_unset("max_model_len") and config.own_version in SCALING_LENGTH:
        text = 'AssertionError: max_model_len must be set if rope_scaling does not contain a "factor"'
        message = f"`rope_scaling {scaling}` requires `max_model_len`"
        yield Refusal(VALUE, ["rope_scaling"], message, text, ["set `--max_model_len`, the tokens that the model shall take"])


def quantization(config: SwiftConfig) -> Iterator[Refusal]:
    """Methods of quantization and their bits."""
    method, bits = config.own("quant_method"), config.own("quant_bits")
    if not config.arguments.known("quant_method", "quant_bits") or method in (None, "awq", "gptq", "gptq_v2"):
        return
    if bits is None and (method != "fp8" or config.own_version not in FP8):
        text = "ValueError: Please set the quant_bits. args.quant_bits: None"
        yield Refusal(QUANTIZATION, ["quant_method"], f"`quant_method {method}` requires `quant_bits`", text, [set_key("quant_bits", 4)])
    elif method == "bnb" and bits not in (4, 8):
        text = f"ValueError: bnb not support quant_bits: {bits}"
        yield Refusal(
            QUANTIZATION,
            ["quant_bits", "quant_method"],
            f"`quant_method bnb` does not support {bits} bits",
            text,
            [set_key("quant_bits", 4)],
        )
    elif method == "quanto" and bits not in (2, 4, 8, "float8"):
        text = "ValueError: quanto quantization only support quant bits 2/4/8/float8"
        message = f"`quant_method quanto` does not support {bits} bits"
        yield Refusal(QUANTIZATION, ["quant_bits", "quant_method"], message, text, [set_key("quant_bits", 4)])


def attention(config: SwiftConfig) -> Iterator[Refusal]:
    """Packing without flash attention, and with lazy tokenization."""
    feature = next((name for name in ("packing", "padding_free") if name in config.known and config.own(name)), "")
    allowed = (
        (*FLASH, "flash_attention_4") if config.own_version in FLASH_4 else FLASH if config.own_version in SEVERAL_FLASH else FLASH[:1]
    )
    if (
        feature
        and config.own_version in (PACKING if feature == "packing" else PADDING)
        and config.arguments.known("attn_impl", feature)
        and config.own("attn_impl") not in allowed
    ):
        names = ", ".join(f'"{each}"' for each in allowed)
        text = f'ValueError: The "{feature}" feature requires a flash attention implementation. Please use one of: {names}.'
        if config.own_version not in SEVERAL_FLASH:
            text = ONLY_FLASH_ATTN.format(feature)
        message = f"`{feature}` requires a flash attention implementation"
        yield Refusal(ATTENTION, [feature, "attn_impl"], message, text, [set_key("attn_impl", "flash_attn")])
    if config.own_version in LAZY and config.own("lazy_tokenize"):
        for name, title in (("packing", "Packing"), ("streaming", "Streaming")):
            if config.own(name):
                text = f"ValueError: {title} and lazy_tokenize are incompatible."
                yield Refusal(
                    CONFLICT,
                    ["lazy_tokenize", name],
                    f"`lazy_tokenize` is incompatible with `{name}`",
                    text,
                    [set_key("lazy_tokenize", False)],
                )
                return


def devices(config: SwiftConfig) -> Iterator[Refusal]:
    """Several GPUs for each process, over which the model is spread: DeepSpeed, FSDP, Liger and vLLM refuse that."""
    if config.devices is None:
        return
    seen, local = config.devices
    counts = f"n_gpu: {seen}, local_world_size: {local}"
    if seen % local:
        message = f"{seen} visible GPUs are not a multiple of {local} processes"
        yield Refusal(DEVICES, [], message, f"AssertionError: {counts}", [set_key("NPROC_PER_NODE", seen), f"make {local} GPUs visible"])
        return
    if not config.is_spread:
        return
    ray = config.own_version in RAY and "use_ray" in config.known and bool(config.own("use_ray"))
    what = "`device_map`" if config.own_version in DEVICE_MAP else "MP"
    remedy: list[Remedy | str] = [set_key("NPROC_PER_NODE", seen), f"make {local} GPUs visible" if local > 1 else "make one GPU visible"]
    each = f"each process sees {seen // local} GPUs ({seen} visible, {local} {'processes' if local > 1 else 'process'})"
    for name, title in (("deepspeed", "DeepSpeed"), *([("fsdp", "FSDP2")] if config.own_version in FSDP_2 else [])):
        if name in config.values and config.values[name] and not ray and not isinstance(config.values[name], Unknown):
            text = f"ValueError: {title} is not compatible with {what}. {counts}."
            yield Refusal(DEVICES, [name], f"`{name}` requires one GPU for each process, but {each}", text, remedy)
            return
    if config.own_version in LIGER_CHECKED and "use_liger_kernel" in config.known and config.own("use_liger_kernel"):
        text = "ValueError: liger_kernel does not support device_map. Please use DDP/DeepSpeed for multi-GPU training."
        yield Refusal(DEVICES, ["use_liger_kernel"], f"`use_liger_kernel` requires one GPU for each process, but {each}", text, remedy)
    since = {GRPO: VLLM_CHECKED, "gkd": GKD_VLLM}.get(config.trainer)
    if since is not None and config.own_version in since and config.own("use_vllm"):
        text = WITH_VLLM.format(config.trainer.upper())
        yield Refusal(DEVICES, ["use_vllm"], f"`use_vllm` requires one GPU for each process, but {each}", text, remedy)


def config_json(config: SwiftConfig) -> Iterator[Refusal]:
    """A value of `--deepspeed` or `--fsdp` that is neither a name, a file, nor JSON."""
    for name in ("deepspeed", "fsdp"):
        value = config.values.get(name)
        if name in config.known and isinstance(value, str) and value and config.is_unreadable(name, value):
            text = "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)"
            names = ", ".join(each for each in config.package_files if each.startswith("fsdp") == (name == "fsdp"))
            message = f"`{name}` is {value}, which is neither a file, JSON, nor one of ms-swift's names"
            remedy = [f"use one of {names}"] if names else []
            yield Refusal(JSON, [name], message, text, [*remedy, "name a JSON file that exists"])


def fsdp(config: SwiftConfig) -> Iterator[Refusal]:
    """FSDP with DeepSpeed, and with a checkpoint form that it cannot write."""
    if not config.values.get("fsdp") or "fsdp" not in config.known or not config.known["fsdp"].own:
        return
    if config.values.get("deepspeed"):
        yield Refusal(
            FSDP,
            ["fsdp", "deepspeed"],
            "`fsdp` is incompatible with `deepspeed`",
            "ValueError: FSDP2 is not compatible with DeepSpeed.",
            ["remove one of them"],
        )
        return
    section = config.arguments["fsdp_config"] if isinstance(config.arguments["fsdp_config"], dict) else None
    kind = section.get("state_dict_type", "SHARDED_STATE_DICT") if section is not None else ""
    if config.own("save_only_model") and SHARDED in str(kind).upper():
        text = "ValueError: FSDP2 with SHARDED_STATE_DICT is not compatible with save_only_model=True."
        message = "`save_only_model` requires `state_dict_type: FULL_STATE_DICT` in the FSDP config"
        yield Refusal(FSDP, ["save_only_model", "fsdp"], message, text, [set_key("save_only_model", False)])


def trainer_arguments(config: SwiftConfig) -> Iterator[Refusal]:
    """Warm-up given twice."""
    ratio, steps = (config.values.get(name) for name in ("warmup_ratio", "warmup_steps"))
    if config.own_version not in WARMUP or not isinstance(ratio, (int, float)) or not ratio:
        return
    if isinstance(steps, (int, float)) and steps:
        text = "ValueError: `warmup_ratio` and `warmup_steps` cannot be set at the same time."
        message = "`warmup_ratio` and `warmup_steps` are both set"
        yield Refusal(CONFLICT, ["warmup_ratio", "warmup_steps"], message, text, ["remove one of them"])
    elif ratio >= 1:
        text = f"ValueError: warmup_ratio: {ratio} must be less than 1. Use `--warmup_steps` to specify an absolute number of warmup steps."
        yield Refusal(
            VALUE,
            ["warmup_ratio"],
            f"`warmup_ratio` is {ratio}, not a fraction below 1",
            text,
            [set_key("warmup_steps", int(ratio) if ratio == int(ratio) else ratio) & remove_key("warmup_ratio")],
        )


def first_steps(config: SwiftConfig) -> Iterator[Refusal]:
    """What the trainer refuses: streamed data without a number of steps."""
    steps = config.own("max_steps")
    if config.streams and isinstance(steps, int) and steps <= 0 and config.trainer != "ppo":
        text = "ValueError: The train_dataset does not implement __len__, max_steps has to be specified."
        yield Refusal(CONFLICT, ["streaming", "max_steps"], "`streaming` requires `max_steps`", text, ["set `--max_steps`"], "init")


CHECKS = (
    preference_checks.first,
    inputs,
    task,
    names,
    quantization,
    attention,
    devices,
    config_json,
    fsdp,
    trainer_arguments,
    preference_checks.generations,
    preference_checks.after,
    first_steps,
)
