"""Rules about the processes, machines and GPUs of a launch."""

from __future__ import annotations

from cfglint.findings.remedy import set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import counted
from cfglint.frameworks.accelerate.config import AccelerateConfig
from cfglint.frameworks.accelerate.releases import HISTORY, REQUIRED, spawning
from cfglint.source.annotations import Iterator

ONE_ON = (1, 15)  # from here on the message has a word once that stood there twice


@rule("ACC005")
def missing_num_processes(config: AccelerateConfig) -> Iterator[Finding]:
    if not config.values or not config.local or "distributed_type" not in config.values:
        return
    remedy = "set `num_processes` to the number of GPUs, over all machines"
    if HISTORY.fields("", config.version)["num_processes"][REQUIRED]:
        if "num_processes" not in config.values:
            text = "TypeError: ClusterConfig.__init__() missing 1 required positional argument: 'num_processes'"
            message = "`num_processes` is missing, which accelerate before 0.34 requires in the file"
            yield Finding(config.absent("num_processes"), message, exception=text, help=remedy)
    elif config.processes == -1:
        message = f"`num_processes` is missing, and `distributed_type` is {config.setting('distributed_type').spelled}"
        yield Finding(config.absent("num_processes"), message, help=remedy)


@rule("ACC007")
def indivisible_num_processes(config: AccelerateConfig) -> Iterator[Finding]:
    each, machines = config.per_machine, config.machines
    if each and config.spawns and machines > 1 and config.processes % machines:
        setting = config.setting("num_processes")
        message = f"`num_processes` is {config.processes}, not a multiple of {machines} machines: only {each * machines} processes start"
        yield Finding(setting, message, related=(config.setting("num_machines"),), help=set_key("num_processes", each * machines))


@rule("ACC008")
def fewer_processes_than_machines(config: AccelerateConfig) -> Iterator[Finding]:
    if config.spawns and config.local and config.machines != 1 and config.per_machine == 0:
        setting = config.setting("num_processes")
        message = f"`num_processes`, the total, is {config.processes}, less than `num_machines` ({config.machines})"
        remedy = f"set `num_processes: {config.machines}` or more: it is the total over all machines"
        yield Finding(setting, message, related=(config.setting("num_machines"),), exception="AssertionError", help=remedy)


def starts_one_of_many(config: AccelerateConfig) -> bool:
    return config.distributed in ("NO", False) and type(config.processes) is int and config.processes > 1 and config.local


@rule("ACC009")
def single_process_launch(config: AccelerateConfig) -> Iterator[Finding]:
    if starts_one_of_many(config):
        setting = config.setting("distributed_type")
        message = f"`distributed_type` is {setting.spelled}, which starts one process, but `num_processes` is {config.processes}"
        yield Finding(setting, message, related=(config.setting("num_processes"),), help=set_key("distributed_type", "MULTI_GPU"))


@rule("ACC014")
def invalid_gpu_ids(config: AccelerateConfig) -> Iterator[Finding]:
    value = config.get("gpu_ids")
    if value is None or not config.local:
        return
    setting = config.setting("gpu_ids")
    if not isinstance(value, str):
        text = f"AttributeError: '{type(value).__name__}' object has no attribute 'split'"
        yield Finding(
            setting, f"`gpu_ids` is {setting.spelled}, not a string", exception=text, help=set_key("gpu_ids", str(value), ", with quotes")
        )
    elif value != "all" and "," not in value and config.distributed in spawning(config.version) and config.machines == 1:
        words = "on" if config.version >= ONE_ON else "on on"
        text = f"ValueError: Less than two GPU ids were configured and tried to run {words} multiple GPUs."
        message = f"`gpu_ids` names one GPU, but `distributed_type: {config.distributed}` requires at least two"
        yield Finding(setting, message, exception=text, help=set_key("gpu_ids", "all") | "list the GPUs")


@rule("ACC015")
def process_count_mismatch(config: AccelerateConfig) -> Iterator[Finding]:
    gpus = config.facts.gpus
    if starts_one_of_many(config):
        return
    if gpus is not None and config.started is not None and config.started != gpus and "num_processes" in config.values:
        setting = config.setting("num_processes")
        started = "" if config.started == setting.value else f" (starts {config.started})"
        message = f"`num_processes` is {setting.spelled}{started}, but {config.facts.gpus_source} is {gpus}"
        remedy = set_key("num_processes", gpus) | "pass --num_processes to accelerate launch"
        yield Finding(setting, message, note=f"accelerate launch starts {counted(config.started, 'process')}", help=remedy)
