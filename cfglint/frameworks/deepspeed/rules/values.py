"""Rules about values that DeepSpeed checks by hand while it reads the config."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.deepspeed.rules import DEEPSPEED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cfglint.frameworks.deepspeed.config import DeepSpeedConfig

COMMUNICATION = ("fp16", "bf16", "fp32")
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
ALLREDUCE_OP_SINCE = (0, 19, 6)


def dtype(value: Any) -> str | None:
    """DeepSpeed's own name of a data type that it knows under several; None for an unknown one."""
    return DTYPES.get(value) if isinstance(value, str) else None


def not_attribute(value: Any, attribute: str) -> str:
    """What Python says of an attribute that a value does not have."""
    return f"AttributeError: '{type(value).__name__}' object has no attribute '{attribute}'"


@rule(
    "TYP104",
    "communication-type-unknown",
    ERROR,
    kinds=DEEPSPEED,
    fails_at="config",
    bad='{"train_batch_size": 8, "communication_data_type": "float16"}\n',
    good='{"train_batch_size": 8, "communication_data_type": "fp16"}\n',
    example={"gpus": 8, "at": "/communication_data_type"},
)
def communication_data_type(config: DeepSpeedConfig) -> Iterator[Finding]:
    """A data type for communication that is not fp16, bf16 or fp32.

    The case of the letters does not matter; null leaves the choice to DeepSpeed. `"auto"` is not known
    here, and nobody else fills it.

    Run-time error: `ValueError: Invalid communication_data_type. Supported data types: ['fp16', 'bf16',
    'fp32']. Got: float16`; for a value that is no text, `AttributeError: ... has no attribute 'lower'`.

    Fix: fp16, bf16 or fp32, or leave the key out.

    Source: deepspeed 0.19.8 runtime/config.py:217-230.
    """
    for key in ("communication_data_type", "seq_parallel_communication_data_type"):
        value = config.values.get(key)
        if value is None:
            continue
        if not isinstance(value, str):
            yield Finding(config.setting(key), f"{key} is not a text", exception=not_attribute(value, "lower"))
        elif value.lower() not in COMMUNICATION:
            raised = f"ValueError: Invalid communication_data_type. Supported data types: ['fp16', 'bf16', 'fp32']. Got: {value.lower()}"
            yield Finding(config.setting(key), f"{key} {value!r} is not fp16, bf16 or fp32", exception=raised)


@rule(
    "TYP105",
    "gradient-allreduce-op",
    ERROR,
    kinds=DEEPSPEED,
    fails_at="config",
    bad='{"train_batch_size": 8, "gradient_allreduce_op": "avg"}\n',
    good='{"train_batch_size": 8, "gradient_allreduce_op": "mean"}\n',
    example={"gpus": 8, "at": "/gradient_allreduce_op"},
)
def gradient_allreduce_op(config: DeepSpeedConfig) -> Iterator[Finding]:
    """`gradient_allreduce_op` is neither mean nor sum.

    Run-time error: `ValueError: Invalid gradient_allreduce_op. Supported operations: ['mean', 'sum']`.

    Fix: mean or sum.

    Source: deepspeed 0.19.8 runtime/config.py:241-249 (the key is read from 0.19.6 on).
    """
    if "gradient_allreduce_op" not in config.values or config.version < ALLREDUCE_OP_SINCE:
        return
    value = config.values["gradient_allreduce_op"]
    if not isinstance(value, str) or value.lower() not in ("mean", "sum"):
        shown = value.lower() if isinstance(value, str) else value
        raised = f"ValueError: Invalid gradient_allreduce_op. Supported operations: ['mean', 'sum']. Got: {shown!r}"
        yield Finding(config.setting("gradient_allreduce_op"), f"gradient_allreduce_op {value!r} is not mean or sum", exception=raised)


@rule(
    "TYP106",
    "checkpoint-value",
    ERROR,
    kinds=DEEPSPEED,
    fails_at="config",
    bad='{"train_batch_size": 8, "checkpoint": {"tag_validation": "error"}}\n',
    good='{"train_batch_size": 8, "checkpoint": {"tag_validation": "Fail"}}\n',
    example={"gpus": 8, "at": "/checkpoint/tag_validation"},
)
def checkpoint_value(config: DeepSpeedConfig) -> Iterator[Finding]:
    """A value in `checkpoint` that DeepSpeed does not know.

    `tag_validation` is warn, ignore or fail; `parallel_write.pipeline_stage` is true or false;
    `writer.type` is mock, python or fast; `writer.data_parallel` is replica, socket or machine. The case of
    the letters does not matter.

    Run-time errors: `DeepSpeedConfigError: Checkpoint config contains invalid tag_validation value of
    ERROR`, `DeepSpeedConfigError: checkpoint::parallel_write::pipeline_stage value of 'yes' is invalid`,
    `AssertionError: writer contains invalid value DISK for type`.

    Fix: one of the values above.

    Source: deepspeed 0.19.8 runtime/config.py:387-406, runtime/model_checkpointing/config.py:23-65.
    """
    section = config.values.get("checkpoint")
    if not isinstance(section, dict):
        return
    yield from tag_validation(config, section)
    yield from pipeline_stage(config, section)
    writer = section.get("writer") if config.version >= (0, 17, 1) else None
    if isinstance(writer, dict):
        yield from writer_value(config, writer, "type", ("MOCK", "PYTHON", "FAST"))
        yield from writer_value(config, writer, "data_parallel", ("REPLICA", "SOCKET", "MACHINE"))
    elif writer is not None:
        yield Finding(config.setting("checkpoint", "writer"), "checkpoint.writer is not an object", exception=not_attribute(writer, "get"))


def tag_validation(config: DeepSpeedConfig, section: dict[Any, Any]) -> Iterator[Finding]:
    """The mode in which checkpoint tags are compared."""
    value = section.get("tag_validation", "WARN")
    setting = config.setting("checkpoint", "tag_validation")
    if not isinstance(value, str):
        yield Finding(setting, "checkpoint.tag_validation is not a text", exception=not_attribute(value, "upper"))
    elif value.upper() not in ("WARN", "IGNORE", "FAIL"):
        raised = f"DeepSpeedConfigError: Checkpoint config contains invalid tag_validation value of {value.upper()}"
        yield Finding(setting, f"checkpoint.tag_validation {value!r} is not warn, ignore or fail", exception=raised)


def pipeline_stage(config: DeepSpeedConfig, section: dict[Any, Any]) -> Iterator[Finding]:
    """Whether pipeline stages write in parallel."""
    parallel = section.get("parallel_write", {})
    if not isinstance(parallel, dict):
        setting = config.setting("checkpoint", "parallel_write")
        yield Finding(setting, "checkpoint.parallel_write is not an object", exception=not_attribute(parallel, "get"))
        return
    value = parallel.get("pipeline_stage", False)
    if value not in (True, False):
        raised = f"DeepSpeedConfigError: checkpoint::parallel_write::pipeline_stage value of '{value}' is invalid, expecting: true or false"
        setting = config.setting("checkpoint", "parallel_write", "pipeline_stage")
        yield Finding(setting, "checkpoint.parallel_write.pipeline_stage is not true or false", exception=raised)


def writer_value(config: DeepSpeedConfig, writer: dict[Any, Any], key: str, choices: tuple[str, ...]) -> Iterator[Finding]:
    """A choice of the checkpoint writer; null is taken."""
    value = writer.get(key)
    setting = config.setting("checkpoint", "writer", key)
    if value is not None and not isinstance(value, str):
        yield Finding(setting, f"{setting.name} is not a text", exception=not_attribute(value, "upper"))
    elif value is not None and value.upper() not in choices:
        raised = f"AssertionError: writer contains invalid value {value.upper()} for {key}, expecting one of {list(choices)}"
        yield Finding(setting, f"{setting.name} {value!r} is not one of {', '.join(choices)}", exception=raised)


@rule(
    "TYP107",
    "keep-in-fp32-modules",
    ERROR,
    kinds=DEEPSPEED,
    fails_at="config",
    bad='{"train_batch_size": 8, "data_types": {"keep_in_fp32_modules": "rope"}}\n',
    good='{"train_batch_size": 8, "data_types": {"keep_in_fp32_modules": ["rope"]}}\n',
    example={"gpus": 8, "at": "/data_types/keep_in_fp32_modules"},
)
def keep_in_fp32_modules(config: DeepSpeedConfig) -> Iterator[Finding]:
    """`data_types.keep_in_fp32_modules` is neither "auto" nor a list of names.

    Run-time error: `DeepSpeedConfigError: data_types.keep_in_fp32_modules must be "auto" or a list of name
    patterns`.

    Fix: a list of names, or "auto".

    Source: deepspeed 0.19.8 runtime/config.py:563-568.
    """
    section = config.values.get("data_types")
    if not isinstance(section, dict) or "keep_in_fp32_modules" not in section or config.version < (0, 19, 6):
        return
    value = section["keep_in_fp32_modules"]
    if value != "auto" and not (isinstance(value, list) and all(isinstance(name, str) for name in value)):
        raised = f'DeepSpeedConfigError: data_types.keep_in_fp32_modules must be "auto" or a list of name patterns, got {value!r}'
        yield Finding(config.setting("data_types", "keep_in_fp32_modules"), 'this is neither "auto" nor a list of names', exception=raised)


@rule(
    "TYP108",
    "torch-autocast-value",
    ERROR,
    kinds=DEEPSPEED,
    fails_at="config",
    bad='{"train_batch_size": 8, "torch_autocast": {"enabled": true, "dtype": "bfloat"}}\n',
    good='{"train_batch_size": 8, "torch_autocast": {"enabled": true, "dtype": "bfloat16"}}\n',
    example={"gpus": 8, "at": "/torch_autocast/dtype"},
)
def torch_autocast_value(config: DeepSpeedConfig) -> Iterator[Finding]:
    """A data type or a list of modules of `torch_autocast` that DeepSpeed cannot take.

    The type is checked even where autocast is off. Modules are names with their package, such as
    `torch.nn.Linear`.

    Run-time errors: `ValueError: 'bfloat' is not a valid DtypeEnum`, `ValueError: Invalid module names for
    torch autocast`, `TypeError: 'NoneType' object is not iterable`.

    Fix: `bfloat16` or `float16`; names such as `torch.nn.Linear`.

    Source: deepspeed 0.19.8 runtime/config.py:184-206.
    """
    section = config.values.get("torch_autocast")
    if not isinstance(section, dict) or config.version < (0, 17, 2):
        return
    if "dtype" in section and dtype(section["dtype"]) is None:
        value = section["dtype"]
        setting = config.setting("torch_autocast", "dtype")
        raised = f"ValueError: {value!r} is not a valid DtypeEnum"
        yield Finding(setting, f"torch_autocast.dtype {value!r} is no data type", exception=raised)
    if "lower_precision_safe_modules" not in section:
        return
    names = section["lower_precision_safe_modules"]
    setting = config.setting("torch_autocast", "lower_precision_safe_modules")
    if not isinstance(names, (list, str, dict)):
        yield Finding(setting, f"{setting.name} is not a list", exception=f"TypeError: '{type(names).__name__}' object is not iterable")
    elif not all(isinstance(name, str) for name in names):
        raised = f"ValueError: Invalid module names for torch autocast: {names}. Expected list of strings."
        yield Finding(setting, f"{setting.name} is not a list of names", exception=raised)


@rule(
    "TYP109",
    "breakdown-not-boolean",
    ERROR,
    kinds=DEEPSPEED,
    fails_at="config",
    bad='{"train_batch_size": 8, "wall_clock_breakdown": "false"}\n',
    good='{"train_batch_size": 8, "wall_clock_breakdown": false}\n',
    fixed='{"train_batch_size": 8, "wall_clock_breakdown": false}\n',
    example={"gpus": 8, "at": "/wall_clock_breakdown"},
)
def breakdown_not_boolean(config: DeepSpeedConfig) -> Iterator[Finding]:
    """`wall_clock_breakdown` or `flops_profiler.enabled` is not a boolean.

    The two are joined with `|`, which takes booleans and integers and nothing else: no text, no null, no
    "auto".

    Run-time error: `TypeError: unsupported operand type(s) for |: 'str' and 'bool'`.

    Fix: true or false.

    Source: deepspeed 0.19.8 runtime/config.py:533.
    """
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


def not_boolean(config: DeepSpeedConfig, path: tuple[str, ...], value: Any, exception: str) -> Finding:
    """The finding for a switch that is no boolean, mended where it spells one."""
    from cfglint.findings.fix_builders import replace

    setting = config.setting(*path)
    word = value.lower() if isinstance(value, str) else ""
    fix = replace(setting, word == "true", f"write {word}", safe=True) if word in ("true", "false") else None
    return Finding(setting, f"{setting.name} is {value!r}, not true or false", exception=exception, fix=fix)


@rule(
    "TYP110",
    "autotuning-value",
    ERROR,
    kinds=DEEPSPEED,
    fails_at="config",
    bad='{"train_batch_size": 8, "autotuning": {"enabled": false, "results_dir": ""}}\n',
    good='{"train_batch_size": 8, "autotuning": {"enabled": false, "results_dir": "autotuning_results"}}\n',
    example={"gpus": 8, "at": "/autotuning/results_dir"},
)
def autotuning_value(config: DeepSpeedConfig) -> Iterator[Finding]:
    """A folder of `autotuning` is empty, or its `model_info` is no object.

    Both are checked even where autotuning is off.

    Run-time error: `AssertionError: results_dir cannot be empty`, `AssertionError: exps_dir cannot be
    empty`.

    Fix: name the folder, or leave the key out for its default.

    Source: deepspeed 0.19.8 autotuning/config.py:37-42, 86-92.
    """
    section = config.values.get("autotuning")
    if not isinstance(section, dict):
        return
    for key in ("results_dir", "exps_dir"):
        if not section.get(key, True):
            raised = f"AssertionError: {key} cannot be empty"
            yield Finding(config.setting("autotuning", key), f"autotuning.{key} is empty", exception=raised)
    info = section.get("model_info")
    if info is not None and not isinstance(info, dict):
        yield Finding(config.setting("autotuning", "model_info"), "model_info is not an object", exception=not_attribute(info, "get"))


@rule(
    "TYP111",
    "optimizer-type-not-text",
    ERROR,
    kinds=DEEPSPEED,
    fails_at="config",
    bad='{"train_batch_size": 8, "optimizer": {"type": ["Adam"]}}\n',
    good='{"train_batch_size": 8, "optimizer": {"type": "Adam"}}\n',
    example={"gpus": 8, "at": "/optimizer/type"},
)
def optimizer_type_not_text(config: DeepSpeedConfig) -> Iterator[Finding]:
    """`optimizer.type` is something else than a name, or `optimizer.params` cannot be looked into.

    Run-time error: `AttributeError: 'list' object has no attribute 'lower'`; for `params`, which is looked
    into once the config is read, `AttributeError: 'list' object has no attribute 'keys'`.

    Fix: `{"type": "AdamW", "params": {"lr": 2e-5}}`.

    Source: deepspeed 0.19.8 runtime/config.py:519, 723.
    """
    section = config.values.get("optimizer")
    if not isinstance(section, dict) or section.get("type") is None:
        return
    name, params = section["type"], section.get("params")
    if not isinstance(name, str):
        yield Finding(config.setting("optimizer", "type"), "optimizer.type is not a name", exception=not_attribute(name, "lower"))
    elif params is not None and not isinstance(params, dict):
        yield Finding(config.setting("optimizer", "params"), "optimizer.params is not an object", exception=not_attribute(params, "keys"))


@rule(
    "TYP112",
    "number-only-for-a-warning",
    ERROR,
    kinds=DEEPSPEED,
    fails_at="config",
    bad='{"train_batch_size": 8, "vocabulary_size": "50257"}\n',
    good='{"train_batch_size": 8, "vocabulary_size": 50264}\n',
    example={"gpus": 8, "at": "/vocabulary_size"},
)
def number_only_for_a_warning(config: DeepSpeedConfig) -> Iterator[Finding]:
    """A value that DeepSpeed needs for a warning only, and that is no number.

    `vocabulary_size` is only tested for being a multiple of 8, `optimizer.params.max_grad_norm` only for
    being positive, and a text ends the run there.

    Run-time errors: `TypeError: not all arguments converted during string formatting`, `TypeError: '>' not
    supported between instances of 'str' and 'int'`.

    Fix: write a number, or leave the key out.

    Source: deepspeed 0.19.8 runtime/config.py:716-733.
    """
    size = config.values.get("vocabulary_size")
    if size and not isinstance(size, (int, float)):
        yield Finding(config.setting("vocabulary_size"), "vocabulary_size is not a number", exception=modulo(size))
    optimizer = config.optimizer
    if optimizer is None or not isinstance(optimizer.params, dict) or "max_grad_norm" not in optimizer.params:
        return
    norm = optimizer.params["max_grad_norm"]
    if not isinstance(norm, (int, float)):
        raised = f"TypeError: '>' not supported between instances of '{type(norm).__name__}' and 'int'"
        yield Finding(config.setting("optimizer", "params", "max_grad_norm"), "max_grad_norm is not a number", exception=raised)


def modulo(value: Any) -> str:
    """What `value % 8` raises."""
    if isinstance(value, str):
        return "TypeError: not all arguments converted during string formatting"
    return f"TypeError: unsupported operand type(s) for %: '{type(value).__name__}' and 'int'"
