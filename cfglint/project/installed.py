"""The releases that are installed in the environment of a project: the folders `*.dist-info` are listed, and nothing is imported."""

from __future__ import annotations

import os

from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.project.pinned_versions import Disk, with_statements
from cfglint.project.statements.copies import in_folder
from cfglint.project.statements.statement import Statement, nightly, normalised
from cfglint.source import files
from cfglint.source.annotations import Iterable, Iterator, Mapping
from cfglint.source.limits import MAX_SIZE
from cfglint.source.root import leads_out, repository, root_of

NOTHING: Mapping[str, str] = {}
VARIABLES = ("VIRTUAL_ENV", "CONDA_PREFIX")
OWN = ".venv"
END = ".dist-info"
PACKAGES = ("site-packages", "dist-packages")  # the second is Debian's

_listed: dict[tuple[str, ...], dict[str, str]] = {}  # the folders of an environment and their times -> its distributions


def complete(facts: LaunchFacts, path: str, packages: Iterable[str]) -> LaunchFacts:
    """The facts with the installed releases of packages without a target, from the first environment that has each."""
    for package in packages:
        if package in facts.target or package in facts.outside:
            continue
        environment = next((place for place in environments(path, dict(facts.environment)) if package in distributions(place)), None)
        if environment is not None:
            facts = with_statements(facts, package, [statement(environment, distributions(environment)[package])])
    return facts


def environments(path: str, variables: Mapping[str, str] = NOTHING) -> Iterator[str]:
    """The environments of a file's project: active, conda's, the nearest `.venv`; `variables` of the launch before this process's."""
    yield from filter(None, (variables.get(name) or os.environ.get(name) for name in VARIABLES))
    own = (os.path.join(folder, OWN) for folder in repository(path))
    yield from (each for each in own if not leads_out(each, path))


def distributions(environment: str) -> dict[str, str]:
    """The distributions in an environment, each with its folder of metadata."""
    library = os.path.join(environment, "lib")
    versions = [os.path.join(library, name) for name in names(library) if name.startswith("python")]
    folders = [
        *(os.path.join(version, folder) for version in versions for folder in PACKAGES),
        os.path.join(environment, "Lib", "site-packages"),
    ]
    # With the time when something was last installed into each.
    key = (*folders, *(str(os.stat(folder).st_mtime_ns) if os.path.exists(folder) else "" for folder in folders))
    if key not in _listed:
        found: dict[str, str] = {}
        for folder in folders:
            for name in names(folder):
                if name.endswith(END):
                    found.setdefault(normalised(name.removesuffix(END).rpartition("-")[0]), os.path.join(folder, name))
        _listed[key] = found
    return _listed[key]


def names(folder: str) -> list[str]:
    """The names in a folder, sorted; empty if it cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def statement(environment: str, folder: str) -> Statement:
    """What is installed: a release, or a commit or local copy that pip has noted."""
    name = os.path.basename(folder).removesuffix(END)
    version = name.rpartition("-")[2].partition("+")[0]
    where = f"installed in {os.path.relpath(environment) if environment.startswith(os.getcwd() + os.sep) else environment}"
    return Statement(where, f"=={version}", version, origin(folder) or nightly(version))


def origin(folder: str) -> str:
    """The commit or folder that a distribution was installed from, if that is not an index; else empty."""
    path = os.path.join(folder, "direct_url.json")
    content = files.mapping_in(path, root_of(path), 10_000)
    vcs = content.get("vcs_info")
    if isinstance(vcs, dict):
        return f"commit {str(vcs.get('commit_id', ''))[:10]}"
    return f"the copy at {content.get('url', '')}" if "dir_info" in content else ""


PLACES = ("", "src")  # of a copy, in a folder


def folders(package: str, version: str, path: str, installed: bool) -> Iterator[str]:
    """The folders that hold the source of this release, the copies in the checkout of a file first.

    The project's own `.venv` is looked at in any case, the active environments only where the installed releases are asked for.
    """
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
    try:
        return os.path.getsize(path) <= MAX_SIZE and not leads_out(path, path)
    except OSError:
        return False
