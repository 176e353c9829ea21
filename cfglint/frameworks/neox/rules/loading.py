"""Rules about merging the files of a run: megatron/neox_arguments/arguments.py:224-285."""

from __future__ import annotations

import os

from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import WRITTEN, Setting
from cfglint.frameworks.neox.config import NeoXConfig
from cfglint.frameworks.remedies import remove
from cfglint.source.annotations import Iterator
from cfglint.source.document import Document


def written(document: Document, text: str) -> Setting:
    """A top-level key of one file, whether or not another file overrides it."""
    key_node, node = document.find((text,))
    return Setting((text,), node.raw if node else None, WRITTEN, document, node, key_node)


@rule("NEO001")
def duplicate_argument(config: NeoXConfig) -> Iterator[Finding]:
    for document, text, before, text_before in config.repeats:
        if "-" in text:
            continue
        later, earlier = written(document, text), written(before, text_before)
        same = later.value == earlier.value and later.value is not None
        message = f"duplicate key `{text}`: already set at {earlier.place}"
        exception = f"ValueError: Conf file {document.path} has the following duplicate keys with previously loaded file: {text}"
        fix = remove(later, f"remove the second `{text}`") if same else None
        remedy = None if same else f"keep one of the two `{text}`"
        yield Finding(later, message, related=(earlier,), exception=exception, fix=fix, on_key=True, help=remedy)


@rule("NEO002")
def duplicate_file_name(config: NeoXConfig) -> Iterator[Finding]:
    seen: dict[str, Document] = {}
    for document in config.documents:
        name = os.path.basename(document.path)
        if name in seen:
            message = f"two files have the name {name}: {seen[name].path} and {document.path}"
            yield Finding(Setting((), None, document=document), message, help="rename one of the two files")
        seen.setdefault(name, document)


@rule("KEY303")
def overridden_by_dashed_key(config: NeoXConfig) -> Iterator[Finding]:
    for document, text, before, text_before in config.repeats:
        if "-" in text:
            earlier = written(before, text_before)
            message = f"`{text}` silently overrides `{text_before}` ({earlier.place})"
            yield Finding(written(document, text), message, related=(earlier,), on_key=True, help="keep one of the two spellings")
