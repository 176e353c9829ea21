"""Helpers of LLaMA-Factory's rules."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR, WARNING
from cfglint.findings.rule import Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cfglint.findings.rule import ExampleFacts
    from cfglint.findings.vocabulary import Kind, Severity
    from cfglint.frameworks.llamafactory.config import LlamaFactoryConfig

KINDS: tuple[Kind, ...] = ("llamafactory",)
KIND: ExampleFacts = {"kind": "llamafactory"}
BASE = "model_name_or_path: org/model\nstage: sft\ndo_train: true\ndataset: mine\noutput_dir: out\n"  # of examples
SMALL = 1e-6  # what the checks compare ratios with


def certainty(config: LlamaFactoryConfig, *names: str) -> Severity:
    """An error when the files are the complete run or give everything that it depends on, else a warning.

    `key=value` behind the file on the command line may give the keys that it lacks.
    """
    return ERROR if config.facts.complete or all(name in config.values for name in names) else WARNING


def number(value: Any) -> bool:
    """Whether a value compares with numbers."""
    return isinstance(value, (int, float))


def conflict(
    config: LlamaFactoryConfig,
    name: str,
    *others: str,
    message: str,
    exception: str,
    needs: tuple[str, ...] = (),
    remedy: str | None = None,
) -> Finding:
    """A finding on a field that is incompatible with others; `needs` are those of them whose default matters."""
    return Finding(
        config.field(name),
        message,
        related=[config.field(other) for other in others],
        exception=exception,
        severity=certainty(config, *needs),
        help=remedy,
    )
