"""The schemas as entries of a catalogue, in the format of https://www.schemastore.org: editors select by file name."""

from __future__ import annotations

from cfglint.frameworks import framework
from cfglint.frameworks.schema import kinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    class CatalogEntry(TypedDict):
        """One schema of the catalogue."""

        name: str
        description: str
        fileMatch: list[str]
        url: str


def catalog(address: str) -> list[CatalogEntry]:
    """The entries of the schemas whose files have names of their own; each address ends with the name of the kind."""
    return [entry(kind, address) for kind in kinds() if framework(kind).file_match]


def entry(kind: str, address: str) -> CatalogEntry:
    """The entry of a kind."""
    own = framework(kind)
    return {
        "name": own.title,
        "description": f"{own.title[0].upper()}{own.title[1:]} ({own.package} {own.newest})",
        "fileMatch": [*own.file_match],
        "url": f"{address.rstrip('/')}/{kind}.json",
    }
