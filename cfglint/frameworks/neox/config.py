"""A GPT-NeoX run: its files, and what the framework derives from them."""

from __future__ import annotations

import os

from cfglint.evaluate import Reason
from cfglint.findings.rule import KEY, Rule
from cfglint.frameworks.base import CERTAIN, FORK_KEYS
from cfglint.frameworks.neox import FRAMEWORK
from cfglint.frameworks.neox.derive import Attention, Derived
from cfglint.frameworks.neox.fields import known
from cfglint.frameworks.neox.merge import MergedFiles
from cfglint.frameworks.refusal import Refusal
from cfglint.source.root import places_of, root_of

MOST = 40  # files of a folder that are read
LARGEST = 100_000  # bytes of a file
ENDS = (".yml", ".yaml", ".json")

_unknown: dict[str, set[str]] = {}


class NeoXConfig(MergedFiles):
    """The merged files, with the values that the framework derives from them."""

    _expanded: list[Attention | str] | None = None
    _refusals: list[Refusal] | None = None

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
    def refusals(self) -> list[Refusal]:
        if self._refusals is None:
            self._refusals = self.part("refusals", [])
        return self._refusals

    @property
    def may_resume(self) -> bool:
        """Whether the folder of `load` exists, in which the run looks for a checkpoint."""
        folder = self.argument("load")
        named = isinstance(folder, str) and bool(folder) and any(map(os.path.isdir, places_of(folder, self.documents[0].path)))
        return super().may_resume or named

    @property
    def derived(self) -> Derived:
        if self._expanded is None:
            self._expanded = []
        return Derived(self, self._expanded)


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
                keys.update(key for key in keys_of(file) if not known(key))
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
    if names is not None and (not FRAMEWORK.may_be(names, path) or all(known(name.replace("-", "_")) for name in names)):
        return set()
    document = parse(path, text, "yaml")
    if document.problems or document.root is None or FRAMEWORK.detect(document) < CERTAIN:
        return set()
    return {key.raw.replace("-", "_") for key, _ in document.root.pairs()}
