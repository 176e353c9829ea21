"""The rows of axolotl: its validators of single fields, of the whole config and of the models in it, in the order of pydantic."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from extract_rows import rows_of
from history_rows import Release
from row_sources import Package, Ref
from row_table_text import Function, Table, every

from cfglint.frameworks.axolotl.source_fields import CLASS as CONFIG
from cfglint.frameworks.axolotl.source_fields import MODULE, OLD_MODULE, PLUGINS, SourceReading, find, plugins
from cfglint.source.python.package import Module, Tree

PACKAGE = "axolotl"
CLASS = "AxolotlConfigWCapabilities"
BASE_MODEL = "BaseModel"
FIXED = ("env_capabilities",)  # no key of a file: `compare_rows.py` leaves it out
MAPPINGS = ("capabilities",)  # what axolotl itself makes of the machine: always a mapping
PLUGIN_ORDER = "*"  # where the validators of plugins come
DECORATORS = ("model_validator", "field_validator")
# Functions of axolotl that ask the environment, its tables of models or its plugins.
FACTS = dict.fromkeys(
    (
        "adapter_supports_relora",
        "get_default_process_count",
        "get_instance",
        "get_model_support",
        "is_fa2_hub_kernel_available",
        "supports_adapter",
    ),
    "fact",
)
ASSUMED = ("check_flash_attn_available",)  # refuse only where a package is missing, which is assumed to be installed
ACTIONS = {"raise", "set", "put", "drop", "todo"}
# Validators that read files or tables of models, or build objects: `cfglint/frameworks/axolotl/by_hand.py` has them.
BY_HAND = (
    "check_auto_enable_lora_kernels",
    "check_deepcompile",
    "check_lora_kernels_trust_remote_code",
    "check_selective_checkpointing",
    "check_staged_nf4",
    "check_tensor_parallel_size_update_ds_json",
)
# Validators of models whose work `FieldReading` of `cfglint/frameworks/axolotl/fields.py` does, such as members of other libraries' types.
WITH_FIELDS = ("validate_dtype", "validate_quant_types", "_default_generate_samples")


def table(folders: Mapping[Release, Path]) -> Table:
    """The rows of all releases."""
    made = Table()
    for version, folder in sorted(folders.items()):
        made.add(version, functions(folder))
    return made


def functions(folder: Path) -> Iterator[Function]:
    """The validators of a release, each stage in the order of pydantic."""
    tree = find(folder)
    package = Package(str(tree.root.parent), "axolotl")
    path = MODULE if (tree.root / MODULE).exists() else OLD_MODULE
    module = package.module("axolotl." + path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    yield from of_class(package, module.names[CLASS], module, "")
    for plugin, (_, definition) in plugins(tree).items():
        arguments = package.module(f"axolotl.{PLUGINS}.{plugin}.args")
        yield from of_class(package, arguments.names[definition.name], arguments, f"{plugin}.")
    for model, home in nested(tree).items():
        place = package.module(home.name)
        for function in of_class(package, place.names[model], place, f"{model}."):
            if function.name.removeprefix(f"{model}.") not in WITH_FIELDS:
                yield Function(function.name, f"nested {function.stage}", function.field, function.rows)


def nested(tree: Tree) -> dict[str, Module]:
    """The models that fields hold, with the modules that define them."""
    found: dict[str, Module] = {}

    class Reading(SourceReading):
        def model(self, module: Module, definition: ast.ClassDef) -> Any:
            found[definition.name] = module
            return super().model(module, definition)

    reading, module = Reading(tree), tree.file(MODULE if (tree.root / MODULE).exists() else OLD_MODULE)
    for home, definition in ((module, module.class_named(CONFIG)), *plugins(tree).values()):
        reading.keys(home, definition)
    return found


def original(sources: Any, name: str, folder: Path) -> Any:
    """The class that has a validator of the whole config."""
    tree = find(folder)
    plugin = name.rpartition(".")[0]
    if plugin[:1].isupper():
        return getattr(sources.module(nested(tree)[plugin].name), plugin, None)
    path = MODULE if (tree.root / MODULE).exists() else OLD_MODULE
    top = "axolotl." + path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    module = sources.module(f"axolotl.{PLUGINS}.{plugin}.args" if plugin else top)
    return getattr(module, plugins(tree)[plugin][1].name if plugin else CLASS, None)


def of_class(package: Package, node: ast.ClassDef, module: Any, prefix: str) -> Iterator[Function]:
    """The validators of a model with those of its bases."""
    skeletons = Skeletons(package)
    chain = skeletons.bases(node, module)
    package.chains[id(node)] = [(owner, place) for owner, place in chain if owner is not None]
    found: dict[str, tuple[ast.FunctionDef | None, Any]] = {}
    for owner, place in reversed(chain):
        if owner is None:
            found[PLUGIN_ORDER] = (None, None)
        for function in owner.body if owner is not None else ():
            if isinstance(function, ast.FunctionDef) and decoration(function):
                found[function.name] = (function, place)
    before, others = [], []
    for name, (function, place) in found.items():
        if function is None:
            before.append(Function(PLUGIN_ORDER, "before", "", []))
            others.append(Function(PLUGIN_ORDER, "after", "", []))
            continue
        for row in rows_of_validator(package, (node, module), function, place, prefix + name):
            (before if row.stage == "before" else others).append(row)
    yield from (each for each in (*reversed(before), *others) if each.name != PLUGIN_ORDER or not prefix)


def rows_of_validator(package: Package, owner: Any, function: ast.FunctionDef, module: Any, name: str) -> Iterator[Function]:
    """The rows of one validator, for each of its fields."""
    kind, fields, mode = decoration(function)
    if kind == "model_validator":
        rows = rows_of(package, module, function, owner, given=FACTS)[0]
        if name in ASSUMED or (mode == "after" and not any(row.keys() & ACTIONS for row in every(rows))):
            return  # a warning alone: the fields have their types by then, so no test of it fails
        unread = name in BY_HAND and any("todo" in row or "hand" in row for row in every(rows))
        yield Function(name, mode, "", [{"when": [], "todo": "by hand"}] if unread else rows)
    else:
        for field in fields:
            first, *more = [each.arg for each in function.args.args]
            bound = {first: Ref("cls"), **dict.fromkeys(more[1:], Ref("info")), **({more[0]: ["f", field]} if more else {})}
            rows, value = rows_of(package, module, function, owner, bound=bound, given=FACTS)
            if value != ["f", field]:
                rows = [*rows, {"when": [], "set": field, "be": value}]
            yield Function(name, f"field {mode}", field, rows)


def decoration(function: ast.FunctionDef) -> Any:
    """(decorator, fields, mode) of a validator."""
    for each in function.decorator_list:
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id in DECORATORS:
            mode = next((ast.literal_eval(keyword.value) for keyword in each.keywords if keyword.arg == "mode"), "after")
            return each.func.id, [ast.literal_eval(argument) for argument in each.args], mode
    return None


class Skeletons:
    """Empty classes with the bases of those of a package, for Python's order of bases."""

    def __init__(self, package: Package) -> None:
        self.package = package
        self.model = types.new_class(BASE_MODEL)
        self.made: dict[int, tuple[type, Any, Any]] = {}

    def bases(self, node: ast.ClassDef, module: Any) -> list[tuple[ast.ClassDef | None, Any]]:
        """A class and its bases in Python's order; None is the place of a plugin's class."""
        plugin = types.new_class("Plugin", (self.model,))
        merged = types.new_class("Merged", (self.skeleton(node, module), plugin))
        known = {kind: (owner, place) for kind, owner, place in self.made.values()}
        return [known.get(kind, (None, None)) for kind in merged.__mro__ if kind in known or kind is plugin]

    def skeleton(self, node: ast.ClassDef, module: Any) -> type:
        if id(node) not in self.made:
            bases: list[type] = []
            for base in node.bases:
                found = self.package.resolve(module, base.id) if isinstance(base, ast.Name) else None
                if isinstance(base, ast.Name) and base.id == BASE_MODEL:
                    bases.append(self.model)
                elif found and isinstance(found[0], ast.ClassDef):
                    bases.append(self.skeleton(*found))
            self.made[id(node)] = (types.new_class(node.name, tuple(bases)), node, module)
        return self.made[id(node)][0]
