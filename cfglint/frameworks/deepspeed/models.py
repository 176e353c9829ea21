"""The sections of a DeepSpeed config that are pydantic models, and their validation.

Such a section refuses unknown keys, and drops every key whose value is the string "auto"
before validation (DeepSpeed 0.19.8, runtime/config_utils.py:54-57 and 105-113).
"""

from __future__ import annotations

from cfglint.findings.setting import NoSuchField, Setting
from cfglint.frameworks.deepspeed._tables import FIELDS, KEYS, MODELS, PYDANTIC_2_SINCE, REPLACED, SPANS
from cfglint.frameworks.releases._modelled import RENAMED
from cfglint.frameworks.releases.history import DEFAULT, SINCE, UNTIL, History, Row, holds
from cfglint.frameworks.releases.history import TYPE as TYPE_OF
from cfglint.frameworks.releases.versions import Version, name_at
from cfglint.frameworks.validation import pydantic
from cfglint.frameworks.validation.pydantic import UNKNOWN, Invalid, Path, Reading, expected, taken_as_they_are
from cfglint.source.annotations import Callable, ConfigMapping, ConfigTable, Folder, Operand
from cfglint.source.load_results import copied
from cfglint.source.record import Record

MODEL_HISTORY = History(FIELDS, SPANS)
KEY_HISTORY = History(KEYS)  # of the sections that are not models; "" is the top level


def default_of_key(key: str, release: Version) -> Operand:
    return KEY_HISTORY.fields("", release)[key][DEFAULT]


LEAVES = "zero_optimization.leaf_module"
# The fields that validators read: of each alone, and of several together (`validators.py`). Without one of them no row is loaded.
CONVERTED = {"fp16": ("loss_scale", "loss_scale_window", "min_loss_scale")}
COMPARED = {
    "zero_optimization": ("compute_grad_norm", "offload_optimizer"),
    "zero_optimization.zenflow": ("select_strategy", "select_interval", "update_interval", "full_warm_up_rounds", "pt_reserved_cores_perc"),
    "fp16": ("loss_scale_window", "min_loss_scale"),
}
EARLY = "early"  # only a later release has the key
TWICE = "twice"  # also set under its other name
ESCAPED = "escaped"
ALIAS = UNTIL + 1  # the name that files use, in the row of a field


class ModelField:
    """A field of a model through its releases, by the generated tables; `alias` is the documented name, the Python name works as well."""

    __slots__ = ("alias", "model", "name", "rows", "section")

    def __init__(self, section: str, name: str) -> None:
        self.section = section
        self.name = name
        self.rows = MODEL_HISTORY.names(section)[name]
        self.alias = self.rows[-1][ALIAS]
        reads = self.rows[-1][TYPE_OF]
        held = reads[1] if reads[0] == "|" else reads
        self.model = model_of(held[1]) if held[0] == "model" else None

    def row(self, version: Version) -> Row:
        """The row of a release; of one that does not have the field, the row of the release next to it."""
        own = (MODEL_HISTORY.learned(version) or {}).get(self.section, {})
        if self.name in own:
            return own[self.name]
        return next((row for row in reversed(self.rows) if row[SINCE] <= version), self.rows[0])

    def is_in(self, version: Version) -> bool:
        own = MODEL_HISTORY.learned(version)
        rows = (holds(row[SINCE], row[UNTIL], version) for row in self.rows)
        return any(rows) if own is None else self.name in own.get(self.section, {})

    def default_at(self, version: Version) -> Operand:
        return self.row(version)[DEFAULT]

    def read(self, value: object, version: Version, reading: Reading) -> Operand:
        if self.section == LEAVES:
            return [value] if isinstance(value, str) else [pydantic.text(item) for item in pydantic.items(value)]
        reads = self.row(version)[TYPE_OF]
        if self.name in CONVERTED.get(self.section, ()):
            from cfglint.frameworks.deepspeed.validators import converted

            value = converted(MODELS[self.section][0], self.name, value, version)
        is_exact = reading.major > 1 and type(value) in taken_as_they_are(reads)
        return value if is_exact else reading.read(reads, value, ())


class PydanticModel:
    __slots__ = ("_defaults", "_fields", "_names", "name", "nullable", "title")

    def __init__(self, name: str) -> None:
        self.name = name
        self.title, self.nullable = MODELS[name]
        self._fields: dict[str, ModelField] = {}
        self._names: dict[str, str] = {}
        self._defaults: dict[Version, ConfigTable] = {}

    @property
    def fields(self) -> dict[str, ModelField]:
        if not self._fields:
            self._fields = {name: ModelField(self.name, name) for name in MODEL_HISTORY.names(self.name)}
            self._names = {field.alias: name for name, field in self._fields.items() if field.alias}
        return self._fields

    def clear(self) -> None:
        self._fields, self._names, self._defaults = {}, {}, {}

    def defaults(self, version: Version) -> ConfigTable:
        if version not in self._defaults:
            self._defaults[version] = {name: default_of(field, version) for name, field in self.fields.items()}
        return self._defaults[version]

    def known_names(self, version: Version) -> list[str]:
        fields = {name: field for name, field in self.fields.items() if unexpected(field, name, name, {}, version) == ""}
        return [*fields, *(field.alias for field in fields.values() if field.alias)]

    @property
    def names(self) -> dict[str, str]:
        return self._names if self.fields else {}

    def is_in(self, version: Version) -> bool:
        """Whether the section is this model in a release; others ignore it, or look its keys up one by one."""
        return MODEL_HISTORY.has_section(self.name, version)


def learn(release: Version, folder: Folder, opens: Callable[[str], bool]) -> bool:
    from cfglint.frameworks.deepspeed.source_fields import learned

    MODEL_HISTORY.learn(release, learned(folder, opens))
    for model in _models.values():
        model.clear()
    return True


def model_of(name: str) -> PydanticModel:
    pydantic_model = _models.get(name)
    if pydantic_model is None:
        pydantic_model = _models[name] = PydanticModel(name)
    return pydantic_model


class ModelSection(Record):
    """A section as its model holds it.

    `values` has every field by its Python name, None if the value in the file is refused; `given` are the
    Python names that the file sets, each with the key it is written under. `title` is that of the model, for
    error messages.
    """

    version: Version
    title: str = ""
    values: ConfigTable = {}
    given: dict[str, str] = {}
    faults: list[Invalid] = []

    def __getitem__(self, name: str) -> Operand:
        try:
            return self.values[name]
        except KeyError:
            raise NoSuchField(f"{self.title}.{name}") from None

    def refuse(self, path: Path, invalid: Invalid, raises: str = "ValidationError") -> None:
        self.faults.append(invalid.at(path, self.title, raises))


def read_section(model: PydanticModel, raw: ConfigMapping, version: Version, title: str = "") -> ModelSection:
    """Parse a mapping as `model` does; `title` names the outermost model, which error messages contain."""
    title = title or model.title
    section = ModelSection(version, title)
    for key, value in raw.items():
        if isinstance(value, str) and value == "auto":
            continue
        name = model.names.get(key) or key
        field = model.fields.get(name) if isinstance(name, str) else None
        refused = unexpected(field, key, name, raw, version)
        if field is None or refused:
            message = "extra fields not permitted" if version < PYDANTIC_2_SINCE else "Extra inputs are not permitted"
            section.refuse((str(key),), Invalid(message, kind=refused))
            continue
        section.given[name] = key
        section.values[name] = read_field(section, field, key, value)
    for name, default in model.defaults(version).items():
        if name not in section.values:
            section.values[name] = copied(default)
    if RENAMED:  # fields that the release has renamed have their former names as well, which the code that reads them knows
        for name, field in model.fields.items():
            current = name_at(name, "deepspeed", version)
            if current in section.values and not field.is_in(version):
                section.values[name] = section.values[current]
                if current in section.given:
                    section.given[name] = section.given[current]
    if not section.faults and not section.given.keys().isdisjoint(COMPARED.get(model.name, ())):
        from cfglint.frameworks.deepspeed.validators import compared

        for invalid in compared(model.title, section.values, version):
            section.refuse((), invalid)
    return section


def default_of(field: ModelField, version: Version) -> Operand:
    if field.model is not None and field.default_at(version) is not None:
        return read_section(field.model, {}, version).values
    return field.default_at(version)


def unexpected(field: ModelField | None, key: object, name: object, raw: ConfigMapping, version: Version) -> str:
    """The message of a model that refuses a key; empty if it accepts it."""
    if field is None:
        return UNKNOWN
    if not field.is_in(version):
        return EARLY if field.rows[-1][SINCE] > version else UNKNOWN
    return TWICE if key == name and field.alias and raw.get(field.alias, "auto") != "auto" else ""


def set_twice(setting: Setting) -> str:
    return f"`{setting.name}` is set twice: `{setting.path[-1]}` is another name of a key that is set too"


def read_field(section: ModelSection, field: ModelField, key: str, value: object) -> Operand:
    """The value of a field, or None after recording a fault in the section."""
    model = field.model
    if model is not None:
        if value is None and model.nullable:
            return default_of(field, section.version)
        if not isinstance(value, dict) and section.version < PYDANTIC_2_SINCE:
            from cfglint.frameworks.validation import pydantic1

            try:
                value = pydantic1.mapping(value)
            except Invalid as invalid:
                section.refuse((key,), pydantic1.null() if value is None else invalid)
                return None
        if not isinstance(value, dict):
            if model is LEAF_MODULE:
                message = "leaf_module configuration must be a mapping of fields to values"
                section.refuse((key,), Invalid(message, kind=ESCAPED), "TypeError")
            else:
                section.refuse((key,), expected(f"a valid dictionary or instance of {model.title}", "a mapping"))
            return None
        inner = read_section(model, value, section.version, section.title)
        section.faults += [fault.at((key, *fault.path), section.title, fault.raises) for fault in inner.faults]
        return None if inner.faults else inner.values
    reading = Reading()
    if section.version < PYDANTIC_2_SINCE:
        from cfglint.frameworks.validation.pydantic1 import EarlierReading

        reading = EarlierReading()
    try:
        found = field.read(value, section.version, reading)
    except Invalid as invalid:
        section.refuse((key,), invalid)
        return None
    section.faults += [fault.at((key, *fault.path), section.title, fault.raises) for fault in reading.faults]
    return None if reading.faults else found


_models: dict[str, PydanticModel] = {}
ZERO, FP16, BF16, LEAF_MODULE = map(model_of, ("zero_optimization", "fp16", "bf16", LEAVES))
MONITOR, THROUGHPUT = model_of("DeepSpeedMonitorConfig"), model_of("timers.throughput")
MONITORS = tuple(MODEL_HISTORY.names(MONITOR.name))
SECTIONS = {name: model_of(name) for name in MODELS if "." not in name and name != MONITOR.name and name not in MONITORS}
REPLACEMENTS = REPLACED[ZERO.name]
