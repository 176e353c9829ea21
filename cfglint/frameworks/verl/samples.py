"""The prompts of verl: the rows of its local files, all of them unless too long prompts are filtered out."""

from __future__ import annotations

from cfglint.frameworks.training_data.files import rows_of_all
from cfglint.frameworks.training_data.samples import Samples
from cfglint.frameworks.verl.config import VerlConfig


def samples(config: VerlConfig) -> Samples | None:
    """The rows of the training files; None if one of them is not in the project."""
    named = config.value("data.train_files")
    rows = rows_of_all(config, named if isinstance(named, list) else [named])
    if rows is not None and rows.count is not None and config.value("data.filter_overlong_prompts"):
        rows.why = "prompts longer than `data.max_prompt_length` are dropped (`data.filter_overlong_prompts`)"
    return rows
