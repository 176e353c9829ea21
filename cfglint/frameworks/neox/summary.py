"""The part of `explain` about a GPT-NeoX run: layout, length, learning rate, precision."""

from __future__ import annotations

from math import inf, log

from cfglint.batch import steps as arithmetic
from cfglint.findings.setting import Setting
from cfglint.frameworks.neox import steps
from cfglint.frameworks.neox.config import NeoXConfig
from cfglint.frameworks.summary import EXAMPLES, GPUS, LAUNCH, LENGTH, PRECISION, RATE, Summary, nodes
from cfglint.source.numbers import is_number

LONGEST = 10**18  # steps of a run
MOST_POINTS = 1_000_000  # checkpoints


def account(config: NeoXConfig) -> Summary:
    summary = Summary(config.release)
    for label, name in (("pipeline", "pipe_parallel_size"), ("tensor parallel", "model_parallel_size")):
        summary.add(LAUNCH, label, setting_of(config, name))
    length(config, summary)
    rate(config, summary)
    precision(config, summary)
    summary.assumed.append(f"N GPUs are N processes with one GPU each, on {nodes(config.facts)}")
    summary.assumed.append("vocabulary, merge and data files exist at the paths in the config")
    return summary


def setting_of(config: NeoXConfig, name: str) -> Setting:
    return config.setting(name, value=config.argument(name))


def length(config: NeoXConfig, summary: Summary) -> None:
    samples = config.facts.num_examples, config.facts.examples_source
    total = steps.total_steps(config)
    if config.argument("train_iters") is not None:
        summary.add(LENGTH, "total steps", setting_of(config, "train_iters"))
    else:
        summary.add(LENGTH, "epochs", setting_of(config, "train_epochs"))
        summary.derive(LENGTH, "training samples", "num_examples", *samples, needs=EXAMPLES)
        summary.derive(LENGTH, "total steps", "total_steps", total, "samples x epochs / global batch, rounded down", needs=needs(config))
    examples, size, tokens = config.facts.num_examples, config.batch.global_batch.value, config.argument("seq_length")
    if examples is not None:
        exact = f" = {examples / size:,.2f}" if type(size) is int and size > 0 else ""
        because = f"{examples:,} samples / global batch{exact}, rounded down"
        summary.derive(LENGTH, "steps per epoch", "steps_per_epoch", steps.steps_of(config, 1), because, needs=needs(config))
        if type(tokens) is int:
            summary.derive(LENGTH, "tokens per epoch", "tokens_per_epoch", examples * tokens, f"{examples:,} samples x {tokens:,}")
    decay, fraction = steps.decay_steps(config), setting_of(config, "warmup")
    written = next((name for name in ("lr_decay_iters", "lr_decay_fraction") if config.argument(name) is not None), None)
    origin = str(setting_of(config, written)) if written is not None else "as long as the run"
    summary.derive(LENGTH, "decay steps", "decay_steps", decay, origin)
    warm = steps.warmup(config)
    if warm is not None:
        because = f"warmup {fraction.value} of the decay ({fraction.place})"
        summary.derive(LENGTH, "warm-up steps", "warmup_steps", int(warm) if warm % 1 == 0 else warm, because)
    occasions(config, summary, total)


def needs(config: NeoXConfig) -> str:
    facts = config.facts
    return " and ".join(flag for flag, value in ((GPUS, facts.gpus), (EXAMPLES, facts.num_examples)) if value is None)


def occasions(config: NeoXConfig, summary: Summary, total: int | None) -> None:
    setting = setting_of(config, "eval_interval")
    if type(setting.value) is int and setting.value > 0 and total is not None:
        summary.mark("evaluations", range(setting.value, total + 1, setting.value))
        summary.derive(LENGTH, "evaluations", "evaluations", total // setting.value, f"every {setting.value} steps ({setting.place})")
    factor, scale = setting_of(config, "checkpoint_factor"), config.argument("checkpoint_scale")
    if config.argument("save") and total is not None and can_be_listed(total, factor.value, scale):
        extra = config.argument("extra_save_iters")
        listed = [each for each in extra if type(each) is int] if isinstance(extra, list) else ()
        points = arithmetic.neox_save_iterations(total, factor.value, scale, listed)
        because = f"checkpoint_factor {factor.value}, {scale} ({factor.place}); the last step too"
        summary.mark("checkpoints", sorted(points))
        summary.derive(LENGTH, "checkpoints", "checkpoints", len(points), because)


def can_be_listed(total: int, factor: float | None, scale: str) -> bool:
    """Whether the checkpoints can be listed one by one: not too many, and a numeric factor."""
    if factor is None:
        return True
    if not is_number(factor) or total > LONGEST:
        return False
    if scale == "log":
        return factor <= 1 or log(max(total, 1)) <= MOST_POINTS * log(factor)
    return factor < inf and total <= MOST_POINTS * max(factor, 1)


def rate(config: NeoXConfig, summary: Summary) -> None:
    derived = config.derived
    for label, path, value in (
        ("optimizer", ("optimizer", "type"), derived.optimizer_type),
        ("learning rate", ("optimizer", "params", "lr"), derived.lr),
    ):
        summary.add(RATE, label, config.setting(*path, value=value))
    summary.add(RATE, "schedule", setting_of(config, "lr_decay_style"))
    summary.add(RATE, "lowest rate", setting_of(config, "min_lr"))
    # GPT-NeoX does not pass on its own default of clipping, and its DeepSpeed's default is 0 (arguments.py:720-727).
    written = setting_of(config, "gradient_clipping")
    if "gradient_clipping" in config.derived.extra:
        summary.add(RATE, "gradient clipping", config.setting("deepspeed_extra_args", "gradient_clipping"))
    elif is_number(written.value) and written.value == 1:
        where = f"{written.place}: " if written.written else "the default "
        because = f"{where}1.0 is not passed to DeepSpeed, which then does not clip"
        summary.derive(RATE, "gradient clipping", "gradient_clipping", 0.0, because)
    else:
        summary.add(RATE, "gradient clipping", written)


def precision(config: NeoXConfig, summary: Summary) -> None:
    derived = config.derived
    written = config.setting("precision")
    sections = ", ".join(config.setting(name).place for name in derived.enabled_sections)
    because = written.place if written.written else sections or "no precision section is enabled"
    summary.derive(PRECISION, "precision", "precision", derived.precision, because)
    summary.add(PRECISION, "ZeRO stage", config.setting("zero_optimization", "stage", value=derived.zero_stage))
    summary.add(PRECISION, "gradient checkpointing", setting_of(config, "checkpoint_activations"))
