"""Lock files: uv, Poetry, PDM, pylock and Pipenv."""

from __future__ import annotations

import json

from cfglint.frameworks.releases.versions import is_version, parse_version
from cfglint.project.statements.statement import Stated, Statement, at_ref, exact, is_commit, nightly, within
from cfglint.source.annotations import Collection, Iterator

SHORT = 4000  # characters of a section that are looked at


def of_lock(text: str, file: str, packages: Collection[str]) -> Iterator[Stated]:
    """What a lock file in TOML states; it may be long, and is searched, not parsed."""
    for package in packages:
        statements = [statement for name in (package, package.replace("-", "_")) for statement in sections(text, name, file)]
        # Those with different releases, the newest first, are of platforms, or of extras that exclude each other.
        releases = {statement.release: statement for statement in statements}
        for statement in sorted(releases.values(), key=lambda statement: parse_version(statement.release), reverse=True):
            yield package, statement


def sections(text: str, name: str, file: str) -> Iterator[Statement]:
    mark = f'\nname = "{name}"'
    start = text.find(mark)
    while start >= 0:
        end = text.find("\n[[", start + 1)
        section = text[start : end if end >= 0 else len(text)]
        statement = of_section(section[:SHORT], file)
        if statement is not None:
            yield statement
        start = text.find(mark, start + len(section))


def of_section(section: str, file: str) -> Statement | None:
    """What a section states: its version, or the commit that it was locked at."""
    version, git = "", ""
    for line in section.splitlines():
        key, _, value = line.partition("=")
        key, value = key.strip(), value.strip()
        if key == "version" and not version:
            version = value.strip('"').partition("+")[0]
        if key in ("reference", "tag", "ref", "requested-revision") and is_version(value.strip('"').removeprefix("v")):
            git = value.strip('"')
        elif key in ("resolved_reference", "revision", "commit-id") and not git:
            git = value.strip('"')
        elif key == "source" and "git = " in value:  # uv: `{ git = "https://...?tag=v0.9#0123abc" }`
            asked, _, commit = value.partition('"')[2].partition('"')[0].partition("#")
            git = tag_or_commit(asked.partition("?tag=")[2] or asked.partition("?rev=")[2], commit)
        elif key == "vcs":
            git = tag_or_commit(entry(value, "requested-revision"), entry(value, "commit-id"))
    if not is_version(version):
        return None
    if is_commit(git):
        return Statement(file, f"=={version}", version, f"commit {git[:10]}")
    return Statement(file, f"=={version}", version, nightly(version))


def entry(table: str, key: str) -> str:
    """A string of an inline table, `{ type = "git", commit-id = "0123abc" }`; empty if it is not there."""
    return table.partition(f'{key} = "')[2].partition('"')[0]


def tag_or_commit(tag: str, commit: str) -> str:
    """The tag if it names a release, else the commit."""
    return tag if is_version(tag.removeprefix("v")) and "." in tag else commit


def of_pipfile_lock(text: str, file: str, packages: Collection[str]) -> Iterator[Stated]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return
    default = within(content, "default") if isinstance(content, dict) else {}
    for package in packages:
        locked = default.get(package)
        if not isinstance(locked, dict):
            continue
        release = exact(str(locked.get("version", "")))
        if release:
            yield package, Statement(file, f"=={release}", release)
        elif isinstance(locked.get("git"), str):
            owner, _, repository = locked["git"].removesuffix(".git").rpartition("/")
            yield package, at_ref(package, owner.rpartition("/")[2], repository, str(locked.get("ref", "")), file)
