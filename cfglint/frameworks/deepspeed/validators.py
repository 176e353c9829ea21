"""What the validators of DeepSpeed's config models refuse: their rows."""

from __future__ import annotations

from cfglint.frameworks.deepspeed import FRAMEWORK
from cfglint.frameworks.releases.versions import Version
from cfglint.frameworks.rows.evaluation import Evaluation
from cfglint.frameworks.rows.expressions import Raised
from cfglint.frameworks.rows.validators import refusal, validators
from cfglint.frameworks.validation.pydantic import TYPE, Invalid
from cfglint.source.annotations import ConfigTable, ConfigValue, Iterator

AFTER, FIELD = "after", "field before"


def converted(model: str, name: str, value: object, release: Version) -> ConfigValue:
    """The value of a field as its validator passes it on; raises Invalid."""
    run = Evaluation({"value": value, "field_name": name}, lambda *_: None)
    for validator in validators(FRAMEWORK.kind, model, FIELD, release):
        if validator.field == name:
            try:
                run.run(validator.rows)
            except Raised as raised:
                raise refusal(raised, TYPE) from None
    found: ConfigValue = run.values["value"]
    return found


def compared(model: str, values: ConfigTable, release: Version) -> Iterator[Invalid]:
    """What a model refuses in the values of a section: the first refusal, as pydantic stops there."""
    run = Evaluation({**values}, lambda *_: None)
    try:
        for validator in validators(FRAMEWORK.kind, model, AFTER, release):
            run.run(validator.rows)
    except Raised as raised:
        yield refusal(raised)
