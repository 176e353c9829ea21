"""Rules about values that accelerate's launcher passes on unchecked, and that fail in the program it starts."""

from __future__ import annotations

from cfglint.findings.remedy import set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import spelled
from cfglint.frameworks.accelerate.config import AccelerateConfig
from cfglint.frameworks.accelerate.rules import SAGEMAKER
from cfglint.frameworks.remedies import choice, mistyped, replace
from cfglint.source.annotations import Iterator

WRAP_POLICIES = ("TRANSFORMER_BASED_WRAP", "SIZE_BASED_WRAP", "NO_WRAP")
ANY_CASE = (0, 34)  # before, the name of a policy is compared as it is written (utils/dataclasses.py)
INTEGER_SIZE = (1, 13)  # the default of `fsdp_min_num_params` is an integer from here on
COUNTS_PROCESSES = (0, 34)  # from here on a missing `num_processes` is added where the type is NO
NO_SAGEMAKER = (1, 11)  # from here on the launcher looks up `parallelism_config`, which a SageMaker config does not have


@rule("ACC021")
def string_for_port(config: AccelerateConfig) -> Iterator[Finding]:
    value = config.get("main_process_port")
    if not isinstance(value, str) or not config.local or not config.spawns:
        return
    setting = config.setting("main_process_port")
    fix = replace(setting, int(value), "remove the quotes", safe=True) if value.isdecimal() and len(value) < 6 else None
    yield Finding(setting, f"`main_process_port` is the string {setting.spelled}, not an integer", fix=fix)


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


@rule("ACC024")
def invalid_wrap_policy(config: AccelerateConfig) -> Iterator[Finding]:
    if config.distributed != "FSDP" or not config.local:
        return
    section = config.section("fsdp_config")
    key = next((name for name in ("fsdp_auto_wrap_policy", "auto_wrap_policy") if name in section), None)
    value = section.get(key) if key else None
    if key and value is not None and str(value).upper() not in WRAP_POLICIES:
        text = f"ValueError: Invalid auto wrap policy: {value}. Must be one of {[*WRAP_POLICIES]}"
        message = f"`{key}` is {spelled(value)}; it must be one of {', '.join(WRAP_POLICIES)}"
        yield Finding(config.setting("fsdp_config", key), message, exception=text, help=choice(f"fsdp_config.{key}", value, WRAP_POLICIES))


@rule("ACC025")
def num_processes_not_a_number(config: AccelerateConfig) -> Iterator[Finding]:
    value = config.processes
    if isinstance(value, (dict, list)) and config.spawns and config.local and config.machines == 1:
        shown = None if isinstance(value, dict) else value
        text = f"ValueError: Unsupported nproc_per_node value: {shown}"
        yield mistyped(config.setting("num_processes"), "a number", text, "set `num_processes` to the number of GPUs")


@rule("ACC026")
def fewer_gpus_than_processes(config: AccelerateConfig) -> Iterator[Finding]:
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
            help=set_key("num_processes", named * config.processes // each) | set_key("gpu_ids", "all"),
        )


@rule("ACC027")
def size_based_wrap_without_size(config: AccelerateConfig) -> Iterator[Finding]:
    section = config.section("fsdp_config")
    policy = section.get("fsdp_auto_wrap_policy")
    if config.distributed != "FSDP" or not config.local or config.version >= INTEGER_SIZE or not isinstance(policy, str):
        return
    name = policy.upper() if config.version >= ANY_CASE else policy
    if name == "SIZE_BASED_WRAP" and not {"fsdp_min_num_params", "min_num_params"} & set(section):
        yield Finding(
            config.setting("fsdp_config", "fsdp_auto_wrap_policy"),
            "`SIZE_BASED_WRAP` requires `fsdp_min_num_params`",
            help=set_key("fsdp_config.fsdp_min_num_params", 100000000),
        )
