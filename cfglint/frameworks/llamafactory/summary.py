"""The part of `explain` about a LLaMA-Factory run beyond the lines about the trainer."""

from __future__ import annotations

from cfglint.findings.setting import derived
from cfglint.frameworks.huggingface.batch import step_numbers
from cfglint.frameworks.huggingface.summary import account as trainer_account
from cfglint.frameworks.llamafactory.config import LlamaFactoryConfig
from cfglint.frameworks.summary import LAUNCH, LENGTH, PRECISION, Item, Summary

TRAINERS_OWN = "gradient checkpointing"
METHOD = (("stage", "stage"), ("fine-tuning", "finetuning_type"))


def account(config: LlamaFactoryConfig) -> Summary:
    summary = trainer_account(config)
    if not config.parsed:
        return summary
    summary.items = [item for item in summary.items if item.label != TRAINERS_OWN]
    summary.items[:0] = [Item(LAUNCH, label, config.field(name), package=summary.package) for label, name in METHOD]
    summary.add(LENGTH, "sequence length", config.field("cutoff_len"))
    if config.packs:
        why = "neat_packing" if config.own("neat_packing") else "packing" if config.own("packing") else "the default of stage pt"
        summary.add(LENGTH, "packing", derived("packing", True, f"{why}: the number of blocks follows from the data"))
    off = config.field("disable_gradient_checkpointing")
    because = str(off) if off.value else "on unless disable_gradient_checkpointing is set"
    summary.derive(PRECISION, TRAINERS_OWN, "checkpointing", not off.value, because)
    return summary


def numbers(config: LlamaFactoryConfig) -> dict[str, int | None]:
    """Steps, warm-up steps, and the tokens of a packed block; None if samples keep their own lengths, with `cutoff_len` as the maximum.

    An explicit `packing` subtracts one token, which the packing of stage sft adds again (hparams/data_args.py:188-189,
    data/processor/supervised.py:216-231, data/processor/pretrain.py:43).
    """
    length = config.own("cutoff_len") if config.packs else None
    shortened = config.stage == "pt" and bool(config.own("packing"))
    return {**step_numbers(config), "seq_length": length - shortened if type(length) is int else None}
