"""The fields of `TrainingArguments` with their defaults, and the releases of transformers that have them.

Read off the unpacked wheels of transformers 4.30.2 to 5.23.0; `schemas/huggingface.json` describes what
each of them means.
"""

from __future__ import annotations

from cfglint.frameworks.base import parse_version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cfglint.frameworks.base import Version

# name: (type, default in the newest release that has it, first release, first release without it);
# an empty first release is one before 4.30.2.
FIELDS: dict[str, tuple[str, Any, str, str]] = {
    "accelerator_config": ("dict|str", None, "4.38.0", ""),
    "activation_checkpointing": ("bool", None, "5.23.0", ""),
    "activation_checkpointing_kwargs": ("dict|str", None, "5.23.0", ""),
    "adafactor": ("bool", False, "", "5.0.0"),
    "adam_beta1": ("float", 0.9, "", ""),
    "adam_beta2": ("float", 0.999, "", ""),
    "adam_epsilon": ("float", 1e-08, "", ""),
    "auto_find_batch_size": ("bool", False, "", ""),
    "average_tokens_across_devices": ("bool", True, "4.46.2", ""),
    "batch_eval_metrics": ("bool", False, "4.41.0", ""),
    "bf16": ("bool", False, "", ""),
    "bf16_full_eval": ("bool", False, "", ""),
    "data_seed": ("int", None, "", ""),
    "dataloader_drop_last": ("bool", False, "", ""),
    "dataloader_in_order": ("bool", True, "5.15.0", ""),
    "dataloader_multiprocessing_context": ("str", None, "5.15.0", ""),
    "dataloader_num_workers": ("int", 0, "", ""),
    "dataloader_persistent_workers": ("bool", False, "4.36.0", ""),
    "dataloader_pin_memory": ("bool", True, "", ""),
    "dataloader_prefetch_factor": ("int", None, "4.38.0", ""),
    "ddp_backend": ("str", None, "", ""),
    "ddp_broadcast_buffers": ("bool", None, "4.31.0", ""),
    "ddp_bucket_cap_mb": ("int", None, "", ""),
    "ddp_find_unused_parameters": ("bool", None, "", ""),
    "ddp_static_graph": ("bool", None, "5.6.0", ""),
    "ddp_timeout": ("int", 1800, "", ""),
    "debug": ("choice", "", "", ""),
    "deepspeed": ("dict|str", None, "", ""),
    "disable_tqdm": ("bool", None, "", ""),
    "dispatch_batches": ("bool", None, "4.33.3", "4.51.0"),
    "do_eval": ("bool", False, "", ""),
    "do_predict": ("bool", False, "", ""),
    "do_train": ("bool", False, "", ""),
    "enable_jit_checkpoint": ("bool", False, "5.0.0", ""),
    "eval_accumulation_steps": ("int", None, "", ""),
    "eval_delay": ("float", 0, "", ""),
    "eval_do_concat_batches": ("bool", True, "4.40.0", ""),
    "eval_on_start": ("bool", False, "4.42.0", ""),
    "eval_steps": ("float", None, "", ""),
    "eval_strategy": ("choice", "no", "4.41.0", ""),
    "eval_use_gather_object": ("bool", False, "4.43.0", ""),
    "evaluation_strategy": ("choice", None, "", "4.51.0"),
    "fp16": ("bool", False, "", ""),
    "fp16_backend": ("str", "auto", "", "5.0.0"),
    "fp16_full_eval": ("bool", False, "", ""),
    "fp16_opt_level": ("str", "O1", "", "5.0.0"),
    "fsdp": ("str|bool", None, "", ""),
    "fsdp_config": ("dict|str", None, "", ""),
    "fsdp_min_num_params": ("int", 0, "", "5.0.0"),
    "fsdp_transformer_layer_cls_to_wrap": ("str", None, "", "5.0.0"),
    "full_determinism": ("bool", False, "", ""),
    "gradient_accumulation_steps": ("int", 1, "", ""),
    "gradient_checkpointing": ("bool", None, "", ""),
    "gradient_checkpointing_kwargs": ("dict|str", None, "4.35.2", ""),
    "greater_is_better": ("bool", None, "", ""),
    "group_by_length": ("bool", False, "", "5.2.0"),
    "half_precision_backend": ("str", "auto", "", "5.0.0"),
    "hub_always_push": ("bool", False, "4.33.3", ""),
    "hub_model_id": ("str", None, "", ""),
    "hub_private_repo": ("bool", None, "", ""),
    "hub_revision": ("str", None, "4.53.0", ""),
    "hub_strategy": ("choice", "every_save", "", ""),
    "hub_token": ("str", None, "", ""),
    "ignore_data_skip": ("bool", False, "", ""),
    "include_for_metrics": ("list", [], "4.46.1", ""),
    "include_inputs_for_metrics": ("bool", False, "", "5.0.0"),
    "include_num_input_tokens_seen": ("str|bool", "no", "4.36.0", ""),
    "include_tokens_per_second": ("bool", False, "4.34.1", "5.0.0"),
    "jit_mode_eval": ("bool", False, "", "5.0.0"),
    "label_names": ("list", None, "", ""),
    "label_smoothing_factor": ("float", 0.0, "", ""),
    "learning_rate": ("float", 5e-05, "", ""),
    "length_column_name": ("str", "length", "", ""),
    "liger_kernel_config": ("dict|str", None, "4.53.0", ""),
    "load_best_model_at_end": ("bool", False, "", ""),
    "local_rank": ("int", -1, "", ""),
    "log_level": ("str", "passive", "", ""),
    "log_level_replica": ("str", "warning", "", ""),
    "log_on_each_node": ("bool", True, "", ""),
    "logging_dir": ("str", None, "", "5.15.0"),
    "logging_first_step": ("bool", False, "", ""),
    "logging_nan_inf_filter": ("bool", True, "", ""),
    "logging_steps": ("float", 500, "", ""),
    "logging_strategy": ("choice", "steps", "", ""),
    "lr_scheduler_kwargs": ("dict|str", None, "4.36.0", ""),
    "lr_scheduler_type": ("choice", "linear", "", ""),
    "max_grad_norm": ("float", 1.0, "", ""),
    "max_steps": ("int", -1, "", ""),
    "metric_for_best_model": ("str", None, "", ""),
    "mp_parameters": ("str", "", "", "5.0.0"),
    "neftune_noise_alpha": ("float", None, "4.35.2", ""),
    "no_cuda": ("bool", False, "", "5.0.0"),
    "num_train_epochs": ("float", 3.0, "", ""),
    "optim": ("choice", "adamw_torch", "", ""),
    "optim_args": ("str", None, "", ""),
    "optim_target_modules": ("str|list", None, "4.39.0", ""),
    "output_dir": ("str", None, "", ""),
    "overwrite_output_dir": ("bool", False, "", "5.0.0"),
    "parallelism_config": ("dict", None, "4.56.0", ""),
    "past_index": ("int", -1, "", "5.0.0"),
    "per_device_eval_batch_size": ("int", 8, "", ""),
    "per_device_train_batch_size": ("int", 8, "", ""),
    "per_gpu_eval_batch_size": ("int", None, "", "5.0.0"),
    "per_gpu_train_batch_size": ("int", None, "", "5.0.0"),
    "prediction_loss_only": ("bool", False, "", ""),
    "project": ("str", "huggingface", "4.57.1", ""),
    "push_to_hub": ("bool", False, "", ""),
    "push_to_hub_model_id": ("str", None, "", "5.0.0"),
    "push_to_hub_organization": ("str", None, "", "5.0.0"),
    "push_to_hub_token": ("str", None, "", "5.0.0"),
    "ray_scope": ("str", "last", "", "5.0.0"),
    "remove_unused_columns": ("bool", True, "", ""),
    "report_to": ("str|list", "none", "", ""),
    "restore_callback_states_from_checkpoint": ("bool", False, "4.41.0", ""),
    "resume_from_checkpoint": ("str", None, "", ""),
    "run_name": ("str", None, "", ""),
    "save_on_each_node": ("bool", False, "", ""),
    "save_only_model": ("bool", False, "4.36.0", ""),
    "save_safetensors": ("bool", True, "", "5.0.0"),
    "save_steps": ("float", 500, "", ""),
    "save_strategy": ("choice", "steps", "", ""),
    "save_total_limit": ("int", None, "", ""),
    "seed": ("int", 42, "", ""),
    "sharded_ddp": ("str|list", "", "", "4.35.2"),
    "skip_memory_metrics": ("bool", True, "", ""),
    "split_batches": ("bool", None, "4.35.2", "4.51.0"),
    "tf32": ("bool", None, "", ""),
    "torch_compile": ("bool", False, "", ""),
    "torch_compile_backend": ("str", None, "", ""),
    "torch_compile_mode": ("str", None, "", ""),
    "torch_empty_cache_steps": ("int", None, "4.43.0", ""),
    "torchdynamo": ("str", None, "", "5.0.0"),
    "tp_size": ("int", 0, "4.50.0", "4.52.1"),
    "tpu_metrics_debug": ("bool", False, "", "5.0.0"),
    "tpu_num_cores": ("int", None, "", "5.0.0"),
    "trackio_bucket_id": ("str", None, "5.6.0", ""),
    "trackio_space_id": ("str", None, "4.57.1", ""),
    "trackio_static_space_id": ("str|bool", None, "5.6.0", ""),
    "train_sampling_strategy": ("str", "random", "5.2.0", ""),
    "use_cache": ("bool", False, "5.0.0", ""),
    "use_cpu": ("bool", False, "4.33.3", ""),
    "use_ipex": ("bool", False, "", "4.57.1"),
    "use_legacy_prediction_loop": ("bool", False, "", "5.0.0"),
    "use_liger_kernel": ("bool", False, "4.45.0", ""),
    "use_mps_device": ("bool", False, "", "5.0.0"),
    "warmup_ratio": ("float", None, "", "5.15.0"),
    "warmup_steps": ("float", 0, "", ""),
    "weight_decay": ("float", 0.0, "", ""),
    "xpu_backend": ("str", None, "", "4.33.3"),
}

# Defaults that were others before a release: name -> (release, the default until then).
FORMER_DEFAULTS: dict[str, tuple[str, Any]] = {
    "average_tokens_across_devices": ("4.54.0", False),
    "fsdp": ("4.57.1", ""),
    "hub_private_repo": ("4.47.0", False),
    "include_num_input_tokens_seen": ("5.0.0", False),
    "optim": ("4.33.0", "adamw_hf"),
    "report_to": ("5.0.0", None),
    "warmup_ratio": ("5.0.0", 0.0),
}

SPLIT_FUSED = (4, 54)  # from here on the default optimizer is the fused AdamW where torch is 2.8 or newer

INTERVALS = ("no", "steps", "epoch")
SCHEDULERS = (
    "linear",
    "cosine",
    "cosine_with_restarts",
    "polynomial",
    "constant",
    "constant_with_warmup",
    "inverse_sqrt",
    "reduce_lr_on_plateau",
    "cosine_with_min_lr",
    "cosine_warmup_with_min_lr",
    "warmup_stable_decay",
    "greedy",
)
OPTIMIZERS = (
    "adamw_hf",
    "adamw_torch",
    "adamw_torch_fused",
    "adamw_torch_xla",
    "adamw_torch_npu_fused",
    "adamw_apex_fused",
    "adafactor",
    "adamw_anyprecision",
    "adamw_torch_4bit",
    "adamw_torch_8bit",
    "ademamix",
    "sgd",
    "adagrad",
    "adamw_bnb_8bit",
    "adamw_8bit",
    "ademamix_8bit",
    "lion_8bit",
    "lion_32bit",
    "paged_adamw_32bit",
    "paged_adamw_8bit",
    "paged_ademamix_32bit",
    "paged_ademamix_8bit",
    "paged_lion_32bit",
    "paged_lion_8bit",
    "rmsprop",
    "rmsprop_bnb",
    "rmsprop_bnb_8bit",
    "rmsprop_bnb_32bit",
    "galore_adamw",
    "galore_adamw_8bit",
    "galore_adafactor",
    "galore_adamw_layerwise",
    "galore_adamw_8bit_layerwise",
    "galore_adafactor_layerwise",
    "lomo",
    "adalomo",
    "grokadamw",
    "schedule_free_radam",
    "schedule_free_adamw",
    "schedule_free_sgd",
    "apollo_adamw",
    "apollo_adamw_layerwise",
    "stable_adamw",
)

# Fields whose value is made into an Enum: name -> (the class that the exception names, its values).
CHOICES: dict[str, tuple[str, tuple[str, ...]]] = {
    "eval_strategy": ("IntervalStrategy", INTERVALS),
    "evaluation_strategy": ("IntervalStrategy", INTERVALS),
    "logging_strategy": ("IntervalStrategy", INTERVALS),
    "save_strategy": ("SaveStrategy", (*INTERVALS, "best")),
    "hub_strategy": ("HubStrategy", ("end", "every_save", "checkpoint", "all_checkpoints")),
    "lr_scheduler_type": ("SchedulerType", SCHEDULERS),
    "optim": ("OptimizerNames", OPTIMIZERS),
    "debug": ("DebugOption", ("underflow_overflow", "tpu_metrics_debug")),
}

# Values that only some releases have: (field, value) -> (first release, first release without it). What is
# not here is in every release from 4.42.4 on.
CHOICE_HISTORY: dict[tuple[str, str], tuple[str, str]] = {
    ("save_strategy", "best"): ("4.47.0", ""),
    ("lr_scheduler_type", "cosine_warmup_with_min_lr"): ("4.54.0", ""),
    ("lr_scheduler_type", "greedy"): ("5.4.0", ""),
    ("optim", "adamw_hf"): ("", "4.50.0"),
    ("optim", "adamw_apex_fused"): ("", "5.9.0"),
    ("optim", "adamw_torch_4bit"): ("4.45.0", ""),
    ("optim", "adamw_torch_8bit"): ("4.49.0", ""),
    ("optim", "ademamix"): ("4.45.0", ""),
    ("optim", "ademamix_8bit"): ("4.45.0", ""),
    ("optim", "paged_ademamix_32bit"): ("4.45.0", ""),
    ("optim", "paged_ademamix_8bit"): ("4.45.0", ""),
    ("optim", "grokadamw"): ("4.45.0", ""),
    ("optim", "schedule_free_radam"): ("4.49.0", ""),
    ("optim", "schedule_free_adamw"): ("4.45.0", ""),
    ("optim", "schedule_free_sgd"): ("4.45.0", ""),
    ("optim", "apollo_adamw"): ("4.49.0", ""),
    ("optim", "apollo_adamw_layerwise"): ("4.49.0", ""),
    ("optim", "stable_adamw"): ("4.54.0", ""),
}


def within(since: str, until: str, version: Version) -> bool:
    """Whether a release is in the half-open range of two release texts, empty for an open end."""
    return (not since or version >= parse_version(since)) and (not until or version < parse_version(until))


_defaults: dict[Version, dict[str, Any]] = {}


def defaults(version: Version) -> dict[str, Any]:
    """The fields that a release has, with the values that they have when nothing sets them."""
    found = _defaults.get(version)
    if found is None:
        found = {name: value for name, (_, value, since, until) in FIELDS.items() if within(since, until, version)}
        for name, (release, former) in FORMER_DEFAULTS.items():
            if name in found and version < parse_version(release):
                found[name] = former
        if version >= SPLIT_FUSED:
            found["optim"] = "adamw_torch_fused"
        _defaults[version] = found
    return found


def has_field(name: Any, version: Version) -> bool:
    """Whether `TrainingArguments` of a release takes a keyword of this name."""
    return isinstance(name, str) and name in defaults(version)


def choices(name: str, version: Version) -> tuple[str, tuple[str, ...]]:
    """(Enum class, its values) of a field in a release."""
    label, values = CHOICES[name]
    if name == "save_strategy" and version < (4, 47):
        label = "IntervalStrategy"
    return label, tuple(value for value in values if within(*CHOICE_HISTORY.get((name, value), ("", "")), version))
