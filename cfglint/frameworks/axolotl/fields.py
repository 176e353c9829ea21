"""Validates and converts values by the annotations of a release of axolotl's models as pydantic does.

The annotation of an Enum has its name: `("enum", NAME, "a", "b")`.
"""

from __future__ import annotations

from cfglint.evaluate import Unknown
from cfglint.frameworks.axolotl import KIND
from cfglint.frameworks.axolotl._tables import CLOSED, NAMES
from cfglint.frameworks.axolotl.releases import HISTORY, LIMITS, PLUGIN, REQUIRED, TOP, has_validator
from cfglint.frameworks.huggingface.fields import choices
from cfglint.frameworks.releases.history import DEFAULT, Fields, Row
from cfglint.frameworks.releases.history import TYPE as READS
from cfglint.frameworks.releases.versions import Version
from cfglint.frameworks.rows.evaluation import Evaluation
from cfglint.frameworks.rows.expressions import Raised
from cfglint.frameworks.rows.validators import refusal, validators
from cfglint.frameworks.validation.pydantic import (
    MISSING,
    UNKNOWN,
    Invalid,
    Reading,
    expected,
    taken_as_they_are,
    value_error,
    within,
)
from cfglint.source.annotations import Any, Callable, Collection, ConfigMapping, ConfigTable, Operand
from cfglint.source.load_results import copied
from cfglint.source.record import Record

Path = tuple[str | int, ...]

DATASET = "SFTDataset"
BEFORE, FIELD_AFTER, AFTER = "nested before", "nested field after", "nested after"  # stages of the validators of models
FIELDS_SET = "model_fields_set"  # the fields that are given, by pydantic's name

# Enums of transformers -> the field of its TrainingArguments that has the same values.
OF_TRANSFORMERS = {"OptimizerNames": "optim", "SchedulerType": "lr_scheduler_type"}
# Strings that a validator of the model turns into members of torchao's types (utils/schemas/quantization.py:12-30).
QUANTIZED = {
    "TorchIntDType": ("int4", "int8"),
    "TorchAOQuantDType": ("int4", "int8", "float8_e4m3fn", "fp8", "float8", "nvfp4", "mxfp4", "ternary"),
}
# The formats of llama.cpp (utils/schemas/export.py:11-20).
GGUF = (
    "F32", "F16", "BF16", "Q8_0", "Q6_K", "Q5_K_M", "Q5_K_S", "Q5_0", "Q4_K_M", "Q4_K_S", "Q4_0", "Q4_1", "Q3_K_L", "Q3_K_M", "Q3_K_S",
    "Q2_K", "Q2_K_S", "IQ4_XS", "IQ4_NL", "IQ3_M", "IQ3_S", "IQ3_XS", "IQ3_XXS", "IQ2_M", "IQ2_S", "IQ2_XS", "IQ2_XXS", "IQ1_M", "IQ1_S",
    "TQ1_0", "TQ2_0", "MXFP4_MOE",
)  # fmt: skip


# Names of the fields in axolotl's own code, which the file may use as well (utils/schemas/deprecated.py:154-168, populate_by_name).
OWN_NAMES = {
    "overrides_of_model_config": "model_config",
    "overrides_of_model_kwargs": "model_kwargs",
    "type_of_model": "model_type",
    "revision_of_model": "model_revision",
}


class ModelFields(Record):
    """The fields of a model in a release: their rows, their defaults, and the names of the required ones."""

    rows: Fields
    defaults: ConfigTable
    required: list[str]


_fields: dict[tuple[Version, tuple[str, ...]], ModelFields] = {}


def fields_of(release: Version, *sections: str) -> ModelFields:
    """The fields of a nested model, or of the top level with the sections of plugins; anew if the release was learned meanwhile."""
    known = _fields.get((release, sections))
    if known is None or (len(sections) == 1 and known.rows is not HISTORY.fields(sections[0], release)):
        rows = HISTORY.fields(sections[0], release)
        for section in sections[1:]:
            rows = {**rows, **HISTORY.fields(section, release)}
        required = [name for name, row in rows.items() if len(row) > REQUIRED]
        known = _fields[release, sections] = ModelFields(rows, {name: row[DEFAULT] for name, row in rows.items()}, required)
    return known


def top_fields(release: Version, plugins: tuple[str, ...]) -> ModelFields:
    return fields_of(release, TOP, *(PLUGIN + plugin for plugin in plugins))


class FieldReading(Reading):
    """The result of validating a mapping by a release of axolotl and of transformers: pydantic's errors and the dropped keys."""

    def __init__(self, release: Version, transformers: Version) -> None:
        super().__init__()
        self.release = release
        self.transformers = transformers
        self.dropped: list[Path] = []

    def top(self, data: ConfigMapping, plugins: tuple[str, ...]) -> ConfigTable:
        """The top-level values: the given ones as pydantic converts them, and the defaults of the others."""
        fields = top_fields(self.release, plugins)
        values = dict(fields.defaults)
        self.faults += [Invalid("Field required", kind=MISSING).at((name,)) for name in fields.required if name not in data]
        for key, value in data.items():
            name: Operand = OWN_NAMES.get(key, key)
            field = fields.rows.get(name)
            if field is None or (name != key and name in data):
                self.dropped.append((key,))
            else:
                values[name] = self.field(field, value, (key,))
        return values

    def field(self, row: Row, value: object, path: Path) -> Operand:
        """The value of one field; None if it has an error, which is recorded."""
        if isinstance(value, Unknown) or (type(value) in taken_as_they_are(row[READS]) and (len(row) <= LIMITS or not row[LIMITS])):
            return value
        try:
            found = self.read(row[READS], value, path)
            return within(found, row[LIMITS]) if len(row) > LIMITS else found
        except Invalid as refusal:
            self.faults.append(refusal.at(path))
            return None

    def trial(self) -> FieldReading:
        return FieldReading(self.release, self.transformers)

    def accept(self, trial: FieldReading, others: list[Operand]) -> None:
        """Take over the keys that a member of a union drops, unless another model of it may have them."""
        self.dropped += () if any(isinstance(part, tuple) and part[0] == "model" for part in others) else trial.dropped

    def members(self, name: str, *values: Operand) -> tuple[Any, ...]:
        """The values of an Enum: those of transformers are in its own tables, and torchao's types have other names in a file."""
        if name in OF_TRANSFORMERS:
            return choices(OF_TRANSFORMERS[name], self.transformers)[1]
        return QUANTIZED.get(name, values)

    def model(self, name: str, value: object, path: Path) -> Operand:
        if not isinstance(value, dict):
            raise expected(f"a valid dictionary or instance of {name}", "a mapping")
        fields, names = fields_of(self.release, name), NAMES.get(name, {})
        before = len(self.faults)
        if name in BY_HAND and has_validator(BY_HAND[name][0], self.release):
            value = BY_HAND[name][1](value)
        if validators(KIND, name, BEFORE, self.release):
            value = self.validated(name, BEFORE, copied(value), path)
            if len(self.faults) > before:
                return None
        values = dict(fields.defaults)
        for key, item in value.items():
            known = names.get(key, key)
            if known in fields.rows:
                values[known] = self.field(fields.rows[known], item, (*path, key))
            elif name in CLOSED:
                self.faults.append(Invalid("Extra inputs are not permitted", kind=UNKNOWN).at((*path, key)))
            else:
                self.dropped.append((*path, key))
        for key in fields.required:
            if key not in value:
                self.faults.append(Invalid("Field required", kind=MISSING).at((*path, key)))
        for stage in (FIELD_AFTER, AFTER) if len(self.faults) == before else ():
            values = self.validated(name, stage, values, path, value.keys())
        return values

    def validated(self, model: str, stage: str, values: ConfigTable, path: Path, given: Collection[str] = ()) -> ConfigTable:
        """The values after the validators of a model in a stage, those of fields for the given ones; what they refuse is a fault."""
        for function in validators(KIND, model, stage, self.release):
            if function.field and function.field not in given:
                continue
            run = Evaluation({**values, FIELDS_SET: [*given]}, lambda *_: None)
            try:
                run.run(function.rows)
            except Raised as raised:
                found = refusal(raised)
                self.faults.append(found.at((*path, function.field) if function.field else path, raises=found.raises))
            else:
                values = {name: value for name, value in run.values.items() if name != FIELDS_SET}
        return values


# ---- validators of models that are no rows ----------------------------------------------------------------------


def generates_samples(value: ConfigMapping) -> ConfigMapping:
    """Complete the values as utils/schemas/diffusion.py:182 does."""
    return {**value, "generate_samples": bool(value.get("from_causal_lm"))} if value.get("generate_samples") is None else value


def quantization_formats(value: ConfigMapping) -> ConfigMapping:
    """Check the values as utils/schemas/export.py:45 does."""
    given = value.get("quantize")
    if "quantize" not in value or not given:
        return {**value, "quantize": []} if "quantize" in value else value
    formats = [str(each).strip().upper() for each in (given.split(",") if isinstance(given, str) else given)]
    unknown = sorted(set(formats) - set(GGUF))
    if unknown:
        raise value_error(f"Unknown GGUF quant type(s): {unknown}")
    return {**value, "quantize": formats}


# Model -> the validator that a function follows, and the function.
BY_HAND: dict[str, tuple[str, Callable[[ConfigMapping], ConfigMapping]]] = {
    "DiffusionLMConfig": ("_default_generate_samples", generates_samples),
    "ExportConfig": ("validate_quant_types", quantization_formats),
}
