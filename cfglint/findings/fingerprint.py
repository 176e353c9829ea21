"""The identity of a finding, which stays the same when lines move."""

from __future__ import annotations

import os
import re
from hashlib import sha256

from cfglint.findings.diagnostic import Diagnostic
from cfglint.source.annotations import Iterable

Identity = tuple[str, str, str, str]

LINE = re.compile(r"(?<=\bline )\d+|(?<=[\w.]):\d+(?::\d+)?(?=[\s,;)]|$)")


def identity(diagnostic: Diagnostic, folder: str = "") -> Identity:
    """(code, file, key, message without line numbers); the path of the file is relative to a folder, with forward slashes."""
    file = diagnostic.place.file
    if folder:
        file = os.path.relpath(os.path.abspath(file), folder)
    file = os.path.normpath(file).replace(os.sep, "/")
    return diagnostic.code, file, diagnostic.key, LINE.sub("", diagnostic.message)


def fingerprints(diagnostics: Iterable[Diagnostic]) -> list[str]:
    """A hash for each finding, stable when lines move; equal findings get different hashes."""
    seen: dict[Identity, int] = {}
    prints: list[str] = []
    for diagnostic in diagnostics:
        same = identity(diagnostic)
        seen[same] = seen.get(same, 0) + 1
        text = "\0".join((*same, str(seen[same])))
        prints.append(sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32])
    return prints
