"""Rules about values that DeepSpeed's own code checks, and about the types of weights, gradients and optimizer states."""

from __future__ import annotations

from cfglint.findings.diagnostic import Fix
from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import described, spelled
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.frameworks.deepspeed.models import FP16
from cfglint.frameworks.deepspeed.optimizers import NATIVE
from cfglint.frameworks.remedies import mistyped, not_attribute, raised_by, remove, replace
from cfglint.source.annotations import Iterator

SHORT_NAMES = {  # of the data types -> their longer ones
    "fp32": ("float32", "float", "torch.float32"),
    "fp16": ("float16", "half", "torch.float16"),
    "bf16": ("bfloat16", "torch.bfloat16"),
    "int8": ("torch.int8",),
}
DTYPES = {name: short for short, names in SHORT_NAMES.items() for name in (short, *names)}
NUMBERS = ("lr", "eps", "weight_decay")
SECTIONS = (
    ("data_efficiency", "data_sampling"),
    ("data_efficiency", "data_routing"),
    ("data_efficiency", "data_sampling", "curriculum_learning"),
    ("data_efficiency", "data_sampling", "dynamic_batching"),
    ("data_efficiency", "data_routing", "random_ltd"),
)
LTD_KEYS = ("total_layer_num", "random_ltd_layer_num", "random_ltd_schedule")
LTD_SCHEDULE_KEYS = ("min_value", "max_value", "schedule_config", "schedule_type")


def dtype(value: object) -> str | None:
    return DTYPES.get(value) if isinstance(value, str) else None


@rule("TYP108")
def invalid_torch_autocast_value(config: DeepSpeedConfig) -> Iterator[Finding]:
    section = config.get("torch_autocast") if config.looks_up("torch_autocast") else None
    section = section if isinstance(section, dict) else {}
    value, names = section.get("dtype", "fp32"), section.get("lower_precision_safe_modules", [])
    if dtype(value) is None:
        raised = f"ValueError: {value!r} is not a valid DtypeEnum"
        text, remedy = f"`torch_autocast.dtype` is {spelled(value)}, not a known data type", set_key("torch_autocast.dtype", "bfloat16")
        yield Finding(config.setting("torch_autocast", "dtype"), text, exception=raised, help=remedy)
    setting = config.setting("torch_autocast", "lower_precision_safe_modules")
    if not isinstance(names, (list, str, dict)):
        raised = f"TypeError: '{type(names).__name__}' object is not iterable"
        yield mistyped(setting, "a list", raised, remove_key(setting.name) | "write a list")
    elif not all(isinstance(name, str) for name in names):
        raised = f"ValueError: Invalid module names for torch autocast: {names}. Expected list of strings."
        yield mistyped(setting, "a list of strings", raised, remove_key(setting.name) | "write a list of strings")


@rule("TYP109")
def breakdown_not_boolean(config: DeepSpeedConfig) -> Iterator[Finding]:
    paths: tuple[tuple[str, ...], ...] = (("wall_clock_breakdown",), ("flops_profiler", "enabled"))
    values = [config.get(*path, default=False) for path in paths]
    one, other = (type(value).__name__ for value in values)
    raised = f"TypeError: unsupported operand type(s) for |: '{one}' and '{other}'"
    for path, value in zip(paths, values, strict=True):
        if not isinstance(value, int):
            setting, word = config.setting(*path), value.lower() if isinstance(value, str) else ""
            fix = replace(setting, word == "true", f"write {word}") if word in ("true", "false") else None
            yield Finding(setting, f"`{setting.name}` is {spelled(value)}; it must be true or false", exception=raised, fix=fix)


@rule("TYP110")
def invalid_autotuning_value(config: DeepSpeedConfig) -> Iterator[Finding]:
    for key in ("results_dir", "exps_dir"):
        if not config.get("autotuning", key, default=True):
            raised = f"AssertionError: {key} cannot be empty"
            remedy = remove_key(f"autotuning.{key}", " for the default")
            yield Finding(config.setting("autotuning", key), f"`autotuning.{key}` is empty", exception=raised, help=remedy)
    info = config.get("autotuning", "model_info")
    if info is not None and not isinstance(info, dict):
        setting = config.setting("autotuning", "model_info")
        yield mistyped(setting, "an object", not_attribute(info, "get"), remove_key("autotuning.model_info"))


@rule("TYP111")
def optimizer_type_not_string(config: DeepSpeedConfig) -> Iterator[Finding]:
    name, params = config.get("optimizer", "type"), config.get("optimizer", "params")
    if name is not None and not isinstance(name, str):
        setting = config.setting("optimizer", "type")
        yield mistyped(setting, "a string", not_attribute(name, "lower"), set_key("optimizer.type", "AdamW") | "another name")
    elif name is not None and params is not None and not isinstance(params, dict):
        setting = config.setting("optimizer", "params")
        yield mistyped(setting, "an object", not_attribute(params, "keys"), 'write an object, such as {"lr": 1e-4}')


@rule("DSP080")
def clipping_not_a_number(config: DeepSpeedConfig) -> Iterator[Finding]:
    value = config.values.get("gradient_clipping", 1.0)
    if isinstance(value, (int, float)) or (value == "auto" and config.open) or not config.has_optimizer:
        return
    setting = config.setting("gradient_clipping")
    raised = f"TypeError: '>' not supported between instances of '{type(value).__name__}' and 'float'"
    text = f"`gradient_clipping` is {described(value)}, not a number"
    fix = unquoted(config, "gradient_clipping")
    remedy = set_key("gradient_clipping", 1.0, ", or to the norm to clip at") | remove_key("gradient_clipping")
    yield Finding(setting, text, exception=raised, fix=fix, help=None if fix else remedy)


def unquoted(config: DeepSpeedConfig, *path: str) -> Fix | None:
    """The fix that removes the quotes of a number; None for a string that is not a number, or that a trainer fills in for "auto"."""
    setting = config.setting(*path)
    if setting.node is None or not setting.node.style or setting.node.raw != setting.value or raised_by(float, setting.value):
        return None
    number = float(setting.value)
    integer = number.is_integer() and "." not in setting.value
    return replace(setting, int(number) if integer else number, "remove the quotes")


@rule("DSP081")
def invalid_steps_per_print(config: DeepSpeedConfig) -> Iterator[Finding]:
    value = config.values.get("steps_per_print")
    if value is None or (value == "auto" and config.open):
        return
    setting = config.setting("steps_per_print")
    if not isinstance(value, (int, float)):
        raised = f"TypeError: unsupported operand type(s) for %: 'int' and '{type(value).__name__}'"
        remedy = "set `steps_per_print` to a number, without quotes" if isinstance(value, str) else None
        yield mistyped(setting, "a number", raised, remedy)
    elif value == 0:
        raised = "ZeroDivisionError: integer modulo by zero"
        text, remedy = "`steps_per_print` is 0; it must be positive or null", "write null to turn printing off"
        yield Finding(setting, text, exception=raised, help=remedy)


@rule("DSP082")
def zenflow_without_zero(config: DeepSpeedConfig) -> Iterator[Finding]:
    if config.stage == 0 and config.zero["zenflow"] is not None:
        raised = "AttributeError: the optimizer has no attribute 'zenflow_need_update'"
        text = "`zenflow` requires ZeRO stage 1, 2 or 3"
        remedy = remove_key("zero_optimization.zenflow") | "use ZeRO"
        yield Finding(config.at("zero_optimization", "zenflow"), text, exception=raised, help=remedy, depends_on=config.rest)


@rule("DSP083")
def optimizer_string_for_number(config: DeepSpeedConfig) -> Iterator[Finding]:
    optimizer = config.optimizer
    if optimizer is None or optimizer.class_name not in NATIVE:
        return
    for key in NUMBERS:
        value = optimizer.arguments.get(key, 0.0)
        if not isinstance(value, (int, float)) and not (value == "auto" and config.open) and key in (optimizer.accepted() or ()):
            call = "create_adam()" if "CPU" in optimizer.class_name else "multi_tensor_adam()"
            setting = config.setting("optimizer", "params", key)
            text = f"`optimizer.params.{key}` is {described(value)}, not a number"
            raised = f"TypeError: {call}: incompatible function arguments."
            note = "the compiled optimizer does not accept a string: it fails at the first step"
            yield Finding(setting, text, exception=raised, note=note, fix=unquoted(config, "optimizer", "params", key))


@rule("TYP113")
def data_efficiency_not_an_object(config: DeepSpeedConfig) -> Iterator[Finding]:
    for path in SECTIONS:
        value = config.get(*path, default={})
        if not isinstance(value, dict) and config.looks_up(*path):
            yield mistyped(config.setting(*path), "an object", not_attribute(value, "get"), remove_key(".".join(path)))


@rule("DSP060")
def curriculum_without_metrics(config: DeepSpeedConfig) -> Iterator[Finding]:
    path = SECTIONS[2]
    if config.get(*path, "enabled") and not config.has(*path, "curriculum_metrics"):
        raised = "AssertionError: Curriculum learning is enabled, curriculum_metrics must be specified"
        remedy = "add `curriculum_metrics`" | set_key(f"{'.'.join(path)}.enabled", False)
        yield Finding(config.setting(*path), "`curriculum_learning` is enabled without `curriculum_metrics`", exception=raised, help=remedy)


@rule("DSP061")
def invalid_dynamic_batching(config: DeepSpeedConfig) -> Iterator[Finding]:
    path = SECTIONS[3]
    section = config.get(*path)
    if not isinstance(section, dict) or not config.looks_up(*path):
        return
    enabled = bool(section.get("enabled"))
    for key in ("min_batch_size", "max_batch_size", *(("max_tokens",) if enabled else ())):
        raised = raised_by(int, section[key]) if key in section else ""
        if raised:
            text = f"`{key}` is {described(section[key])}, not an integer"
            yield Finding(config.setting(*path, key), text, exception=raised, help=f"set `{'.'.join(path)}.{key}` to an integer")
    if enabled and "max_tokens" not in section:
        raised = "AssertionError: Dynamic batching is enabled, so max_tokens must be specified"
        remedy = f"set `{'.'.join(path)}.max_tokens`" | set_key(f"{'.'.join(path)}.enabled", False)
        yield Finding(config.setting(*path), "`dynamic_batching` is enabled without `max_tokens`", exception=raised, help=remedy)


@rule("DSP062")
def incomplete_random_ltd(config: DeepSpeedConfig) -> Iterator[Finding]:
    path = SECTIONS[4]
    section = config.get(*path)
    if not isinstance(section, dict) or not section.get("enabled"):
        return
    for key in LTD_KEYS:
        if key not in section:
            remedy = f"add `{key}`" | set_key(f"{'.'.join(path)}.enabled", False)
            yield Finding(config.setting(*path), f"`random_ltd` is enabled without `{key}`", exception=f"KeyError: '{key}'", help=remedy)
    schedule = section.get("random_ltd_schedule")
    for key in LTD_SCHEDULE_KEYS:
        if isinstance(schedule, dict) and key not in schedule:
            text = f"`random_ltd_schedule` has no `{key}`"
            yield Finding(config.setting(*path, "random_ltd_schedule"), text, exception=f"KeyError: '{key}'", help=f"add `{key}`")
    rates = section.get("layer_token_lr_schedule")
    if isinstance(rates, dict) and rates.get("enabled"):
        setting = config.setting(*path, "layer_token_lr_schedule", "enabled")
        text = "`layer_token_lr_schedule` is enabled, but not implemented in DeepSpeed"
        yield Finding(setting, text, exception="NotImplementedError", help=set_key(setting.name, False))


CHECKED_WITHOUT_OPTIMIZER = (0, 12, 5)  # first release whose BF16_Optimizer checks the type in which it accumulates
OWN_TYPE_WITH_ZERO = (0, 10, 1)  # first release whose ZeRO accumulates in another type than the model's
BF16_MASTER = (0, 18, 3)  # master weights in bf16; those in fp16 no longer at stage 2 alone
BF16_OPTIMIZER_WITHOUT_ZERO = (0, 18, 5)  # it was used for gradients in fp32 before
BF16_WITHOUT_ZERO = (0, 17, 6)  # gradients in bf16 are accumulated without ZeRO
TORCH = {"fp16": "torch.float16", "bf16": "torch.bfloat16", "fp32": "torch.float32", "int8": "torch.int8"}


OLD_MASTER_WEIGHTS = (
    "AssertionError: fp16_master_and_gradients requires optimizer to support keeping fp16 master and gradients while keeping the optimizer"
    " states in fp32."
)
UNRESOLVED = 'no Hugging Face Trainer resolves "auto" for this key'


@rule("PRC102")
def master_weights_need_cpu_adam(config: DeepSpeedConfig) -> Iterator[Finding]:
    stage, optimizer = config.stage, config.optimizer
    fp16 = config.section("fp16")["fp16_master_weights_and_grads"]
    bf16 = config.version >= BF16_MASTER and config.section("bf16")["bf16_master_weights_and_grads"]
    if not (fp16 or bf16) or stage not in (1, 2, 3) or optimizer is None or uses_bf16_optimizer(config):
        return
    if fp16 and bf16:
        raised = "AssertionError: fp16_master_weights_and_gradients and bf16_master_weights_and_gradients are mutually exclusive."
        text = "`fp16_master_weights_and_grads` is incompatible with `bf16_master_weights_and_grads`"
        remedy = remove_key("fp16.fp16_master_weights_and_grads") | remove_key("bf16.bf16_master_weights_and_grads")
        yield Finding(config.at("fp16", "fp16_master_weights_and_grads"), text, exception=raised, help=remedy, depends_on=config.rest)
        return
    offloaded = config.offload != "none"
    if bf16 and config.section("bf16")["bf16_optimizer_states"] and not offloaded:
        return
    if not offloaded or optimizer.class_name != "DeepSpeedCPUAdam":
        section, key = ("fp16", "fp16_master_weights_and_grads") if fp16 else ("bf16", "bf16_master_weights_and_grads")
        raised = f"AssertionError: Master weights feature requires ZeRO-{stage} Offload with DeepSpeedCPUAdam. Current ZeRO-"
        raised += f"{'3 ' if stage == 3 else ''}Offload:{offloaded}"
        if config.version < BF16_MASTER:
            raised = OLD_MASTER_WEIGHTS
        text = f"`{section}.{key}` requires DeepSpeedCPUAdam, an Adam that is offloaded to the CPU"
        remedy = 'set `zero_optimization.offload_optimizer.device` to "cpu" with Adam or AdamW' | remove_key(f"{section}.{key}")
        yield Finding(config.at(section, key), text, exception=raised, help=remedy, depends_on=config.rest)


def uses_bf16_optimizer(config: DeepSpeedConfig) -> bool:
    """Whether the engine uses the bf16 optimizer instead of that of stage 1; it has its own checks (engine.py:2305)."""
    separate = dtype(config.get("data_types", "grad_accum_dtype")) == "fp32"
    offloaded = config.offload == "cpu" and config.version >= OWN_TYPE_WITH_ZERO
    return config.stage == 1 and config.precision == "bf16" and separate and not offloaded


@rule("PRC103")
def invalid_gradient_accumulation_type(config: DeepSpeedConfig) -> Iterator[Finding]:
    value = config.get("data_types", "grad_accum_dtype")
    if value is None or not (config.has_optimizer or config.stage in (1, 2, 3) or (config.stage == 0 and config.precision == "bf16")):
        return
    setting = config.setting("data_types", "grad_accum_dtype")
    found = dtype(value)
    if found is not None and not config.knows_precision:
        return
    if found is None:
        text = f"`data_types.grad_accum_dtype` is {spelled(value)}, not a valid data type"
        choices = f"write one of {', '.join(SHORT_NAMES)}"
        raised = f"ValueError: {value!r} is not a valid DtypeEnum"
        yield Finding(setting, text, exception=raised, help=choices, note=UNRESOLVED if value == "auto" else None, depends_on=config.rest)
    elif uses_bf16_optimizer(config):
        return
    elif config.stage and config.version < OWN_TYPE_WITH_ZERO and config.has_optimizer and found != config.precision:
        raised = "NotImplementedError: Model data type and gradient accumulation data type must be equal to use ZeRO"
        text = f"`data_types.grad_accum_dtype` is {found}; with ZeRO it must be {config.precision}, the model's type"
        remedy = set_key("data_types.grad_accum_dtype", config.precision)
        yield Finding(setting, text, exception=raised, help=remedy, depends_on=config.rest)
    elif config.stage == 0 and config.has_optimizer:
        model, version, needed = config.precision, config.version, config.precision
        if model == "bf16" and version < BF16_OPTIMIZER_WITHOUT_ZERO:  # the one that is asked for, if the release supports it
            needed = found if found == "bf16" and version >= BF16_WITHOUT_ZERO else "fp32"
        if needed != found:
            if version >= BF16_WITHOUT_ZERO:
                raised = f"unsupported mix of model_dtype={TORCH[model]} and grad_accum_dtype={TORCH[found]}"
            elif found == model:
                raised = "Bfloat16 wrapper must use a gradient accumulation type of fp32, enable ZeRO to use Bfloat16 gradient accumulation"
            else:
                raised = "unsupported mix of model dtype and gradient accumulation type"
            text = f"`data_types.grad_accum_dtype` is {found}; without ZeRO it must be {needed}"
            text += ", the model's type" if needed == model else " with bf16"
            raised, remedy = f"NotImplementedError: {raised}", set_key("data_types.grad_accum_dtype", needed)
            yield Finding(setting, text, exception=raised, help=remedy, depends_on=config.rest)
    elif config.stage == 0 and not config.has_optimizer and found == "fp16" and config.version >= CHECKED_WITHOUT_OPTIMIZER:
        raised = f"AssertionError: BF16Optimizer: Unsupported gradient accumulation data type: {TORCH[found]}"
        text = f"`data_types.grad_accum_dtype` is {found}; it must be fp32 or bf16 with bf16 and without an optimizer"
        yield Finding(setting, text, exception=raised, help=set_key("data_types.grad_accum_dtype", "fp32"), depends_on=config.rest)


@rule("PRC104")
def invalid_parameter_dtype(config: DeepSpeedConfig) -> Iterator[Finding]:
    for key in ("param_dtype", "buffer_dtype"):
        value = config.get("data_types", key)
        if value is None or not config.looks_up("data_types", key) or (key == "buffer_dtype" and config.precision == "fp32"):
            continue
        setting = config.setting("data_types", key)
        found = dtype(value)
        if found is None:
            text = f"`data_types.{key}` is {spelled(value)}, not a valid data type"
            raised = f"ValueError: {value!r} is not a valid DtypeEnum"
            remedy = remove_key(f"data_types.{key}") | f"write one of {', '.join(SHORT_NAMES)}"
            yield Finding(setting, text, exception=raised, note=UNRESOLVED if value == "auto" else None, help=remedy)
        elif key == "param_dtype" and found != config.precision and config.knows_precision:
            raised = f"AssertionError: data_types.param_dtype='{value}' conflicts with the enabled precision mode"
            text = f"`data_types.param_dtype` is {value}, but `fp16` and `bf16` make the model {config.precision}"
            yield Finding(setting, text, exception=raised, fix=remove(setting, "remove `param_dtype`"))


@rule("PRC105")
def enabled_is_auto(config: DeepSpeedConfig) -> Iterator[Finding]:
    if config.open or config.trainer is not None:
        return
    strict = FP16.is_in(config.version)
    for name in ("fp16", "bf16", "bfloat16", "torch_autocast"):
        if config.get(name, "enabled") == "auto":
            state = "off" if strict and name != "torch_autocast" else "on"
            text = f'`{name}.enabled` is "auto", which is not resolved here (no Hugging Face Trainer), so {name} is {state}'
            yield Finding(config.setting(name, "enabled"), text, help=f"set `{name}.enabled` to true or false")


@rule("PRC106")
def two_precisions(config: DeepSpeedConfig) -> Iterator[Finding]:
    if config.get("torch_autocast", "enabled") and config.precision != "fp32":
        setting = config.setting("torch_autocast", "enabled")
        related = config.at(config.precision, "enabled")
        text = f"`torch_autocast.enabled` and `{config.precision}.enabled` are both true"
        note = "the weights are converted, and autocast converts on top of that"
        remedy = set_key("torch_autocast.enabled", False) | set_key(related.name, False)
        yield Finding(setting, text, related=(related,), note=note, help=remedy)


@rule("PRC107")
def ignored_bfloat16(config: DeepSpeedConfig) -> Iterator[Finding]:
    if config.values.get("bf16") is not None and "bfloat16" in config.values:
        reason = "the Trainer sets `bf16`" if config.documents[0].find(("bf16",))[1] is None else "`bf16` is set"
        text = f"`bfloat16` is ignored, because {reason}"
        yield Finding(config.setting("bfloat16"), text, on_key=True, note="its content is not checked", help=remove_key("bfloat16"))
