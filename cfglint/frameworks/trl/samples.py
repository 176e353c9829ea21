"""The training samples of TRL's own scripts: a local folder in `dataset_name`, or the files of `datasets`."""

from __future__ import annotations

from cfglint.frameworks.huggingface.samples import samples as of_program
from cfglint.frameworks.training_data.files import held_out, listed, rows_of_all, unknown
from cfglint.frameworks.training_data.samples import Samples
from cfglint.frameworks.trl.config import TrlConfig

DROPS = (1, 16)  # from here on SFT drops examples without a trained token
DROPPED = "examples that are too long, or have nothing to train on, are dropped"


def samples(config: TrlConfig) -> Samples | None:
    loaded = of_program(config)
    if loaded is not None:
        if not loaded.why and not is_exact(config):
            loaded.why = DROPPED
        return loaded
    if config.facts.launch.program is not None:
        return None
    split, mixture = config.values.get("dataset_train_split", "train"), config.values.get("datasets")
    parts = [each for each in mixture if isinstance(each, dict)] if isinstance(mixture, list) else []
    if config.streams or (parts and split != "train"):
        return None
    total, rows, files = 0, 0, list[str]()
    for part in parts or [{"path": config.values.get("dataset_name"), "split": split}]:
        found = rows_of_all(config, listed(part.get("data_files") or part.get("path")), part.get("split"))
        if found is None or found.count is None:
            return found
        total, rows, files = total + found.count, rows + (found.rows or 0), [*files, *found.files]
    left = held_out(total, config.values.get("test_split_size"))
    if left is None:
        return unknown("`test_split_size` leaves no sample", *files)
    return Samples(left, tuple(files), "" if is_exact(config) else DROPPED, rows)


def is_exact(config: TrlConfig) -> bool:
    return config.only("grpo", "rloo") or (config.only("sft") and config.trl_version < DROPS)
