"""Functions that several rules of TRL use."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR, WARNING
from cfglint.findings.rule import Finding
from cfglint.frameworks.huggingface.batch import of
from cfglint.frameworks.huggingface.rules import shown
from cfglint.frameworks.trl import PACKAGE
from cfglint.frameworks.trl.config import TrlConfig
from cfglint.frameworks.versions import Version
from cfglint.source.annotations import Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.vocabulary import Severity

OLD: dict[str, str] = {PACKAGE: "0.17.0"}  # for the examples of checks that newer releases do not have
TRUNCATIONS = ("keep_start", "keep_end")
METHOD = ("loss_type",)  # fields that a launch line is not expected to set
NEW_ENGINE: Version = (0, 28, 0)  # from here on generation/vllm_generation.py has the checks of vLLM's options
HEAD = "output_dir: out\nmodel_name_or_path: org/model\ndataset_name: org/data\n"  # common keys of the examples

__all__ = ["HEAD", "OLD", "certain", "of", "refused", "shown"]


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


def refused(config: TrlConfig, page: str) -> Iterator[Finding]:
    """The refusals by TRL's rows that have a page."""
    for refusal in config.refusals:
        if refusal.kind == page:
            places = [of(config, path[0]) if len(path) == 1 else config.setting(*path) for path in refusal.paths or [()]]
            decisive = [each for each in refusal.read if each not in METHOD]
            yield refusal.finding(places, config.values, severity=certain(config, *decisive), note=refusal.note)
