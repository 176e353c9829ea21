"""The `config.json` of the checkpoint that a run names: of a folder of the project, or of a published model by its name."""

from __future__ import annotations

import os

from cfglint.batch.shapes import config_of as published_config
from cfglint.batch.shapes import published
from cfglint.source.annotations import ConfigTable
from cfglint.source.files import mapping_in
from cfglint.source.root import root_of

CONFIG_FILE = "config.json"
OWN_MODULES = ("minicpm-v", "minicpm-o", "llava-onevision-qwen2")  # published models of the shape of another one, built by their own code


def config_of(name: object, origin: str, here: bool = False) -> ConfigTable | None:
    """The config of a checkpoint that a file or program names; None if it is unknown. `here`: the cache of this machine may have it."""
    if not isinstance(name, str) or not name:
        return None
    path = path_in_project(name, origin)
    if path:
        return mapping_in(path, root_of(origin)) or None
    if here:
        from cfglint.data import hub_cache

        downloaded = hub_cache.config_of(name)
        if downloaded is not None:
            return downloaded

    if name.rpartition("/")[2].lower().startswith(OWN_MODULES):
        return None
    found = published(name)
    return dict(published_config(found.name)) if found is not None and not found.assumed and not found.quantised else None


def path_in_project(name: str, origin: str) -> str:
    """The `config.json` of a folder of the project, relative to the file that names it or to the working directory; empty for none."""
    if os.path.isabs(name):
        return ""
    paths = (os.path.normpath(os.path.join(base, name, CONFIG_FILE)) for base in (os.path.dirname(origin), ""))
    return next((path for path in paths if os.path.isfile(path)), "")
