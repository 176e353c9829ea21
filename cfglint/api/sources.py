"""The sources of the library's functions, paths or contents by file name, as runs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from cfglint.api.arguments import ArgumentError, Path
from cfglint.findings.wording import first_few
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.project.settings_file import Configuration
from cfglint.run.checked import CheckedRun
from cfglint.run.discovery import Discovery
from cfglint.source import CfglintError
from cfglint.source.annotations import TypeAlias
from cfglint.source.edited_source import EditedSource
from cfglint.source.file_source import FileSource

MOST_NAMED = 10  # runs that are named

Sources: TypeAlias = Path | Iterable[Path] | Mapping[str, str]


class MissingFileError(CfglintError, FileNotFoundError):
    """A source does not exist or cannot be read."""


class Texts(FileSource):
    """Files whose content was passed by the caller, which take precedence over files on disk."""

    def __init__(self, given: dict[str, str]) -> None:
        super().__init__()
        self.given = given

    def is_file(self, path: str) -> bool:
        return path in self.given or super().is_file(path)

    def is_given(self, path: str) -> bool:
        return path in self.given

    def identity(self, path: str) -> str:
        return path if path in self.given else super().identity(path)

    def read(self, path: str) -> tuple[str, bool]:
        return (self.given[path], False) if path in self.given else super().read(path)


def runs_of(sources: Sources, facts: LaunchFacts, kind: str | None, project: Configuration) -> tuple[list[CheckedRun], list[str]]:
    """The runs of some sources, and the named files that are not a config of a known kind."""
    paths, texts = named(sources)
    if facts.complete:
        return loaded(paths, texts, facts, kind)[:1], []
    discovery = Discovery(facts, kind, source=Texts(texts))
    discovery.request.exclude, discovery.request.kinds = project.exclude, project.kinds
    runs = discovery.runs(paths, () if texts else None)
    refuse_unreadable(discovery)
    checked = {document.path for run in runs for document in run.documents}
    return runs, [path for path in paths if path not in checked and not os.path.isdir(path)]


def single(sources: Sources, facts: LaunchFacts, kind: str | None, edited: Mapping[str, str] = {}) -> CheckedRun:
    """The one run of the sources: of a single file the one of its project that reads it, of several their complete configuration.
    `edited` are other contents of files.
    """
    paths, texts = named(sources)
    if len(paths) == 1 and not texts and kind is None and not facts.arguments and not os.path.isdir(paths[0]):
        discovery = Discovery(facts, source=EditedSource(FileSource(), edited))
        try:
            runs = discovery.runs(paths)
        except CfglintError as error:
            raise in_keywords(error) from None
        places = [run.written_at for run in runs if run.is_of_reader]
        if len(places) > 1:
            raise ArgumentError(f"{paths[0]} is read by several runs; name one of them: {first_few(places, MOST_NAMED)}")
        if places:
            return runs[0]
    return loaded(paths, {**texts, **edited}, facts, kind)[0]


def loaded(paths: list[str], texts: dict[str, str], facts: LaunchFacts, kind: str | None) -> list[CheckedRun]:
    """Some files as the complete configuration of one run, or of those that a loop starts."""
    if not paths:
        raise ArgumentError("sources must have at least one file")
    folder = next((path for path in paths if path not in texts and os.path.isdir(path)), None)
    if folder is not None:
        raise ArgumentError(f"{folder} is a folder; sources must be the files of one run")
    discovery = Discovery(facts, kind, source=Texts(texts))
    try:
        runs = discovery.together(paths)
    except CfglintError as error:
        raise in_keywords(error) from None
    refuse_unreadable(discovery)
    return runs


def refuse_unreadable(discovery: Discovery) -> None:
    """Raise MissingFileError for paths that do not exist or cannot be opened."""
    if discovery.request.stats.unreadable:
        raise MissingFileError(f"does not exist or cannot be read: {', '.join(discovery.request.stats.unreadable)}")


def named(sources: object) -> tuple[list[str], dict[str, str]]:
    """Split the sources into paths and the contents passed for some of them; raises ArgumentError for anything else."""
    if isinstance(sources, (str, os.PathLike)):
        return [path_of(sources)], {}
    if isinstance(sources, bytes) or not isinstance(sources, Iterable):
        raise ArgumentError(f"sources must be a path, several paths or a mapping from names to contents, not {sources!r}")
    texts = dict(sources) if isinstance(sources, Mapping) else {}
    for name, content in texts.items():
        if not isinstance(content, str):
            raise ArgumentError(f"sources: the content of {name!r} must be a string, not {content!r:.100}")
    return [path_of(source) for source in sources], texts


def lines_of(source: object) -> tuple[str, list[str] | None]:
    """The path of a log, or a name for the lines of one; raises ArgumentError for anything else, MissingFileError for no file."""
    if isinstance(source, (str, os.PathLike)):
        path = path_of(source)
        if not os.path.isfile(path):
            raise MissingFileError(f"does not exist or cannot be read: {path}")
        return path, None
    lines = list(source) if isinstance(source, Iterable) and not isinstance(source, bytes) else None
    if lines is None or not all(isinstance(line, str) for line in lines):
        raise ArgumentError(f"the source of a log must be a path or its lines, not {source!r:.100}")
    return "log", lines


def path_of(source: object) -> str:
    """A path as a string; raises ArgumentError for anything else."""
    path = os.fspath(source) if isinstance(source, (str, os.PathLike)) else None
    if not isinstance(path, str):
        raise ArgumentError(f"sources: a path must be a string or a Path, not {source!r}")
    return path


def in_keywords(error: CfglintError) -> CfglintError:
    """Return the error with command-line options in its message replaced by keyword arguments: `kind`, not `--kind`."""
    import re

    error.args = tuple(re.sub(r"--([a-z][a-z-]*)", lambda flag: flag[1].replace("-", "_"), str(each)) for each in error.args)
    return error
