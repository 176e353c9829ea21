"""The data files that a run names, and what becomes of their rows."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from itertools import islice

from cfglint.data.hub_cache import cached_rows
from cfglint.data.rows import LARGEST, MOST_FILES, Limits, Rows, found, found_all, rows_of
from cfglint.data.slices import rows_of_split
from cfglint.frameworks.base import Config
from cfglint.frameworks.training_data.samples import Samples
from cfglint.source.annotations import ConfigValue, Iterable, Operand
from cfglint.source.files import FileProblem, read_bytes
from cfglint.source.root import root_of

COUNT_ALL = 10**15
SPLITS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "dev", "val"),
    "test": ("test", "testing", "eval", "evaluation"),
}
SEPARATORS = re.compile(r"[-._ 0-9/]+").split
NO_DATA = ("README.md", "config.json", "dataset_info.json", "dataset_infos.json", "dummy_data.zip", "dataset_dict.json")
FILES_OF_FOLDER = (".json", ".jsonl", ".csv", ".parquet", ".txt", ".arrow")


def unknown(why: str, *files: str) -> Samples:
    return Samples(None, files, why)


def limits(config: Config) -> Limits:
    return Limits(root_of(config.documents[0].path), COUNT_ALL if config.facts.count_data else LARGEST)


def rows(config: Config, path: str, split: str = "") -> Rows:
    """The rows of a file, or of the data files of a folder, which have to be of one type: of all, or of those of a split."""
    if not os.path.isdir(path):
        return rows_of([path], limits(config))
    files = files_of_split(path, split) if split else [os.path.join(path, name) for name in sorted(os.listdir(path)) if name[:1] != "."]
    if not files:
        return Rows(None, (path,), f"{path} has no files of the split `{split}`" if split else f"{path} is empty")
    types = {os.path.splitext(name)[1] for name in files}
    if len(types) > 1 or types.isdisjoint(FILES_OF_FOLDER):
        return Rows(None, (path,), f"{path} has files of several types")
    return rows_of(files, limits(config))


def files_of_split(folder: str, split: str) -> list[str]:
    """The files of a folder that `load_dataset` takes for a split, by the words in the names of folders, else of files; without such words
    all are for training (datasets 5.2.0 data_files.py). Empty where a page of the folder says otherwise.
    """
    names = [
        os.path.relpath(os.path.join(above, name), folder)
        for above, folders, files in islice(os.walk(folder), MOST_FILES)
        for name in files
        if name not in NO_DATA
        and not any(part.startswith((".", "__")) for part in os.path.relpath(above, folder).split(os.sep)[1:])
        and name[0] != "."
    ]
    page = ""  # of the data set, which may say which files belong to a split
    with suppress(FileProblem):
        page = read_bytes(os.path.join(folder, "README.md"), root=root_of(folder)).decode("utf-8", "replace")
    if "configs:" in page or len(names) > MOST_FILES:
        return []
    for part in (os.path.dirname, os.path.basename):
        words = {name: {*SEPARATORS(part(name))} for name in names}
        found = {each: [name for name in names if not words[name].isdisjoint(keys)] for each, keys in SPLITS.items()}
        if any(found.values()):
            names = found.get(split, [])
            break
    else:
        names = names if split == "train" else []
    return [os.path.join(folder, name) for name in sorted(names)]


def local(config: Config, name: ConfigValue) -> str | None:
    return found(name, config.documents[0].path) if isinstance(name, str) and name else None


def rows_of_all(config: Config, names: Iterable[ConfigValue], split: ConfigValue = None, part: str = "") -> Samples | None:
    """The rows of a split of several files, folders or data sets of the Hub together, without a number where one cannot be counted; None
    if one is neither in the project nor, for a launch here, in the cache.
    """
    asked = "train" if split is None else split if isinstance(split, str) else ""
    total, files, base = 0, list[str](), asked.partition("[")[0]
    for name in (each if isinstance(each, str) else "" for each in names):
        paths = found_all(name, config.documents[0].path) if name else []
        if part or not paths:
            count = cached_rows(name, part, base) if config.facts.here else None
            if count is None:
                return None
            total, paths = total + count, []
            files.append(f"{name} in the cache")
        for read in (rows(config, path, base) for path in paths):
            files += read.files
            if read.count is None:
                return unknown(read.why, *files)
            total += read.count
        base = base if all(map(os.path.isdir, paths)) else "train"  # a file has no other split
    taken = rows_of_split(asked, total, base)
    if taken is None:
        return unknown(f"the split `{asked}` is not here" if asked else "the split is not known", *files)
    return Samples(taken, tuple(files), rows=total) if files else None


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
