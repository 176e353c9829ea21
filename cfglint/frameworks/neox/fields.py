"""The fields of NeoXArgs: their types, allowed values and defaults, from the schema of the kind."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Fields annotated with Union or Optional: a wrong type is logged and refused, where a plain annotation dies in
# the check itself (arguments.py:1385 against 1405).
UNIONS = frozenset(
    """
    fused_kernels_build_path weight_server_port online_dataserver_ips online_dataserver_ports zero_stage
    checkpoint_factor comet_workspace comet_project comet_experiment_name comet_tags comet_others
    """.split()  # noqa: SIM905
)
PYTHON = {"integer": "int", "number": "float", "boolean": "bool", "string": "str", "array": "list", "object": "dict"}

_fields: dict[str, dict[str, Any]] = {}
_defaults: dict[str, Any] = {}


def fields() -> dict[str, dict[str, Any]]:
    """Every field by its name, as the schema states it."""
    if not _fields:
        _fields.update(_load())
    return _fields


def _load() -> dict[str, dict[str, Any]]:
    from cfglint.schema import load

    properties: dict[str, dict[str, Any]] = load("neox").raw["properties"]
    return properties


def known(name: str) -> bool:
    """Whether NeoXArgs has a field of that name."""
    return name in fields()


def defaults() -> dict[str, Any]:
    """The default of every field."""
    if not _defaults:
        _defaults.update((name, field.get("default")) for name, field in fields().items())
    return _defaults


def expected(name: str) -> str | None:
    """The annotated Python type of a plain field, `literal` or `union`; None for a name that is no field."""
    if name not in _expected:
        if not known(name):
            return None
        _expected[name] = annotated(name)
    return _expected[name]


def annotated(name: str) -> str:
    """The same for a field, worked out from the schema."""
    field = fields()[name]
    if field.get("x-any"):
        return "Any"
    if "enum" in field:
        return "literal"
    if name in UNIONS:
        return "union"
    return PYTHON[next(each for each in field["type"] if each != "null")]


_expected: dict[str, str] = {}


def choices(name: str) -> list[Any]:
    """The values that a literal field allows, null aside."""
    return [each for each in fields()[name].get("enum", ()) if each is not None]


def members(name: str) -> list[str]:
    """The Python types that pass for a union field."""
    types = [each for each in fields()[name].get("type", ()) if each != "null"]
    return ["int", "float"] if types == ["number"] else [PYTHON[each] for each in types]


def refusal(name: str, value: Any) -> str | None:
    """What the type check makes of a value, as `Type: text`; None where it passes.

    null always passes, and an int passes for a float; nothing else is converted. Literals are compared without
    regard to case. Source: gpt-neox 2026-05 arguments.py:1365-1422.
    """
    wanted = expected(name)
    kind = type(value).__name__
    if value is None or wanted is None or kind == wanted or (kind == "int" and wanted == "float"):
        return None
    if wanted == "literal":
        allowed = choices(name)
        passes = value in allowed or (isinstance(value, str) and value.lower() in [each.lower() for each in allowed])
        return None if passes else CANNOT
    if wanted == "union":
        return None if kind in members(name) else CANNOT
    return f"AttributeError: type object '{wanted}' has no attribute '__origin__'"


CANNOT = "ValueError: NeoXArgs.__post_init__() NeoXArgs types cannot be validated"
