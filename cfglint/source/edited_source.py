"""Another source of a run's files: with new contents for some of them."""

from __future__ import annotations

from cfglint.source.annotations import Container, Mapping
from cfglint.source.file_source import FileSource


class EditedSource(FileSource):
    """Another source with new contents for some of its files, whatever their paths are spelled like."""

    def __init__(self, source: FileSource, texts: Mapping[str, str]) -> None:
        super().__init__(source.texts)
        self.source = source
        self.disk = source.disk
        self.edited = {source.identity(path): text for path, text in texts.items()}

    def is_file(self, path: str) -> bool:
        """Whether there is such a file."""
        return self.source.is_file(path)

    def is_given(self, path: str) -> bool:
        """Whether the content of a file was passed, so that it is not read from disk."""
        return self.source.is_given(path)

    def leads_out(self, path: str, origin: str, named: Container[str] = ()) -> bool:
        """Whether a file is outside the project of the one that names it, and was neither passed nor `named` on the command line."""
        return self.source.leads_out(path, origin, named)

    def identity(self, path: str) -> str:
        """A common name for all spellings of a file's path."""
        return self.source.identity(path)

    def root(self, path: str) -> str:
        """The top of the project around a file, relative to the working directory."""
        return self.source.root(path)

    def read_bytes(self, path: str) -> bytes:
        """The content of a file; raises FileProblem."""
        text = self.edited.get(self.identity(path))
        return self.source.read_bytes(path) if text is None else text.encode()

    def read(self, path: str) -> tuple[str, bool]:
        """Return (content, whether it had a byte order mark); raises FileProblem."""
        text = self.edited.get(self.identity(path))
        return self.source.read(path) if text is None else (text, False)
