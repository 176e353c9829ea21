"""Validates and converts values by the annotations of a release of axolotl's models as pydantic does.

The annotation of an Enum has its name: `("enum", NAME, "a", "b")`.
"""

from __future__ import annotations

from cfglint.evaluate import Unknown
from cfglint.frameworks.axolotl._tables import CLOSED, NAMES
from cfglint.frameworks.axolotl.releases import HISTORY, LIMITS, PLUGIN, REQUIRED, TOP, has_validator
from cfglint.frameworks.huggingface.fields import choices
from cfglint.frameworks.releases.history import DEFAULT, Fields, Row
from cfglint.frameworks.releases.history import TYPE as READS
from cfglint.frameworks.releases.versions import Version
from cfglint.frameworks.validation.pydantic import MISSING, UNKNOWN, Invalid, Reading, expected, taken_as_they_are, value_error, within
from cfglint.source.annotations import Any, Callable, ConfigMapping, ConfigTable, Operand
from cfglint.source.record import Record

Path = tuple[str | int, ...]

DATASET = "SFTDataset"

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
        if name == DATASET:
            value = dataset(value, self.release)
        elif name in BEFORE and has_validator(BEFORE[name][0], self.release):
            value = BEFORE[name][1](value)
        values = dict(fields.defaults)
        before = len(self.faults)
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
        if name in AFTER and len(self.faults) == before and (not AFTER[name][0] or has_validator(AFTER[name][0], self.release)):
            problem = AFTER[name][1](values, value)
            if problem:
                self.faults.append(value_error(problem).at(path))
        return values


# ---- validators of models, in addition to those of fields -------------------------------------------------------


def dataset(value: ConfigMapping, release: Version) -> ConfigMapping:
    """Complete a data set that has validators of its own (utils/schemas/datasets.py:198-228)."""
    found = dict(value)
    if found.get("type") == "chat_template" and not found.get("chat_template"):
        found["chat_template"] = "tokenizer_default"
    if found.get("chat_template") == "jinja" and not found.get("chat_template_jinja"):
        raise value_error("chat_template_jinja is required when chat_template is set to jinja")
    if found.get("chat_template_jinja") and not found.get("chat_template"):
        found["chat_template"] = "jinja"
    if not has_validator("handle_legacy_message_fields", release):
        return found
    given = found.get("message_property_mappings")
    if given is not None and not isinstance(given, dict):  # the real validator indexes it before its type is checked
        raise TypeError(f"'{type(given).__name__}' object does not support item assignment")
    mappings = dict(given or {})
    for name in ("role", "content"):
        old = f"message_field_{name}"
        if old not in found:
            mappings.setdefault(name, name)
            continue
        if name in mappings and mappings[name] != found[old]:
            raise value_error(f"Conflicting message {name} fields: {old}='{found[old]}' conflicts with message_property_mappings.{name}")
        mappings[name] = found.pop(old) or name
    found["message_property_mappings"] = mappings
    return found


def export(values: ConfigTable, given: ConfigMapping) -> str:
    """Check the values as utils/schemas/export.py:60 does."""
    if not values["quantize"]:
        return ""
    if values["outtype"] in ("q8_0", "tq1_0", "tq2_0"):
        return f"llama.cpp cannot requantize from {values['outtype']}"
    if values["outfile"] and "{ftype}" not in values["outfile"]:
        return "`export.outfile` needs a `{ftype}` placeholder when `export.quantize` is set"
    return ""


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


def context_parallel(values: ConfigTable, given: ConfigMapping) -> str:
    """Check the values as integrations/context_parallel/args.py:42-72 does."""
    size, ulysses, ring = values["size"], values["ulysses_size"], values["ring_size"]
    for name, degree in (("ulysses_size", ulysses), ("ring_size", ring)):
        if degree is not None and size % degree:
            return f"{name} ({degree}) must divide context_parallel.size ({size})"
    if values["backend"] == "ulysses" and (ring not in (None, 1) or ulysses not in (None, size)):
        return "backend=ulysses requires ring_size=1 and ulysses_size=size"
    if values["backend"] == "ring" and (ulysses not in (None, 1) or ring not in (None, size)):
        return "backend=ring requires ulysses_size=1 and ring_size=size"
    if ulysses and ring and ulysses * ring != size:
        return f"ulysses_size({ulysses}) * ring_size({ring}) != context_parallel.size({size})"
    return ""


def synthetic(values: ConfigTable, given: ConfigMapping) -> str:
    """Check the values as utils/schemas/datasets.py:365-382 does."""
    if values["min_turns"] > 1 and values["max_turns"] <= values["min_turns"]:
        return "max_turns must exceed min_turns for multi-turn data"
    fraction = values["input_fraction"]
    if values["max_turns"] > 1 and "input_fraction" not in given:
        fraction = 0.25
    tokens = max(values["min_turn_length"], 2 if fraction > 0 else 1)
    length = values["sequence_length"]
    if length is not None and (values["max_turns"] > 1 or fraction > 0) and length < tokens * values["min_turns"]:
        return f"sequence_length must be at least {tokens} * min_turns"
    return ""


def mask_ratios(values: ConfigTable, given: ConfigMapping) -> str:
    return "min_mask_ratio must be ≤ max_mask_ratio" if values["min_mask_ratio"] > values["max_mask_ratio"] else ""


# Model -> the validator that a check follows, empty for one in all releases of the model, and the check.
BEFORE: dict[str, tuple[str, Callable[[ConfigMapping], ConfigMapping]]] = {
    "DiffusionLMConfig": (  # utils/schemas/diffusion.py:182
        "_default_generate_samples",
        lambda value: (
            value if value.get("generate_samples") is not None else {**value, "generate_samples": bool(value.get("from_causal_lm"))}
        ),
    ),
    "ExportConfig": ("validate_quant_types", quantization_formats),
}
AFTER: dict[str, tuple[str, Callable[[ConfigTable, ConfigMapping], str]]] = {
    "FSDPConfig": (  # utils/schemas/fsdp.py:75
        "validate_size_based_wrap",
        lambda values, _: (
            "fsdp_config.min_num_params is required when auto_wrap_policy is SIZE_BASED_WRAP"
            if values["auto_wrap_policy"] == "SIZE_BASED_WRAP" and values["min_num_params"] is None
            else ""
        ),
    ),
    "DiffusionConfig": ("", mask_ratios),  # utils/schemas/diffusion.py:82
    "DiffusionLMConfig": ("_validate_mask_ratios", mask_ratios),
    "DiffusionUnrollConfig": (  # utils/schemas/diffusion.py:228
        "_eval_steps_within_k_max",
        lambda values, _: "unroll.eval_steps must be between 1 and unroll.k_max" if (values["eval_steps"] or 0) > values["k_max"] else "",
    ),
    "ExportConfig": ("validate_quantize", export),
    "ContextParallelConfig": ("context_parallel._validate", context_parallel),
    "SyntheticDataset": ("validate_turns", synthetic),
    "SelectiveCheckpointingConfig": (  # utils/schemas/training.py:98
        "normalize_save_modules",
        lambda values, _: (
            "selective_checkpointing.save_modules entries must be non-empty strings"
            if any(not entry.strip() for entry in values["save_modules"] or ())
            else ""
        ),
    ),
}
