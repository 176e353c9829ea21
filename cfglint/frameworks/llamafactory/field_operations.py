"""What LLaMA-Factory does with the values of its own fields: a wrong type fails here where and as it does there.

The parser casts nothing, so a string, null or list is kept until the first operation that fails on it. Each function
is that operation, and Python's own exception is the prediction. Line numbers are those of llamafactory 0.9.5.
"""

from __future__ import annotations

from os import fspath

from cfglint.findings.setting import NoSuchField
from cfglint.frameworks.huggingface.field_operations import Operation, TypeFailure
from cfglint.frameworks.llamafactory.arguments import comma_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cfglint.findings.vocabulary import Stage
    from cfglint.frameworks.llamafactory.config import LlamaFactoryConfig

    Act = Callable[[Any, LlamaFactoryConfig], object]

CONFIG: Stage = "config"
INIT: Stage = "init"
STEP: Stage = "first-step"
SMALL = 1e-6


def split(value: Any, config: LlamaFactoryConfig) -> None:
    """hparams/model_args.py:210-214: a comma list is split as a string, whatever it is."""
    if value is not None:
        value.split(",")


def special_tokens(value: Any, config: LlamaFactoryConfig) -> None:
    """hparams/model_args.py:257: only where no file gives them."""
    if config.own("new_special_tokens_config") is None:
        split(value, config)


def pixels(value: Any, config: LlamaFactoryConfig) -> None:
    """hparams/model_args.py:347-350."""
    _ = value < 1


def inline_json(value: Any, config: LlamaFactoryConfig) -> None:
    """hparams/model_args.py:426, 458; hparams/training_args.py:64."""
    import json

    if isinstance(value, str) and value.startswith("{"):
        json.loads(value)


def held_out_size(value: Any, config: LlamaFactoryConfig) -> None:
    """hparams/data_args.py:159-176, hparams/parser.py:362-365: compared where another option makes it matter."""
    checked = config.own("dataset") is None or config.own("eval_dataset") is not None or config.own("streaming")
    asked = config.evaluates or config.arguments["do_predict"] or config.own("predict_with_generate")
    if checked or asked:
        _ = value > SMALL


def split_size(value: Any, config: LlamaFactoryConfig) -> None:
    """data/data_utils.py:99-111."""
    if config.own("dataset") is not None and config.own("tokenized_path") is None:
        _ = value > SMALL


def probabilities(value: Any, config: LlamaFactoryConfig) -> None:
    """hparams/data_args.py:169."""
    if value is not None and config.own("mix_strategy") != "concat":
        list(map(float, comma_list(value)))


def shortened(value: Any, config: LlamaFactoryConfig) -> None:
    """hparams/data_args.py:188-189."""
    if config.own("packing") or config.own("neat_packing"):
        _ = value - 1


def doubled_rank(value: Any, config: LlamaFactoryConfig) -> None:
    """hparams/finetuning_args.py:565: the scale where `lora_alpha` is not set."""
    if not config.own("lora_alpha"):
        _ = value * 2


def smoothing(value: Any, config: LlamaFactoryConfig) -> None:
    """hparams/finetuning_args.py:589."""
    if config.stage == "dpo" and config.own("pref_loss") != "sigmoid":
        _ = value > SMALL


def switch(value: Any, config: LlamaFactoryConfig) -> None:
    """hparams/finetuning_args.py:598: two of the switches are made integers to be counted."""
    if not (config.method == "lora" and value):
        int(value)


def added_switch(value: Any, config: LlamaFactoryConfig) -> None:
    """hparams/finetuning_args.py:598: the third one is added as it is."""
    if not (config.method == "lora" and value):
        _ = 0 + value


def loraplus_rate(value: Any, config: LlamaFactoryConfig) -> None:
    """train/trainer_utils.py:385."""
    if value is not None and config.makes_optimizer and not (config.own("use_galore") or config.own("use_apollo")):
        _ = 1.0 * value


def checkpoint(value: Any, config: LlamaFactoryConfig) -> None:
    """transformers 5.6.0 trainer.py:1416: the folder of a checkpoint; hparams/parser.py:477-480 drops it for some reward models."""
    dropped = config.stage in ("rm", "ppo") and config.method in ("full", "freeze")
    if value is not None and not isinstance(value, bool) and not dropped:
        fspath(value)


def muon_rate(value: Any, config: LlamaFactoryConfig) -> None:
    """third_party/muon/muon.py:187 (adjust_lr_for_muon)."""
    if config.uses_muon:
        _ = value * 0.2


def muon_decay(value: Any, config: LlamaFactoryConfig) -> None:
    """third_party/muon/muon.py:190."""
    if config.uses_muon:
        _ = 0.1 * value


def muon_beta(value: Any, config: LlamaFactoryConfig) -> None:
    """third_party/muon/muon.py:215-218: AdamW for what is not a matrix, which adapters do not have."""
    if config.uses_muon and config.method in ("full", "freeze"):
        _ = 1 - value


# field, stage, operation
OPERATIONS: tuple[tuple[str, Stage, Act], ...] = (
    ("adapter_name_or_path", CONFIG, split),
    ("add_tokens", CONFIG, split),
    ("add_special_tokens", CONFIG, special_tokens),
    ("image_max_pixels", CONFIG, pixels),
    ("image_min_pixels", CONFIG, pixels),
    ("video_max_pixels", CONFIG, pixels),
    ("video_min_pixels", CONFIG, pixels),
    ("vllm_config", CONFIG, inline_json),
    ("sglang_config", CONFIG, inline_json),
    ("val_size", CONFIG, held_out_size),
    ("interleave_probs", CONFIG, probabilities),
    ("cutoff_len", CONFIG, shortened),
    ("ray_init_kwargs", CONFIG, inline_json),
    ("lora_rank", CONFIG, doubled_rank),
    ("dpo_label_smoothing", CONFIG, smoothing),
    ("use_galore", CONFIG, switch),
    ("use_apollo", CONFIG, switch),
    ("use_badam", CONFIG, added_switch),
    ("val_size", INIT, split_size),
    ("loraplus_lr_ratio", INIT, loraplus_rate),
)
# Of the Trainer's fields, behind what the Trainer does with them.
OF_TRAINER = (
    Operation("resume_from_checkpoint", INIT, checkpoint),
    Operation("learning_rate", STEP, muon_rate),
    Operation("weight_decay", STEP, muon_decay),
    Operation("adam_beta1", STEP, muon_beta),
    Operation("adam_beta2", STEP, muon_beta),
    Operation("adam_epsilon", STEP, muon_beta),
)


def failures(config: LlamaFactoryConfig) -> list[TypeFailure]:
    """The first operation of each written field that cannot take its value, in their order."""
    found: dict[str, TypeFailure] = {}
    for field, fails_at, act in OPERATIONS:
        if field not in config.values or field in found:
            continue
        try:
            act(config.values[field], config)
        except NoSuchField:
            raise
        except Exception as error:
            found[field] = TypeFailure(field, fails_at, error)
    return list(found.values())
