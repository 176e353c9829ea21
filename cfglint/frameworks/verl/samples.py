"""The prompts of verl: the rows of its local files, all of them unless too long prompts are filtered out."""

from __future__ import annotations

from cfglint.frameworks.sample_files import local, rows, unknown
from cfglint.frameworks.samples import Samples
from cfglint.frameworks.verl.config import VerlConfig

FILTERED = "prompts longer than `data.max_prompt_length` are dropped (`data.filter_overlong_prompts`)"


def samples(config: VerlConfig) -> Samples | None:
    """The rows of the training files; None if one of them is not in the project."""
    named = config.value("data.train_files")
    total, files = 0, list[str]()
    for each in named if isinstance(named, list) else [named]:
        path = local(config, each)
        if path is None:
            return None
        found = rows(config, path)
        files += found.files
        if found.count is None:
            return unknown(found.why, *files)
        total += found.count
    filters = config.value("data.filter_overlong_prompts")
    return Samples(total, tuple(files), FILTERED if filters else "")
