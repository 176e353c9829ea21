"""What GPT-NeoX and its engine refuse when they continue from a checkpoint. Imported only for a run that resumes.

Source: gpt-neox 2026-05 megatron/checkpointing.py:53-80, 300-420, megatron/learning_rates.py (AnnealingLR._check_and_set).
"""

from __future__ import annotations

from cfglint.data.checkpoint import STEP, engine_state, engine_tags, step_of
from cfglint.evaluate import Reason
from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import counted
from cfglint.frameworks.deepspeed.checkpoints import other_processes
from cfglint.frameworks.neox.config import NeoXConfig
from cfglint.frameworks.neox.resumption import FOLDER, ITERATION, saved_values, tag_of
from cfglint.frameworks.neox.steps import total_steps
from cfglint.frameworks.resumption import Resumption
from cfglint.source.annotations import Iterator

COMPARED = ("num_layers", "hidden_size", "num_attention_heads", "max_position_embeddings", "make_vocab_size_divisible_by", "tokenizer_type")
SCHEDULE = "AnnealingLR: class input valueand checkpoint values for total number of iterations do not match"  # as it is written there
REST = Reason("file", "the rest of the run", "another file may set `load`")


def doubts(resumed: Resumption) -> tuple[Reason, ...]:
    return () if resumed.is_certain else (REST,)


@rule("NEO103")
def missing_iteration(config: NeoXConfig) -> Iterator[Finding]:
    resumed, iteration = config.resumption, config.argument(ITERATION)
    if resumed is None or resumed.checkpoint is None or type(iteration) is not int:
        return
    steps = sorted(step for tag in engine_tags(resumed.checkpoint) if (step := step_of(tag, STEP)) is not None)
    if steps and iteration not in steps:
        setting = config.setting(ITERATION)
        message = f"`{resumed.name}` has no checkpoint of iteration {iteration}"
        exception = f"ValueError: Unable to load checkpoint for iteration {iteration}. Available iterations: {steps}"
        remedy = set_key(ITERATION, steps[-1])
        yield Finding(setting, message, exception=exception, related=(resumed.setting,), depends_on=doubts(resumed), help=remedy)


@rule("NEO104")
def states_of_other_processes(config: NeoXConfig) -> Iterator[Finding]:
    resumed = config.resumption
    stage, ranks = config.derived.worker_zero_stage, config.batch.data_parallel.value
    if resumed is None or resumed.checkpoint is None or not stage or type(ranks) is not int or config.argument("no_load_optim"):
        return
    section = config.argument("checkpoint")
    if isinstance(section, dict) and section.get("load_universal"):
        return
    saved = engine_state(resumed.checkpoint, tag_of(config, resumed.checkpoint))
    refused = other_processes(resumed.name, saved, ranks) if saved is not None else None
    if refused is not None:
        text, exception, remedy = refused
        yield Finding(resumed.setting, text, exception=exception, depends_on=doubts(resumed), help=remedy)


@rule("NEO105")
def value_of_another_run(config: NeoXConfig) -> Iterator[Finding]:
    resumed = config.resumption
    if resumed is None or resumed.checkpoint is None or resumed.begin is None:
        return
    saved = saved_values(resumed.checkpoint, tag_of(config, resumed.checkpoint))
    for name in COMPARED:
        argument = config.argument(name)
        if saved.get(name) is not None and argument is not None and argument != saved[name]:
            unequal = f"{name} value from checkpoint ({saved[name]}) is not equal to the currently set argument value ({argument})."
            message = f"`{name}` is {argument}, and `{resumed.name}` was saved with {saved[name]}"
            yield Finding(
                config.setting(name),
                message,
                exception=f"AssertionError: {unequal}",
                related=(resumed.setting,),
                depends_on=doubts(resumed),
                help=set_key(name, saved[name]),
            )
    if config.argument("override_lr_scheduler") or config.argument("use_checkpoint_lr_scheduler") or config.argument("no_load_optim"):
        return
    key = "lr_decay_iters" if config.argument("lr_decay_iters") is not None else "train_iters"
    before, now = saved.get("lr_decay_iters", saved.get("train_iters")), config.argument(key)
    kept = saved.get("use_checkpoint_lr_scheduler") or saved.get("lr_decay_fraction") or config.argument("lr_decay_fraction")
    if type(before) is int and type(now) is int and before != now and not kept:
        words = f"`{key}` is {now:,}, and the learning rate of `{resumed.name}` decays over {counted(before, 'step')}"
        exception = f"AssertionError: {SCHEDULE}"
        remedy = set_key("override_lr_scheduler", True) | f"`lr_decay_iters: {before}`"
        yield Finding(config.setting(key), words, exception=exception, related=(resumed.setting,), depends_on=doubts(resumed), help=remedy)


@rule("NEO106")
def train_iters_reached(config: NeoXConfig) -> Iterator[Finding]:
    resumed, total = config.resumption, total_steps(config)
    if resumed is not None and resumed.begin is not None and total is not None and resumed.begin >= total:
        message = f"`{resumed.name}` is at step {resumed.begin:,} of a run of {counted(total, 'step')}: nothing is trained"
        remedy = "increase `train_iters`" | remove_key(FOLDER)
        yield Finding(resumed.setting, message, related=(config.setting("train_iters"),), help=remedy)
