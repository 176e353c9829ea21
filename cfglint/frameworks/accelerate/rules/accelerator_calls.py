"""Rules about `Accelerator(...)` calls in the program of a launch line."""

from __future__ import annotations

from cfglint.findings.diagnostic import unpinned
from cfglint.findings.remedy import remove_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import WRITTEN, Setting
from cfglint.frameworks.accelerate.own_loops import ACCUMULATION, PACKAGE, accumulation, has_plugin, loop_of, of_accelerator
from cfglint.frameworks.launch.config import LaunchConfig
from cfglint.frameworks.releases._modelled import RELEASES
from cfglint.frameworks.releases.versions import parse_version
from cfglint.frameworks.remedies import choice
from cfglint.launch.command import passed
from cfglint.source.annotations import Iterator
from cfglint.source.shell.tables import names

MICRO = "train_micro_batch_size_per_gpu"
PLUGIN = "gradient_accumulation_plugin"
PRECISIONS = ("no", "fp8", "fp16", "bf16")
# The parameters of accelerate 0.20.0 to 1.15.0 accelerator.py (Accelerator.__init__), and those of earlier releases.
PARAMETERS = names(
    "device_placement split_batches mixed_precision gradient_accumulation_steps cpu deepspeed_plugin fsdp_plugin"
    " megatron_lm_plugin rng_types log_with project_dir project_config gradient_accumulation_plugin"
    " step_scheduler_with_optimizer kwargs_handlers dynamo_backend"
)
# Those of some releases only: since, until.
SPANS: dict[str, tuple[str, str]] = {
    "dataloader_config": ("0.28.0", ""),
    "deepspeed_plugins": ("1.0.0", ""),
    "dispatch_batches": ("", "1.0.0"),
    "dynamo_plugin": ("1.2.0", ""),
    "even_batches": ("", "1.0.0"),
    "fp16": ("", "0.16.0"),
    "logging_dir": ("", "0.20.0"),
    "parallelism_config": ("1.10.0", ""),
    "torch_tp_plugin": ("1.4.0", ""),
    "use_seedable_sampler": ("0.26.0", "1.0.0"),
}
MOVED = names("dispatch_batches even_batches use_seedable_sampler")  # to `DataLoaderConfiguration`
INSTEAD = {"logging_dir": "pass `project_dir` in its place", "fp16": 'pass `mixed_precision="fp16"` in its place'}
WITHOUT_LOADER = (
    "ValueError: When using DeepSpeed, `accelerate.prepare()` requires you to pass at least one of training or evaluation dataloaders with"
    " `batch_size` attribute returning an integer value or alternatively set an integer value in `train_micro_batch_size_per_gpu` in the"
    " deepspeed config file or assign integer value to"
    " `AcceleratorState().deepspeed_plugin.deepspeed_config['train_micro_batch_size_per_gpu']`."
)
ONLY_PLUGIN = "Please only pass in the created `GradientAccumulationPlugin` object."
WITH_ACCUMULATE = "put the forward pass, `backward` and `step` into `with accelerator.accumulate(model):`"
EARLIER = names("ipex_plugin use_configured_state")


@rule("LCH020")
def invalid_accelerator_argument(config: LaunchConfig) -> Iterator[Finding]:
    call = config.accelerator
    if call is None or call.root is None:
        return
    for key, node in call.root.pairs():
        name, value = key.raw, call.values[key.raw]
        setting = Setting((name,), value, WRITTEN, call, node, key)
        if name not in PARAMETERS | EARLIER:
            message = unaccepted(config, name)
            if message:
                doubts = () if config.facts.is_known(PACKAGE) or name not in SPANS else (unpinned(PACKAGE),)
                text = f"TypeError: Accelerator.__init__() got an unexpected keyword argument {name!r}"
                moved = f"pass `{name}` to `DataLoaderConfiguration`, as `dataloader_config=`" if name in MOVED else INSTEAD.get(name)
                yield Finding(setting, message, depends_on=doubts, exception=text, on_key=True, help=moved or remove_key(name))
        elif name == "mixed_precision" and isinstance(value, str) and value not in PRECISIONS:
            text = f"ValueError: Unknown mixed_precision mode: {value}. Choose between {list(PRECISIONS)}"
            message = f"`mixed_precision` is {setting.spelled}; it must be one of {', '.join(PRECISIONS)}"
            yield Finding(setting, message, exception=text, help=choice("mixed_precision", value, PRECISIONS))
    key_node, node_of_steps = call.find((ACCUMULATION,))
    steps = call.values.get(ACCUMULATION)
    if call.values.get(PLUGIN) is not None and node_of_steps is not None and type(steps) is int and steps != 1:
        setting = Setting((ACCUMULATION,), steps, WRITTEN, call, node_of_steps, key_node)
        text = f"ValueError: You can only pass one of `{ACCUMULATION}` and `{PLUGIN}`. {ONLY_PLUGIN}"
        remedy = f"remove `{ACCUMULATION}`, and set `num_steps` of the plugin"
        yield Finding(setting, f"`{ACCUMULATION}` is incompatible with `{PLUGIN}`", exception=text, help=remedy)


def unaccepted(config: LaunchConfig, name: str) -> str:
    """What is wrong with an argument that no release has, or that the release of the run has not; empty if it has."""
    since, until = SPANS.get(name, ("", ""))
    stated = config.facts.outside.get(PACKAGE)  # an older one than those that are modelled
    release = parse_version(stated) if stated is not None else config.facts.version(PACKAGE, RELEASES[PACKAGE])
    if not since and not until:
        return f"unknown argument `{name}` is not accepted by Accelerator"
    if until and release >= parse_version(until):
        return f"`{name}` is not accepted by Accelerator: it was removed in accelerate {until}"
    is_later = since and release < parse_version(since)
    return f"`{name}` is not accepted by Accelerator: it was added in accelerate {since}" if is_later else ""


@rule("LCH028")
def unresolved_micro_batch(config: LaunchConfig) -> Iterator[Finding]:
    call, engine = config.accelerator, config.engine
    if call is None or call.loop is None or not call.loop.prepares_no_loader or engine is None or engine.get(MICRO) != "auto":
        return
    if has_plugin(call):
        return
    message = f'`{MICRO}` is "auto", and `accelerator.prepare()` is called without a data loader to take it from'
    remedy = "write a number, or pass the training data loader to `accelerator.prepare()`"
    yield Finding(engine.setting(MICRO), message, exception=WITHOUT_LOADER, help=remedy)


@rule("LCH026")
def ineffective_accumulation(config: LaunchConfig) -> Iterator[Finding]:
    call, loop = config.accelerator, loop_of(config)
    if call is None or loop is None or loop.accumulates is not False or accumulation(config).value != 1:
        return
    is_passed = ACCUMULATION in call.values
    setting = of_accelerator(config) if is_passed else argument_of_line(config)
    if setting is None or type(setting.value) is not int or setting.value < 2 or setting.document is None:
        return
    message = f"`{setting.pointer.lstrip('/')}` is {setting.spelled}, but the training loop steps after each batch"
    note, remedy = "nothing accumulates gradients in the training loop", WITH_ACCUMULATE
    if is_passed:
        note = f"the loss is divided by {setting.value} all the same"
    else:
        remedy += f", and pass the argument to `Accelerator` as `{ACCUMULATION}`"
    yield Finding(setting, message, note=note, help=remedy)


def argument_of_line(config: LaunchConfig) -> Setting | None:
    """The argument of the line that is named for accumulation; None without one."""
    program, command = config.facts.launch.parser, config.command
    for key, node in command.roots[0].pairs() if program is not None and command is not None else ():
        field = program.fields.get(key.raw) if program is not None else None
        if field is not None and "accum" in key.raw and field.kind in ("int", ""):
            value, place, _ = passed(config.facts.launch, key.raw)
            if place is not None and type(value) is int:
                return Setting((key.raw,), value, WRITTEN, command, node, key)
    return None


@rule("LCH027")
def ignored_split_batches(config: LaunchConfig) -> Iterator[Finding]:
    call = config.accelerator
    key, node = call.find(("split_batches",)) if call is not None else (None, None)
    if call is not None and node is not None and call.values.get("split_batches") is True:
        message = "`split_batches` is ignored by Accelerator: each process takes whole batches of the data loader"
        remedy = "pass `split_batches` to `DataLoaderConfiguration`, as `dataloader_config=`"
        yield Finding(Setting(("split_batches",), True, WRITTEN, call, node, key), message, on_key=True, help=remedy)
