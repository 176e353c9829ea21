"""axolotl's checks and completions before pydantic's validation of the fields: on the values as YAML loads them (axolotl 0.21.0).

Each function is one of axolotl's `mode="before"` validators; the modules are the subjects. A value of a type that a check does not
support ends the run as it does in axolotl, with Python's own exception. `CHECKS_FIRST` and `CHECKS_LAST` list them in the order in
which pydantic runs them: the last one defined first. Those of plugins run between the two.
"""

from __future__ import annotations

from cfglint.frameworks.axolotl.checks_before import (
    adapters,
    attention_and_tokenizer,
    batch_and_evaluation,
    data,
    defaults,
    loss_and_optimizer,
    older,
    parallel,
    precision,
    preference,
    removed,
    streaming,
)

# Those of releases before the newest.
OLDER = older.CHECKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from cfglint.frameworks.axolotl.refusals import Data

CHECKS_FIRST: tuple[tuple[str, Callable[[Data], None]], ...] = (
    ("check_deduplication_with_skip_prepare", data.deduplication_without_preparation),
    ("check_deduplication_with_streaming", data.deduplication_of_streams),
    ("migrate_gc_steps", defaults.collection_steps),
    ("default_dataset_num_proc", defaults.processes),
    ("default_dataloader_opts", defaults.loader_defaults),
    ("check_qat_config", adapters.quantization_aware),
    ("check_beta_and_trl_beta_match", preference.two_betas),
    ("check_torch_compile_auto", precision.compile_by_itself),
    ("check_auto_enable_lora_kernels", adapters.kernels_by_themselves),
    ("check_lora_fp32_gradients", adapters.lora_gradients),
    ("check_quantize_moe_experts", adapters.quantized_experts),
    ("check_lora_target_modules_regex", adapters.target_patterns),
    ("check_save_strategy_best_requires_metric", batch_and_evaluation.best_without_metric),
    ("check_ple_cpu_offload", adapters.offloaded_embeddings),
    ("normalize_attn_implementation", attention_and_tokenizer.attention),
    ("validate_lora_dropout", adapters.dropout),
    ("validate_adapter", adapters.adapter),
    ("check_wandb_run", defaults.run_name),
)
CHECKS_LAST: tuple[tuple[str, Callable[[Data], None]], ...] = (
    ("check_mm_prepare", data.skipped_preparation),
    ("check_eval_packing", batch_and_evaluation.packed_evaluation),
    ("check_test_datasets_bench", batch_and_evaluation.benchmark_set),
    ("check_val_w_test_datasets", batch_and_evaluation.two_evaluation_sets),
    ("check_push_ds_auth", data.push_without_token),
    ("check_dataset_or_pretraining_dataset", data.no_data),
    ("check_deprecated_unsloth_fields", removed.unsloth),
    ("pretrain_with_tps", streaming.tokens_per_second_of_pretraining),
    ("check_tokenizer_use_mistral_common", attention_and_tokenizer.mistral_tokenizer),
    ("check_mistral_common_incompatible_options", attention_and_tokenizer.mistral_options),
    ("check_causal_lm_evals", batch_and_evaluation.generated_evaluation),
    ("check_eval_strategy", batch_and_evaluation.former_strategy),
    ("check_use_reentrant_mismatch", precision.reentrant_and_unfrozen),
    ("check_fp8_config", precision.fp8),
    ("check_multipack_buffer_size", removed.former_buffer),
    ("check_neftune", removed.former_noise),
    ("check_evals", batch_and_evaluation.evaluations),
    ("check_saves", batch_and_evaluation.saves),
    ("check_warmup", batch_and_evaluation.two_warmups),
    ("check_gas_bsz", batch_and_evaluation.two_batch_sizes),
    ("set_reward_model_defaults", preference.reward_models),
    ("hint_sample_packing_padding", data.padding),
    ("check_batch_size_fields", batch_and_evaluation.batch_size_alone),
    ("check_lora_kernels_trust_remote_code", adapters.kernels_and_remote_code),
    ("check_lora_kernels_8bit", adapters.kernels_and_8bit),
    ("warn_qlora_zero3_w_use_reentrant", adapters.qlora_and_zero3),
    ("check_peft_layers_pattern", adapters.layer_patterns),
    ("check_frozen", adapters.frozen_layers),
    ("check_lr_groups", adapters.rate_groups),
    ("check_grpo_batch_size_divisibility", preference.grpo_batch),
    ("check_dpo", preference.dpo_losses),
    ("check_gdpo", preference.gdpo_aggregation),
    ("check_rl_config_gradient_checkpointing", preference.rl_checkpointing),
    ("check_grpo_liger_context_parallel", preference.grpo_liger),
    ("check_kto_config", preference.kto),
    ("check_sample_packing_w_rl", preference.packed_rl),
    ("check_deepcompile", parallel.deepcompile),
    ("check_tensor_parallel_size_update_ds_json", parallel.tensor_parallel_json),
    ("check_fsdp_version_in_fsdp_config", parallel.fsdp_version_inside),
    ("check_fsdp_config_kwargs_prefix", parallel.fsdp_prefixes),
    ("check_fsdp2_base_model_quant_rl", parallel.fsdp_quantized_preference),
    ("check_fsdp2_cpu_offload_pin_memory", parallel.fsdp_pinning),
    ("check_fsdp_version", parallel.fsdp1),
    ("check_custom_loss_conflicts", loss_and_optimizer.custom_losses),
    ("check_cross_entropy_conflicts", loss_and_optimizer.cross_entropies),
    ("check_flashoptim_deepspeed_fsdp", loss_and_optimizer.flash_optimizers),
    ("check_qgalore", loss_and_optimizer.qgalore),
    ("check_polora", loss_and_optimizer.polora),
    ("check_muon_deepspeed_fsdp", loss_and_optimizer.muon),
    ("check_model_quantization_config_vs_bnb", adapters.quantized_twice),
    ("check_fsdp_deepspeed", parallel.fsdp_and_deepspeed),
    ("check_mem_mismatch", parallel.two_memory_limits),
    ("check_chat_template_config", attention_and_tokenizer.chat_template),
    ("check_streaming_w_multiple_datasets", streaming.several_packed_streams),
    ("check_streaming_w_max_steps", streaming.streamed_steps),
    ("check_streaming_w_val_set_size", streaming.streamed_evaluation),
    ("check_pretraining_w_val_set_size", streaming.pretraining_evaluation),
    ("check_pretraining_split_batches_accelerate", streaming.pretraining_loader),
    ("check_pretraining_w_max_steps", streaming.pretraining_steps),
    ("check_gpt_oss_fsdp_loading", adapters.mxfp4_loading),
    ("check_gptq_w_revision", adapters.gptq_revision),
    ("check_ebft_strided_dataset_split", data.ignored_split),
    ("check_ebft_strided_sequence_len", preference.ebft_length),
    ("check_ebft_torch_compile", preference.ebft_compile),
    ("check_ebft_config_required", preference.ebft_section),
)
