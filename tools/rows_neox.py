"""The rows of GPT-NeoX: what `NeoXArgs` computes and checks when it is built, but for the types of its fields, which are in the tables."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from extract_rows import rows_of
from history_rows import Release
from row_sources import Package, Ref
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
BATCH = ("calculate_batch_parameters", "check_batch_parameters")  # which also get a table of their own, for the sizes alone
SIZES = {
    "dp_world_size": "world_size",
    "train_batch": "train_batch_size",
    "micro_batch": "train_micro_batch_size_per_gpu",
    "grad_acc": "gradient_accumulation_steps",
}
MARKS = re.compile("^\x1b\\[\\d+m\\[FAIL\\]\x1b\\[\\d+m ?|^{FAIL}|\x1b\\[\\d+m")  # colours, and what is in front of a message


def table(folders: Mapping[Release, Path]) -> Table:
    """The rows of all releases."""
    made = Table()
    for version, folder in sorted(folders.items()):
        made.add(version, functions(folder))
    return made


def functions(folder: Path) -> Iterator[Function]:
    """The constructor of a release, and what it computes of the batch sizes."""
    package = Package(str(folder), PACKAGE)
    module = package.module(MODULE)
    definition = module.names[CLASS]
    constructor = next(each for each in definition.body if isinstance(each, ast.FunctionDef) and each.name == POST_INIT)
    rows = rows_of(package, module, constructor, (definition, module), given=GIVEN)[0]
    yield Function(CLASS, CONFIG, "", [plain(row) for row in rows if "todo" not in row])
    methods = [next(each for each in definition.body if isinstance(each, ast.FunctionDef) and each.name == name) for name in BATCH]
    rows, checks = (
        rows_of(package, module, OfFields().visit(method), (definition, module), bound={"self": Ref("root")})[0] for method in methods
    )
    names = [*SIZES.values()][1:]
    given = {"when": [], "let": "$given", "be": ["and", *(["is not", ["f", name], None] for name in names)]}
    whole = [{"when": [["not", ["v", "$given"]]], "set": name, "be": ["call", "int", ["f", name]]} for name in names]
    yield Function(CLASS, "batch", "", [given, *rows, *whole, *checks])  # what is returned, by hand: integers where one was missing


class OfFields(ast.NodeTransformer):
    """Makes the sizes of a function fields of an object, which change one after the other, as they do where an operator fails."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Attribute(ast.Name("self", ast.Load()), SIZES[node.id], node.ctx) if node.id in SIZES else node


def plain(part: Any) -> Any:
    """A part of a row whose strings have no marks."""
    if isinstance(part, dict):
        return {key: plain(value) for key, value in part.items()}
    if isinstance(part, (list, tuple)):
        return [plain(each) for each in part]
    return MARKS.sub("", part) if isinstance(part, str) else part
