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
        return self.source.is_file(path)

    def is_given(self, path: str) -> bool:
        return self.source.is_given(path)

    def leads_out(self, path: str, origin: str, named: Container[str] = ()) -> bool:
        return self.source.leads_out(path, origin, named)

    def identity(self, path: str) -> str:
        return self.source.identity(path)

    def root(self, path: str) -> str:
        return self.source.root(path)

    def read_bytes(self, path: str) -> bytes:
        text = self.edited.get(self.identity(path))
        return self.source.read_bytes(path) if text is None else text.encode()

    def read(self, path: str) -> tuple[str, bool]:
        text = self.edited.get(self.identity(path))
        return self.source.read(path) if text is None else (text, False)
