"""The data files that a run names, and what becomes of their rows."""

from __future__ import annotations

import os

from cfglint.data.rows import LARGEST, Limits, Rows, found, found_all, rows_of
from cfglint.frameworks.base import Config
from cfglint.frameworks.training_data.samples import Samples
from cfglint.source.annotations import ConfigValue, Iterable, Operand
from cfglint.source.root import root_of

COUNT_ALL = 10**15
FILES_OF_FOLDER = (".json", ".jsonl", ".csv", ".parquet", ".txt", ".arrow")


def unknown(why: str, *files: str) -> Samples:
    """Samples whose number is not known."""
    return Samples(None, files, why)


def limits(config: Config) -> Limits:
    """What may be counted for a run."""
    return Limits(root_of(config.documents[0].path), COUNT_ALL if config.facts.count_data else LARGEST)


def rows(config: Config, path: str, field: str = "") -> Rows:
    """The rows of a file, or of all data files of a folder, which have to be of one type."""
    if not os.path.isdir(path):
        return rows_of([path], limits(config), field)
    names = [name for name in sorted(os.listdir(path)) if not name.startswith(".")]
    files = [os.path.join(path, name) for name in names if name.endswith(FILES_OF_FOLDER)]
    if len({name.rpartition(".")[2] for name in files}) > 1 or len(files) != len(names):
        return Rows(None, (path,), f"{path} has files of several types")
    return rows_of(files, limits(config), field)


def local(config: Config, name: ConfigValue) -> str | None:
    """The file or folder of the project that a value names; None if it names none."""
    return found(name, config.documents[0].path) if isinstance(name, str) and name else None


def rows_of_all(config: Config, names: Iterable[ConfigValue]) -> Samples | None:
    """The rows of several files or folders together, without a number where one cannot be counted; None if one is not in the project."""
    total, files = 0, list[str]()
    for name in names:
        paths = found_all(name, config.documents[0].path) if isinstance(name, str) and name else []
        if not paths:
            return None
        for read in (rows(config, path) for path in paths):
            files += read.files
            if read.count is None:
                return unknown(read.why, *files)
            total += read.count
    return Samples(total, tuple(files)) if files else None


def listed(names: ConfigValue) -> list[Operand]:
    return list(names) if isinstance(names, (list, tuple)) else [names]


def held_out(total: int, size: ConfigValue) -> int | None:
    """The training samples that are left by `train_test_split` with a number or a ratio of test samples; None if it refuses that."""
    if size is None or size is False or size == 0:
        return total
    if isinstance(size, bool) or not isinstance(size, (int, float)) or size < 0:
        return None
    if size > 1 or type(size) is int:
        return total - int(size) if size < total else None
    left = total - -int(-(size * total) // 1)
    return left if size < 1 and left > 0 else None
