"""DeepSpeed's configuration keys from an unpacked wheel.

Two sources of keys. A *model* is a pydantic class: its fields are the keys, unknown ones are refused. All
other keys are plain look-ups in the configuration dict, so the dict is followed through the code from
`DeepSpeedConfig.__init__` (`schema_following.py`). An unknown kind of field and a new validator of a model
are refused, for either may hide a rule.

Of a model's field the annotation is kept as `x-reads`, of a model its class as `x-model`. `tables_deepspeed.py` reads all
releases in this way, and writes `cfglint/frameworks/deepspeed/_tables.py`; what the schema says of releases comes from there.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import schema_history
from schema_following import Following, KeyPath, Raw, Section
from schema_source import Module, SourceError, Tree

from cfglint.frameworks.deepspeed.source_fields import BASES, ModelReading
from cfglint.frameworks.releases.history import NAME, UNTIL, Row
from cfglint.frameworks.releases.versions import dotted
from cfglint.source.annotations import Operand
from cfglint.source.python.class_fields import ClassField, members_of

START = ("runtime/config.py", "DeepSpeedConfig")
REMOVED: dict[str, KeyPath] = {"_REMOVED_TOP_LEVEL_CONFIG_KEYS": (), "_REMOVED_ZERO_CONFIG_KEYS": ("zero_optimization",)}
COMPRESSED = ("weight_quantization", "activation_quantization", "sparse_pruning", "row_pruning", "head_pruning", "channel_pruning")
NOT_FOLLOWED = {
    "_reject_removed_config_keys",  # read from its tables, REMOVED
    *("_get_compatible_gpus_v01", "_get_compatible_gpus_v02"),  # get values of the configuration, no mapping
    *(f"get_{each}_different_groups" for each in COMPRESSED),  # a section for each name that the user gives
}
ALIAS = UNTIL + 1  # in the row of a field: the name that files use
AUTO = {"pattern": "^auto$"}  # a model drops every "auto" before it looks at the values
PLAIN: dict[str, Raw] = {
    "bool": {"$ref": "#/$defs/flag"},
    "int": {"$ref": "#/$defs/integer"},
    "float": {"$ref": "#/$defs/number"},
    "str": {"type": "string"},
    "Path": {"type": "string"},
    "list": {"type": ["array", "string"], **AUTO},
    "dict": {"type": ["object", "string"], **AUTO},
    "Any": {"x-any": True},
    "torch.dtype": {"const": "auto"},
}


def find(path: Path) -> Tree:
    """The package, from site-packages or the folder itself."""
    for folder in (path / "deepspeed", path):
        if (folder / START[0]).exists():
            return Tree(folder)
    raise SourceError(f"{path}: no DeepSpeed source ({START[0]})")


def version(tree: Tree) -> str | None:
    """The release that the installed package states."""
    return tree.version("git_version_info_installed.py", "version").split("+")[0].strip()


def facts(tree: Tree) -> dict[str, Raw]:
    """Key -> what the source says of it, sections with their `properties`, in the order of reading."""
    return read(tree).nested()


def read(tree: Tree) -> Keys:
    """The keys of a release."""
    module = tree.file(START[0])
    definition = module.class_named(START[1])
    followed = Keys(tree, NOT_FOLLOWED)
    followed.construct(module, definition, [[Section(())]])
    for name, section in REMOVED.items():
        for key, message in _messages(module, name).items() if name in module.assigned else ():
            followed.keys.setdefault((*section, key), {"not": {}, "x-raises": f"DeepSpeedConfigError: {_essence(message)}"})
    return followed


def histories() -> dict[KeyPath, Raw]:
    """Path of a key -> what the tables say of its releases, its defaults and the ways in which it is read."""
    tables = schema_history.tables_of("deepspeed")
    of_section = {name: _by_name(rows) for name, rows in tables.KEYS.items()}
    for name, rows in tables.FIELDS.items():
        known = of_section.setdefault(name, {})
        for key, found in _by_name(rows).items():
            known[key] = [*known.get(key, ()), *found]
    made: dict[KeyPath, Raw] = {}
    for name, known in of_section.items():
        path = tuple(name.split(".")) if name else ()
        for key, rows in known.items():
            is_field = len(rows[-1]) > ALIAS
            raw = schema_history.said(rows, of_section[".".join(path[:-1])].get(path[-1], ()) if path else ())
            raw.update(schema_history.reads([row for row in rows if len(row) > ALIAS]) if is_field else {})
            made[(*path, key)] = raw
    for path, (since, _) in tables.REMOVED.items():
        made.setdefault(path, {})["x-removed"] = dotted(since)
        made[path].pop("default", None)
    return {**made, **{("bfloat16", *path[1:]): raw for path, raw in made.items() if path[:1] == ("bf16",) and path[1:]}}


def _by_name(rows: tuple[Row, ...]) -> dict[str, list[Row]]:
    """The rows of a section by the names that files use."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault((row[ALIAS] if len(row) > ALIAS else "") or row[NAME], []).append(row)
    return found


def _messages(module: Module, name: str) -> dict[str, str]:
    """The removed keys of a table, each with the message of the exception."""
    found: dict[str, str] = module.constant(module.assigned[name])
    return found


def _essence(message: str) -> str:
    """The first sentence of a message, and the next one if it says what to use instead."""
    first, _, rest = message.partition(". ")
    second = rest.partition(". ")[0]
    return f"{first.rstrip('.')}. {second.rstrip('.')}." if second.startswith("Use ") else f"{first.rstrip('.')}."


class Keys(Following):
    """The keys of DeepSpeed: those that are looked up, and the fields of its pydantic models."""

    def is_model(self, module: Module, definition: ast.ClassDef) -> bool:
        """Whether a class is one of DeepSpeed's pydantic models."""
        return not BASES.isdisjoint(module.bases(definition))

    def model(self, module: Module, definition: ast.ClassDef, path: KeyPath) -> None:
        """Note the fields of a pydantic model as keys of a section; at the top each field is a section."""
        if path:
            raw = self.keys.setdefault(path, {})
            raw.pop("default", None)
            raw.update({**_model_section(["object"]), "x-model": definition.name})
            self.models.add(path)
        reading = ModelReading.of(self.tree)
        for name, field in reading.fields(module, definition).items():
            key, raw = _field(field, reading)
            if not path:
                self._submodel(field, (name,), {**raw, "x-parent-model": definition.name})
                continue
            self.keys[(*path, key)] = raw
            self._submodel(field, (*path, key), raw)
            if key != name:
                target = "/".join(step for part in (*path, key) for step in ("properties", part))
                said = f"Another spelling of {key}; not beside it."
                self.keys[(*path, name)] = {"$ref": f"#/{target}", "x-alias-of": key, "description": said}
                raw["x-aliases"] = [name]

    def _submodel(self, field: ClassField, path: KeyPath, raw: Raw) -> None:
        """Enter the model that a field holds."""
        optional = ast.unparse(field.annotation).startswith("Optional[")
        found = field.module.definition_of(field.annotation.slice if isinstance(field.annotation, ast.Subscript) else field.annotation)
        if found is None or not isinstance(found[1], ast.ClassDef) or not self.is_model(found[0], found[1]):
            return
        raw.pop("default", None)
        self.keys[path] = raw
        self.model(found[0], found[1], path)
        types = ["object", "null", "string"] if optional else ["object", "string"]
        raw.update({**_model_section(types), **AUTO})
        reads: Any = ["model", ".".join(path)]
        raw["x-reads"] = ["|", reads, "None"] if optional else reads


def _model_section(types: list[str]) -> Raw:
    return {
        "type": types if len(types) > 1 else types[0],
        "properties": {},
        "additionalProperties": False,
        "x-section-policy": "reject",
        "x-checked-at": "config",
    }


def _field(field: ClassField, reading: ModelReading) -> tuple[str, Raw]:
    """A field's key and what the source says of it."""
    read = reading.read(field)
    raw = {**_accepted(reading.reads(field)), **read.bounds, "default": read.default, "x-reads": read.reads}
    if "deprecated" in read.options:
        raw.update(_deprecation(field.module, read.options))
    return field.constant("alias") if "alias" in field.options else field.name, raw


def _deprecation(module: Module, options: dict[str, ast.expr]) -> Raw:
    moves = "new_param_fn" not in options and not ("set_new_param" in options and module.constant(options["set_new_param"]) is False)
    raw: Raw = {"deprecated": bool(module.constant(options["deprecated"]))}
    if "new_param" in options:
        raw["x-renamed-to" if moves else "x-replaced-by"] = module.constant(options["new_param"])
    return raw


def _accepted(reads: Operand) -> Raw:
    """What a model takes for an annotation, in pydantic's lax mode, and "auto"."""
    members = [each for each in members_of(reads) if each != "None"]
    raw = _by_form(members[0]) if len(members) == 1 else {"type": ["integer", "boolean", "string"]}  # of Union[str, int]
    return _or_null(raw) if "None" in reads else raw


def _or_null(raw: Raw) -> Raw:
    if "$ref" in raw:
        return {**raw, "$ref": raw["$ref"].replace("$defs/", "$defs/optional-")}
    if "type" in raw:
        names = [raw["type"]] if isinstance(raw["type"], str) else raw["type"]
        return {**raw, "type": [names[0], "null", *names[1:]]}
    return raw


def _by_form(form: Operand) -> Raw:
    if isinstance(form, str):
        return dict(PLAIN[form])
    name, *values = form
    if name == "list":
        item: Raw = {"type": "string"} if values[0] == "str" else {"enum": values[0][1:]}
        return {"type": ["array", "string"], "items": item, **AUTO}
    if name == "model":
        return {}
    if name == "literal" or all(isinstance(value, str) for value in values):
        return {"enum": [*values, "auto"]}
    text = {"type": "string", "pattern": rf"^\s*\+?[{''.join(map(str, values))}]\s*$"}
    return {"anyOf": [{"enum": values}, {"type": "boolean"}, text, {"const": "auto"}]}
