"""What the Trainer refuses, ignores or restores when it continues from a checkpoint. Imported only for a run that resumes."""

from __future__ import annotations

from cfglint.data.checkpoint import Checkpoint
from cfglint.data.engine_state import engine_state, engine_tags
from cfglint.evaluate import Reason
from cfglint.findings.remedy import Remedy, remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import Setting
from cfglint.findings.wording import counted, spelled
from cfglint.frameworks.deepspeed.checkpoints import missing_shards, other_processes
from cfglint.frameworks.huggingface.batch import of, steps
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.resumption import INTERVALS, INTERVALS_RESTORED, with_micro_batch
from cfglint.frameworks.resumption import Resumption
from cfglint.source.annotations import Any, Callable, Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.frameworks.deepspeed.config import DeepSpeedConfig

WEIGHTS = frozenset(
    """
    pytorch_model.bin model.safetensors pytorch_model.bin.index.json model.safetensors.index.json adapter_model.bin
    adapter_model.safetensors
    """.split()
)
STATE_FIELDS = frozenset(
    """
    epoch global_step max_steps num_train_epochs total_flos log_history best_metric best_model_checkpoint is_local_process_zero
    is_world_process_zero is_hyper_param_search trial_name trial_params
    """.split()
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
    return () if resumed.is_certain else (NOT_PASSED,)


@rule("HFT080")
def invalid_checkpoint(config: TrainerConfig) -> Iterator[Finding]:
    resumed = config.resumption
    if resumed is None:
        return
    checkpoint, setting, how = resumed.checkpoint, resumed.setting, doubts(resumed)
    if checkpoint is None:
        if resumed.name.lower() in ("true", "false"):
            text = f"`resume_from_checkpoint` is the string {spelled(resumed.name)}, which is taken for a path"
            remedy = "set `resume_from_checkpoint: true` without quotes, or a path"
            yield Finding(setting, text, exception=invalid(resumed), depends_on=how, help=remedy)
        elif config.facts.here:
            yield Finding(setting, f"`{resumed.name}` does not exist", exception=invalid(resumed), depends_on=how, help="correct the path")
        return
    if config.uses_deepspeed:
        if not engine_tags(checkpoint):
            text = f"`{resumed.name}` has no folder `global_step...`, so DeepSpeed did not save it"
            yield Finding(
                setting, text, exception=invalid(resumed), depends_on=how, help="set the path of a checkpoint that DeepSpeed saved"
            )
        elif not checkpoint.text("latest") and config.deepspeed is not None and not universal(config):
            text = f"`{resumed.name}` has no file `latest`, which names the state to load"
            exception = f"ValueError: [deepspeed] failed to resume from checkpoint {resumed.name}"
            yield Finding(
                setting, text, exception=exception, depends_on=how, help="write the name of its folder `global_step...` into `latest`"
            )
        return
    sharded = any("pytorch_model_fsdp" in name for name in checkpoint.names)
    if sharded and not config.uses_fsdp and config.launcher is None:
        text = f"`{resumed.name}` was saved with FSDP, and this run does not use it"
        exception = f"ValueError: Checkpoint found at {resumed.name} is only supported when using PyTorch FSDP"
        yield Finding(setting, text, exception=exception, depends_on=how, help="set `fsdp` as in the run that saved it")
    elif not sharded and not checkpoint.names & WEIGHTS and not any(checkpoint.listed(name) & WEIGHTS for name in checkpoint.names):
        text = f"`{resumed.name}` has no file with weights"
        yield Finding(setting, text, exception=invalid(resumed), depends_on=how, help="set the path of a complete checkpoint")
    elif not checkpoint.has_state and config.version >= STATE_NEEDED:
        text = f"`{resumed.name}` has no `trainer_state.json`, which the Trainer reads first"
        exception = f"FileNotFoundError: [Errno 2] No such file or directory: '{resumed.name}/trainer_state.json'"
        yield Finding(setting, text, exception=exception, depends_on=how, help="set the path of a checkpoint that the Trainer saved")


def invalid(resumed: Resumption) -> str:
    return f"ValueError: Can't find a valid checkpoint at {resumed.name}"


@rule("HFT081")
def state_of_another_release(config: TrainerConfig) -> Iterator[Finding]:
    both = found(config)
    if both is None or both[1].state is None:
        return
    resumed, checkpoint = both
    for name in checkpoint.state or {}:
        since = LATER_FIELDS.get(name, () if name in STATE_FIELDS else None)
        if since is None or since > config.version:
            text = f"`trainer_state.json` of `{resumed.name}` has `{name}`, which is unknown in {config.release}"
            newer = f", such as transformers {'.'.join(map(str, since))}.0" if since else ""
            yield Finding(
                resumed.setting,
                text,
                exception=f"TypeError: TrainerState.__init__() got an unexpected keyword argument '{name}'",
                depends_on=doubts(resumed),
                help=f"use the release that saved the checkpoint{newer}",
            )
            return
    if config.version >= COMPARED and (checkpoint.state or {}).get("train_batch_size") is None:
        text = f"`trainer_state.json` of `{resumed.name}` has no `train_batch_size`, because an older release saved it"
        exception = "TypeError: unsupported operand type(s) for //: 'NoneType' and 'int'"
        help_text = f'add `"train_batch_size": {spelled(config.batch.micro_batch.value)}` to it'
        yield Finding(resumed.setting, text, exception=exception, depends_on=doubts(resumed), help=help_text)


def universal(config: TrainerConfig) -> bool:
    section = config.deepspeed.values.get("checkpoint") if config.deepspeed is not None else None
    return isinstance(section, dict) and section.get("load_universal") is True


@rule("HFT082")
def checkpoint_of_another_engine(config: TrainerConfig) -> Iterator[Finding]:
    both = found(config)
    if both is None or config.deepspeed is None or config.deepspeed.refusal is not None:
        return
    engine = config.deepspeed.engine()
    if engine is None:
        return
    refused = refusal_of_engine(config, both[1], engine)  # type: ignore[arg-type]
    if refused is not None:
        text, exception, remedy = refused
        yield Finding(both[0].setting, text, exception=exception, depends_on=doubts(both[0]), help=remedy)


def refusal_of_engine(config: TrainerConfig, checkpoint: Checkpoint, engine: DeepSpeedConfig) -> tuple[str, str, Remedy | str] | None:
    """(what is wrong, exception, remedy) of a checkpoint that the engine does not load; None where its names do not tell."""
    name, remedy = checkpoint.path, "use the DeepSpeed config of the run that saved it"
    if universal(config):
        if "latest_universal" in checkpoint.names:
            return None
        text = f"`load_universal` is true, and `{name}` was not converted: it has no file `latest_universal`"
        exception = f"ValueError: Invalid for universal checkpoint: {name}/latest_universal does not exist"
        return text, exception, "convert the checkpoint with `ds_to_universal.py`" | remove_key("load_universal")
    saved, stage, world = engine_state(checkpoint), engine.stage, config.world_size
    if saved is None or stage is None:
        return None
    if saved.stage3 != (stage == 3):
        was = "stage 3" if saved.stage3 else "a lower stage"
        return f"ZeRO stage is {stage}, and `{name}` was saved with {was}", "AssertionError", remedy
    release, bf16 = engine.version, engine.precision == "bf16"
    divided = stage > 0 or (bf16 and release < STAGE_0_READS_SHARDS)
    if not divided:
        needs = bf16 and saved.partitioned and release >= STAGE_0_NEEDS_STATE
        text = f"ZeRO stage is 0, and `{name}` was saved with stage 1 or 2"
        return (text, "TypeError: 'NoneType' object is not subscriptable", remedy) if needs else None
    if engine.offload == "nvme":
        return None
    refused = None
    if world is not None and config.batch.data_parallel.integer == world:
        refused = other_processes(name, saved, world)
    return refused or missing_shards(name, saved, bf16, remedy)


@rule("HFT089")
def checkpoint_of_another_form(config: TrainerConfig) -> Iterator[Finding]:
    both = found(config)
    asked, place = form_of_state(config) if both is not None else ("", None)
    if both is None or place is None or asked not in STATE_FORMS:
        return
    form = next((name for name, holds in STATE_FORMS.items() if any(map(holds, both[1].names))), None)
    if form is None or form == asked:
        return
    name, missing = both[0].name, {FULL: f"{FSDP_MODEL}.bin", LOCAL: f"{FSDP_MODEL}_rank0.bin"}.get(asked)
    message = f"`{name}` was saved as {form}, and this run loads {asked}"
    text = f"FileNotFoundError: [Errno 2] No such file or directory: '{name}/{missing}'" if missing else UNREADABLE
    related = (place,) if place.document is not None else ()
    yield Finding(both[0].setting, message, exception=text, related=related, depends_on=doubts(both[0]), help=set_key(place.name, form))


def form_of_state(config: TrainerConfig) -> tuple[str, Setting | None]:
    """(the form in which FSDP loads the state of the model, the key that sets it); None where that is not known."""
    launcher: Any = config.launcher
    if launcher is not None and launcher.fsdp_version:
        section = launcher.section("fsdp_config")
        default = FULL if launcher.fsdp_version == "1" else SHARDED
        return str(section.get("fsdp_state_dict_type", default)).upper(), launcher.setting("fsdp_config", "fsdp_state_dict_type")
    if launcher is None and config.uses_fsdp and config.version >= STATE_IN_SECTION and config.arguments.known("fsdp", "fsdp_config"):
        section = config.section("fsdp_config") or {}
        key = "fsdp_state_dict_type" if "fsdp_state_dict_type" in section else "state_dict_type"
        return str(section.get(key, FULL)).upper(), config.setting("fsdp_config", key)
    return "", None


@rule("HFT083")
def restored_batch_size(config: TrainerConfig) -> Iterator[Finding]:
    both = found(config)
    setting = config.batch.micro_batch
    if both is None or both[0].micro_batch in (None, setting.value) or not isinstance(setting.value, int):
        return
    resumed = both[0]
    now, then = config.batch.consumed_batch, with_micro_batch(config, resumed.micro_batch).batch.consumed_batch
    size = (
        f"the global batch size is {then}, not {now}" if then is not None and now is not None else "the global batch size changes with it"
    )
    ends = f", and the run ends at step {resumed.end:,}" if resumed.end is not None else ""
    message = f"`{setting.name}` is {setting.value}, but the checkpoint restores {resumed.micro_batch}"
    remedy = f"change `gradient_accumulation_steps` instead, or edit `train_batch_size` in {resumed.name}/trainer_state.json"
    yield Finding(setting, message, related=(resumed.setting,), note=f"{size}{ends}", help=remedy)


@rule("HFT084")
def nothing_left_to_train(config: TrainerConfig) -> Iterator[Finding]:
    both = found(config)
    if both is None or both[0].steps_left is None or both[0].steps_left > 1 or both[0].begin is None:
        return
    resumed, total = both[0], steps(with_micro_batch(config, both[0].micro_batch)).total
    if total is None or (both[0].begin or 0) < total:
        return
    does = "one more step is made" if resumed.steps_left else "nothing is trained"
    key = "max_steps" if "max_steps" in config.arguments else "num_train_epochs"
    message = f"`{resumed.name}` is at step {resumed.begin:,} of a run of {counted(total, 'step')}: {does}"
    remedy = f"increase `{key}`, or start without the checkpoint"
    yield Finding(resumed.setting, message, related=(of(config, key),) if key in config.arguments else (), help=remedy)


@rule("HFT090")
def moved_in_data(config: TrainerConfig) -> Iterator[Finding]:
    both = found(config)
    if both is None or not both[0].begin or config.arguments["ignore_data_skip"] is not False:
        return
    resumed, saved = both[0], (both[1].state or {}).get("epoch")
    updates = steps(with_micro_batch(config, resumed.micro_batch)).updates
    if not isinstance(saved, (int, float)) or saved <= 0 or not updates or not resumed.steps_left:
        return
    begin = resumed.begin or 0
    goes_on, before = begin / updates, begin / saved
    if abs(goes_on - saved) * min(updates, before) < 1:  # less than one step of either run
        return
    does = "skipped" if goes_on > saved else "seen again"
    message = f"`{resumed.name}` was saved at epoch {saved:.2f}, and the run goes on at epoch {goes_on:.2f}: the data between are {does}"
    note = f"step {begin:,} is counted with {counted(updates, 'step')} per epoch, and the first run had {before:,.0f}"
    yield Finding(resumed.setting, message, note=note, help="keep the global batch size of the first run, by `gradient_accumulation_steps`")


@rule("HFT085")
def restored_interval(config: TrainerConfig) -> Iterator[Finding]:
    both = found(config)
    if both is None or both[1].state is None or config.version < INTERVALS_RESTORED:
        return
    args, strategies = (
        config.arguments,
        (config.arguments["logging_strategy"], config.arguments.eval_strategy, config.arguments["save_strategy"]),
    )
    for name, strategy in zip(INTERVALS, strategies, strict=True):
        saved, setting = (both[1].state or {}).get(name), of(config, name)
        if name not in args or strategy != "steps" or not args.known(name) or not isinstance(saved, (int, float)):
            continue
        ratio = isinstance(setting.value, float) and setting.value < 1
        if isinstance(setting.value, (int, float)) and setting.value != saved and not ratio:
            message = f"`{name}` is {setting.spelled}, but the checkpoint restores {saved:,}"
            yield Finding(setting, message, related=(both[0].setting,), help=f"edit `{name}` in {both[0].name}/trainer_state.json")


@rule("HFT086")
def resumed_without_optimizer(config: TrainerConfig) -> Iterator[Finding]:
    both = found(config)
    if both is None or config.uses_deepspeed or not both[1].names & WEIGHTS or (both[1].has_optimizer and both[1].has_scheduler):
        return
    what = "scheduler.pt" if both[1].has_optimizer else "optimizer.pt"
    message = f"`{both[0].name}` has no `{what}`: the learning-rate schedule starts again, with an empty optimizer"
    note = "the steps are counted on from the checkpoint, so that the schedule does not reach its end"
    yield Finding(both[0].setting, message, note=note, help="resume from a checkpoint that was saved without `save_only_model`")


@rule("HFT092")
def optimizer_of_another_class(config: TrainerConfig) -> Iterator[Finding]:
    both = found(config)
    needed = OPTIMIZER_KEYS.get(str(config.arguments.optimizer))
    if both is None or needed is None or config.uses_deepspeed or not config.makes_optimizer or both[0].steps_left == 0:
        return
    words = both[1].words_of_optimizer()
    missing = next((key for key in needed if key not in words), None)
    if missing is None or GROUPS not in words:
        return
    saved = [name for name, keys in OPTIMIZER_KEYS.items() if words.issuperset(keys)]
    message = f"`optimizer.pt` of `{both[0].name}` is not of {config.arguments.optimizer}, the optimizer of this run"
    related = (of(config, "optim"),) if "optim" in config.arguments else ()
    remedy = set_key("optim", saved[0]) if len(saved) == 1 or saved[:1] == ["adamw_torch"] else "set `optim` as in the run that saved it"
    yield Finding(both[0].setting, message, exception=f"KeyError: '{missing}'", related=related, depends_on=doubts(both[0]), help=remedy)


@rule("HFT087")
def checkpoint_not_loaded_by_torch(config: TrainerConfig) -> Iterator[Finding]:
    both = found(config)
    if both is None:
        return
    resumed, checkpoint = both
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
        exception = (
            "ValueError: Due to a serious vulnerability issue in `torch.load`, even with `weights_only=True`, we now require users to"
        )
        remedy = "use torch 2.6 or newer"
    else:
        return
    open_release = () if stated else (Reason("release", "the release of torch", "it is not pinned"),)
    yield Finding(resumed.setting, text, exception=exception, depends_on=(*doubts(resumed), *open_release), help=remedy)


@rule("HFT088")
def resumed_unasked(config: TrainerConfig) -> Iterator[Finding]:
    both = found(config)
    if both is not None and both[0].is_unasked:
        at = f" at step {both[0].begin:,}" if both[0].begin is not None else ""
        yield Finding(both[0].setting, f"the run continues from `{both[0].name}`{at}", help="use another `output_dir` to start anew")
