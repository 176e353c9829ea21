"""Rules about steps and the learning rate: values that GPT-NeoX silently ignores or uses differently."""

from __future__ import annotations

from cfglint.findings.remedy import remove_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.neox.config import NeoXConfig
from cfglint.frameworks.neox.fields import describe
from cfglint.frameworks.neox.steps import decay_steps, total_steps, warmup
from cfglint.frameworks.remedies import remove, replace
from cfglint.source.annotations import Iterator
from cfglint.source.numbers import is_number

# Arguments that the workers divide by, and when; the launcher accepts null and 0.
DIVISORS = {
    "eval_interval": "when the data sets are built",
    "checkpoint_num_layers": "when the workers start",
    "log_interval": "when they log",
}


@rule("STP065")
def learning_rate_rises_after_decay(config: NeoXConfig) -> Iterator[Finding]:
    decay, total = decay_steps(config), total_steps(config)
    if config.argument("lr_decay_style") != "cosine" or decay is None or total is None or decay >= total:
        return
    name = "lr_decay_iters" if config.argument("lr_decay_iters") is not None else "lr_decay_fraction"
    setting = config.setting(name)
    related = (config.setting("train_iters"),)
    fix = replace(setting, total, f"decay over all {total} steps", safe=False) if name == "lr_decay_iters" else None
    message = f"`{name}` ends the cosine decay at step {decay} of {total}; the learning rate increases again after it"
    yield Finding(setting, message, related=related, fix=fix)


@rule("STP066")
def decay_fraction_ignored(config: NeoXConfig) -> Iterator[Finding]:
    if config.argument("lr_decay_iters") is not None and config.argument("lr_decay_fraction") is not None:
        setting = config.setting("lr_decay_fraction")
        related = (config.setting("lr_decay_iters"),)
        message = "`lr_decay_fraction` is overridden by `lr_decay_iters`"
        yield Finding(setting, message, related=related, fix=remove(setting, "remove `lr_decay_fraction`"))


@rule("STP067")
def warmup_not_a_fraction(config: NeoXConfig) -> Iterator[Finding]:
    fraction, decay = config.argument("warmup"), decay_steps(config)
    if not is_number(fraction) or fraction < 1:
        return
    setting = config.setting("warmup")
    text = f"`warmup` is a fraction of the decay, not a number of steps: {fraction} makes the warm-up"
    steps = warmup(config)
    text += f" {round(steps):,} steps" if steps else f" {fraction} times the decay"
    fix = None
    if steps and decay and 1 < fraction < decay:
        proposed = round(fraction / decay, 6)
        fix = replace(setting, proposed, f"change to {proposed}, for {fraction} steps", safe=False)
    yield Finding(setting, text, fix=fix)


@rule("STP068")
def ignored_scheduler_section(config: NeoXConfig) -> Iterator[Finding]:
    if config.argument("scheduler") is not None:
        setting = config.setting("scheduler")
        message = "`scheduler` is ignored: GPT-NeoX uses its own schedule (`lr_decay_style`, `warmup`, `min_lr`)"
        yield Finding(setting, message, fix=remove(setting, "remove `scheduler`"), on_key=True)


@rule("STP069")
def non_positive_interval(config: NeoXConfig) -> Iterator[Finding]:
    for name, moment in DIVISORS.items():
        value = config.values.get(name, 1)
        if value is None or (is_number(value) and value == 0):
            message = f"`{name}` is {describe(value)}; it must be positive: the workers divide by it {moment}"
            yield Finding(config.setting(name), message, help=remove_key(name, " for the default"))
