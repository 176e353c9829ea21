"""The part of `explain` about a run of ms-swift beyond the lines about the Trainer."""

from __future__ import annotations

from cfglint.findings.wording import counted
from cfglint.frameworks.huggingface.batch import of
from cfglint.frameworks.huggingface.summary import account as of_trainer
from cfglint.frameworks.summary import BATCH, GPUS, LAUNCH, LENGTH, Item, Summary
from cfglint.frameworks.swift.batch import SIZE, STEPS, generation
from cfglint.frameworks.swift.config import SwiftConfig


def account(config: SwiftConfig) -> Summary:
    summary = of_trainer(config)
    if not config.parsed:
        return summary
    labels = [("trained part", config.arguments.tuner_key), *([("preference training", "rlhf_type")] if config.arguments.rlhf_type else [])]
    summary.items[:0] = [Item(LAUNCH, label, of(config, name), package=summary.package) for label, name in labels]
    if config.is_spread and config.devices is not None:
        seen, local = config.devices
        because = f"GPUs of each process: {counted(seen, 'visible GPU')}, {counted(local, 'process')}"
        summary.derive(LAUNCH, "model spread over", "device_map", seen // local, because)
    if config.packs:
        summary.derive(LENGTH, "packing", "packing", True, "the number of packs depends on the data, so the number of steps is unknown")
    made = generation(config)
    if made is not None and config.arguments.is_grpo:
        summary.derive(BATCH, "generations", "num_generations", made.per_prompt, config.setting("num_generations").place)
        summary.derive(BATCH, "generation batch", SIZE, made.size, f"micro batch x GPUs x {STEPS}", needs=GPUS)
        summary.derive(BATCH, "prompts", "prompts", made.prompts, "of one generation: generation batch / generations")
        summary.derive(BATCH, "generation steps", STEPS, made.steps, "micro batches that one generation feeds")
    summary.assumed.append("samples longer than `max_length` are dropped before training, unless `truncation_strategy` says otherwise")
    return summary
