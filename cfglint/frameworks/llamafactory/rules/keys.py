"""Rules about keys that none of LLaMA-Factory's dataclasses has."""

from __future__ import annotations

from cfglint.evaluate import Reason
from cfglint.findings.diagnostic import WARNING, Fix
from cfglint.findings.remedy import remove_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import counted
from cfglint.frameworks import is_added
from cfglint.frameworks.base import FORK_KEYS
from cfglint.frameworks.huggingface.fields import FIELDS as TRAINER_FIELDS
from cfglint.frameworks.huggingface.rules.keys import near_fields, replacement
from cfglint.frameworks.llamafactory.config import LlamaFactoryConfig
from cfglint.frameworks.llamafactory.releases import ARGUMENTS, HISTORY, arguments, ever, removed_in
from cfglint.frameworks.releases.versions import dotted
from cfglint.frameworks.remedies import rename
from cfglint.launch.launchers.llamafactory import is_switched_on
from cfglint.source.annotations import ConfigValue, Iterator, Operand

# Arguments of Megatron-core, which the environment variable USE_MCA adds.
MEGATRON = frozenset(
    """
    tensor_model_parallel_size pipeline_model_parallel_size virtual_pipeline_model_parallel_size expert_model_parallel_size
    context_parallel_size sequence_parallel use_distributed_optimizer bias_activation_fusion apply_rope_fusion overlap_grad_reduce
    overlap_param_gather moe_grouped_gemm moe_token_dispatcher_type recompute_granularity
    """.split()
)


EXTRA, EXTRA_SINCE = "ALLOW_EXTRA_ARGS", (0, 9, 2)  # hparams/parser.py (_parse_train_args)
OVERRIDES = (0, 9, 3)  # before, a file stands alone: `len(sys.argv) == 2` (0.9.2 hparams/parser.py, read_args)


@rule("LLF001")
def unknown_llamafactory_key(config: LlamaFactoryConfig) -> Iterator[Finding]:
    unknown = beyond_checkout([key for key in config.values if not known(key, config)], config)
    listed = [key for key in unknown if key not in MEGATRON]
    megatron = len(MEGATRON.intersection(unknown)) >= 2  # with this many Megatron keys a file is assumed to be for USE_MCA
    foreign = [key for key in unknown if key not in TRAINER_FIELDS and key not in MEGATRON and not ever(key)]
    if not (config.facts.kind_given or config.facts.complete or megatron) and len(foreign) >= FORK_KEYS:
        named = ", ".join(f"`{key}`" for key in foreign[:FORK_KEYS])
        more = ", ..." if len(foreign) > FORK_KEYS else ""
        message = (
            f"{len(foreign)} keys are unknown to LLaMA-Factory {dotted(config.own_version)} ({named}{more}): the file may be written "
            "for a fork"
        )
        yield Finding(config.setting(foreign[0]), message, depends_on=config.fork, on_key=True)
        unknown = [key for key in unknown if key not in foreign]
    of_megatron = [key for key in unknown if key in MEGATRON]
    if of_megatron:
        others = len(of_megatron) - 1
        subject = f" and {counted(others, 'other key')} of Megatron-core need" if others else " of Megatron-core needs"
        message = f"`{of_megatron[0]}`{subject} the environment variable USE_MCA=1"
        depends_on = (Reason("environment", "the variable USE_MCA"),)
        yield Finding(config.setting(of_megatron[0]), message, depends_on=depends_on, on_key=True)
        unknown = [key for key in unknown if not megatron and key not in MEGATRON]
    ignores = ignores_unknown(config)
    try:
        exception = f"ValueError: Some keys are not used by the HfArgumentParser: {sorted(listed)}"
    except TypeError:  # the parser sorts them for its message, too
        types = sorted({type(key).__name__ for key in listed})
        exception = f"TypeError: '<' not supported between instances of '{types[0]}' and '{types[1]}'"
    for key in unknown:
        setting = config.setting(key)
        if ignores:
            text = f"unknown key `{key}` has no effect: {EXTRA} lets LLaMA-Factory ignore it"
            yield Finding(setting, text, on_key=True, severity=WARNING, help=remove_key(key))
            continue
        removed = removal(key, config)
        if removed is not None:
            remedy = None if removed[1] else remove_key(key)
            yield Finding(setting, removed[0], exception=exception, fix=removed[1], on_key=True, help=remedy)
            continue
        near = nearest(key, config) if isinstance(key, str) and not config.without_remedies else None
        message = f"unknown key `{key}` is not accepted by LLaMA-Factory" + (f"; did you mean `{near}`?" if near else "")
        fix = rename(setting, near, f"rename to {near}", safe=False) if near else None
        yield Finding(setting, message, exception=exception, fix=fix, on_key=True, help=None if near else remove_key(key))


def beyond_checkout(keys: list[ConfigValue], config: LlamaFactoryConfig) -> list[Operand]:
    """The keys that the checkout of the file does not have either."""
    if not keys:
        return []
    from cfglint.frameworks.llamafactory.checkout import checkout_of

    checkout = checkout_of(config.documents[0].path)
    return keys if checkout is None else [key for key in keys if key not in checkout.fields]


def unknown_keys(config: LlamaFactoryConfig) -> list[str]:
    """The keys that no dataclass has, including those of the checkout; keys of Megatron-core and of older releases do not count."""
    unknown = [key for key in config.values if not known(key, config) and removal(key, config) is None]
    return [key for key in beyond_checkout(unknown, config) if isinstance(key, str) and key not in MEGATRON]


def known(key: object, config: LlamaFactoryConfig) -> bool:
    """Whether one of the five dataclasses has a field of this name, or a fork of transformers that the project states."""
    if is_added(key, config.facts.forks):
        return True
    return isinstance(key, str) and (key in arguments(config.own_version) or key in config.arguments.defaults)


def removal(key: object, config: LlamaFactoryConfig) -> tuple[str, Fix | None] | None:
    """(message, fix) for a field that another release of LLaMA-Factory or an older one of transformers has; None for another key."""
    gone, coming = removed_in(key, config.own_version), HISTORY.since(ARGUMENTS, key) if isinstance(key, str) else None
    if gone:
        return f"`{key}` was removed in LLaMA-Factory {dotted(gone)}", None
    if coming and coming > config.own_version:
        return f"`{key}` requires LLaMA-Factory {dotted(coming)}, but the release is {dotted(config.own_version)}", None
    if key not in TRAINER_FIELDS or not TRAINER_FIELDS[key][3]:
        return None

    successor, fix = replacement(key, config)
    return f"`{key}` was removed in transformers {dotted(TRAINER_FIELDS[key][3])}" + (f"; use {successor}" if successor else ""), fix


def nearest(key: str, config: LlamaFactoryConfig) -> str | None:
    """The field, not set by the file, that a misspelt key resembles."""
    fields = {**arguments(config.own_version), **config.arguments.defaults}
    return next((name for name in near_fields(key, fields, 2) if name not in config.values), None)


def ignores_unknown(config: LlamaFactoryConfig) -> bool:
    line = config.facts.launch.line
    return line is not None and config.own_version >= EXTRA_SINCE and is_switched_on(line.call.environment.get(EXTRA))


@rule("LLF003")
def word_beside_config(config: LlamaFactoryConfig) -> Iterator[Finding]:
    line, command, release = config.facts.launch.line, config.facts.launch.command, config.own_version
    if line is None or command is None or not command.assignments:
        return
    words = [word.value for word in line.arguments[1:] if word.value is not None]
    assigned = [word for word in words if "=" in word and not word.startswith("--")]
    refused = [word for word in words if word not in assigned] if release >= OVERRIDES else words
    word = next((word for word in refused if word.startswith("--") or word in assigned), None)
    if word is None or (release >= OVERRIDES and ignores_unknown(config)):
        return
    name, mark, value = word.partition("=")
    key = name.removeprefix("--").replace("-", "_")
    if release >= OVERRIDES:
        following = next(iter(refused[refused.index(word) + 1 :]), "--")
        value = value if mark else "VALUE" if following.startswith("--") else following
        message, remedy = f"`{name}` is an option beside a config file, where LLaMA-Factory takes `key=value`", f"write `{key}={value}`"
        raised = f"keys are not used by the HfArgumentParser: {sorted(word.partition('=')[0] for word in refused)}"
    else:
        message = f"`{word}` stands beside a config file, which LLaMA-Factory {dotted(release)} reads alone"
        remedy = f"set `{key}` in the file"
        raised = f"specified arguments are not used by the HfArgumentParser: {[line.arguments[0].string, *assigned]}"
    yield Finding(config.setting(key), message, exception=f"ValueError: Some {raised}", help=remedy, on_key=True)
