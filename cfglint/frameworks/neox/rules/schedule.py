"""Rules about steps and the learning rate: values that GPT-NeoX silently ignores or uses differently."""

from __future__ import annotations

from cfglint.findings.rule import Finding, warning
from cfglint.frameworks.neox.config import NeoXConfig
from cfglint.frameworks.neox.python_errors import describe
from cfglint.frameworks.neox.rules import RUN
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


@warning(
    "STP065",
    source="gpt-neox (May 2026) megatron/learning_rates.py:60-95; the clamp was removed in pull request 1008",
    old_names=("rate-rises-again",),
    bad="{train_iters: 1000, lr_decay_iters: 500, lr_decay_style: cosine}\n",
    good="{train_iters: 1000, lr_decay_iters: 1000, lr_decay_style: cosine}\n",
    example={**RUN, "at": "/lr_decay_iters"},
)
def learning_rate_rises_after_decay(config: NeoXConfig) -> Iterator[Finding]:
    """The cosine decay is shorter than the run, so the learning rate increases again after it.

    The cosine is not clamped at its end. With `lr_decay_iters` at half of `train_iters` the learning rate is back at its
    peak at the last step. (The other styles stay at `min_lr`, or keep decreasing.)

    Fix: set `lr_decay_iters` to `train_iters`, or remove it.
    """
    decay, total = decay_steps(config), total_steps(config)
    if config.argument("lr_decay_style") != "cosine" or decay is None or total is None or decay >= total:
        return
    name = "lr_decay_iters" if config.argument("lr_decay_iters") is not None else "lr_decay_fraction"
    setting = config.setting(name)
    related = (config.setting("train_iters"),)
    fix = replace(setting, total, f"decay over all {total} steps", safe=False) if name == "lr_decay_iters" else None
    message = f"`{name}` ends the cosine decay at step {decay} of {total}; the learning rate increases again after it"
    yield Finding(setting, message, related=related, fix=fix)


@warning(
    "STP066",
    source="gpt-neox (May 2026) megatron/training.py:1117-1122",
    bad="{train_iters: 1000, lr_decay_iters: 1000, lr_decay_fraction: 0.8}\n",
    good="{train_iters: 1000, lr_decay_fraction: 0.8}\n",
    fixed="{train_iters: 1000, lr_decay_iters: 1000}\n",
    example={**RUN, "at": "/lr_decay_fraction"},
)
def decay_fraction_ignored(config: NeoXConfig) -> Iterator[Finding]:
    """`lr_decay_fraction` is overridden by `lr_decay_iters`.

    The documentation of the argument states the opposite.
    """
    if config.argument("lr_decay_iters") is not None and config.argument("lr_decay_fraction") is not None:
        setting = config.setting("lr_decay_fraction")
        related = (config.setting("lr_decay_iters"),)
        message = "`lr_decay_fraction` is overridden by `lr_decay_iters`"
        yield Finding(setting, message, related=related, fix=remove(setting, "remove `lr_decay_fraction`"))


@warning(
    "STP067",
    source="gpt-neox (May 2026) megatron/training.py:1126",
    old_names=("warmup-is-a-share",),
    bad="{train_iters: 100000, warmup: 2000}\n",
    good="{train_iters: 100000, warmup: 0.02}\n",
    example={**RUN, "at": "/warmup"},
)
def warmup_not_a_fraction(config: NeoXConfig) -> Iterator[Finding]:
    """`warmup` is a fraction of the decay steps, not a number of steps, and it is 1 or more.

    `warmup: 2000` warms up over 2000 times the length of the decay, so the learning rate stays near zero;
    with `warmup: 1` it reaches its peak at the last step. GPT-NeoX does not reject such values.

    Fix: use the number of steps divided by `lr_decay_iters` (or `train_iters`).
    """
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


@warning(
    "STP068",
    source="gpt-neox (May 2026) megatron/training.py:1107-1145, megatron/neox_arguments/arguments.py:1069; DeeperSpeed 91d1c55 "
    "(0.16.5) deepspeed/runtime/engine.py:1033-1045",
    old_names=("scheduler-section-unread",),
    bad="{scheduler: {type: WarmupLR, params: {warmup_num_steps: 100}}, optimizer: {type: Adam, params: {lr: 0.001}}}\n",
    good="{warmup: 0.01, optimizer: {type: Adam, params: {lr: 0.001}}}\n",
    fixed="{optimizer: {type: Adam, params: {lr: 0.001}}}\n",
    example={**RUN, "at": "/scheduler"},
)
def ignored_scheduler_section(config: NeoXConfig) -> Iterator[Finding]:
    """The `scheduler` section is ignored.

    GPT-NeoX builds its own schedule from `lr_decay_style`, `warmup` and `min_lr` and passes it to DeepSpeed,
    which then ignores the section; with OneBitAdam the section is overwritten.
    """
    if config.argument("scheduler") is not None:
        setting = config.setting("scheduler")
        message = "`scheduler` is ignored: GPT-NeoX uses its own schedule (`lr_decay_style`, `warmup`, `min_lr`)"
        yield Finding(setting, message, fix=remove(setting, "remove `scheduler`"), on_key=True)


@warning(
    "STP069",
    source="gpt-neox (May 2026) megatron/data/data_utils.py:595, megatron/initialize.py:103, megatron/training.py:1597",
    old_names=("interval-not-positive",),
    bad="{train_iters: 1000, eval_interval: 0}\n",
    good="{train_iters: 1000, eval_interval: 100}\n",
    example={**RUN, "at": "/eval_interval"},
)
def non_positive_interval(config: NeoXConfig) -> Iterator[Finding]:
    """An interval is 0 or null, and the workers divide by it.

    To disable evaluation, set `eval_iters` to 0 instead. The launcher accepts these values; the workers divide by
    them. (This follows from the source and was not confirmed in a run, so it is a warning.)

    Run-time errors: `ZeroDivisionError: integer division or modulo by zero`, `TypeError: unsupported operand
    type(s) for //: 'int' and 'NoneType'`.
    """
    for name, moment in DIVISORS.items():
        value = config.values.get(name, 1)
        if value is None or (is_number(value) and value == 0):
            yield Finding(
                config.setting(name),
                f"`{name}` is {describe(value)}; it must be positive: the workers divide by it {moment}",
                help=f"remove `{name}` for the default",
            )
