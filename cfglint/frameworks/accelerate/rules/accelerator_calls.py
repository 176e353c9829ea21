"""Rules about `Accelerator(...)` calls in the program of a launch line."""

from __future__ import annotations

from cfglint.findings.diagnostic import unpinned
from cfglint.findings.remedy import Remedy, remove_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import WRITTEN, Setting
from cfglint.frameworks.accelerate.own_loops import ACCUMULATION, DEEPSPEED, PACKAGE, accumulation, loop_of, of_accelerator
from cfglint.frameworks.launch.config import LaunchConfig
from cfglint.frameworks.releases._modelled import RELEASES
from cfglint.frameworks.releases.versions import parse_version
from cfglint.frameworks.remedies import choice
from cfglint.launch.passed_arguments import passed
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
EARLIER = names("ipex_plugin use_configured_state")


@rule("LCH020")
def invalid_accelerator_argument(config: LaunchConfig) -> Iterator[Finding]:
    call = config.accelerator
    for key, node in call.root.pairs() if call is not None and call.root is not None else ():
        assert call is not None
        value = call.values[key.raw]
        setting = Setting((key.raw,), value, WRITTEN, call, node, key)
        if key.raw not in PARAMETERS | EARLIER:
            yield from unknown_argument(config, setting)
        elif key.raw == "mixed_precision" and isinstance(value, str) and value not in PRECISIONS:
            raised = f"ValueError: Unknown mixed_precision mode: {value}. Choose between {list(PRECISIONS)}"
            message = f"`mixed_precision` is {setting.spelled}; it must be one of {', '.join(PRECISIONS)}"
            yield Finding(setting, message, exception=raised, help=choice("mixed_precision", value, PRECISIONS))
    yield from accumulation_twice(config)


def unknown_argument(config: LaunchConfig, setting: Setting) -> Iterator[Finding]:
    since, until = SPANS.get(setting.name, ("", ""))
    stated = config.facts.outside.get(PACKAGE)  # an older one than those that are modelled
    release = parse_version(stated) if stated is not None else config.facts.version(PACKAGE, RELEASES[PACKAGE])
    where = f"`{setting.name}` is not accepted by Accelerator"
    if not since and not until:
        where = f"unknown argument `{setting.name}` is not accepted by Accelerator"
    elif until and release >= parse_version(until):
        where += f": it was removed in accelerate {until}"
    elif since and release < parse_version(since):
        where += f": it was added in accelerate {since}"
    else:
        return
    doubts = () if config.facts.is_known(PACKAGE) or setting.name not in SPANS else (unpinned(PACKAGE),)
    text = f"TypeError: Accelerator.__init__() got an unexpected keyword argument {setting.name!r}"
    yield Finding(setting, where, depends_on=doubts, exception=text, on_key=True, help=remedy_of(setting.name))


def remedy_of(name: str) -> Remedy | str:
    if name in MOVED:
        return f"pass `{name}` to `DataLoaderConfiguration`, as `dataloader_config=`"
    return INSTEAD.get(name) or remove_key(name)


def accumulation_twice(config: LaunchConfig) -> Iterator[Finding]:
    call = config.accelerator
    plugin = call.find((PLUGIN,))[1] if call is not None else None
    if call is None or plugin is None or call.values[PLUGIN] is None:
        return
    key, node = call.find((ACCUMULATION,))
    value = call.values.get(ACCUMULATION)
    if node is not None and type(value) is int and value != 1:
        yield Finding(
            Setting((ACCUMULATION,), value, WRITTEN, call, node, key),
            f"`{ACCUMULATION}` is incompatible with `{PLUGIN}`",
            exception=f"ValueError: You can only pass one of `{ACCUMULATION}` and `{PLUGIN}`. "
            "Please only pass in the created `GradientAccumulationPlugin` object.",
            help=f"remove `{ACCUMULATION}`, and set `num_steps` of the plugin",
        )


@rule("LCH028")
def unresolved_micro_batch(config: LaunchConfig) -> Iterator[Finding]:
    call, engine = config.accelerator, config.engine
    if call is None or call.loop is None or not call.loop.prepares_no_loader or engine is None or engine.get(MICRO) != "auto":
        return
    if any(call.values.get(each) is not None for each in DEEPSPEED):  # which takes precedence over the launcher's file
        return
    message = f'`{MICRO}` is "auto", and `accelerator.prepare()` is called without a data loader to take it from'
    remedy = "write a number, or pass the training data loader to `accelerator.prepare()`"
    yield Finding(engine.setting(MICRO), message, exception=WITHOUT_LOADER, help=remedy)


@rule("LCH026")
def ineffective_accumulation(config: LaunchConfig) -> Iterator[Finding]:
    loop = loop_of(config)
    call = config.accelerator
    if call is None or loop is None or loop.accumulates is not False or accumulation(config).value != 1:
        return
    setting = of_accelerator(config) if ACCUMULATION in call.values else argument_of_line(config)
    if setting is None or type(setting.value) is not int or setting.value < 2 or setting.document is None:
        return
    divides = ACCUMULATION in call.values
    yield Finding(
        setting,
        f"`{setting.pointer.lstrip('/')}` is {setting.spelled}, but the training loop steps after each batch",
        note=f"the loss is divided by {setting.value} all the same" if divides else "nothing accumulates gradients in the training loop",
        help="put the forward pass, `backward` and `step` into `with accelerator.accumulate(model):`"
        + ("" if divides else f", and pass the argument to `Accelerator` as `{ACCUMULATION}`"),
    )


def argument_of_line(config: LaunchConfig) -> Setting | None:
    program, command = config.facts.launch.parser, config.command
    if program is None or command is None:
        return None
    for key, node in command.roots[0].pairs():
        field = program.fields.get(key.raw)
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
