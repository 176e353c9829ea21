"""A GPT-NeoX run: its files, and what the framework derives from them."""

from __future__ import annotations

from os.path import isdir

from cfglint.evaluate import Reason
from cfglint.findings.rule import KEY, Rule
from cfglint.frameworks.base import FORK_KEYS
from cfglint.frameworks.neox.derive import Attention, Derived
from cfglint.frameworks.neox.merge import MergedFiles
from cfglint.frameworks.refusal import Refusal
from cfglint.source.root import places_of


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
        from cfglint.frameworks.neox.neighbours import unknown_in_folder

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
        named = isinstance(folder, str) and bool(folder) and any(map(isdir, places_of(folder, self.documents[0].path)))
        return super().may_resume or named

    @property
    def derived(self) -> Derived:
        if self._expanded is None:
            self._expanded = []
        return Derived(self, self._expanded)
