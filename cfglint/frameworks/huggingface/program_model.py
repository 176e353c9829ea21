"""The checkpoint that a program names in its code: `AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-4B")`, `SFTTrainer(model="...")`."""

from __future__ import annotations

import ast

from cfglint.launch.program import ProgramFacts

LOADERS = ("Model", "ForCausalLM", "ForConditionalGeneration", "ForSequenceClassification", "ForSeq2SeqLM", "ForMaskedLM", "LMHeadModel")
MODEL_NAMES = ("model", "model_name", "pretrained_model_name_or_path")


def checkpoints(program: ProgramFacts) -> list[str]:
    """The names of the checkpoints that the code of a program loads for training, as far as they are written in it."""
    found: dict[str, None] = {}
    for scope in program.scopes:
        for call in (node for node in scope.nodes if isinstance(node, ast.Call) and loads_model(node.func)):
            node = next((keyword.value for keyword in call.keywords if keyword.arg in MODEL_NAMES), call.args[0] if call.args else None)
            if isinstance(node, ast.Name):  # that is assigned once
                node = scope.values.get(node.id)
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found[node.value] = None
    return list(found)


def loads_model(function: ast.expr) -> bool:
    if isinstance(function, ast.Attribute) and function.attr == "from_pretrained":
        return isinstance(function.value, (ast.Name, ast.Attribute)) and any(part in last_name(function.value) for part in LOADERS)
    return isinstance(function, (ast.Name, ast.Attribute)) and last_name(function).endswith("Trainer")


def last_name(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr
