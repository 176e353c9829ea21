"""Rules about values that DeepSpeed's own code checks while it reads the config."""

from __future__ import annotations

from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import spelled
from cfglint.frameworks.deepspeed._tables import CHOICES
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.frameworks.remedies import mistyped, not_attribute, replace
from cfglint.source.annotations import Iterator

COMMUNICATION = CHOICES["communication_data_type",]
COMMUNICATION_EARLIER = ("fp16", "bfp16", "fp32")  # before BF16_SINCE
BF16_SINCE = (0, 14, 1)
COMMUNICATION_KEYS = ("communication_data_type", "seq_parallel_communication_data_type", "seq_parallel_comm_data_type")
ALLREDUCE_OPS = CHOICES["gradient_allreduce_op",]
DTYPES = {
    "fp16": "fp16",
    "float16": "fp16",
    "half": "fp16",
    "torch.float16": "fp16",
    "fp32": "fp32",
    "float32": "fp32",
    "float": "fp32",
    "torch.float32": "fp32",
    "bf16": "bf16",
    "bfloat16": "bf16",
    "torch.bfloat16": "bf16",
    "int8": "int8",
    "torch.int8": "int8",
}


def dtype(value: object) -> str | None:
    return DTYPES.get(value) if isinstance(value, str) else None


@rule("TYP108")
def invalid_torch_autocast_value(config: DeepSpeedConfig) -> Iterator[Finding]:
    section = config.values.get("torch_autocast")
    if not isinstance(section, dict) or not config.looks_up("torch_autocast"):
        return
    if "dtype" in section and dtype(section["dtype"]) is None:
        value = section["dtype"]
        setting = config.setting("torch_autocast", "dtype")
        raised = f"ValueError: {value!r} is not a valid DtypeEnum"
        text = f"`torch_autocast.dtype` is {spelled(value)}, not a known data type"
        yield Finding(setting, text, exception=raised, help=set_key("torch_autocast.dtype", "bfloat16"))
    if "lower_precision_safe_modules" not in section:
        return
    names = section["lower_precision_safe_modules"]
    setting = config.setting("torch_autocast", "lower_precision_safe_modules")
    if not isinstance(names, (list, str, dict)):
        raised = f"TypeError: '{type(names).__name__}' object is not iterable"
        yield mistyped(setting, "a list", raised, remove_key(setting.name) | "write a list")
    elif not all(isinstance(name, str) for name in names):
        raised = f"ValueError: Invalid module names for torch autocast: {names}. Expected list of strings."
        yield mistyped(setting, "a list of strings", raised, remove_key(setting.name) | "write a list of strings")


@rule("TYP109")
def breakdown_not_boolean(config: DeepSpeedConfig) -> Iterator[Finding]:
    profiler = config.values.get("flops_profiler", {})
    enabled = profiler.get("enabled", False) if isinstance(profiler, dict) else False
    breakdown = config.values.get("wall_clock_breakdown", False)
    if isinstance(breakdown, int) and isinstance(enabled, int):
        return
    raised = f"TypeError: unsupported operand type(s) for |: '{type(breakdown).__name__}' and '{type(enabled).__name__}'"
    if not isinstance(breakdown, int):
        yield not_boolean(config, ("wall_clock_breakdown",), breakdown, raised)
    if not isinstance(enabled, int):
        yield not_boolean(config, ("flops_profiler", "enabled"), enabled, raised)


def not_boolean(config: DeepSpeedConfig, path: tuple[str, ...], value: object, exception: str) -> Finding:
    setting = config.setting(*path)
    word = value.lower() if isinstance(value, str) else ""
    fix = replace(setting, word == "true", f"write {word}", safe=True) if word in ("true", "false") else None
    return Finding(setting, f"`{setting.name}` is {spelled(value)}; it must be true or false", exception=exception, fix=fix)


@rule("TYP110")
def invalid_autotuning_value(config: DeepSpeedConfig) -> Iterator[Finding]:
    section = config.values.get("autotuning")
    if not isinstance(section, dict):
        return
    for key in ("results_dir", "exps_dir"):
        if not section.get(key, True):
            raised = f"AssertionError: {key} cannot be empty"
            remedy = remove_key(f"autotuning.{key}", " for the default")
            yield Finding(config.setting("autotuning", key), f"`autotuning.{key}` is empty", exception=raised, help=remedy)
    info = section.get("model_info")
    if info is not None and not isinstance(info, dict):
        setting = config.setting("autotuning", "model_info")
        yield mistyped(setting, "an object", not_attribute(info, "get"), remove_key("autotuning.model_info"))


@rule("TYP111")
def optimizer_type_not_string(config: DeepSpeedConfig) -> Iterator[Finding]:
    section = config.values.get("optimizer")
    if not isinstance(section, dict) or section.get("type") is None:
        return
    name, params = section["type"], section.get("params")
    if not isinstance(name, str):
        setting = config.setting("optimizer", "type")
        yield mistyped(setting, "a string", not_attribute(name, "lower"), set_key("optimizer.type", "AdamW") | "another name")
    elif params is not None and not isinstance(params, dict):
        setting = config.setting("optimizer", "params")
        yield mistyped(setting, "an object", not_attribute(params, "keys"), 'write an object, such as {"lr": 1e-4}')
