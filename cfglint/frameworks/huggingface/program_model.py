"""The checkpoint that a program names in its code: `AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-4B")`, `SFTTrainer(model="...")`."""

from __future__ import annotations

import ast

from cfglint.launch.program import ProgramFacts
from cfglint.source.annotations import Iterator, Operand

LOADERS = ("Model", "ForCausalLM", "ForConditionalGeneration", "ForSequenceClassification", "ForSeq2SeqLM", "ForMaskedLM", "LMHeadModel")
MODEL_NAMES = ("model", "model_name", "pretrained_model_name_or_path")


def checkpoints(program: ProgramFacts) -> list[str]:
    """The names of the checkpoints that the code of a program loads for training, as far as they are written in it."""
    return list(dict.fromkeys(name for scope in program.scopes for name in loaded_in(scope)))


def loaded_in(scope: Operand) -> Iterator[str]:
    for node in scope.nodes:
        if isinstance(node, ast.Call) and loads_model(node.func):
            text = written(scope, model_argument(node))
            if text is not None:
                yield text


def loads_model(function: ast.expr) -> bool:
    if isinstance(function, ast.Attribute) and function.attr == "from_pretrained":
        return isinstance(function.value, (ast.Name, ast.Attribute)) and any(part in last_name(function.value) for part in LOADERS)
    return isinstance(function, (ast.Name, ast.Attribute)) and last_name(function).endswith("Trainer")


def last_name(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr


def model_argument(call: ast.Call) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg in MODEL_NAMES), call.args[0] if call.args else None)


def written(scope: Operand, node: ast.expr | None) -> str | None:
    """The string that an expression is: a literal, or a name that is assigned once."""
    if isinstance(node, ast.Name):
        node = scope.values.get(node.id)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
