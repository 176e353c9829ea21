"""Steps and the learning rate: what GPT-NeoX takes without doing what the file says."""

from __future__ import annotations

from cfglint.findings.diagnostic import WARNING
from cfglint.findings.rule import Finding
from cfglint.frameworks.neox.python_errors import describe, number
from cfglint.frameworks.neox.rules import neox_rule, remove, replace
from cfglint.frameworks.neox.steps import decay_steps, total_steps, warmup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cfglint.frameworks.neox.config import NeoXConfig

# What the workers divide by, and when; null and 0 pass the launcher.
DIVISORS = {
    "eval_interval": "when the data sets are built",
    "checkpoint_num_layers": "when the workers start",
    "log_interval": "when they log",
}


@neox_rule(
    "STP065",
    "rate-rises-again",
    WARNING,
    bad="{train_iters: 1000, lr_decay_iters: 500, lr_decay_style: cosine}\n",
    good="{train_iters: 1000, lr_decay_iters: 1000, lr_decay_style: cosine}\n",
    at="/lr_decay_iters",
)
def rate_rises_again(config: NeoXConfig) -> Iterator[Finding]:
    """A cosine decay that is shorter than the training: the learning rate rises again.

    Nothing stops the cosine at its end. With `lr_decay_iters` at half of `train_iters` the rate is back at its
    peak at the last step. (The other styles stay at `min_lr`, or keep falling.)

    Fix: `lr_decay_iters` equal to `train_iters`, or leave it out.

    Source: gpt-neox (May 2026) megatron/learning_rates.py:60-95; the clamp went with pull request 1008.
    """
    decay, total = decay_steps(config), total_steps(config)
    if config.argument("lr_decay_style") != "cosine" or decay is None or total is None or decay >= total:
        return
    name = "lr_decay_iters" if config.argument("lr_decay_iters") is not None else "lr_decay_fraction"
    setting = config.setting(name)
    related = (config.setting("train_iters"),)
    fix = replace(setting, total, f"decay over all {total} steps", safe=False) if name == "lr_decay_iters" else None
    yield Finding(
        setting, f"the cosine ends at step {decay} of {total}, and the learning rate rises again after it", related=related, fix=fix
    )


@neox_rule(
    "STP066",
    "decay-fraction-ignored",
    WARNING,
    bad="{train_iters: 1000, lr_decay_iters: 1000, lr_decay_fraction: 0.8}\n",
    good="{train_iters: 1000, lr_decay_fraction: 0.8}\n",
    fixed="{train_iters: 1000, lr_decay_iters: 1000}\n",
    at="/lr_decay_fraction",
)
def decay_fraction_ignored(config: NeoXConfig) -> Iterator[Finding]:
    """`lr_decay_fraction` beside `lr_decay_iters`, which wins.

    The documentation of the argument says the contrary.

    Fix: take it out.

    Source: gpt-neox (May 2026) megatron/training.py:1117-1122.
    """
    if config.argument("lr_decay_iters") is not None and config.argument("lr_decay_fraction") is not None:
        setting = config.setting("lr_decay_fraction")
        related = (config.setting("lr_decay_iters"),)
        yield Finding(setting, "`lr_decay_iters` is given, and wins", related=related, fix=remove(setting, "take it out"))


@neox_rule(
    "STP067",
    "warmup-is-a-share",
    WARNING,
    bad="{train_iters: 100000, warmup: 2000}\n",
    good="{train_iters: 100000, warmup: 0.02}\n",
    at="/warmup",
)
def warmup_is_a_share(config: NeoXConfig) -> Iterator[Finding]:
    """`warmup` is 1 or more: a share of the decay, not a number of steps.

    `warmup: 2000` warms up over two thousand times the length of the decay, so the learning rate never leaves
    the ground; `warmup: 1` reaches its peak at the last step. Nothing refuses it.

    Fix: steps divided by `lr_decay_iters` (or `train_iters`).

    Source: gpt-neox (May 2026) megatron/training.py:1126.
    """
    share, decay = config.argument("warmup"), decay_steps(config)
    if not number(share) or share < 1:
        return
    setting = config.setting("warmup")
    text = f"the warm-up takes {share} times the decay"
    steps = warmup(config)
    if steps:
        text += f", {round(steps):,} steps"
    fix = None
    if steps and decay and 1 < share < decay:
        meant = round(share / decay, 6)
        fix = replace(setting, meant, f"write {meant}, for {share} steps", safe=False)
    yield Finding(setting, f"{text}: it is a share, not a number of steps", fix=fix)


@neox_rule(
    "STP068",
    "scheduler-section-unread",
    WARNING,
    bad="{scheduler: {type: WarmupLR, params: {warmup_num_steps: 100}}, optimizer: {type: Adam, params: {lr: 0.001}}}\n",
    good="{warmup: 0.01, optimizer: {type: Adam, params: {lr: 0.001}}}\n",
    fixed="{optimizer: {type: Adam, params: {lr: 0.001}}}\n",
    at="/scheduler",
)
def scheduler_section_unread(config: NeoXConfig) -> Iterator[Finding]:
    """A `scheduler` section has no effect.

    GPT-NeoX builds its own schedule from `lr_decay_style`, `warmup` and `min_lr` and hands it to DeepSpeed,
    which then does not look at the section; with OneBitAdam the section is overwritten.

    Fix: take it out, and use the arguments above.

    Source: gpt-neox (May 2026) megatron/training.py:1107-1145, megatron/neox_arguments/arguments.py:1069;
    DeeperSpeed 91d1c55 (0.16.5) deepspeed/runtime/engine.py:1033-1045.
    """
    if config.argument("scheduler") is not None:
        setting = config.setting("scheduler")
        yield Finding(
            setting, "GPT-NeoX brings its own schedule, and this one is not used", fix=remove(setting, "take it out"), on_key=True
        )


@neox_rule(
    "STP069",
    "interval-not-positive",
    WARNING,
    bad="{train_iters: 1000, eval_interval: 0}\n",
    good="{train_iters: 1000, eval_interval: 100}\n",
    at="/eval_interval",
)
def interval_not_positive(config: NeoXConfig) -> Iterator[Finding]:
    """An interval that the workers divide by is 0 or null.

    To evaluate never, set `eval_iters` to 0 instead. The launcher accepts these values; the workers divide by
    them. (Read in the source and not seen in a run, hence a warning.)

    Run-time errors: `ZeroDivisionError: integer division or modulo by zero`, `TypeError: unsupported operand
    type(s) for //: 'int' and 'NoneType'`.

    Fix: a number of steps above 0.

    Source: gpt-neox (May 2026) megatron/data/data_utils.py:595, megatron/initialize.py:103,
    megatron/training.py:1597.
    """
    for name, moment in DIVISORS.items():
        value = config.values.get(name, 1)
        if value is None or (number(value) and value == 0):
            yield Finding(config.setting(name), f"the workers divide by `{name}` {moment}, and it is {describe(value)}")
