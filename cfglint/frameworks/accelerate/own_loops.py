"""The batch of a program with an `Accelerator` and a training loop of its own.

Source: accelerate 1.15.0 accelerator.py:540-549 (ACCELERATE_GRADIENT_ACCUMULATION_STEPS takes precedence), 2207-2221 (DeepSpeed's value
is used if another one is given), utils/launch.py:570 (set for DeepSpeed); data_loader.py (prepare_data_loader: `split_batches`);
utils/deepspeed.py:264-281 (from 1.8.0 the engine steps when gradients are synchronized, before by its own counter).
"""

from __future__ import annotations

from math import prod

from cfglint.evaluate import Unknown
from cfglint.findings.setting import DEFAULT, WRITTEN, Batch, Layout, Setting, derived
from cfglint.frameworks.launch.config import LaunchConfig
from cfglint.frameworks.own_loops import TURNS, add_loop, number_of, setting, total_steps, warmup_steps
from cfglint.frameworks.releases._modelled import RELEASES
from cfglint.frameworks.summary import LENGTH, PRECISION, RATE, Summary, launched
from cfglint.launch.program import OwnLoop
from cfglint.launch.registered import LAUNCH
from cfglint.source.python.call import CallDocument

PACKAGE = "accelerate"
ACCUMULATION = "gradient_accumulation_steps"
VARIABLE = "ACCELERATE_GRADIENT_ACCUMULATION_STEPS"
MICRO = "batch_size"
ACCUMULATION_PLUGIN, DEEPSPEED_PLUGIN, LOADER_PLUGIN = "GradientAccumulationPlugin", "DeepSpeedPlugin", "DataLoaderConfiguration"
DEEPSPEED = ("deepspeed_plugin", "deepspeed_plugins")
SHARES_BATCHES = ("parallelism_config", "megatron_lm_plugin", "torch_tp_plugin")  # processes that take the same samples
BY_SYNC_SINCE = (1, 8, 0)  # the engine steps when accelerate synchronizes gradients; before, by its own counter
FILE_SINCE = (0, 23, 0)  # the number of the DeepSpeed file is used, and not that of the `Accelerator`
SCHEDULE_STEPS = "num_training_steps"
IGNORES_SPLIT_SINCE = (1, 0, 0)  # `Accelerator(split_batches=True)` has no effect
OWN = "the program's own"
NAMES = {"no": "fp32"}  # precisions as `explain` names them


def batch(config: LaunchConfig) -> Batch:
    """The batch of a launch whose program sets the batch itself: the processes, the loader's batch size and its accumulation."""
    micro, steps, replicas = micro_batch(config), accumulation(config), data_parallel(config)
    numbers = [each.integer for each in (micro, steps, replicas)]
    known = [number for number in numbers if number is not None]
    total = prod(known) if len(known) == len(numbers) and loop_of(config) is not None else None
    because = " x ".join("?" if number is None else str(number) for number in numbers) if loop_of(config) is not None else OWN
    return Batch(Layout(config.facts.gpus), micro, steps, replicas, derived("global_batch", total, because))


def loop_of(config: LaunchConfig) -> OwnLoop | None:
    loop = config.accelerator.loop if config.accelerator is not None else None
    return loop if loop is not None and loop.is_found else None


def micro_batch(config: LaunchConfig) -> Setting:
    loop = loop_of(config)
    if loop is None or loop.loader is None or "batch_sampler" in loop.loader.values:
        return derived("batch", None, loop.lacks_loader if loop is not None and loop.lacks_loader else OWN)
    found = argument(config, loop.loader, MICRO) or Setting((MICRO,), 1, DEFAULT, because="default of DataLoader")
    split = splits(config, loop)
    size = found.integer
    if split is False or size is None:
        return found
    shared = size // config.facts.gpus if split and config.facts.gpus else None
    return derived(MICRO, shared, f"{size} of the loader, split between the processes")


def splits(config: LaunchConfig, loop: OwnLoop) -> bool | None:
    assert config.accelerator is not None
    plugin = loop.plugins.get(LOADER_PLUGIN)
    if plugin is None and config.facts.version(PACKAGE, RELEASES[PACKAGE]) >= IGNORES_SPLIT_SINCE:
        return None if config.accelerator.values.get("dataloader_config") else False
    values = plugin.values if plugin is not None else config.accelerator.values
    value = values.get("split_batches", False)
    return None if isinstance(value, Unknown) or (plugin is None and config.accelerator.values.get("dataloader_config")) else bool(value)


def data_parallel(config: LaunchConfig) -> Setting:
    call = config.accelerator
    own = loop_of(config) is None or call is None or any(call.values.get(each) is not None for each in SHARES_BATCHES)
    value = None if own else config.facts.gpus
    return derived("data_parallel", value, OWN if own else "every process takes batches of its own")


def accumulation(config: LaunchConfig) -> Setting:
    """The micro batches per optimizer step: what the `Accelerator` accumulates, as far as the loop lets it."""
    call, loop = config.accelerator, loop_of(config)
    if call is None:
        return open_accumulation(OWN)
    if uses_deepspeed(config) is not False:
        found = of_engine(config)
        if config.facts.version(PACKAGE, RELEASES[PACKAGE]) < BY_SYNC_SINCE or found.integer in (None, 1) or loop is None:
            return found
        if loop.accumulates is None:
            return open_accumulation(loop.why or OWN)
        if loop.accumulates:
            return found
        return derived(ACCUMULATION, 1, "from accelerate 1.8 on the engine steps after each batch without `accumulate()`")
    if loop is None or loop.accumulates is None:
        return open_accumulation(loop.why if loop is not None and loop.why else OWN)
    turns = number_of(loop, TURNS, config.facts.launch)
    if turns is not None:
        counted(turns)
        if loop.is_twice and of_accelerator(config).integer not in (1, turns.integer):
            return open_accumulation("the loop accumulates by `accumulate()` and by a condition of its own")
        return turns
    if not loop.accumulates:
        because = (
            "the loop steps after each batch, without `accumulate()`" if ACCUMULATION in call.values else "the loop steps after each batch"
        )
        return derived(ACCUMULATION, 1, because)
    return of_accelerator(config)


def open_accumulation(because: str) -> Setting:
    return derived(ACCUMULATION, None, because)


def of_accelerator(config: LaunchConfig) -> Setting:
    """The accumulation of the `Accelerator`: of its plugin, else of the environment, else its own argument."""
    call, line = config.accelerator, config.facts.launch.line
    assert call is not None
    if call.values.get("gradient_accumulation_plugin") is not None:
        document = call.loop.plugins.get(ACCUMULATION_PLUGIN) if call.loop is not None else None
        return (argument(config, document, "num_steps") if document is not None else None) or open_accumulation("its plugin is not known")
    if line is not None and VARIABLE in line.call.environment:
        text = line.call.environment[VARIABLE].value
        value = int(text) if text is not None and text.isdigit() else None
        return derived(ACCUMULATION, value, f"{VARIABLE} of the line")
    launcher = config.launcher
    if launcher is not None and launcher.uses_deepspeed and launcher.get("deepspeed_config", ACCUMULATION) is not None:
        return counted(launcher.setting("deepspeed_config", ACCUMULATION))
    if ACCUMULATION not in call.values and not (call.loop is not None and call.loop.is_whole):
        return open_accumulation("the arguments of `Accelerator` are not all known")
    return argument(config, call, ACCUMULATION) or Setting((ACCUMULATION,), 1, DEFAULT, because="default of Accelerator")


def uses_deepspeed(config: LaunchConfig) -> bool | None:
    call, line = config.accelerator, config.facts.launch.line
    if call is not None and any(call.values.get(each) is not None for each in DEEPSPEED):
        return True
    if line is None or (line.values is None and not any(file.kind == "accelerate" for file in line.files)):
        return False  # another launcher
    if line.values is not None and line.values["type"]:
        return bool(line.values["type"] == "use_deepspeed")
    return None if any(file.kind == "accelerate" and file.path is None for file in line.files) else False


def of_engine(config: LaunchConfig) -> Setting:
    call, engine = config.accelerator, config.engine
    assert call is not None
    plugin = call.loop.plugins.get(DEEPSPEED_PLUGIN) if call.loop is not None else None
    if any(call.values.get(each) is not None for each in DEEPSPEED):
        if plugin is None or "hf_ds_config" in plugin.values:
            return open_accumulation("the config of DeepSpeed's plugin is not read")
        found = argument(config, plugin, ACCUMULATION)
        return found if found is not None and found.integer is not None else of_accelerator(config)
    if uses_deepspeed(config) is None:
        return open_accumulation("the accelerate config is not in the project")
    launcher = config.launcher
    if launcher is None or not launcher.get("deepspeed_config", "deepspeed_config_file"):
        return of_accelerator(config)
    if engine is None:
        return open_accumulation("the DeepSpeed config is not in the project")
    written = engine.get(ACCUMULATION)
    if written == "auto" or (config.facts.version(PACKAGE, RELEASES[PACKAGE]) < FILE_SINCE and ACCUMULATION in call.values):
        return of_accelerator(config)
    return engine.setting(ACCUMULATION, value=1, because="1 if the DeepSpeed config does not set it")


def argument(config: LaunchConfig, call: CallDocument, key: str) -> Setting | None:
    found = setting(call, key, config.facts.launch)
    return counted(found) if found is not None else None


def counted(setting: Setting) -> Setting:
    """A setting that has to be an integer; what comes of any other value is not known."""
    if not setting.is_unknown:
        setting.value = Unknown() if setting.integer is None else setting.integer
    return setting


def numbers(config: LaunchConfig) -> dict[str, int | None]:
    loop = loop_of(config)
    if loop is None:
        return {}
    total = total_steps(loop, config.facts.launch, accumulation(config).integer)
    return {"total_steps": total, "warmup_steps": warmup_steps(loop, config.facts.launch)}


def account(config: LaunchConfig) -> Summary:
    summary, loop = launched(config.facts.launch), loop_of(config)
    precision(config, summary)
    if loop is not None:
        steps = accumulation(config).integer
        add_loop(summary, loop, config.facts.launch, steps, has_optimizer=not has_dummy(loop))
        add_schedule_length(config, summary, loop)
        if has_dummy(loop):
            add_engine(config, summary, loop)
    if config.facts.launch.consumer in ("", LAUNCH) and (loop is None or loop.loader is None):
        summary.assumed.append("the program's own arguments decide batch and length: they are not known")
    return summary


def add_schedule_length(config: LaunchConfig, summary: Summary, loop: OwnLoop) -> None:
    """Add the optimizer's steps after which a prepared schedule ends: it goes on by one for each process (scheduler.py, `step`)."""
    call, processes = config.accelerator, config.facts.gpus
    found = setting(loop.schedule, SCHEDULE_STEPS, config.facts.launch) if loop.schedule is not None else None
    total = found.integer if found is not None else None
    follows = call is None or call.values.get("step_scheduler_with_optimizer", True) is True
    if not loop.prepares_schedule or total is None or not processes or not follows or splits(config, loop) is not False:
        return
    because = f"{total:,} steps of the schedule" + (f", which makes {processes} at each step" if processes > 1 else "")
    summary.derive(LENGTH, "schedule's total", SCHEDULE_STEPS, total // processes, because)


def has_dummy(loop: OwnLoop) -> bool:
    return loop.optimizer is not None and loop.optimizer.name == "DummyOptim"


def add_engine(config: LaunchConfig, summary: Summary, loop: OwnLoop) -> None:
    """Add the optimizer of the DeepSpeed config, whose "auto" is that of the program's `DummyOptim`."""
    engine = config.engine
    if engine is None:
        return
    summary.add(RATE, "optimizer", engine.setting("optimizer", "type"))
    rate = engine.setting("optimizer", "params", "lr")
    if rate.value == "auto" and loop.optimizer is not None:
        rate = setting(loop.optimizer, "lr", config.facts.launch, "learning_rate") or rate
    if type(rate.value) in (int, float):
        summary.add(RATE, "learning rate", Setting(("learning_rate",), rate.value, rate.origin, rate.document, rate.node, rate.key_node))
    if engine.get("scheduler", "type") is not None:
        summary.items = [item for item in summary.items if item.label != "schedule"]
        summary.add(RATE, "schedule", engine.setting("scheduler", "type"))


def precision(config: LaunchConfig, summary: Summary) -> None:
    call, engine = config.accelerator, config.engine
    if call is None:
        return
    found = setting(call, "mixed_precision", config.facts.launch, "precision")
    if engine is not None:
        enabled = [name for name in ("bf16", "fp16") if engine.get(name, "enabled") is True]
        if enabled:
            found = engine.setting(enabled[0], "enabled")
            found = Setting(("precision",), enabled[0], WRITTEN, found.document, found.node, found.key_node)
    if found is None or (found.value is None and "mixed_precision" not in call.unknown):
        found = of_launcher(config)
    if found is not None and isinstance(found.value, str):
        found.value = NAMES.get(found.value.lower(), found.value.lower())
        summary.add(PRECISION, "precision", found)


def of_launcher(config: LaunchConfig) -> Setting | None:
    launcher, line = config.launcher, config.facts.launch.line
    if launcher is not None and launcher.precision is not None and launcher.precision_named:
        found = launcher.setting("mixed_precision")
        return Setting(("precision",), launcher.precision, found.origin, found.document, found.node, found.key_node, found.because)
    if launcher is not None and not launcher.documents[0].is_command:
        return Setting(("precision",), launcher.precision, DEFAULT, because="default of accelerate")
    if line is not None and line.values is None and not any(file.kind == "accelerate" for file in line.files):
        return Setting(("precision",), "no", DEFAULT, because="default of Accelerator")
    return None
