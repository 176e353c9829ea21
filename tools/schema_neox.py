"""GPT-NeoX's arguments from `megatron/neox_arguments` of its source tree.

Every argument is an annotated field of one of the dataclasses that `NeoXArgs` (`arguments.py`) inherits.
What a file may hold follows from `validate_types` there: null always, an int where a float is meant, and
otherwise the very type of the annotation.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from schema_source import Module, SourceError, Tree, release

Raw = dict[str, Any]

PLAIN = {"int": "integer", "float": "number", "str": "string", "bool": "boolean", "list": "array", "dict": "object"}
NOT_A_CONSTANT = {"git_hash"}  # asked of git when the module is imported


def find(path: Path) -> Tree:
    """The package of the arguments, from the checkout's root or the folder itself."""
    for folder in (path / "megatron" / "neox_arguments", path):
        if (folder / "arguments.py").exists():
            return Tree(folder)
    raise SourceError(f"{path}: no GPT-NeoX source (megatron/neox_arguments/arguments.py)")


def facts(tree: Tree) -> dict[str, Raw]:
    """Argument -> what the sources say of it, in the order of the classes that NeoXArgs inherits."""
    module = tree.file("arguments.py")
    if "BASE_CLASSES" not in module.assigned:
        raise SourceError(f"{module.path}: BASE_CLASSES, what NeoXArgs inherits, is missing")
    bases = module.assigned["BASE_CLASSES"]
    if not isinstance(bases, ast.List):
        raise module.refuse(bases, "not a list of classes")
    found: dict[str, Raw] = {}
    for base in bases.elts:
        home = module.find(base.id) if isinstance(base, ast.Name) else None
        if home is None or not isinstance(home[1], ast.ClassDef):
            raise module.refuse(base, "not a class of this package")
        found.update(_fields(home[0], home[1]))
    return found


def version(tree: Tree) -> str | None:
    """GPT-NeoX has no releases worth a name; the caller says the month."""
    return None


def _fields(module: Module, definition: ast.ClassDef) -> dict[str, Raw]:
    fields: dict[str, Raw] = {}
    for statement in definition.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            raw = _accepted(module, statement.annotation)
            if statement.target.id not in NOT_A_CONSTANT:
                raw["default"] = module.constant(statement.value) if statement.value is not None else None
            fields[statement.target.id] = raw
    return fields


def _accepted(module: Module, annotation: ast.expr) -> Raw:
    text = ast.unparse(annotation)
    if text == "Any":
        return {"x-any": True}
    if text in PLAIN:
        return {"type": [PLAIN[text], "null"]}
    if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "Literal":
        return {"enum": [*module.literal_values(annotation), None], "x-enum-case": "unchecked"}
    found = re.fullmatch(r"(Optional|Union)\[(.*)\]", text)
    if found and isinstance(annotation, ast.Subscript):
        return _union(module, annotation)
    raise module.refuse(annotation, "an annotation without a rule")


def _union(module: Module, annotation: ast.Subscript) -> Raw:
    """The members that a value can match: the check compares `type(value)`, which a List[...] or Literal never equals."""
    parts = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
    members = []
    for part in parts:
        text = ast.unparse(part)
        if text in PLAIN:
            members.append(text)
        elif not text.startswith(("List[", "Literal[")):
            raise module.refuse(part, "a member of a union without a rule")
    types = [PLAIN[member] for member in members]
    return {"type": [*(["number"] if "number" in types else types), "null"], "x-reads": ["|", *members]}


HEAD = '''"""The fields of NeoXArgs: their types, defaults and allowed values, as its type check knows them.

Generated from schemas/neox.json by tools/rebuild_schema.py; do not edit.
"""

# ruff: noqa
# fmt: off

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cfglint.frameworks.releases.versions import Version

'''


def tables(schema: Raw) -> str:
    """The text of `cfglint/frameworks/neox/_tables.py`."""
    known: dict[str, Raw] = schema["properties"]
    current = {name: raw for name, raw in known.items() if "x-removed" not in raw}
    parts = [
        ("name: (annotation, default); `literal` and `union` refer to CHOICES and MEMBERS.", "FIELDS: dict[str, tuple[str, Any]]"),
        ("The values that a literal field allows, null aside.", "CHOICES: dict[str, str]"),
        ("The Python types that pass for a union field.", "MEMBERS: dict[str, str]"),
        (
            "The release that brought a field, of fields that the oldest tagged one does not have.",
            "SINCE: dict[str, Version]",
        ),
        ("Fields that only tagged releases have.", "REMOVED: dict[str, Version]"),
        ("Fields that nothing reads.", "UNUSED: dict[str, str]"),
    ]
    entries: tuple[Raw, ...] = (
        {name: (_annotation(raw), raw.get("default")) for name, raw in current.items()},
        {name: " ".join(each for each in raw["enum"] if each is not None) for name, raw in current.items() if "enum" in raw},
        {name: " ".join(raw["x-reads"][1:]) for name, raw in current.items() if "x-reads" in raw},
        {name: release(raw["x-since"]) for name, raw in current.items() if "x-since" in raw},
        {name: release(raw["x-removed"]) for name, raw in known.items() if "x-removed" in raw},
        {name: raw["x-unused"] for name, raw in current.items() if "x-unused" in raw},
    )
    return HEAD + "\n".join(_table(comment, name, rows) for (comment, name), rows in zip(parts, entries, strict=True))


def _table(comment: str, name: str, rows: Raw) -> str:
    lines = "".join(f"    {key!r}: {value!r},\n" for key, value in rows.items())
    return f"# {comment}\n{name} = {{\n{lines}}}\n"


def _annotation(raw: Raw) -> str:
    """The annotation of a field, `literal` and `union` for all of their kind."""
    if "x-any" in raw:
        return "Any"
    if "x-reads" in raw:
        return "union"
    return "literal" if "enum" in raw else {words: name for name, words in PLAIN.items()}[raw["type"][0]]
