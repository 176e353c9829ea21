"""Examples and facts that the rules of ms-swift share, and the findings of its failing checks."""

from __future__ import annotations

from cfglint.findings.rule import ExampleFacts, Finding
from cfglint.frameworks.megatron_swift.config import MegatronSwiftConfig
from cfglint.frameworks.swift.config import SwiftConfig
from cfglint.source.annotations import Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.vocabulary import Kind

LINE: ExampleFacts = {"kind": "launch", "target": {"ms-swift": "4.6.0"}}


def failing(config: SwiftConfig | MegatronSwiftConfig, code: str) -> Iterator[Finding]:
    """The failing checks of a rule."""
    for each in config.failing:
        if each.kind == code:
            yield each.finding([config.setting(*path) for path in each.paths] or [config.devices_setting], config.values)
