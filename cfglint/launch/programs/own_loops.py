"""Training loops of a program's own with an `Accelerator`: the loader that they take their batches from, and how they accumulate.

Source: accelerate 1.15.0 accelerator.py (prepare, accumulate, _prepare_deepspeed), data_loader.py (prepare_data_loader).
"""

from __future__ import annotations

import ast

from cfglint.frameworks.program import OwnLoop, ProgramFacts
from cfglint.launch.programs.accelerators import is_training_loop
from cfglint.launch.programs.calls import MadeCall
from cfglint.launch.programs.documents import document_of_call
from cfglint.launch.programs.objects import DataLoader
from cfglint.launch.programs.runs_of_program import Evaluated
from cfglint.source.annotations import Iterator

STEP = "step"


def own_loop(made: MadeCall, evaluated: Evaluated, program: ProgramFacts) -> OwnLoop:
    """The training loop of a program that has made an `Accelerator`."""
    loaders = {id(each.made): each.made for each in evaluated.trained if each.made is not None}
    [loader] = loaders.values() if len(loaders) == 1 else [None]
    plugins = {each.name: document_of_call(each, program) for each in plugins_of(made)}
    document = document_of_call(loader, program) if loader is not None and not loader.conditions else None
    [made_optimizer] = evaluated.optimizers.values() if len(evaluated.optimizers) == 1 else [None]
    known = made_optimizer is not None and not made_optimizer.conditions and evaluated.complete
    optimizer = document_of_call(made_optimizer, program) if made_optimizer is not None and known else None
    return OwnLoop(document, plugins, accumulates(program), optimizer)


def plugins_of(made: MadeCall) -> Iterator[MadeCall]:
    """The calls that make the plugins that an `Accelerator` is given."""
    for _, value in made.arguments.values():
        if isinstance(value.data, DataLoader) and value.data.made is not None:
            yield value.data.made


def accumulates(program: ProgramFacts) -> bool | None:
    """Whether a loop accumulates gradients by `accumulate()`; None if it may do so by itself."""
    modules = list(program.evaluations.modules.known())
    if any(".accumulate(" in each.text for each in modules):
        return True
    loops = [node for each in modules for node in ast.walk(each.tree) if isinstance(node, ast.For) and is_training_loop(node)]
    if not loops:
        return None if any("accum" in each.text.lower() for each in modules) else False
    return None if any(map(may_accumulate, loops)) else False


def may_accumulate(loop: ast.For) -> bool:
    """Whether an optimizer steps in some turns of a loop only, or the loop counts micro batches."""
    for node in ast.walk(loop):
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        if is_skipped_step(node) or "accum" in name.lower() or name == "no_sync":
            return True
    return False


def is_skipped_step(node: ast.AST) -> bool:
    """Whether an optimizer steps in some turns of a loop only: `if step % 4 == 0: optimizer.step()`."""
    if not isinstance(node, ast.If) or not any(isinstance(each, ast.Mod) for each in ast.walk(node.test)):
        return False
    calls = (each.func for line in node.body for each in ast.walk(line) if isinstance(each, ast.Call))
    return any(isinstance(each, ast.Attribute) and each.attr == STEP for each in calls)
