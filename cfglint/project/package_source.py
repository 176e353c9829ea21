"""The source of a package whose release is not modelled: a copy in the checkout, or what is installed in an environment of the project."""

from __future__ import annotations

import os

from cfglint.project.installed import OWN, distributions, environments
from cfglint.project.pinned_versions import Disk
from cfglint.source.annotations import Iterator
from cfglint.source.limits import MAX_SIZE
from cfglint.source.root import repository

PLACES = ("", "src")  # of a copy, in a folder


def folders(package: str, version: str, path: str, installed: bool) -> Iterator[str]:
    """The folders that hold the source of this release, the copies in the checkout of a file first.

    The project's own `.venv` is looked at in any case, the active environments only where the installed releases are asked for.
    """
    from cfglint.project.statements.copies import in_folder

    module, disk = package.replace("-", "_"), Disk()
    for folder in repository(path):
        copy = in_folder(folder, disk.names(folder), module, disk.text)
        if copy is not None and copy.release == version:
            yield from (place for place in (os.path.join(folder, each) for each in PLACES) if os.path.isdir(os.path.join(place, module)))
    for environment in environments(path):
        own = os.path.basename(environment) == OWN
        metadata = distributions(environment).get(package, "") if own or installed else ""
        if os.path.basename(metadata).startswith((f"{module}-{version}.dist-info", f"{package}-{version}.dist-info")):
            yield os.path.dirname(metadata)


def may_open(path: str) -> bool:
    """Whether a file of a package may be read: one of a usual size that is no link out of its project."""
    from cfglint.source.root import leads_out

    try:
        return os.path.getsize(path) <= MAX_SIZE and not leads_out(path, path)
    except OSError:
        return False
