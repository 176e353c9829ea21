"""Whether all weights are trained: arguments and code for adapters, quantised or frozen parts, which every program names differently."""

from __future__ import annotations

import ast
import re

from cfglint.evaluate import Unknown
from cfglint.launch.program import ProgramFacts
from cfglint.source.annotations import Collection, ConfigMapping, Iterator

NAMED = re.compile(
    r"lora|peft|tuner|(?:^|_)tune_|tunable|trainable|adapter|quant|freeze|frozen|unfreez|finetuning_type|train_type|sft_type|dora|ia3|(?:^|_)bits?(?:_|$)|[48]_?bit"
).search
# The names that programs have for the fields of their `LoraConfig`, and what switches LoRA and 4- or 8-bit weights on.
LORA_SWITCHES = ("use_peft", "use_lora", "lora_enable", "enable_lora", "lora", "use_peft_lora", "peft_enabled", "lora_tune")
QLORA_SWITCHES = ("q_lora", "qlora", "use_qlora")  # false: adapters on weights that are not quantised, or none at all
LORA_FIELDS = {
    "r": ("lora_r", "lora_rank", "lora_dim"),
    "target_modules": ("lora_target_modules", "lora_target", "target_modules", "lora_modules"),
    "lora_dropout": ("lora_dropout",),
    "modules_to_save": ("lora_modules_to_save", "modules_to_save"),
}
QUANTIZED_BY = {
    4: ("load_in_4bit", *QLORA_SWITCHES, "use_4bit", "use_4bit_quantization"),
    8: ("load_in_8bit", "use_8bit", "use_8bit_quantization"),
}
BITS = ("bits", "quantization_bit", "quant_bits", "quant_bit")
LORA_NAMES = frozenset(
    (
        *(*LORA_SWITCHES, *BITS, *(name for names in (*LORA_FIELDS.values(), *QUANTIZED_BY.values()) for name in names)),
        *("lora_alpha", "lora_bias", "lora_weight_path", "double_quant", "quant_type", "use_nested_quant", "use_rslora"),
        *("bnb_4bit_quant_type", "bnb_4bit_compute_dtype", "bnb_4bit_use_double_quant", "bnb_4bit_quant_storage"),
        *("bnb_4bit_quant_storage_dtype", "use_double_quant"),
    )
)
OFF = (False, None, "", "full", "none", "None", "False", "false")
WIDE = (16, 32)  # bits of weights that are not quantised
CASTS = "prepare_model_for_kbit_training"
CALLS = frozenset(("get_peft_model", "LoraConfig", "BitsAndBytesConfig", CASTS, "requires_grad_"))


def doubts(values: ConfigMapping, program: ProgramFacts | None, understood: Collection[str]) -> Iterator[str]:
    """The assumptions behind an estimate for all weights: the first argument, or the code, that may limit what is trained.

    A boolean argument that is false switches off the defaults of the others, and the code behind it.
    """
    given = {name: value for name, value in values.items() if isinstance(name, str) and NAMED(name) and name not in understood}
    for name, value in given.items():
        if not is_off(name, value):
            yield f"all weights are trained in spite of `{name}`"
            return
    fields = program.fields if program is not None else {}
    own = {name: field.default for name, field in fields.items() if NAMED(name) and name not in values and name not in understood}
    switched_off = any(value is False for value in (*given.values(), *own.values()))
    on = next((name for name, value in own.items() if value is True or not (switched_off or is_off(name, value))), None)
    if on is not None:
        yield f"all weights are trained in spite of the default of `{on}`"
    elif program is not None and not switched_off and uses(program, CALLS):
        yield f"all weights are trained, although {program.path} calls functions for adapters or quantisation"


def is_off(name: str, value: object) -> bool:
    if isinstance(value, Unknown):
        return False
    return value in OFF or ("bit" in name and value in WIDE)


def uses(program: ProgramFacts, names: Collection[str]) -> bool:
    nodes = (node for scope in program.scopes for node in ast.walk(scope.node))
    return any(
        (isinstance(node, ast.Name) and node.id in names) or (isinstance(node, ast.Attribute) and node.attr in names) for node in nodes
    )
