"""Why a value of a script is unknown."""

from __future__ import annotations

from cfglint.evaluate import Reason, Unknown
from cfglint.source.annotations import Iterable

OF_CALL = Reason("branch", "the arguments of the script")  # a branch sets it that these decide
UNDECIDED = Reason("branch", "branches that are not decided")
UNCLEAR = Unknown(UNDECIDED)  # a status that is not known
FROM_INPUT = Reason("environment", "the input of the script")
FROM_RUN_TO_RUN = Reason("environment", "what changes from run to run", "date, $RANDOM, process id")
FOLDER = Reason("environment", "the working folder")
COUNTED = Reason("machine", "the number of GPUs of the machine", "nvidia-smi or device count")
OPTION = Reason("argument", "an option of the script")
PLACEHOLDER = Reason("argument", "a placeholder")
TOO_LONG = Reason("budget", "the length of a value that is kept")
TOO_DEEP = Reason("budget", "the depth to which commands are followed")


def unset(name: str) -> Reason:
    """A variable that neither the script nor `--env` sets."""
    return Reason("environment", f"the variable `{name}`", f"pass --env {name}=VALUE", name=name)


def parameter(name: str) -> Reason:
    """A parameter of the call of the script: `$1`, `$@`."""
    return Reason("argument", f"the argument `{name}` of the script" if name.startswith("$") else name, name=name)


ALL_OF_CALLER = parameter("$@")


def computed(expression: str) -> Reason:
    return Reason("program", f"`{expression}`")


def is_unset(reason: Reason) -> bool:
    """Whether it is a variable that nobody sets."""
    return reason.kind == "environment" and bool(reason.name)


def by_call(assumed: Iterable[Reason]) -> bool:
    """Whether an argument of the script is among what counts as not given, or what these decide."""
    return any(reason == OF_CALL or (reason.kind == "argument" and reason.name) for reason in assumed)


def from_caller(reason: Reason) -> bool:
    """Whether only the caller of the script could set the value: a variable or a parameter."""
    return reason.kind in ("environment", "argument") and bool(reason.name)
