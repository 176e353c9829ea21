"""The rows of ms-swift: `__post_init__` of the argument classes of its commands, and of the classes of its trainers' arguments.

What asks for the model, its template or a file is not known: a row that only such a value decides is left out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from extract_rows import rows_of
from history_rows import Release
from row_expressions import fields, opaque
from row_sources import Package
from row_table_text import Function, Row, Table, every, lists
from tables_swift import CLASSES, FORMER, FORMER_MEGATRON, MEGATRON

from cfglint.frameworks.huggingface.fields import FIELDS as TRAINER_FIELDS
from cfglint.frameworks.trl.releases import HISTORY

PACKAGE = "swift"
CONFIG, POST_INIT = "config", "__post_init__"
METHODS = {CONFIG: POST_INIT}
DEEPEST = 8  # levels of helpers: a class calls those of its bases, which call theirs
# What functions of the package return: the argument itself, nothing, or a fact of the environment.
GIVEN: dict[str, Any] = {
    "safe_snapshot_download": "same",
    "to_abspath": "same",
    "json_parse_to_dict": "fact",
    "parse_to_dict": "fact",
    "get_device_count": "fact",
    "get_dist_setting": "fact",
    "get_model_info_meta": "fact",
    "is_pai_training_job": "fact",
    "_hf_has_field": "fact",
    "import_external_file": None,
    "_init_swanlab": None,
    "load_args_from_ckpt": None,
}
# The modules of the trainers' arguments: from 4.0 on, before.
OF_TRAINERS = ("rlhf_trainers.arguments", "trainers.rlhf_arguments", "trainers.arguments")
TRAINERS = {
    "sft": "Seq2SeqTrainingArguments",
    **{each: f"{each.upper()}Config" for each in ("dpo", "orpo", "kto", "cpo", "ppo", "grpo", "gkd")},
    "reward": "RewardConfig",
}
# What only the model, its files or the folders of the run decide.
OF_MODEL = frozenset(("model_info", "model_meta", "template_meta"))
OF_DISK = frozenset(("path exists", "path isfile", "path isdir", "get_model_info_meta"))
PASSED_ON = frozenset(("gradient_accumulation_steps", "eval_strategy"))  # what the batch and the classes of TRL read
MACHINE = frozenset(("world_size",))  # what the launch decides
LEFT_OUT = frozenset(("first", "todo", "warn", "setenv", "try"))


def table(folders: Mapping[Release, Path]) -> Table:
    """The rows of all releases."""
    made = Table()
    for version, folder in sorted(folders.items()):
        made.add(version, functions(folder))
    return made


def functions(folder: Path) -> Iterator[Function]:
    """The functions of a release: a command, a command of Megatron-SWIFT, or a kind of training with `-config`."""
    package = Package(str(folder), PACKAGE)
    of_trainers = []
    for kind, label in TRAINERS.items():
        inherited = {*HISTORY.names(kind)} if kind in HISTORY.sections else set()  # fields of bases in another package
        of_trainers += [function(package, f"{kind}-config", OF_TRAINERS, (label,), inherited, set())]
    read = {*PASSED_ON, *(name for of_trainer in of_trainers if of_trainer is not None for row in of_trainer.rows for name in reads(row))}
    for sections, former, place in ((CLASSES, FORMER, ""), (MEGATRON, FORMER_MEGATRON, "megatron.")):
        for section, (label, files) in sections.items():
            modules = [f"{place}{file.removesuffix('.py').replace('/', '.')}" for file in files]
            made = function(package, section.replace(" ", "-"), modules, (label, former.get(label, label)), set(), set() if place else read)
            if made is not None:
                yield made
    yield from filter(None, of_trainers)


def function(
    package: Package, name: str, modules: Iterable[str], labels: Iterable[str], inherited: set[str], read: set[str]
) -> Function | None:
    """`__post_init__` of the first of some classes that the release has; `read` are fields that later functions read."""
    for module, label in ((package.module(f"{PACKAGE}.{each}"), label) for each in modules for label in labels):
        definition = module.names.get(label) if module is not None else None
        if isinstance(definition, ast.ClassDef):
            chain = package.ancestors(definition, module)
            owner = next(((node, home) for each, home in chain for node in each.body if getattr(node, "name", "") == POST_INIT), None)
            if owner is None:
                return None
            rows = rows_of(package, owner[1], owner[0], (definition, module), given=GIVEN, depth=DEEPEST)[0]
            return Function(name, CONFIG, "", needed(rows, annotated(chain) | inherited, read))
    return None


def annotated(chain: Iterable[Any]) -> set[str]:
    """The fields of a class and its bases."""
    return {
        node.target.id for each, _ in chain for node in each.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }


def needed(rows: list[Row], known: set[str], passed_on: set[str]) -> list[Row]:
    """The rows that may refuse, with those that set what they or later functions read; what is no field is not known."""
    known = known | MACHINE | {*TRAINER_FIELDS} | {row["set"] for row in every(rows) if "set" in row}
    rows = [*stated(rows, known)]
    kept = [row for row in rows if any("raise" in each for each in every([row]))]
    while True:
        read = {*passed_on, *(name for row in kept for name in reads(row))}
        more = [row for row in rows if row in kept or not read.isdisjoint(writes(row))]
        if len(more) == len(kept):
            return kept
        kept = more


def stated(rows: Iterable[Row], known: set[str]) -> Iterator[Row]:
    """The rows without those that cannot refuse or set anything."""
    for row in rows:
        if row.keys() & LEFT_OUT or ("raise" in row and any(map(is_unknown, row["when"]))):
            continue
        made = {key: [*stated(part, known)] if key == "rows" else replaced(part, known) for key, part in row.items() if key != "hand"}
        if "raise" not in made or not any(map(is_unknown, made["when"])):
            yield made


def is_unknown(guard: Any) -> bool:
    """Whether a guard can never be decided."""
    return bool(opaque(guard)) and guard[0] not in ("and", "or", "if", "not")


def replaced(part: Any, known: set[str]) -> Any:
    """An expression in which what is no field is not known."""
    if not isinstance(part, (list, tuple)) or not part:
        return part
    if part[0] in ("f", "f?", "f!") and part[1] in OF_MODEL:
        return ["?", "the model"]
    if part[0] in ("f", "f?", "f!") and part[1] not in known:
        return part[2] if part[0] == "f?" else ["?", str(part[1])]
    if part[0] == "fact" and part[1] in OF_DISK:
        return ["?", "the files of the machine"]
    if (part[0] in ("in", "not in") and part[2] == ["dict"]) or (part[0] == "at" and part[1] == ["dict"]):
        return ["?", "what the package registers"]
    return [replaced(each, known) for each in part]


def reads(row: Row) -> set[str]:
    """The fields and kept values that a row reads."""
    return {
        str(each[1])
        for inner in every([row])
        for key, part in inner.items()
        if key not in ("let", "set", "rows", "each", "line")
        for each in lists(part)
        if each[0] in ("f", "f?", "f!", "has", "v")
    }


def writes(row: Row) -> set[str]:
    """The fields and kept values that a row changes."""
    made: set[str] = set()
    for each in every([row]):
        made |= {str(each[key]) for key in ("let", "set") if key in each}
        made |= {str(name) for key in ("put", "of") if key in each for name in fields(each[key])}
    return made
