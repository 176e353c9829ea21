"""Functions that several rules of TRL use."""

from __future__ import annotations

from cfglint.frameworks.huggingface.batch import of
from cfglint.frameworks.huggingface.rules import shown
from cfglint.frameworks.trl import PACKAGE
from cfglint.frameworks.trl.config import TrlConfig

OLD: dict[str, str] = {PACKAGE: "0.17.0"}  # for the examples of checks that newer releases do not have
TRUNCATIONS = ("keep_start", "keep_end")
HEAD = "output_dir: out\nmodel_name_or_path: org/model\ndataset_name: org/data\n"  # common keys of the examples

__all__ = ["HEAD", "OLD", "of", "shown"]


def losses(config: TrlConfig) -> list[object]:
    """DPO's losses as a list; empty for a release whose class does not have the field."""
    if not config.has_field("loss_type"):
        return []
    value = config.arguments["loss_type"]
    return list(value) if isinstance(value, (list, dict)) else [value]
