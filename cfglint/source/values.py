"""The types of the values that the parsers of frameworks make of files and launch lines. Only type checkers import this module."""

from __future__ import annotations

from typing import Any, TypeAlias

# None, a boolean, a number, a string, a date, a list or a mapping of such values, `Unknown`, or an object of a custom tag. What it is
# decides the file, and rules apply the operators of the framework to it, which may raise: a type checker lets every operator pass.
ConfigValue: TypeAlias = Any
ConfigMapping: TypeAlias = dict[Any, Any]  # a mapping of a file: YAML allows keys that are no strings
ConfigTable: TypeAlias = dict[str, Any]  # a mapping whose keys are strings
