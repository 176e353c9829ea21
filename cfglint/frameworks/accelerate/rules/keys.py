"""Rules about unknown keys, and blocks that are not used."""

from __future__ import annotations

from cfglint.evaluate import Reason
from cfglint.findings.diagnostic import INFO, unpinned
from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import listed, spelled
from cfglint.frameworks import is_added
from cfglint.frameworks.accelerate.config import AccelerateConfig
from cfglint.frameworks.accelerate.releases import HISTORY, SAGEMAKER_FILE
from cfglint.frameworks.accelerate.rules import KEYS_COMPARED
from cfglint.frameworks.releases.versions import Version, dotted
from cfglint.frameworks.remedies import move, rename
from cfglint.source.annotations import Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.frameworks.validation.schema import Schema

BLOCKS = {"deepspeed_config": ("DEEPSPEED",), "fsdp_config": ("FSDP",), "megatron_lm_config": ("MEGATRON_LM",)}
OLD_SPELLINGS = ("fp16", "dynamo_backend")  # converted while the file is loaded
PREFIXES = {"fsdp_config": "fsdp_"}  # the launcher adds this prefix to keys of a block that lack it


def schema() -> Schema:
    from cfglint.frameworks.validation.schema import load

    return load("accelerate")


@rule("ACC001")
def launch_file_not_a_mapping(config: AccelerateConfig) -> Iterator[Finding]:
    if not config.load_problems and not isinstance(config.root, dict):
        kind = type(config.root).__name__
        text = "the file is empty" if config.root is None else f"the file is {spelled(config.root)}, not a mapping"
        yield Finding(config.setting(), text, exception=f"AttributeError: '{kind}' object has no attribute 'get'")


@rule("ACC002")
def unknown_launch_key(config: AccelerateConfig) -> Iterator[Finding]:
    if not config.values or "distributed_type" not in config.values:
        return
    known = {*HISTORY.fields("" if config.local else SAGEMAKER_FILE, config.version), *OLD_SPELLINGS}
    unknown = [key for key in config.values if key not in known and not is_added(key, config.facts.forks)]
    for key in unknown:
        setting = config.setting(key)
        candidates = schema().nearest((), key) if isinstance(key, str) else []
        near = [candidate for candidate in candidates if len(candidate.path) == 1 and candidate.path[0] in known]
        block = (
            next((candidate.path for candidate in candidates if len(candidate.path) == 2 and candidate.path[1] == key), None)
            if config.local
            else None
        )
        meant = str(near[0].path[-1]) if near else ""
        text = f"ValueError: The config file at {config.documents[0].path} had unknown keys ({sorted(map(str, unknown))})"
        if config.version < KEYS_COMPARED:
            name = "ClusterConfig" if config.local else "SageMakerConfig"
            text = f"TypeError: {name}.__init__() got an unexpected keyword argument '{unknown[0]}'"
        where = " (SageMaker config)" if not config.local else other_releases(config, key)
        hint = f"; did you mean `{meant}`?" if meant and not where else ""
        if block is not None:
            hint = f"; move it into `{block[0]}`"
        message = f"unknown key `{key}` is rejected by accelerate launch{where}{hint}"
        fix = rename(setting, meant, f"rename it to `{meant}`", safe=False) if meant and not where and meant not in config.values else None
        if block is not None:
            fix = move(config, setting, block, f"move it into `{block[0]}`", safe=not release_of(config, key))
        remedy = None if fix else remove_key(key)
        yield Finding(setting, message, exception=text, on_key=True, fix=fix, depends_on=release_of(config, key), help=remedy)


def other_releases(config: AccelerateConfig, key: object, section: str = "") -> str:
    spans = HISTORY.releases(section, key) if isinstance(key, str) else []
    if not spans:
        return ""
    since, until = spans[-1]
    return f" before {short(since)}" if config.version < since else f" {short(until)} and later"


def short(release: Version) -> str:
    return dotted(release).removesuffix(".0")


def release_of(config: AccelerateConfig, key: object) -> tuple[Reason, ...]:
    return (unpinned("accelerate"),) if other_releases(config, key) and not config.facts.is_known("accelerate") and config.local else ()


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
            if isinstance(key, str) and not any(config.release_has(each, name) for each in (key, PREFIXES.get(name, "") + key)):
                setting = config.setting(name, key)
                where = other_releases(config, key, name)
                if where.startswith(" before"):
                    message = f"unknown key `{key}` in `{name}` is ignored by accelerate{where}"
                    yield Finding(setting, message, on_key=True, help=remove_key(f"{name}.{key}"))
                    continue
                near = [candidate for candidate in schema().nearest((name,), key) if candidate.path[:-1] == (name,)]
                meant = next((str(candidate.path[-1]) for candidate in near if config.release_has(str(candidate.path[-1]), name)), "")
                message = f"unknown key `{key}` in `{name}` is ignored" + (f"; did you mean `{meant}`?" if meant else "")
                new = meant if meant not in config.section(name) else ""
                fix = rename(setting, new, f"rename it to `{new}`", safe=False) if new else None
                is_left = setting.value == "auto"  # to the framework, which fills it in anyway
                yield Finding(setting, message, on_key=True, fix=fix, severity=INFO if is_left else None)
