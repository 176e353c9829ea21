"""The types that annotations name: those of the standard library, and those of the values of files and launch lines.

Annotations are not evaluated, so a module imports these names as any others and still needs neither `typing` nor `collections`, which
take longer to import than the check of one file.
"""

from __future__ import annotations

from _collections_abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence, Set

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any, Final, NoReturn, TypeAlias, TypeGuard

    # None, a boolean, a number, a string, a date, a list or a mapping of such values, `Unknown`, or an object of a custom tag. What it is
    # decides the file, and rules apply the operators of the framework to it, which may raise: a type checker lets every operator pass.
    ConfigValue: TypeAlias = Any
    ConfigMapping: TypeAlias = dict[Any, Any]  # a mapping of a file: YAML allows keys that are no strings
    ConfigTable: TypeAlias = dict[str, Any]  # a mapping whose keys are strings
    BinaryFile: TypeAlias = IO[bytes]
else:
    Any = Final = NoReturn = TypeAlias = TypeGuard = ConfigValue = ConfigMapping = ConfigTable = BinaryFile = object

# fmt: off
__all__ = [
    "Any", "BinaryFile", "Callable", "Collection", "ConfigMapping", "ConfigTable", "ConfigValue", "Container", "Final", "Iterable",
    "Iterator", "Mapping", "NoReturn", "Sequence", "Set", "TypeAlias", "TypeGuard",
]
# fmt: on
