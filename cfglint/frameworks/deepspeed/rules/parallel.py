"""Rules about tensor and expert parallelism, and what else the engine sets up before the optimizer."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR
from cfglint.findings.rule import WARN, Finding, rule
from cfglint.frameworks.deepspeed.rules import DEEPSPEED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cfglint.frameworks.deepspeed.config import DeepSpeedConfig

AUTOEP_SINCE = (0, 19, 2)
LEVELS = ("debug", "info", "warning", "error", "critical")


@rule(
    "DSP070",
    "log-level",
    ERROR,
    kinds=DEEPSPEED,
    fails_at="init",
    bad='{"train_batch_size": 8, "log_level": "verbose"}\n',
    good='{"train_batch_size": 8, "log_level": "debug"}\n',
    example={"gpus": 8, "at": "/log_level"},
)
def log_level(config: DeepSpeedConfig) -> Iterator[Finding]:
    """`log_level` is not one of debug, info, warning, error and critical.

    Run-time error: `ValueError: verbose is not one of the valid logging levels.`

    Fix: one of the five names, in lower case.

    Source: deepspeed 0.19.8 utils/logging.py:188, runtime/engine.py:584 (the key is read from 0.19.3 on).
    """
    value = config.values.get("log_level")
    if value is None or config.version < (0, 19, 3):
        return
    if not isinstance(value, str):
        raised = f"AttributeError: '{type(value).__name__}' object has no attribute 'lower'"
        yield Finding(config.setting("log_level"), "log_level is not a name", exception=raised)
    elif value.lower() not in LEVELS:
        raised = f"ValueError: {value.lower()} is not one of the valid logging levels."
        yield Finding(config.setting("log_level"), f"log_level {value!r} is not one of {', '.join(LEVELS)}", exception=raised)


@rule(
    "DSP071",
    "autotp-size",
    ERROR,
    kinds=DEEPSPEED,
    fails_at="config",
    bad='{"train_batch_size": 8, "tensor_parallel": {"autotp_size": "auto"}}\n',
    good='{"train_batch_size": 8, "tensor_parallel": {"autotp_size": 2}}\n',
    example={"gpus": 8, "at": "/tensor_parallel/autotp_size"},
)
def autotp_size(config: DeepSpeedConfig) -> Iterator[Finding]:
    """`tensor_parallel.autotp_size` is text, does not divide the GPUs, or contradicts `tp.tp_size`.

    `deepspeed.initialize` compares the size with zero before the config is read, so that a text ends the
    run there, `"2"` and `"auto"` included.

    The ranks form a mesh of `GPUs // autotp_size` by `autotp_size`; those outside of it die.

    Run-time errors: `TypeError: '>' not supported between instances of 'str' and 'int'`, `ValueError:
    tensor_parallel.tp.tp_size (4) does not match tensor_parallel.autotp_size (2).`, and from torch's device
    mesh a bare `AssertionError` (more than the GPUs) or `IndexError: list index out of range`.

    Fix: a whole number that divides the GPUs, the same in both places; 0 is off.

    Source: deepspeed 0.19.8 __init__.py:550, runtime/engine.py:957, 1021, utils/groups.py:202-221.
    """
    section = config.values.get("tensor_parallel")
    if not isinstance(section, dict) or config.version < (0, 16, 4):
        return
    size = section.get("autotp_size", 0)
    setting = config.setting("tensor_parallel", "autotp_size")
    if size and not isinstance(size, (int, float)):
        if size == "auto" and config.open:
            return
        raised = f"TypeError: '>' not supported between instances of '{type(size).__name__}' and 'int'"
        yield Finding(setting, f"autotp_size is {size!r}, not a number", exception=raised)
        return
    size, world = config.section("tensor_parallel")["autotp_size"], config.world_size
    if not isinstance(size, int) or size < 2:
        return
    if world is not None and world % size:
        raised = "IndexError: list index out of range" if size < world else "AssertionError"
        yield Finding(setting, f"{size} does not divide {world} GPUs", exception=raised, fails_at="init")
    inner = config.section("tensor_parallel")["tensor_parallel"]
    if inner is not None and inner["tp_size"] not in (1, size):
        raised = f"ValueError: tensor_parallel.tp.tp_size ({inner['tp_size']}) does not match tensor_parallel.autotp_size ({size})."
        said = f"tp_size {inner['tp_size']} is not autotp_size {size}"
        yield Finding(config.setting("tensor_parallel", "tp"), said, exception=raised, fails_at="init")


@rule(
    "DSP072",
    "load-balance-coefficient",
    ERROR,
    kinds=DEEPSPEED,
    fails_at="config",
    bad='{"train_batch_size": 8, "expert_parallel": {"enabled": false, "load_balance_coeff": 0.01}}\n',
    good='{"train_batch_size": 8, "expert_parallel": {"enabled": false, "load_balance_coeff": null}}\n',
    example={"gpus": 8, "at": "/expert_parallel/load_balance_coeff"},
)
def load_balance_coefficient(config: DeepSpeedConfig) -> Iterator[Finding]:
    """`expert_parallel.load_balance_coeff` is set: it is not supported, and refused even where AutoEP is off.

    Run-time error: `ValueError: load_balance_coeff=0.01 is not supported in this AutoEP build`.

    Fix: null, or leave it out.

    Source: deepspeed 0.19.8 module_inject/auto_ep_config.py:76.
    """
    section = config.values.get("expert_parallel")
    if isinstance(section, dict) and section.get("load_balance_coeff") is not None and config.version >= AUTOEP_SINCE:
        raised = f"ValueError: load_balance_coeff={section['load_balance_coeff']!r} is not supported in this AutoEP build"
        yield Finding(config.setting("expert_parallel", "load_balance_coeff"), "this is not supported", exception=raised)


@rule(
    "DSP073",
    "expert-parallel",
    ERROR,
    kinds=DEEPSPEED,
    fails_at="init",
    bad='{"train_batch_size": 8, "expert_parallel": {"enabled": true, "autoep_size": 3}}\n',
    good='{"train_batch_size": 8, "expert_parallel": {"enabled": true, "autoep_size": 4}}\n',
    example={"gpus": 8, "at": "/expert_parallel/autoep_size"},
)
def expert_parallel(config: DeepSpeedConfig) -> Iterator[Finding]:
    """A setting of AutoEP that DeepSpeed refuses when it sets the experts up.

    The sizes divide the GPUs; the implementations and functions are out of short lists; names of
    attributes are single words; folding experts into tensor parallelism has limits of its own. Nothing of
    it is checked while `enabled` is false.

    Run-time errors: `ValueError: expert_parallel.autoep_size * expert_parallel.expert_tensor_parallel_size
    (3 * 1 = 3) must divide the stage size`, `ValueError: score_func must be one of ('auto', 'softmax',
    'sigmoid')`, `ValueError: comm_max_tokens_per_rank must be a positive integer when
    comm_backend='deepep'` and others.

    Fix: what the message says, or `"enabled": false`.

    Source: deepspeed 0.19.8 module_inject/auto_ep_config.py:104-330, module_inject/auto_ep_folding.py:75-258.
    """
    section = config.values.get("expert_parallel")
    if not isinstance(section, dict) or not section.get("enabled") or config.version < AUTOEP_SINCE:
        return
    from cfglint.frameworks.deepspeed.experts import refusals

    for key, message in refusals(config, section):
        setting = config.setting("expert_parallel", key) if key else config.setting("expert_parallel")
        yield Finding(setting, message, exception=f"ValueError: {message}")


def module_names(config: DeepSpeedConfig) -> Any:
    """The modules for which autocast is to be used."""
    section = config.values.get("torch_autocast")
    if not isinstance(section, dict) or not section.get("enabled"):
        return None
    return section.get("lower_precision_safe_modules")


@rule(
    "DSP074",
    "autocast-module-path",
    ERROR,
    kinds=DEEPSPEED,
    fails_at="init",
    bad='{"train_batch_size": 8, "torch_autocast": {"enabled": true, "lower_precision_safe_modules": ["Linear"]}}\n',
    good='{"train_batch_size": 8, "torch_autocast": {"enabled": true, "lower_precision_safe_modules": ["torch.nn.Linear"]}}\n',
    example={"gpus": 8, "at": "/torch_autocast/lower_precision_safe_modules"},
)
def autocast_module_path(config: DeepSpeedConfig) -> Iterator[Finding]:
    """A module of `torch_autocast.lower_precision_safe_modules` is named without its package.

    DeepSpeed splits the name at the last dot and imports what stands before it.

    Run-time error: `ValueError: Failed to import lower precision safe module Linear: not enough values to
    unpack (expected 2, got 1)`.

    Fix: `torch.nn.Linear`.

    Source: deepspeed 0.19.8 runtime/torch_autocast.py:43-52.
    """
    names = module_names(config)
    if not names or not isinstance(names, (list, str)):
        return
    bare = [name for name in names if isinstance(name, str) and "." not in name]
    if bare:
        raised = f"ValueError: Failed to import lower precision safe module {bare[0]}: not enough values to unpack (expected 2, got 1)"
        setting = config.setting("torch_autocast", "lower_precision_safe_modules")
        yield Finding(setting, f"{bare[0]} is named without its package", exception=raised)


@rule(
    "DSP075",
    "checkpoint-writer-without-unit",
    ERROR,
    kinds=DEEPSPEED,
    fails_at="init",
    when_partial=WARN,
    bad='{"train_batch_size": 8, "checkpoint": {"writer": {"type": "fast"}}}\n',
    good='{"train_batch_size": 8, "checkpoint": {"writer": {"type": "fast", "data_parallel": "replica"}}}\n',
    example={"gpus": 8, "at": "/checkpoint/writer"},
)
def checkpoint_writer_without_unit(config: DeepSpeedConfig) -> Iterator[Finding]:
    """`checkpoint.writer` without `data_parallel`, below stage 3 and without model parallelism.

    An empty section turns the writer on. Without a unit to share the work by, DeepSpeed looks up a rank
    that only a model-parallel run has.

    Run-time error: `AttributeError: 'UniversalParallelInfo' object has no attribute 'dp_rank'`.

    Fix: `"data_parallel": "replica"` (or `socket`, `machine`).

    Source: deepspeed 0.19.8 runtime/model_checkpointing/data_parallel_writer_factory.py:92-96.
    """
    writer = config.get("checkpoint", "writer")
    if not isinstance(writer, dict) or writer.get("data_parallel") is not None or config.version < (0, 17, 1):
        return
    size = config.section("tensor_parallel")["autotp_size"]
    if config.stage in (0, 1, 2) and isinstance(size, int) and size < 2:
        raised = "AttributeError: 'UniversalParallelInfo' object has no attribute 'dp_rank'"
        setting = config.setting("checkpoint", "writer")
        yield Finding(setting, "the writer needs data_parallel: replica, socket or machine", exception=raised)
