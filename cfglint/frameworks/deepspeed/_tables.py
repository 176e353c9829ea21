"""Generated from schemas/deepspeed.json by tools/rebuild_schema.py; do not edit.

Releases are tuples of numbers: `since` is the first release that has something, () if it is older than all modelled ones; `until`
the first without it, () if there is none. How a value is read: see `models.py`.
"""

# ruff: noqa
# fmt: off

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cfglint.frameworks.versions import Version

    Row = tuple[Any, Any, str, Version, Version]
    History = tuple[tuple[Version, Any], ...]

# section: (its model's class, since, whether it may be null); the last holds sections of the top level.
MODELS: dict[str, tuple[str, Version, bool]] = {
    'zero_optimization': ('DeepSpeedZeroConfig', (), False),
    'zero_optimization.offload_param': ('DeepSpeedZeroOffloadParamConfig', (), True),
    'zero_optimization.offload_optimizer': ('DeepSpeedZeroOffloadOptimizerConfig', (), True),
    'zero_optimization.zenflow': ('ZenFlowConfig', (0, 17, 5), True),
    'zero_optimization.leaf_module': ('DeepSpeedZeroLeafModuleConfig', (0, 18, 0), True),
    'comms_logger': ('CommsLoggerConfig', (), False),
    'tensorboard': ('TensorBoardConfig', (), False),
    'wandb': ('WandbConfig', (), False),
    'csv_monitor': ('CSVConfig', (), False),
    'comet': ('CometConfig', (0, 14, 3), False),
    'fp16': ('DeepSpeedFP16Config', (), False),
    'bf16': ('DeepSpeedBF16Config', (), True),
    'hybrid_engine': ('HybridEngineConfig', (), False),
    'weight_quantization': ('WeightQuantConfig', (), False),
    'compile': ('CompileConfig', (0, 16, 6), False),
    'timers.throughput': ('DeepSpeedThroughputTimerConfig', (0, 14, 3), False),
    'tensor_parallel': ('TPTrainingConfig', (0, 16, 4), False),
    'tensor_parallel.tp': ('TPConfig', (0, 16, 4), False),
    'DeepSpeedMonitorConfig': ('DeepSpeedMonitorConfig', (), False),
}

# section: field: (how its value is read, default in the newest release that has it, the name that files use, since, until).
FIELDS: dict[str, dict[str, Row]] = {
    'zero_optimization': {
        'stage': (('enum', 0, 1, 2, 3), 0, '', (), ()),
        'contiguous_gradients': ('bool', True, '', (), ()),
        'reduce_scatter': ('bool', True, '', (), ()),
        'reduce_bucket_size': (('bounded', 'int', (('exclusiveMinimum', 0),)), 500000000, '', (), ()),
        'use_multi_rank_bucket_allreduce': ('bool', True, '', (0, 12, 4), ()),
        'allgather_partitions': ('bool', True, '', (), ()),
        'allgather_bucket_size': (('bounded', 'int', (('minimum', 0),)), 500000000, '', (), ()),
        'overlap_comm': (('|', 'bool', 'None'), None, '', (), ()),
        'compute_grad_norm': ('bool', True, '', (0, 19, 7), ()),
        'load_from_fp32_weights': ('bool', True, '', (), ()),
        'elastic_checkpoint': ('bool', False, '', (), ()),
        'offload_param': (('|', ('model', 'zero_optimization.offload_param'), 'None'), None, '', (), ()),
        'offload_optimizer': (('|', ('model', 'zero_optimization.offload_optimizer'), 'None'), None, '', (), ()),
        'zenflow': (('|', ('model', 'zero_optimization.zenflow'), 'None'), None, '', (0, 17, 5), ()),
        'sub_group_size': (('bounded', 'int', (('minimum', 0),)), 1000000000, '', (), ()),
        'cpu_offload_param': (('|', 'bool', 'None'), None, '', (), ()),
        'cpu_offload_use_pin_memory': (('|', 'bool', 'None'), None, '', (), ()),
        'cpu_offload': (('|', 'bool', 'None'), None, '', (), ()),
        'prefetch_bucket_size': (('bounded', 'int', (('minimum', 0),)), 50000000, 'stage3_prefetch_bucket_size', (), ()),
        'param_persistence_threshold': (('bounded', 'int', (('minimum', 0),)), 100000, 'stage3_param_persistence_threshold', (), ()),
        'model_persistence_threshold': (('bounded', 'int', (('minimum', 0),)), 9223372036854775807, 'stage3_model_persistence_threshold', (), ()),
        'max_live_parameters': (('bounded', 'int', (('minimum', 0),)), 1000000000, 'stage3_max_live_parameters', (), ()),
        'max_reuse_distance': (('bounded', 'int', (('minimum', 0),)), 1000000000, 'stage3_max_reuse_distance', (), ()),
        'gather_16bit_weights_on_model_save': ('bool', False, 'stage3_gather_16bit_weights_on_model_save', (), ()),
        'module_granularity_threshold': ('int', 0, 'stage3_module_granularity_threshold', (0, 16, 0), ()),
        'use_all_reduce_for_fetch_params': ('bool', False, 'stage3_use_all_reduce_for_fetch_params', (0, 14, 3), ()),
        'allgather_sequential': ('bool', False, 'stage3_allgather_sequential', (0, 18, 5), ()),
        'stage3_gather_fp16_weights_on_model_save': ('bool', False, '', (), ()),
        'ignore_unused_parameters': ('bool', True, '', (), ()),
        'legacy_stage1': ('bool', False, '', (), ()),
        'round_robin_gradients': ('bool', False, '', (), ()),
        'parameter_alignment': ('bool', False, '', (0, 19, 7), ()),
        'zero_hpz_partition_size': (('bounded', 'int', (('minimum', 0),)), 1, '', (), ()),
        'zero_quantized_weights': ('bool', False, '', (), ()),
        'zero_quantized_nontrainable_weights': ('bool', False, '', (0, 10, 2), ()),
        'zero_quantized_gradients': ('bool', False, '', (), ()),
        'memory_efficient_linear': ('bool', True, '', (), ()),
        'pipeline_loading_checkpoint': ('bool', False, '', (0, 10, 1), ()),
        'override_module_apply': ('bool', True, '', (0, 10, 1), ()),
        'log_trace_cache_warnings': ('bool', False, '', (0, 16, 4), ()),
        'enable_sanity_checks': ('bool', False, '', (0, 17, 6), ()),
        'save_muon_momentum_buffer_in_memory': ('bool', False, '', (0, 18, 9), ()),
        'leaf_module': (('model', 'zero_optimization.leaf_module'), {}, '', (0, 18, 0), ()),
        'mics_shard_size': ('int', -1, '', (), (0, 19, 7)),
        'mics_hierarchical_params_gather': ('bool', False, '', (), (0, 19, 7)),
        'zeropp_loco_param': (('|', 'dict', 'None'), None, '', (0, 16, 2), (0, 19, 8)),
    },
    'zero_optimization.offload_param': {
        'device': (('enum', 'none', 'cpu', 'nvme'), 'none', '', (), ()),
        'nvme_path': (('|', 'Path', 'None'), None, '', (), ()),
        'buffer_count': (('bounded', 'int', (('minimum', 0),)), 5, '', (), ()),
        'buffer_size': (('bounded', 'int', (('minimum', 0),)), 100000000, '', (), ()),
        'max_in_cpu': (('bounded', 'int', (('minimum', 0),)), 1000000000, '', (), ()),
        'pin_memory': ('bool', True, '', (), ()),
    },
    'zero_optimization.offload_optimizer': {
        'device': (('enum', 'none', 'cpu', 'nvme'), 'none', '', (), ()),
        'nvme_path': (('|', 'Path', 'None'), None, '', (), ()),
        'buffer_count': (('bounded', 'int', (('minimum', 0),)), 4, '', (), ()),
        'pin_memory': ('bool', True, '', (), ()),
        'pipeline_read': ('bool', False, '', (), ()),
        'pipeline_write': ('bool', False, '', (), ()),
        'fast_init': ('bool', False, '', (), ()),
        'ratio': (('bounded', 'float', (('minimum', 0.0), ('maximum', 1.0))), 1.0, '', (0, 12, 3), ()),
        'super_offload': ('bool', False, '', (0, 18, 0), ()),
        'cpuadam_cores_perc': (('bounded', 'float', (('minimum', 0.0), ('maximum', 1.0))), 0.8, '', (0, 18, 0), ()),
    },
    'zero_optimization.zenflow': {
        'topk_ratio': (('bounded', 'float', (('exclusiveMinimum', 0.0), ('exclusiveMaximum', 1.0))), 0.1, '', (), ()),
        'select_strategy': ('str', 'auto', '', (), ()),
        'select_interval': (('|', 'str', 'int'), 'auto', '', (), ()),
        'update_interval': (('|', 'str', 'int'), 'auto', '', (), ()),
        'overlap_step': ('bool', False, '', (), ()),
        'offload': ('bool', False, '', (), ()),
        'auto_ratio': (('bounded', 'float', (('minimum', 0.0), ('maximum', 1.0))), 0.99, '', (), ()),
        'full_warm_up_rounds': ('int', 0, '', (), ()),
        'pt_reserved_cores_perc': (('bounded', 'float', (('minimum', 0.0), ('maximum', 1.0))), 0.5, '', (0, 17, 6), ()),
        'steps_per_epoch': (('|', 'int', 'None'), None, '', (), ()),
    },
    'zero_optimization.leaf_module': {
        'classes': (('list', 'str'), ('transformers.models.mixtral.modeling_mixtral.MixtralSparseMoeBlock', 'transformers.models.qwen2_moe.modeling_qwen2_moe.Qwen2MoeSparseMoeBlock', 'transformers.models.qwen3_moe.modeling_qwen3_moe.Qwen3MoeSparseMoeBlock'), '', (), ()),
        'names': (('list', 'str'), (), '', (), ()),
        'name_suffixes': (('list', 'str'), (), '', (), ()),
    },
    'comms_logger': {
        'enabled': ('bool', False, '', (), ()),
        'prof_all': ('bool', True, '', (), ()),
        'prof_ops': ('list', (), '', (), ()),
        'verbose': ('bool', False, '', (), ()),
        'debug': ('bool', False, '', (), ()),
    },
    'tensorboard': {
        'enabled': ('bool', False, '', (), ()),
        'output_path': ('str', '', '', (), ()),
        'job_name': ('str', 'DeepSpeedJobName', '', (), ()),
    },
    'wandb': {
        'enabled': ('bool', False, '', (), ()),
        'group': (('|', 'str', 'None'), None, '', (), ()),
        'team': (('|', 'str', 'None'), None, '', (), ()),
        'project': ('str', 'deepspeed', '', (), ()),
    },
    'csv_monitor': {
        'enabled': ('bool', False, '', (), ()),
        'output_path': ('str', '', '', (), ()),
        'job_name': ('str', 'DeepSpeedJobName', '', (), ()),
    },
    'comet': {
        'enabled': ('bool', False, '', (), ()),
        'samples_log_interval': ('int', 100, '', (), ()),
        'project': (('|', 'str', 'None'), None, '', (), ()),
        'workspace': (('|', 'str', 'None'), None, '', (), ()),
        'api_key': (('|', 'str', 'None'), None, '', (), ()),
        'experiment_name': (('|', 'str', 'None'), None, '', (), ()),
        'experiment_key': (('|', 'str', 'None'), None, '', (), ()),
        'online': (('|', 'bool', 'None'), None, '', (), ()),
        'mode': (('|', 'str', 'None'), None, '', (), ()),
    },
    'fp16': {
        'enabled': ('bool', False, '', (), ()),
        'auto_cast': ('bool', False, '', (), ()),
        'loss_scale': ('float', 0, '', (), ()),
        'initial_scale_power': ('int', 16, '', (), ()),
        'loss_scale_window': ('int', 1000, '', (), ()),
        'hysteresis': ('int', 2, '', (), ()),
        'consecutive_hysteresis': ('bool', False, '', (), ()),
        'min_loss_scale': ('int', 1, '', (), ()),
        'fp16_master_weights_and_grads': ('bool', False, '', (), ()),
    },
    'bf16': {
        'enabled': ('bool', False, '', (), ()),
        'immediate_grad_update': ('bool', False, '', (), ()),
        'check_grad_overflow': ('bool', True, '', (), ()),
        'bf16_master_weights_and_grads': ('bool', False, '', (0, 18, 3), ()),
        'bf16_optimizer_states': ('bool', False, '', (0, 18, 3), ()),
    },
    'hybrid_engine': {
        'enabled': ('bool', False, '', (), ()),
        'max_out_tokens': (('bounded', 'int', (('exclusiveMinimum', 0),)), 512, '', (), ()),
        'inference_tp_size': ('int', 1, '', (), ()),
        'release_inference_cache': ('bool', False, '', (), ()),
        'pin_parameters': ('bool', True, '', (), ()),
        'tp_gather_partition_size': ('int', 8, '', (), ()),
        'enable_cuda_graph': ('bool', False, '', (0, 19, 6), ()),
    },
    'weight_quantization': {
        'enabled': ('bool', True, '', (), ()),
        'num_bits': ('int', 8, '', (), ()),
        'q_type': (('enum', 'asymmetric', 'symmetric'), 'symmetric', '', (), ()),
        'q_groups': ('int', 1, '', (), ()),
        'quantized_initialization': ('dict', {}, '', (), ()),
        'post_init_quant': ('dict', {}, '', (), ()),
    },
    'compile': {
        'deepcompile': ('bool', False, '', (), ()),
        'autoep_non_moe': ('bool', False, '', (0, 19, 8), ()),
        'free_activation': ('bool', False, '', (), ()),
        'free_activation_threshold': ('int', 10485760, '', (0, 18, 0), ()),
        'offload_activation': ('bool', False, '', (), ()),
        'offload_activation_pin_memory': ('bool', True, '', (0, 19, 6), ()),
        'offload_opt_states': ('bool', False, '', (), ()),
        'double_buffer': ('bool', True, '', (), ()),
        'symmetric_memory': ('bool', False, '', (), ()),
        'debug_log': ('bool', False, '', (), ()),
        'offload_parameters': ('bool', False, '', (), ()),
        'sync_before_reduce': ('bool', False, '', (), ()),
        'sync_after_reduce': ('bool', False, '', (), ()),
        'sync_before_allgather': ('bool', False, '', (), ()),
        'sync_after_allgather': ('bool', False, '', (), ()),
        'keep_int_input_tensors': ('bool', True, '', (0, 17, 2), ()),
        'keep_all_input_tensors': ('bool', False, '', (0, 17, 2), ()),
        'passes': (('|', ('list', ('literal', 'z1', 'z3', 'autosp', 'autotp')), 'None'), None, '', (0, 18, 9), ()),
    },
    'timers.throughput': {
        'enabled': ('bool', True, '', (), ()),
        'synchronized': ('bool', True, '', (), ()),
    },
    'tensor_parallel': {
        'dtype': ('torch.dtype', None, '', (), ()),
        'autotp_size': ('int', 0, '', (), ()),
        'tp_overlap_comm': ('bool', False, '', (0, 16, 6), ()),
        'vocab_parallel_lm_head': (('|', 'bool', 'None'), None, '', (0, 19, 8), ()),
        'vocab_parallel_ce_backend': (('literal', 'torch', 'liger'), 'torch', '', (0, 19, 8), ()),
        'tensor_parallel': (('model', 'tensor_parallel.tp'), {}, 'tp', (), ()),
        'injection_policy_tuple': (('|', 'list', 'None'), None, '', (), ()),
        'partition_config': (('|', 'dict', 'None'), None, '', (0, 18, 6), ()),
        'preset_model': (('|', 'str', 'None'), None, '', (0, 18, 6), ()),
        'keep_module_on_host': ('bool', False, '', (), ()),
        'replace_with_kernel_inject': ('bool', False, 'kernel_inject', (), ()),
    },
    'tensor_parallel.tp': {
        'tp_size': ('int', 1, '', (), ()),
        'tp_grain_size': ('int', 1, '', (), ()),
        'mpu': ('Any', None, '', (), ()),
        'tp_group': ('Any', None, '', (), ()),
    },
    'DeepSpeedMonitorConfig': {
        'tensorboard': (('model', 'tensorboard'), {}, '', (), ()),
        'wandb': (('model', 'wandb'), {}, '', (), ()),
        'csv_monitor': (('model', 'csv_monitor'), {}, '', (), ()),
        'comet': (('model', 'comet'), {}, '', (0, 14, 3), ()),
    },
}

# (section, field): ((since, default), ...), of fields and of keys of the top level (section '') whose default has changed.
DEFAULT_HISTORY: dict[tuple[str, str], History] = {
    ('', 'steps_per_print'): (((), 10), ((0, 15, 4), None)),
    ('', 'gradient_clipping'): (((), 0.0), ((0, 19, 3), 1.0)),
    ('zero_optimization.offload_param', 'pin_memory'): (((), False), ((0, 19, 5), True)),
    ('zero_optimization.offload_optimizer', 'pin_memory'): (((), False), ((0, 19, 5), True)),
    ('bf16', 'check_grad_overflow'): (((), False), ((0, 19, 3), True)),
}

# (section, field): ((since, how the value is read), ...), of fields for which that has changed.
READS_HISTORY: dict[tuple[str, str], History] = {
    ('zero_optimization', 'reduce_bucket_size'): (((), ('bounded', 'int', (('minimum', 0),))), ((0, 19, 6), ('bounded', 'int', (('exclusiveMinimum', 0),)))),
    ('hybrid_engine', 'max_out_tokens'): (((), 'int'), ((0, 19, 7), ('bounded', 'int', (('exclusiveMinimum', 0),)))),
}

# section: the keys that are looked up one by one, the removed ones of the top level included; all others there are ignored.
KEYS: dict[tuple[str, ...], str] = {
    (): 'sequence_parallel_size train_batch_size train_micro_batch_size_per_gpu gradient_accumulation_steps managed_gradient_accumulation steps_per_print dump_state disable_python_gc disable_allgather communication_data_type seq_parallel_communication_data_type prescale_gradients gradient_predivide_factor gradient_allreduce_op zero_optimization allgather_size activation_checkpointing comms_logger tensorboard wandb csv_monitor comet gradient_clipping fp16 bf16 bfloat16 torch_autocast optimizer zero_allow_untested_optimizer zero_force_ds_cpu_optimizer scheduler flops_profiler wall_clock_breakdown memory_breakdown autotuning use_data_before_expert_parallelism hybrid_engine pipeline data_efficiency checkpoint data_types aio dataloader_drop_last log_level datastates_ckpt weight_quantization compile timers tensor_parallel expert_parallel vocabulary_size nebula compression_training amp quantize_training sparse_gradients eigenvalue sparse_attention elasticity graph_harvesting curriculum_learning progressive_layer_drop data_parallel_size',
    ('activation_checkpointing',): 'partition_activations contiguous_memory_optimization cpu_checkpointing number_checkpoints profile synchronize_checkpoint_boundary',
    ('torch_autocast',): 'enabled dtype lower_precision_safe_modules',
    ('optimizer',): 'type params legacy_fusion',
    ('scheduler',): 'type params',
    ('flops_profiler',): 'enabled recompute_fwd_factor profile_step module_depth top_modules detailed output_file',
    ('autotuning',): 'enabled fast results_dir exps_dir overwrite start_profile_step end_profile_step metric metric_path tuner_type tuner_early_stopping tuner_num_trials arg_mappings model_info model_info_path mp_size max_train_batch_size min_train_batch_size max_train_micro_batch_size_per_gpu min_train_micro_batch_size_per_gpu num_tuning_micro_batch_sizes',
    ('autotuning', 'model_info'): 'profile num_params hidden_size num_layers',
    ('pipeline',): 'stages partition seed_layers activation_checkpoint_interval pipe_partitioned grad_partitioned use_reentrant',
    ('data_efficiency',): 'enabled seed data_sampling data_routing',
    ('data_efficiency', 'data_routing'): 'enabled random_ltd',
    ('checkpoint',): 'tag_validation load_universal use_node_local_storage parallel_write checkpoint_serialization writer',
    ('checkpoint', 'parallel_write'): 'pipeline_stage',
    ('checkpoint', 'writer'): 'type io_buffer_size io_buffer_double show_statistics data_parallel decoupled io_multiplier',
    ('data_types',): 'grad_accum_dtype param_dtype buffer_dtype keep_in_fp32_modules',
    ('aio',): 'block_size queue_depth intra_op_parallelism single_submit overlap_events use_gds',
    ('timers',): 'throughput',
    ('expert_parallel',): 'enabled autoep_size expert_tensor_parallel_size validate_folding_routing async_split_plan preset_model moe_layer_pattern expert_pattern router_pattern use_grouped_mm disable_triton_grouped_mm route_norm route_scale score_apply combine_impl row_weighting_impl gate_up_impl comm_backend comm_num_sm comm_qp_margin comm_max_tokens_per_rank num_expert_groups num_limited_groups score_func top_k load_balance_coeff routed_scaling_factor expert_w1 expert_w2 expert_w3 num_experts_attr top_k_attr has_shared_experts shared_experts_pattern shared_experts_gate_pattern expert_activation',
}

# path of a key that is looked up: the first release that has it, where not every modelled one does.
SINCE: dict[tuple[str, ...], Version] = {
    ('sequence_parallel_size',): (0, 17, 0),
    ('managed_gradient_accumulation',): (0, 19, 4),
    ('seq_parallel_communication_data_type',): (0, 16, 5),
    ('gradient_allreduce_op',): (0, 19, 6),
    ('comet',): (0, 14, 3),
    ('torch_autocast',): (0, 17, 2),
    ('log_level',): (0, 19, 3),
    ('compile',): (0, 16, 6),
    ('timers',): (0, 14, 3),
    ('tensor_parallel',): (0, 16, 4),
    ('expert_parallel',): (0, 19, 2),
    ('data_efficiency', 'data_sampling', 'dynamic_batching'): (0, 16, 5),
    ('checkpoint', 'writer'): (0, 17, 1),
    ('data_types', 'param_dtype'): (0, 19, 2),
    ('data_types', 'buffer_dtype'): (0, 19, 2),
    ('data_types', 'keep_in_fp32_modules'): (0, 19, 6),
}

# path of a key that is looked up: the values that DeepSpeed allows, null aside.
CHOICES: dict[tuple[str, ...], tuple[str, ...]] = {
    ('communication_data_type',): ('fp16', 'bf16', 'fp32'),
    ('seq_parallel_communication_data_type',): ('fp16', 'bf16', 'fp32'),
    ('gradient_allreduce_op',): ('mean', 'sum'),
    ('log_level',): ('debug', 'info', 'warning', 'error', 'critical'),
    ('torch_autocast', 'dtype'): ('torch.float16', 'fp16', 'float16', 'half', 'torch.float32', 'fp32', 'float32', 'float', 'torch.int8', 'int8', 'torch.bfloat16', 'bf16', 'bfloat16'),
    ('scheduler', 'params', 'warmup_type'): ('log', 'linear'),
    ('autotuning', 'metric'): ('latency', 'throughput', 'flops', 'forward'),
    ('autotuning', 'tuner_type'): ('gridsearch', 'random', 'model_based'),
    ('data_efficiency', 'data_sampling', 'dynamic_batching', 'lr_scaling_method'): ('linear', 'sqrt', 'none'),
    ('data_efficiency', 'data_sampling', 'dynamic_batching', 'sequence_picking_order'): ('random', 'seqlen', 'dataloader'),
    ('data_efficiency', 'data_routing', 'random_ltd', 'model_type'): ('decoder', 'encoder'),
    ('data_efficiency', 'data_routing', 'random_ltd', 'hidden_state_order'): ('batch_seq_dim', 'seq_batch_dim'),
    ('checkpoint', 'tag_validation'): ('WARN', 'IGNORE', 'FAIL'),
    ('checkpoint', 'writer', 'type'): ('MOCK', 'PYTHON', 'FAST'),
    ('checkpoint', 'writer', 'data_parallel'): ('REPLICA', 'SOCKET', 'MACHINE'),
    ('data_types', 'grad_accum_dtype'): ('bf16', 'fp16', 'fp32', 'bfloat16', 'float16', 'half', 'float32', 'float', 'int8', 'torch.bfloat16', 'torch.float16', 'torch.float32', 'torch.int8'),
    ('data_types', 'param_dtype'): ('bf16', 'fp16', 'fp32', 'bfloat16', 'float16', 'half', 'float32', 'float', 'int8', 'torch.bfloat16', 'torch.float16', 'torch.float32', 'torch.int8'),
    ('data_types', 'buffer_dtype'): ('bf16', 'fp16', 'fp32', 'bfloat16', 'float16', 'half', 'float32', 'float', 'int8', 'torch.bfloat16', 'torch.float16', 'torch.float32', 'torch.int8'),
    ('expert_parallel', 'preset_model'): ('mixtral', 'qwen3_moe', 'qwen3_5_moe', 'deepseek_v2', 'deepseek_v3', 'minimax_m3'),
    ('expert_parallel', 'score_apply'): ('auto', 'pre', 'post'),
    ('expert_parallel', 'combine_impl'): ('auto', 'weighted_sum', 'fused_weighted_sum', 'legacy_bmm'),
    ('expert_parallel', 'row_weighting_impl'): ('auto', 'eager', 'fused'),
    ('expert_parallel', 'gate_up_impl'): ('separate', 'fused'),
    ('expert_parallel', 'comm_backend'): ('comm', 'deepep'),
    ('expert_parallel', 'score_func'): ('auto', 'softmax', 'sigmoid'),
    ('expert_parallel', 'expert_activation'): ('swiglu', 'geglu_tanh', 'swiglu_clamped', 'swiglu_oai'),
}

# path: (the first release that refuses the key, the exception).
REMOVED: dict[tuple[str, ...], tuple[Version, str]] = {
    ('nebula',): ((0, 19, 7), 'DeepSpeedConfigError: Nebula checkpointing has been removed.'),
    ('compression_training',): ((0, 19, 7), 'DeepSpeedConfigError: The DeepSpeed compression library has been removed.'),
    ('amp',): ((0, 19, 8), "DeepSpeedConfigError: NVIDIA Apex AMP integration has been removed. Use DeepSpeed 'fp16', 'bf16', or 'torch_autocast' instead."),
    ('quantize_training',): ((0, 19, 7), "DeepSpeedConfigError: Mixture-of-Quantization (MoQ) / 'quantize_training' has been removed."),
    ('sparse_gradients',): ((0, 19, 8), 'DeepSpeedConfigError: Sparse compression of dense torch.nn.Embedding gradients has been removed.'),
    ('eigenvalue',): ((0, 19, 8), "DeepSpeedConfigError: Eigenvalue-based Mixture-of-Quantization (MoQ) has been removed; the standalone 'eigenvalue' configuration block is no longer supported."),
    ('sparse_attention',): ((0, 19, 7), "DeepSpeedConfigError: DeepSpeed Sparse Attention has been removed; the 'sparse_attention' configuration block is no longer supported."),
    ('elasticity',): ((0, 19, 8), "DeepSpeedConfigError: Elastic training has been removed; the 'elasticity' configuration block is no longer supported."),
    ('graph_harvesting',): ((0, 19, 8), "DeepSpeedConfigError: Graph harvesting has been removed; the 'graph_harvesting' configuration option is no longer supported."),
    ('curriculum_learning',): ((0, 19, 8), "DeepSpeedConfigError: Legacy top-level 'curriculum_learning' has been removed. Use 'data_efficiency.data_sampling.curriculum_learning' instead."),
    ('progressive_layer_drop',): ((0, 19, 8), "DeepSpeedConfigError: Progressive Layer Dropping has been removed; the 'progressive_layer_drop' configuration block is no longer supported."),
    ('zero_optimization', 'mics_shard_size'): ((0, 19, 7), "DeepSpeedConfigError: MiCS ZeRO-3 sharding has been removed; 'zero_optimization.mics_shard_size' is no longer supported."),
    ('zero_optimization', 'mics_hierarchical_params_gather'): ((0, 19, 7), "DeepSpeedConfigError: MiCS ZeRO-3 sharding has been removed; 'zero_optimization.mics_hierarchical_params_gather' is no longer supported."),
    ('zero_optimization', 'zeropp_loco_param'): ((0, 19, 8), "DeepSpeedConfigError: LoCo-Zero++ has been removed; 'zero_optimization.zeropp_loco_param' is no longer supported."),
}

# Deprecated fields, which must not be set together with the field that replaces them, by section.
REPLACED: dict[str, dict[str, str]] = {
    'zero_optimization': {'cpu_offload_param': 'offload_param', 'cpu_offload': 'offload_optimizer', 'stage3_gather_fp16_weights_on_model_save': 'gather_16bit_weights_on_model_save'},
}
