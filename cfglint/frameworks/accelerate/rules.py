"""What accelerate's launcher rejects, and what it silently ignores."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR, WARNING
from cfglint.findings.rule import SKIP, Example, Finding, rule
from cfglint.findings.setting import OVERRIDE
from cfglint.findings.wording import described, listed, spelled
from cfglint.frameworks.accelerate.config import AXES, DEVICES, TYPES
from cfglint.frameworks.remedies import choice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cfglint.findings.setting import Setting
    from cfglint.findings.vocabulary import Kind, Severity
    from cfglint.frameworks.accelerate.config import AccelerateConfig
    from cfglint.frameworks.schema import Schema
    from cfglint.frameworks.versions import Version

KINDS: tuple[Kind, ...] = ("accelerate",)
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
OLD_SPELLINGS = ("fp16", "dynamo_backend")  # converted while the file is loaded
PREFIXES = {"fsdp_config": "fsdp_"}  # which the launcher puts before a block's keys that lack it
BACKENDS = (
    *("NO", "EAGER", "AOT_EAGER", "INDUCTOR", "AOT_TS_NVFUSER", "NVPRIMS_NVFUSER", "CUDAGRAPHS", "OFI", "FX2TRT"),
    *("ONNXRT", "TENSORRT", "AOT_TORCHXLA_TRACE_ONCE", "TORCHXLA_TRACE_ONCE", "TVM", "HPU_BACKEND", "NEURON"),
)
# Keys that have to be in the DeepSpeed file if the launcher's block names one.
DEEPSPEED_FILE_KEYS = (
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
UNSET_IS_ONE = (1, 11)  # a missing `num_processes` without several GPUs; 1.6.0 compares null with 1
BLOCKS_COPIED = (1, 5)  # a block that is not a mapping is left out; 1.4.0 indexes these with each of their entries
INDEXED_BLOCKS = ("deepspeed_config", "fsdp_config", "megatron_lm_config", "dynamo_config", "ipex_config", "mpirun_config")
ADDRESS_REQUIRED = (1, 8)  # the launcher asserts the address of the main process; 1.7.0 passes null on
GPUS = "distributed_type: MULTI_GPU\nnum_processes: 8\n"
FSDP = "distributed_type: FSDP\nnum_processes: 8\nfsdp_config:\n"
DEEPSPEED = "distributed_type: DEEPSPEED\nnum_processes: 8\n"


def schema() -> Schema:
    """The schema of an accelerate config."""
    from cfglint.frameworks.schema import load

    return load("accelerate")


@rule(
    "ACC001",
    "launch-file-not-a-mapping",
    ERROR,
    kinds=KINDS,
    fails_at="load",
    bad="- distributed_type: MULTI_GPU\n",
    good=GPUS,
    old_names=("launch-file-not-keys",),
)
def not_a_mapping(config: AccelerateConfig) -> Iterator[Finding]:
    """The accelerate config is a list, a single value or empty, not a mapping.

    Run-time error: `AttributeError: 'list' object has no attribute 'get'`.

    Fix: write the keys at top level.

    Source: accelerate 1.15.0 commands/config/config_args.py:66.
    """
    if not config.load_problems and not isinstance(config.root, dict):
        kind = type(config.root).__name__
        text = "the file is empty" if config.root is None else f"the file is {spelled(config.root)}, not a mapping"
        yield Finding(config.setting(), text, exception=f"AttributeError: '{kind}' object has no attribute 'get'")


@rule(
    "ACC002",
    "unknown-launch-key",
    ERROR,
    kinds=KINDS,
    fails_at="load",
    bad=(
        GPUS + "mixed_precison: bf16\n",
        Example(GPUS + "fp8_config: {}\n", facts={"target": {"accelerate": "0.32.1"}, "at": "/fp8_config"}),
    ),
    good=GPUS + "mixed_precision: bf16\n",
    fixed=GPUS + "mixed_precision: bf16\n",
    example={"at": "/mixed_precison"},
)
def unknown_launch_key(config: AccelerateConfig) -> Iterator[Finding]:
    """Unknown key; the launcher rejects it.

    Run-time error: `ValueError: The config file at accelerate.yaml had unknown keys (['mixed_precison']), please try
    upgrading your accelerate version or fix (and potentially remove) these keys from your config file.`

    Fix: correct the key or remove it; settings of DeepSpeed and FSDP belong in `deepspeed_config` and `fsdp_config`.

    Source: accelerate 1.15.0 commands/config/config_args.py:131-137, 154-160.
    """
    if not config.values or "distributed_type" not in config.values:
        return
    known = known_keys(config)
    unknown = [key for key in config.values if key not in known]
    for key in unknown:
        from cfglint.findings.fix_builders import move, rename

        setting = config.setting(key)
        found = schema().nearest((), key) if isinstance(key, str) else []
        near = [each for each in found if len(each.path) == 1 and each.path[0] in known]
        block = next((each.path for each in found if len(each.path) == 2 and each.path[1] == key), None) if config.local else None
        meant = str(near[0].path[-1]) if near else ""
        text = f"ValueError: The config file at {config.documents[0].path} had unknown keys ({sorted(map(str, unknown))})"
        where = " (SageMaker config)" if not config.local else other_releases(key)
        hint = f"; did you mean `{meant}`?" if meant and not where else ""
        if block is not None:
            hint = f"; move it into `{block[0]}`"
        message = f"unknown key `{key}` is rejected by accelerate launch{where}{hint}"
        fix = rename(setting, meant, f"rename it to `{meant}`", safe=False) if meant and not where and meant not in config.values else None
        if block is not None:
            fix = move(config, setting, block, f"move it into `{block[0]}`", safe=severity_of(config, key) in (None, ERROR))
        yield Finding(
            setting,
            message,
            exception=text,
            on_key=True,
            fix=fix,
            severity=severity_of(config, key),
            help=None if fix else f"remove `{key}`",
        )


def other_releases(key: object) -> str:
    """Which releases have a key that the targeted one does not have."""
    entry = schema().lookup((key,)) if isinstance(key, str) else None
    if entry is None or not (entry.since or entry.removed):
        return ""
    return f" {entry.removed.removesuffix('.0')} and later" if entry.removed else f" before {str(entry.since).removesuffix('.0')}"


_known: dict[Version, set[str]] = {}


def known_keys(config: AccelerateConfig) -> set[str]:
    """The keys that the targeted release accepts."""
    if not config.local:
        return {*SAGEMAKER_KEYS, *OLD_SPELLINGS}
    if config.version not in _known:
        known = {*schema().keys_at(config.version), *OLD_SPELLINGS}
        _known[config.version] = known - set(SAGEMAKER_KEYS) | set(SHARED_WITH_SAGEMAKER)
    return _known[config.version]


def severity_of(config: AccelerateConfig, key: object) -> Severity:
    """A warning where the release is not specified and another release has the key."""
    return WARNING if other_releases(key) and "accelerate" not in config.facts.target and config.local else ERROR


@rule(
    "ACC003",
    "invalid-distributed-type",
    ERROR,
    kinds=KINDS,
    fails_at="load",
    bad=(
        "distributed_type: multi_gpu\nnum_processes: 8\n",
        "num_processes: 8\n",
    ),
    good=GPUS,
    fixed=GPUS,
    example={"at": "/distributed_type"},
    old_names=("distributed-type",),
)
def distributed_type(config: AccelerateConfig) -> Iterator[Finding]:
    """`distributed_type` is missing or not a valid choice; it is case-sensitive.

    Run-time errors: ``ValueError: A `distributed_type` must be specified in the config file.``; `ValueError: 'multi_gpu'
    is not a valid DistributedType`.

    Fix: use one of NO, MULTI_GPU, DEEPSPEED, FSDP, MEGATRON_LM (or another device type).

    Source: accelerate 1.15.0 commands/config/config_args.py:98, 169-175.
    """
    from cfglint.findings.fix_builders import replace

    if not config.values:
        return
    if "distributed_type" not in config.values:
        text = "ValueError: A `distributed_type` must be specified in the config file."
        yield Finding(
            config.setting("distributed_type"),
            "`distributed_type` is missing",
            exception=text,
            help="add `distributed_type: MULTI_GPU`, or the type that fits",
        )
    elif isinstance(config.distributed, str) and config.distributed not in TYPES and config.local:
        setting = config.setting("distributed_type")
        meant = config.distributed.upper().replace("-", "_")
        text = f"ValueError: {config.distributed!r} is not a valid DistributedType"
        fix = replace(setting, meant, f"write {meant}", safe=True) if meant in TYPES else None
        message = f"`distributed_type` is {setting.spelled}, which is not a valid choice"
        choices = None if fix else choice("distributed_type", config.distributed, TYPES)
        yield Finding(setting, message, exception=text, fix=fix, help=choices)


@rule(
    "ACC004",
    "invalid-compute-environment",
    ERROR,
    kinds=KINDS,
    fails_at="load",
    bad="compute_environment: local_machine\n" + GPUS,
    good="compute_environment: LOCAL_MACHINE\n" + GPUS,
    example={"at": "/compute_environment"},
    old_names=("compute-environment",),
)
def compute_environment(config: AccelerateConfig) -> Iterator[Finding]:
    """`compute_environment` is not LOCAL_MACHINE, so the file is parsed as a SageMaker config, which has other keys.

    Run-time error: `ValueError: The config file at accelerate.yaml had unknown keys (['num_machines']), ...`.

    Fix: write `LOCAL_MACHINE`, or remove the key.

    Source: accelerate 1.15.0 commands/config/config_args.py:52-72.
    """
    if not config.local and config.get("compute_environment") != SAGEMAKER:
        setting = config.setting("compute_environment")
        text = f"ValueError: The config file at {config.documents[0].path} had unknown keys"
        message = f"`compute_environment` is {setting.spelled}; it must be LOCAL_MACHINE or {SAGEMAKER}"
        yield Finding(setting, message, exception=text, help="set `compute_environment: LOCAL_MACHINE`")


@rule(
    "ACC005",
    "missing-num-processes",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    when_partial=SKIP,
    raises="ValueError: You need to manually pass in `--num_processes` using this config yaml.",
    bad="distributed_type: MULTI_GPU\nmixed_precision: bf16\n",
    good=GPUS + "mixed_precision: bf16\n",
    example={"at": "/num_processes"},
    old_names=("processes-missing",),
)
def missing_num_processes(config: AccelerateConfig) -> Iterator[Finding]:
    """`num_processes` is missing.

    Only the quoted type `'NO'` defaults to one process; with any other type the number has to be in the file or
    in `--num_processes`.

    Run-time error: ``ValueError: You need to manually pass in `--num_processes` using this config yaml.``

    Fix: set `num_processes`, the total over all machines.

    Source: accelerate 1.15.0 commands/launch.py:1306.
    """
    if config.values and config.local and "distributed_type" in config.values and config.processes == -1:
        text = f"`num_processes` is missing, and `distributed_type` is {config.setting('distributed_type').spelled}"
        yield Finding(config.setting("num_processes"), text, help="set `num_processes` to the number of GPUs, over all machines")


@rule(
    "ACC006",
    "invalid-mixed-precision",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad=(
        GPUS + "mixed_precision: no\n",
        GPUS + "mixed_precision: half\n",
    ),
    good=GPUS + "mixed_precision: 'no'\n",
    fixed=GPUS + 'mixed_precision: "no"\n',
    example={"at": "/mixed_precision"},
    old_names=("launch-precision",),
)
def mixed_precision(config: AccelerateConfig) -> Iterator[Finding]:
    """`mixed_precision` is not one of the strings no, fp16, bf16 and fp8.

    An unquoted `no` is the boolean false in YAML, and the launcher calls a string method on it.

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
        yield Finding(
            setting,
            f"`mixed_precision` is {setting.spelled}; it must be no, fp16, bf16 or fp8",
            exception=text,
            help=choice("mixed_precision", value, ("no", "fp16", "bf16", "fp8")),
        )
        return
    text = f"AttributeError: '{type(value).__name__}' object has no attribute 'lower'"
    bare = value is False
    message = (
        f"`mixed_precision` is {setting.spelled}, which is the boolean false in YAML, not a string"
        if bare
        else f"`mixed_precision` is {setting.spelled}, not a string"
    )
    yield Finding(setting, message, exception=text, fix=replace(setting, "no", "quote it", safe=True) if bare else None)


@rule(
    "ACC007",
    "indivisible-num-processes",
    WARNING,
    kinds=KINDS,
    bad="distributed_type: MULTI_GPU\nnum_machines: 2\nnum_processes: 9\n",
    good="distributed_type: MULTI_GPU\nnum_machines: 2\nnum_processes: 8\n",
    example={"at": "/num_processes"},
    old_names=("processes-lost",),
)
def indivisible_num_processes(config: AccelerateConfig) -> Iterator[Finding]:
    """`num_processes`, the total, is not a multiple of `num_machines`: the remainder is never started.

    Each machine starts the integer quotient: 9 processes on 2 machines are 4 and 4. The global batch size is
    silently smaller than planned.

    Fix: write a multiple of `num_machines`.

    Source: accelerate 1.15.0 utils/launch.py:217, 476, 489.
    """
    each, machines = config.per_machine, config.machines
    if each and config.spawns and machines > 1 and config.processes % machines:
        setting = config.setting("num_processes")
        message = f"`num_processes` is {config.processes}, not a multiple of {machines} machines: only {each * machines} processes start"
        yield Finding(setting, message, related=(config.setting("num_machines"),), help=f"set `num_processes: {each * machines}`")


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
    """`num_processes`, the total over all machines, is less than `num_machines`.

    Each machine would start 0 processes.

    Run-time error: `AssertionError` from torch's elastic agent, which requires at least one.

    Fix: write the total, not the number on one machine.

    Source: accelerate 1.15.0 utils/launch.py:217; torch 2.13 distributed/elastic/agent/server/api.py:105.
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
    """Whether `num_processes` is above 1 and `distributed_type: NO` starts one."""
    return config.distributed in ("NO", False) and type(config.processes) is int and config.processes > 1 and config.local


@rule(
    "ACC009",
    "single-process-launch",
    WARNING,
    kinds=KINDS,
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

    Fix: write `distributed_type: MULTI_GPU`.

    Source: accelerate 1.15.0 commands/launch.py:1390-1413.
    """
    if starts_one_of_many(config):
        setting = config.setting("distributed_type")
        message = f"`distributed_type` is {setting.spelled}, which starts one process, but `num_processes` is {config.processes}"
        yield Finding(setting, message, related=(config.setting("num_processes"),), help="set `distributed_type: MULTI_GPU`")


@rule(
    "ACC010",
    "unused-block",
    WARNING,
    kinds=KINDS,
    bad=GPUS + "deepspeed_config:\n  zero_stage: 2\n",
    good=DEEPSPEED + "deepspeed_config:\n  zero_stage: 2\n",
    example={"at": "/deepspeed_config"},
    old_names=("block-unused",),
)
def unused_block(config: AccelerateConfig) -> Iterator[Finding]:
    """A block of another distributed type is ignored.

    With `distributed_type: MULTI_GPU` a `deepspeed_config` block has no effect: the run has no ZeRO.

    Fix: set the distributed type of the block, or remove the block.

    Source: accelerate 1.15.0 commands/launch.py:1391-1401.
    """
    for name, types in BLOCKS.items():
        if config.section(name) and isinstance(config.distributed, str) and config.distributed not in types and config.local:
            message = f"`{name}` is ignored with `distributed_type: {config.distributed}`; it requires {listed(types)}"
            yield Finding(
                config.setting(name),
                message,
                related=(config.setting("distributed_type"),),
                on_key=True,
                help=f"set `distributed_type: {types[0]}`, or remove `{name}`",
            )


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
    """Unknown key in a block; the launcher ignores it.

    An unknown key at top level is an error; inside `deepspeed_config`, `fsdp_config` and `parallelism_config` it
    is ignored, and the default applies.

    Fix: correct the key.

    Source: accelerate 1.15.0 commands/launch.py:1264-1281.
    """
    from cfglint.findings.fix_builders import rename

    for name in ("deepspeed_config", "fsdp_config", "parallelism_config"):
        for key in config.section(name):
            if isinstance(key, str) and not any(schema().lookup((name, each)) for each in (key, PREFIXES.get(name, "") + key)):
                near = [each for each in schema().nearest((name,), key) if each.path[:-1] == (name,)]
                setting = config.setting(name, key)
                meant = str(near[0].path[-1]) if near else ""
                message = f"unknown key `{key}` in `{name}` is ignored" + (f"; did you mean `{meant}`?" if meant else "")
                new = meant if meant not in config.section(name) else ""
                fix = rename(setting, new, f"rename it to `{new}`", safe=False) if new else None
                yield Finding(setting, message, on_key=True, fix=fix)


@rule(
    "ACC012",
    "setting-belongs-in-deepspeed-file",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad=DEEPSPEED + "mixed_precision: bf16\ndeepspeed_config:\n  deepspeed_config_file: ds.json\n",
    good=DEEPSPEED + "deepspeed_config:\n  deepspeed_config_file: ds.json\n",
    example={"at": "/mixed_precision"},
    old_names=("left-to-deepspeed-file",),
)
def setting_belongs_in_deepspeed_file(config: AccelerateConfig) -> Iterator[Finding]:
    """With a DeepSpeed file, the accelerate config must not set what that file sets, `mixed_precision` included.

    The same applies when the Trainer config names the DeepSpeed file and the launch is of type DEEPSPEED.

    Run-time error: ``ValueError: When using `deepspeed_config_file`, the following accelerate config variables will be
    ignored: ['gradient_accumulation_steps', 'gradient_clipping', 'zero_stage', ...]. Please specify them appropriately
    in the DeepSpeed config file.``

    Fix: remove the keys from the accelerate config.

    Source: accelerate 1.15.0 utils/dataclasses.py:1507-1532, commands/launch.py:1392-1396.
    """
    from cfglint.findings.fix_builders import remove

    if not config.uses_deepspeed or not config.local or not named_file(config):
        return
    text = "ValueError: When using `deepspeed_config_file`, the following accelerate config variables will be ignored: "
    exception = f"{text}{list(DEEPSPEED_FILE_KEYS)}."
    settings = [config.setting("deepspeed_config", key) for key in config.section("deepspeed_config") if key in DEEPSPEED_FILE_KEYS]
    settings = [setting for setting in settings if setting.origin != OVERRIDE]  # the launcher compares the file alone
    if config.precision_named and ("mixed_precision",) not in config.overridden:
        settings.append(config.setting("mixed_precision" if config.get("mixed_precision") is not None else "fp16"))
    for setting in settings:
        file = named_file(config)
        message = f"`{setting.path[-1]}` must be set in the DeepSpeed config file, and not here as well"
        fix = remove(setting, f"remove `{setting.path[-1]}`", safe=False)
        yield Finding(setting, message, related=(file,) if file else (), exception=exception, on_key=True, fix=fix)


def named_file(config: AccelerateConfig) -> Setting | None:
    """The setting that names the DeepSpeed file: the launcher's, or the trainer's."""
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
    """`fsdp_sync_module_states: false` with `fsdp_cpu_ram_efficient_loading`, which requires it.

    Only the first rank loads the weights, the others receive them from it. That is the default, so
    `fsdp_sync_module_states: false` alone is an error too.

    Run-time error: ``ValueError: When using `--fsdp_cpu_ram_efficient_loading` set `--fsdp_sync_module_states` to
    `True` ``.

    Fix: write true, or `fsdp_cpu_ram_efficient_loading: false`.

    Source: accelerate 1.15.0 utils/launch.py:309, commands/launch.py:584-597.
    """
    if config.distributed != "FSDP" or not config.local:
        return
    section = config.section("fsdp_config")
    loading, sync = ((name, f"fsdp_{name}") for name in ("cpu_ram_efficient_loading", "sync_module_states"))
    found = [next((name for name in reversed(names) if name in section), "") for names in (loading, sync)]
    if found[1] and not section[found[1]] and (not found[0] or section[found[0]]):
        related = (config.setting("fsdp_config", found[0]),) if found[0] else ()
        message = f"`{found[1]}` is {spelled(section[found[1]])}, but `fsdp_cpu_ram_efficient_loading` requires true"
        yield Finding(config.setting("fsdp_config", found[1]), message, related=related, help=f"set `fsdp_config.{found[1]}: true`")


@rule(
    "ACC014",
    "invalid-gpu-ids",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad=(
        GPUS + "gpu_ids: '0'\n",
        GPUS + "gpu_ids: 0\n",
    ),
    good=GPUS + "gpu_ids: '0,1'\n",
    example={"at": "/gpu_ids"},
    old_names=("gpu-ids",),
)
def gpu_ids(config: AccelerateConfig) -> Iterator[Finding]:
    """`gpu_ids` names one GPU for a launch on several GPUs, or is not a string.

    Run-time errors: ``ValueError: Less than two GPU ids were configured and tried to run on multiple GPUs. Please
    ensure at least two are specified for `--gpu_ids`, or use `--gpu_ids='all'`.``; `AttributeError: 'int' object has no
    attribute 'split'` for a number without quotes.

    Fix: list the GPUs in quotes, or write `all`.

    Source: accelerate 1.15.0 commands/launch.py:1247-1258.
    """
    value = config.get("gpu_ids")
    if value is None or not config.local:
        return
    setting = config.setting("gpu_ids")
    if not isinstance(value, str):
        text = f"AttributeError: '{type(value).__name__}' object has no attribute 'split'"
        yield Finding(
            setting, f"`gpu_ids` is {setting.spelled}, not a string", exception=text, help=f'set `gpu_ids: "{value}"`, with quotes'
        )
    elif value != "all" and "," not in value and config.distributed in DEVICES and config.machines == 1:
        text = "ValueError: Less than two GPU ids were configured and tried to run on multiple GPUs."
        message = f"`gpu_ids` names one GPU, but `distributed_type: {config.distributed}` requires at least two"
        yield Finding(setting, message, exception=text, help="set `gpu_ids: all`, or list the GPUs")


@rule(
    "ACC018",
    "invalid-launch-value-type",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad=(
        "distributed_type: MULTI_GPU\nnum_processes: 8\nnum_machines: '2'\n",
        "distributed_type: MULTI_GPU\nnum_processes: '8'\nnum_machines: 2\n",
        "distributed_type: 'NO'\nnum_processes: '2'\n",
        GPUS + "parallelism_config:\n  parallelism_config_cp_size: '2'\n",
        DEEPSPEED + "deepspeed_config: ds\n",
        Example(
            GPUS + "fsdp_config: full_shard\n",
            exception="TypeError: string",
            facts={"target": {"accelerate": "1.4.0"}, "at": "/fsdp_config"},
        ),
        Example(GPUS + "fsdp_config: 1\n", "/fsdp_config", exception="TypeError: 'int'", facts={"target": {"accelerate": "1.4.0"}}),
    ),
    good="distributed_type: MULTI_GPU\nnum_processes: 8\nnum_machines: 2\n",
    example={"at": "/num_machines"},
    old_names=("launch-value-type",),
)
def launch_value_type(config: AccelerateConfig) -> Iterator[Finding]:
    """Unsupported value type.

    `num_machines` is compared with 1 and divides `num_processes`; the sizes of context and sequence parallelism are
    compared with 1; `deepspeed_config` has to be a mapping, before accelerate 1.5 `fsdp_config` and the other blocks too.

    Run-time errors: `TypeError: '>' not supported between instances of 'str' and 'int'`; `TypeError: unsupported operand
    type(s) for //: 'str' and 'int'`; `AttributeError: 'str' object has no attribute 'keys'`; `TypeError: string indices must
    be integers`.

    Fix: write a number without quotes, or a mapping.

    Source: accelerate 1.15.0 utils/launch.py:216-217, 412, 439, 489; commands/launch.py:1393; 1.1.1 commands/launch.py:1024.
    """
    if not config.local or not config.values or config.distributed == "XLA":
        return
    machines, processes = config.machines, config.processes
    kind = type(machines).__name__
    if not isinstance(machines, (int, float)):
        text = f"TypeError: '>' not supported between instances of '{kind}' and 'int'"
        yield Finding(
            config.setting("num_machines"),
            f"`num_machines` is {described(machines)}, not a number",
            exception=text,
            help=f"set `num_machines: {machines}`, without quotes" if str(machines).isdecimal() else "set `num_machines: 1`",
        )
    elif machines > 1 and config.spawns and not isinstance(processes, (int, float)):
        text = f"TypeError: unsupported operand type(s) for //: '{type(processes).__name__}' and 'int'"
        yield Finding(
            config.setting("num_processes"),
            f"`num_processes` is {described(processes)}, not a number",
            exception=text,
            help=f"set `num_processes: {processes}`, without quotes" if str(processes).isdecimal() else None,
        )
    elif not config.spawns and processes is not None and not isinstance(processes, (int, float)) and not passed_over(config, processes):
        text = f"TypeError: '>' not supported between instances of '{type(processes).__name__}' and 'int'"
        yield Finding(
            config.setting("num_processes"),
            f"`num_processes` is {described(processes)}, not a number",
            exception=text,
            help=f"set `num_processes: {processes}`, without quotes" if str(processes).isdecimal() else None,
        )
    for axis in ("cp", "sp") if config.spawns else ():
        path = ("parallelism_config", f"parallelism_config_{axis}_size")
        size = config.get(*path, default=1)
        if not isinstance(size, (int, float)):
            text = f"TypeError: '>' not supported between instances of '{type(size).__name__}' and 'int'"
            yield Finding(
                config.setting(*path),
                f"`{path[-1]}` is {described(size)}, not a number",
                exception=text,
                help="remove the quotes" if str(size).isdecimal() else None,
            )
    yield from blocks_of_another_type(config)


def blocks_of_another_type(config: AccelerateConfig) -> Iterator[Finding]:
    """Blocks that are not mappings and that the launcher uses as mappings."""
    for name in ("deepspeed_config",) if config.version >= BLOCKS_COPIED else INDEXED_BLOCKS:
        block = config.values.get(name)
        if block is None or isinstance(block, dict):
            continue
        text = indexing_error(block) if config.version < BLOCKS_COPIED else None
        if text is None and name == "deepspeed_config" and config.uses_deepspeed:
            text = f"AttributeError: '{type(block).__name__}' object has no attribute 'keys'"
        if text is not None:
            yield Finding(
                config.setting(name),
                f"`{name}` is {spelled(block)}, not a mapping",
                exception=text,
                help=f"remove `{name}`, or write a mapping",
            )


def indexing_error(block: object) -> str | None:
    """What Python raises where each entry of a value indexes that value (commands/launch.py:1024-1039 of accelerate 1.1.1)."""
    if not isinstance(block, (str, list)):
        return f"TypeError: '{type(block).__name__}' object is not iterable"
    if not block:
        return None
    return "TypeError: string indices must be integers" if isinstance(block, str) else "TypeError: list indices must be integers or slices"


def passed_over(config: AccelerateConfig, value: object) -> bool:
    """Whether the launcher leaves a mapping out, and takes a missing number for 1 as newer releases do."""
    return isinstance(value, dict) and config.version >= UNSET_IS_ONE


@rule(
    "ACC019",
    "invalid-dynamo-backend",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad=(
        GPUS + "dynamo_config:\n  dynamo_backend: NO\n",
        GPUS + "dynamo_config:\n  dynamo_backend: foo\n",
    ),
    good=GPUS + "dynamo_config:\n  dynamo_backend: 'NO'\n",
    example={"at": "/dynamo_config/dynamo_backend"},
    old_names=("dynamo-backend",),
)
def dynamo_backend(config: AccelerateConfig) -> Iterator[Finding]:
    """`dynamo_backend` is not the name of a backend; an unquoted `NO` is the boolean false in YAML.

    Run-time errors: `AttributeError: 'bool' object has no attribute 'upper'`; `ValueError: Unknown dynamo backend: FOO.
    Choose between ['NO', 'EAGER', 'AOT_EAGER', 'INDUCTOR', ...].`

    Fix: quote it, or remove it.

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
        message = f"`{path[-1]}` is {config.setting(*path).spelled}, not a string in YAML"
        yield Finding(config.setting(*path), message, exception=text, help="quote the value")
    elif value.upper() not in BACKENDS:
        text = f"ValueError: Unknown dynamo backend: {value.upper()}. Choose between {list(BACKENDS)}."
        yield Finding(
            config.setting(*path),
            f"`{path[-1]}` is {spelled(value)}, which is not a valid choice",
            exception=text,
            help=choice(".".join(path), value, [each.lower() for each in BACKENDS]),
        )


@rule(
    "ACC020",
    "missing-main-process-address",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    when_partial=SKIP,
    raises="AssertionError: When using multiple machines, you need to specify the main process IP.",
    bad="distributed_type: 'NO'\nnum_machines: 2\n",
    good="distributed_type: 'NO'\nnum_machines: 2\nmain_process_ip: 10.0.0.1\nmain_process_port: 29500\n",
    example={"at": "/main_process_ip"},
    old_names=("main-process-unknown",),
)
def main_process_unknown(config: AccelerateConfig) -> Iterator[Finding]:
    """Several machines with `distributed_type: NO` require the address of the main process.

    Run-time errors: `AssertionError: When using multiple machines, you need to specify the main process IP.`, and the
    same for the port.

    Fix: set `main_process_ip` and `main_process_port`.

    Source: accelerate 1.15.0 utils/launch.py:127-133, since 1.8.0.
    """
    if config.version < ADDRESS_REQUIRED:
        return
    if config.spawns or not config.local or not isinstance(config.machines, (int, float)) or config.machines <= 1:
        return
    for key, label in (("main_process_ip", "IP"), ("main_process_port", "port")):
        if config.get(key) is None and config.distributed != "XLA":
            text = f"AssertionError: When using multiple machines, you need to specify the main process {label}."
            yield Finding(
                config.setting(key),
                f"`num_machines` is {config.machines}, which requires `{key}`",
                exception=text,
                help="set `main_process_ip` to the address of the first machine" if key.endswith("ip") else f"set `{key}`",
            )
            return


@rule(
    "ACC015",
    "process-count-mismatch",
    WARNING,
    kinds=KINDS,
    bad=GPUS,
    good="distributed_type: MULTI_GPU\nnum_processes: 16\n",
    example={"gpus": 16, "at": "/num_processes"},
    old_names=("launched-on-others",),
)
def process_count_mismatch(config: AccelerateConfig) -> Iterator[Finding]:
    """The GPU count of the launch differs from the number of processes that the file starts.

    A file that starts one process because of `distributed_type: NO` is reported for that alone. `accelerate launch` uses the
    file unless `--num_processes` is passed. A launch line that passes it is not reported.

    Fix: change `num_processes`, or pass the flag to the launcher.

    Source: accelerate 1.15.0 commands/launch.py:1264-1286.
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
            note=f"accelerate launch starts {config.started}",
            help=f"set `num_processes: {gpus}`, or pass --num_processes to accelerate launch",
        )


@rule(
    "ACC016",
    "invalid-parallelism-sizes",
    ERROR,
    kinds=KINDS,
    fails_at="init",
    bad=(
        FSDP + "  fsdp_version: 2\nparallelism_config:\n  parallelism_config_dp_shard_size: 4\n  parallelism_config_cp_size: 4\n",
        FSDP + "  fsdp_version: 2\nparallelism_config:\n  parallelism_config_tp_size: 0\n",
    ),
    good=FSDP + "  fsdp_version: 2\nparallelism_config:\n  parallelism_config_dp_shard_size: 2\n  parallelism_config_cp_size: 4\n",
    example={"at": "/parallelism_config"},
    old_names=("parallelism-sizes",),
)
def parallelism_sizes(config: AccelerateConfig) -> Iterator[Finding]:
    """The sizes of `parallelism_config` do not match the number of processes, or are incompatible.

    Run-time errors: `ValueError: ParallelismConfig total_size (16) does not match num_processes (8). Please adjust
    dp_replicate_size/ dp_shard_size/tp_size/cp_size/sp_size.`; `ValueError: Context Parallelism (CP) and Sequence
    Parallelism (SP) are mutually exclusive.`; `ValueError: Tensor/Context parallelism (tp/cp_size > 1) cannot be used
    with pure data parallelism`; `ValueError: tp_size must be at least 1, but got 0`; ``ValueError: `cp_size > 1` specified
    in the `parallelism_config`, but no `fsdp_plugin` was provided``; `RuntimeError: Mesh should not be bigger than default
    world size 4, but found 8 ranks!`.

    Fix: make dp_replicate x dp_shard x tp x cp x sp equal to `num_processes`.

    Source: accelerate 1.15.0 parallelism_config.py:310-346, 366-398; state.py:997-1011.
    """
    sizes = {name: config.axis(name) for name in AXES}
    if not config.section("parallelism_config") or not config.spawns or not config.local:
        return
    low = next((name for name, size in sizes.items() if size is not None and size < 1), None)
    if low:
        setting = config.setting("parallelism_config", f"parallelism_config_{low}_size")
        message = f"`{setting.path[-1]}` is {sizes[low]}; it must be at least 1"
        yield Finding(
            setting,
            message,
            exception=f"ValueError: {low}_size must be at least 1, but got {sizes[low]}",
            help=f"set `parallelism_config.parallelism_config_{low}_size: 1`",
        )
        return
    if None in sizes.values():
        return
    error = incompatible_axes(config) or missing_fsdp(config) or wrong_product(config)
    if error:
        yield Finding(
            config.setting("parallelism_config"),
            error[0],
            exception=error[1],
            help="change the sizes so that their product is the number of processes" if "product" in error[0] else None,
        )


def incompatible_axes(config: AccelerateConfig) -> tuple[str, str] | None:
    """(message, exception) for axes that are incompatible."""
    replicate, shard, tensor, context, sequence = (config.axis(name) or 1 for name in AXES)
    if context > 1 and sequence > 1:
        text = "ValueError: Context Parallelism (CP) and Sequence Parallelism (SP) are mutually exclusive."
        return f"`parallelism_config`: cp {context} is incompatible with sp {sequence}", text
    if (tensor > 1 or context > 1) and replicate > 1 and shard == 1:
        text = "ValueError: Tensor/Context parallelism (tp/cp_size > 1) cannot be used with pure data parallelism"
        return f"`parallelism_config`: tp {tensor} or cp {context} with dp_replicate {replicate} requires dp_shard above 1", text
    return None


def missing_fsdp(config: AccelerateConfig) -> tuple[str, str] | None:
    """(message, exception) for axes that require FSDP 2, without it."""
    if config.under_deepspeed or (config.trainer is not None and config.trainer.get("fsdp")):
        return None
    context, version = config.axis("cp") or 1, config.fsdp_version
    if context > 1 and not version:
        return (
            f"`parallelism_config`: cp {context} requires FSDP",
            "ValueError: `cp_size > 1` specified in the `parallelism_config`, but no `fsdp_plugin` was provided.",
        )
    if context > 1 and version == "1":
        text = "ValueError: Using `cp_size>1` requires FSDP2, but the provided `fsdp_plugin` is using FSDP1."
        return f"`parallelism_config`: cp {context} requires FSDP version 2", text
    return None


def wrong_product(config: AccelerateConfig) -> tuple[str, str] | None:
    """(message, exception) for axes whose product is not the number of processes."""
    total = 1
    for name in AXES:
        total *= config.axis(name) or 1
    started = config.started or config.facts.gpus
    if started is None or total == 1:
        return None
    sequence = config.axis("sp") or 1
    if sequence > 1:
        return indivisible(started, sequence) if config.under_deepspeed else None
    counted = f"`parallelism_config`: the product of the sizes is {total}, but there are {started} processes"
    if total > started:
        return counted, f"RuntimeError: Mesh should not be bigger than default world size {started}, but found {total} ranks!"
    if total < started:
        return counted, f"ValueError: ParallelismConfig total_size ({total}) does not match num_processes ({started})."
    if config.under_deepspeed:
        return None
    if config.fsdp_version == "1":
        return (
            "`parallelism_config` requires FSDP version 2",
            "ValueError: ParallelismConfig is only compatible DistributedType.FSDP (version 2)",
        )
    if config.fsdp_version == "2" and (config.axis("dp_shard") or 1) * (config.axis("cp") or 1) == 1:
        text = "ValueError: FSDP is enabled but the parallelism config has no dimension for FSDP to shard across"
        return "`parallelism_config`: FSDP requires dp_shard or cp above 1", text
    return None


def indivisible(started: int, sequence: int) -> tuple[str, str] | None:
    """(message, exception) for the sequence-parallel groups of DeepSpeed (runtime/sequence_parallel/parallel_state_sp.py:31)."""
    if started < sequence:
        return (
            f"`parallelism_config`: sp is {sequence}, but there are {started} processes",
            f"RuntimeError: world_size ({started}) is less than sequence_parallel_size {sequence}",
        )
    if started % sequence:
        text = f"RuntimeError: world_size ({started}) is not divisible by sequence_parallel_size {sequence})"
        return f"`parallelism_config`: sp {sequence} does not divide {started} processes", text
    return None


@rule(
    "ACC017",
    "overridden-mixed-precision",
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
    old_names=("precision-overruled",),
)
def overridden_mixed_precision(config: AccelerateConfig) -> Iterator[Finding]:
    """The Trainer's `bf16` or `fp16` silently overrides the launcher's `mixed_precision`.

    The launcher passes its choice on as `ACCELERATE_MIXED_PRECISION`; the Trainer replaces it if one of its own
    keys is true.

    Fix: set the precision in one place.

    Source: transformers 5.23.0 training_args.py:1612-1618.
    """
    trainer = config.trainer
    if trainer is None or not config.precision_named or config.uses_deepspeed:
        return
    own = next((name for name in ("fp16", "bf16") if trainer.get(name)), None)
    if own and own != config.precision:
        setting = config.setting("mixed_precision")
        message = f"`mixed_precision` is {setting.spelled}, which the Trainer's `{own}` overrides"
        yield Finding(setting, message, related=(trainer.setting(own),), help="remove `mixed_precision`")
