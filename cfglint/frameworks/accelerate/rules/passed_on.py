"""Rules about values that accelerate's launcher passes on unchecked, and that fail in the program it starts."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.rule import LAUNCHER_CONFIG, Example, Finding, config_error, init_error, warning
from cfglint.findings.wording import spelled
from cfglint.frameworks.accelerate.config import AccelerateConfig
from cfglint.frameworks.accelerate.rules import FSDP, GPUS, SAGEMAKER
from cfglint.frameworks.remedies import choice, mistyped, replace
from cfglint.source.annotations import Iterator

WRAP_POLICIES = ("TRANSFORMER_BASED_WRAP", "SIZE_BASED_WRAP", "NO_WRAP")
ANY_CASE = (0, 34)  # before, the name of a policy is compared as it is written (utils/dataclasses.py)
INTEGER_SIZE = (1, 13)  # the default of `fsdp_min_num_params` is an integer from here on
COUNTS_PROCESSES = (0, 34)  # from here on a missing `num_processes` is added where the type is NO
NO_SAGEMAKER = (1, 11)  # from here on the launcher looks up `parallelism_config`, which a SageMaker config does not have


@config_error(
    "ACC021",
    about=LAUNCHER_CONFIG,
    raises="TypeError: 'str' object cannot be interpreted as an integer",
    source="accelerate 1.15.0 utils/launch.py:233-235, utils/other.py:464-472; the same in 1.6.0",
    releases=Releases((0, 21, 0)),
    bad=GPUS + "main_process_port: '29500'\n",
    fixed=GPUS + "main_process_port: 29500\n",
    example={"at": "/main_process_port"},
)
def string_for_port(config: AccelerateConfig) -> Iterator[Finding]:
    """`main_process_port` is a string, and the launcher asks the system whether that port is in use.

    It does so for every launch of several processes, on the first machine.
    """
    value = config.get("main_process_port")
    if not isinstance(value, str) or not config.local or not config.spawns:
        return
    setting = config.setting("main_process_port")
    fix = replace(setting, int(value), "remove the quotes", safe=True) if value.isdecimal() and len(value) < 6 else None
    yield Finding(setting, f"`main_process_port` is the string {setting.spelled}, not an integer", fix=fix)


@config_error(
    "ACC022",
    about=LAUNCHER_CONFIG,
    raises="AttributeError: 'Namespace' object has no attribute 'use_cpu'",
    source="accelerate 1.15.0 commands/launch.py (_validate_launch_command)",
    bad=GPUS + "use_cpu: {}\n",
    good=GPUS + "use_cpu: false\n",
    example={"at": "/use_cpu"},
)
def mapping_for_use_cpu(config: AccelerateConfig) -> Iterator[Finding]:
    """`use_cpu` is a mapping, which the launcher treats as a block of options."""
    if isinstance(config.get("use_cpu"), dict) and config.local:
        yield Finding(config.setting("use_cpu"), "`use_cpu` is a mapping; it must be true or false", help="set `use_cpu` to true or false")


@config_error(
    "ACC023",
    about=LAUNCHER_CONFIG,
    raises="AttributeError: 'SageMakerConfig' object has no attribute 'parallelism_config'",
    source="accelerate 1.15.0 commands/launch.py:1248; so in 1.11.0, not in 1.6.0; 1.5.2 commands/config/config_args.py:111",
    bad=(
        "compute_environment: AMAZON_SAGEMAKER\ndistributed_type: DATA_PARALLEL\nec2_instance_type: ml.p3.2xlarge\niam_role_name: role\n",
        Example(
            "compute_environment: AMAZON_SAGEMAKER\ndistributed_type: 'NO'\nec2_instance_type: ml.p3.2xlarge\niam_role_name: role\n",
            "/distributed_type",
            "ValueError: The config file at",
        ),
    ),
    good="compute_environment: LOCAL_MACHINE\ndistributed_type: 'NO'\n",
    example={"at": "/compute_environment"},
)
def sagemaker_not_launched(config: AccelerateConfig) -> Iterator[Finding]:
    """`accelerate launch` of this release fails with this SageMaker config.

    From 0.34 on a file with `distributed_type: NO` gets `num_processes` while it is loaded, a key that such a config does not have.
    From 1.11 on no file works: the launcher asks the config for `parallelism_config`, which only a local one has. `--multi_gpu`,
    `--use_deepspeed` or `--use_fsdp` on the launch line avoids that, so without the launch line this is a warning.
    """
    if config.get("compute_environment") != SAGEMAKER:
        return
    if config.distributed == "NO" and config.version >= COUNTS_PROCESSES and "num_processes" not in config.values:
        path = config.documents[0].path
        yield Finding(
            config.setting("distributed_type"),
            f"`distributed_type: NO` makes {config.release} add `num_processes`, which a SageMaker config does not have",
            exception=f"ValueError: The config file at {path} had unknown keys (['num_processes'])",
            fails_at="load",
            help="use accelerate 0.33 or older to launch on SageMaker",
        )
    elif config.version >= NO_SAGEMAKER:
        yield Finding(
            config.setting("compute_environment"),
            f"`compute_environment` is {SAGEMAKER}, which {config.release} cannot launch",
            depends_on=config.rest,
            help="use accelerate 1.10 or older to launch on SageMaker",
        )


@init_error(
    "ACC024",
    source="accelerate 1.15.0 utils/dataclasses.py (FullyShardedDataParallelPlugin.__post_init__)",
    about=LAUNCHER_CONFIG,
    bad=FSDP + "  fsdp_auto_wrap_policy: SIZE\n",
    good=FSDP + "  fsdp_auto_wrap_policy: SIZE_BASED_WRAP\n",
    example={"at": "/fsdp_config/fsdp_auto_wrap_policy"},
)
def invalid_wrap_policy(config: AccelerateConfig) -> Iterator[Finding]:
    """`fsdp_auto_wrap_policy` is not one of the three policies; the case of the letters does not matter."""
    if config.distributed != "FSDP" or not config.local:
        return
    section = config.section("fsdp_config")
    key = next((name for name in ("fsdp_auto_wrap_policy", "auto_wrap_policy") if name in section), None)
    value = section.get(key) if key else None
    if key and value is not None and str(value).upper() not in WRAP_POLICIES:
        text = f"ValueError: Invalid auto wrap policy: {value}. Must be one of {[*WRAP_POLICIES]}"
        message = f"`{key}` is {spelled(value)}; it must be one of {', '.join(WRAP_POLICIES)}"
        yield Finding(config.setting("fsdp_config", key), message, exception=text, help=choice(f"fsdp_config.{key}", value, WRAP_POLICIES))


@init_error(
    "ACC025",
    source="accelerate 1.15.0 utils/launch.py:228; torch 2.13 distributed/run.py (determine_local_world_size)",
    about=LAUNCHER_CONFIG,
    bad="distributed_type: MULTI_GPU\nnum_processes: {}\n",
    good=GPUS,
    example={"at": "/num_processes"},
)
def num_processes_not_a_number(config: AccelerateConfig) -> Iterator[Finding]:
    """`num_processes` is a mapping or a list, which torchrun gets as an unknown string."""
    value = config.processes
    if isinstance(value, (dict, list)) and config.spawns and config.local and config.machines == 1:
        shown = None if isinstance(value, dict) else value
        text = f"ValueError: Unsupported nproc_per_node value: {shown}"
        yield mistyped(config.setting("num_processes"), "a number", text, "set `num_processes` to the number of GPUs")


@warning(
    "ACC026",
    source="accelerate 1.15.0 state.py:836",
    about=LAUNCHER_CONFIG,
    bad=GPUS + "gpu_ids: '0,1'\n",
    good=GPUS + "gpu_ids: '0,1,2,3,4,5,6,7'\n",
    example={"at": "/gpu_ids"},
)
def fewer_gpus_than_processes(config: AccelerateConfig) -> Iterator[Finding]:
    """`gpu_ids` names fewer GPUs than `num_processes` starts on the machine.

    The processes share the GPUs (the n-th takes GPU n modulo their number), and NCCL refuses two processes of one
    job on the same GPU at the first communication.
    """
    value, each = config.get("gpu_ids"), config.per_machine
    if not isinstance(value, str) or value == "all" or not config.spawns or not config.local or each is None:
        return
    named = len([part for part in value.split(",") if part.strip()])
    if 1 < named < each:
        setting = config.setting("gpu_ids")
        yield Finding(
            setting,
            f"`gpu_ids` names {named} GPUs, but `num_processes` starts {each}",
            related=(config.setting("num_processes"),),
            note="one process has no GPU of its own" if named + 1 == each else f"{each - named} processes have no GPU of their own",
            help=f"set `num_processes: {named * config.processes // each}`, or set `gpu_ids: all`",
        )


@init_error(
    "ACC027",
    about=LAUNCHER_CONFIG,
    raises="ValueError: invalid literal for int() with base 10: '100000000.0'",
    source="accelerate 1.12.0 commands/launch.py:534-536, utils/launch.py:317, utils/dataclasses.py:1875; 1.13.0 has `int(1e8)`",
    bad=FSDP + "  fsdp_auto_wrap_policy: SIZE_BASED_WRAP\n",
    good=FSDP + "  fsdp_auto_wrap_policy: SIZE_BASED_WRAP\n  fsdp_min_num_params: 100000000\n",
    example={"target": {"accelerate": "1.12.0"}, "at": "/fsdp_config/fsdp_auto_wrap_policy"},
)
def size_based_wrap_without_size(config: AccelerateConfig) -> Iterator[Finding]:
    """`SIZE_BASED_WRAP` requires `fsdp_min_num_params` before accelerate 1.13: the default of the launcher is not an integer.

    The launcher passes its default `1e8` on as the string "100000000.0".
    """
    section = config.section("fsdp_config")
    policy = section.get("fsdp_auto_wrap_policy")
    if config.distributed != "FSDP" or not config.local or config.version >= INTEGER_SIZE or not isinstance(policy, str):
        return
    name = policy.upper() if config.version >= ANY_CASE else policy
    if name == "SIZE_BASED_WRAP" and not {"fsdp_min_num_params", "min_num_params"} & set(section):
        yield Finding(
            config.setting("fsdp_config", "fsdp_auto_wrap_policy"),
            "`SIZE_BASED_WRAP` requires `fsdp_min_num_params`",
            help="add `fsdp_config.fsdp_min_num_params: 100000000`",
        )
