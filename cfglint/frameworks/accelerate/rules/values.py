"""Rules about values that the launcher rejects, and the pages of its other checks, which are rows (`_rows.py`)."""

from __future__ import annotations

import re

from cfglint.evaluate import Unknown
from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import BY_CODE, Finding, pages_of_checks, rule
from cfglint.findings.wording import counted
from cfglint.frameworks.accelerate import KIND
from cfglint.frameworks.accelerate.checks import OF_ARGUMENTS, OF_LAUNCHER, PORTS
from cfglint.frameworks.accelerate.config import TPU, AccelerateConfig
from cfglint.frameworks.accelerate.releases import HISTORY, KEYS_COMPARED, REQUIRED, SAGEMAKER, spawning, types
from cfglint.frameworks.accelerate.rules.refused import finding, refused
from cfglint.frameworks.remedies import choice, mistyped, not_attribute, raised_by, replace
from cfglint.source.annotations import Iterator

COUNTS_OF_TORCHRUN = ("auto", "cpu", "gpu", "xpu")  # what it takes in place of a number
HOST = re.compile(r"[\w.:-]+$")  # torch 2.13 distributed/elastic/rendezvous/utils.py, parse_rendezvous_endpoint
NOT_JUDGED = frozenset("${}<>[")  # of placeholders, and of addresses in brackets
TYPE_IS_CHECKED = (0, 34)  # from here on with a message of its own; before, the class cannot be created
BLOCKS_COPIED = (1, 5)  # from here on a block that is not a mapping is skipped; 1.4.0 indexes it with each of its entries
INDEXED_BLOCKS = ("deepspeed_config", "fsdp_config", "megatron_lm_config", "dynamo_config", "ipex_config", "mpirun_config")


@rule("ACC003")
def invalid_distributed_type(config: AccelerateConfig) -> Iterator[Finding]:
    if not config.values:
        return
    if "distributed_type" not in config.values and not config.documents[0].is_command:
        text = "ValueError: A `distributed_type` must be specified in the config file."
        if config.version < TYPE_IS_CHECKED:
            text = "TypeError: ClusterConfig.__init__() missing 1 required positional argument: 'distributed_type'"
        remedy = "add `distributed_type: MULTI_GPU`, or the type that fits"
        yield Finding(config.setting("distributed_type"), "`distributed_type` is missing", exception=text, help=remedy)
    elif isinstance(config.distributed, str) and config.distributed not in (known := types(config.version)) and config.local:
        setting = config.setting("distributed_type")
        meant = config.distributed.upper().replace("-", "_")
        text = f"ValueError: {config.distributed!r} is not a valid DistributedType"
        fix = replace(setting, meant, f"write {meant}") if meant in known else None
        message = f"`distributed_type` is {setting.spelled}, which is not a valid choice"
        choices = None if fix else choice("distributed_type", config.distributed, known)
        yield Finding(setting, message, exception=text, fix=fix, help=choices)


@rule("ACC004")
def invalid_compute_environment(config: AccelerateConfig) -> Iterator[Finding]:
    if not config.local and config.get("compute_environment") != SAGEMAKER:
        setting = config.setting("compute_environment")
        text = f"ValueError: The config file at {config.documents[0].path} had unknown keys"
        if config.version < KEYS_COMPARED:
            text = "TypeError: SageMakerConfig.__init__() got an unexpected keyword argument"
        message = f"`compute_environment` is {setting.spelled}; it must be LOCAL_MACHINE or {SAGEMAKER}"
        yield Finding(setting, message, exception=text, help=set_key("compute_environment", "LOCAL_MACHINE"))


@rule("ACC018")
def invalid_launch_value_type(config: AccelerateConfig) -> Iterator[Finding]:
    if not config.local or not config.values or config.distributed in TPU:
        return
    line = config.facts.launch.line
    for refusal in config.refusals:
        if refusal.kind == OF_LAUNCHER:
            found = finding(config, refusal)
            if found.setting.value is None and line is not None and line.is_submitted:
                continue
            found.depends_on = config.rest if found.setting.value is None else ()  # a flag of the launch line may give it
            yield found
    for name in ("deepspeed_config",) if config.version >= BLOCKS_COPIED else filter(config.release_has, INDEXED_BLOCKS):
        block = config.values.get(name)
        if block is None or isinstance(block, dict):
            continue
        text = None
        if config.version < BLOCKS_COPIED:  # each entry of the value indexes the value (commands/launch.py:1024-1039 of accelerate 1.1.1)
            if not isinstance(block, (str, list)):
                text = f"TypeError: '{type(block).__name__}' object is not iterable"
            elif block:
                indexed = "string indices must be integers" if isinstance(block, str) else "list indices must be integers or slices"
                text = f"TypeError: {indexed}"
        if text is None and name == "deepspeed_config" and config.uses_deepspeed:
            text = not_attribute(block, "keys")
        if text is not None:
            yield mistyped(config.setting(name), "a mapping", text, remove_key(name) | "write a mapping")


COUNTS_PROCESSES = (0, 34)  # from here on a missing `num_processes` is added where the type is NO
NO_SAGEMAKER = (1, 11)  # from here on the launcher looks up `parallelism_config`, which a SageMaker config does not have


@rule("ACC022")
def mapping_for_use_cpu(config: AccelerateConfig) -> Iterator[Finding]:
    if isinstance(config.get("use_cpu"), dict) and config.local:
        yield Finding(config.setting("use_cpu"), "`use_cpu` is a mapping; it must be true or false", help="set `use_cpu` to true or false")


@rule("ACC023")
def sagemaker_not_launched(config: AccelerateConfig) -> Iterator[Finding]:
    if config.get("compute_environment") != SAGEMAKER:
        return
    if config.distributed == "NO" and config.version >= COUNTS_PROCESSES and "num_processes" not in config.values:
        path = config.documents[0].path
        message = f"`distributed_type: NO` makes {config.release} add `num_processes`, which a SageMaker config does not have"
        text = f"ValueError: The config file at {path} had unknown keys (['num_processes'])"
        remedy = "use accelerate 0.33 or older to launch on SageMaker"
        yield Finding(config.setting("distributed_type"), message, exception=text, fails_at="load", help=remedy)
    elif config.version >= NO_SAGEMAKER:
        message = f"`compute_environment` is {SAGEMAKER}, which {config.release} cannot launch"
        remedy = "use accelerate 1.10 or older to launch on SageMaker"
        yield Finding(config.setting("compute_environment"), message, depends_on=config.rest, help=remedy)


@rule("ACC025")
def num_processes_not_a_number(config: AccelerateConfig) -> Iterator[Finding]:
    value, machines = config.processes, config.machines
    if not config.spawns or not config.local or config.is_filtered:
        return
    passed, text = None if isinstance(value, dict) else value, ""  # a mapping is no argument of the launcher
    is_divided = isinstance(passed, (int, float)) and isinstance(machines, (int, float))
    if isinstance(passed, (int, float)) and isinstance(machines, (int, float)) and machines > 1:
        passed //= machines
    if config.is_run_by_deepspeed:
        if not is_divided and isinstance(machines, int):
            text = f"TypeError: unsupported operand type(s) for //: {type(passed).__name__!r} and {type(machines).__name__!r}"
    elif (machines == 1 or is_divided) and str(passed) not in COUNTS_OF_TORCHRUN and raised_by(int, str(passed)):
        text = f"ValueError: Unsupported nproc_per_node value: {passed}"
    if text:
        found = mistyped(config.setting(*config.argument("num_processes")), "an integer", text, "set `num_processes` to the number of GPUs")
        found.depends_on = config.rest if value is None else ()  # a flag of the launch line may give it
        yield found


PORT_FILLED = (1, 7)  # from here on a missing port is the one that accelerate itself takes (utils/launch.py, prepare_multi_gpu_env)
FIRST_PORT = 29500


@rule("ACC029")
def invalid_rendezvous_endpoint(config: AccelerateConfig) -> Iterator[Finding]:
    if not config.spawns or not config.local or config.machines == 1 or config.is_run_by_deepspeed or not config.per_machine:
        return
    if ("same_network",) in config.overridden and config.get("rdzv_backend", default="static") != "static":
        return  # the launcher passes no endpoint; only the flag counts, whose default hides what the file says
    address, port = (config.get(f"main_process_{part}") for part in ("ip", "port"))
    if isinstance(address, Unknown) or isinstance(port, Unknown):
        return
    if port is None and config.version >= PORT_FILLED:
        port = FIRST_PORT
    if not HOST.match(str(address)) and NOT_JUDGED.isdisjoint(str(address)):
        text = f"ValueError: The hostname of the rendezvous endpoint '{address}:{port}' must be a dot-separated list of labels"
        setting = config.setting("main_process_ip")
        yield Finding(
            setting,
            f"`main_process_ip` is {setting.spelled}, not an address",
            exception=text,
            help="write the address of the first machine",
        )
    elif port is not None and config.get("machine_rank", default=0) == 0:
        return  # the first machine asks the port itself before (ACC021)
    elif not re.fullmatch("[0-9]+", str(port)) or int(port) not in PORTS:
        text = f"ValueError: The port number of the rendezvous endpoint '{address}:{port}' must be an integer between 0 and {len(PORTS)}."
        message = f"{counted(config.machines, 'machine')} need `main_process_port`, the port of the first one"
        doubts = config.rest if port is None else ()  # a flag of the launch line may give it
        place = config.setting("main_process_port") if config.has("main_process_port") else config.absent("main_process_port")
        yield Finding(place, message, exception=text, depends_on=doubts, help=set_key("main_process_port", FIRST_PORT))


@rule("ACC026")
def fewer_gpus_than_processes(config: AccelerateConfig) -> Iterator[Finding]:
    value, each = config.get("gpu_ids"), config.per_machine
    if not isinstance(value, str) or value == "all" or not config.spawns or not config.local or each is None:
        return
    named = len([part for part in value.split(",") if part.strip()])
    if (0 if config.documents[0].is_command else 1) < named < each:
        setting = config.setting("gpu_ids")
        message = f"`gpu_ids` names {named} GPUs, but `num_processes` starts {each}"
        note = "one process has no GPU of its own" if named + 1 == each else f"{each - named} processes have no GPU of their own"
        remedy = set_key("num_processes", named * config.processes // each) | set_key("gpu_ids", "all")
        yield Finding(setting, message, related=(config.setting("num_processes"),), note=note, help=remedy)


@rule("ACC017")
def overridden_mixed_precision(config: AccelerateConfig) -> Iterator[Finding]:
    trainer = config.trainer
    if trainer is None or not config.precision_named or config.uses_deepspeed:
        return
    own = next((name for name in ("fp16", "bf16") if trainer.get(name)), None)
    if own and own != config.precision:
        setting = config.setting("mixed_precision")
        message = f"`mixed_precision` is {setting.spelled}, which the Trainer's `{own}` overrides"
        yield Finding(setting, message, related=(trainer.setting(own),), help=remove_key("mixed_precision"))


ONE_ON = (1, 15)  # from here on the message has a word once that stood there twice


@rule("ACC005")
def missing_num_processes(config: AccelerateConfig) -> Iterator[Finding]:
    is_read = config.facts.launch.line is not None and not config.rest  # LCH008
    if not config.values or not config.local or "distributed_type" not in config.values or is_read:
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
    if config.spawns and config.local and config.per_machine == 0 and not config.is_run_by_deepspeed:  # which starts all GPUs for 0
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
        message = f"`gpu_ids` is {setting.spelled}, not a string"
        yield Finding(setting, message, exception=text, help=set_key("gpu_ids", str(value), ", with quotes"))
    elif value == "all" or "," in value or config.documents[0].is_command:
        return  # the launcher counts them only where it reads a file
    elif config.distributed in spawning(config.version) and config.machines == 1:
        words = "on" if config.version >= ONE_ON else "on on"
        text = f"ValueError: Less than two GPU ids were configured and tried to run {words} multiple GPUs."
        message = f"`gpu_ids` names one GPU, but `distributed_type: {config.distributed}` requires at least two"
        yield Finding(setting, message, exception=text, help=set_key("gpu_ids", "all") | "list the GPUs")


@rule("ACC015")
def process_count_mismatch(config: AccelerateConfig) -> Iterator[Finding]:
    gpus = config.facts.gpus
    if starts_one_of_many(config) or config.facts.launch.sets_rank is False:  # its one process has all of them
        return
    if gpus is not None and config.started is not None and config.started != gpus and "num_processes" in config.values:
        setting = config.setting("num_processes")
        started = "" if config.started == setting.value else f" (starts {config.started})"
        message = f"`num_processes` is {setting.spelled}{started}, but {config.facts.gpus_source} is {gpus}"
        remedy = set_key("num_processes", gpus) | "pass --num_processes to accelerate launch"
        yield Finding(setting, message, note=f"accelerate launch starts {counted(config.started, 'process')}", help=remedy)


for page in sorted({*pages_of_checks(KIND), *OF_ARGUMENTS.values()} - BY_CODE.keys()):  # the others have a function for what is no row
    rule(page)(lambda config, code=page: refused(config, code))
