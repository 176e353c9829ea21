"""Rules about unknown keys, and blocks that are not used."""

from __future__ import annotations

from cfglint.evaluate import Reason
from cfglint.findings.diagnostic import INFO, unpinned
from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import OVERRIDE
from cfglint.findings.wording import listed, spelled
from cfglint.frameworks import is_added
from cfglint.frameworks.accelerate.config import AccelerateConfig
from cfglint.frameworks.accelerate.releases import HISTORY, KEYS_COMPARED, SAGEMAKER_FILE
from cfglint.frameworks.releases.versions import dotted
from cfglint.frameworks.remedies import move, rename
from cfglint.frameworks.validation.schema import load
from cfglint.source.annotations import Iterator

BLOCKS = {"deepspeed_config": ("DEEPSPEED",), "fsdp_config": ("FSDP",), "megatron_lm_config": ("MEGATRON_LM",)}
OLD_SPELLINGS = ("fp16", "dynamo_backend")  # converted while the file is loaded
PREFIXES = {"fsdp_config": "fsdp_"}  # the launcher adds this prefix to keys of a block that lack it


@rule("ACC001")
def launch_file_not_a_mapping(config: AccelerateConfig) -> Iterator[Finding]:
    if not config.load_problems and not isinstance(config.root, dict):
        kind = type(config.root).__name__
        text = "the file is empty" if config.root is None else f"the file is {spelled(config.root)}, not a mapping"
        yield Finding(config.setting(), text, exception=f"AttributeError: '{kind}' object has no attribute 'get'")


@rule("ACC002")
def unknown_launch_key(config: AccelerateConfig) -> Iterator[Finding]:
    known = {*HISTORY.fields("" if config.local else SAGEMAKER_FILE, config.version), *OLD_SPELLINGS}
    unknown = [key for key in config.values if key not in known and not is_added(key, config.facts.forks)]
    text = f"ValueError: The config file at {config.documents[0].path} had unknown keys ({sorted(map(str, unknown))})"
    if config.version < KEYS_COMPARED and unknown:
        name = "ClusterConfig" if config.local else "SageMakerConfig"
        text = f"TypeError: {name}.__init__() got an unexpected keyword argument '{unknown[0]}'"
    for key in unknown if "distributed_type" in config.values else ():
        setting, where, fix = config.setting(key), " (SageMaker config)", None
        doubts: tuple[Reason, ...] = ()
        if config.local:
            where = other_releases(config, key)
            doubts = (unpinned("accelerate"),) if where and not config.facts.is_known("accelerate") else ()
        paths = [candidate.path for candidate in load("accelerate").nearest((), key)] if isinstance(key, str) else []
        block = next((path for path in paths if len(path) == 2 and path[1] == key), None) if config.local else None
        meant = next((str(path[0]) for path in paths if len(path) == 1 and path[0] in known), "") if not where else ""
        hint = f"; did you mean `{meant}`?" if meant else ""
        if block is not None:
            hint = f"; move it into `{block[0]}`"
            fix = move(config, setting, block, f"move it into `{block[0]}`", safe=not doubts)
        elif meant and meant not in config.values:
            fix = rename(setting, meant, f"rename it to `{meant}`", safe=False)
        message, remedy = f"unknown key `{key}` is rejected by accelerate launch{where}{hint}", None if fix else remove_key(key)
        yield Finding(setting, message, exception=text, on_key=True, fix=fix, depends_on=doubts, help=remedy)


def other_releases(config: AccelerateConfig, key: object, section: str = "") -> str:
    """The releases that lack a key which other ones have, for a message."""
    spans = HISTORY.releases(section, key) if isinstance(key, str) else []
    if not spans:
        return ""
    since, until = (dotted(release).removesuffix(".0") for release in spans[-1])
    return f" before {since}" if config.version < spans[-1][0] else f" {until} and later"


@rule("ACC010")
def unused_block(config: AccelerateConfig) -> Iterator[Finding]:
    for name, types in BLOCKS.items():
        if config.section(name) and isinstance(config.distributed, str) and config.distributed not in types and config.local:
            message = f"`{name}` is ignored with `distributed_type: {config.distributed}`; it requires {listed(types)}"
            remedy = set_key("distributed_type", types[0]) | remove_key(name)
            yield Finding(config.setting(name), message, related=(config.setting("distributed_type"),), on_key=True, help=remedy)


@rule("ACC011")
def unknown_key_in_block(config: AccelerateConfig) -> Iterator[Finding]:
    for name in filter(config.release_has, ("deepspeed_config", "fsdp_config", "parallelism_config")):
        for key in config.section(name):
            if config.argument(str(key))[0] == name and config.release_has(str(key)):
                continue  # it takes the place of the key of the top level
            if isinstance(key, str) and not any(config.release_has(each, name) for each in (key, PREFIXES.get(name, "") + key)):
                setting = config.setting(name, key)
                where = other_releases(config, key, name)
                if where and setting.origin == OVERRIDE:
                    continue  # an option that the launcher does not have
                if where.startswith(" before"):
                    message = f"unknown key `{key}` in `{name}` is ignored by accelerate{where}"
                    yield Finding(setting, message, on_key=True, help=remove_key(f"{name}.{key}"))
                    continue
                near = [candidate for candidate in load("accelerate").nearest((name,), key) if candidate.path[:-1] == (name,)]
                meant = next((str(candidate.path[-1]) for candidate in near if config.release_has(str(candidate.path[-1]), name)), "")
                message = f"unknown key `{key}` in `{name}` is ignored" + (f"; did you mean `{meant}`?" if meant else "")
                new = meant if meant not in config.section(name) else ""
                fix = rename(setting, new, f"rename it to `{new}`", safe=False) if new else None
                is_left = setting.value == "auto"  # to the framework, which fills it in anyway
                yield Finding(setting, message, on_key=True, fix=fix, severity=INFO if is_left else None)
