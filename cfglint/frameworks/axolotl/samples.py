"""The training samples of axolotl: at most the rows of its local files, because it drops what is too long or has nothing to train on."""

from __future__ import annotations

from cfglint.frameworks.axolotl.config import AxolotlConfig
from cfglint.frameworks.training_data.files import held_out, listed, rows_of_all, unknown
from cfglint.frameworks.training_data.samples import Samples


def samples(config: AxolotlConfig) -> Samples | None:
    """The rows of the data sets, if all of them are in the project and read whole."""
    model, named = config.model, config.values.get("datasets")
    if model is None or not isinstance(named, list) or model.streaming or model.pretraining_dataset:
        return None
    total, read, files = 0, 0, list[str]()
    for each in named:
        table = each if isinstance(each, dict) else {}
        rows = rows_of_all(config, listed(table.get("data_files") or table.get("path")), table.get("split"))
        if rows is None:
            return None
        files += rows.files
        if rows.count is None or table.get("shards"):
            return unknown(rows.why or "a part of a data set is taken", *files)
        total, read = total + rows.count, read + (rows.rows or 0)
    left = held_out(total, float(model.val_set_size or 0)) if not config.values.get("test_datasets") else total
    if left is None:
        return unknown(f"`val_set_size` {model.val_set_size} leaves no sample", *files)
    return Samples(left, tuple(files), "axolotl drops rows longer than `sequence_len` and rows without a trained token", read)
