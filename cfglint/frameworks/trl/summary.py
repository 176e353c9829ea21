"""The part of `explain` about a TRL run beyond the lines about the Trainer: the trainer, and the numbers of one generation."""

from __future__ import annotations

from cfglint.findings.setting import Setting
from cfglint.frameworks.huggingface.batch import of
from cfglint.frameworks.huggingface.summary import account as of_trainer
from cfglint.frameworks.summary import BATCH, GPUS, LENGTH, Summary
from cfglint.frameworks.trl.batch import GENERATION, GENERATION_STEPS, generation
from cfglint.frameworks.trl.config import TrlConfig
from cfglint.source.document import Written


def account(config: TrlConfig) -> Summary:
    summary = of_trainer(config)
    if not config.parsed:
        return summary
    if config.packs:
        summary.derive(LENGTH, "packing", "packing", True, "the number of blocks depends on the data, so the number of steps is unknown")
        if "packing_strategy" in config.arguments.defaults:
            summary.add(LENGTH, "packing strategy", of(config, "packing_strategy"))
    length = next((name for name in LENGTHS if config.has_field(name)), None)
    if length is not None:
        setting = of(config, length)
        if setting.name != length and setting.document is not None:  # the class stores the value of a former name
            place = setting.elsewhere or Written(setting.document, setting.path)
            setting = Setting((length,), setting.value, setting.origin, setting.document, elsewhere=place)
        summary.add(LENGTH, "longest sample", setting)
    if config.own_sampler:
        made = generation(config)
        summary.derive(BATCH, "generations", "num_generations", made.per_prompt, config.setting("num_generations").place)
        summary.derive(BATCH, "generation batch", GENERATION, made.size, f"micro batch x GPUs x {GENERATION_STEPS}", needs=GPUS)
        summary.derive(BATCH, "prompts", "prompts", made.prompts, "of one generation: generation batch / generations")
        summary.derive(BATCH, "generation steps", GENERATION_STEPS, made.steps, "micro batches that one generation feeds")
    known = f"the script builds the {' or '.join(config.trainers)} trainer"
    summary.assumed.append(known if len(config.trainers) <= FEW else UNKNOWN_TRAINER)
    return summary


def batches_because(config: TrlConfig) -> str:
    if not config.own_sampler:
        return ""
    return generation(config).because(config.facts.num_examples or 0, config.batch.micro_batch.integer, config.trl_version)


FEW = 3
LENGTHS = ("max_length", "max_seq_length")  # the older name is a field as long as the newer one is not
UNKNOWN_TRAINER = "which trainer the script builds is not known (--trainer)"
