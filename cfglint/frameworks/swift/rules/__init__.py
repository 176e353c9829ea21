"""The findings of failing checks of ms-swift."""

from __future__ import annotations

from cfglint.findings.rule import Finding
from cfglint.frameworks.megatron_swift.config import MegatronSwiftConfig
from cfglint.frameworks.swift.config import SwiftConfig
from cfglint.source.annotations import Iterator


def failing(config: SwiftConfig | MegatronSwiftConfig, code: str) -> Iterator[Finding]:
    """The failing checks of a rule."""
    for each in config.failing:
        if each.kind == code:
            yield each.finding([config.setting(*path) for path in each.paths] or [config.devices_setting], config.values)
