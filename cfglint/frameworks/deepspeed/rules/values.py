"""Rules about values that DeepSpeed's own code checks while it reads the config."""

from __future__ import annotations

from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import listed, spelled
from cfglint.frameworks.deepspeed._tables import CHOICES
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.frameworks.remedies import choice, mistyped, not_attribute, replace
from cfglint.source.annotations import ConfigMapping, Iterator

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
    """The short name of a data type, of which DeepSpeed accepts several spellings; None for an unknown one."""
    return DTYPES.get(value) if isinstance(value, str) else None


@rule("TYP104")
def invalid_communication_type(config: DeepSpeedConfig) -> Iterator[Finding]:
    allowed = COMMUNICATION if config.version >= BF16_SINCE else COMMUNICATION_EARLIER
    named = ("fp16", "bf16", "fp32") if config.version >= BF16_SINCE else COMMUNICATION_EARLIER
    for key in COMMUNICATION_KEYS:
        value = config.values.get(key)
        if value is None or not config.looks_up(key):
            continue
        if not isinstance(value, str):
            yield mistyped(config.setting(key), "a string", not_attribute(value, "lower"), remove_key(key))
        elif value.lower() not in allowed:
            raised = f"ValueError: Invalid communication_data_type. Supported data types: {list(named)}. Got: {value.lower()}"
            yield Finding(
                config.setting(key),
                f'`{key}` is {spelled(value)}; it must be "{named[0]}", "{named[1]}" or "{named[2]}"',
                exception=raised,
                help=choice(key, value, named),
            )


@rule("TYP105")
def invalid_gradient_allreduce_op(config: DeepSpeedConfig) -> Iterator[Finding]:
    if "gradient_allreduce_op" not in config.values:
        return
    value = config.values["gradient_allreduce_op"]
    if not isinstance(value, str) or value.lower() not in ALLREDUCE_OPS:
        shown = value.lower() if isinstance(value, str) else value
        raised = f"ValueError: Invalid gradient_allreduce_op. Supported operations: ['mean', 'sum']. Got: {shown!r}"
        text = f'`gradient_allreduce_op` is {spelled(value)}; it must be "mean" or "sum"'
        yield Finding(
            config.setting("gradient_allreduce_op"),
            text,
            exception=raised,
            help=choice("gradient_allreduce_op", value, ALLREDUCE_OPS),
        )


@rule("TYP106")
def invalid_checkpoint_value(config: DeepSpeedConfig) -> Iterator[Finding]:
    section = config.values.get("checkpoint")
    if not isinstance(section, dict):
        return
    yield from tag_validation(config, section)
    yield from pipeline_stage(config, section)
    writer = section.get("writer") if config.looks_up("checkpoint", "writer") else None
    if isinstance(writer, dict):
        yield from writer_value(config, writer, "type")
        yield from writer_value(config, writer, "data_parallel")
    elif writer is not None:
        setting = config.setting("checkpoint", "writer")
        yield mistyped(setting, "an object", not_attribute(writer, "get"), remove_key("checkpoint.writer"))


def tag_validation(config: DeepSpeedConfig, section: ConfigMapping) -> Iterator[Finding]:
    """Check the mode in which checkpoint tags are compared."""
    value = section.get("tag_validation", "WARN")
    setting = config.setting("checkpoint", "tag_validation")
    if not isinstance(value, str):
        yield mistyped(
            setting, "a string", not_attribute(value, "upper"), remove_key("checkpoint.tag_validation", " for the default, Warn")
        )
    elif value.upper() not in CHOICES["checkpoint", "tag_validation"]:
        raised = f"DeepSpeedConfigError: Checkpoint config contains invalid tag_validation value of {value.upper()}"
        text = f'`checkpoint.tag_validation` is {spelled(value)}; it must be "warn", "ignore" or "fail"'
        yield Finding(setting, text, exception=raised, help=choice("checkpoint.tag_validation", value, ("Warn", "Ignore", "Fail")))


def pipeline_stage(config: DeepSpeedConfig, section: ConfigMapping) -> Iterator[Finding]:
    """Check whether pipeline stages write in parallel."""
    parallel = section.get("parallel_write", {})
    if not isinstance(parallel, dict):
        setting = config.setting("checkpoint", "parallel_write")
        yield mistyped(setting, "an object", not_attribute(parallel, "get"), remove_key("checkpoint.parallel_write"))
        return
    value = parallel.get("pipeline_stage", False)
    if value not in (True, False):
        raised = f"DeepSpeedConfigError: checkpoint::parallel_write::pipeline_stage value of '{value}' is invalid, expecting: true or false"
        setting = config.setting("checkpoint", "parallel_write", "pipeline_stage")
        yield Finding(
            setting,
            f"`checkpoint.parallel_write.pipeline_stage` is {spelled(value)}; it must be true or false",
            exception=raised,
            help="set `checkpoint.parallel_write.pipeline_stage` to true or false",
        )


def writer_value(config: DeepSpeedConfig, writer: ConfigMapping, key: str) -> Iterator[Finding]:
    """Check a choice of the checkpoint writer; null is accepted."""
    value, choices = writer.get(key), CHOICES["checkpoint", "writer", key]
    setting = config.setting("checkpoint", "writer", key)
    if value is not None and not isinstance(value, str):
        yield mistyped(setting, "a string", not_attribute(value, "upper"), remove_key(setting.name))
    elif value is not None and value.upper() not in choices:
        raised = f"AssertionError: writer contains invalid value {value.upper()} for {key}, expecting one of {list(choices)}"
        text = f"`{setting.name}` is {spelled(value)}; it must be {listed(spelled(choice.lower()) for choice in choices)}"
        yield Finding(setting, text, exception=raised, help=choice(setting.name, value, [each.lower() for each in choices]))


@rule("TYP107")
def invalid_keep_in_fp32_modules(config: DeepSpeedConfig) -> Iterator[Finding]:
    section = config.values.get("data_types")
    if not isinstance(section, dict) or "keep_in_fp32_modules" not in section or not config.looks_up("data_types", "keep_in_fp32_modules"):
        return
    value = section["keep_in_fp32_modules"]
    if value != "auto" and not (isinstance(value, list) and all(isinstance(name, str) for name in value)):
        raised = f'DeepSpeedConfigError: data_types.keep_in_fp32_modules must be "auto" or a list of name patterns, got {value!r}'
        text = f'`data_types.keep_in_fp32_modules` is {spelled(value)}; it must be "auto" or a list of strings'
        yield Finding(
            config.setting("data_types", "keep_in_fp32_modules"),
            text,
            exception=raised,
            help='set `data_types.keep_in_fp32_modules` to "auto", or write a list: [' + spelled(value) + "]"
            if isinstance(value, str)
            else "write a list of strings",
        )


@rule("TYP108")
def invalid_torch_autocast_value(config: DeepSpeedConfig) -> Iterator[Finding]:
    section = config.values.get("torch_autocast")
    if not isinstance(section, dict) or not config.looks_up("torch_autocast"):
        return
    if "dtype" in section and dtype(section["dtype"]) is None:
        value = section["dtype"]
        setting = config.setting("torch_autocast", "dtype")
        raised = f"ValueError: {value!r} is not a valid DtypeEnum"
        yield Finding(
            setting,
            f"`torch_autocast.dtype` is {spelled(value)}, not a known data type",
            exception=raised,
            help=set_key("torch_autocast.dtype", "bfloat16"),
        )
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
    """The finding for a value that is not a boolean, with a fix if the string spells one."""
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
            yield Finding(
                config.setting("autotuning", key),
                f"`autotuning.{key}` is empty",
                exception=raised,
                help=remove_key(f"autotuning.{key}", " for the default"),
            )
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


@rule("TYP112")
def value_not_a_number(config: DeepSpeedConfig) -> Iterator[Finding]:
    size = config.values.get("vocabulary_size")
    if size and not isinstance(size, (int, float)):
        remedy = ("remove the quotes" if isinstance(size, str) else None) | remove_key("vocabulary_size")
        yield mistyped(config.setting("vocabulary_size"), "a number", modulo(size), remedy)
    optimizer = config.optimizer
    if optimizer is None or not isinstance(optimizer.params, dict) or "max_grad_norm" not in optimizer.params:
        return
    norm = optimizer.params["max_grad_norm"]
    if not isinstance(norm, (int, float)):
        raised = f"TypeError: '>' not supported between instances of '{type(norm).__name__}' and 'int'"
        advice = "remove `optimizer.params.max_grad_norm`, and set top-level `gradient_clipping`"
        yield mistyped(config.setting("optimizer", "params", "max_grad_norm"), "a number", raised, advice)


def modulo(value: object) -> str:
    """The error that `value % 8` raises."""
    if isinstance(value, str):
        return "TypeError: not all arguments converted during string formatting"
    return f"TypeError: unsupported operand type(s) for %: '{type(value).__name__}' and 'int'"
