"""Functions that several rules of TRL use."""

from __future__ import annotations

from cfglint.findings.rule import Finding
from cfglint.frameworks.huggingface.batch import of
from cfglint.frameworks.huggingface.rules import shown, unlisted
from cfglint.frameworks.releases.versions import Version
from cfglint.frameworks.trl.config import TrlConfig
from cfglint.source.annotations import Iterator

TRUNCATIONS = ("keep_start", "keep_end")
METHOD = ("loss_type",)  # fields that a launch line is not expected to set
NEW_ENGINE: Version = (0, 28, 0)  # from here on generation/vllm_generation.py has the checks of vLLM's options

__all__ = ["of", "shown"]


def losses(config: TrlConfig) -> list[object]:
    """DPO's losses as a list; empty for a release whose class does not have the field."""
    if not config.has_field("loss_type"):
        return []
    value = config.arguments["loss_type"]
    return list(value) if isinstance(value, (list, dict)) else [value]


def unknown_truncation(config: TrlConfig, unset: str) -> Finding:
    mode = config.arguments["truncation_mode"]
    text = f"ValueError: Unsupported truncation mode: {mode}, expected 'keep_start' or 'keep_end'"
    finding = unlisted(config, "truncation_mode", mode, "; it must be keep_start or keep_end", TRUNCATIONS, text)
    finding.depends_on = config.unset(unset)
    return finding


def refused(config: TrlConfig, code: str) -> Iterator[Finding]:
    for refusal in config.refusals:
        if refusal.kind == code:
            places = [of(config, path[0]) if len(path) == 1 else config.setting(*path) for path in refusal.paths or [()]]
            decisive = config.unset(*(each for each in refusal.read if each not in METHOD))
            yield refusal.finding(places, config.values, depends_on=decisive, note=refusal.note)
