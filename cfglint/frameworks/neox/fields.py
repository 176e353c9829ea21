"""The fields of NeoXArgs as its type check knows them, in the modelled release and in the two tagged ones.

Source: gpt-neox 2026-05 megatron/neox_arguments/neox_args.py, deepspeed_args.py; the same files of v1.0 (December 2021)
and v2.0 (March 2023) for their names.
"""

from __future__ import annotations

from cfglint.findings.setting import NoSuchField
from cfglint.findings.wording import spelled
from cfglint.frameworks.neox._tables import CHOICES, FIELDS, MEMBERS, REMOVED, SINCE
from cfglint.frameworks.releases.versions import Version
from cfglint.source.annotations import Any, Callable, Operand
from cfglint.source.record import Record

PLAIN_TYPES = ("int", "float", "str", "bool", "list", "dict")
FIRST_WITHOUT_TAGS = (3,)
CANNOT = "ValueError: NeoXArgs.__post_init__() NeoXArgs types cannot be validated"


def default(name: str) -> Operand:
    if name not in FIELDS:
        raise NoSuchField(name)
    return FIELDS[name][1]


def choices(name: str) -> list[str]:
    return CHOICES[name].split() if name in CHOICES else []


class Check(Record):
    """What the type check accepts for a field: the Python type of a plain one, `literal` with its values, or `union` with its types;
    None for a name that is not a field.
    """

    expected: str | None
    choices: list[str]
    members: list[str]

    def refusal(self, value: object) -> str | None:
        """The exception of the type check for a value, as `Type: message`; None if the value passes.

        null always passes, and an int passes for a float; nothing else is converted. Literals are compared without
        regard to case. Source: gpt-neox 2026-05 arguments.py:1365-1422.
        """
        wanted, kind = self.expected, type(value).__name__
        if value is None or wanted is None or kind == wanted or (kind == "int" and wanted == "float"):
            return None
        if wanted == "literal":
            passes = isinstance(value, str) and value.lower() in [choice.lower() for choice in self.choices]
            return None if passes else CANNOT
        if wanted == "union":
            return None if kind in self.members else CANNOT
        return f"AttributeError: type object '{wanted}' has no attribute '__origin__'"


_checks: dict[str | None, Check] = {}  # of the modelled release, by field


def check_of(name: str, annotation: str | None = None) -> Check:
    """The type check of a field: by its annotation in the project's own copy of GPT-NeoX, else as in the modelled release."""
    key = name if name in FIELDS else None  # which any other name is
    if key not in _checks:
        wanted = FIELDS[name][0] if name in FIELDS else None
        _checks[key] = Check(wanted, choices(name), MEMBERS[name].split() if wanted == "union" else [])
    modelled = _checks[key]
    if annotation in (None, modelled.expected):
        return modelled
    if annotation in PLAIN_TYPES:
        return Check(annotation, [], [])
    values = literal_values(annotation)
    if values:
        return Check("literal", values, [])
    is_other = modelled.expected in (*PLAIN_TYPES, "literal")  # the modelled release has a check of another form
    return Check(None, [], []) if is_other else modelled


def literal_values(annotation: str) -> list[str]:
    """The strings that `Literal[...]` allows; empty for another annotation, and for one with names of constants."""
    import ast

    name, mark, inside = annotation.removesuffix("]").partition("[")
    if name.rpartition(".")[2] != "Literal" or not mark:
        return []
    try:
        values = ast.literal_eval(f"[{inside}]")
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return []
    return [str(value) for value in values if value is not None]


def fields_of_release(version: Version) -> dict[str, str]:
    """The names of the fields of a tagged release, without their types; empty for the modelled one."""
    names = [*(name for name in FIELDS if SINCE.get(name, ()) <= version), *REMOVED] if version < FIRST_WITHOUT_TAGS else ()
    return dict.fromkeys(names, "")


def raised(operation: Callable[[], Any]) -> str | None:
    """The exception that an operation raises, as `Type: message`; None if it succeeds."""
    try:
        operation()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def describe(value: object) -> str:
    """A value as a message shows it: as the file spells it, with the type if the spelling could hide it."""
    if isinstance(value, str):
        return f"the string {spelled(value)}"
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "a mapping"
    return spelled(value) if value is None or isinstance(value, (bool, int, float)) else f"a {type(value).__name__}"
