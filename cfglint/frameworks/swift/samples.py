"""The training samples of ms-swift: local files of `dataset`, each with the number of rows that is taken (`FILE#500`)."""

from __future__ import annotations

from cfglint.frameworks.swift.config import SwiftConfig
from cfglint.frameworks.training_data.files import local, rows, unknown
from cfglint.frameworks.training_data.samples import Samples

DROPPED = "rows longer than `max_length` are dropped (`truncation_strategy: delete`)"
SKIPPED = "rows that cannot be preprocessed are dropped (`strict: false`)"


def samples(config: SwiftConfig) -> Samples | None:
    """The samples of the data sets, without those that are held out; None if one of them is not a local file."""
    named = config.own("dataset")
    if not isinstance(named, (list, tuple)) or not named or config.streams or config.own("cached_dataset"):
        return None
    total, rows_in_all, files = 0, 0, list[str]()
    ratio = config.own("split_dataset_ratio") if not config.own("val_dataset") else 0
    for item in named:
        name, mark, number = str(item).rpartition("#")
        path = local(config, name if mark and number.isdigit() else item)
        if path is None:
            return None
        found = rows(config, path, "train")
        files += found.files
        if found.count is None:
            return unknown(found.why, *files)
        taken = int(number) if mark and number.isdigit() else found.count
        rows_in_all += found.count
        if isinstance(ratio, (int, float)) and 0 < ratio < 1:
            taken -= max(int(min(taken, found.count) * ratio), 1)
        total += taken
    if config.own("interleave_prob"):
        return unknown("`interleave_prob` draws the rows at random", *files)
    if config.packs:
        return unknown("rows are packed into blocks, whose number depends on their lengths", *files)
    truncates = config.own("truncation_strategy") in ("left", "right") and config.own("strict") is True
    why = "" if truncates else DROPPED if config.own("truncation_strategy") == "delete" else SKIPPED
    return Samples(total, tuple(files), why, rows_in_all)
