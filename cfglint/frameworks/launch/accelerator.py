"""The batch of a program with an `Accelerator` and a training loop of its own.

Source: accelerate 1.15.0 accelerator.py:540-549 (ACCELERATE_GRADIENT_ACCUMULATION_STEPS takes precedence), 2207-2221 (DeepSpeed's value
is used if another one is given), utils/launch.py:570 (set for DeepSpeed); data_loader.py (prepare_data_loader: `split_batches`).
"""

from __future__ import annotations

from cfglint.findings.setting import DEFAULT, DERIVED, WRITTEN, Setting
from cfglint.frameworks.launch import KIND
from cfglint.frameworks.launch.config import LaunchConfig, passed
from cfglint.frameworks.program import OwnLoop
from cfglint.frameworks.resolved_batch import Batch, Layout
from cfglint.frameworks.summary import PRECISION, RATE, Summary, launched
from cfglint.frameworks.unknown import Unknown
from cfglint.source.python.call import CallDocument

ACCUMULATION, MICRO = "gradient_accumulation_steps", "batch_size"
ACCUMULATION_PLUGIN, DEEPSPEED_PLUGIN, LOADER_PLUGIN = "GradientAccumulationPlugin", "DeepSpeedPlugin", "DataLoaderConfiguration"
DEEPSPEED = ("deepspeed_plugin", "deepspeed_plugins")
SHARES_BATCHES = ("parallelism_config", "megatron_lm_plugin", "torch_tp_plugin")  # processes that take the same samples
VARIABLE = "ACCELERATE_GRADIENT_ACCUMULATION_STEPS"
OWN = "the program's own"
NAMES = {"no": "fp32"}  # precisions as `explain` names them


def batch(config: LaunchConfig) -> Batch:
    """The batch of a launch whose program sets the batch itself: the processes, the loader's batch size and its accumulation."""
    micro, steps, replicas = micro_batch(config), accumulation(config), data_parallel(config)
    numbers = [each.value for each in (micro, steps, replicas)]
    loop = loop_of(config)
    known = all(type(each) is int for each in numbers) and loop is not None and (loop.accumulates is not None or uses_deepspeed(config))
    total = numbers[0] * numbers[1] * numbers[2] if known else None
    because = " x ".join("?" if each is None else str(each) for each in numbers) if loop is not None else OWN
    return Batch(Layout(config.facts.gpus), micro, steps, replicas, Setting(("global_batch",), total, DERIVED, because=because))


def loop_of(config: LaunchConfig) -> OwnLoop | None:
    """The training loop of the program, if its loader is known."""
    found: OwnLoop | None = config.accelerator.loop if config.accelerator is not None else None
    return found if found is not None and found.loader is not None else None


def micro_batch(config: LaunchConfig) -> Setting:
    """The batch size of the data loader; of one process, where the loader's batch is split between them."""
    loop = loop_of(config)
    if loop is None or "batch_sampler" in loop.loader.values:
        return Setting(("batch",), None, DERIVED, because=OWN)
    found = argument(config, loop.loader, MICRO) or Setting((MICRO,), 1, DEFAULT, because="default of DataLoader")
    split = splits(config, loop)
    if split is False or found.value is None:
        return found
    shared = found.value // config.facts.gpus if split and config.facts.gpus else None
    return Setting((MICRO,), shared, DERIVED, because=f"{found.value} of the loader, split between the processes")


def splits(config: LaunchConfig, loop: OwnLoop) -> bool | None:
    """Whether the loader's batch is split between the processes; None if that is unknown."""
    assert config.accelerator is not None
    plugin = loop.plugins.get(LOADER_PLUGIN)
    values = plugin.values if plugin is not None else config.accelerator.values
    found = values.get("split_batches", False)
    return None if isinstance(found, Unknown) or (plugin is None and config.accelerator.values.get("dataloader_config")) else bool(found)


def data_parallel(config: LaunchConfig) -> Setting:
    """The processes that take different batches."""
    call = config.accelerator
    own = loop_of(config) is None or call is None or any(call.values.get(each) is not None for each in SHARES_BATCHES)
    value = None if own else config.facts.gpus
    return Setting(("data_parallel",), value, DERIVED, because=OWN if own else "every process takes batches of its own")


def accumulation(config: LaunchConfig) -> Setting:
    """The micro batches per optimizer step; unknown if the launcher may set another number, or the loop may accumulate by itself."""
    unknown = Setting(("batch",), None, DERIVED, because=OWN)
    call, line, loop = config.accelerator, config.facts.launch.line, loop_of(config)
    if call is None or (line is not None and (VARIABLE in line.call.environment or sets_deepspeed(config))):
        return unknown
    plugins: dict[str, CallDocument] = call.loop.plugins
    if uses_deepspeed(config):
        plugin = plugins.get(DEEPSPEED_PLUGIN)
        if plugin is None or "hf_ds_config" in plugin.values:
            return unknown
        found = argument(config, plugin, ACCUMULATION)
        if found is not None and found.value is not None:
            return found
    elif loop is not None and loop.accumulates is False and ACCUMULATION in call.values:
        return Setting((ACCUMULATION,), 1, DERIVED, because="the loop steps after each batch, without `accumulate()`")
    if call.values.get("gradient_accumulation_plugin") is not None:
        made = plugins.get(ACCUMULATION_PLUGIN)
        return (argument(config, made, "num_steps") if made is not None else None) or unknown
    default = Setting((ACCUMULATION,), 1, DEFAULT, because="default of Accelerator")
    return argument(config, call, ACCUMULATION) or (default if loop is not None and loop.accumulates is not None else unknown)


def uses_deepspeed(config: LaunchConfig) -> bool:
    """Whether the program passes a DeepSpeed plugin."""
    return config.accelerator is not None and any(config.accelerator.values.get(each) is not None for each in DEEPSPEED)


def sets_deepspeed(config: LaunchConfig) -> bool:
    """Whether the launcher may start DeepSpeed, by a flag or by its file."""
    line = config.facts.launch.line
    if line is None or line.values is None:  # another launcher
        return False
    return line.values["type"] == "use_deepspeed" or any(each.kind == "accelerate" and each.path is None for each in line.files)


def argument(config: LaunchConfig, call: CallDocument, key: str) -> Setting | None:
    """An integer argument of a call, at the place where it is written; without a value if it is unknown."""
    name, node = call.find((key,))
    if node is None:
        return None
    found = Setting((key,), integer(call.values.get(key)), WRITTEN, call, node, name)
    borrowed = call.borrowed.get(key)
    line = config.facts.launch.line
    value, place, _ = passed(config.facts.launch, borrowed) if borrowed is not None and line is not None else (None, None, None)
    if place is not None and config.command is not None:
        return Setting((key,), integer(value), WRITTEN, config.command, place[1], None)
    return Setting((key,), None, WRITTEN, call, node, name) if isinstance(value, Unknown) else found


def integer(value: object) -> int | None:
    """The value, if it is an integer."""
    return value if type(value) is int else None


def account(config: LaunchConfig) -> Summary:
    """The summary of a line without a known consumer, and of a program with a training loop of its own."""
    summary, call = launched(config.facts.launch), config.accelerator
    name, node = call.find(("mixed_precision",)) if call is not None else (None, None)
    value = call.values.get("mixed_precision") if call is not None else None
    if call is not None and node is not None and isinstance(value, str):
        summary.add(PRECISION, "precision", Setting(("precision",), NAMES.get(value, value), WRITTEN, call, node, name))
    found = call.loop.optimizer if call is not None and call.loop is not None and not uses_deepspeed(config) else None
    if found is not None:
        add_optimizer(config, summary, found)
    if config.facts.launch.consumer in ("", KIND) and loop_of(config) is None:
        summary.assumed.append("the program's own arguments decide batch and length: they are not known")
    return summary


def add_optimizer(config: LaunchConfig, summary: Summary, made: CallDocument) -> None:
    """The only optimizer that the program makes, with its learning rate."""
    place = Setting(("optimizer",), made.name, WRITTEN, made, made.roots[0], None)
    summary.add(RATE, "optimizer", place)
    name, node = made.find(("lr",))
    value = made.values.get("lr")
    if node is None or type(value) not in (int, float):
        return
    borrowed, line = made.borrowed.get("lr"), config.facts.launch.line
    given, at, _ = passed(config.facts.launch, borrowed) if borrowed is not None and line is not None else (None, None, None)
    if at is not None and config.command is not None:
        summary.add(RATE, "learning rate", Setting(("learning_rate",), given, WRITTEN, config.command, at[1], None))
    else:
        summary.add(RATE, "learning rate", Setting(("learning_rate",), value, WRITTEN, made, node, name))
