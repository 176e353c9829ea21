"""The training samples of a program that loads local files and hands them to the Trainer."""

from __future__ import annotations

import math
import operator
import os

from cfglint.data.rows import Limits, Rows, found_all, rows_of
from cfglint.data.slices import rows_in
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.training_data.files import held_out, limits, rows_of_all, unknown
from cfglint.frameworks.training_data.samples import Samples
from cfglint.launch.program import DataRecipe
from cfglint.launch.programs.data_sets import NAMED
from cfglint.source.annotations import Any
from cfglint.source.files import mapping_in

FILTERED = "the program filters the rows"
COUNT = ("rows",)  # the number of rows, in an expression of one
OPERATIONS: dict[str, Any] = {"int": int, "round": round, "ceil": math.ceil, "floor": math.floor, "min": min, "max": max}
OPERATIONS |= {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv}


def samples(config: TrainerConfig) -> Samples | None:
    program = config.facts.launch.program
    calls = program.trainer_calls if program is not None else ()
    return of_recipe(config, calls[0].data) if len(calls) == 1 and calls[0].data is not None else None


def of_recipe(config: TrainerConfig, recipe: DataRecipe) -> Samples | None:
    read = rows_before_steps(config, recipe)
    if read is None or read.count is None:
        return read
    count, why = read.count, read.why
    for step, argument in recipe.steps:
        if step == "filter":
            why = FILTERED
        else:
            left = after(count, step, argument)
            if left is None:
                return unknown(f"the program divides {count:,} rows", *read.files)
            count = left
    return Samples(count, read.files, why, read.rows if read.rows is not None else read.count)


def rows_before_steps(config: TrainerConfig, recipe: DataRecipe) -> Samples | None:
    if recipe.builder == NAMED:
        return rows_of_all(config, recipe.files[:1], recipe.field, recipe.files[1])
    if recipe.files:
        origin = config.documents[0].path
        paths = [found_all(name, origin) for name in recipe.files]
        if not all(paths):
            return None
        here = [os.path.relpath(path) if os.path.isabs(path) else path for each in paths for path in each]
        most = limits(config)
        read = saved(here[0], most) if recipe.builder == "saved" else rows_of(here, most, recipe.field, recipe.builder)
        return Samples(read.count, read.files, read.why)
    parts = [of_recipe(config, part) for part in recipe.parts]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or not (recipe.written or known):
        return None
    files = tuple(dict.fromkeys(name for each in known for name in each.files))
    missing = next((each.why for each in known if each.count is None), None)
    if missing is not None:
        return unknown(missing, *files)
    count = recipe.written + sum(each.count or 0 for each in known)
    rows = recipe.written + sum((each.rows if each.rows is not None else each.count) or 0 for each in known)
    return Samples(count, files, next((each.why for each in known if each.why), ""), rows)


def after(count: int, step: str, argument: Any) -> int | None:
    if isinstance(argument, tuple):
        argument = computed(argument, count)
    if argument is None:
        return None
    if step == "first":
        return min(count, int(argument)) if argument >= 0 else max(count + int(argument), 0)
    if step == "skip":
        return max(count - int(argument), 0)
    if step in ("portion", "rest"):
        part = math.floor(argument * count) if isinstance(argument, float) else int(argument)
        return None if not 0 < part < count else part if step == "portion" else count - part
    if step == "slice":
        return rows_in(str(argument), count)
    train = held_out(count, argument)
    return train if step == "train" or train is None else count - train


def computed(expression: tuple[Any, ...], rows: int) -> int | float | None:
    if expression == COUNT:
        return rows
    operands = [computed(each, rows) if isinstance(each, tuple) else each for each in expression[1:]]
    known = [operand for operand in operands if operand is not None]
    try:
        return OPERATIONS[expression[0]](*known) if len(known) == len(operands) else None
    except (ArithmeticError, TypeError, ValueError):
        return None


def saved(folder: str, most: Limits) -> Rows:
    """The rows of a data set that `save_to_disk` wrote: those of the Arrow files that its state names, or of their indices."""
    state = mapping_in(os.path.join(folder, "state.json"), most.root)
    if not state:
        return Rows(None, (folder,), f"{folder} is no data set of `save_to_disk`")
    named = state.get("_indices_files") or state.get("_data_files") or []
    names = [each.get("filename") for each in named if isinstance(each, dict)]
    if not all(isinstance(name, str) and os.path.basename(name) == name for name in names):
        return Rows(None, (folder,), f"{folder} names files elsewhere")
    read = rows_of([os.path.join(folder, str(name)) for name in names], most)
    return Rows(read.count, (folder,), read.why)
