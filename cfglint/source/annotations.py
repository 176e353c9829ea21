"""The types that annotations name: those of the standard library, and those of the values of files and launch lines.

Annotations are not evaluated, so a module imports these names as any others and still needs neither `typing` nor `collections`, which
take longer to import than the check of one file.
"""

from __future__ import annotations

from _collections_abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence, Set

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path as Folder  # of a package's source
    from typing import IO, Any, Final, Literal, NoReturn, TypeAlias, TypeGuard, TypeVar

    from tree_sitter import Node as SyntaxNode  # of a shell script

    from cfglint.evaluate import Unknown

    # What a parser makes of a node of a file, or of a word of a line. What it is decides the file: who computes with it asks first.
    ConfigValue: TypeAlias = (
        "bool | int | float | complex | str | bytes | date | Unknown | list[ConfigValue] | tuple[ConfigValue, ...] | set[Any]"
        " | ConfigMapping | None"
    )
    # A value to which rules apply the operators of the framework's own code, as they stand there: what these raise is the finding, so
    # a type checker has to let every operator pass. Its type is what the parser or the defaults of the framework make of a field.
    Operand: TypeAlias = Any
    Truth: TypeAlias = bool | Unknown  # whether something holds
    ConfigMapping: TypeAlias = dict[Any, Any]  # a mapping of a file: YAML allows keys that are no strings
    ConfigTable: TypeAlias = dict[str, Any]  # a mapping whose keys are strings
    BinaryFile: TypeAlias = IO[bytes]
    Syntax: TypeAlias = Literal["yaml", "json", "shell", "python"]
    NodeKind: TypeAlias = Literal["scalar", "mapping", "sequence", "alias"]
    FileProblemKind: TypeAlias = Literal["unreadable", "limit", "encoding", "control", "unwritable"]
    ProblemKind: TypeAlias = FileProblemKind | Literal["syntax", "documents", "duplicate", "value", "not-strict-json"]
    ChangeKind: TypeAlias = Literal["replace", "insert", "delete", "rename"]
    Item = TypeVar("Item")
    Result = TypeVar("Result")
else:
    Any = Final = Folder = NoReturn = TypeAlias = TypeGuard = ConfigValue = Operand = SyntaxNode = Truth = ConfigMapping = object
    ConfigTable = BinaryFile = Syntax = NodeKind = FileProblemKind = ProblemKind = ChangeKind = Item = Result = object

# fmt: off
__all__ = [
    "Any", "BinaryFile", "Callable", "ChangeKind", "Collection", "ConfigMapping", "ConfigTable", "ConfigValue", "Container",
    "FileProblemKind", "Final", "Folder", "Item", "Iterable", "Iterator", "Mapping", "NoReturn", "NodeKind", "Operand", "ProblemKind",
    "Result", "Sequence", "Set", "Syntax", "SyntaxNode", "Truth", "TypeAlias", "TypeGuard",
]
# fmt: on
