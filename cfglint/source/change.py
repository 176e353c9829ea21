"""A change of a document, by path, and the edits of its content that make it."""

from __future__ import annotations

from cfglint.source import CfglintError
from cfglint.source.annotations import ChangeKind
from cfglint.source.document import Path
from cfglint.source.record import Record

REPLACE: ChangeKind = "replace"
INSERT: ChangeKind = "insert"
DELETE: ChangeKind = "delete"
RENAME: ChangeKind = "rename"


class Edit(Record):
    """Replace `start`..`end` of a content by `text`."""

    start: int
    end: int
    text: str

    def __repr__(self) -> str:
        return f"Edit({self.start}, {self.end}, {self.text!r})"


class Change(Record):
    """A change of a document, by path.

    - `REPLACE`: the value at `path` becomes `text`. A value that a merge key includes is overridden instead.
    - `INSERT`: the mapping at `path` gets the `key` with the value `text`, after its other keys.
    - `DELETE`: the key at `path` and its value are removed.
    - `RENAME`: the key at `path` becomes `key`.

    `text` is source, as `spell` creates it; `key` is the key's name. `occurrence` selects one of several
    equal keys, from 0; without it the last one, which parsers use.
    """

    kind: ChangeKind
    path: Path
    key: str = ""
    text: str = ""
    occurrence: int | None = None


class EditRefused(CfglintError):
    """A change that cannot be made without changing something else; `place` is the offset of the obstacle."""

    def __init__(self, message: str, place: int) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
