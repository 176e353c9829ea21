"""The trainer that a program builds, and the fields of its arguments that the code changes."""

from __future__ import annotations

import ast

from cfglint.launch.programs.classes import linearized
from cfglint.launch.programs.modules import Definition, External
from cfglint.launch.programs.scopes import FUNCTIONS, Scope
from cfglint.source.annotations import Container, Iterator

SPREADING = ("auto", "balanced", "balanced_low_0", "sequential")
# Methods of the Trainer that checks of its first step, or of its batch, rely on.
REPLACED = frozenset(
    (
        *("__init__", "train", "_inner_training_loop", "training_step", "get_train_dataloader", "create_optimizer", "create_scheduler"),
        *("create_optimizer_and_scheduler", "create_accelerator_and_postprocess", "get_batch_samples", "_load_from_checkpoint"),
    )
)


def trainers(scopes: list[Scope]) -> tuple[set[str], set[str]]:
    """(framework classes of the trainers that a program builds, the methods of their subclasses)."""
    found: set[str] = set()
    methods: set[str] = set()
    for scope in scopes:
        for call in scope.calls():
            name, own = trainer_class(scope, call.func)
            if name:
                found.add(name)
                methods |= own
    return found, methods


def trainer_class(scope: Scope, node: ast.expr) -> tuple[str, set[str]]:
    """(framework's trainer that a class is or derives from, the methods of the classes between them); empty for other classes."""
    found = scope.resolve(node)
    if isinstance(found, External):
        return framework_trainer(found.name), set()
    if not isinstance(found, Definition) or not isinstance(found.node, ast.ClassDef):
        return "", set()
    name, methods = "", set[str]()
    for each in linearized(scope.modules, found):
        if isinstance(each, External):
            name = framework_trainer(each.name) or name
        elif isinstance(each, Definition) and isinstance(each.node, ast.ClassDef):
            methods.update(line.name for line in each.node.body if isinstance(line, FUNCTIONS))
    return name, methods


def spread_over_gpus(scopes: list[Scope]) -> str:
    """The `device_map` with which a program loads a model over all GPUs of a process, as it is written; empty if it does not."""
    for scope in scopes:
        for call in scope.calls():
            if isinstance(call.func, ast.Attribute) and call.func.attr == "from_pretrained":
                node = next((keyword.value for keyword in call.keywords if keyword.arg == "device_map"), None)
                if isinstance(node, ast.Constant) and node.value in SPREADING:
                    return str(node.value)
    return ""


def framework_trainer(name: str) -> str:
    """The trainer of a dotted name of transformers or TRL."""
    last = name.rpartition(".")[2]
    return last if name.partition(".")[0] in ("transformers", "trl") and last.endswith("Trainer") else ""


def changed_fields(scopes: list[Scope], names: Container[str]) -> Iterator[str]:
    """The fields of parsed arguments that code sets: `training_args.bf16 = True`, `setattr(args, ...)`, `args.set_training(...)`."""
    for scope in scopes:
        for node in scope.nodes:
            if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
                continue
            if isinstance(node.ctx, ast.Store) and is_arguments(node.value.id, names):
                yield node.attr


def is_arguments(name: str, names: Container[str]) -> bool:
    """Whether a variable holds parsed arguments, by its name."""
    return name in names or name in ("args", "training_args", "train_args") or name.endswith(("_args", "_arguments", "_config"))
