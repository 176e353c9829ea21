"""What the evaluation of a program with an `Accelerator` knows: its attributes, what it prepares, and which loops train.

Source: accelerate 1.15.0 accelerator.py (prepare, num_processes).
"""

from __future__ import annotations

import ast
from functools import lru_cache

from cfglint.launch.programs.objects import NONE, Opaque, Sequence, Value, unknown
from cfglint.source.annotations import Iterator

LOADERS = ("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")
PLUGINS = ("DataLoaderConfiguration", "DeepSpeedPlugin", "GradientAccumulationPlugin")
SAME = ("prepare_data_loader", "prepare_model", "prepare_optimizer", "prepare_scheduler", "skip_first_batches")
BACKWARD = "backward"
MOST_LOOPS = 256  # of which is known whether they train


def of_accelerator(name: str, given: list[Value]) -> Value:
    """The result of a method of an `Accelerator`: what is prepared stays what it is."""
    if name == "prepare" and given:
        return given[0] if len(given) == 1 else Value(Sequence(given, "tuple"))
    return given[0] if name in SAME and given else unknown(f"`{name}()` is a call outside of the program")


@lru_cache(MOST_LOOPS)
def is_training_loop(node: ast.For | ast.AsyncFor) -> bool:
    """Whether a loop computes gradients."""
    calls = (each.func for line in node.body for each in ast.walk(line) if isinstance(each, ast.Call))
    return any(isinstance(each, ast.Attribute) and each.attr == BACKWARD for each in calls)


def names_in(node: ast.expr) -> Iterator[ast.expr]:
    """The names and attributes in what a loop goes through: `enumerate(loader)`, `tqdm(self.loader)`."""
    return (each for each in ast.walk(node) if isinstance(each, (ast.Name, ast.Attribute)))


def accelerator(named: dict[str, Value], gpus: int | None) -> Value:
    """An `Accelerator` with the attributes that programs compute with."""
    found = Opaque("accelerate.Accelerator")
    found.slots["num_processes"] = Value(gpus) if gpus is not None else unknown("the number of GPUs is unknown")
    found.slots["gradient_accumulation_steps"] = named.get("gradient_accumulation_steps", Value(1))
    found.slots["mixed_precision"] = named.get("mixed_precision", NONE)
    return Value(found)
