"""The `TrainingArguments` that axolotl builds from its validated values (core/builders/base.py:640-788,
core/builders/causal.py:178-345 of 0.21.0; core/trainer_builder.py up to 0.9.2).
"""

from __future__ import annotations

from cfglint.evaluate import Unknown
from cfglint.findings.releases import Releases
from cfglint.frameworks.axolotl.batch import evaluates, passes_steps, planned, total_steps, warmup_steps
from cfglint.frameworks.axolotl.refusals import AxolotlModel
from cfglint.frameworks.axolotl.releases import NEW_FSDP
from cfglint.frameworks.axolotl.values import AxolotlValues
from cfglint.source.annotations import ConfigTable, ConfigValue, Operand

# Fields that are passed on under the same name if they are not null.
SAME = tuple(
    """
    adam_beta1 adam_beta2 adam_epsilon optim_target_modules max_grad_norm logging_nan_inf_filter dataloader_num_workers
    dataloader_pin_memory dataloader_prefetch_factor dataloader_drop_last gradient_accumulation_steps learning_rate output_dir
    save_only_model weight_decay seed full_determinism torch_empty_cache_steps auto_find_batch_size neftune_noise_alpha ddp_timeout
    ddp_bucket_cap_mb ddp_broadcast_buffers remove_unused_columns metric_for_best_model greater_is_better deepspeed
    lr_scheduler_kwargs
    """.split()
)
SAFETENSORS = Releases((), (0, 14, 0))  # `save_safetensors` is passed on
GROUPED = Releases((), (0, 15, 0))  # `group_by_length` is passed on
# Passed on together, if the first is set.
COMPILE = ("torch_compile", "torch_compile_backend", "torch_compile_mode")
HUB = ("hub_model_id", "hub_strategy", "hub_revision")
# The Trainer's field -> axolotl's key.
RENAMED = {
    "per_device_train_batch_size": "micro_batch_size",
    "per_device_eval_batch_size": "eval_batch_size",
    "optim": "optimizer",
    "lr_scheduler_type": "lr_scheduler",
    "num_train_epochs": "num_epochs",
}
# axolotl's own optimizers, which are not passed to the Trainer's field (utils/schemas/enums.py:90-112).
OWN_OPTIMIZERS = tuple(
    """
    optimi_adamw ao_adamw_4bit ao_adamw_8bit ao_adamw_fp8 adopt_adamw adamc came_pytorch muon muon_8bit dion sinkgd polora
    flash_adamw flash_adam flash_sgd flash_sgdw flash_lion scao q_galore_adamw8bit
    """.split()
)
UNHANDLED = ("ao_adamw_4bit", "ao_adamw_8bit")  # listed, and refused by the builder (core/builders/base.py:522)
BUILT = Releases((), (0, 12, 0))  # the builder has those, too
DION, DION_RATE = "dion", "dion_lr"
OPTIMIZER = "optimizer"  # the only key that must be a name: null is passed to the Trainer
NEVER = Releases((0, 21, 0))  # `eval_strategy: no` goes before steps


def trainer_fields(config: AxolotlValues) -> tuple[ConfigTable, ConfigTable, dict[str, str]]:
    """Return (fields that the file sets, fields that axolotl fills in, the Trainer's field -> axolotl's key)."""
    model = config.model
    assert model is not None
    fields: dict[str, tuple[ConfigValue, str]] = {name: (getattr(model, name), name) for name in SAME if getattr(model, name) is not None}
    for name, key in RENAMED.items():
        fields[name] = (getattr(model, key), key)
    if fields["per_device_eval_batch_size"][0] is None:
        fields["per_device_eval_batch_size"] = (model.micro_batch_size, "micro_batch_size")
    for first, *others in (HUB, COMPILE):
        if getattr(model, first):
            fields.update({name: (getattr(model, name), name) for name in (first, *others) if getattr(model, name)})
    for name, releases in (("save_safetensors", SAFETENSORS), ("group_by_length", GROUPED)):
        if model.release in releases and getattr(model, name) is not None:
            fields[name] = (getattr(model, name), name)
    optimizer(model, fields)
    schedule(config, model, fields)
    occasions(model, fields)
    precision(model, fields)
    sharding(model, fields)
    given = {name: value for name, (value, key) in fields.items() if config.get(key) is not None or (key == OPTIMIZER and config.has(key))}
    filled = {name: value for name, (value, key) in fields.items() if name not in given}
    source = {name: key for name, (_, key) in fields.items() if key != name}
    across = {"average_tokens_across_devices": False} if model.release >= (0, 12, 0) else {}  # switched off
    return given, {**filled, **across, "report_to": "none"}, source


def optimizer(model: AxolotlModel, fields: dict[str, tuple[ConfigValue, str]]) -> None:
    """Set the optimizer: the Trainer builds its default if axolotl supplies the optimizer itself."""
    if model.release < (0, 8, 0):
        if model.optimizer in (*OWN_OPTIMIZERS, "lion_pytorch") or not model.optimizer:  # built by axolotl up to 0.7.0
            fields["optim"] = ("adamw_hf", "optimizer")
    elif model.optimizer in OWN_OPTIMIZERS:
        fields["optim"] = ("adamw_torch_fused", "optimizer")
    if model.optim_args:
        optim_args = model.optim_args
        text = ",".join(f"{key}={value}" for key, value in optim_args.items()) if isinstance(optim_args, dict) else optim_args
        if model.optimizer not in OWN_OPTIMIZERS:
            fields["optim_args"] = (text, "optim_args")


def schedule(config: AxolotlValues, model: AxolotlModel, fields: dict[str, tuple[ConfigValue, str]]) -> None:
    name = model.lr_scheduler if isinstance(model.lr_scheduler, Unknown) else model.lr_scheduler or "cosine"
    own = name in ("one_cycle", "rex") and (name != "rex" or model.release >= (0, 8, 0))
    fields["lr_scheduler_type"] = ("cosine" if own else name, "lr_scheduler")
    if own or (name == "cosine" and (model.lr_quadratic_warmup or model.cosine_min_lr_ratio is not None)):
        fields.pop("lr_scheduler_kwargs", None)  # axolotl builds the schedule itself (core/trainers/mixins/scheduler.py:67-140)
    total = total_steps(config) if model.max_steps or passes_steps(model) else -1
    written = model.max_steps if model.max_steps and (passes_steps(model) or total is None) else None
    limit = model.max_steps if isinstance(model.max_steps, Unknown) else written if written is not None else total
    fields["max_steps"] = (-1 if limit is None else limit, "max_steps")
    warmup = warmup_steps(config)
    if isinstance(warmup, float) and model.release < (0, 14, 0):  # a warm-up ratio is passed on as such
        fields["warmup_ratio"] = (warmup, "warmup_ratio")
        warmup = 0
    fields["warmup_steps"] = (0 if warmup is None else warmup, "warmup_steps" if model.warmup_steps is not None else "warmup_ratio")
    steps = model.logging_steps
    if steps is None:
        known = planned(config)
        steps = 500 if not known else max(min(int(0.005 * known), 10), 1)
    fields["logging_steps"] = (steps, "logging_steps")


def occasions(model: AxolotlModel, fields: dict[str, tuple[ConfigValue, str]]) -> None:
    """Set when to save and to evaluate (core/builders/base.py:536-609), and whether the best model is loaded (causal.py:255)."""
    if model.save_steps:
        fields["save_strategy"] = ("steps", "save_strategy")
        fields["save_steps"] = (model.save_steps, "saves_per_epoch" if model.saves_per_epoch else "save_steps")
    else:
        fields["save_strategy"] = (model.save_strategy or "epoch", "save_strategy")
    fields["save_total_limit"] = (model.save_total_limit or 4, "save_total_limit")
    none = not evaluates(model) and model.val_set_size == 0
    if none or (model.eval_strategy == "no" and (model.release in NEVER or not model.eval_steps)):
        fields["eval_strategy"] = ("no", "eval_strategy")
    elif model.eval_steps:
        fields["eval_strategy"] = ("steps", "eval_strategy")
        fields["eval_steps"] = (model.eval_steps, "evals_per_epoch" if model.evals_per_epoch else "eval_steps")
    elif model.eval_strategy:
        fields["eval_strategy"] = (model.eval_strategy, "eval_strategy")
    elif model.release < (0, 10, 0):  # without steps or a strategy, the run is evaluated at every epoch
        fields["eval_strategy"] = ("epoch", "eval_strategy")
    # axolotl makes the Trainer load the best model at the end by itself, if checkpoints and evaluations coincide.
    wanted = model.load_best_model_at_end is not False or model.early_stopping_patience
    one_set = (not model.test_datasets and (model.val_set_size or 0) > 0) or (model.test_datasets and model.val_set_size == 0)
    best = bool(wanted and one_set and model.save_steps and model.eval_steps and model.save_steps % model.eval_steps == 0)
    fields["load_best_model_at_end"] = (best, "load_best_model_at_end")


def precision(model: AxolotlModel, fields: dict[str, tuple[ConfigValue, str]]) -> None:
    """Set the half precision (core/builders/base.py:322) and activation checkpointing (:609); axolotl passes `use_reentrant` itself."""
    fields["fp16"] = (bool(model.fp16 and not model.bf16), "fp16")
    fields["bf16"] = (bool(model.bf16 or model.bfloat16), "bf16" if model.bf16 or not model.bfloat16 else "bfloat16")
    tf32 = model.tf32 if model.release < (0, 16, 0) else model.tf32 is True
    fields["tf32"] = (tf32, "tf32")
    on = model.gradient_checkpointing
    hidden = model.activation_offloading == "hidden_states" and model.release >= (0, 18, 0)
    if model.activation_offloading and not hidden and model.release >= (0, 12, 0):
        on = False
    fields["gradient_checkpointing"] = (bool(on), "gradient_checkpointing")
    fields["gradient_checkpointing_kwargs"] = (model.gradient_checkpointing_kwargs, "gradient_checkpointing_kwargs")


def sharding(model: AxolotlModel, fields: dict[str, tuple[Operand, str]]) -> None:
    if model.fsdp or (model.fsdp_config and model.release in NEW_FSDP):
        fields["fsdp"] = (model.fsdp or True, "fsdp" if model.fsdp else "fsdp_config")
        options = model.fsdp_config or {}
        prefix = "fsdp_" if model.release not in NEW_FSDP else ""
        fields["fsdp_config"] = ({key.removeprefix(prefix): value for key, value in options.items() if value is not None}, "fsdp_config")
    loader = dict(model.accelerator_config or {})
    if model.release >= (0, 21, 0):
        loader.setdefault("non_blocking", model.dataloader_pin_memory is not False)
    fields["accelerator_config"] = (loader, "accelerator_config")
    if model.sample_packing and model.eval_sample_packing is False and model.dataloader_drop_last is None:
        fields["dataloader_drop_last"] = (True, "dataloader_drop_last")
