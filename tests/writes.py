"""The write of one file that was read, as the commands make it."""

from __future__ import annotations

from cfglint.source.files import Identity
from cfglint.source.writing import Edited, write_all


def write(path: str, identity: Identity, text: str) -> str | None:
    """Replace the content that was read; return the warning for the user, usually None."""
    edited = Edited(path, identity, identity.encoded(text))
    write_all([edited])
    return edited.note
