"""What one file states about the release of a package."""

from __future__ import annotations

from cfglint.source.annotations import ConfigTable, ConfigValue
from cfglint.source.record import Record, changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    Stated = tuple[str, "Statement"]  # a package, and what a file states about it

SIDE_GROUPS = ("dev", "test", "doc", "lint", "style", "quality", "ci", "example", "benchmark", "bench")  # parts of names
SIDE_NAMES = ("testing", "development", "documentation", "conformance", "pre", "precommit", "typing", "mypy")


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
        from cfglint.findings.wording import shortened

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
