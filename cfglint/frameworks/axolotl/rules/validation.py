"""Rules about what pydantic and axolotl's own checks refuse, and about the keys that no model has.

The checks are rows (`_rows.py`), a few are in `by_hand.py`; the pages name the checks that they speak of.
"""

from __future__ import annotations

import functools

from cfglint.findings.remedy import remove_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import Setting
from cfglint.frameworks.axolotl.config import AxolotlConfig
from cfglint.frameworks.axolotl.plugins import CLASSES
from cfglint.frameworks.axolotl.refusals import DATA, FSDP, MODEL, REMOVED, REMOVED_KEYS, STREAMING
from cfglint.frameworks.axolotl.releases import HISTORY, PLUGIN, PLUGIN_SECTIONS, TOP
from cfglint.frameworks.axolotl.rules.no_effect import RENAMED
from cfglint.frameworks.base import FORK_KEYS
from cfglint.frameworks.releases.versions import Version, dotted
from cfglint.frameworks.validation.pydantic import MISSING
from cfglint.source.annotations import Iterator
from cfglint.source.similar_keys import Spelling, spelled

# Names in other releases and common mistakes -> the current name.
OTHERS = {
    "max_seq_length": "sequence_len",
    "num_train_epochs": "num_epochs",
    "per_device_train_batch_size": "micro_batch_size",
    "per_device_eval_batch_size": "eval_batch_size",
    "lr_scheduler_type": "lr_scheduler",
    "optim": "optimizer",
    "lora_rank": "lora_r",
    "train_on_split": "split",
    "run_name": "wandb_name",
    "report_to": "use_wandb",
    "use_cce": "cut_cross_entropy",
    "adam_eps": "adam_epsilon",
    "attention": "attn_implementation",
    "attn_impl": "attn_implementation",
}
# Keys that axolotl's checks use although no model has them.
READ_ELSEWHERE = frozenset(("fsdp", "inference", "world_size", "relora_steps", "pretrain_multipack_buffer_size"))
SIMILAR = 0.85  # share of equal characters
NEEDS_KEYS = ((DATA, "datasets"), (STREAMING, "max_steps"))  # keys that the launch line may supply if the file is not the complete run


@rule("AXL001")
def axolotl_not_a_mapping(config: AxolotlConfig) -> Iterator[Finding]:
    if config.readable and not isinstance(config.root, dict | None):
        exception = "ValueError: not enough values to unpack (expected 2, got 1)"
        yield Finding(config.place(()), "the file is not a mapping of keys to values", exception=exception)


@rule("AXL002")
def axolotl_field_value(config: AxolotlConfig) -> Iterator[Finding]:
    for fault in config.validation.faults:
        if fault.kind == MISSING:
            continue
        setting = config.place(fault.path)
        help_text = None
        if isinstance(setting.value, bool) and "a string" in fault.needed:
            word = setting.node.raw if setting.node is not None else ""
            help_text = remove_key(setting.name) if word.lower() in ("true", "false") else f'quote it: `"{word}"`'
        if fault.path == ("warmup_steps",) and isinstance(setting.value, float) and 0 < setting.value < 1:
            help_text = f"replace it with `warmup_ratio: {setting.value}`, a fraction of the steps"
        fault.title = MODEL
        yield Finding(setting, fault.explained(setting, setting.name), exception=fault.exception, help=help_text)


@rule("AXL003")
def axolotl_missing_key(config: AxolotlConfig) -> Iterator[Finding]:
    for fault in config.validation.faults:
        if fault.kind == MISSING:
            name = ".".join(map(str, fault.path))
            message = f"`{name}` is missing; it is required"
            exception = f"ValidationError: 1 validation error for {MODEL}: {name}: Field required"
            yield Finding(config.place(fault.path), message, exception=exception, help=f"add `{name}`", depends_on=config.rest)


@rule("AXL004")
def axolotl_plugin_not_found(config: AxolotlConfig) -> Iterator[Finding]:
    for plugin in config.validation.plugins:
        if plugin.problem:
            listed = isinstance(config.get("plugins"), list)
            setting = config.place(("plugins", plugin.index) if listed else ("plugins",))
            message = (
                f"`plugins` names {setting.value}, which axolotl {config.axolotl_text} does not have"
                if listed
                else "`plugins` is not a list"
            )
            remedy = "remove it, or install the release that has it" if listed else "write a list"
            yield Finding(setting, message, exception=plugin.problem, depends_on=config.outside(config.package), help=remedy)


@rule("AXL005")
def axolotl_unknown_key(config: AxolotlConfig) -> Iterator[Finding]:
    refused = [path for refusal in config.validation.refusals for path in refusal.paths]
    unknown: list[tuple[Setting, str | None]] = []  # the written keys that no model has, each with a suggestion
    for path in config.validation.dropped:
        is_left = isinstance(path[-1], str) and (len(path) > 1 or not (config.validation.foreign or path[-1] in READ_ELSEWHERE))
        if is_left and tuple(map(str, path)) not in refused:
            setting = config.place(path)
            unknown += [(setting, None)] if setting.written and setting.value is not None else []
    if not config.without_remedies or len(unknown) >= FORK_KEYS:  # the suggestions decide which of them are reported as one
        unknown = [(setting, suggestion(config, setting.path, str(setting.path[-1]))) for setting, _ in unknown]
    unexplained = [setting for setting, help_text in unknown if help_text is None and len(setting.path) == 1]
    if not (config.facts.kind_given or config.facts.complete) and len(unexplained) >= FORK_KEYS:
        names = [f"`{setting.path[0]}`" for setting in unexplained]
        named = ", ".join(names[:FORK_KEYS]) + (", ..." if len(names) > FORK_KEYS else "")
        ignored = f"{len(names)} unknown keys are ignored by axolotl {config.axolotl_text} ({named})"
        message = f"{ignored}: the file may be written for a fork or another release"
        yield Finding(unexplained[0], message, on_key=True)
        unknown = [each for each in unknown if each[0] not in unexplained]
    for setting, help_text in unknown:
        where = f" in `{'.'.join(map(str, setting.path[:-1]))}`" if len(setting.path) > 1 else ""
        words = f"unknown key `{setting.path[-1]}`{where} is ignored by axolotl{other_releases(config, setting.path)}"
        yield Finding(setting, words, on_key=True, help=help_text or remove_key(setting.name))


def other_releases(config: AxolotlConfig, path: tuple[str | int, ...]) -> str:
    """Which releases have a key that the asked one lacks, for a message; empty for a key of none, and in nested mappings."""
    spans = HISTORY.releases(TOP, str(path[0])) if len(path) == 1 else []
    earlier = [until for _, until in spans if until and until <= config.own_version]
    later = [since for since, _ in spans if since > config.own_version]
    if not earlier and not later:
        return ""
    text = f"it requires axolotl {dotted(later[0])}" if later else f"it was removed in {dotted(earlier[-1])}"
    return f" {config.axolotl_text}: {text}"


def suggestion(config: AxolotlConfig, path: tuple[str | int, ...], key: str) -> str | None:
    """The suggestion for an unknown key: a similar key, or the plugin that defines it, if the file does not load it."""
    near, release, loaded = OTHERS.get(key) or closest(config, path), config.own_version, config.get("plugins")
    name = near or key
    sections = PLUGIN_SECTIONS if len(path) == 1 and name not in HISTORY.fields(TOP, release) else ()
    folder = next((section.removeprefix(PLUGIN) for section in sections if name in HISTORY.fields(section, release)), "")
    plugin = f"axolotl.integrations.{folder}.{CLASSES[folder][0]}" if folder else ""
    if not plugin or (isinstance(loaded, list) and plugin in loaded):
        return f"did you mean `{near}`?" if near else None
    return f"did you mean `{near}`? It needs the plugin {plugin} in `plugins`" if near else f"add the plugin {plugin} to `plugins`"


def closest(config: AxolotlConfig, path: tuple[str | int, ...]) -> str:
    key = str(path[-1])
    alike = [name for name in similar_names(key) if name != key and name not in REMOVED_KEYS and name not in RENAMED]
    if not alike:
        return ""
    own, of_plugins, nested = names_at(config.own_version)
    fields = own | of_plugins if len(path) == 1 else nested
    near = next((name for name in alike if name in fields), "") if key not in of_plugins or len(path) > 1 else ""
    return near if near not in (config.values if len(path) == 1 else ()) else ""


@functools.cache
def names_at(release: Version) -> tuple[set[str], set[str], set[str]]:
    """The keys of a release: at the top, those of plugins, and those of nested models."""
    found = HISTORY.at(release)
    of_plugins = {name for section in PLUGIN_SECTIONS for name in found.get(section, ())}
    nested = {name for section, fields in found.items() if section != TOP and not section.startswith(PLUGIN) for name in fields}
    return {*found[TOP]}, of_plugins, nested


_by_length: dict[int, list[Spelling]] = {}  # the fields of all releases


@functools.cache
def similar_names(key: str) -> list[str]:
    """The fields of any release that resemble a key, the most similar first."""
    from difflib import get_close_matches

    if not _by_length:
        for name in sorted({name for section in HISTORY.sections for name in HISTORY.names(section)}):
            _by_length.setdefault(len(name), []).append(spelled(name))
    letters, names = Spelling(key).letters, list[str]()
    for size, spellings in _by_length.items():
        least = SIMILAR * (size + len(key)) / 2  # characters of one that equal one of the other: at most those whose letter it has
        names += [
            name.key
            for name in (spellings if min(size, len(key)) >= least else ())
            if size - (name.letters & ~letters).bit_count() >= least and len(key) - (letters & ~name.letters).bit_count() >= least
        ]
    return get_close_matches(key, names, len(names) or 1, SIMILAR)


def refused(config: AxolotlConfig, code: str) -> Iterator[Finding]:
    for refusal in config.refusals:
        if refusal.kind != code:
            continue
        from cfglint.frameworks.axolotl.migration import migrated

        places = [config.place(path) for path in refusal.paths or [()]]
        absent = not places[0].written and (code, places[0].name) in NEEDS_KEYS
        yield refusal.finding(
            places,
            config.values,
            depends_on=config.rest if absent else (),
            fix=migrated(config, refusal) if code in (FSDP, REMOVED) and not config.without_remedies else None,
            on_key=code == REMOVED,
        )
