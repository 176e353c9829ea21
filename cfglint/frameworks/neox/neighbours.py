"""The other configs of a folder: a program reads them all, so their unknown keys together tell whether that is a fork."""

from __future__ import annotations

import os

from cfglint.frameworks.base import CERTAIN, FORK_KEYS
from cfglint.frameworks.neox import FRAMEWORK
from cfglint.frameworks.neox.fields import known
from cfglint.source import files
from cfglint.source.outline import keys_of_lines
from cfglint.source.parse import parse
from cfglint.source.root import root_of

MOST = 40  # files of a folder that are read
LARGEST = 100_000  # bytes of a file
ENDS = (".yml", ".yaml", ".json")

_unknown: dict[str, set[str]] = {}


def unknown_in_folder(path: str) -> set[str]:
    """The keys, in any GPT-NeoX config of a file's folder, that are no fields of NeoXArgs; with enough for a fork not all of them."""
    folder = os.path.dirname(os.path.abspath(path))
    if folder not in _unknown:
        try:
            names = sorted(name for name in os.listdir(folder) if name.endswith(ENDS))
        except OSError:
            names = []
        found = _unknown[folder] = set()
        for each in (os.path.join(folder, name) for name in names[:MOST]):
            if len(found) < FORK_KEYS and not os.path.islink(each):
                found.update(key for key in keys_of(each) if not known(key))
    return _unknown[folder]


def keys_of(path: str) -> set[str]:
    """The top-level keys of a GPT-NeoX config, with underscores; empty for another file."""
    try:
        text = files.read_bytes(path, LARGEST, root_of(path)).decode("utf-8")
    except (files.FileProblem, UnicodeDecodeError):
        return set()
    if not may_have_unknown_keys(path, text):
        return set()
    document = parse(path, text, "yaml")
    if document.problems or document.root is None or FRAMEWORK.detect(document) < CERTAIN:
        return set()
    return {key.raw.replace("-", "_") for key, _ in document.root.pairs()}


def may_have_unknown_keys(path: str, text: str) -> bool:
    """Whether a content may be a GPT-NeoX config with keys that are no fields, by its lines: few are, and parsing takes longer."""
    names = keys_of_lines(text.splitlines())
    return names is None or (FRAMEWORK.may_be(names, path) and not all(known(name.replace("-", "_")) for name in names))
