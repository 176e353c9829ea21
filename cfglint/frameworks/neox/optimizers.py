"""The parameter checks of GPT-NeoX's optimizers.

Source: gpt-neox 2026-05 megatron/optimizers.py:40-48, 281-288, 447-452; DeeperSpeed 91d1c55
deepspeed/ops/adam/fused_adam.py:87.
"""

from __future__ import annotations

from cfglint.frameworks.neox.derive import Derived
from cfglint.frameworks.neox.python_errors import describe
from cfglint.source.annotations import Any, Callable, Iterator
from cfglint.source.numbers import is_number

Range = tuple[str, Callable[[Any], bool], str]

SM3: list[Range] = [
    ("lr", lambda value: value >= 0, "Invalid learning rate: {}"),
    ("momentum", lambda value: 0 <= value < 1, "Invalid momentum: {}"),
    ("beta", lambda value: 0 <= value < 1, "Invalid beta: {}"),
    ("eps", lambda value: value >= 0, "Invalid eps: {}"),
]
MADGRAD: list[Range] = [
    ("momentum", lambda value: 0 <= value < 1, "Momentum {} must be in the range [0,1]"),
    ("lr", lambda value: value > 0, "Learning rate {} must be positive"),
    ("eps", lambda value: value >= 0, "Eps must be non-negative"),
]
LION: list[Range] = [("lr", lambda value: value > 0, "Learning rate {} must be positive")]


def refused(derived: Derived) -> Iterator[tuple[str, str, str]]:
    """(parameter, message, exception) for every value that the optimizer's class rejects."""
    name, params = derived.optimizer_name, derived.optimizer_params
    if name == "adam":
        plain = not derived.config.argument("use_mup") and not derived.config.argument("use_bnb_optimizer")
        if plain and params.get("amsgrad"):
            message = "`optimizer.params.amsgrad` is not supported by FusedAdam"
            yield "amsgrad", message, "RuntimeError: FusedAdam does not support the AMSGrad variant."
        return
    for key, allowed, text in ranges(derived, name):
        value = params.get(key, 0.5)
        if is_number(value) and not allowed(value):
            yield key, f"`optimizer.params.{key}` is {value}, out of range: {text.format(value)}", f"ValueError: {text.format(value)}"
        elif not is_number(value):
            order = "<=" if name == "sm3" else "<"
            exception = f"TypeError: '{order}' not supported between instances of 'float' and '{type(value).__name__}'"
            yield key, f"`optimizer.params.{key}` is {describe(value)}, not a number", exception


def ranges(derived: Derived, name: str) -> list[Range]:
    if name == "sm3":
        return SM3
    if name == "madgrad_wd":
        return MADGRAD
    return LION if name == "lion" and derived.zero.get("stage") == 0 else []
