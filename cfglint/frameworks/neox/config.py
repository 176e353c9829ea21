"""A GPT-NeoX run: its files, and what the framework derives from them."""

from __future__ import annotations

from cfglint.findings.rule import KEY
from cfglint.frameworks.neox.merge import MergedFiles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.rule import Rule
    from cfglint.frameworks.neox.derive import Derived


class NeoXConfig(MergedFiles):
    """The merged files, with the values that the framework derives from them."""

    _derived: Derived | None = None

    def is_outside(self, rule: Rule) -> bool:
        """Whether a finding is about an unmodelled release or fork: not if the project contains the argument classes themselves."""
        return super().is_outside(rule) and not (rule.about == KEY and self.own_fields)

    @property
    def derived(self) -> Derived:
        """The values that the framework computes when it builds its arguments."""
        if self._derived is None:
            from cfglint.frameworks.neox.derive import Derived

            self._derived = Derived(self)
        return self._derived
