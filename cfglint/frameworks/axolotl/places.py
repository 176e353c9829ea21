"""The page of each validator of axolotl, and the keys at which its findings are where these are not the first that the message names."""

from __future__ import annotations

from cfglint.findings.rule import pages_of_checks
from cfglint.frameworks.axolotl import KIND
from cfglint.frameworks.axolotl.refusals import REMOVED

CODES = {check: code for code, checks in pages_of_checks(KIND).items() for check in checks}
REMOVED_KEYS = {check.removeprefix("validate_") for check, code in CODES.items() if code == REMOVED and check.startswith("validate_")}


def code_of(validator: str) -> str:
    """The code of the page that speaks of a validator; that of every other one of plugins, or of axolotl itself."""
    return CODES.get(validator) or CODES["*.*" if "." in validator else "*"]


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
