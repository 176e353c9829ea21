"""Findings about what the launcher and the plugins refuse."""

from __future__ import annotations

import re

from cfglint.evaluate import Reason
from cfglint.findings.remedy import set_key, set_one
from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import OVERRIDE
from cfglint.frameworks.accelerate.checks import FILE_AND_KEYS, OF_ARGUMENTS, OF_PLUGINS, WITHOUT_SIZE
from cfglint.frameworks.accelerate.config import AccelerateConfig
from cfglint.frameworks.refusal import Refusal
from cfglint.frameworks.remedies import remove, replace
from cfglint.source.annotations import Iterator

PROGRAM = Reason("program", "the `Accelerator` that the program makes")
SECTIONS = {"fsdp_config": "fsdp", "deepspeed_config": "deepspeed"}  # block -> the key of a Trainer that takes its place


def refused(config: AccelerateConfig, page: str) -> Iterator[Finding]:
    for refusal in config.refusals:
        if refusal.kind == page:
            yield from file_and_keys(config, refusal) if page == FILE_AND_KEYS else [finding(config, refusal)]


def finding(config: AccelerateConfig, refusal: Refusal) -> Finding:
    first, *others = (config.setting(*path) for path in refusal.paths)
    key, fix, remedy, trainer = first.path[-1], None, refusal.help_for(config.values), config.trainer
    if refusal.kind in OF_ARGUMENTS.values() and first.value is False:
        refusal.message = f"`{key}` is {first.spelled}, which is the boolean false in YAML, not a string"
        fix = replace(first, "no", "quote it", safe=True)
    elif "invalid truth value" in refusal.exception:
        refusal.message, remedy = f"`{key}` is {first.spelled}, not a boolean", set_one(first.name, ("true", "false"))
    own = SECTIONS.get(str(first.path[0]))
    makes_plugin = trainer is not None and not (own and trainer.get(own))  # a Trainer is in the run that makes the plugin of the file
    related, doubts = [other for other in others if other.written], () if refusal.kind != OF_PLUGINS or makes_plugin else (PROGRAM,)
    found = Finding(first, refusal.message, related, exception=refusal.exception, fails_at=refusal.fails_at, depends_on=doubts, fix=fix)
    found.help = None if fix else remedy
    return found


def file_and_keys(config: AccelerateConfig, refusal: Refusal) -> Iterator[Finding]:
    """The findings about keys that have to be in the DeepSpeed file."""
    section, names, file = config.section("deepspeed_config"), re.findall(r"'(\w+)'", refusal.exception.partition("\n")[0]), None
    settings = [config.setting("deepspeed_config", name) for name in section if name in names]
    settings = [setting for setting in settings if setting.origin != OVERRIDE]  # the launcher compares the file alone
    if config.precision_named and ("mixed_precision",) not in config.overridden:
        settings.append(config.setting("mixed_precision" if config.get("mixed_precision") is not None else "fp16"))
    if section.get("deepspeed_config_file") not in (None, "none"):
        file = config.setting("deepspeed_config", "deepspeed_config_file")
    elif config.trainer is not None and config.trainer.get("deepspeed"):
        file = config.trainer.setting("deepspeed")
    for setting in settings:
        message = f"`{setting.path[-1]}` must be set in the DeepSpeed config file, and not here as well"
        fix = remove(setting, f"remove `{setting.path[-1]}`", safe=False)
        yield Finding(setting, message, related=(file,) if file else (), exception=refusal.exception, on_key=True, fix=fix)


@rule(WITHOUT_SIZE)
def size_based_wrap_without_size(config: AccelerateConfig) -> Iterator[Finding]:
    for refusal in config.refusals:
        if refusal.kind == WITHOUT_SIZE:
            text = "`SIZE_BASED_WRAP` requires `fsdp_min_num_params`"
            setting = config.setting(*refusal.paths[0])
            yield Finding(setting, text, exception=refusal.exception, help=set_key("fsdp_config.fsdp_min_num_params", 100000000))
