"""The batch of a program with an `Accelerator` and a training loop of its own.

Source: accelerate 1.15.0 accelerator.py:540-549 (ACCELERATE_GRADIENT_ACCUMULATION_STEPS takes precedence), 2207-2221 (DeepSpeed's value
is used if another one is given), utils/launch.py:570 (set for DeepSpeed); 1.10.1 accelerator.py:1242-1247 (set later); data_loader.py
(prepare_data_loader: `split_batches`); utils/deepspeed.py:264-281 (from 1.8.0 the engine steps when gradients are synchronized, before by
its own counter).
"""

from __future__ import annotations

from math import prod

from cfglint.evaluate import Unknown
from cfglint.findings.setting import DEFAULT, WRITTEN, Batch, Layout, Setting, derived
from cfglint.frameworks.launch.config import LaunchConfig
from cfglint.frameworks.own_loops import TURNS, add_loop, number_of, setting, total_steps, warmup_steps
from cfglint.frameworks.releases._modelled import RELEASES
from cfglint.frameworks.summary import LENGTH, PRECISION, RATE, Summary, launched
from cfglint.launch.accelerate_options import ACCUMULATION_VARIABLE
from cfglint.launch.kinds import LAUNCH
from cfglint.launch.program import OwnLoop, ProgramCall
from cfglint.source.python.call import CallDocument

PACKAGE = "accelerate"
ACCUMULATION = "gradient_accumulation_steps"
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
    call, has_loop, gpus = config.accelerator, loop_of(config) is not None, config.facts.gpus
    shares = call is not None and any(call.values.get(each) is not None for each in SHARES_BATCHES)
    replicas = derived("data_parallel", None, OWN)
    if has_loop and not shares:
        replicas = derived("data_parallel", gpus, "every process takes batches of its own")
    micro, steps = micro_batch(config), accumulation(config)
    numbers = [each.integer for each in (micro, steps, replicas)]
    known = [number for number in numbers if number is not None]
    total = prod(known) if len(known) == len(numbers) and has_loop else None
    because = " x ".join("?" if number is None else str(number) for number in numbers) if has_loop else OWN
    return Batch(Layout(gpus), micro, steps, replicas, derived("global_batch", total, because))


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


def accumulation(config: LaunchConfig) -> Setting:
    """The micro batches per optimizer step: what the `Accelerator` accumulates, as far as the loop lets it."""
    call, loop = config.accelerator, loop_of(config)
    if call is None:
        return derived(ACCUMULATION, None, OWN)
    if uses_deepspeed(config) is not False:
        found = of_engine(config)
        if config.facts.version(PACKAGE, RELEASES[PACKAGE]) < BY_SYNC_SINCE or found.integer in (None, 1) or loop is None:
            return found
        if loop.accumulates is None:
            return derived(ACCUMULATION, None, loop.why or OWN)
        if loop.accumulates:
            return found
        return derived(ACCUMULATION, 1, "from accelerate 1.8 on the engine steps after each batch without `accumulate()`")
    if loop is None or loop.accumulates is None:
        return derived(ACCUMULATION, None, loop.why if loop is not None and loop.why else OWN)
    turns = number_of(loop, TURNS, config.facts.launch)
    if turns is not None:
        counted(turns)
        if loop.is_twice and of_accelerator(config).integer not in (1, turns.integer):
            return derived(ACCUMULATION, None, "the loop accumulates by `accumulate()` and by a condition of its own")
        return turns
    if not loop.accumulates:
        rest = ", without `accumulate()`" if ACCUMULATION in call.values else ""
        return derived(ACCUMULATION, 1, f"the loop steps after each batch{rest}")
    return of_accelerator(config)


def of_accelerator(config: LaunchConfig) -> Setting:
    """The accumulation of the `Accelerator`: what the program sets later, else of its plugin, of the environment, its own argument."""
    call, line = config.accelerator, config.facts.launch.line
    assert call is not None
    later = argument(config, call, ACCUMULATION) if call.is_set_later(ACCUMULATION) else None
    if later is not None:
        return later
    if call.values.get("gradient_accumulation_plugin") is not None:
        document = call.loop.plugins.get(ACCUMULATION_PLUGIN) if call.loop is not None else None
        steps = argument(config, document, "num_steps") if document is not None else None
        return steps or derived(ACCUMULATION, None, "its plugin is not known")
    if line is not None and ACCUMULATION_VARIABLE in line.call.environment:
        text = line.call.environment[ACCUMULATION_VARIABLE].value
        value = int(text) if text is not None and text.isdigit() else None
        return derived(ACCUMULATION, value, f"{ACCUMULATION_VARIABLE} of the line")
    launcher = config.launcher
    if launcher is not None and launcher.uses_deepspeed and launcher.get("deepspeed_config", ACCUMULATION) is not None:
        return counted(launcher.setting("deepspeed_config", ACCUMULATION))
    if ACCUMULATION not in call.values and not (call.loop is not None and call.loop.is_whole):
        return derived(ACCUMULATION, None, "the arguments of `Accelerator` are not all known")
    return argument(config, call, ACCUMULATION) or Setting((ACCUMULATION,), 1, DEFAULT, because="default of Accelerator")


def uses_deepspeed(config: LaunchConfig) -> bool | None:
    call, line = config.accelerator, config.facts.launch.line
    if call is not None and has_plugin(call):
        return True
    if line is None or (line.values is None and not any(file.kind == "accelerate" for file in line.files)):
        return False  # another launcher
    if line.values is not None and line.values["type"]:
        return bool(line.values["type"] == "use_deepspeed")
    return None if any(file.kind == "accelerate" and file.path is None for file in line.files) else False


def of_engine(config: LaunchConfig) -> Setting:
    call, engine = config.accelerator, config.engine
    assert call is not None
    if has_plugin(call):
        plugin = plugin_of_engine(call)
        if plugin is None:
            return derived(ACCUMULATION, None, "the config of DeepSpeed's plugin is not read")
        found = argument(config, plugin, ACCUMULATION)
        return found if found is not None and found.integer is not None else of_accelerator(config)
    if uses_deepspeed(config) is None:
        return derived(ACCUMULATION, None, "the accelerate config is not in the project")
    launcher = config.launcher
    if launcher is None or not launcher.get("deepspeed_config", "deepspeed_config_file"):
        return of_accelerator(config)
    if engine is None:
        return derived(ACCUMULATION, None, "the DeepSpeed config is not in the project")
    written = engine.get(ACCUMULATION)
    if written == "auto" or (config.facts.version(PACKAGE, RELEASES[PACKAGE]) < FILE_SINCE and ACCUMULATION in call.values):
        return of_accelerator(config)
    return engine.setting(ACCUMULATION, value=1, because="1 if the DeepSpeed config does not set it")


def has_plugin(call: ProgramCall) -> bool:
    """Whether the program gives its `Accelerator` a plugin of DeepSpeed, which takes precedence over the launcher's file."""
    return any(call.values.get(each) is not None for each in DEEPSPEED)


def plugin_of_engine(call: ProgramCall) -> CallDocument | None:
    """The plugin from which accelerate makes the config of DeepSpeed; None if it is not known, or given a config of its own."""
    plugin = call.loop.plugins.get(DEEPSPEED_PLUGIN) if call.loop is not None else None
    return None if plugin is None or "hf_ds_config" in plugin.values else plugin


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
    """The summary of a line without a known consumer, and of a program with a training loop of its own."""
    launch, summary, loop = config.facts.launch, launched(config.facts.launch), loop_of(config)
    precision(config, summary)
    if loop is not None:
        is_dummy = loop.optimizer is not None and loop.optimizer.name == "DummyOptim"  # which stands for that of the DeepSpeed config
        add_loop(summary, loop, launch, accumulation(config).integer, has_optimizer=not is_dummy)
        add_schedule_length(config, summary, loop)
        engine = config.engine if is_dummy else None
        if engine is not None:
            summary.add(RATE, "optimizer", engine.setting("optimizer", "type"))
            rate = engine.setting("optimizer", "params", "lr")
            if rate.value == "auto" and loop.optimizer is not None:  # then it is that of the program
                rate = setting(loop.optimizer, "lr", launch, "learning_rate") or rate
            if type(rate.value) in (int, float):
                rate = Setting(("learning_rate",), rate.value, rate.origin, rate.document, rate.node, rate.key_node)
                summary.add(RATE, "learning rate", rate)
            if engine.get("scheduler", "type") is not None:
                summary.items = [item for item in summary.items if item.label != "schedule"]
                summary.add(RATE, "schedule", engine.setting("scheduler", "type"))
    if launch.consumer in ("", LAUNCH) and (loop is None or loop.loader is None):
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


def precision(config: LaunchConfig, summary: Summary) -> None:
    """Add the precision: of the DeepSpeed config, else of the `Accelerator`, else of its launcher."""
    call, engine, launcher, line = config.accelerator, config.engine, config.launcher, config.facts.launch.line
    if call is None or (has_plugin(call) and plugin_of_engine(call) is None):
        return  # the config of DeepSpeed's plugin may set it
    found = setting(call, "mixed_precision", config.facts.launch, "precision")
    enabled = [name for name in ("bf16", "fp16") if engine is not None and engine.get(name, "enabled") is True]
    if engine is not None and enabled:
        found = engine.setting(enabled[0], "enabled")
        found = Setting(("precision",), enabled[0], WRITTEN, found.document, found.node, found.key_node)
    if found is None or (found.value is None and "mixed_precision" not in call.unknown):
        found = None
        if launcher is not None and launcher.precision is not None and launcher.precision_named:
            named = launcher.setting("mixed_precision")
            found = Setting(("precision",), launcher.precision, named.origin, named.document, named.node, named.key_node, named.because)
        elif launcher is not None and launcher.lacks_engine:
            return
        elif launcher is not None and not launcher.documents[0].is_command:
            found = Setting(("precision",), launcher.precision, DEFAULT, because="default of accelerate")
        elif line is not None and line.values is None and not any(file.kind == "accelerate" for file in line.files):
            found = Setting(("precision",), "no", DEFAULT, because="default of Accelerator")
    if found is not None and isinstance(found.value, str):
        found.value = NAMES.get(found.value.lower(), found.value.lower())
        summary.add(PRECISION, "precision", found)
