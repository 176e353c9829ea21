"""Functions that several rules of TRL use."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR, WARNING
from cfglint.frameworks.huggingface.batch import of
from cfglint.frameworks.huggingface.rules import shown
from cfglint.frameworks.trl.config import TrlConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.vocabulary import Severity

TRUNCATIONS = ("keep_start", "keep_end")

__all__ = ["certain", "of", "shown"]


def certain(config: TrlConfig, *names: str) -> Severity:
    """Return an error if the files are the complete run or set all of these fields, otherwise a warning.

    For a single file, missing keys may be passed on the command line.
    """
    return ERROR if config.facts.complete or all(name in config.arguments for name in names) else WARNING


def losses(config: TrlConfig) -> list[object]:
    """DPO's losses as a list; empty for a release whose class does not have the field."""
    if not config.has_field("loss_type"):
        return []
    value = config.arguments["loss_type"]
    return list(value) if isinstance(value, (list, dict)) else [value]
