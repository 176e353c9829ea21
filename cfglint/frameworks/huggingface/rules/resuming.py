"""What the Trainer refuses, ignores or restores when it continues from a checkpoint. Imported only for a run that resumes."""

from __future__ import annotations

from cfglint.data.checkpoint import Checkpoint, engine_state, engine_tags
from cfglint.evaluate import Reason
from cfglint.findings.remedy import Remedy, remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import counted, spelled
from cfglint.frameworks.deepspeed.checkpoints import missing_shards, other_processes
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.frameworks.huggingface.batch import of, steps
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.resumption import INTERVALS, INTERVALS_RESTORED, with_micro_batch
from cfglint.frameworks.huggingface.rules import rule_about
from cfglint.frameworks.resumption import Resumption
from cfglint.source.annotations import Any, Callable, Iterator

WEIGHTS = frozenset(
    "pytorch_model.bin model.safetensors pytorch_model.bin.index.json model.safetensors.index.json adapter_model.bin"
    " adapter_model.safetensors".split()
)
STATE_FIELDS = frozenset(
    "epoch global_step max_steps num_train_epochs total_flos log_history best_metric best_model_checkpoint is_local_process_zero"
    " is_world_process_zero is_hyper_param_search trial_name trial_params".split()
)
LATER_FIELDS = {  # field of the state: the first release that has it
    **dict.fromkeys(INTERVALS, (4, 32)),
    **dict.fromkeys(("train_batch_size", "num_input_tokens_seen"), (4, 36)),
    "stateful_callbacks": (4, 41),
    "best_global_step": (4, 50),
}
GROUPS = "param_groups"
OPTIMIZER_KEYS = {  # what the first step looks up in the groups of parameters, which those of the checkpoint have replaced
    **dict.fromkeys(("adamw_torch", "adamw_torch_fused"), ("betas",)),
    "sgd": ("momentum", "dampening"),
    "adafactor": ("beta1",),
}
NOT_PASSED = Reason("program", "`resume_from_checkpoint`", "the program has to hand it to `Trainer.train`")
FSDP_MODEL = "pytorch_model_fsdp"
FULL, SHARDED, LOCAL = "FULL_STATE_DICT", "SHARDED_STATE_DICT", "LOCAL_STATE_DICT"
STATE_FORMS: dict[str, Callable[[str], bool]] = {
    FULL: lambda name: name == f"{FSDP_MODEL}.bin",
    SHARDED: lambda name: name == f"{FSDP_MODEL}_0",
    LOCAL: lambda name: name.startswith(f"{FSDP_MODEL}_rank"),
}
UNREADABLE = "CheckpointException: CheckpointException ranks:dict_keys([0])"
STATE_IN_SECTION = (5, 10)  # from here on `fsdp_config` has the form
STATE_NEEDED = (4, 36)
COMPARED = (4, 40)  # from here on the micro batch of the state is compared, which must be a number
SAFE_GLOBALS = (4, 47)  # from here on the state of the random numbers is loaded with the classes that it needs
SAFE_LOADING = (4, 52)  # from here on files are loaded with a safe torch only
ONLY_WEIGHTS = (2, 6)  # release of torch that loads weights only by default, and is safe
STAGE_0_READS_SHARDS = (0, 18)  # up to here the states of stage 0 in bf16 are divided, too
STAGE_0_NEEDS_STATE = (0, 19, 8)


def found(config: TrainerConfig) -> tuple[Resumption, Checkpoint] | None:
    resumed = config.resumption
    return (resumed, resumed.checkpoint) if resumed is not None and resumed.checkpoint is not None else None


def doubts(resumed: Resumption) -> tuple[Reason, ...]:
    """What keeps a refusal from being certain: a program that was not read may not hand the argument to the Trainer."""
    return () if resumed.is_certain else (NOT_PASSED,)


@rule("HFT080")
def invalid_checkpoint(config: TrainerConfig) -> Iterator[Finding]:
    resumed = config.resumption
    if resumed is None:
        return
    checkpoint, name = resumed.checkpoint, f"`{resumed.name}`"
    text = f"ValueError: Can't find a valid checkpoint at {resumed.name}"
    sharded = checkpoint is not None and any(FSDP_MODEL in file for file in checkpoint.names)
    if checkpoint is None and resumed.name.lower() in ("true", "false"):
        message = f"`resume_from_checkpoint` is the string {spelled(resumed.name)}, which is taken for a path"
        remedy = "set `resume_from_checkpoint: true` without quotes, or a path"
    elif checkpoint is None:
        if not config.facts.here:
            return
        message, remedy = f"{name} does not exist", "correct the path"
    elif config.uses_deepspeed and not engine_tags(checkpoint):
        message = f"{name} has no folder `global_step...`, so DeepSpeed did not save it"
        remedy = "set the path of a checkpoint that DeepSpeed saved"
    elif config.uses_deepspeed:
        if checkpoint.text("latest") or config.deepspeed is None or universal(config):
            return
        message = f"{name} has no file `latest`, which names the state to load"
        text = f"ValueError: [deepspeed] failed to resume from checkpoint {resumed.name}"
        remedy = "write the name of its folder `global_step...` into `latest`"
    elif sharded and not config.uses_fsdp and config.launcher is None:
        message, remedy = f"{name} was saved with FSDP, and this run does not use it", "set `fsdp` as in the run that saved it"
        text = f"ValueError: Checkpoint found at {resumed.name} is only supported when using PyTorch FSDP"
    elif not sharded and not checkpoint.names & WEIGHTS and not any(checkpoint.listed(file) & WEIGHTS for file in checkpoint.names):
        message, remedy = f"{name} has no file with weights", "set the path of a complete checkpoint"
    elif not checkpoint.has_state and config.version >= STATE_NEEDED:
        message = f"{name} has no `trainer_state.json`, which the Trainer reads first"
        text = f"FileNotFoundError: [Errno 2] No such file or directory: '{resumed.name}/trainer_state.json'"
        remedy = "set the path of a checkpoint that the Trainer saved"
    else:
        return
    yield Finding(resumed.setting, message, exception=text, depends_on=doubts(resumed), help=remedy)


@rule_about("HFT081", found)
def state_of_another_release(config: TrainerConfig, resumed: Resumption, checkpoint: Checkpoint) -> Iterator[Finding]:
    state = checkpoint.state
    if state is None:
        return
    for name in state:
        since = LATER_FIELDS.get(name, () if name in STATE_FIELDS else None)
        if since is None or since > config.version:
            message = f"`trainer_state.json` of `{resumed.name}` has `{name}`, which is unknown in {config.release}"
            text = f"TypeError: TrainerState.__init__() got an unexpected keyword argument '{name}'"
            newer = f", such as transformers {'.'.join(map(str, since))}.0" if since else ""
            remedy = f"use the release that saved the checkpoint{newer}"
            yield Finding(resumed.setting, message, exception=text, depends_on=doubts(resumed), help=remedy)
            return
    if config.version >= COMPARED and state.get("train_batch_size") is None:
        message = f"`trainer_state.json` of `{resumed.name}` has no `train_batch_size`, because an older release saved it"
        text = "TypeError: unsupported operand type(s) for //: 'NoneType' and 'int'"
        remedy = f'add `"train_batch_size": {spelled(config.batch.micro_batch.value)}` to it'
        yield Finding(resumed.setting, message, exception=text, depends_on=doubts(resumed), help=remedy)


def universal(config: TrainerConfig) -> bool:
    section = config.deepspeed.values.get("checkpoint") if config.deepspeed is not None else None
    return isinstance(section, dict) and section.get("load_universal") is True


@rule_about("HFT082", found)
def checkpoint_of_another_engine(config: TrainerConfig, resumed: Resumption, checkpoint: Checkpoint) -> Iterator[Finding]:
    if config.deepspeed is None or config.deepspeed.refusal is not None:
        return
    engine: Any = config.deepspeed.engine()
    refused = refusal_of_engine(config, checkpoint, engine) if engine is not None else None
    if refused is not None:
        message, text, remedy = refused
        yield Finding(resumed.setting, message, exception=text, depends_on=doubts(resumed), help=remedy)


def refusal_of_engine(config: TrainerConfig, checkpoint: Checkpoint, engine: DeepSpeedConfig) -> tuple[str, str, Remedy | str] | None:
    """(what is wrong, exception, remedy) of a checkpoint that the engine does not load; None where its names do not tell."""
    name, remedy = checkpoint.path, "use the DeepSpeed config of the run that saved it"
    if universal(config):
        text = f"`load_universal` is true, and `{name}` was not converted: it has no file `latest_universal`"
        exception = f"ValueError: Invalid for universal checkpoint: {name}/latest_universal does not exist"
        advice = "convert the checkpoint with `ds_to_universal.py`" | remove_key("load_universal")
        return (text, exception, advice) if "latest_universal" not in checkpoint.names else None
    saved, stage, world = engine_state(checkpoint), engine.stage, config.world_size
    if saved is None or stage is None:
        return None
    if saved.stage3 != (stage == 3):
        was = "stage 3" if saved.stage3 else "a lower stage"
        return f"ZeRO stage is {stage}, and `{name}` was saved with {was}", "AssertionError", remedy
    release, bf16 = engine.version, engine.precision == "bf16"
    if stage == 0 and not (bf16 and release < STAGE_0_READS_SHARDS):
        needs = bf16 and saved.partitioned and release >= STAGE_0_NEEDS_STATE
        text = f"ZeRO stage is 0, and `{name}` was saved with stage 1 or 2"
        return (text, "TypeError: 'NoneType' object is not subscriptable", remedy) if needs else None
    if engine.offload == "nvme":
        return None
    is_divided = world is not None and config.batch.data_parallel.integer == world
    return (other_processes(name, saved, world or 0) if is_divided else None) or missing_shards(name, saved, bf16, remedy)


@rule_about("HFT089", found)
def checkpoint_of_another_form(config: TrainerConfig, resumed: Resumption, checkpoint: Checkpoint) -> Iterator[Finding]:
    launcher: Any = config.launcher
    if launcher is not None and launcher.fsdp_version:
        key, default = "fsdp_state_dict_type", FULL if launcher.fsdp_version == "1" else SHARDED
        section, place = launcher.section("fsdp_config"), launcher.setting("fsdp_config", key)
    elif launcher is None and config.uses_fsdp and config.version >= STATE_IN_SECTION and config.arguments.known("fsdp", "fsdp_config"):
        section, default = config.section("fsdp_config") or {}, FULL
        key = "fsdp_state_dict_type" if "fsdp_state_dict_type" in section else "state_dict_type"
        place = config.setting("fsdp_config", key)
    else:
        return  # the form in which FSDP loads the state of the model is not known
    asked = str(section.get(key, default)).upper()
    form = next((name for name, holds in STATE_FORMS.items() if any(map(holds, checkpoint.names))), None)
    if asked not in STATE_FORMS or form is None or form == asked:
        return
    name, missing = resumed.name, {FULL: f"{FSDP_MODEL}.bin", LOCAL: f"{FSDP_MODEL}_rank0.bin"}.get(asked)
    message = f"`{name}` was saved as {form}, and this run loads {asked}"
    text = f"FileNotFoundError: [Errno 2] No such file or directory: '{name}/{missing}'" if missing else UNREADABLE
    related = (place,) if place.document is not None else ()
    yield Finding(resumed.setting, message, exception=text, related=related, depends_on=doubts(resumed), help=set_key(place.name, form))


@rule_about("HFT083", found)
def restored_batch_size(config: TrainerConfig, resumed: Resumption, checkpoint: Checkpoint) -> Iterator[Finding]:
    setting = config.batch.micro_batch
    if resumed.micro_batch in (None, setting.value) or not isinstance(setting.value, int):
        return
    now, then = config.batch.consumed_batch, with_micro_batch(config, resumed.micro_batch).batch.consumed_batch
    is_known = then is not None and now is not None
    size = f"the global batch size is {then}, not {now}" if is_known else "the global batch size changes with it"
    ends = f", and the run ends at step {resumed.end:,}" if resumed.end is not None else ""
    message = f"`{setting.name}` is {setting.value}, but the checkpoint restores {resumed.micro_batch}"
    remedy = f"change `gradient_accumulation_steps` instead, or edit `train_batch_size` in {resumed.name}/trainer_state.json"
    yield Finding(setting, message, related=(resumed.setting,), note=f"{size}{ends}", help=remedy)


@rule_about("HFT084", found)
def nothing_left_to_train(config: TrainerConfig, resumed: Resumption, checkpoint: Checkpoint) -> Iterator[Finding]:
    if resumed.steps_left is None or resumed.steps_left > 1 or resumed.begin is None:
        return
    total = steps(with_micro_batch(config, resumed.micro_batch)).total
    if total is None or resumed.begin < total:
        return
    does = "one more step is made" if resumed.steps_left else "nothing is trained"
    key = "max_steps" if "max_steps" in config.arguments else "num_train_epochs"
    message = f"`{resumed.name}` is at step {resumed.begin:,} of a run of {counted(total, 'step')}: {does}"
    remedy = f"increase `{key}`, or start without the checkpoint"
    yield Finding(resumed.setting, message, related=(of(config, key),) if key in config.arguments else (), help=remedy)


@rule_about("HFT090", found)
def moved_in_data(config: TrainerConfig, resumed: Resumption, checkpoint: Checkpoint) -> Iterator[Finding]:
    begin, saved = resumed.begin, (checkpoint.state or {}).get("epoch")
    if not begin or config.arguments["ignore_data_skip"] is not False:
        return
    updates = steps(with_micro_batch(config, resumed.micro_batch)).updates
    if not isinstance(saved, (int, float)) or saved <= 0 or not updates or not resumed.steps_left:
        return
    goes_on, before = begin / updates, begin / saved
    if abs(goes_on - saved) * min(updates, before) < 1:  # less than one step of either run
        return
    does = "skipped" if goes_on > saved else "seen again"
    message = f"`{resumed.name}` was saved at epoch {saved:.2f}, and the run goes on at epoch {goes_on:.2f}: the data between are {does}"
    note = f"step {begin:,} is counted with {counted(updates, 'step')} per epoch, and the first run had {before:,.0f}"
    yield Finding(resumed.setting, message, note=note, help="keep the global batch size of the first run, by `gradient_accumulation_steps`")


@rule_about("HFT085", found)
def restored_interval(config: TrainerConfig, resumed: Resumption, checkpoint: Checkpoint) -> Iterator[Finding]:
    if checkpoint.state is None or config.version < INTERVALS_RESTORED:
        return
    args = config.arguments
    strategies = (args["logging_strategy"], args.eval_strategy, args["save_strategy"])
    for name, strategy in zip(INTERVALS, strategies, strict=True):
        saved, setting = checkpoint.state.get(name), of(config, name)
        if name not in args or strategy != "steps" or not args.known(name) or not isinstance(saved, (int, float)):
            continue
        ratio = isinstance(setting.value, float) and setting.value < 1
        if isinstance(setting.value, (int, float)) and setting.value != saved and not ratio:
            message = f"`{name}` is {setting.spelled}, but the checkpoint restores {saved:,}"
            yield Finding(setting, message, related=(resumed.setting,), help=f"edit `{name}` in {resumed.name}/trainer_state.json")


@rule_about("HFT086", found)
def resumed_without_optimizer(config: TrainerConfig, resumed: Resumption, checkpoint: Checkpoint) -> Iterator[Finding]:
    if config.uses_deepspeed or not checkpoint.names & WEIGHTS or (checkpoint.has_optimizer and checkpoint.has_scheduler):
        return
    what = "scheduler.pt" if checkpoint.has_optimizer else "optimizer.pt"
    message = f"`{resumed.name}` has no `{what}`: the learning-rate schedule starts again, with an empty optimizer"
    note = "the steps are counted on from the checkpoint, so that the schedule does not reach its end"
    yield Finding(resumed.setting, message, note=note, help="resume from a checkpoint that was saved without `save_only_model`")


@rule_about("HFT092", found)
def optimizer_of_another_class(config: TrainerConfig, resumed: Resumption, checkpoint: Checkpoint) -> Iterator[Finding]:
    needed = OPTIMIZER_KEYS.get(str(config.arguments.optimizer))
    if needed is None or config.uses_deepspeed or not config.makes_optimizer or resumed.steps_left == 0:
        return
    words = checkpoint.words_of_optimizer()
    missing = next((key for key in needed if key not in words), None)
    if missing is None or GROUPS not in words:
        return
    saved = [name for name, keys in OPTIMIZER_KEYS.items() if words.issuperset(keys)]
    message = f"`optimizer.pt` of `{resumed.name}` is not of {config.arguments.optimizer}, the optimizer of this run"
    related = (of(config, "optim"),) if "optim" in config.arguments else ()
    remedy = set_key("optim", saved[0]) if len(saved) == 1 or saved[:1] == ["adamw_torch"] else "set `optim` as in the run that saved it"
    yield Finding(resumed.setting, message, exception=f"KeyError: '{missing}'", related=related, depends_on=doubts(resumed), help=remedy)


@rule_about("HFT087", found)
def checkpoint_not_loaded_by_torch(config: TrainerConfig, resumed: Resumption, checkpoint: Checkpoint) -> Iterator[Finding]:
    stated = config.facts.target.get("torch") if config.facts.is_known("torch") else None
    torch = config.facts.version("torch", "") if stated else ONLY_WEIGHTS  # what is installed today where nothing is stated
    random = "rng_state.pth" if config.world_size == 1 else "rng_state_0.pth"
    if config.version < SAFE_GLOBALS and torch >= ONLY_WEIGHTS and random in checkpoint.names and resumed.steps_left != 0:
        if any(name == "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD" for name, _ in config.facts.environment):
            return
        text = f"`{random}` of `{resumed.name}` is not loaded by {config.release} with torch {stated or '2.6 or newer'}"
        exception, remedy = "UnpicklingError: Weights only load failed.", "use transformers 4.47.0 or newer, or torch 2.5"
    elif config.version >= SAFE_LOADING and torch < ONLY_WEIGHTS and "optimizer.pt" in checkpoint.names and not config.uses_deepspeed:
        text = f"`optimizer.pt` of `{resumed.name}` is not loaded with torch {stated}"
        remedy, issue = "use torch 2.6 or newer", "Due to a serious vulnerability issue in `torch.load`"
        exception = f"ValueError: {issue}, even with `weights_only=True`, we now require users to"
    else:
        return
    open_release = () if stated else (Reason("release", "the release of torch", "it is not pinned"),)
    yield Finding(resumed.setting, text, exception=exception, depends_on=(*doubts(resumed), *open_release), help=remedy)


@rule_about("HFT088", found)
def resumed_unasked(config: TrainerConfig, resumed: Resumption, checkpoint: Checkpoint) -> Iterator[Finding]:
    if resumed.is_unasked:
        at = f" at step {resumed.begin:,}" if resumed.begin is not None else ""
        yield Finding(resumed.setting, f"the run continues from `{resumed.name}`{at}", help="use another `output_dir` to start anew")
