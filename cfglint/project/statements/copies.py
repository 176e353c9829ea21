"""A copy of a package in the checkout, and the version that its own files give."""

from __future__ import annotations

import os

from cfglint.frameworks import of_package
from cfglint.frameworks.releases._dates import RELEASES
from cfglint.frameworks.releases.versions import is_version
from cfglint.launch.line import LaunchLine
from cfglint.project.statements.lines import editable
from cfglint.project.statements.statement import Statement, nightly, normalised
from cfglint.source.annotations import Callable, Iterator
from cfglint.source.file_source import DiskFolders
from cfglint.source.project_files import ROOT, Project
from cfglint.source.root import leads_out
from cfglint.source.shell.placed_text import UNKNOWN

# In the package's folder, and next to it: a file that has the version.
INSIDE = ("version.py", "__version__.py", "_version.py", "VERSION", "__init__.py", "extras/env.py", "version/version")
NEXT_TO_IT = ("VERSION", "version.txt", "setup.py", "pyproject.toml")
NAMES = ("__version__", "VERSION", "version", "__version_info__")
MOST_LINES = 3000  # of a file that are searched for its version


def names_of(package: str) -> tuple[str, ...]:
    """The names that a package has and had, the present one first."""
    return (package, *(name for framework in of_package(package) for name in framework.former_packages))


REPOSITORIES = {name.replace("-", ""): package for package in RELEASES for name in names_of(package)}


def modules_of(package: str) -> list[str]:
    """The names that the folder of a package's code has and had, the present one first."""
    own = (framework.source_folder for framework in of_package(package) if framework.source_folder)
    return [*own, *(name.replace("-", "_") for name in names_of(package))]


def in_folder(folder: str, names: list[str], module: str, text: Callable[[str], str]) -> Statement | None:
    """The version of the copy of a package in a folder, or in its `src`; None if there is none."""
    for place in ("", "src"):
        if (place or module) not in names:
            continue
        inside = os.path.join(place, module)
        beside = NEXT_TO_IT if text(os.path.join(folder, inside, "__init__.py")) else ()
        for file in (*(os.path.join(inside, each) for each in INSIDE), *beside):
            version = version_in(text(os.path.join(folder, file)), file)
            if version:
                return Statement(file, f"=={version}", version.partition("+")[0], nightly(version))
    return None


def of_repository(name: str) -> str | None:
    """The package whose repository has a name; None for another one."""
    return REPOSITORIES.get(name.lower().replace("-", "").replace("_", ""))


def missing_submodules(folder: str, file: str, disk: DiskFolders) -> Iterator[tuple[str, Statement]]:
    """The packages whose source is a git submodule of a folder that is not checked out: a tree of its own, whose release is not known."""
    path = ""
    for line in disk.text(os.path.join(folder, file)).splitlines()[:MOST_LINES]:
        key, _, value = (part.strip() for part in line.partition("="))
        if key == "path":
            path = value
        elif key == "url" and path and not disk.names(os.path.join(folder, path)):
            package = of_repository(value.rstrip("/").rpartition("/")[2].removesuffix(".git"))
            if package is not None:
                yield package, Statement(file, elsewhere=f"the submodule {path}")


def places_of_line(line: LaunchLine, project: Project, script: str, path: str) -> list[str]:
    """The folders from which a launch of the program at a path imports first: of `python -m`, of `PYTHONPATH` and of `pip install -e`.

    Behind a part of `PYTHONPATH` that is not known, nothing is first.
    """
    text = line.call.environment.get("PYTHONPATH")
    entries = text.string.split(":") if text is not None else []
    known = next((place for place, entry in enumerate(entries) if UNKNOWN in entry or not entry), len(entries))
    module = f"/{line.program.string.replace('.', '/')}.py" if line.module and line.program is not None else ""
    started = os.path.join(".", path)
    places = [started.removesuffix(module)] if module and started.endswith(module) else []
    for entry in (*entries[:known], *editable(script)):
        place = entry if entry.startswith(ROOT) or line.folder is None else os.path.join(line.folder, entry)
        real = project.real(os.path.normpath(place))
        places += [real] if real is not None else []
    return places


def places_of_program(text: str, folder: str) -> list[str]:
    """The folders that a program puts first on its path: strings, relative to the working directory or to its own folder."""
    found: list[str] = []
    for line in text.splitlines()[:MOST_LINES]:
        _, mark, rest = line.strip().partition("sys.path.insert(0,")
        named = [part for quote in "'\"" for part in rest.split(quote)[1::2]] if mark else []
        for name in named:
            if name and not os.path.isabs(name) and "://" not in name:
                found += [name, os.path.join(folder, name)]
    return [each for each in found if not leads_out(each, each)]


def name_in_setup(text: str) -> str:
    """The name that a setup.py gives the distribution as a constant, if it computes the version; else empty."""
    for line in text.splitlines()[:MOST_LINES] if "setup(" in text else ():
        name, mark, value = line.strip().partition("=")
        if mark and name.strip() == "name" and value[:1] in ("'", '"'):
            return "" if version_in(text, "setup.py") else normalised(value.rstrip(",").strip("\"'"))
    return ""


def checkouts(folder: str, collections: list[str], disk: DiskFolders) -> Iterator[tuple[str, str]]:
    """(package, path) of the repositories of packages in the folders for those of others: `third_party/ms-swift`."""
    for collection in collections:
        for name in disk.names(os.path.join(folder, collection)):
            package = of_repository(name)
            if package is not None:
                yield package, f"{collection}/{name}"


def version_in(text: str, file: str) -> str:
    if not file.endswith((".py", ".toml")):
        first = text.strip()
        return first if is_version(first) and "." in first and "\n" not in first else ""
    for line in text.splitlines()[:MOST_LINES] if "ersion" in text or "VERSION" in text else ():
        name, mark, value = line.strip().partition("=")
        if mark and name.strip() in NAMES:
            version = value.strip().rstrip(",").partition(" #")[0].strip().strip("\"'")
            if is_version(version) and "." in version:
                return version
    return ""
