"""What accelerate's launcher refuses, and what it lets pass without doing it."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR, WARNING
from cfglint.findings.rule import SKIP, Finding, rule
from cfglint.frameworks.accelerate.config import AXES, DEVICES, TYPES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cfglint.frameworks.accelerate.config import AccelerateConfig
    from cfglint.frameworks.base import Version
    from cfglint.frameworks.schema import Schema
    from cfglint.frameworks.setting import Setting

KINDS = ("accelerate",)
BLOCKS = {"deepspeed_config": ("DEEPSPEED",), "fsdp_config": ("FSDP",), "megatron_lm_config": ("MEGATRON_LM",)}
SAGEMAKER = "AMAZON_SAGEMAKER"
SHARED_WITH_SAGEMAKER = (
    *("compute_environment", "distributed_type", "mixed_precision", "use_cpu", "debug"),
    *("dynamo_config", "enable_cpu_affinity", "gpu_ids", "num_machines"),
)
SAGEMAKER_KEYS = (
    *SHARED_WITH_SAGEMAKER,
    *("ec2_instance_type", "iam_role_name", "image_uri", "profile", "region", "base_job_name", "additional_args"),
    *("pytorch_version", "transformers_version", "py_version", "sagemaker_inputs_file", "sagemaker_metrics_file"),
)
OLD_SPELLINGS = ("fp16", "dynamo_backend")  # rewritten while the file is read
# Keys that came (in) or went (before): accelerate's releases 0.32.1 to 1.15.0, commands/config/config_args.py.
HISTORY: dict[str, tuple[tuple[int, ...], tuple[int, ...] | None]] = {
    "fp8_config": ((0, 34), None),
    "parallelism_config": ((1, 10), None),
    "ipex_config": ((), (1, 13)),
}
PREFIXES = {"fsdp_config": "fsdp_"}  # which the launcher puts before a block's keys that lack it
BACKENDS = (
    *("NO", "EAGER", "AOT_EAGER", "INDUCTOR", "AOT_TS_NVFUSER", "NVPRIMS_NVFUSER", "CUDAGRAPHS", "OFI", "FX2TRT"),
    *("ONNXRT", "TENSORRT", "AOT_TORCHXLA_TRACE_ONCE", "TORCHXLA_TRACE_ONCE", "TVM", "HPU_BACKEND", "NEURON"),
)
# What a DeepSpeed file must say itself, once the launcher's block names one.
LEFT_TO_THE_FILE = (
    "gradient_accumulation_steps",
    "gradient_clipping",
    "zero_stage",
    "offload_optimizer_device",
    "offload_param_device",
    "offload_param_nvme_path",
    "offload_optimizer_nvme_path",
    "zero3_save_16bit_model",
    "mixed_precision",
)
GPUS = "distributed_type: MULTI_GPU\nnum_processes: 8\n"
FSDP = "distributed_type: FSDP\nnum_processes: 8\nfsdp_config:\n"
DEEPSPEED = "distributed_type: DEEPSPEED\nnum_processes: 8\n"


def schema() -> Schema:
    """The keys of a launch file."""
    from cfglint.frameworks.schema import load

    return load("accelerate")


@rule(
    "ACC001",
    "launch-file-not-keys",
    ERROR,
    kinds=KINDS,
    fails_at="load",
    bad="- distributed_type: MULTI_GPU\n",
    good=GPUS,
)
def not_a_mapping(config: AccelerateConfig) -> Iterator[Finding]:
    """A launch file holds keys, not a list or nothing.

    Run-time error: `AttributeError: 'list' object has no attribute 'get'`.

    Fix: write the keys at the top.

    Source: accelerate 1.15.0 commands/config/config_args.py:66.
    """
    if not config.load_problems and not isinstance(config.root, dict):
        kind = type(config.root).__name__
        says = "is empty" if config.root is None else f"holds a {kind}, not keys"
        yield Finding(config.setting(), f"the file {says}", exception=f"AttributeError: '{kind}' object has no attribute 'get'")


@rule(
    "ACC002",
    "unknown-launch-key",
    ERROR,
    kinds=KINDS,
    fails_at="load",
    bad=GPUS + "mixed_precison: bf16\n",
    good=GPUS + "mixed_precision: bf16\n",
    fixed=GPUS + "mixed_precision: bf16\n",
    example={"at": "/mixed_precison"},
)
def unknown_launch_key(config: AccelerateConfig) -> Iterator[Finding]:
    """The launcher takes its own keys and no others.

    Run-time error: `ValueError: The config file at accelerate.yaml had unknown keys (['mixed_precison']), please try
    upgrading your accelerate version or fix (and potentially remove) these keys from your config file.`

    Fix: the key's right name, or take it out; settings of blocks belong into `deepspeed_config` and `fsdp_config`.

    Source: accelerate 1.15.0 commands/config/config_args.py:131-137, 154-160.
    """
    if not config.values or "distributed_type" not in config.values:
        return
    known = known_keys(config)
    unknown = [key for key in config.values if key not in known]
    for key in unknown:
        from cfglint.findings.fix_builders import rename

        setting = config.setting(key)
        near = [each for each in schema().nearest((), key) if len(each.path) == 1] if isinstance(key, str) else []
        meant = str(near[0].path[-1]) if near else ""
        text = f"ValueError: The config file at {config.documents[0].path} had unknown keys ({sorted(map(str, unknown))})"
        where = " for SageMaker" if not config.local else ""
        message = f"accelerate launch{where} knows no key {key}" + (f"; {meant} was meant?" if meant and not where else "")
        fix = rename(setting, meant, f"write {meant}", safe=False) if meant and not where and meant not in config.values else None
        yield Finding(setting, message, exception=text, on_key=True, fix=fix, severity=severity_of(config, key))


_known: dict[Version, set[str]] = {}


def known_keys(config: AccelerateConfig) -> set[str]:
    """The keys that the targeted release takes."""
    if not config.local:
        return {*SAGEMAKER_KEYS, *OLD_SPELLINGS}
    if config.version not in _known:
        known = set(schema().keys()) - set(SAGEMAKER_KEYS) | set(SHARED_WITH_SAGEMAKER) | {*OLD_SPELLINGS, *HISTORY}
        _known[config.version] = {key for key in known if within(key, config)}
    return _known[config.version]


def within(key: str, config: AccelerateConfig) -> bool:
    """Whether the targeted release has a key that came or went."""
    since, until = HISTORY.get(key, ((), None))
    return config.version >= since and (until is None or config.version < until)


def severity_of(config: AccelerateConfig, key: object) -> str:
    """A warning where an older release, which nobody ruled out, has the key."""
    return WARNING if key in HISTORY and "accelerate" not in config.facts.target and config.local else ERROR


@rule(
    "ACC003",
    "distributed-type",
    ERROR,
    kinds=KINDS,
    fails_at="load",
    bad="distributed_type: multi_gpu\nnum_processes: 8\n",
    good=GPUS,
    fixed=GPUS,
    example={"at": "/distributed_type"},
)
def distributed_type(config: AccelerateConfig) -> Iterator[Finding]:
    """`distributed_type` has to be there, in the launcher's own capital letters.

    Run-time errors: ``ValueError: A `distributed_type` must be specified in the config file.``; `ValueError: 'multi_gpu'
    is not a valid DistributedType`.

    Fix: one of NO, MULTI_GPU, DEEPSPEED, FSDP, MEGATRON_LM (and the other devices).

    Source: accelerate 1.15.0 commands/config/config_args.py:98, 169-175.
    """
    from cfglint.findings.fix_builders import replace

    if not config.values:
        return
    if "distributed_type" not in config.values:
        text = "ValueError: A `distributed_type` must be specified in the config file."
        yield Finding(config.setting("distributed_type"), "there is no distributed_type", exception=text)
    elif isinstance(config.distributed, str) and config.distributed not in TYPES and config.local:
        setting = config.setting("distributed_type")
        meant = config.distributed.upper().replace("-", "_")
        text = f"ValueError: {config.distributed!r} is not a valid DistributedType"
        fix = replace(setting, meant, f"write {meant}", safe=True) if meant in TYPES else None
        yield Finding(setting, f"distributed_type {config.distributed} is none of {', '.join(TYPES)}", exception=text, fix=fix)


@rule(
    "ACC004",
    "compute-environment",
    ERROR,
    kinds=KINDS,
    fails_at="load",
    bad="compute_environment: local_machine\n" + GPUS,
    good="compute_environment: LOCAL_MACHINE\n" + GPUS,
    example={"at": "/compute_environment"},
)
def compute_environment(config: AccelerateConfig) -> Iterator[Finding]:
    """What is not LOCAL_MACHINE is read as a file for SageMaker, whose keys are others.

    Run-time error: `ValueError: The config file at accelerate.yaml had unknown keys (['num_machines']), ...`.

    Fix: `LOCAL_MACHINE`, or leave the key out.

    Source: accelerate 1.15.0 commands/config/config_args.py:52-72.
    """
    if not config.local and config.get("compute_environment") != SAGEMAKER:
        setting = config.setting("compute_environment")
        text = f"ValueError: The config file at {config.documents[0].path} had unknown keys"
        yield Finding(setting, f"compute_environment {setting.value} is neither LOCAL_MACHINE nor {SAGEMAKER}", exception=text)


@rule(
    "ACC005",
    "processes-missing",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    when_partial=SKIP,
    raises="ValueError: You need to manually pass in `--num_processes` using this config yaml.",
    bad="distributed_type: MULTI_GPU\nmixed_precision: bf16\n",
    good=GPUS + "mixed_precision: bf16\n",
    example={"at": "/num_processes"},
)
def processes_missing(config: AccelerateConfig) -> Iterator[Finding]:
    """The file does not say how many processes to start.

    Only a quoted `NO` starts one on its own; with any other type the number has to come from the file or from
    `--num_processes`.

    Run-time error: ``ValueError: You need to manually pass in `--num_processes` using this config yaml.``

    Fix: `num_processes`, the total over all machines.

    Source: accelerate 1.15.0 commands/launch.py:1306.
    """
    if config.values and config.local and "distributed_type" in config.values and config.processes == -1:
        yield Finding(config.setting("num_processes"), "num_processes is not given")


@rule(
    "ACC006",
    "launch-precision",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad=GPUS + "mixed_precision: no\n",
    good=GPUS + "mixed_precision: 'no'\n",
    fixed=GPUS + 'mixed_precision: "no"\n',
    example={"at": "/mixed_precision"},
)
def mixed_precision(config: AccelerateConfig) -> Iterator[Finding]:
    """`mixed_precision` has to be the text no, fp16, bf16 or fp8.

    A bare `no` is the boolean false to YAML, and the launcher asks it for its lower-case letters.

    Run-time errors: `AttributeError: 'bool' object has no attribute 'lower'`; `ValueError: Unknown mixed_precision
    mode: half. Choose between ['no', 'fp8', 'fp16', 'bf16'].`

    Fix: quote it: `'no'`.

    Source: accelerate 1.15.0 utils/launch.py:140, 274, 518.
    """
    from cfglint.findings.fix_builders import replace

    value = config.get("mixed_precision")
    if value is None or config.precision is not None or not config.local:
        return
    setting = config.setting("mixed_precision")
    if isinstance(value, str):
        text = f"ValueError: Unknown mixed_precision mode: {value.lower()}. Choose between ['no', 'fp8', 'fp16', 'bf16']."
        yield Finding(setting, f"mixed_precision {value} is none of no, fp16, bf16, fp8", exception=text)
        return
    text = f"AttributeError: '{type(value).__name__}' object has no attribute 'lower'"
    bare = value is False
    message = (
        "a bare `no` is false to YAML; the launcher wants text" if bare else f"mixed_precision is {value}, and the launcher wants text"
    )
    yield Finding(setting, message, exception=text, fix=replace(setting, "no", "quote it", safe=True) if bare else None)


@rule(
    "ACC007",
    "processes-lost",
    WARNING,
    kinds=KINDS,
    bad="distributed_type: MULTI_GPU\nnum_machines: 2\nnum_processes: 9\n",
    good="distributed_type: MULTI_GPU\nnum_machines: 2\nnum_processes: 8\n",
    example={"at": "/num_processes"},
)
def processes_lost(config: AccelerateConfig) -> Iterator[Finding]:
    """`num_processes` is the total, and does not divide by the machines: the rest is never started.

    Every machine starts the floor of the quotient: 9 over 2 machines are 4 and 4. The global batch is smaller than
    planned, and nothing says so.

    Fix: a multiple of `num_machines`.

    Source: accelerate 1.15.0 utils/launch.py:217, 476, 489.
    """
    each, machines = config.per_machine, config.machines
    if each and config.spawns and machines > 1 and config.processes % machines:
        setting = config.setting("num_processes")
        message = f"{config.processes} processes over {machines} machines start {each} on each: {each * machines}"
        yield Finding(setting, message, related=(config.setting("num_machines"),))


@rule(
    "ACC008",
    "fewer-processes-than-machines",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad="distributed_type: MULTI_GPU\nnum_machines: 4\nnum_processes: 2\n",
    good="distributed_type: MULTI_GPU\nnum_machines: 4\nnum_processes: 32\n",
    example={"at": "/num_processes"},
)
def fewer_processes_than_machines(config: AccelerateConfig) -> Iterator[Finding]:
    """`num_processes` is the total over all machines, and there are more machines than that.

    Each machine is told to start 0 processes.

    Run-time error: `AssertionError` from torch's elastic agent, which wants at least one.

    Fix: the total, not the number on one machine.

    Source: accelerate 1.15.0 utils/launch.py:217; torch 2.13 distributed/elastic/agent/server/api.py:105.
    """
    if config.spawns and config.local and config.machines != 1 and config.per_machine == 0:
        setting = config.setting("num_processes")
        message = f"{config.processes} processes over {config.machines} machines are none on each"
        yield Finding(setting, message, related=(config.setting("num_machines"),), exception="AssertionError")


@rule(
    "ACC009",
    "started-once",
    WARNING,
    kinds=KINDS,
    bad="distributed_type: 'NO'\nnum_processes: 8\n",
    good=GPUS,
    example={"at": "/distributed_type"},
)
def started_once(config: AccelerateConfig) -> Iterator[Finding]:
    """`num_processes` above 1 without a distributed type starts one process.

    The script then sees all GPUs of the machine, and a Hugging Face trainer drives them by `nn.DataParallel`: its
    batch is multiplied by the GPUs that it sees. A bare `NO` is the boolean false to YAML and does the same.

    Fix: `distributed_type: MULTI_GPU`.

    Source: accelerate 1.15.0 commands/launch.py:1390-1413.
    """
    if config.distributed in ("NO", False) and type(config.processes) is int and config.processes > 1 and config.local:
        setting = config.setting("distributed_type")
        message = f"distributed_type {'NO' if setting.value is False else setting.value} starts one process, not {config.processes}"
        yield Finding(setting, message, related=(config.setting("num_processes"),))


@rule(
    "ACC010",
    "block-unused",
    WARNING,
    kinds=KINDS,
    bad=GPUS + "deepspeed_config:\n  zero_stage: 2\n",
    good=DEEPSPEED + "deepspeed_config:\n  zero_stage: 2\n",
    example={"at": "/deepspeed_config"},
)
def block_unused(config: AccelerateConfig) -> Iterator[Finding]:
    """A block of another distributed type is not read.

    With `distributed_type: MULTI_GPU` a `deepspeed_config` block does nothing: the run has no ZeRO.

    Fix: the type that the block is for, or take the block out.

    Source: accelerate 1.15.0 commands/launch.py:1391-1401.
    """
    for name, types in BLOCKS.items():
        if config.section(name) and isinstance(config.distributed, str) and config.distributed not in types and config.local:
            message = f"{name} is not read with distributed_type {config.distributed}"
            yield Finding(config.setting(name), message, related=(config.setting("distributed_type"),), on_key=True)


@rule(
    "ACC011",
    "unknown-key-in-block",
    WARNING,
    kinds=KINDS,
    bad=DEEPSPEED + "deepspeed_config:\n  zero_stge: 3\n",
    good=DEEPSPEED + "deepspeed_config:\n  zero_stage: 3\n",
    fixed=DEEPSPEED + "deepspeed_config:\n  zero_stage: 3\n",
    example={"at": "/deepspeed_config/zero_stge"},
)
def unknown_key_in_block(config: AccelerateConfig) -> Iterator[Finding]:
    """The launcher copies what a block says and asks only for the keys that it knows: a slip does nothing.

    At the top level an unknown key is refused; inside `deepspeed_config`, `fsdp_config` and
    `parallelism_config` nobody looks, and the default holds.

    Fix: the key's right name.

    Source: accelerate 1.15.0 commands/launch.py:1264-1281.
    """
    from cfglint.findings.fix_builders import rename

    for name in ("deepspeed_config", "fsdp_config", "parallelism_config"):
        for key in config.section(name):
            if isinstance(key, str) and not any(schema().lookup((name, each)) for each in (key, PREFIXES.get(name, "") + key)):
                near = [each for each in schema().nearest((name,), key) if each.path[:-1] == (name,)]
                setting = config.setting(name, key)
                meant = str(near[0].path[-1]) if near else ""
                message = f"accelerate knows no {key} in {name}: it does nothing" + (f"; {meant} was meant?" if meant else "")
                fix = rename(setting, meant, f"write {meant}", safe=False) if meant and meant not in config.section(name) else None
                yield Finding(setting, message, on_key=True, fix=fix)


@rule(
    "ACC012",
    "left-to-deepspeed-file",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad=DEEPSPEED + "mixed_precision: bf16\ndeepspeed_config:\n  deepspeed_config_file: ds.json\n",
    good=DEEPSPEED + "deepspeed_config:\n  deepspeed_config_file: ds.json\n",
    example={"at": "/mixed_precision"},
)
def left_to_deepspeed_file(config: AccelerateConfig) -> Iterator[Finding]:
    """With a DeepSpeed file, the launch file may not say what that file says, `mixed_precision` included.

    The same holds when the trainer's own file names the DeepSpeed file and the launch is of type DEEPSPEED.

    Run-time error: ``ValueError: When using `deepspeed_config_file`, the following accelerate config variables will be
    ignored: ['gradient_accumulation_steps', 'gradient_clipping', 'zero_stage', ...]. Please specify them appropriately
    in the DeepSpeed config file.``

    Fix: take the keys out of the launch file.

    Source: accelerate 1.15.0 utils/dataclasses.py:1507-1532, commands/launch.py:1392-1396.
    """
    from cfglint.findings.fix_builders import remove

    if not config.uses_deepspeed or not config.local or not named_file(config):
        return
    text = "ValueError: When using `deepspeed_config_file`, the following accelerate config variables will be ignored: "
    exception = f"{text}{list(LEFT_TO_THE_FILE)}."
    settings = [config.setting("deepspeed_config", key) for key in config.section("deepspeed_config") if key in LEFT_TO_THE_FILE]
    if config.precision_named:
        settings.append(config.setting("mixed_precision" if config.get("mixed_precision") is not None else "fp16"))
    for setting in settings:
        message = f"{setting.path[-1]} has to be in the DeepSpeed file, which is named by {named_file(config)}"
        yield Finding(setting, message, exception=exception, on_key=True, fix=remove(setting, "take it out", safe=False))


def named_file(config: AccelerateConfig) -> Setting | None:
    """The setting that gives DeepSpeed a file: the launcher's, or the trainer's own."""
    if config.section("deepspeed_config").get("deepspeed_config_file") not in (None, "none"):
        return config.setting("deepspeed_config", "deepspeed_config_file")
    if config.trainer is not None and config.trainer.get("deepspeed"):
        return config.trainer.setting("deepspeed")
    return None


@rule(
    "ACC013",
    "efficient-loading-without-sync",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    raises="ValueError: When using `--fsdp_cpu_ram_efficient_loading` set `--fsdp_sync_module_states` to `True`",
    bad=FSDP + "  fsdp_cpu_ram_efficient_loading: true\n  fsdp_sync_module_states: false\n",
    good=FSDP + "  fsdp_cpu_ram_efficient_loading: true\n  fsdp_sync_module_states: true\n",
    example={"at": "/fsdp_config/fsdp_sync_module_states"},
)
def efficient_loading_without_sync(config: AccelerateConfig) -> Iterator[Finding]:
    """Ranks that load no weights must get them from the first: `fsdp_sync_module_states` may not be off.

    Loading on the first rank alone is the default, so `fsdp_sync_module_states: false` on its own is refused too.

    Run-time error: ``ValueError: When using `--fsdp_cpu_ram_efficient_loading` set `--fsdp_sync_module_states` to
    `True` ``.

    Fix: true, or `fsdp_cpu_ram_efficient_loading: false`.

    Source: accelerate 1.15.0 utils/launch.py:309, commands/launch.py:584-597.
    """
    if config.distributed != "FSDP" or not config.local:
        return
    section = config.section("fsdp_config")
    loading, sync = ((name, f"fsdp_{name}") for name in ("cpu_ram_efficient_loading", "sync_module_states"))
    found = [next((name for name in reversed(names) if name in section), "") for names in (loading, sync)]
    if found[1] and not section[found[1]] and (not found[0] or section[found[0]]):
        related = (config.setting("fsdp_config", found[0]),) if found[0] else ()
        yield Finding(config.setting("fsdp_config", found[1]), "the ranks load no weights and none are sent to them", related=related)


@rule(
    "ACC014",
    "gpu-ids",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad=GPUS + "gpu_ids: '0'\n",
    good=GPUS + "gpu_ids: '0,1'\n",
    example={"at": "/gpu_ids"},
)
def gpu_ids(config: AccelerateConfig) -> Iterator[Finding]:
    """A launch on several GPUs of one machine with less than two of them named.

    Run-time errors: ``ValueError: Less than two GPU ids were configured and tried to run on multiple GPUs. Please
    ensure at least two are specified for `--gpu_ids`, or use `--gpu_ids='all'`.``; `AttributeError: 'int' object has no
    attribute 'split'` for a number without quotes.

    Fix: all the GPUs, or `all`.

    Source: accelerate 1.15.0 commands/launch.py:1247-1258.
    """
    value = config.get("gpu_ids")
    if value is None or not config.local:
        return
    setting = config.setting("gpu_ids")
    if not isinstance(value, str):
        text = f"AttributeError: '{type(value).__name__}' object has no attribute 'split'"
        yield Finding(setting, f"gpu_ids is {value}, and the launcher wants text", exception=text)
    elif value != "all" and "," not in value and config.distributed in DEVICES and config.machines == 1:
        text = "ValueError: Less than two GPU ids were configured and tried to run on multiple GPUs."
        yield Finding(setting, f"gpu_ids names one GPU, and distributed_type is {config.distributed}", exception=text)


@rule(
    "ACC018",
    "launch-value-type",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad="distributed_type: MULTI_GPU\nnum_processes: 8\nnum_machines: '2'\n",
    good="distributed_type: MULTI_GPU\nnum_processes: 8\nnum_machines: 2\n",
    example={"at": "/num_machines"},
)
def launch_value_type(config: AccelerateConfig) -> Iterator[Finding]:
    """A value of a type that the launcher cannot reckon with.

    `num_machines` is compared with 1 and divides `num_processes`; the sizes of context and sequence parallelism are
    compared with 1; `deepspeed_config` has to be a block.

    Run-time errors: `TypeError: '>' not supported between instances of 'str' and 'int'`; `TypeError: unsupported operand
    type(s) for //: 'str' and 'int'`; `AttributeError: 'str' object has no attribute 'keys'`.

    Fix: a number without quotes; a block.

    Source: accelerate 1.15.0 utils/launch.py:216-217, 412, 439, 489; commands/launch.py:1393.
    """
    if not config.local or not config.values or config.distributed == "XLA":
        return
    machines, processes = config.machines, config.processes
    kind = type(machines).__name__
    if not isinstance(machines, (int, float)):
        text = f"TypeError: '>' not supported between instances of '{kind}' and 'int'"
        yield Finding(config.setting("num_machines"), f"num_machines is {machines}, not a number", exception=text)
    elif machines > 1 and config.spawns and not isinstance(processes, (int, float)):
        text = f"TypeError: unsupported operand type(s) for //: '{type(processes).__name__}' and 'int'"
        yield Finding(config.setting("num_processes"), f"num_processes is {processes}, not a number", exception=text)
    elif not config.spawns and processes is not None and not isinstance(processes, (int, float)):
        text = f"TypeError: '>' not supported between instances of '{type(processes).__name__}' and 'int'"
        yield Finding(config.setting("num_processes"), f"num_processes is {processes}, not a number", exception=text)
    for axis in ("cp", "sp") if config.spawns else ():
        path = ("parallelism_config", f"parallelism_config_{axis}_size")
        size = config.get(*path, default=1)
        if not isinstance(size, (int, float)):
            text = f"TypeError: '>' not supported between instances of '{type(size).__name__}' and 'int'"
            yield Finding(config.setting(*path), f"{path[-1]} is {size}, not a number", exception=text)
    block = config.get("deepspeed_config")
    if config.uses_deepspeed and block is not None and not isinstance(block, dict):
        text = f"AttributeError: '{type(block).__name__}' object has no attribute 'keys'"
        yield Finding(config.setting("deepspeed_config"), f"deepspeed_config is {block}, not a block", exception=text)


@rule(
    "ACC019",
    "dynamo-backend",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad=GPUS + "dynamo_config:\n  dynamo_backend: NO\n",
    good=GPUS + "dynamo_config:\n  dynamo_backend: 'NO'\n",
    example={"at": "/dynamo_config/dynamo_backend"},
)
def dynamo_backend(config: AccelerateConfig) -> Iterator[Finding]:
    """`dynamo_backend` has to be the text of a backend; a bare `NO` is the boolean false to YAML.

    Run-time errors: `AttributeError: 'bool' object has no attribute 'upper'`; `ValueError: Unknown dynamo backend: FOO.
    Choose between ['NO', 'EAGER', 'AOT_EAGER', 'INDUCTOR', ...].`

    Fix: quote it, or leave it out.

    Source: accelerate 1.15.0 utils/launch.py:151, 288; commands/config/config_args.py:106-108.
    """
    if not config.local or config.distributed in ("DEEPSPEED", "XLA"):
        return
    block = config.section("dynamo_config")
    path = (
        ("dynamo_backend",)
        if "dynamo_backend" in config.values
        else ("dynamo_config", next(iter({"dynamo_backend", "backend"} & set(block)), ""))
    )
    value = config.get(*path)
    if value is None:
        return
    if not isinstance(value, str):
        text = f"AttributeError: '{type(value).__name__}' object has no attribute 'upper'"
        yield Finding(config.setting(*path), f"{path[-1]} is {value} to YAML; the launcher wants text", exception=text)
    elif value.upper() not in BACKENDS:
        text = f"ValueError: Unknown dynamo backend: {value.upper()}. Choose between {list(BACKENDS)}."
        yield Finding(config.setting(*path), f"{path[-1]} {value} is no backend", exception=text)


@rule(
    "ACC020",
    "main-process-unknown",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    when_partial=SKIP,
    raises="AssertionError: When using multiple machines, you need to specify the main process IP.",
    bad="distributed_type: 'NO'\nnum_machines: 2\n",
    good="distributed_type: 'NO'\nnum_machines: 2\nmain_process_ip: 10.0.0.1\nmain_process_port: 29500\n",
    example={"at": "/main_process_ip"},
)
def main_process_unknown(config: AccelerateConfig) -> Iterator[Finding]:
    """Several machines without a distributed type need the address of the first one.

    Run-time errors: `AssertionError: When using multiple machines, you need to specify the main process IP.`, and the
    same for the port.

    Fix: `main_process_ip` and `main_process_port`.

    Source: accelerate 1.15.0 utils/launch.py:127-133.
    """
    if config.spawns or not config.local or not isinstance(config.machines, (int, float)) or config.machines <= 1:
        return
    for key, label in (("main_process_ip", "IP"), ("main_process_port", "port")):
        if config.get(key) is None and config.distributed != "XLA":
            text = f"AssertionError: When using multiple machines, you need to specify the main process {label}."
            yield Finding(config.setting(key), f"{config.machines} machines, and no {key}", exception=text)
            return


@rule(
    "ACC015",
    "launched-on-others",
    WARNING,
    kinds=KINDS,
    bad=GPUS,
    good="distributed_type: MULTI_GPU\nnum_processes: 16\n",
    example={"gpus": 16, "at": "/num_processes"},
)
def launched_on_others(config: AccelerateConfig) -> Iterator[Finding]:
    """The launch is said to have another number of GPUs than the file starts processes on.

    `accelerate launch` goes by the file unless `--num_processes` is given.

    Fix: `num_processes`, or pass the flag to the launcher.

    Source: accelerate 1.15.0 commands/launch.py:1264-1286.
    """
    gpus = config.facts.gpus
    if gpus is not None and config.started is not None and config.started != gpus and "num_processes" in config.values:
        setting = config.setting("num_processes")
        yield Finding(setting, f"num_processes starts {config.started} of them, and the launch has {gpus} GPU{'s' * (gpus > 1)}")


@rule(
    "ACC016",
    "parallelism-sizes",
    ERROR,
    kinds=KINDS,
    fails_at="init",
    bad=FSDP + "  fsdp_version: 2\nparallelism_config:\n  parallelism_config_dp_shard_size: 4\n  parallelism_config_cp_size: 4\n",
    good=FSDP + "  fsdp_version: 2\nparallelism_config:\n  parallelism_config_dp_shard_size: 2\n  parallelism_config_cp_size: 4\n",
    example={"at": "/parallelism_config"},
)
def parallelism_sizes(config: AccelerateConfig) -> Iterator[Finding]:
    """The axes of `parallelism_config` do not multiply to the processes, or exclude each other.

    Run-time errors: `ValueError: ParallelismConfig total_size (16) does not match num_processes (8). Please adjust
    dp_replicate_size/ dp_shard_size/tp_size/cp_size/sp_size.`; `ValueError: Context Parallelism (CP) and Sequence
    Parallelism (SP) are mutually exclusive.`; `ValueError: Tensor/Context parallelism (tp/cp_size > 1) cannot be used
    with pure data parallelism`; `ValueError: tp_size must be at least 1, but got 0`; ``ValueError: `cp_size > 1` specified
    in the `parallelism_config`, but no `fsdp_plugin` was provided``; `RuntimeError: Mesh should not be bigger than default
    world size 4, but found 8 ranks!`.

    Fix: dp_replicate x dp_shard x tp x cp x sp = `num_processes`.

    Source: accelerate 1.15.0 parallelism_config.py:310-346, 366-398; state.py:997-1011.
    """
    sizes = {name: config.axis(name) for name in AXES}
    if not config.section("parallelism_config") or not config.spawns or not config.local:
        return
    low = next((name for name, size in sizes.items() if size is not None and size < 1), None)
    if low:
        setting = config.setting("parallelism_config", f"parallelism_config_{low}_size")
        yield Finding(setting, f"{low} is {sizes[low]}", exception=f"ValueError: {low}_size must be at least 1, but got {sizes[low]}")
        return
    if None in sizes.values():
        return
    error = exclusive(config) or unsharded(config) or unmatched(config)
    if error:
        yield Finding(config.setting("parallelism_config"), error[0], exception=error[1])


def exclusive(config: AccelerateConfig) -> tuple[str, str] | None:
    """(what is wrong, exception) of axes that cannot stand together."""
    replicate, shard, tensor, context, sequence = (config.axis(name) or 1 for name in AXES)
    if context > 1 and sequence > 1:
        text = "ValueError: Context Parallelism (CP) and Sequence Parallelism (SP) are mutually exclusive."
        return f"cp {context} and sp {sequence} exclude each other", text
    if (tensor > 1 or context > 1) and replicate > 1 and shard == 1:
        text = "ValueError: Tensor/Context parallelism (tp/cp_size > 1) cannot be used with pure data parallelism"
        return f"tp {tensor} and cp {context} go with dp_shard, not with dp_replicate {replicate} alone", text
    return None


def unsharded(config: AccelerateConfig) -> tuple[str, str] | None:
    """(what is wrong, exception) of axes that FSDP 2 has to carry, without it."""
    if config.under_deepspeed or (config.trainer is not None and config.trainer.get("fsdp")):
        return None
    context, version = config.axis("cp") or 1, config.fsdp_version
    if context > 1 and not version:
        return (
            f"cp {context} needs FSDP",
            "ValueError: `cp_size > 1` specified in the `parallelism_config`, but no `fsdp_plugin` was provided.",
        )
    if context > 1 and version == "1":
        return f"cp {context} needs FSDP 2", "ValueError: Using `cp_size>1` requires FSDP2, but the provided `fsdp_plugin` is using FSDP1."
    return None


def unmatched(config: AccelerateConfig) -> tuple[str, str] | None:
    """(what is wrong, exception) when the axes do not make the processes."""
    total = 1
    for name in AXES:
        total *= config.axis(name) or 1
    started = config.started or config.facts.gpus
    if started is None or total == 1:
        return None
    sequence = config.axis("sp") or 1
    if sequence > 1:
        return indivisible(started, sequence) if config.under_deepspeed else None
    counted = f"the axes multiply to {total}, and there are {started} processes"
    if total > started:
        return counted, f"RuntimeError: Mesh should not be bigger than default world size {started}, but found {total} ranks!"
    if total < started:
        return counted, f"ValueError: ParallelismConfig total_size ({total}) does not match num_processes ({started})."
    if config.under_deepspeed:
        return None
    if config.fsdp_version == "1":
        return "the axes need FSDP 2", "ValueError: ParallelismConfig is only compatible DistributedType.FSDP (version 2)"
    if config.fsdp_version == "2" and (config.axis("dp_shard") or 1) * (config.axis("cp") or 1) == 1:
        text = "ValueError: FSDP is enabled but the parallelism config has no dimension for FSDP to shard across"
        return "dp_shard and cp are both 1: FSDP has nothing to shard over", text
    return None


def indivisible(started: int, sequence: int) -> tuple[str, str] | None:
    """(what is wrong, exception) of Ulysses groups, which DeepSpeed makes (runtime/sequence_parallel/parallel_state_sp.py:31)."""
    if started < sequence:
        return (
            f"sp {sequence} on {started} processes",
            f"RuntimeError: world_size ({started}) is less than sequence_parallel_size {sequence}",
        )
    if started % sequence:
        text = f"RuntimeError: world_size ({started}) is not divisible by sequence_parallel_size {sequence})"
        return f"sp {sequence} does not divide {started} processes", text
    return None


@rule(
    "ACC017",
    "precision-overruled",
    WARNING,
    kinds=KINDS,
    bad={
        "train.yaml": "output_dir: out\nbf16: true\nper_device_train_batch_size: 4\n",
        "accelerate.yaml": GPUS + "mixed_precision: fp16\n",
    },
    good={
        "train.yaml": "output_dir: out\nbf16: true\nper_device_train_batch_size: 4\n",
        "accelerate.yaml": GPUS + "mixed_precision: bf16\n",
    },
    example={"kind": "huggingface", "at": "/mixed_precision"},
)
def precision_overruled(config: AccelerateConfig) -> Iterator[Finding]:
    """The trainer's own `bf16` or `fp16` wins over the launcher's `mixed_precision`, without a word.

    The launcher passes its choice on as `ACCELERATE_MIXED_PRECISION`; the trainer reads that and replaces it
    where a flag of its own is on.

    Fix: say it in one place.

    Source: transformers 5.23.0 training_args.py:1612-1618.
    """
    trainer = config.trainer
    if trainer is None or not config.precision_named or config.uses_deepspeed:
        return
    own = next((name for name in ("fp16", "bf16") if trainer.get(name)), None)
    if own and own != config.precision:
        setting = config.setting("mixed_precision")
        yield Finding(setting, f"mixed_precision {setting.value} has no effect: the trainer runs {own}", related=(trainer.setting(own),))
