"""The options of `accelerate launch`, to which `trl sft` and similar commands pass every key of the file that no class of the script has;
and what accelerate makes of a string that is to be a DeepSpeed configuration and names no file.

Source: trl 1.16.0 cli/commands/training.py (TrainingCommand.run), cli/accelerate_launcher.py; the options of accelerate 1.15.0
commands/launch.py, whose parser accepts no abbreviations.
"""

from __future__ import annotations

from cfglint.launch.argparse_types import converted, invalid_choice, invalid_value, spellings
from cfglint.source.shell.tables import names

# The variable by which the launcher hands the accumulation on; it takes precedence over the keyword (accelerate 1.15.0 accelerator.py:546).
ACCUMULATION_VARIABLE = "ACCELERATE_GRADIENT_ACCUMULATION_STEPS"
FLAGS = names(  # options without a value, `ipex`, `use_tp` and `use_xpu` of older releases among them
    "cpu debug downcast_bf16 dynamo_use_dynamic dynamo_use_fullgraph dynamo_use_regional_compilation enable_cpu_affinity "
    "fp8_use_autocast_during_eval help module multi_gpu no_python no_tpu_cluster quiet same_network tpu tpu_cluster "
    "tpu_use_sudo use_xpu ipex use_tp use_deepspeed use_fsdp use_megatron_lm use_parallelism_config"
)
VALUES = names(  # options with a value
    "aws_access_key_id aws_secret_access_key config_file deepspeed_config_file deepspeed_exclusion_filter "
    "deepspeed_hostfile deepspeed_inclusion_filter deepspeed_moe_layer_cls_names deepspeed_multinode_launcher "
    "dynamo_backend dynamo_mode env fp8_amax_compute_algo fp8_amax_history_len fp8_backend "
    "fp8_enable_fsdp_float8_all_gather fp8_format fp8_interval fp8_margin fp8_opt_level fp8_override_linear_precision "
    "fp8_pad_inner_dim fsdp_activation_checkpointing fsdp_activation_checkpointing_offload fsdp_auto_wrap_policy "
    "fsdp_backward_prefetch fsdp_cpu_ram_efficient_loading fsdp_forward_prefetch fsdp_min_num_params fsdp_offload_params "
    "fsdp_reshard_after_forward fsdp_sharding_strategy fsdp_state_dict_type fsdp_sync_module_states "
    "fsdp_transformer_layer_cls_to_wrap fsdp_use_orig_params fsdp_version gpu_ids gradient_accumulation_steps "
    "gradient_clipping log_dir machine_rank main_process_ip main_process_port main_training_function max_restarts "
    "megatron_lm_attention_backend megatron_lm_attention_dropout megatron_lm_attention_softmax_in_fp32 "
    "megatron_lm_calculate_per_token_loss megatron_lm_context_parallel_size megatron_lm_decoder_last_pipeline_num_layers "
    "megatron_lm_eod_mask_loss megatron_lm_expert_model_parallel_size megatron_lm_expert_tensor_parallel_size "
    "megatron_lm_gradient_clipping megatron_lm_hidden_dropout megatron_lm_no_load_optim megatron_lm_no_save_optim "
    "megatron_lm_num_micro_batches megatron_lm_optimizer_cpu_offload megatron_lm_overlap_cpu_optimizer_d2h_h2d "
    "megatron_lm_pp_degree megatron_lm_recompute_activations megatron_lm_recompute_granularity "
    "megatron_lm_recompute_method megatron_lm_recompute_num_layers megatron_lm_sequence_parallelism megatron_lm_tp_degree "
    "megatron_lm_use_custom_fsdp megatron_lm_use_distributed_optimizer megatron_lm_use_precision_aware_optimizer "
    "megatron_lm_use_rotary_position_embeddings mixed_precision monitor_interval mpirun_hostfile "
    "num_cpu_threads_per_process num_machines num_processes offload_optimizer_device offload_optimizer_nvme_path "
    "offload_param_device offload_param_nvme_path parallelism_config_cp_backend parallelism_config_cp_comm_strategy "
    "parallelism_config_cp_size parallelism_config_dp_replicate_size parallelism_config_dp_shard_size "
    "parallelism_config_sp_attn_implementation parallelism_config_sp_backend parallelism_config_sp_seq_length "
    "parallelism_config_sp_seq_length_is_variable parallelism_config_sp_size parallelism_config_tp_size rdzv_backend "
    "rdzv_conf role tee tp_size vm zero3_init_flag zero3_save_16bit_model zero_stage"
)
INTEGERS = names(
    "fp8_amax_history_len fp8_interval fp8_margin fsdp_min_num_params gradient_accumulation_steps machine_rank "
    "main_process_port max_restarts "
    "megatron_lm_context_parallel_size megatron_lm_decoder_last_pipeline_num_layers megatron_lm_expert_model_parallel_size "
    "megatron_lm_expert_tensor_parallel_size megatron_lm_num_micro_batches megatron_lm_pp_degree megatron_lm_recompute_num_layers "
    "megatron_lm_tp_degree mpirun_ccl num_cpu_threads_per_process num_machines num_processes parallelism_config_cp_size "
    "parallelism_config_dp_replicate_size parallelism_config_dp_shard_size parallelism_config_sp_size parallelism_config_tp_size tp_size "
    "zero_stage"
)
NUMBERS = names("gradient_clipping megatron_lm_attention_dropout megatron_lm_gradient_clipping megatron_lm_hidden_dropout monitor_interval")
CHOICES = {  # of all releases
    "mixed_precision": ("no", "fp16", "bf16", "fp8"),
    "fsdp_version": ("1", "2"),
    "dynamo_mode": ("default", "reduce-overhead", "max-autotune"),
    "dynamo_backend": (
        *("no", "eager", "aot_eager", "inductor", "nvfuser", "aot_nvfuser", "aot_cudagraphs", "aot_ts_nvfuser", "nvprims_nvfuser"),
        *("cudagraphs", "ofi", "fx2trt", "onnxrt", "tensorrt", "aot_torchxla_trace_once", "torhchxla_trace_once", "torchxla_trace_once"),
        *("ipex", "tvm", "hpu_backend", "neuron"),
    ),
    "fp8_amax_compute_algo": ("max", "most_recent"),
    "fp8_backend": ("ao", "te", "msamp"),
    "fp8_format": ("HYBRID", "E4M3", "E5M2"),
    "fp8_opt_level": ("O1", "O2"),
}
# Options of these families come and go with the releases of accelerate.
FAMILIES = ("aws_", "deepspeed_", "dynamo_", "fp8_", "fsdp_", "ipex", "megatron_lm_", "mpirun_", "parallelism_config_", "tpu_")
# The configs in TRL's package, which `trl` accepts by name (trl 1.16.0 trl/accelerate_configs): distributed type by name.
PACKAGED = {
    "single_gpu": "NO",
    "multi_gpu": "MULTI_GPU",
    **dict.fromkeys(("fsdp1", "fsdp2"), "FSDP"),
    **dict.fromkeys(("zero1", "zero2", "zero3"), "DEEPSPEED"),
}
PACKAGED_PROCESSES = 8  # the value of `num_processes` in each of them
NOT_A_CONFIG = "ValueError: Expected a string path to an existing deepspeed config, or a dictionary, or a base64 encoded string. Received: "


def is_option(key: str) -> bool:
    name = key.replace("-", "_")
    return name in FLAGS or name in VALUES or name.startswith(FAMILIES)


def is_flag(key: str) -> bool:
    return key.replace("-", "_") in FLAGS


def refused(key: str, text: str) -> str:
    """The message of argparse about the value of an option; empty if it accepts the value."""
    name = key.replace("-", "_")
    kind = "int" if name in INTEGERS else "float" if name in NUMBERS else ""
    if kind and converted(kind, text) is None:
        return invalid_value(spellings(name), kind, text)
    return invalid_choice(spellings(name), text, CHOICES[name]) if name in CHOICES and text not in CHOICES[name] else ""


def needed(key: str) -> str:
    """What an option accepts, for a remedy."""
    name = key.replace("-", "_")
    return "an integer" if name in INTEGERS else "a number" if name in NUMBERS else f"one of {', '.join(CHOICES[name])}"


def refused_config(text: str) -> str:
    """The exception for a string that names no existing file; empty if it is a JSON object, plain or base64-encoded.

    accelerate's `HfDeepSpeedConfig` serves the Trainer, TRL, LLaMA-Factory, axolotl and `accelerate launch`: none of them has names
    for configurations. Plain JSON is read from accelerate 1.4 on; the Trainer itself reads it in every release.
    Source: accelerate 1.15.0 utils/deepspeed.py:136-158; 0.26.1 to 1.3.0 without the first `json.loads`.
    """
    import json
    from base64 import urlsafe_b64decode

    try:
        try:
            value = json.loads(text)
        except json.JSONDecodeError:
            value = json.loads(urlsafe_b64decode(text).decode("utf-8"))
    except (ValueError, RecursionError):
        return NOT_A_CONFIG + text
    return "" if isinstance(value, dict) else f"AttributeError: '{type(value).__name__}' object has no attribute 'get'"
