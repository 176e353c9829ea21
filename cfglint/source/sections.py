"""A mapping inside a file as a document of its own."""

from __future__ import annotations

from os.path import normpath

from cfglint.source.annotations import Mapping
from cfglint.source.document import Document, Part, Path, pointer
from cfglint.source.parse import parse


class Section(Document):
    """A document whose root is in `file_document`, at the path `prefix`, where paths begin; offsets are those of the whole file."""

    def __init__(self, file_document: Document, prefix: Path) -> None:
        super().__init__(file_document.path, file_document.text, file_document.syntax, file_document.bom)
        self.file_document = file_document
        self.prefix = prefix
        _, node = file_document.find(prefix)
        self.roots = [node] if node is not None else []

    def key_text(self, path: Path) -> str:
        return pointer((*self.prefix, *path))


def file_document(document: Document) -> Document:
    """The document of the file that contains a section, or the document itself."""
    return document.file_document if isinstance(document, Section) else document


def in_file(document: Document, path: Path) -> Path:
    return (*document.prefix, *path) if isinstance(document, Section) else path


def reread(document: Document, text: str) -> Document:
    """The document, parsed from a new content of its file."""
    if isinstance(document, Part):
        return document.again(text) if document.again is not None else document
    after = parse(document.path, text, document.syntax, document.bom)
    return found(after, document.prefix) if isinstance(document, Section) else after


def every_document(documents: list[Document]) -> list[Document]:
    """The documents, then the modules and config files that values of a call are written in, each once."""
    paths = {document.path for document in documents}
    found = {each.document.path: each.document for document in documents for each in document.written_elsewhere()}
    return [*documents, *(document for path, document in found.items() if path not in paths)]


def by_path(documents: list[Document]) -> dict[str, Document]:
    """The documents of files by their paths, without the configs that a script writes, whose path is that of the script."""
    return {document.path: document for document in documents if document.is_editable}


def reread_all(documents: list[Document], texts: Mapping[str, str]) -> list[Document]:
    """The documents, those parsed again whose files have new contents; a call may take its values from several files."""
    return [reread_with(document, texts) for document in documents]


def reread_with(document: Document, texts: Mapping[str, str]) -> Document:
    """The document with new contents for some files."""
    if isinstance(document, Part):
        return document.reread({normpath(path): text for path, text in texts.items()})
    return reread(document, texts[document.path]) if document.path in texts else document


def found(document: Document, prefix: Path) -> Section:
    """A section with the facts about its file: its problems, its comments and its syntax."""
    section = Section(document, prefix)
    section.roots = [root.resolved() for root in section.roots]
    section.problems, section.comments = document.problems, document.comments
    section.leaves, section.relaxations = document.leaves, document.relaxations
    return section
