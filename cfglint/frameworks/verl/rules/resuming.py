"""What verl refuses when it continues from a checkpoint, or does unasked. Imported only for a run that resumes."""

from __future__ import annotations

from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import counted
from cfglint.frameworks.verl.config import MODE, VerlConfig
from cfglint.frameworks.verl.resumption import ACTOR, PATH, SHARD, STEP, processes
from cfglint.source.annotations import Iterator


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
