"""Rules about the processes, machines and GPUs of a launch."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.rule import LAUNCHER_CONFIG, SKIP, Example, Finding, config_error, warning
from cfglint.findings.wording import counted
from cfglint.frameworks.accelerate.config import AccelerateConfig
from cfglint.frameworks.accelerate.releases import HISTORY, REQUIRED, spawning
from cfglint.frameworks.accelerate.rules import GPUS
from cfglint.source.annotations import Iterator

ONE_ON = (1, 15)  # from here on the message has a word once that stood there twice


@config_error(
    "ACC005",
    about=LAUNCHER_CONFIG,
    when_partial=SKIP,
    raises="ValueError: You need to manually pass in `--num_processes` using this config yaml.",
    source="accelerate 1.15.0 commands/launch.py:1306; 0.33.0 commands/config/config_args.py:175",
    releases=(Releases(until=(0, 34, 0), of="the class that requires it"), Releases((0, 34, 0), of="the launcher's own check")),
    bad=(
        "distributed_type: MULTI_GPU\nmixed_precision: bf16\n",
        Example("distributed_type: 'NO'\n", facts={"target": {"accelerate": "0.33.0"}}, exception="TypeError: ClusterConfig.__init__()"),
    ),
    good=GPUS + "mixed_precision: bf16\n",
    example={"at": "/num_processes"},
    old_names=("processes-missing",),
)
def missing_num_processes(config: AccelerateConfig) -> Iterator[Finding]:
    """`num_processes` is missing.

    Only the quoted type `'NO'` defaults to one process; with any other type the number has to be in the file or
    in `--num_processes`. Before accelerate 0.34 it has to be in the file, whatever the type is.
    """
    if not config.values or not config.local or "distributed_type" not in config.values:
        return
    remedy = "set `num_processes` to the number of GPUs, over all machines"
    if HISTORY.fields("", config.version)["num_processes"][REQUIRED]:
        if "num_processes" not in config.values:
            text = "TypeError: ClusterConfig.__init__() missing 1 required positional argument: 'num_processes'"
            message = "`num_processes` is missing, which accelerate before 0.34 requires in the file"
            yield Finding(config.setting("num_processes"), message, exception=text, help=remedy)
    elif config.processes == -1:
        message = f"`num_processes` is missing, and `distributed_type` is {config.setting('distributed_type').spelled}"
        yield Finding(config.setting("num_processes"), message, help=remedy)


@warning(
    "ACC007",
    source="accelerate 1.15.0 utils/launch.py:217, 476, 489",
    about=LAUNCHER_CONFIG,
    bad="distributed_type: MULTI_GPU\nnum_machines: 2\nnum_processes: 9\n",
    good="distributed_type: MULTI_GPU\nnum_machines: 2\nnum_processes: 8\n",
    example={"at": "/num_processes"},
    old_names=("processes-lost",),
)
def indivisible_num_processes(config: AccelerateConfig) -> Iterator[Finding]:
    """`num_processes`, the total, is not a multiple of `num_machines`: the remainder is never started.

    Each machine starts the integer quotient: 9 processes on 2 machines are 4 and 4. The global batch size is
    silently smaller than planned.
    """
    each, machines = config.per_machine, config.machines
    if each and config.spawns and machines > 1 and config.processes % machines:
        setting = config.setting("num_processes")
        message = f"`num_processes` is {config.processes}, not a multiple of {machines} machines: only {each * machines} processes start"
        yield Finding(setting, message, related=(config.setting("num_machines"),), help=f"set `num_processes: {each * machines}`")


@config_error(
    "ACC008",
    source="accelerate 1.15.0 utils/launch.py:217; torch 2.13 distributed/elastic/agent/server/api.py:105",
    about=LAUNCHER_CONFIG,
    bad="distributed_type: MULTI_GPU\nnum_machines: 4\nnum_processes: 2\n",
    good="distributed_type: MULTI_GPU\nnum_machines: 4\nnum_processes: 32\n",
    example={"at": "/num_processes"},
)
def fewer_processes_than_machines(config: AccelerateConfig) -> Iterator[Finding]:
    """`num_processes`, the total over all machines, is less than `num_machines`.

    Each machine would start 0 processes.

    Run-time error: `AssertionError` from torch's elastic agent, which requires at least one.
    """
    if config.spawns and config.local and config.machines != 1 and config.per_machine == 0:
        setting = config.setting("num_processes")
        message = f"`num_processes`, the total, is {config.processes}, less than `num_machines` ({config.machines})"
        yield Finding(
            setting,
            message,
            related=(config.setting("num_machines"),),
            exception="AssertionError",
            help=f"set `num_processes: {config.machines}` or more: it is the total over all machines",
        )


def starts_one_of_many(config: AccelerateConfig) -> bool:
    """Whether `num_processes` is above 1 but `distributed_type: NO` starts a single process."""
    return config.distributed in ("NO", False) and type(config.processes) is int and config.processes > 1 and config.local


@warning(
    "ACC009",
    source="accelerate 1.15.0 commands/launch.py:1390-1413",
    about=LAUNCHER_CONFIG,
    bad="distributed_type: 'NO'\nnum_processes: 8\n",
    good=GPUS,
    example={"at": "/distributed_type"},
    old_names=("started-once",),
)
def single_process_launch(config: AccelerateConfig) -> Iterator[Finding]:
    """`num_processes` above 1 with `distributed_type: NO` starts one process.

    The script then sees all GPUs of the machine, and the Hugging Face Trainer uses them with `nn.DataParallel`: its
    batch is multiplied by the number of visible GPUs. An unquoted `NO` is the boolean false in YAML and does the
    same.
    """
    if starts_one_of_many(config):
        setting = config.setting("distributed_type")
        message = f"`distributed_type` is {setting.spelled}, which starts one process, but `num_processes` is {config.processes}"
        yield Finding(setting, message, related=(config.setting("num_processes"),), help="set `distributed_type: MULTI_GPU`")


@config_error(
    "ACC014",
    source="accelerate 1.15.0 commands/launch.py:1247-1258",
    about=LAUNCHER_CONFIG,
    bad=(
        GPUS + "gpu_ids: '0'\n",
        GPUS + "gpu_ids: 0\n",
    ),
    good=GPUS + "gpu_ids: '0,1'\n",
    example={"at": "/gpu_ids"},
    old_names=("gpu-ids",),
)
def invalid_gpu_ids(config: AccelerateConfig) -> Iterator[Finding]:
    """`gpu_ids` names one GPU for a launch on several GPUs, or is not a string."""
    value = config.get("gpu_ids")
    if value is None or not config.local:
        return
    setting = config.setting("gpu_ids")
    if not isinstance(value, str):
        text = f"AttributeError: '{type(value).__name__}' object has no attribute 'split'"
        yield Finding(
            setting, f"`gpu_ids` is {setting.spelled}, not a string", exception=text, help=f'set `gpu_ids: "{value}"`, with quotes'
        )
    elif value != "all" and "," not in value and config.distributed in spawning(config.version) and config.machines == 1:
        words = "on" if config.version >= ONE_ON else "on on"
        text = f"ValueError: Less than two GPU ids were configured and tried to run {words} multiple GPUs."
        message = f"`gpu_ids` names one GPU, but `distributed_type: {config.distributed}` requires at least two"
        yield Finding(setting, message, exception=text, help="set `gpu_ids: all`, or list the GPUs")


@config_error(
    "ACC020",
    about=LAUNCHER_CONFIG,
    when_partial=SKIP,
    raises="AssertionError: When using multiple machines, you need to specify the main process IP.",
    source="accelerate 1.15.0 utils/launch.py:127-133, since 1.8.0",
    bad="distributed_type: 'NO'\nnum_machines: 2\n",
    good="distributed_type: 'NO'\nnum_machines: 2\nmain_process_ip: 10.0.0.1\nmain_process_port: 29500\n",
    example={"at": "/main_process_ip"},
    old_names=("main-process-unknown",),
)
def missing_main_process_address(config: AccelerateConfig) -> Iterator[Finding]:
    """Several machines with `distributed_type: NO` require the address of the main process.

    Fix: set `main_process_ip` and `main_process_port`.
    """
    if config.spawns or not config.local or not isinstance(config.machines, (int, float)) or config.machines <= 1:
        return
    for key, label in (("main_process_ip", "IP"), ("main_process_port", "port")):
        if config.get(key) is None and not config.is_on_tpu:
            text = f"AssertionError: When using multiple machines, you need to specify the main process {label}."
            yield Finding(
                config.setting(key),
                f"`num_machines` is {config.machines}, which requires `{key}`",
                exception=text,
                help="set `main_process_ip` to the address of the first machine" if key.endswith("ip") else f"set `{key}`",
            )
            return


@warning(
    "ACC015",
    source="accelerate 1.15.0 commands/launch.py:1264-1286",
    about=LAUNCHER_CONFIG,
    bad=GPUS,
    good="distributed_type: MULTI_GPU\nnum_processes: 16\n",
    example={"gpus": 16, "at": "/num_processes"},
    old_names=("launched-on-others",),
)
def process_count_mismatch(config: AccelerateConfig) -> Iterator[Finding]:
    """The GPU count of the launch differs from the number of processes that the file starts.

    A file that starts one process because of `distributed_type: NO` is reported for that alone. `accelerate launch` uses the
    file unless `--num_processes` is passed. A launch line that passes it is not reported.
    """
    gpus = config.facts.gpus
    if starts_one_of_many(config):
        return
    if gpus is not None and config.started is not None and config.started != gpus and "num_processes" in config.values:
        setting = config.setting("num_processes")
        started = "" if config.started == setting.value else f" (starts {config.started})"
        yield Finding(
            setting,
            f"`num_processes` is {setting.spelled}{started}, but {config.facts.gpus_source} is {gpus}",
            note=f"accelerate launch starts {counted(config.started, 'process')}",
            help=f"set `num_processes: {gpus}`, or pass --num_processes to accelerate launch",
        )
