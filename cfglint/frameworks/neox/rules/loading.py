"""Rules about merging the files of a run: megatron/neox_arguments/arguments.py:224-285."""

from __future__ import annotations

import os

from cfglint.findings.rule import VALUE, Finding, load_error, warning
from cfglint.findings.setting import WRITTEN, Setting
from cfglint.frameworks.neox.config import NeoXConfig
from cfglint.frameworks.neox.rules import RUN
from cfglint.frameworks.remedies import remove
from cfglint.source.annotations import Iterator
from cfglint.source.document import Document


def written(document: Document, text: str) -> Setting:
    """A top-level key of one file, whether or not another file overrides it."""
    key_node, node = document.find((text,))
    return Setting((text,), node.raw if node else None, WRITTEN, document, node, key_node)


@load_error(
    "NEO001",
    source="gpt-neox (May 2026) megatron/neox_arguments/arguments.py:246-249",
    old_names=("argument-in-two-files",),
    bad={"model.yml": "{num_layers: 2, seed: 1}\n", "data.yml": "{seed: 2}\n"},
    good={"model.yml": "{num_layers: 2, seed: 1}\n", "data.yml": "{data_path: text}\n"},
    example={**RUN, "at": "/seed"},
)
def duplicate_argument(config: NeoXConfig) -> Iterator[Finding]:
    """An argument is set in two files of a run.

    GPT-NeoX merges its files into one flat mapping and rejects duplicate keys, even with equal
    values. The same happens in a single file when the spelling with dashes comes before the one with underscores.

    Fix: keep it in one of the files. If the values are equal, the later one can be removed safely.
    """
    for document, text, before, text_before in config.repeats:
        if "-" in text:
            continue
        later, earlier = written(document, text), written(before, text_before)
        same = later.value == earlier.value and later.value is not None
        yield Finding(
            later,
            f"duplicate key `{text}`: already set at {earlier.place}",
            related=(earlier,),
            exception=f"ValueError: Conf file {document.path} has the following duplicate keys with previously loaded file: {text}",
            fix=remove(later, f"remove the second `{text}`") if same else None,
            on_key=True,
            help=None if same else f"keep one of the two `{text}`",
        )


@load_error(
    "NEO002",
    old_names=("files-of-one-name",),
    raises="AssertionError: At least two config files have the same filename",
    source="gpt-neox (May 2026) megatron/neox_arguments/arguments.py:258-261",
    bad={"small/model.yml": "{num_layers: 2}\n", "large/model.yml": "{hidden_size: 64}\n"},
    good={"small/model.yml": "{num_layers: 2}\n", "large/sizes.yml": "{hidden_size: 64}\n"},
    example=RUN,
)
def duplicate_file_name(config: NeoXConfig) -> Iterator[Finding]:
    """Two files of a run have the same file name, in different folders.

    GPT-NeoX saves all config files to one folder with every checkpoint.
    """
    seen: dict[str, Document] = {}
    for document in config.documents:
        name = os.path.basename(document.path)
        if name in seen:
            yield Finding(
                Setting((), None, document=document),
                f"two files have the name {name}: {seen[name].path} and {document.path}",
                help="rename one of the two files",
            )
        seen.setdefault(name, document)


@warning(
    "KEY303",
    source="gpt-neox (May 2026) megatron/neox_arguments/arguments.py:246-254",
    about=VALUE,
    old_names=("dashed-twin",),
    bad='{"seed": 1, "hidden_size": 64, "hidden-size": 128}\n',
    good='{"seed": 1, "hidden-size": 128}\n',
    example={**RUN, "at": "/hidden-size"},
)
def overridden_by_dashed_key(config: NeoXConfig) -> Iterator[Finding]:
    """The spelling of an argument with dashes silently overrides the one with underscores.

    Dashes are converted to underscores after the check for duplicates, so `hidden-size` in a later file (or later
    in the same file) is not detected as a duplicate of `hidden_size`; it silently overrides it.
    """
    for document, text, before, text_before in config.repeats:
        if "-" in text:
            earlier = written(before, text_before)
            yield Finding(
                written(document, text),
                f"`{text}` silently overrides `{text_before}` ({earlier.place})",
                related=(earlier,),
                on_key=True,
                help="keep one of the two spellings",
            )
