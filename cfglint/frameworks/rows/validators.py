"""The validators of pydantic models, whose rows have names with the model in front, and what pydantic makes of their exceptions."""

from __future__ import annotations

from cfglint.findings.vocabulary import Kind
from cfglint.frameworks.releases.versions import Version
from cfglint.frameworks.rows.expressions import Raised
from cfglint.frameworks.rows.table import Function, table_of
from cfglint.frameworks.validation.pydantic import RULE, Invalid
from cfglint.source import cached

WRAPPED = {"ValueError": "Value error", "AssertionError": "Assertion failed"}  # what pydantic turns into its own exception


@cached
def validators(kind: Kind, model: str, stage: str, release: Version) -> list[Function]:
    return [function for function in table_of(kind).functions(stage, release) if function.name.startswith(f"{model}.")]


def refusal(raised: Raised, kind: str = RULE) -> Invalid:
    """The refusal by a validator; an exception that pydantic does not wrap comes as it is."""
    if raised.kind in WRAPPED:
        return Invalid(f"{WRAPPED[raised.kind]}, {raised.message}", kind=kind, text=raised.message)
    return Invalid(raised.message, kind=kind, text="a value in it has the wrong type").at((), raises=raised.kind)
