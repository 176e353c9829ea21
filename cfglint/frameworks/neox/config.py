"""A GPT-NeoX run: its files, merged as its loader merges them, and the values that NeoXArgs computes before it checks the types.

The derived values are those of the steps of calculate_derived, as far as the files allow.
Source: gpt-neox 2026-05 megatron/neox_arguments/arguments.py:885-1192.
"""

from __future__ import annotations

import os

from cfglint.evaluate import Reason
from cfglint.findings.rule import KEY, Rule
from cfglint.findings.setting import DEFAULT, WRITTEN, Setting
from cfglint.findings.wording import spelled
from cfglint.frameworks.base import CERTAIN, FORK_KEYS, Config
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.neox import FRAMEWORK
from cfglint.frameworks.neox._tables import FIELDS, REMOVED
from cfglint.frameworks.neox.fields import Check, check_of, default, fields_of_release
from cfglint.source import files
from cfglint.source.annotations import ConfigTable, ConfigValue, Operand, Sequence
from cfglint.source.document import Document, Path, Problem
from cfglint.source.loaders import YAML11_FULL
from cfglint.source.numbers import is_number
from cfglint.source.outline import keys_of_lines
from cfglint.source.parse import parse
from cfglint.source.record import Record
from cfglint.source.root import folders_upwards, places_of, root_of

COPIES = {
    "zero_reduce_scatter": "reduce_scatter",
    "zero_contiguous_gradients": "contiguous_gradients",
    "zero_reduce_bucket_size": "reduce_bucket_size",
    "zero_allgather_bucket_size": "allgather_bucket_size",
}

EMPTIED = ("clip_grad", "dynamic_loss_scale", "is_pipe_parallel", "config_files", "user_script", "batch_size")
SIZES = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")


class Attention(Record):
    """The attention of all layers: the `kinds` that occur, and the number of layers of the list."""

    kinds: list[Operand]
    layers: int

    @property
    def listed(self) -> list[Operand]:
        """A list of as many layers, with each kind."""
        return [*self.kinds, *self.kinds[:1] * (self.layers - len(self.kinds))]

    def any(self, *names: str) -> bool:
        return any(name in self.kinds for name in names)


class Derived(Record):
    """The derived values of a config; None where the framework would fail in a step, and a rule reports why.

    `pipe` is pipe_parallel_size as written: 0 or less means no pipeline engine; `tensor` is at least 1. `worker_zero_stage` is the ZeRO
    stage of the workers: a section in deepspeed_extra_args, which are `extra`, replaces the launcher's (A:498-505, 725).
    `optimizer_name` is in lower case, as the code compares it. `attention_refusal` is the exception of the expansion of the attention.
    `held` has the fields whose value in the type check differs from that in the file.
    """

    pipe: int | None
    tensor: int | None
    enabled_sections: list[str]
    precision: str
    zero: ConfigTable
    zero_stage: int | None
    extra: ConfigTable
    worker_zero_stage: int | None
    optimizer_params: ConfigTable
    optimizer_type: Operand
    optimizer_name: str
    lr: Operand
    attention: Attention | None
    attention_refusal: str | None
    held: ConfigTable


def derive(config: NeoXConfig) -> Derived:
    argument = config.argument
    pipe, tensor, named, zero = map(argument, ("pipe_parallel_size", "model_parallel_size", "precision", "zero_optimization"))
    tensor = (tensor if tensor >= 1 else 1) if is_number(tensor) else None
    sections = [name for name in ("fp16", "bf16") if switched_on(argument(name))]
    if named is None and sections:
        named = {"fp16": "fp16", "bf16": "bfloat16"}[sections[0]]
    precision = named if named in ("fp16", "bfloat16") else "fp32"  # also for another spelling of these (A:966-1011)
    zero, extra = {"stage": 0} if zero is None else mapping(zero), mapping(argument("deepspeed_extra_args"))
    stage = stage_of(zero)
    optimizer = mapping(argument("optimizer") or {"type": "Adam", "params": {"lr": 0.001}})
    params, kind = mapping(optimizer.get("params")), optimizer.get("type", "Adam")
    rate = params.get("lr", 0.001)  # the top-level `lr` is never used
    layers, pattern = argument("num_layers"), argument("attention_config")
    attention, refusal = None, None
    try:
        attention = expand([[["global"], layers]] if pattern is None else pattern, layers)
    except Exception as error:
        refusal = f"{type(error).__name__}: {error}"
    sizes = {name: argument(name) for name in SIZES}
    held = {
        **dict.fromkeys(EMPTIED),
        **(dict.fromkeys(SIZES) if None in sizes.values() else sizes),
        **{name: zero.get(key) for name, key in COPIES.items()},
        "precision": precision,
        "model_parallel_size": tensor,
        "zero_stage": argument("zero_stage") if stage is None else stage,
        "lr": rate,
        "optimizer_type": kind,
        "fp16": {"enabled": True} if precision == "fp16" and not isinstance(argument("fp16"), dict) else argument("fp16"),
    }
    return Derived(
        pipe if is_number(pipe) else None,
        tensor,
        sections,
        precision,
        zero,
        stage,
        extra,
        stage_of(mapping(extra["zero_optimization"])) if "zero_optimization" in extra else stage,
        params,
        kind,
        kind.lower() if isinstance(kind, str) else "",
        rate,
        attention,
        refusal,
        held,
    )


def mapping(value: Operand) -> ConfigTable:
    return value if isinstance(value, dict) else {}


def stage_of(section: ConfigTable) -> int | None:
    """The ZeRO stage of a section; None where it is not 0 to 3."""
    stage: int | None = section.get("stage")
    return stage if is_number(stage) and stage in (0, 1, 2, 3) else None


def switched_on(section: object) -> bool:
    """Whether a precision section is enabled: by any truthy value, including the string "false"."""
    return bool(isinstance(section, dict) and section.get("enabled", False))


def expand(pattern: Operand, layers: Operand) -> Attention:
    """The expansion of an attention pattern; raises the framework's own exception (gpt-neox 2026-05 megatron/utils.py:329-353)."""
    if all(isinstance(item, str) for item in pattern):
        return Attention(list(dict.fromkeys(pattern)), len(pattern))
    kinds: list[Operand] = []
    total = 0
    for item in pattern:
        names, times = item[0], item[1]
        if times == "all":
            rest = layers % len(names)
            assert rest == 0, f"Number of layers ({layers}) is not divisible by the length of pattern: {names}"
            return Attention(distinct(names), layers // len(names) * len(names))
        repeat = len(range(times))
        if repeat:
            kinds.extend(distinct(names))
            total += repeat * len(names)
    return Attention(kinds, total)


def distinct(names: Operand) -> list[ConfigValue]:
    """The distinct items of a list or string, in order; items need not be hashable."""
    found: list[Operand] = []
    for name in names:
        if name not in found:
            found.append(name)
    return found


MOST = 40  # files of a folder that are read
LARGEST = 100_000  # bytes of a file
ENDS = (".yml", ".yaml", ".json")
ATTENTION_TYPES = "ATTENTION_TYPE_CHOICES"  # the constant of neox_args.py
ARGUMENT_CLASSES = ("megatron", "neox_arguments")  # the folder of these classes in a copy of GPT-NeoX

_unknown: dict[str, set[str]] = {}


class NeoXConfig(Config):
    """The flat union of the files' top-level keys, with dashes converted to underscores, and the values derived from them.

    A later spelling of a key overrides an earlier one. `spelled` maps a key to its spelling in the file that is used; `repeats` are
    duplicate keys, as (document, spelling, earlier document, spelling there).
    Source: gpt-neox 2026-05 megatron/neox_arguments/arguments.py:236-266.
    """

    framework = FRAMEWORK
    gpus_key = "global_num_gpus"
    batch_keys = {
        "micro_batch": "train_micro_batch_size_per_gpu",
        "accumulation": "gradient_accumulation_steps",
        "global_batch": "train_batch_size",
    }

    def __init__(self, documents: list[Document], facts: LaunchFacts, kinds: Sequence[str] = ()) -> None:
        super().__init__(documents, facts, kinds)
        self.spelled: dict[str, str] = {}
        self.repeats: list[tuple[Document, str, Document, str]] = []
        self.refused: list[tuple[str, Path, Operand, str]] | None = None  # kept by the rules on types
        self._derived: Derived | None = None
        asked = self.package in facts.target and self.package not in facts.target_from  # not only stated by the repository
        folder = None if asked else own_classes(documents[0].path)
        self.own_fields: dict[str, str] = {}  # of the argument classes in the project's own copy of GPT-NeoX, with their annotations
        if folder is not None:
            from cfglint.source.dataclass_fields import fields_of_folder

            self.own_fields = fields_of_folder(folder)
        tagged = fields_of_release(self.version) if self.package in facts.target and not self.own_fields else {}
        self.own_fields = self.own_fields or tagged
        if tagged:
            facts = facts.replace(outside={**facts.outside, self.package: facts.target[self.package]})
        elif not self.own_fields.keys() >= FIELDS.keys() and self.own_fields:
            facts = facts.replace(outside={**facts.outside, self.package: "of this repository"})
        for document in documents:
            self._take(document)
        self.facts = facts
        if self.load_problems:
            self.facts = facts.replace(complete=False)  # keys of an unreadable file must not be reported as missing
        self.values = self.launched_with(self.values)

    def _take(self, document: Document) -> None:
        reading = YAML11_FULL.read(document)
        if reading.problems:
            self.load_problems.extend((document, problem) for problem in reading.problems)
            return
        if not isinstance(reading.value, dict):  # arguments.py:245
            words = "the file is empty" if reading.value is None else "the file is not a mapping of arguments"
            raised = f"AttributeError: '{type(reading.value).__name__}' object has no attribute 'items'"
            self.load_problems.append((document, Problem(0, len(document.text), words, "value", raised)))
            return
        for text, value in reading.value.items():
            if not isinstance(text, str):  # arguments.py:251
                node = next((node for node, _ in document.root.pairs() if node.raw == str(text)), None) if document.root else None
                start, end = (node.start, node.end) if node is not None else (0, 0)
                words = f"the key {spelled(text)} is not a string to the YAML parser; GPT-NeoX requires string keys"
                raised = f"AttributeError: '{type(text).__name__}' object has no attribute 'replace'"
                self.load_problems.append((document, Problem(start, end, words, "value", raised)))
                return
            key = text.replace("-", "_")
            if key in self.owner:
                self.repeats.append((document, text, self.owner[key], self.spelled[key]))
            self.values[key] = value
            self.owner[key] = document
            self.spelled[key] = text

    def knows(self, name: str) -> bool:
        """Whether the dataclass has a field: that of the project's own copy of GPT-NeoX, else the modelled one."""
        return name in (self.own_fields or FIELDS)

    def check_of(self, name: str) -> Check:
        """The type check of a field: that of the project's own copy of GPT-NeoX, else the modelled one."""
        return check_of(name, self.own_fields.get(name) or None)

    @property
    def own_attention_kinds(self) -> list[Operand]:
        """The attention types that the project's own copy of GPT-NeoX lists; empty if it has no such list."""
        folder = own_classes(self.documents[0].path) if self.own_fields else None
        if folder is None:
            return []
        from cfglint.source.dataclass_fields import constant_of_folder

        listed = constant_of_folder(folder, ATTENTION_TYPES)
        return listed if isinstance(listed, list) else []

    def argument(self, name: str) -> Operand:
        return self.values[name] if name in self.values else default(name)

    def setting(self, *path: str | int, value: object = None, because: str = "") -> Setting:
        if not path or path[0] not in self.spelled or path in self.overridden:
            return super().setting(*path, value=value, because=because)
        text = (self.spelled[str(path[0])], *path[1:])
        document = self.document_of(path[0])
        key_node, node = document.find(text)
        if self.has(*path):
            return Setting(text, self.get(*path), WRITTEN, document, node, key_node, because)
        while node is None and len(text) > 1:
            text = text[:-1]
            key_node, node = document.find(text)
        return Setting((self.spelled[str(path[0])], *path[1:]), value, DEFAULT, document, node, key_node, because or "default")

    def unmodelled(self, rule: Rule) -> tuple[Reason, ...]:
        """The unmodelled release or fork that a finding is about; none if the project contains the argument classes themselves."""
        return () if rule.about == KEY and self.own_fields else super().unmodelled(rule)

    def unknown_keys(self) -> list[str]:
        return [name for name in self.values if not self.knows(name)]

    def has_keys_of_fork(self) -> bool:
        """Whether a file, or the configs of its folder together, have too many unknown keys for GPT-NeoX itself."""
        unknown = {*self.unknown_keys()} - REMOVED.keys()  # those of its former releases are no sign of a fork
        if not unknown or len(unknown) >= FORK_KEYS or self.own_fields:
            return len(unknown) >= FORK_KEYS
        return len(unknown | unknown_in_folder(self.documents[0].path)) >= FORK_KEYS

    @property
    def may_resume(self) -> bool:
        """Whether the folder of `load` exists, in which the run looks for a checkpoint."""
        folder = self.argument("load")
        named = isinstance(folder, str) and bool(folder) and any(map(os.path.isdir, places_of(folder, self.documents[0].path)))
        return super().may_resume or named

    @property
    def derived(self) -> Derived:
        if self._derived is None:
            self._derived = derive(self)
        return self._derived


def unknown_in_folder(path: str) -> set[str]:
    """The keys, in any GPT-NeoX config of a file's folder, that are no fields of NeoXArgs; with enough for a fork not all of them.

    A program reads all configs of a folder, so their unknown keys together tell whether that is a fork.
    """
    folder = os.path.dirname(os.path.abspath(path))
    if folder not in _unknown:
        try:
            names = sorted(name for name in os.listdir(folder) if name.endswith(ENDS))
        except OSError:
            names = []
        keys = _unknown[folder] = set()
        for file in (os.path.join(folder, name) for name in names[:MOST]):
            if len(keys) < FORK_KEYS and not os.path.islink(file):
                keys.update(key for key in keys_of(file) if key not in FIELDS)
    return _unknown[folder]


def keys_of(path: str) -> set[str]:
    """The top-level keys of a GPT-NeoX config, with underscores; empty for another file, and, by its lines, for one with known keys only:
    parsing takes longer.
    """
    try:
        text = files.read_bytes(path, LARGEST, root_of(path)).decode("utf-8")
    except (files.FileProblem, UnicodeDecodeError):
        return set()
    names = keys_of_lines(text.splitlines())
    if names is not None and (not FRAMEWORK.may_be(names, path) or all(name.replace("-", "_") in FIELDS for name in names)):
        return set()
    document = parse(path, text, "yaml")
    if document.problems or document.root is None or FRAMEWORK.detect(document) < CERTAIN:
        return set()
    return {key.raw.replace("-", "_") for key, _ in document.root.pairs()}


def own_classes(path: str) -> str | None:
    """The folder of the argument classes in the project's own copy of GPT-NeoX; None if it has none."""
    folders = (os.path.join(folder, *ARGUMENT_CLASSES) for folder in folders_upwards(path))
    return next(filter(os.path.isdir, folders), None)
