"""Writes the new contents of a run's files, all or none."""

from __future__ import annotations

from cfglint.source import writing
from cfglint.source.document import Document
from cfglint.source.files import BYTE_ORDER_MARK, Identity


def edited(documents: list[Document], texts: dict[str, str]) -> list[writing.Edited]:
    """One write per document with a new content; it refuses a file that has changed since it was read."""
    writes: list[writing.Edited] = []
    for document in documents:
        if document.path in texts:
            identity = Identity((BYTE_ORDER_MARK if document.bom else b"") + document.text.encode("utf-8"))
            writes.append(writing.Edited(document.path, identity, identity.encoded(texts[document.path])))
    return writes


def write_texts(documents: list[Document], texts: dict[str, str]) -> list[str]:
    """Write the new contents and return their paths; raises FileProblem, after writing nothing, if one cannot be written."""
    writes = edited(documents, texts)
    writing.write_all(writes)
    return [write.path for write in writes]
