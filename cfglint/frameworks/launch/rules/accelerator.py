"""Rules about `Accelerator(...)` calls in the program of a launch line."""

from __future__ import annotations

from cfglint.findings.diagnostic import unpinned
from cfglint.findings.releases import Releases
from cfglint.findings.rule import CODE, Example, Finding, config_error, warning
from cfglint.findings.setting import WRITTEN, Setting
from cfglint.frameworks._releases import RELEASES
from cfglint.frameworks.launch.accelerator import accumulation, loop_of, of_accelerator
from cfglint.frameworks.launch.config import ACCUMULATION, LaunchConfig, passed
from cfglint.frameworks.remedies import choice
from cfglint.frameworks.versions import parse_version
from cfglint.source.annotations import Iterator
from cfglint.source.shell.tables import names

PACKAGE = "accelerate"
STEPS, PLUGIN = "gradient_accumulation_steps", "gradient_accumulation_plugin"
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
EARLIER = names("ipex_plugin use_configured_state")
LINE = "torchrun --nproc_per_node 8 train.py\n"
IMPORT = "from accelerate import Accelerator\n\n"


@config_error(
    "LCH020",
    source="accelerate 1.15.0 accelerator.py:274-301, 312-317, 540-545",
    bad=(
        {"train.sh": LINE, "train.py": IMPORT + "accelerator = Accelerator(mixed_precision='bfloat16')\n"},
        {"train.sh": LINE, "train.py": IMPORT + "accelerator = Accelerator(mixed_precison='bf16')\n"},
        Example(
            {"train.sh": LINE, "train.py": IMPORT + "accelerator = Accelerator(even_batches=False)\n"},
            facts={"target": {"accelerate": "1.15.0"}},
        ),
        Example(
            {"train.sh": LINE, "train.py": IMPORT + "accelerator = Accelerator(logging_dir='logs')\n"},
            facts={"target": {"accelerate": "1.15.0"}},
        ),
        {
            "train.sh": LINE,
            "train.py": IMPORT + "accelerator = Accelerator(gradient_accumulation_steps=2, gradient_accumulation_plugin=own())\n",
        },
    ),
    good={"train.sh": LINE, "train.py": IMPORT + "accelerator = Accelerator(mixed_precision='bf16')\n"},
    example={"named": 1},
    about=CODE,
)
def invalid_accelerator_argument(config: LaunchConfig) -> Iterator[Finding]:
    """`Accelerator(...)` in the program has an argument or a precision that accelerate does not have.

    The program is read as a syntax tree; only literals are checked. `dispatch_batches`, `even_batches` and `use_seedable_sampler` moved
    to `DataLoaderConfiguration` in accelerate 1.0; `fp16` was removed in 0.16, `logging_dir` in 0.20.
    """
    call = config.accelerator
    for key, node in call.root.pairs() if call is not None and call.root is not None else ():
        assert call is not None
        value = call.values[key.raw]
        setting = Setting((key.raw,), value, WRITTEN, call, node, key)
        if key.raw not in PARAMETERS | EARLIER:
            yield from unknown_argument(config, setting)
        elif key.raw == "mixed_precision" and isinstance(value, str) and value not in PRECISIONS:
            raised = f"ValueError: Unknown mixed_precision mode: {value}. Choose between {list(PRECISIONS)}"
            yield Finding(
                setting,
                f"`mixed_precision` is {setting.spelled}; it must be one of {', '.join(PRECISIONS)}",
                exception=raised,
                help=choice("mixed_precision", value, PRECISIONS, quoted=True),
            )
    yield from accumulation_twice(config)


def unknown_argument(config: LaunchConfig, setting: Setting) -> Iterator[Finding]:
    """The finding about an argument that no release has, or that the release of the run has not."""
    since, until = SPANS.get(setting.name, ("", ""))
    release, where = config.facts.version(PACKAGE, RELEASES[PACKAGE]), f"`{setting.name}` is not accepted by Accelerator"
    if not since and not until:
        where = f"unknown argument `{setting.name}` is not accepted by Accelerator"
    elif until and release >= parse_version(until):
        where += f": it was removed in accelerate {until}"
    elif since and release < parse_version(since):
        where += f": it was added in accelerate {since}"
    else:
        return
    yield Finding(
        setting,
        where,
        depends_on=() if config.facts.is_known(PACKAGE) or setting.name not in SPANS else (unpinned(PACKAGE),),
        exception=f"TypeError: Accelerator.__init__() got an unexpected keyword argument {setting.name!r}",
        on_key=True,
        help=remedy_of(setting.name),
    )


def remedy_of(name: str) -> str:
    """What to do about an argument that the release does not accept."""
    if name in MOVED:
        return f"pass `{name}` to `DataLoaderConfiguration`, as `dataloader_config=`"
    return INSTEAD.get(name, f"remove `{name}`")


def accumulation_twice(config: LaunchConfig) -> Iterator[Finding]:
    """The finding about an accumulation that is passed next to a plugin for it."""
    call = config.accelerator
    plugin = call.find((PLUGIN,))[1] if call is not None else None
    if call is None or plugin is None or call.values[PLUGIN] is None:
        return
    key, node = call.find((STEPS,))
    value = call.values.get(STEPS)
    if node is not None and type(value) is int and value != 1:
        yield Finding(
            Setting((STEPS,), value, WRITTEN, call, node, key),
            f"`{STEPS}` is incompatible with `{PLUGIN}`",
            exception=f"ValueError: You can only pass one of `{STEPS}` and `{PLUGIN}`. "
            "Please only pass in the created `GradientAccumulationPlugin` object.",
            help=f"remove `{STEPS}`, and set `num_steps` of the plugin",
        )


LOOP = """\
from accelerate import Accelerator
from torch.utils.data import DataLoader

accelerator = Accelerator({})
loader = accelerator.prepare(DataLoader(rows, batch_size=8))
for batch in loader:
    {}accelerator.backward(model(batch))
    {}optimizer.step()
"""
STEPS_EACH = {"train.sh": LINE, "train.py": LOOP.format("gradient_accumulation_steps=4", "", "")}
ACCUMULATES = LOOP.format("gradient_accumulation_steps=4", "with accelerator.accumulate(model):\n        ", "    ")


@warning(
    "LCH026",
    source="accelerate 1.15.0 accelerator.py:1232-1268 (accumulate), 2849-2851 (backward); utils/deepspeed.py:264-281",
    bad=STEPS_EACH,
    good={"train.sh": LINE, "train.py": ACCUMULATES},
    example={"named": 1},
    about=CODE,
)
def ineffective_accumulation(config: LaunchConfig) -> Iterator[Finding]:
    """A number of gradient accumulation steps is set, but the training loop of the program steps after each batch.

    `Accelerator(gradient_accumulation_steps=n)` accumulates in `with accelerator.accumulate(model):` alone. A loop without it calls
    `optimizer.step()` for each batch, and `accelerator.backward` divides the loss by `n` all the same. With DeepSpeed the engine
    accumulated by itself before accelerate 1.8; since then the same holds there. An argument of the program that only its messages use
    is reported, too.
    """
    loop = loop_of(config)
    call = config.accelerator
    if call is None or loop is None or loop.accumulates is not False or accumulation(config).value != 1:
        return
    given = of_accelerator(config) if ACCUMULATION in call.values else argument_of_line(config)
    if given is None or type(given.value) is not int or given.value < 2 or given.document is None:
        return
    divides = ACCUMULATION in call.values
    yield Finding(
        given,
        f"`{given.pointer.lstrip('/')}` is {given.spelled}, but the training loop steps after each batch",
        note=f"the loss is divided by {given.value} all the same" if divides else "nothing accumulates gradients in the training loop",
        help="put the forward pass, `backward` and `step` into `with accelerator.accumulate(model):`"
        + ("" if divides else f", and pass the argument to `Accelerator` as `{ACCUMULATION}`"),
    )


def argument_of_line(config: LaunchConfig) -> Setting | None:
    """The argument of the line that is named for accumulation; None without one."""
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


@warning(
    "LCH027",
    source="accelerate 1.15.0 accelerator.py:312-330 (Accelerator.__init__), 0.34.2 accelerator.py (FutureWarning)",
    bad={"train.sh": LINE, "train.py": LOOP.format("split_batches=True", "", "")},
    good={
        "train.sh": LINE,
        "train.py": LOOP.format("dataloader_config=DataLoaderConfiguration(split_batches=True)", "", "").replace(
            "Accelerator\n", "Accelerator\nfrom accelerate.utils import DataLoaderConfiguration\n", 1
        ),
    },
    example={"named": 1},
    about=CODE,
    releases=Releases((1, 0, 0), package="accelerate"),
)
def ignored_split_batches(config: LaunchConfig) -> Iterator[Finding]:
    """`Accelerator(split_batches=True)` has no effect since accelerate 1.0.

    The argument is accepted and never read: each process takes whole batches of the data loader, so the global batch size is larger by
    the number of processes. `DataLoaderConfiguration` has it.
    """
    call = config.accelerator
    key, node = call.find(("split_batches",)) if call is not None else (None, None)
    if call is not None and node is not None and call.values.get("split_batches") is True:
        yield Finding(
            Setting(("split_batches",), True, WRITTEN, call, node, key),
            "`split_batches` is ignored by Accelerator: each process takes whole batches of the data loader",
            on_key=True,
            help="pass `split_batches` to `DataLoaderConfiguration`, as `dataloader_config=`",
        )
