"""What lies in the Hugging Face cache of this machine. Imported only for a launch that is to start here."""

from __future__ import annotations

import os
import re

from cfglint.source.annotations import ConfigTable, Mapping
from cfglint.source.files import FileProblem, mapping_in, read

CONFIG_FILE = "config.json"
FOLDER = "hub"
INFO_FILE = "dataset_info.json"
BEFORE_CAPITAL = re.compile(r"(?<=[A-Z])(?=[A-Z][a-z])|(?<=[a-z\d])(?=[A-Z])").sub  # datasets 5.2.0 naming.py
DEEPEST = 3  # folders of a prepared data set
REPOSITORY = re.compile(r"(?:\w[\w.-]*/)?\w[\w.-]*").fullmatch


def cache_folder(environment: Mapping[str, str]) -> str:
    """The folder of downloaded models (huggingface_hub 1.2.0 constants.py)."""
    named = environment.get("HF_HUB_CACHE") or environment.get("HUGGINGFACE_HUB_CACHE")
    if named:
        return os.path.expanduser(named)
    return os.path.join(home_folder(environment), FOLDER)


def home_folder(environment: Mapping[str, str]) -> str:
    home = environment.get("HF_HOME")
    if home is None:
        above = environment.get("XDG_CACHE_HOME") or os.path.join("~", ".cache")
        home = os.path.join(above, "huggingface")
    return os.path.expanduser(home)


def cached_config(name: str, environment: Mapping[str, str] = os.environ) -> tuple[str, str] | None:
    """(path, folder of the cache) of the config of a model that was downloaded by its name; None if it was not."""
    if not REPOSITORY(name):
        return None
    root = os.path.realpath(cache_folder(environment))
    model = os.path.join(root, "models--" + name.replace("/", "--"))
    try:
        revision = read(os.path.join(model, "refs", "main"), root)[0].strip()
    except FileProblem:
        return None
    path = os.path.join(model, "snapshots", revision, CONFIG_FILE)
    return (path, root) if os.path.basename(revision) == revision and os.path.isfile(path) else None


def cached_rows(name: str, part: str, split: str, environment: Mapping[str, str] = os.environ) -> int | None:
    """The rows of a split of a data set that was prepared on this machine; None if it was not, or in forms that differ.

    datasets 5.2.0 config.py (HF_DATASETS_CACHE), builder.py (_relative_data_dir): OWNER___NAME/PART/VERSION/HASH/dataset_info.json.
    """
    above = environment.get("HF_DATASETS_CACHE") or os.path.join(home_folder(environment), "datasets")
    owner, mark, last = name.rpartition("/")
    folder = f"{owner}{mark and '___'}{BEFORE_CAPITAL('_', last).lower()}"
    root = os.path.realpath(os.path.join(os.path.expanduser(above), folder))
    counts: set[int | None] = set()
    for folder, folders, files in os.walk(root) if REPOSITORY(name) else ():
        parts = os.path.relpath(folder, root).split(os.sep)
        folders[:] = folders if len(parts) < DEEPEST else []
        if INFO_FILE in files and part in ("", parts[0]):
            try:
                counts.add(mapping_in(os.path.join(folder, INFO_FILE), root)["splits"][split]["num_examples"])
            except (LookupError, TypeError):
                counts.add(None)
    count = counts.pop() if len(counts) == 1 else None
    return count if isinstance(count, int) else None


def config_of(name: str, environment: Mapping[str, str] = os.environ) -> ConfigTable | None:
    found = cached_config(name, environment)
    return (mapping_in(*found) or None) if found is not None else None
