"""What one file states about the release of a package, and one requirement as pip and conda read it: `trl==0.17.0`,
`transformers=4.50.3=pypi_0`, `trl @ git+https://...@v0.9.6`.
"""

from __future__ import annotations

from cfglint.findings.wording import shortened
from cfglint.frameworks import repository_owners
from cfglint.frameworks.releases.versions import is_version
from cfglint.source.annotations import Collection, ConfigTable, ConfigValue, Iterable, Iterator
from cfglint.source.numbers import DIGITS
from cfglint.source.record import Record, changed

Stated = tuple[str, "Statement"]  # a package, and what a file states about it

SIDE_GROUPS = ("dev", "test", "doc", "lint", "style", "quality", "ci", "example", "benchmark", "bench")  # parts of names
SIDE_NAMES = ("testing", "development", "documentation", "conformance", "pre", "precommit", "typing", "mypy")


NAME_ENDS = " \t[(<>=!~;@^"
OPERATORS = ("===", "==", "~=", "!=", ">=", "<=", ">", "<")
ARCHIVES = (".whl", ".tar.gz", ".zip", ".conda", ".tar.bz2")
MAIN_BRANCHES = ("", "main", "master", "HEAD")
OTHER_SYSTEMS = ("darwin", "win32", "windows")  # in a marker: a training runs on Linux
MAIN = "the main branch"  # of the official repository
SHORTEST_COMMIT = 7
HEXADECIMAL = "0123456789abcdef"


class Statement(Record):
    """What one file states about a package.

    `spec` is the version specifier (PEP 440), empty for any version. `release` is the one release that it allows, else empty.
    `elsewhere` says where another source tree than that of a release comes from, such as a commit; `release` is then the nearest one
    that the statement names. `optional`: an extra or a group, which counts only if nothing else names the package. `in_prose`: the text
    of a page names the release, which no command installs; it counts last.
    """

    file: str
    spec: str = ""
    release: str = ""
    elsewhere: str = ""
    optional: bool = False
    in_prose: bool = False

    @property
    def is_exact(self) -> bool:
        """Whether it names one source tree: a release, or one that is no release."""
        return bool(self.release or self.elsewhere)

    def at(self, file: str) -> Statement:
        """The same statement under another name of its file."""
        return changed(self, file=file)

    @property
    def source(self) -> str:
        """The source for display: `uv.lock`, or `requirements.txt says >=4.40,<5`."""
        if self.release or not self.spec:
            return self.file

        return f"{self.file} says {shortened(self.spec)}"


def normalised(name: str) -> str:
    """The name of a distribution as indexes compare it (PEP 503)."""
    return name.strip().lower().replace("_", "-").replace(".", "-")


def is_side_group(name: str) -> bool:
    """Whether a requirements file or group is for tests, documentation or development by its name."""
    words = name.lower().replace("_", "-").replace(".", "-").split("-")
    return any(word.rstrip("s") in SIDE_GROUPS or word in SIDE_NAMES for word in words)


def within(table: ConfigTable, *keys: str) -> ConfigTable:
    """The table under some keys; empty if there is none."""
    for key in keys:
        inner = table.get(key)
        table = inner if isinstance(inner, dict) else {}
    return table


def listed(value: object) -> list[ConfigValue]:
    """A list, or an empty one in place of anything else."""
    return value if isinstance(value, list) else []


def stated(text: str, file: str, packages: Collection[str], optional: bool = False) -> Stated | None:
    """The package that a requirement names and what it states; None if it is about no package of these."""
    text = text.strip()
    if text[:1] in ("'", '"') and text[-1:] == text[:1]:
        text = text[1:-1].strip()
    if "://" in text or text.startswith(("git@", "./", "../", "/")) or " @ " in text:
        return from_place(text, file, packages, optional)
    end = next((place for place, char in enumerate(text) if char in NAME_ENDS), len(text))
    name, rest = normalised(text[:end]), text[end:]
    if name not in packages:
        return None
    rest, _, marker = rest.partition(";")
    condition = marker.replace(" ", "").lower()
    is_for_other_system = any(f"=={quote}{system}{quote}" in condition for quote in "'\"" for system in OTHER_SYSTEMS)
    if is_for_other_system and "or" not in marker.split():
        return None
    rest = rest.strip()
    if rest.startswith("["):
        rest = rest.partition("]")[2].strip()
    return name, from_specifier(rest.partition(" --")[0].strip("() \t"), file, optional)


def stated_by(requirements: Iterable[str], file: str, packages: Collection[str], optional: bool = False) -> Iterator[Stated]:
    yield from filter(None, (stated(requirement, file, packages, optional) for requirement in requirements))


def from_specifier(spec: str, file: str, optional: bool = False) -> Statement:
    """The statement of a specifier of pip (`>=4.40,<5`) or conda (`=4.50.3=pypi_0`, `4.50.3`)."""
    spec = pep440(spec)
    release = exact(spec)
    return Statement(file, spec, release, nightly(release), optional)


def pep440(spec: str) -> str:
    """A specifier in the form of PEP 440; conda writes `=4.50.3=build`, `pip list` and Poetry the bare version."""
    if spec[:1] == "=" and spec[1:2] != "=":
        version = spec[1:].partition("=")[0].strip().removesuffix("*").removesuffix(".")
        if not is_version(version):
            return ""
        return f"=={version}" if version.count(".") > 1 else f"=={version}.*"  # any that begins so; with three parts that is one
    if spec[:1] in DIGITS and spec:
        version = spec.split(maxsplit=1)[0].partition("=")[0]
        return f"=={version}" if is_version(version) else ""
    return spec if spec.startswith(OPERATORS) else ""


def exact(spec: str) -> str:
    """The one release that a specifier allows, without a local version; else empty."""
    for clause in spec.split(","):
        text = clause.strip()
        if text.startswith("==") and "*" not in text:
            version = text.lstrip("= \t").partition("+")[0]
            return version if is_version(version) else ""
    return ""


def nightly(version: str) -> str:
    """Why a version is that of no release: `0.9.2.dev0` is the source tree between two."""
    return f"the development version {version}" if ".dev" in version else ""


def from_place(text: str, file: str, packages: Collection[str], optional: bool) -> Stated | None:
    """What a requirement states that names a repository, an archive or a folder."""
    name, mark, place = text.partition("@")
    if not mark or "/" in name or ":" in name:
        name, place = "", text
    name = normalised(name.partition("[")[0])
    place = place.strip().partition(" ")[0]
    address, _, fragment = place.partition("#")
    egg = next((normalised(part[4:].partition("[")[0]) for part in fragment.split("&") if part.startswith("egg=")), "")
    last = address.rstrip("/").rpartition("/")[2]
    if last.lower().endswith(ARCHIVES) and not address.startswith("git+"):
        return from_archive(name or egg, address, file, packages, optional)
    if "git" not in address.partition("://")[0] and "git" not in address:
        found = name or egg
        return (found, Statement(file, "", "", f"the copy at {address}", optional)) if found in packages else None
    name = name or egg
    path, mark, ref = address.removeprefix("git+").partition("://")[2].partition("@")
    if "/" not in path and mark:  # git@github.com/owner/name: the first @ is that of the user
        path, _, ref = ref.partition("@")
    owner, _, repository = path.removesuffix("/").removesuffix(".git").replace(":", "/").rpartition("/")
    package = name if name in packages else same_name(repository, packages)
    if not package:
        return None
    return package, at_ref(package, owner.rpartition("/")[2], repository, ref, file, optional)


def at_ref(package: str, owner: str, repository: str, ref: str, file: str, optional: bool = False) -> Statement:
    """What a commit, tag or branch of a repository states about a package."""
    tag = ref.removeprefix("refs/tags/").removeprefix(package).lstrip("-_/").removeprefix("v")
    numbers = tag.partition("-")[0]
    near = numbers if is_version(numbers) and "." in numbers else ""
    official = owner.lower() in repository_owners(package) and same_name(repository, (package,)) != ""
    if official and near == tag and near:
        return Statement(file, f"=={near}", near, "", optional)
    if official and ref in MAIN_BRANCHES:
        return Statement(file, ref, near, MAIN, optional)
    if is_commit(ref):
        return Statement(file, ref, near, f"commit {ref[:10]}", optional)
    where = f"{owner}/{repository}" if not official else ""
    return Statement(file, ref, near, " of ".join(each for each in (f"branch {ref}" if ref else "a fork", where) if each), optional)


def is_commit(ref: str) -> bool:
    """Whether a reference of git is the name of a commit."""
    return len(ref) >= SHORTEST_COMMIT and not ref.strip(HEXADECIMAL)


def same_name(repository: str, packages: Collection[str]) -> str:
    """The package that a repository is named for: that of `LLaMA-Factory` is `llamafactory`."""
    plain = repository.lower().replace("-", "").replace("_", "")
    return next((package for package in packages if package.replace("-", "") == plain), "")


def from_archive(name: str, address: str, file: str, packages: Collection[str], optional: bool) -> Stated | None:
    """What the address of an archive states: a wheel names its release, an archive of GitHub its tag or commit."""
    parts = address.replace("%2B", "+").split("/")
    if "archive" in parts[:-1]:
        place = parts.index("archive")
        ref = "/".join(parts[place + 1 :])
        ref = next((ref.removesuffix(end) for end in ARCHIVES if ref.endswith(end)), ref)
        package = name if name in packages else same_name(parts[place - 1], packages)
        return (package, at_ref(package, parts[place - 2], parts[place - 1], ref, file, optional)) if package else None
    words = parts[-1].split("-")
    package = name if name in packages else normalised(words[0])
    version = words[1].partition("+")[0] if len(words) > 1 else ""
    version = next((version.removesuffix(end) for end in ARCHIVES if version.endswith(end)), version)
    if package not in packages:
        return None
    return package, from_specifier(f"=={version}" if is_version(version) else "", file, optional)
