"""Rules about values that accelerate's launcher passes on unchecked, and that fail in the program it starts."""

from __future__ import annotations

from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.accelerate.config import AccelerateConfig
from cfglint.frameworks.accelerate.rules import SAGEMAKER
from cfglint.frameworks.remedies import mistyped, replace
from cfglint.source.annotations import Iterator

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
