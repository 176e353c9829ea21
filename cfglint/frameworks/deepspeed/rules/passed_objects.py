"""Rules about objects that a program passes to `deepspeed.initialize` in the place of what its config has."""

from __future__ import annotations

from cfglint.findings.rule import Example, Finding, init_error, warning
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.source.annotations import Iterator

SECTIONS = {"optimizer": "optimizer", "scheduler": "lr_scheduler"}
LINE = "deepspeed --num_gpus 8 train.py\n"
CONFIG = "import deepspeed, torch\n\nconfig = {'train_batch_size': 8, 'optimizer': {'type': 'Adam', 'params': {'lr': 1e-4}}}\n"
MADE = "optimizer = torch.optim.Adam(model.parameters())\n"
ZERO = "{'stage': 2, 'offload_optimizer': {'device': 'cpu'}}"
OFFLOAD = f"import deepspeed, torch\n\nconfig = {{'train_batch_size': 8, 'zero_optimization': {ZERO}}}\n"
CALL = "deepspeed.initialize(model=model, {}config=config)\n"
PASSED = CALL.format("optimizer=optimizer, ")
OPTIMIZERS = ("torch.optim.", "deepspeed.ops.", "apex.optimizers.", "bitsandbytes.optim.")
LION = (0, 17, 6)  # from here on the engine accepts DeepSpeedCPULion, too
LIONS, OLDER = "deepspeed.ops.lion.DeepSpeedCPULion", {"deepspeed": "0.17.5"}
RAISED = "ZeRORuntimeException: You are using ZeRO-Offload with a client provided optimizer (<class '{}'>)"


@warning(
    "DSP117",
    source="deepspeed 0.19.8 runtime/engine.py:2328-2340 (_configure_optimizer), 1883-1895 (_configure_lr_scheduler)",
    bad={"train.sh": LINE, "train.py": CONFIG + MADE + PASSED},
    good={"train.sh": LINE, "train.py": CONFIG + CALL.format("model_parameters=model.parameters(), ")},
    example={"kind": "launch", "named": 1},
)
def section_replaced_by_object(config: DeepSpeedConfig) -> Iterator[Finding]:
    """The config has an `optimizer` or `scheduler` section, and the program passes such an object to `deepspeed.initialize`.

    The object is used and the section is ignored.
    """
    for section, name in SECTIONS.items():
        if config.passes(name) and config.has(section):
            yield Finding(
                config.setting(section),
                f"`{section}` is ignored: the program passes `{name}` to `deepspeed.initialize`",
                on_key=True,
                help=f"remove `{section}`, or the argument `{name}`",
            )


@init_error(
    "DSP118",
    source="deepspeed 0.19.8 runtime/engine.py:2342-2346, 0.17.5 runtime/engine.py:1444-1446",
    bad=(
        {"train.sh": LINE, "train.py": OFFLOAD + MADE + PASSED},
        Example({"train.sh": LINE, "train.py": OFFLOAD + MADE.replace("torch.optim.Adam", LIONS) + PASSED}, facts={"target": OLDER}),
    ),
    good={"train.sh": LINE, "train.py": OFFLOAD + MADE.replace("torch.optim.Adam", "deepspeed.ops.adam.DeepSpeedCPUAdam") + PASSED},
    example={"kind": "launch", "named": 1},
)
def offload_of_torch_optimizer(config: DeepSpeedConfig) -> Iterator[Finding]:
    """The optimizer is offloaded to the CPU, and the program passes another one than `DeepSpeedCPUAdam`.

    From DeepSpeed 0.17.6 on, `deepspeed.initialize` accepts `DeepSpeedCPULion` as well.
    """
    made = (config.facts.launch.passed or {}).get("optimizer", "")
    forced = config.get("zero_force_ds_cpu_optimizer")
    accepted = made.endswith("CPUAdam") or (made.endswith("CPULion") and config.version >= LION)
    if config.stage and config.offload != "none" and made.startswith(OPTIMIZERS) and not accepted and forced in (None, True):
        yield Finding(
            config.at("zero_optimization", "offload_optimizer"),
            f"`zero_optimization.offload_optimizer` requires `DeepSpeedCPUAdam`, but the program passes `{made}`",
            exception=RAISED.format(made),
            help="pass `DeepSpeedCPUAdam` to `deepspeed.initialize`, or set `zero_force_ds_cpu_optimizer` to false",
        )
