"""The versions that a repository specifies: its lock files, requirements and dependencies.

The folder nearest to the config decides; an exact version of a parent folder counts if it lies in the range.
Within a folder an exact version (a lock file, a `==`) takes precedence over the newest known release that a range allows, in
the order uv.lock, poetry.lock, requirements files, pyproject.toml, setup.cfg, setup.py, environment files of conda.
Extras and groups for tests, documentation or development do not decide. A file of a `requirements` folder that is
named for an option (`requirements/vllm.txt`) decides only if no other file of the folder names the package.
"""

from __future__ import annotations

import os

from cfglint.frameworks._releases import RELEASES as NEWEST
from cfglint.frameworks.versions import VERSION_PARTS, is_version, leading_numbers, parse_version
from cfglint.source import files
from cfglint.source.limits import MAX_SIZE
from cfglint.source.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from cfglint.frameworks.launch_facts import LaunchFacts
    from cfglint.frameworks.versions import Version

# The last patch of each minor release on PyPI; a range is resolved to the newest of these and the newest modelled release that it allows.
RELEASES = {
    "transformers": (
        "4.0.1 4.1.1 4.2.2 4.3.3 4.4.2 4.5.1 4.6.1 4.7.0 4.8.2 4.9.2 4.10.3 4.11.3 4.12.5 4.13.0 4.14.1 4.15.0 4.16.2 4.17.0 4.18.0"
        " 4.19.4 4.20.1 4.21.3 4.22.2 4.23.1 4.24.0 4.25.1 4.26.1 4.27.4 4.28.1 4.29.2 4.30.2 4.31.0 4.32.1 4.33.3 4.34.1 4.35.2"
        " 4.36.2 4.37.2 4.38.2 4.39.3 4.40.2 4.41.2 4.42.4 4.43.4 4.44.2 4.45.2 4.46.3 4.47.1 4.48.3 4.49.0 4.50.3 4.51.3 4.52.4"
        " 4.53.3 4.54.1 4.55.4 4.56.2 4.57.6 5.0.0 5.1.0 5.2.0 5.3.0 5.4.0 5.5.4 5.6.2 5.7.0 5.8.1 5.9.0 5.10.4 5.11.0 5.12.1"
        " 5.13.1 5.14.1 5.15.1 5.16.1 5.17.0 5.18.0 5.19.0 5.20.2 5.21.1 5.22.2 5.23.0"
    ),
    "accelerate": (
        "0.20.3 0.21.0 0.22.0 0.23.0 0.24.1 0.25.0 0.26.1 0.27.2 0.28.0 0.29.3 0.30.1 0.31.0 0.32.1 0.33.0 0.34.2 1.0.1 1.1.1 1.2.1 1.3.0"
        " 1.4.0 1.5.2 1.6.0 1.7.0 1.8.1 1.9.0 1.10.1 1.11.0 1.12.0 1.13.0 1.14.0 1.15.0"
    ),
    "deepspeed": ("0.3.16 0.4.5 0.5.10 0.6.7 0.7.7 0.8.3 0.9.5 0.10.3 0.11.2 0.12.6 0.13.5 0.14.5 0.15.4 0.16.9 0.17.6 0.18.9 0.19.8"),
}
SHORTEST_COMMIT = 7
OWN_NAME = "name"  # the key of the repository's own package name, next to the packages
OWN_COPY = "of this repository"
MOST_LOCKED = 50_000_000  # bytes of a lock file
OPERATORS = ("===", "==", "~=", "!=", ">=", "<=", ">", "<", "^", "~")
NAME_ENDS = " \t[(<>=!~;@^"
MAIN_REQUIREMENTS = ("requirements", "base", "common", "core", "default", "install", "main", "prod", "runtime", "train")  # name prefixes
SIDE_GROUPS = ("dev", "test", "doc", "lint", "style", "quality", "ci", "example", "benchmark", "bench")  # parts of names


@record
class PinnedVersion:
    """The version of a package in a file: version, file, and whether it is exact."""

    version: str
    exact: bool
    file: str
    spec: str

    @property
    def source(self) -> str:
        """The source for display: `uv.lock`, or `requirements.txt says >=4.40,<5`."""
        return self.file if self.exact else f"{self.file} says {self.spec}"


class Disk:
    """Access to the files on disk that specify versions."""

    def names(self, folder: str) -> list[str]:
        """The names in a folder; empty if it cannot be read."""
        try:
            return os.listdir(folder)
        except (OSError, ValueError):
            return []

    def text(self, path: str) -> str:
        """The content of a file; empty if it cannot be read, or is a link out of the project."""
        from cfglint.source.root import leads_out

        if leads_out(path, path):
            return ""
        try:
            return files.read_bytes(path, limit(path)).decode("utf-8", "replace")
        except files.FileProblem:
            return ""


class Repositories:
    """The versions in the folders around configs; each folder is examined once, and `looked_at` caches the result."""

    def __init__(self, looked_at: dict[str, dict[str, list[PinnedVersion]]] | None = None, disk: Disk | None = None) -> None:
        self._folders = looked_at if looked_at is not None else {}
        self._disk = disk or Disk()

    def complete(self, facts: LaunchFacts, path: str, packages: Iterable[str]) -> LaunchFacts:
        """The facts with the versions that the repository of a file specifies for packages without a target."""
        wanted = [package for package in packages if package not in facts.target]
        missing = [package for package in wanted if package in RELEASES]
        folders = repository(path) if wanted else []
        own = {package: OWN_COPY for package in wanted if package not in facts.outside and self.is_copy_of(folders, package)}
        if own:
            facts = facts.replace(outside={**facts.outside, **own})
            missing = [package for package in missing if package not in own]
        found = {package: self.look(folders, package) for package in missing}
        commits = {package: f"{each.spec} ({each.file})" for package, each in found.items() if each and not each.version}
        if commits:
            facts = facts.replace(outside={**facts.outside, **{package: f"at {said}" for package, said in commits.items()}})
            found = {package: each for package, each in found.items() if package not in commits}
        target = {package: each.version for package, each in found.items() if each}
        if not target:
            return facts
        said_by = {package: each.source for package, each in found.items() if each}
        return facts.replace(target={**facts.target, **target}, target_from={**facts.target_from, **said_by})

    def look(self, folders: list[str], package: str) -> PinnedVersion | None:
        """The exact version in the nearest folder; if that has a range, an exact version of a parent folder within the range takes
        precedence.
        """
        nearest: PinnedVersion | None = None
        for folder in folders:
            answers = self.in_folder(folder).get(package, [])
            exact = next((each for each in answers if each.exact), None)
            if exact is not None and (nearest is None or (exact.version and allowed(nearest.spec, exact.version))):
                return exact
            nearest = nearest or (answers[0] if answers else None)
        return nearest

    def is_copy_of(self, folders: list[str], package: str) -> bool:
        """Whether the repository is that of the framework itself, whose version is not a release: its pyproject.toml has this name."""
        return any(each.version == package for folder in folders for each in self.in_folder(folder).get(OWN_NAME, ()))

    def in_folder(self, folder: str) -> dict[str, list[PinnedVersion]]:
        """The versions of packages in the files of a folder, the most trusted first."""
        if folder not in self._folders:
            answers: dict[str, list[PinnedVersion]] = {}
            for name in sources(folder, self._disk):
                text = self._disk.text(os.path.join(folder, name))
                own = own_name(text) if name == "pyproject.toml" else ""
                if own:
                    answers[OWN_NAME] = [PinnedVersion(own, True, name, "")]
                for package in RELEASES:
                    found = in_file(name, text, package) if package in text.lower() else None
                    if found and not (package in answers and is_option(name)):
                        answers.setdefault(package, []).append(found)
            self._folders[folder] = answers
        return self._folders[folder]


def own_name(text: str) -> str:
    """The project name in a pyproject.toml without a fixed version of its own; else empty."""
    if "[project]" not in text or "dynamic" not in text:
        return ""
    from cfglint.project.settings_file import ConfigurationError
    from cfglint.project.settings_file import parse as parse_toml

    try:
        project = within(parse_toml(text.encode("utf-8"), "pyproject.toml"), "project")
    except ConfigurationError:
        return ""
    name, dynamic = project.get("name"), project.get("dynamic")
    if not isinstance(name, str) or not isinstance(dynamic, list) or "version" not in dynamic:
        return ""
    return name.lower().replace("_", "-")


def limit(path: str) -> int:
    """The maximum number of bytes read of a file; a lock file may be long, and is not parsed."""
    return MOST_LOCKED if path.endswith(".lock") else MAX_SIZE


def repository(path: str) -> list[str]:
    """The folders from that of a file up to the top of its repository.

    Without a repository: up to the working directory if the file is below it, else only its own folder.
    """
    folder = os.path.dirname(os.path.abspath(path))
    here = os.getcwd()
    folders = [folder]
    below = 1
    while not os.path.exists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return folders[:below]
        folder = above
        folders.append(folder)
        if folder == here:
            below = len(folders)
    return folders


def sources(folder: str, disk: Disk) -> list[str]:
    """The files of a folder that may specify versions, in order of trust."""
    names = disk.names(folder)
    wanted: list[str] = [name for name in ("uv.lock", "poetry.lock") if name in names]
    requirements = [name for name in names if name.startswith("requirements") and name.endswith(".txt") and not is_side_group(name)]
    wanted += sorted(requirements, key=lambda name: (len(name), name))
    below = disk.names(os.path.join(folder, "requirements")) if "requirements" in names else []
    parts = sorted(f"requirements/{name}" for name in below if name.endswith(".txt") and not is_side_group(name))
    wanted += [name for name in parts if not is_option(name)]
    wanted += [name for name in ("pyproject.toml", "setup.cfg", "setup.py") if name in names]
    wanted += sorted(name for name in names if is_environment(name) and not is_side_group(name))
    return wanted + [name for name in parts if is_option(name)]


def is_option(name: str) -> bool:
    """Whether a file of a `requirements` folder is installed only for an option."""
    folder, _, last = name.partition("/")
    return bool(last) and folder == "requirements" and not last.removesuffix(".txt").startswith(MAIN_REQUIREMENTS)


def is_environment(name: str) -> bool:
    """Whether a file has a typical name of a conda environment."""
    return name.endswith((".yml", ".yaml")) and name.startswith(("environment", "conda_env", "conda-env"))


def is_side_group(name: str) -> bool:
    """Whether a requirements file or group is for tests, documentation or development by its name."""
    words = name.lower().replace("_", "-").replace(".", "-").split("-")
    return any(word.rstrip("s") in SIDE_GROUPS or word in ("testing", "development") for word in words)


def may_name_versions(path: str) -> bool:
    """Whether a file with this path is one of `sources`."""
    folder, _, name = path.replace(os.sep, "/").rpartition("/")
    if name.endswith(".txt"):
        return name.startswith("requirements") or folder.rpartition("/")[2] == "requirements"
    return name in ("uv.lock", "poetry.lock", "pyproject.toml", "setup.cfg", "setup.py") or is_environment(name)


def in_file(name: str, text: str, package: str) -> PinnedVersion | None:
    """The version of a package in one file."""
    if name.endswith(".lock"):
        version = locked(text, package)
        return PinnedVersion(version, True, name, version) if version else None
    if name.endswith(".toml"):
        return best(specifiers(text, package), package, name)
    if name.startswith("setup."):
        from cfglint.project import setup_files

        lines = setup_files.requirements_of_script(text) if name.endswith(".py") else setup_files.requirements_of_cfg(text)
        return best(required("\n".join(lines), package), package, name)
    if name.endswith(".txt") and at_commit(text, package):
        return PinnedVersion("", True, name, "a commit")
    return best(in_environment(text, package) if is_environment(name) else required(text, package), package, name)


def at_commit(text: str, package: str) -> bool:
    """Whether requirements install a package from a commit of its repository, so that its release is unknown."""
    for line in text.splitlines():
        place = line.split(" #")[0].strip().rpartition("git+")[2]
        repository, mark, commit = place.partition("#")[0].rpartition("@")
        name = repository.rpartition("/")[2].removesuffix(".git").lower()
        if (
            "git+" in line
            and not line.lstrip().startswith("#")
            and mark
            and name == package
            and len(commit) >= SHORTEST_COMMIT
            and not commit.strip("0123456789abcdef")
        ):
            return True
    return False


def in_environment(text: str, package: str) -> Iterator[str]:
    """The version specifiers of a package in a conda environment, which writes `name=version=build`; including pip's lines."""
    for line in text.splitlines():
        item = line.split(" #")[0].strip().removeprefix("-").strip().strip("\"'").rpartition("::")[2]
        spec = specifier(item, package)
        if spec and spec[0] == "=" and spec[1:2] != "=":
            version = spec[1:].partition("=")[0]
            yield f"=={version}" if version.count(".") > 1 else f"=={version}.*"
        elif spec is not None:
            yield spec


def locked(text: str, package: str) -> str | None:
    """The version in a uv.lock or poetry.lock; the newest if platforms have different ones."""
    versions: list[str] = []
    mark = f'\nname = "{package}"\n'
    start = text.find(mark)
    while start >= 0:
        end = text.find("\n[[", start + 1)
        section = text[start : end if end >= 0 else len(text)]
        for line in section.splitlines():
            key, _, version = line.partition(" = ")
            if key == "version" and is_version(version.strip('"')):
                versions.append(version.strip('"'))
        start = text.find(mark, start + len(section))
    return max(versions, key=parse_version, default=None)


def required(text: str, package: str) -> Iterator[str]:
    """The version specifiers of a package in a requirements file."""
    for line in text.replace("\\\n", " ").splitlines():
        spec = specifier(line.split(" #")[0].strip(), package)
        if spec is not None:
            yield spec


def specifier(requirement: str, package: str) -> str | None:
    """The version specifier of a package in a requirement (PEP 508), empty for any version; None if it is about another package."""
    end = next((place for place, char in enumerate(requirement) if char in NAME_ENDS), len(requirement))
    if requirement[:end].lower().replace("_", "-") != package:
        return None
    rest = requirement[end:].partition(";")[0].strip()
    if rest.startswith("["):
        rest = rest.partition("]")[2].strip()
    if rest.startswith("@"):
        tag = rest.rpartition("@v")[2].partition("#")[0]
        return f"=={tag}" if tag[:1].isdigit() else ""
    return rest.partition(" --")[0].strip("() ")


def specifiers(text: str, package: str) -> Iterator[str]:
    """The version specifiers of a package in a pyproject.toml: its dependencies and Poetry's; extras and side groups do not decide."""
    from cfglint.project.settings_file import ConfigurationError
    from cfglint.project.settings_file import parse as parse_toml

    try:
        table = parse_toml(text.encode("utf-8"), "pyproject.toml")
    except ConfigurationError:
        return
    project, poetry = within(table, "project"), within(table, "tool", "poetry")
    groups_of_pip = [requirements for name, requirements in within(table, "dependency-groups").items() if not is_side_group(name)]
    listed = [project.get("dependencies"), *groups_of_pip]
    for requirements in listed:
        for requirement in requirements if isinstance(requirements, list) else []:
            spec = specifier(requirement, package) if isinstance(requirement, str) else None
            if spec is not None:
                yield spec
    named = [(name, each) for name, each in within(poetry, "group").items() if isinstance(each, dict)]
    groups = [poetry, *(each for name, each in named if not is_side_group(name) and not each.get("optional"))]
    for group in groups:
        wanted = within(group, "dependencies").get(package)
        version = wanted.get("version") if isinstance(wanted, dict) else wanted
        if isinstance(version, str):
            yield f"=={version}" if version[:1].isdigit() else version


def within(table: dict[str, Any], *keys: str) -> dict[str, Any]:
    """The table under some keys; empty if there is none."""
    for key in keys:
        inner = table.get(key)
        table = inner if isinstance(inner, dict) else {}
    return table


def best(requirements: Iterator[str], package: str, file: str) -> PinnedVersion | None:
    """The exact version of the first requirement that has one, else the newest release that the first range allows."""
    ranges: list[PinnedVersion] = []
    for spec in requirements:
        clauses = clauses_of(spec)
        pinned = next((version for operator, version in clauses if operator in ("==", "===") and "*" not in version), None)
        if pinned:
            return PinnedVersion(pinned, True, file, spec)
        version = newest(clauses, [*RELEASES[package].split(), NEWEST[package]])
        if clauses and version:
            ranges.append(PinnedVersion(version, False, file, spec))
    return ranges[0] if ranges else None


def clauses_of(spec: str) -> list[tuple[str, str]]:
    """Parse `>=4.40,<5` into (operator, version) pairs; unsupported clauses are left out."""
    clauses: list[tuple[str, str]] = []
    for part in spec.split(","):
        text = part.strip()
        operator = next((each for each in OPERATORS if text.startswith(each)), None)
        version = text[len(operator or "") :].strip()
        if operator and is_version(version):
            clauses.append((operator, version))
    return clauses


def newest(clauses: list[tuple[str, str]], releases: list[str]) -> str | None:
    """The newest release that all clauses allow; if no release is known, the lowest version that they name."""
    bounds = [version for operator, version in clauses if operator == "<=" and "*" not in version]
    for release in sorted([*releases, *bounds], key=parse_version, reverse=True):
        if all(allows(operator, written_version(version), version, parse_version(release)) for operator, version in clauses):
            return release
    return next((version for operator, version in clauses if operator in (">=", "~=", "^", "~", "<=")), None)


def allowed(spec: str, version: str) -> bool:
    """Whether a version satisfies a specifier."""
    release = parse_version(version)
    return all(allows(operator, written_version(bound), bound, release) for operator, bound in clauses_of(spec))


def written_version(text: str) -> Version:
    """The numbers of a bound as written: `~=4.40` and `==4.40.*` depend on how many there are."""
    return tuple(leading_numbers(text))


def allows(operator: str, bound: Version, text: str, release: Version) -> bool:
    """Whether a release satisfies one clause."""
    if operator in (">=", ">"):
        return release >= bound if operator == ">=" else release > padded(bound)
    if operator in ("<=", "<"):
        return release <= padded(bound) if operator == "<=" else release < bound
    if operator == "!=":
        return release[: len(bound)] != bound if "*" in text else release != padded(bound)
    if operator == "^":
        return release >= bound and release[: leading(bound)] == bound[: leading(bound)]
    if operator == "~":
        return release >= bound and release[: min(len(bound), 2)] == bound[:2]
    if operator == "~=":
        return release >= bound and release[: len(bound) - 1] == bound[:-1]
    return release[: len(bound)] == bound if "*" in text else release == padded(bound)


def padded(bound: Version) -> Version:
    """A bound padded with zeros to the length of a release."""
    return (*bound, *(0,) * (VERSION_PARTS - len(bound)))


def leading(bound: Version) -> int:
    """The number of leading numbers that Poetry's caret keeps: up to the first that is not zero."""
    return next((place for place, number in enumerate(bound, 1) if number), len(bound))
