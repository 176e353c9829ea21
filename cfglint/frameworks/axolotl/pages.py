"""The page of each validator of axolotl: the topic of what it refuses, whose rule has the code, the name and the text."""

from __future__ import annotations

from cfglint.frameworks.axolotl import refusals
from cfglint.frameworks.axolotl.refusals import PLUGIN, TYPE

VALIDATORS = {
    refusals.DATA: """
        check_dataset_or_pretraining_dataset check_deduplication_with_skip_prepare check_push_ds_auth
        deprecate_sharegpt_datasets
    """,
    refusals.STREAMING: """
        check_deduplication_with_streaming check_pretraining_w_max_steps check_pretraining_w_val_set_size
        check_streaming_w_max_steps check_streaming_w_multiple_datasets check_streaming_w_val_set_size pretrain_with_tps
    """,
    refusals.BATCH: """
        check_batch_size_fields check_gas_bsz
    """,
    refusals.SCHEDULE: """
        check_early_stopping check_label_balanced_packing check_save_strategy_best_requires_metric check_saves
        check_simpo_warmup check_warmup convert_learning_rate validate_neftune_noise_alpha
    """,
    refusals.EVALUATION: """
        check_causal_lm_evals check_eval_packing check_evals check_val_w_test_datasets
    """,
    refusals.ATTENTION: """
        check_attention_fields check_batch_flattening_fa check_compute_capability_w_sageattn
        check_flash_attention_torch_preflight check_flash_attn_available check_flex_torch_version check_fp8_attention_preflight
        check_sample_packing_w_xformers check_sample_packing_with_s2attn check_scaling_softmax_requires_flex
        normalize_attn_implementation validate_attn_implementation validate_large_head_attention
    """,
    refusals.ADAPTER: """
        check_frozen check_fused_lora check_hopper_8bit_lora check_lora_8bit check_lora_axolotl_unsloth
        check_lora_fp32_gradients check_lora_kernel_8bit check_lora_kernel_rl check_lora_kernels_8bit check_lora_kernels_dora
        check_lora_kernels_rl check_lora_kernels_trust_remote_code check_lora_target_modules_regex check_multigpu_lora_kernels
        check_multigpu_unsloth check_onebitllms_lora check_peft_layers_pattern check_qlora_unsloth check_relora
        check_unsloth_xformers_version validate_adapter validate_lora_target_parameters_dropout
        validate_lora_target_parameters_init validate_mixlora validate_mixlora_top_k validate_qlora
    """,
    refusals.QUANTIZATION: """
        check_bnb_blocksize check_gptq_w_revision check_model_quantization_config_vs_bnb check_qat_config
        check_quantize_moe_experts check_staged_nf4
    """,
    refusals.FSDP: """
        check_fsdp2_base_model_quant_ram_efficient_loading check_fsdp2_base_model_quant_rl check_fsdp2_cpu_offload_pin_memory
        check_fsdp2_cpu_ram_efficient_loading_w_4bit check_fsdp2_w_8bit_optimizer check_fsdp_deepspeed
        check_fsdp_offload_w_8bit_optimizer check_fsdp_sharded_state_dict_w_safetensors check_fsdp_torch_version
        check_fsdp_version check_gpt_oss_fsdp_loading check_tiled_mlp_deepspeed spectrum.check_fsdp_use_orig_params
    """,
    refusals.PARALLEL: """
        check_context_parallel_deepspeed check_context_parallel_size check_expert_parallel_dispatch_chunks
        check_sequence_parallel_degree check_tensor_parallel_expert_parallel check_tensor_parallel_optimizer
        context_parallel.sync_context_parallel_size expert_parallel._validate expert_parallel._validate_topology
        liger.check_liger_rms_norm_tensor_parallel liger.check_tensor_parallel_size_liger_fused_linear_cross_entropy
        validate_ring_attn_func
    """,
    refusals.RL: """
        check_beta_and_trl_beta_match check_dpo check_dpo_use_liger_kernel check_ebft_activation_offloading
        check_ebft_config_required check_ebft_torch_compile check_gdpo check_grpo_batch_size_divisibility
        check_grpo_liger_context_parallel check_grpo_liger_sequence_parallel check_grpo_peft_liger check_kto_config
        check_rl_config_gradient_checkpointing check_sample_packing_w_rl check_vllm_colocate_compat
    """,
    refusals.OPTIMIZER: """
        check_adopt_torch_version check_flashoptim_deepspeed_fsdp check_lr_groups check_muon_deepspeed_fsdp check_polora
        check_qgalore lr_groups_ao_optimizer
    """,
    refusals.LOSS: """
        check_cross_entropy_conflicts check_custom_loss_conflicts check_xentropy_patch_conflicts
        cut_cross_entropy.check_c_grad_chunk_size cut_cross_entropy.check_chunked_cross_entropy_not_set
    """,
    refusals.CHECKPOINTING: """
        check_activation_offloading_wo_gc check_hidden_states_offloading check_mem_mismatch
        check_nemotron_h_gradient_checkpointing check_ple_cpu_offload check_selective_checkpointing
        check_torch_expert_parallel_checkpointing check_use_reentrant_mismatch
    """,
    refusals.REMOVED: """
        check_deprecated_unsloth_fields check_multipack_buffer_size check_neftune validate_dpo_generate_during_eval
        validate_dpo_norm_loss validate_dpo_use_logits_to_keep validate_flash_attn_rms_norm validate_max_packed_sequence_len
        validate_rope_scaling validate_rpo_alpha validate_s2_attention validate_save_safetensors
    """,
    refusals.MODEL_TYPE: """
        check_falcon_fsdp check_mpt_checkpointing convert_image_resize_algorithm
    """,
    refusals.PRECISION: """
        check_better_transformers check_bf16 check_fp32_norms check_fp8 check_fp8_config check_npu_config
        cut_cross_entropy.check_dtype_is_half
    """,
    refusals.COMPILE: """
        check_deepcompile check_torch_compile_deepspeed check_torch_compile_options_requires_compile
        check_torch_compile_regional_with_gradient_checkpointing validate_torch_compile_options
    """,
    refusals.TOKENIZER: """
        check_chat_template_config check_mistral_common_import check_mistral_common_incompatible_options
        reject_reserved_processor_kwargs
    """,
}
REMOVED_KEYS = {name.removeprefix("validate_") for name in VALIDATORS[refusals.REMOVED].split() if name.startswith("validate_")}
TOPICS = {name: topic for topic, names in VALIDATORS.items() for name in names.split()}

# The keys at which a validator's findings are, where it is not the first one that the message names.
PLACES = """
check_relora relora relora_steps
check_fused_lora rl
validate_lora_target_parameters_init peft_init_lora_weights peft.loftq_config
validate_mixlora lora_r lora_alpha
check_lora_axolotl_unsloth unsloth_lora_mlp unsloth_lora_qkv unsloth_lora_o
normalize_attn_implementation xformers_attention sage_attention flex_attention flash_attention sdp_attention attn_implementation
check_attention_fields flash_attention
check_sample_packing_w_xformers xformers_attention
check_sample_packing_with_s2attn s2_attention
check_batch_size_fields batch_size
check_gas_bsz batch_size
check_torch_expert_parallel_checkpointing activation_offloading
check_evals do_bench_eval evals_per_epoch eval_steps
check_fsdp2_w_8bit_optimizer optimizer
check_fsdp_deepspeed fsdp_config fsdp
expert_parallel._validate_topology fsdp_config.state_dict_type fsdp_config.final_state_dict_type optimizer
check_fsdp_offload_w_8bit_optimizer optimizer
check_fsdp2_base_model_quant_ram_efficient_loading fsdp_config.cpu_ram_efficient_loading
check_cross_entropy_conflicts liger_fused_linear_cross_entropy liger_cross_entropy chunked_cross_entropy
check_xentropy_patch_conflicts unsloth_cross_entropy_loss
check_polora relora_steps lora_modules_to_save unfrozen_parameters peft_use_dora
check_qgalore optimizer
check_tensor_parallel_optimizer optimizer
check_context_parallel_size context_parallel_size
check_context_parallel_deepspeed use_glm_dsa_kernels context_parallel.backend context_parallel_size
liger.check_tensor_parallel_size_liger_fused_linear_cross_entropy liger_fused_linear_cross_entropy
check_sequence_parallel_degree micro_batch_size
kernels.check_dsv4_attention_lora_unsupported lora_target_modules lora_target_linear
kernels.check_mutually_exclusive use_sonicmoe
swanlab.validate_swanlab_enabled_requires_project swanlab_project
check_warmup warmup_ratio
check_better_transformers bf16 fp16
check_hidden_states_offloading gradient_checkpointing_kwargs.use_reentrant
check_custom_loss_conflicts use_eaft
check_fp8_config fp8_config fp8_enable_fsdp_float8_all_gather fp8
check_quantize_moe_experts quantize_moe_experts
check_qat_config qat.activation_dtype qat
check_vllm_colocate_compat trl.vllm_lora_sync trl.async_prefetch trl.use_data_producer
check_ebft_activation_offloading activation_offloading
check_dpo dpo_loss_weights
check_ebft_torch_compile torch_compile
check_saves saves_per_epoch save_steps
pretrain_with_tps include_tokens_per_second
check_pretraining_w_max_steps max_steps
check_streaming_w_max_steps max_steps
check_streaming_w_multiple_datasets sample_packing
"""
FIRST = {name: keys for name, *keys in map(str.split, PLACES.strip().splitlines())}


def topic_of(validator: str) -> str:
    """The topic of a validator; a plugin's without one of its own is about the keys of the plugin."""
    return TOPICS.get(validator, PLUGIN if "." in validator else TYPE)
