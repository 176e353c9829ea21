"""The rules of DeepSpeed: what its rows refuse, which the pages speak of, and what is no row."""

from __future__ import annotations

from cfglint.findings.rule import Finding
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.frameworks.deepspeed.models import SECTIONS
from cfglint.source.annotations import Iterator


def refused(config: DeepSpeedConfig, code: str) -> Iterator[Finding]:
    for refusal in config.refusals:
        if refusal.kind == code:
            places = [config.at(*path) if path[0] in SECTIONS else config.setting(*path) for path in refusal.paths]
            yield refusal.finding(places, config.values)
