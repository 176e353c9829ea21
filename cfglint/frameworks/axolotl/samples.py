"""The training samples of axolotl: at most the rows of its local files, because it drops what is too long or has nothing to train on."""

from __future__ import annotations

from cfglint.frameworks.axolotl.config import AxolotlConfig
from cfglint.frameworks.sample_files import held_out, local, rows, unknown
from cfglint.frameworks.samples import Samples

DROPPED = "axolotl drops rows longer than `sequence_len` and rows without a trained token"


def samples(config: AxolotlConfig) -> Samples | None:
    """The rows of the data sets, if all of them are in the project and read whole."""
    model, named = config.model, config.values.get("datasets")
    if model is None or not isinstance(named, list) or model.streaming or model.pretraining_dataset:
        return None
    total, files = 0, list[str]()
    for each in named:
        path = local(config, each.get("data_files") or each.get("path")) if isinstance(each, dict) else None
        if path is None:
            return None
        found = rows(config, path)
        files += found.files
        if found.count is None:
            return unknown(found.why, *files)
        if each.get("shards") or "[" in str(each.get("split", "")):
            return unknown("a part of a data set is taken", *files)
        total += found.count
    left = held_out(total, float(model.val_set_size or 0)) if not config.values.get("test_datasets") else total
    if left is None:
        return unknown(f"`val_set_size` {model.val_set_size} leaves no sample", *files)
    return Samples(left, tuple(files), DROPPED, total)
