"""The checkpoint that a verl run continues from, and what verl refuses then, or does unasked. Imported only for a run that resumes.

Unasked it is the last one of the output folder (0.9.1 trainer/ppo/ray_trainer.py:1052-1118).
"""

from __future__ import annotations

import os

from cfglint.data.checkpoint import Checkpoint, named_checkpoint, step_of
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import counted
from cfglint.frameworks.resumption import Resumption, given_checkpoint
from cfglint.frameworks.verl.config import MODE, OUTPUT, VerlConfig
from cfglint.source.annotations import Iterator

PATH = "trainer.resume_from_path"
STEP = "global_step_"
ACTOR = "actor"
SHARD = "model_world_size_"


def resumption(config: VerlConfig) -> Resumption | None:
    """The checkpoint of a run: the one that the user or the line names, else the last one of its output folder."""
    resumed = given_checkpoint(config.facts, PATH) or chosen(config)
    if resumed is None or resumed.checkpoint is None:
        return resumed
    resumed.begin = begin = step_of("".join(resumed.name.rstrip("/").rpartition(STEP)[1:]), STEP)
    total, of_epoch, epochs = config.sizes.total_steps, config.sizes.steps_per_epoch, config.value("trainer.total_epochs")
    if begin is not None and total is not None:
        # the epoch begins at the steps that are done, and one more step is made inside of an epoch
        is_done = of_epoch and isinstance(epochs, int) and begin // of_epoch >= epochs
        resumed.end = begin if is_done else max(total, begin + 1)
    return resumed


def chosen(config: VerlConfig) -> Resumption | None:
    """The checkpoint that the config names or finds."""
    mode, origin = config.value(MODE), config.documents[0].path
    if mode == "resume_path":
        named = config.value(PATH)
        if not isinstance(named, str) or not named:
            return None
        return Resumption(config.setting(PATH), named, named_checkpoint(named, origin), is_certain=True)
    output = config.value(OUTPUT)
    if mode != "auto" or not isinstance(output, str) or config.value("trainer.default_hdfs_dir") is not None:
        return None
    folder = named_checkpoint(output, origin)
    number = folder.text("latest_checkpointed_iteration.txt") if folder is not None else ""
    if not number.isascii() or not number.isdigit():
        return None
    name = os.path.join(output, f"{STEP}{number}")
    last = named_checkpoint(name, origin)
    return Resumption(config.setting(OUTPUT), name, last, is_certain=True, is_unasked=True) if last is not None else None


def processes(checkpoint: Checkpoint) -> int | None:
    """The processes whose parts of the actor were saved by FSDP; None where the names do not tell."""
    sizes = {name.removeprefix(SHARD).partition("_")[0] for name in checkpoint.listed(ACTOR) if name.startswith(SHARD)}
    number = sizes.pop() if len(sizes) == 1 else ""
    return int(number) if number.isdigit() and len(number) < 8 else None


@rule("VRL033")
def invalid_resume_path(config: VerlConfig) -> Iterator[Finding]:
    named = config.value(PATH)
    if config.facts.resume is not None or config.value(MODE) != "resume_path":
        return
    if named is None:
        exception = "AssertionError: resume ckpt must be str type"
        yield Finding(config.setting(MODE), f"`{MODE}` is resume_path, and `{PATH}` is not set", exception=exception, help=f"set `{PATH}`")
    elif isinstance(named, str) and STEP not in named:
        exception = "AssertionError: resume ckpt must specify the global_steps"
        message = f"`{PATH}` is `{named}`, and must contain `{STEP}`"
        yield Finding(config.setting(PATH), message, exception=exception, help=f"write the folder of a step: `{named.rstrip('/')}/{STEP}N`")


@rule("VRL034")
def shards_of_other_processes(config: VerlConfig) -> Iterator[Finding]:
    resumed = config.resumption
    if resumed is None or resumed.checkpoint is None or not config.sizes.is_fsdp:
        return
    saved, gpus = processes(resumed.checkpoint), config.sizes.gpus
    if saved is None or gpus is None or saved == gpus:
        return
    missing = f"{resumed.name}/{ACTOR}/{SHARD}{gpus}_rank_0.pt"
    message = f"`{resumed.name}` was saved by {counted(saved, 'process')}, and this run has {gpus}"
    remedy = f"run on {counted(saved, 'GPU')}, or set `{MODE}=disable` to start anew"
    yield Finding(resumed.setting, message, exception=f"FileNotFoundError: [Errno 2] No such file or directory: '{missing}'", help=remedy)


@rule("VRL049")
def continued_unasked(config: VerlConfig) -> Iterator[Finding]:
    resumed = config.resumption
    if resumed is not None and resumed.is_unasked and resumed.begin is not None:
        message = f"the run continues from `{resumed.name}` at step {resumed.begin:,}"
        yield Finding(resumed.setting, message, help=f"set `{MODE}=disable`, or another `trainer.experiment_name`, to start anew")


@rule("VRL050")
def last_step_reached(config: VerlConfig) -> Iterator[Finding]:
    resumed = config.resumption
    left, total = (resumed.steps_left, config.sizes.total_steps) if resumed is not None else (None, None)
    if resumed is None or left is None or total is None or resumed.begin is None or resumed.begin < total:
        return
    does = "one more step is made" if left else "nothing is trained"
    message = f"`{resumed.name}` is at step {resumed.begin:,} of a run of {counted(total, 'step')}: {does}"
    yield Finding(resumed.setting, message, help="increase `trainer.total_epochs`, or start without the checkpoint")
