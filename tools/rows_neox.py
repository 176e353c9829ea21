"""The rows of GPT-NeoX: what `NeoXArgs` computes and checks when it is built, but for the types of its fields, which are in the tables."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from extract_rows import rows_of
from history_rows import Release
from row_sources import Package
from row_table_text import Function, Table

PACKAGE = "megatron"
CONFIG = "config"
MODULE, CLASS, POST_INIT = "megatron.neox_arguments.arguments", "NeoXArgs", "__post_init__"
GIVEN: dict[str, Any] = {
    "update_value": "set",
    "update_values": "set",
    "validate_keys": True,
    "enable_logging": None,
    "obtain_resource_pool": "fact",
    "expand_attention_types": "fact",  # whose loops are as long as a file says
    "validate_types": True,  # a rule has the types of all fields
}
MARKS = re.compile("^\x1b\\[\\d+m\\[FAIL\\]\x1b\\[\\d+m ?|^{FAIL}|\x1b\\[\\d+m")  # colours, and what is in front of a message


def table(folders: Mapping[Release, Path]) -> Table:
    """The rows of all releases."""
    made = Table()
    for version, folder in sorted(folders.items()):
        made.add(version, functions(folder))
    return made


def functions(folder: Path) -> Iterator[Function]:
    """The constructor of a release."""
    package = Package(str(folder), PACKAGE)
    module = package.module(MODULE)
    definition = module.names[CLASS]
    constructor = next(each for each in definition.body if isinstance(each, ast.FunctionDef) and each.name == POST_INIT)
    rows = rows_of(package, module, constructor, (definition, module), given=GIVEN)[0]
    yield Function(CLASS, CONFIG, "", [plain(row) for row in rows if "todo" not in row])


def plain(part: Any) -> Any:
    """A part of a row whose strings have no marks."""
    if isinstance(part, dict):
        return {key: plain(value) for key, value in part.items()}
    if isinstance(part, (list, tuple)):
        return [plain(each) for each in part]
    return MARKS.sub("", part) if isinstance(part, str) else part
