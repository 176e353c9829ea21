"""The instances of a cloud that an accelerate file names."""

from __future__ import annotations

from cfglint.batch.cards import of_instance
from cfglint.source.document import Document


def card(document: Document) -> str:
    node = document.find(("ec2_instance_type",))[1]
    found = of_instance(node.resolved().raw.strip("\"'")) if node is not None else None
    return found.name if found is not None else ""
