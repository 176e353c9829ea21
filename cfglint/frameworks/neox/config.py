"""A GPT-NeoX run: its files, merged as its loader merges them, and what the framework derives from them."""

from __future__ import annotations

import os

from cfglint.evaluate import Reason
from cfglint.findings.rule import KEY, Rule
from cfglint.findings.setting import DEFAULT, WRITTEN, Setting
from cfglint.findings.wording import spelled
from cfglint.frameworks.base import CERTAIN, FORK_KEYS, Config
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.neox import FRAMEWORK
from cfglint.frameworks.neox._tables import FIELDS
from cfglint.frameworks.neox.derive import Derived
from cfglint.frameworks.neox.fields import Check, check_of, default, fields_of_release
from cfglint.source.annotations import Operand, Sequence
from cfglint.source.document import Document, Path, Problem
from cfglint.source.loaders import YAML11_FULL
from cfglint.source.root import places_of, root_of

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
        from cfglint.frameworks.neox._tables import REMOVED

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
            self._derived = Derived(self)
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
    from cfglint.source import files
    from cfglint.source.outline import keys_of_lines
    from cfglint.source.parse import parse

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
    from cfglint.source.root import folders_upwards

    folders = (os.path.join(folder, *ARGUMENT_CLASSES) for folder in folders_upwards(path))
    return next(filter(os.path.isdir, folders), None)
