"""Values that a framework accepts beyond the schema of its kind, which describes only recommended values."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Raw = dict[str, Any]

NUMBER_AS_STRING = {"type": "string", "pattern": r"^\s*[+-]?(\d[\d_]*(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*$"}
TRUTH = {"enum": [None, 0, 1, "true", "True"]}  # for a boolean that is only tested for truth: the values whose meaning is obvious


class Additions:
    """Further values of a kind: `values` by key, `by_type` by a type that the schema names.

    `placeholders`: the loader fills `${...}` before the values are parsed. `more_keys`: keys beyond the schema depend on
    something outside the file, so that only `check` can judge an unknown key.
    """

    def __init__(
        self,
        values: dict[str, Raw] | None = None,
        by_type: dict[str, tuple[Raw, ...]] | None = None,
        placeholders: bool = False,
        more_keys: bool = False,
    ) -> None:
        self.values = values or {}
        self.by_type = by_type or {}
        self.placeholders = placeholders
        self.more_keys = more_keys
