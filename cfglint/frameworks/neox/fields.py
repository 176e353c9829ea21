"""The fields of NeoXArgs as its type check knows them, in the modelled release and in the two tagged ones.

Source: gpt-neox 2026-05 megatron/neox_arguments/neox_args.py, deepspeed_args.py; the same files of v1.0 (December 2021)
and v2.0 (March 2023) for their names.
"""

from __future__ import annotations

from cfglint.findings.setting import NoSuchField
from cfglint.frameworks.neox._tables import CHOICES, FIELDS, MEMBERS, REMOVED, SINCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cfglint.frameworks.versions import Version

FIRST_WITHOUT_TAGS = (3,)
CANNOT = "ValueError: NeoXArgs.__post_init__() NeoXArgs types cannot be validated"


def known(name: str) -> bool:
    """Whether NeoXArgs has a field of that name."""
    return name in FIELDS


def default(name: str) -> Any:
    """The default of a field."""
    if name not in FIELDS:
        raise NoSuchField(name)
    return FIELDS[name][1]


def expected(name: str) -> str | None:
    """The annotated Python type of a plain field, `literal` or `union`; None for a name that is not a field."""
    return FIELDS[name][0] if name in FIELDS else None


def choices(name: str) -> list[str]:
    """The values that a literal field allows, except null."""
    return CHOICES[name].split() if name in CHOICES else []


def members(name: str) -> list[str]:
    """The Python types that a union field accepts."""
    return MEMBERS[name].split()


def refusal(name: str, value: Any) -> str | None:
    """The exception of the type check for a value, as `Type: message`; None if the value passes.

    null always passes, and an int passes for a float; nothing else is converted. Literals are compared without
    regard to case. Source: gpt-neox 2026-05 arguments.py:1365-1422.
    """
    wanted = expected(name)
    kind = type(value).__name__
    if value is None or wanted is None or kind == wanted or (kind == "int" and wanted == "float"):
        return None
    if wanted == "literal":
        passes = isinstance(value, str) and value.lower() in [each.lower() for each in choices(name)]
        return None if passes else CANNOT
    if wanted == "union":
        return None if kind in members(name) else CANNOT
    return f"AttributeError: type object '{wanted}' has no attribute '__origin__'"


def fields_of_release(version: Version) -> dict[str, str]:
    """The names of the fields of a tagged release, without their types; empty for the modelled one."""
    if version >= FIRST_WITHOUT_TAGS:
        return {}
    return dict.fromkeys([*(name for name in FIELDS if SINCE.get(name, ()) <= version), *REMOVED], "")
