"""Predicts how an LLM training framework would run the given config files on a number of GPUs, without the framework."""

# ruff: noqa: F403, F405 (the names of `__all__`, which both modules have)
from __future__ import annotations

from cfglint.version import __version__ as __version__

# fmt: off
__all__ = [
    "ArgumentError", "CfglintError", "CheckResult", "Contradiction", "DiffResult", "EditRefused", "Explanation", "FileProblem",
    "FixResult", "LogResult", "MissingFactError", "MissingFileError", "NewFiles", "PlanResult", "Preflight", "ReviewResult",
    "Skipped", "UnknownKindError", "Unreachable", "ValueChange", "WouldFail", "check", "diff", "explain", "fix", "log", "new",
    "plan", "preflight", "review_branch",
]
# fmt: on

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.api import *


def __getattr__(name: str) -> object:
    """Import a public name from `cfglint.api` when it is first used: the command needs none of them.

    None where a module of the package has that name: its import would replace the function.
    """
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from cfglint import api

    value: object = getattr(api, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The names of the library, for completion in a notebook: most are imported when they are first used."""
    return sorted({*__all__, "__version__"})
