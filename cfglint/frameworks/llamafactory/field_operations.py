"""The operations of LLaMA-Factory on the values of its own fields: a wrong type fails here in the same way and at the same place.

The parser casts nothing, so a string, null or list is kept until the first operation that fails on it. Each function
executes that operation, and Python's own exception is the prediction. Line numbers are those of llamafactory 0.9.5.
"""

from __future__ import annotations

import json
from os import fspath

from cfglint.findings.setting import NoSuchField
from cfglint.findings.vocabulary import Stage
from cfglint.frameworks.huggingface.field_operations import OPERATIONS as TRAINER_OPERATIONS
from cfglint.frameworks.huggingface.field_operations import Operation, TypeFailure
from cfglint.frameworks.llamafactory.config import LlamaFactoryConfig
from cfglint.source.annotations import Any, Callable, Operand

Act = Callable[[Any, LlamaFactoryConfig], object]

INIT: Stage = "init"
STEP: Stage = "first-step"
SMALL = 1e-6  # a `val_size` up to this is none
TOOLS = {  # data/tool_utils.py:884
    *("default", "gemma4", "glm4", "llama3", "lfm2", "minimax1", "minimax2", "mistral", "qwen", "qwen3_5", "glm4_moe", "seed_oss", "ling"),
}


def inline_json(value: object, config: LlamaFactoryConfig) -> None:
    """Parse inline JSON as hparams/model_args.py:426, 458 and hparams/training_args.py:64 do."""
    if isinstance(value, str) and value.startswith("{"):
        json.loads(value)


def checkpoint(value: Operand, config: LlamaFactoryConfig) -> None:
    """Use a checkpoint's folder as transformers 5.6.0 trainer.py:1416; hparams/parser.py:477-480 removes it for some reward models."""
    dropped = config.stage in ("rm", "ppo") and config.method in ("full", "freeze")
    if value is not None and not isinstance(value, bool) and not dropped:
        fspath(value)


def generation_file(value: object, config: LlamaFactoryConfig) -> None:
    """Ask for the file as transformers 4.49.0 trainer_seq2seq.py:117 does, of whatever is no string, too."""
    if config.stage == "sft" and value is not None and not isinstance(value, str):
        raise AttributeError(f"'{type(value).__name__}' object has no attribute 'is_file'")


def muon_beta(value: Operand, config: LlamaFactoryConfig) -> object:
    """Use the value as AdamW in third_party/muon/muon.py:215-218 does, for parameters that are not matrices; adapters have none."""
    return config.uses_muon and config.method in ("full", "freeze") and 1 - value


def described_tokens(value: object, config: LlamaFactoryConfig) -> None:
    """Load the file as hparams/model_args.py:217-255 does; what reports a failure there fails itself."""
    if value is not None and (not isinstance(value, str) or not value):
        raise AttributeError("'Logger' object has no attribute 'error_rank0'")


def tool_format(value: object, config: LlamaFactoryConfig) -> None:
    """Look up the format as data/tool_utils.py:901 does."""
    if value is not None and value not in TOOLS:
        raise ValueError(f"Tool utils `{value}` not found.")


# field, stage, operation
OPERATIONS: tuple[tuple[str, Stage, Act], ...] = (
    *((name, "config", inline_json) for name in ("vllm_config", "sglang_config", "ray_init_kwargs")),
    ("new_special_tokens_config", "config", described_tokens),
    ("tool_format", INIT, tool_format),
    ("generation_config", INIT, generation_file),
    ("max_new_tokens", INIT, lambda value, config: config.stage == "sft" and value > 0),  # hparams/generating_args.py:72
    # data/data_utils.py:99-111
    ("val_size", INIT, lambda value, config: config.own("dataset") is not None and config.own("tokenized_path") is None and value > SMALL),
    (  # train/trainer_utils.py:385
        "loraplus_lr_ratio",
        INIT,
        lambda value, config: (
            value is not None and config.makes_optimizer and not (config.own("use_galore") or config.own("use_apollo")) and 1.0 * value
        ),
    ),
)
ALL_OPERATIONS = (  # on the Trainer's fields
    *TRAINER_OPERATIONS,
    Operation("resume_from_checkpoint", INIT, checkpoint),
    Operation("learning_rate", STEP, lambda value, config: config.uses_muon and value * 0.2),  # third_party/muon/muon.py:187
    Operation("weight_decay", STEP, lambda value, config: config.uses_muon and 0.1 * value),  # third_party/muon/muon.py:190
    *(Operation(name, STEP, muon_beta) for name in ("adam_beta1", "adam_beta2", "adam_epsilon")),
)


def failures(config: LlamaFactoryConfig) -> list[TypeFailure]:
    """The first operation of each written field that fails on its value: those of the rows, then the others in order."""
    rows = (refusal for refusal in config.refusals if refusal.failed)
    found = {row.key: TypeFailure(row.key, row.fails_at, row.exception) for row in rows if row.key in config.values}
    for field, fails_at, act in OPERATIONS:
        if field not in config.values or field in found:
            continue
        try:
            act(config.values[field], config)
        except NoSuchField:
            raise
        except Exception as error:
            found[field] = TypeFailure(field, fails_at, f"{type(error).__name__}: {error}")
    return list(found.values())
