"""The checks that ms-swift makes of its arguments before it builds a trainer, in the order in which a run reaches them.

Source: ms-swift 4.6.0 arguments/rlhf_args.py, arguments/base_args/, arguments/sft_args.py, trainers/arguments.py,
rlhf_trainers/args_mixin.py; the releases are those whose source has the check.
"""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.frameworks.refusal import Refusal
from cfglint.frameworks.swift.arguments import PLUGINS
from cfglint.frameworks.swift.batch import GENERATING, GRPO, SIZE, STEPS, generation
from cfglint.frameworks.swift.fields import MODELS, TEMPLATES
from cfglint.frameworks.unknown import Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cfglint.frameworks.swift.config import SwiftConfig

MODEL, DATA, DEVICES, JSON = "SWF010", "SWF011", "SWF012", "SWF013"
FSDP, ATTENTION, QUANTIZATION, CONFLICT = "SWF014", "SWF015", "SWF016", "SWF017"
METHOD, ROLLOUT, GENERATIONS, NAME = "SWF018", "SWF019", "SWF020", "SWF021"
VALUE = "SWF022"

MODEL_NAMED = Releases((4, 5, 3))  # before, the message has an unmatched backtick
CACHED = Releases((3, 7))
DEVICE_MAP = Releases((3, 2, 1))  # before, the message calls it MP
RAY = Releases((3, 10))
LIGER_CHECKED = Releases((3, 5))
VLLM_CHECKED = Releases((3, 6))
GKD_VLLM = Releases((3, 10))
PADDING = Releases((3, 5))
SEVERAL_FLASH = Releases((3, 7))
FLASH_4 = Releases((4, 2))
FP8 = Releases((3, 6))
LAZY = Releases((3, 7))
WARMUP = Releases((4, 5))
TRUNCATION_LEFT = Releases((3, 3, 1), (3, 7))
TRUNCATION_ASSERTED = Releases((3, 7), (4,))
TRUNCATION = Releases((4,))
VLLM_MODE = Releases((3, 11, 1))
SERVER = Releases((3, 5))
ASYNC = Releases((3, 5))
OWN_GENERATIONS = Releases((4, 2))  # before, a class of its library checks them
TEACHER = Releases((4, 4))
SEQUENCE = Releases((3, 8))
PACKED = Releases((3, 8))
LOSSES = Releases((3, 7))
SEQ_KD = Releases((4, 4))
LABELS = Releases((3, 0, 2))
SCALING_NAMES = Releases((3, 7))
SCALINGS = ("linear", "dynamic", "yarn")
REFERENCE = Releases((3, 2, 1))
WITH_REFERENCE = ("dpo", "kto", "ppo", "grpo")
WITH_SEQUENCE_PARALLEL = ("grpo", "dpo")
WITH_PADDING_FREE = ("grpo", "dpo", "kto", "gkd")
ONLY_FLASH_ATTN = 'ValueError: The "{}" feature needs to be used in conjunction with "flash_attn". Please specify `--attn_impl flash_attn`.'
NOT_EQUAL = "ValueError: generation_batch_size ({}) must equal per_device_train_batch_size * world_size * steps_per_generation = {}."
NOT_DIVISIBLE = "ValueError: generation_batch_size ({}) must be evenly divisible by num_generations ({}). Valid values: {}."
TOO_FEW = (
    "ValueError: GRPO requires at least 2 generations per prompt to calculate the advantages. You provided {}, which is less than the"
    " minimum required."
)
WITH_VLLM = "ValueError: {} with vLLM is not compatible with `device_map`. Please set NPROC_PER_NODE equal to num_processes."
NO_SEQUENCE = (
    "NotImplementedError: The current rlhf_type '{}' does not support sequence_parallel. Please set --sequence_parallel_size to 1."
)
NO_PACKING = (
    "NotImplementedError: The current rlhf_type '{}' does not support padding_free/packing. Please set --padding_free/packing to false."
)
FLASH = ("flash_attn", "flash_attention_2", "flash_attention_3")
SHARDED = "SHARDED"
TUNERS = ("lora", "full", "longlora", "adalora", "llamapro", "adapter", "vera", "boft", "fourierft", "reft", "bone")
LOOKED_UP = {"loss_type": "losses", "optimizer": "optimizers", "callbacks": "callbacks", "eval_metric": "metrics"}


def failed(config: SwiftConfig) -> list[Refusal]:
    """The checks that fail."""
    return [each for check in CHECKS for each in check(config)]


def rlhf(config: SwiftConfig) -> Iterator[Refusal]:
    """What preference training refuses of its own arguments first."""
    if config.trainer == GRPO:
        yield from grpo(config)
    if config.trainer in GENERATING:
        yield from rollout(config)
    losses = config.own("loss_type")
    if (
        isinstance(losses, list)
        and len(losses) > 1
        and config.command == "rlhf"
        and config.trainer != "dpo"
        and config.own_version in LOSSES
    ):
        text = f"AssertionError: Multiple loss types ({losses}) are only supported for DPO. Current rlhf_type: {config.trainer}."
        yield Refusal(
            METHOD, ["loss_type", "rlhf_type"], "several values of `loss_type` require `rlhf_type dpo`", text, ["give one `--loss_type`"]
        )


def grpo(config: SwiftConfig) -> Iterator[Refusal]:
    """What GRPO refuses."""
    if config.own("cached_dataset") and config.own_version in CACHED:
        text = "ValueError: cached_dataset is not supported for GRPO."
        yield Refusal(METHOD, ["cached_dataset"], "GRPO does not support `cached_dataset`", text, ["give the data as `--dataset`"])
    strategy = config.own("truncation_strategy")
    allowed = ("left",) if config.own_version in TRUNCATION_LEFT else ("left", "delete")
    checked = any(config.own_version in each for each in (TRUNCATION_LEFT, TRUNCATION_ASSERTED, TRUNCATION))
    if checked and strategy is not None and strategy not in allowed:
        error = "ValueError" if config.own_version in TRUNCATION else "AssertionError"
        text = f"{error}: GRPO requires `truncation_strategy 'left' or 'delete'`, Current value: `truncation_strategy='{strategy}'`."
        if config.own_version in TRUNCATION_LEFT:
            text = f"{error}: GRPO requires `truncation_strategy='left'`,Current value: `truncation_strategy='{strategy}'`."
        message = f"GRPO does not support `truncation_strategy {strategy}`"
        yield Refusal(METHOD, ["truncation_strategy"], message, text, ["set `--truncation_strategy left`"])
    functions = config.own("reward_funcs")
    if isinstance(functions, list) and "soft_overlong" in functions and is_unset(config, "soft_cache_length"):
        text = "AssertionError: The soft_cache_length must be set when using soft overlong rewards."
        message = "the reward `soft_overlong` requires `soft_cache_length`"
        yield Refusal(METHOD, ["reward_funcs"], message, text, ["set `--soft_cache_length` to a number of tokens"])


def is_unset(config: SwiftConfig, name: str) -> bool:
    """Whether a field of the release is known to have no value."""
    return name in config.known and config.arguments.known(name) and config.arguments[name] is None


def rollout(config: SwiftConfig) -> Iterator[Refusal]:
    """The arguments about vLLM."""
    if "vllm_mode" not in config.known or not config.arguments.known("vllm_mode", "use_vllm"):
        return
    mode, used = config.own("vllm_mode"), bool(config.own("use_vllm"))
    if config.own_version in VLLM_MODE and mode is not None and not used:
        text = "ValueError: vllm_mode is not supported when use_vllm is false"
        yield Refusal(
            ROLLOUT,
            ["vllm_mode", "use_vllm"],
            "`vllm_mode` requires `use_vllm true`",
            text,
            ["set `--use_vllm true`", "remove `--vllm_mode`"],
        )
    if config.own_version in VLLM_MODE and mode is None and used:
        text = "ValueError: vllm_mode is required when use_vllm is true"
        yield Refusal(ROLLOUT, ["use_vllm"], "`use_vllm` requires `vllm_mode`", text, ["set `--vllm_mode colocate`"])
    hosts = [name for name in ("vllm_server_host", "vllm_server_base_url") if name in config.known]
    if config.own_version in SERVER and mode == "server" and used and all(is_unset(config, name) for name in hosts):
        yield Refusal(
            ROLLOUT, ["vllm_mode"], "`vllm_mode server` requires `vllm_server_host`", "AssertionError", ["set `--vllm_server_host`"]
        )
    if config.own_version in ASYNC and "async_generate" in config.known and config.own("async_generate") and mode != "server":
        text = "AssertionError: async generate require vllm_mode == server, "
        yield Refusal(
            ROLLOUT, ["async_generate", "vllm_mode"], "`async_generate` requires `vllm_mode server`", text, ["set `--vllm_mode server`"]
        )


def inputs(config: SwiftConfig) -> Iterator[Refusal]:
    """The model and the data that every run needs."""
    if is_unset(config, "model") and not config.own("resume_from_checkpoint") and not config.own("adapters") and may_be_complete(config):
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
    return config.is_whole and not config.own("load_args")


def names(config: SwiftConfig) -> Iterator[Refusal]:
    """Names that the package does not register; plugins may register others."""
    if any(config.own(name) for name in PLUGINS if name in config.known) or not config.is_whole:
        return
    for field, shown, section in (("model_type", "model_type", MODELS), ("template", "template_type", TEMPLATES)):
        value = config.own(field)
        if isinstance(value, str) and value not in config.registered(section):
            text = f"ValueError: {shown}: '{value}' not in ["
            message = f"`{field}` is {value}, which ms-swift does not register"
            yield Refusal(NAME, [field], message, text, [f"remove `--{field}`: it follows from the model"])
    key = config.swift.tuner_key
    value = config.own(key)
    if isinstance(value, str) and value not in (*TUNERS, *config.registered("tuners")):
        text = f"ValueError: Unknown {key}: {value}"
        message = f"`{key}` is {value}, which ms-swift does not have"
        yield Refusal(NAME, [key], message, text, [f"set `--{key} lora` or `--{key} full`"], "init")
    for field, section in LOOKED_UP.items() if config.command != "rlhf" else ():
        found = config.own(field)
        allowed = config.registered(section)
        for value in found if isinstance(found, list) else [found]:
            if allowed and isinstance(value, str) and value not in allowed:
                message = f"`{field}` is {value}, which ms-swift does not register"
                yield Refusal(NAME, [field], message, f"KeyError: '{value}'", [f"use one of {', '.join(allowed)}"], "init")


def task(config: SwiftConfig) -> Iterator[Refusal]:
    """A classifier without a number of classes, and a name of a position scaling that is none."""
    if config.own("task_type") == "seq_cls" and is_unset(config, "num_labels") and config.own_version in LABELS:
        text = "AssertionError: Please pass the parameter `num_labels`."
        yield Refusal(
            VALUE, ["task_type"], "`task_type seq_cls` requires `num_labels`", text, ["set `--num_labels` to the number of classes"]
        )
    scaling = config.own("rope_scaling")
    if isinstance(scaling, str) and scaling.isidentifier() and scaling not in SCALINGS and config.own_version in SCALING_NAMES:
        message = f"`rope_scaling` is {scaling}, not one of {', '.join(SCALINGS)}, or JSON"
        yield Refusal(VALUE, ["rope_scaling"], message, "AssertionError", ["set `--rope_scaling yarn`"])


def quantization(config: SwiftConfig) -> Iterator[Refusal]:
    """Methods of quantization and their bits."""
    method, bits = config.own("quant_method"), config.own("quant_bits")
    if not config.arguments.known("quant_method", "quant_bits") or method in (None, "awq", "gptq", "gptq_v2"):
        return
    if bits is None and (method != "fp8" or config.own_version not in FP8):
        text = "ValueError: Please set the quant_bits. args.quant_bits: None"
        yield Refusal(QUANTIZATION, ["quant_method"], f"`quant_method {method}` requires `quant_bits`", text, ["set `--quant_bits 4`"])
    elif method == "bnb" and bits not in (4, 8):
        text = f"ValueError: bnb not support quant_bits: {bits}"
        yield Refusal(
            QUANTIZATION, ["quant_bits", "quant_method"], f"`quant_method bnb` does not support {bits} bits", text, ["set `--quant_bits 4`"]
        )
    elif method == "quanto" and bits not in (2, 4, 8, "float8"):
        text = "ValueError: quanto quantization only support quant bits 2/4/8/float8"
        message = f"`quant_method quanto` does not support {bits} bits"
        yield Refusal(QUANTIZATION, ["quant_bits", "quant_method"], message, text, ["set `--quant_bits 4`"])


def attention(config: SwiftConfig) -> Iterator[Refusal]:
    """Packing without flash attention, and with lazy tokenization."""
    feature = next((name for name in ("packing", "padding_free") if name in config.known and config.own(name)), "")
    allowed = (
        (*FLASH, "flash_attention_4") if config.own_version in FLASH_4 else FLASH if config.own_version in SEVERAL_FLASH else FLASH[:1]
    )
    if (
        feature
        and config.own_version in PADDING
        and config.arguments.known("attn_impl", feature)
        and config.own("attn_impl") not in allowed
    ):
        names = ", ".join(f'"{each}"' for each in allowed)
        text = f'ValueError: The "{feature}" feature requires a flash attention implementation. Please use one of: {names}.'
        if config.own_version not in SEVERAL_FLASH:
            text = ONLY_FLASH_ATTN.format(feature)
        message = f"`{feature}` requires a flash attention implementation"
        yield Refusal(ATTENTION, [feature, "attn_impl"], message, text, ["set `--attn_impl flash_attn`"])
    if config.own_version in LAZY and config.own("lazy_tokenize"):
        for name, title in (("packing", "Packing"), ("streaming", "Streaming")):
            if config.own(name):
                text = f"ValueError: {title} and lazy_tokenize are incompatible."
                yield Refusal(
                    CONFLICT,
                    ["lazy_tokenize", name],
                    f"`lazy_tokenize` is incompatible with `{name}`",
                    text,
                    ["set `--lazy_tokenize false`"],
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
        yield Refusal(DEVICES, [], message, f"AssertionError: {counts}", [f"set `NPROC_PER_NODE={seen}`", f"make {local} GPUs visible"])
        return
    if not config.is_spread:
        return
    ray = config.own_version in RAY and "use_ray" in config.known and bool(config.own("use_ray"))
    what = "`device_map`" if config.own_version in DEVICE_MAP else "MP"
    remedy = [f"set `NPROC_PER_NODE={seen}`", f"make {local} GPUs visible" if local > 1 else "make one GPU visible"]
    each = f"each process sees {seen // local} GPUs ({seen} visible, {local} {'processes' if local > 1 else 'process'})"
    for name, title in (("deepspeed", "DeepSpeed"), ("fsdp", "FSDP2")):
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
            yield Refusal(
                JSON, [name], message, text, [f"use one of {names}" if names else "name a JSON file", "name a JSON file that exists"][:2]
            )


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
        yield Refusal(FSDP, ["save_only_model", "fsdp"], message, text, ["set `--save_only_model false`"])


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
            VALUE, ["warmup_ratio"], f"`warmup_ratio` is {ratio}, not a fraction below 1", text, [f"set `--warmup_steps {ratio:g}`"]
        )


def generations(config: SwiftConfig) -> Iterator[Refusal]:
    """The sizes of a generation of GRPO."""
    made = generation(config)
    if config.trainer != GRPO or made is None or not config.is_whole or not config.arguments.known("num_generations", SIZE, STEPS):
        return
    own = config.own_version in OWN_GENERATIONS
    micro, world = config.batch.micro_batch.value, config.world_size
    if made.per_prompt < 2 and (not own or config.own_version not in TEACHER):
        text = TOO_FEW.format(made.per_prompt)
        yield Refusal(
            GENERATIONS, ["num_generations"], "GRPO requires `num_generations` of at least 2", text, ["set `--num_generations 8`"]
        )
        return
    if made.per_prompt < 2:
        if not config.own("teacher_model") and not config.own("teacher_model_server"):
            text = "ValueError: num_generations must be greater than 1 for GRPO"
            yield Refusal(
                GENERATIONS, ["num_generations"], "GRPO requires `num_generations` of at least 2", text, ["set `--num_generations 8`"]
            )
        return
    if not isinstance(micro, int) or world is None or not micro * world:
        return
    yield from sizes_of_generation(config, micro * world, own)


def sizes_of_generation(config: SwiftConfig, one: int, own: bool) -> Iterator[Refusal]:
    """The size of a generation against the samples of all processes, and against the completions per prompt."""
    made = generation(config)
    assert made is not None
    size, each = config.own(SIZE), config.own(STEPS)
    if size is not None and each is None and size % one:
        text = f"ValueError: generation_batch_size ({size}) must be divisible by the global batch size ({one})."
        message = f"`{SIZE}` ({size}) is not a multiple of micro batch x processes ({one})"
        yield Refusal(GENERATIONS, [SIZE], message, text, [f"set `--{SIZE}` to a multiple of {one}"])
        return
    if size is not None and each is not None and (not own or size != one * each):
        text = NOT_EQUAL.format(size, one * each)
        if not own:
            text = "ValueError: 'generation_batch_size' and 'steps_per_generation' can not be both configured at the same time"
        yield Refusal(GENERATIONS, [SIZE, STEPS], f"`{SIZE}` and `{STEPS}` are both set", text, [f"remove `--{STEPS}`"])
        return
    if made.size is None:
        return
    if own and made.steps is not None and made.steps <= 0:
        text = f"ValueError: steps_per_generation must be > 0, got {made.steps}."
        key = STEPS if each is not None else "gradient_accumulation_steps"
        yield Refusal(
            GENERATIONS, [key], f"`{key}` is {made.steps}; a generation needs at least one micro batch", text, [f"set `--{key} 1`"]
        )
    elif made.size % made.per_prompt or not made.size:
        text = f"ValueError: generation_batch_size ({made.size}) must be divisible by num_generations ({made.per_prompt})."
        if own:
            valid = [count for count in range(2, made.size + 1) if made.size % count == 0]
            text = NOT_DIVISIBLE.format(made.size, made.per_prompt, valid)
        message = f"a generation has {made.size} completions, not a multiple of `num_generations` ({made.per_prompt})"
        remedy = (
            f"choose `--num_generations`, `--per_device_train_batch_size` and the processes so that {made.per_prompt} divides their product"
        )
        yield Refusal(GENERATIONS, ["num_generations"], message, text, [remedy])
    else:
        yield from evaluation_of_generations(config, made.per_prompt)


def evaluation_of_generations(config: SwiftConfig, per_prompt: int) -> Iterator[Refusal]:
    """The evaluation batch of all processes against the completions per prompt."""
    args, world = config.arguments, config.world_size
    if not args.known("eval_strategy") or args.eval_strategy not in ("steps", "epoch") or world is None:
        return
    group = (config.own("num_generations_eval") if "num_generations_eval" in config.known else None) or per_prompt
    each = config.own("per_device_eval_batch_size")
    if not isinstance(each, int) or not isinstance(group, int) or (each * world) % group == 0:
        return
    valid = [count for count in range(1, each * world + 1) if each * world % count == 0]
    text = (
        f"ValueError: The global eval batch size ({world} x {each}) must be evenly divisible by num_generations_eval ({group}). "
        f"Valid values: {valid}."
    )
    if config.own_version not in OWN_GENERATIONS:
        text = f"ValueError: The global eval batch size ({world} x {each}) must be evenly divisible by"
    message = f"the evaluation batch of all processes ({each * world}) is not a multiple of the completions per prompt ({group})"
    yield Refusal(GENERATIONS, ["per_device_eval_batch_size"], message, text, [f"set `--per_device_eval_batch_size {group}`"])


def after(config: SwiftConfig) -> Iterator[Refusal]:
    """What preference training refuses after the arguments of the trainer."""
    kind = config.trainer
    if config.command != "rlhf" or not config.arguments.known("rlhf_type"):
        return
    if config.sequence_parallel > 1 and kind not in WITH_SEQUENCE_PARALLEL and config.own_version in SEQUENCE:
        text = NO_SEQUENCE.format(kind)
        message = f"`rlhf_type {kind}` does not support sequence parallelism"
        yield Refusal(METHOD, ["sequence_parallel_size", "rlhf_type"], message, text, ["set `--sequence_parallel_size 1`"])
    feature = next((name for name in ("packing", "padding_free") if name in config.known and config.own(name)), "")
    if feature and config.own_version in PACKED and kind not in WITH_PADDING_FREE:
        text = NO_PACKING.format(kind)
        yield Refusal(
            METHOD, [feature, "rlhf_type"], f"`rlhf_type {kind}` does not support `{feature}`", text, [f"set `--{feature} false`"]
        )
    if config.own("seq_kd") and kind == "gkd" and config.own_version in SEQ_KD:
        text = "NotImplementedError: seq_kd=True (Sequential KD with teacher generation) is deprecated."
        yield Refusal(METHOD, ["seq_kd"], "`seq_kd` is no longer implemented", text, ["remove `--seq_kd`"])
    full = config.own(config.swift.tuner_key) == "full"
    without = kind == GRPO and config.own("beta") == 0
    if config.own("ref_model") and not without and not (kind in WITH_REFERENCE and full) and config.own_version in REFERENCE:
        text = "ValueError: CPO/ORPO or LoRA training does not require a ref_model to be passed in."
        message = "`ref_model` is for full training with DPO, KTO, PPO or GRPO"
        yield Refusal(METHOD, ["ref_model", config.swift.tuner_key], message, text, ["remove `--ref_model`"])


def first_steps(config: SwiftConfig) -> Iterator[Refusal]:
    """What the trainer refuses: streamed data without a number of steps."""
    steps = config.own("max_steps")
    if config.streams and isinstance(steps, int) and steps <= 0 and config.trainer != "ppo":
        text = "ValueError: The train_dataset does not implement __len__, max_steps has to be specified."
        yield Refusal(CONFLICT, ["streaming", "max_steps"], "`streaming` requires `max_steps`", text, ["set `--max_steps`"], "init")


CHECKS = (
    rlhf,
    inputs,
    task,
    names,
    quantization,
    attention,
    devices,
    config_json,
    fsdp,
    trainer_arguments,
    generations,
    after,
    first_steps,
)
