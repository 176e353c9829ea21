"""What lies in the Hugging Face cache of this machine. Imported only for a launch that is to start here."""

from __future__ import annotations

import os
import re

from cfglint.source.annotations import ConfigTable, Mapping
from cfglint.source.files import FileProblem, read

CONFIG_FILE = "config.json"
FOLDER = "hub"
REPOSITORY = re.compile(r"(?:\w[\w.-]*/)?\w[\w.-]*").fullmatch


def cache_folder(environment: Mapping[str, str]) -> str:
    """The folder of downloaded models (huggingface_hub 1.2.0 constants.py)."""
    named = environment.get("HF_HUB_CACHE") or environment.get("HUGGINGFACE_HUB_CACHE")
    if named:
        return os.path.expanduser(named)
    home = environment.get("HF_HOME")
    if home is None:
        above = environment.get("XDG_CACHE_HOME") or os.path.join("~", ".cache")
        home = os.path.join(above, "huggingface")
    return os.path.join(os.path.expanduser(home), FOLDER)


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


def config_of(name: str, environment: Mapping[str, str] = os.environ) -> ConfigTable | None:
    """The config of a downloaded model; None if it is not in the cache."""
    import json

    found = cached_config(name, environment)
    if found is None:
        return None
    path, root = found
    try:
        value = json.loads(read(path, root)[0])
    except (FileProblem, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
