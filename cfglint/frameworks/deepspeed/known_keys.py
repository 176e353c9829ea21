"""The keys that DeepSpeed looks up one by one: at top level, and in the sections that are not pydantic models.

All other keys there are ignored (DeepSpeed 0.19.8, runtime/config.py:482-591). The removed keys of the top level
are included. The schema has the same keys with all other facts; it is larger, and needed only for a key that
is missing here.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

KEYS = {
    (): (
        "sequence_parallel_size train_batch_size train_micro_batch_size_per_gpu gradient_accumulation_steps "
        "managed_gradient_accumulation steps_per_print dump_state disable_python_gc disable_allgather "
        "communication_data_type seq_parallel_communication_data_type prescale_gradients gradient_predivide_factor "
        "gradient_allreduce_op zero_optimization allgather_size activation_checkpointing comms_logger tensorboard wandb "
        "csv_monitor comet gradient_clipping fp16 bf16 bfloat16 torch_autocast optimizer zero_allow_untested_optimizer "
        "zero_force_ds_cpu_optimizer scheduler flops_profiler wall_clock_breakdown memory_breakdown autotuning "
        "use_data_before_expert_parallelism hybrid_engine pipeline data_efficiency checkpoint data_types aio "
        "dataloader_drop_last log_level datastates_ckpt weight_quantization compile timers tensor_parallel "
        "expert_parallel vocabulary_size nebula compression_training amp quantize_training sparse_gradients eigenvalue "
        "sparse_attention elasticity graph_harvesting curriculum_learning progressive_layer_drop data_parallel_size"
    ),
    ("activation_checkpointing",): (
        "partition_activations contiguous_memory_optimization cpu_checkpointing number_checkpoints profile synchronize_checkpoint_boundary"
    ),
    ("torch_autocast",): "enabled dtype lower_precision_safe_modules",
    ("optimizer",): "type params legacy_fusion",
    ("scheduler",): "type params",
    ("flops_profiler",): "enabled recompute_fwd_factor profile_step module_depth top_modules detailed output_file",
    ("autotuning",): (
        "enabled fast results_dir exps_dir overwrite start_profile_step end_profile_step metric metric_path tuner_type "
        "tuner_early_stopping tuner_num_trials arg_mappings model_info model_info_path mp_size max_train_batch_size "
        "min_train_batch_size max_train_micro_batch_size_per_gpu min_train_micro_batch_size_per_gpu "
        "num_tuning_micro_batch_sizes"
    ),
    ("pipeline",): "stages partition seed_layers activation_checkpoint_interval pipe_partitioned grad_partitioned use_reentrant",
    ("data_efficiency",): "enabled seed data_sampling data_routing",
    ("checkpoint",): "tag_validation load_universal use_node_local_storage parallel_write checkpoint_serialization writer",
    ("data_types",): "grad_accum_dtype param_dtype buffer_dtype keep_in_fp32_modules",
    ("aio",): "block_size queue_depth intra_op_parallelism single_submit overlap_events use_gds",
    ("timers",): "throughput",
    ("expert_parallel",): (
        "enabled autoep_size expert_tensor_parallel_size validate_folding_routing async_split_plan preset_model "
        "moe_layer_pattern expert_pattern router_pattern use_grouped_mm disable_triton_grouped_mm route_norm "
        "route_scale score_apply combine_impl row_weighting_impl gate_up_impl comm_backend comm_num_sm comm_qp_margin "
        "comm_max_tokens_per_rank num_expert_groups num_limited_groups score_func top_k load_balance_coeff "
        "routed_scaling_factor expert_w1 expert_w2 expert_w3 num_experts_attr top_k_attr has_shared_experts "
        "shared_experts_pattern shared_experts_gate_pattern expert_activation"
    ),
    ("autotuning", "model_info"): "profile num_params hidden_size num_layers",
    ("data_efficiency", "data_routing"): "enabled random_ltd",
    ("checkpoint", "parallel_write"): "pipeline_stage",
    ("checkpoint", "writer"): "type io_buffer_size io_buffer_double show_statistics data_parallel decoupled io_multiplier",
}


def ignored_keys(values: dict[Any, Any]) -> Iterator[tuple[str, ...]]:
    """The paths of the keys that DeepSpeed ignores."""
    for path, known in KEYS.items():
        section: Any = values
        for step in path:
            section = section.get(step) if isinstance(section, dict) else None
        if isinstance(section, dict):
            names = known.split()
            yield from ((*path, str(key)) for key in section if key not in names)
