"""The rows of DeepSpeed: what `DeepSpeedConfig` and the validators of its models refuse.

In the rows of the constructor a section that is a model has the values of the model, under the name of the section. The engine checks
the section of the experts with sizes of its own, and makes the scheduler of a curriculum.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from extract_rows import rows_of
from history_rows import Release
from row_expressions import walk
from row_sources import Package, Ref, decoration
from row_table_text import Function, Row, Table, every

from cfglint.frameworks.deepspeed._tables import CHOICES, MODELS

PACKAGE = "deepspeed"
AFTER, FIELD = "after", "field before"
MODULES = ("runtime.zero.config", "runtime.zero.offload_config", "runtime.zenflow.zenflow_config", "runtime.precision_config")
CONSTRUCTOR = "DeepSpeedConfig"
STAGES = {"keys": "_initialize_params", "batch": "_configure_train_batch_size", "sanity": "_do_sanity_check"}  # in this order
SECTIONS: dict[str, Any] = {  # what makes the models of sections
    "get_zero_config": ["f", "zero_optimization"],
    "get_float16_config": ["f", "fp16"],
    "get_bfloat16_config": ["f", "bf16"],
    "CompileConfig": ["f", "compile"],
    "get_fp16_enabled": ["attr", ["f", "fp16"], "enabled"],
    "get_fp16_master_weights_and_grads_enabled": ["attr", ["f", "fp16"], "fp16_master_weights_and_grads"],
    "get_bfloat16_enabled": ["attr", ["f", "bf16"], "enabled"],
    **dict.fromkeys(  # whose content rules check
        (
            "get_aio_config",
            "get_compression_config",
            "get_curriculum_params_legacy",
            "get_data_efficiency_config",
            "get_eigenvalue_config",
            "get_expert_parallel_config",
            "get_quantize_training",
            "get_sparse_attention",
            "get_lower_precision_safe_modules",
            "get_torch_autocast_dtype",
        )
    ),
}
METHODS = {"keys": "", "batch": STAGES["batch"], "sanity": ""}  # what `compare_rows.py` calls: the others read the objects of sections
EXPERTS: Any = ["f", "expert_parallel"]
OF_EXPERTS, READ, CHECK = "module_inject.auto_ep_config", "parse_autoep_config", "validate_autoep_config"
PASSED: dict[str, Any] = {  # what the engine passes to the check, without an `mpu` of the program
    "config": EXPERTS,
    "world_size": ["f", "world_size"],
    "pp_size": 1,
    "tp_size": ["attr", ["f", "tensor_parallel"], "autotp_size"],
    "sp_size": 1,
    "zero_stage": ["attr", ["f", "zero_optimization"], "stage"],
    "deepcompile_enabled": ["attr", ["f", "compile"], "deepcompile"],
    "use_data_before_expert_parallel": ["f", "use_data_before_expert_parallelism"],
    "zero_offload_optimizer": ["is not", ["attr", ["f", "zero_optimization"], "offload_optimizer"], None],
    "zero_offload_param": ["is not", ["attr", ["f", "zero_optimization"], "offload_param"], None],
}
CURRICULUM: Any = ["f", "curriculum_learning"]
OF_CURRICULUM, SCHEDULER = "runtime.data_pipeline.curriculum_scheduler", "CurriculumScheduler"
UNSET = ["?", "constant _UNSET"]
FILLED: dict[str, Any] = {"preset_model": ["?", "constant PRESET_MODELS"], "expert_activation": ["dict"]}  # by loops of the package
FILE = ["f", "_param_dict"]  # the values of the file, as a field of the object


def table(folders: Mapping[Release, Path]) -> Table:
    """The rows of all releases."""
    made = Table()
    for version, folder in sorted(folders.items()):
        made.add(version, functions(folder))
    return made


def functions(folder: Path) -> Iterator[Function]:
    """The functions of a release: the constructor, and the validators that raise, in the order of their models; those of pydantic 1
    refuse nothing.
    """
    package = Package(str(folder), PACKAGE)
    yield from constructor(package)
    for title, _ in MODELS.values():
        for module in filter(None, (package.module(f"{PACKAGE}.{path}") for path in MODULES)):
            definition = module.names.get(title)
            for method in definition.body if isinstance(definition, ast.ClassDef) else ():
                if isinstance(method, ast.FunctionDef):
                    yield from validator(package, module, definition, method)


def constructor(package: Package) -> Iterator[Function]:
    """The parts of the constructor, with the rows that refuse something or that these need."""
    module = package.module(f"{PACKAGE}.runtime.config")
    definition = module.names[CONSTRUCTOR]
    methods = {each.name: each for each in definition.body if isinstance(each, ast.FunctionDef)}
    read, parts = set[str](), {}
    for stage, name in reversed(STAGES.items()):
        bound = {each.arg: Ref("root") for each in methods[name].args.args}
        rows = rows_of(package, module, methods[name], (definition, module), bound=bound, given=SECTIONS)[0]
        parts[stage] = [*needed(map(plain, reversed(rows)), read)][::-1]
    of_section, of_engine = experts(package)
    parts["keys"] += of_section
    for stage in STAGES:
        yield Function(CONSTRUCTOR, stage, "", parts[stage])
    of_engine += curriculum(package) if "get_curriculum_params_legacy" in module.names else []
    if of_engine:
        yield Function(CONSTRUCTOR, "engine", "", of_engine)


def curriculum(package: Package) -> list[Row]:
    """What the scheduler refuses that the engine makes of a section at the top, as long as a release has one."""
    module = package.module(f"{PACKAGE}.{OF_CURRICULUM}")
    definition = module.names[SCHEDULER]
    method = next(each for each in definition.body if isinstance(each, ast.FunctionDef) and each.name == "__init__")
    rows = rows_of(package, module, method, (definition, module), bound={"self": Ref("root"), "config": CURRICULUM})[0]
    found = [*needed(reversed([row for row in rows if "warn" not in row]), set())]
    return [{**row, "when": [["is a", CURRICULUM, "dict"], ["get", CURRICULUM, "enabled", False], *row["when"]]} for row in reversed(found)]


def experts(package: Package) -> tuple[list[Row], list[Row]]:
    """What is refused in the section of the experts while it is read, and what the engine refuses more, but for the sizes of the others."""
    module = package.module(f"{PACKAGE}.{OF_EXPERTS}")
    if module is None:
        return [], []
    reads, checks = module.names[READ], module.names[CHECK]
    passed = {each.arg: PASSED.get(each.arg) for each in (*checks.args.args, *checks.args.kwonlyargs)}
    read = rows_of(package, module, reads, None, bound={reads.args.args[0].arg: EXPERTS})[0]
    defaults = {e[2]: e[3] for row in read for e in walk(row.get("be")) if isinstance(e, list) and e[:1] == ["get"] and len(e) == 4}
    early = [row["say"][:2] for row in read if "raise" in row]
    checked = refusing(rows_of(package, module, checks, None, bound=passed)[0], defaults)
    about = [row for row in checked if "raise" not in row or is_about_experts(row["when"][2:] or row["when"][1:])]
    return [row for row in about if row.get("say", "")[:2] in early], [row for row in about if row.get("say", "")[:2] not in early]


def is_about_experts(guards: Any) -> bool:
    """Whether some guards read a key of the section, or what is made of several; whether the other sizes divide is not its matter."""
    parts = [e for e in walk(guards) if isinstance(e, list)]
    return any(e == EXPERTS or e[:1] == ["v"] for e in parts) or (PASSED["tp_size"] in parts and not any(e[:1] == ["%"] for e in parts))


def refusing(rows: Iterable[Row], defaults: Mapping[str, Any]) -> list[Row]:
    """The rows about the section that refuse something, of which all is known."""
    found = needed(reversed([of_file(row, defaults) for row in rows if "warn" not in row]), set())
    known = [row for row in found if not any(e[:1] == ["?"] for part in row.values() for e in walk(part) if isinstance(e, list))]
    return [{**row, "when": [["is a", EXPERTS, "dict"], *row["when"]]} for row in reversed(known)]


def of_file(part: Any, defaults: Mapping[str, Any]) -> Any:
    """A part of a row in which a field of the object of the section is the key of the file."""
    if isinstance(part, dict):
        return {key: of_file(value, defaults) for key, value in part.items() if key != "hand"}
    if not isinstance(part, (list, tuple)):
        return part
    part = [*part]
    if part[:2] == ["attr", EXPERTS]:
        return ["get", EXPERTS, part[2], defaults.get(part[2])]
    if part[:1] == ["is not"] and part[2:] == [UNSET]:
        return ["in", part[1][2], EXPERTS]
    for key, filled in FILLED.items():
        if part in (filled, ["m", "keys", filled]):
            return ["list", *CHOICES["expert_parallel", key]]
    return [of_file(each, defaults) for each in part]


def plain(part: Any) -> Any:
    """A part of a row in which a key of the file is a field, as in the rest of the constructor."""
    if isinstance(part, dict):
        return {key: plain(value) for key, value in part.items()}
    if isinstance(part, (list, tuple)):
        return ["f", part[2]] if [*part[:2]] == ["get", FILE] and part[3:] in ([], [None]) else [plain(each) for each in part]
    return part


def needed(rows: Iterable[Row], read: set[str]) -> Iterator[Row]:
    """The rows, last one first, that refuse something, or change what is `read` after them; rules say on which types Python fails."""
    for row in rows:
        changed = {inner.get(action) for inner in every([row]) for action in ("set", "let")} | {e[1] for e in names(row.get("put"))}
        refuses = any("raise" in each for each in every([row])) or "warn" in row
        if refuses or (not changed.isdisjoint(read) and row.get("be") != ["f", row.get("set")]):
            read |= {e[1] for inner in every([row]) for key, part in inner.items() if key != "rows" for e in names(part)}
            yield row


def names(part: Any) -> Iterator[Any]:
    """The fields and kept values in an expression."""
    for e in walk(part):
        if isinstance(e, (list, tuple)) and len(e) > 1 and e[0] in ("f", "f?", "f!", "has", "v") and isinstance(e[1], str):
            yield e


def validator(package: Package, module: Any, definition: ast.ClassDef, method: ast.FunctionDef) -> Iterator[Function]:
    """The rows of a validator, those of a field for each of its fields: the value is `value`, the name `field_name`."""
    kind, fields, mode = decoration(method) or ("", (), "")
    name, owner = f"{definition.name}.{method.name}", (definition, module)
    if kind == "model_validator" and mode == "after":
        rows = rows_of(package, module, method, owner)[0]
        if raises(rows):
            yield Function(name, AFTER, "", rows)
    elif kind == "field_validator" and mode == "before":
        owned, value, *info = (each.arg for each in method.args.args)
        bound = {owned: Ref("cls"), value: ["f", "value"], **dict.fromkeys(info, Ref("info"))}
        rows, answer = rows_of(package, module, method, owner, bound=bound)
        if raises(rows):
            yield from (Function(name, FIELD, field, [*rows, {"when": [], "set": "value", "be": answer}]) for field in fields)


def raises(rows: list[Row]) -> bool:
    """Whether some of the rows refuse something."""
    return any("raise" in row for row in every(rows))


def original(sources: Any, name: str, folder: Path) -> Any:
    """The class of the constructor, or of a validator."""
    label = name.partition(".")[0]
    paths = ("runtime.config",) if label == CONSTRUCTOR else MODULES
    modules = (sources.module(f"{PACKAGE}.{path}") for path in paths)
    return next((found for module in modules if isinstance(found := getattr(module, label, None), type)), None)
