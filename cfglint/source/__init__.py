"""Parses files into values with positions and edits them: YAML, JSON, shell and Python syntax, independent of frameworks."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Function = TypeVar("Function", bound=Callable[..., Any])

IS_OWN_PROCESS = False  # set by the command line: no other code in this process uses PyYAML or tree-sitter


class CfglintError(Exception):
    """A request that cfglint cannot fulfil; the message names the cause and the remedy: the base of every error that callers handle."""


def cached(function: Function) -> Function:
    """A function that is called once for each of its arguments, by position, as with `functools.cache`, which is slower to import."""
    results: dict[tuple[Any, ...], Any] = {}

    def result(*arguments: Any) -> Any:
        if arguments not in results:
            results[arguments] = function(*arguments)
        return results[arguments]

    return result  # type: ignore[return-value]
