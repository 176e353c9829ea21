"""axolotl's checks and completions after pydantic's validation of the fields (axolotl 0.21.0).

Each function is one of axolotl's `mode="after"` validators; the modules are the subjects. `CHECKS_FIRST` and `CHECKS_LAST` list them in
the order in which pydantic runs them. Those of plugins run between the two.
"""

from __future__ import annotations

from cfglint.frameworks.axolotl.checks_after import (
    adapters,
    attention,
    checkpointing,
    older,
    parallel,
    precision_and_compile,
    preference,
    quantization,
    schedule,
)
from cfglint.frameworks.axolotl.refusals import AxolotlModel
from cfglint.source.annotations import Callable

# Those of releases before the newest.
OLDER = older.CHECKS

CHECKS_FIRST: tuple[tuple[str, Callable[[AxolotlModel], None]], ...] = (
    ("check_vllm_mode_set", preference.vllm_mode),
    ("check_vllm_colocate_compat", preference.colocated_vllm),
    ("check_ebft_gradient_checkpointing_reentrant", preference.ebft_reentrant),
    ("check_ebft_activation_offloading", preference.ebft_offloading),
    ("check_tensor_parallel_optimizer", parallel.tensor_parallel_optimizer),
    ("check_tensor_parallel_cpu_ram_efficient_loading", parallel.tensor_parallel_loading),
    ("check_tensor_parallel_expert_parallel", parallel.tensor_and_expert_parallel),
    ("check_rl_beta", preference.preference_beta),
    ("check_simpo_warmup", preference.simpo_warmup),
    ("check_relora", schedule.relora),
    ("check_early_stopping", schedule.early_stopping),
    ("check_tensor_parallel_size", parallel.tensor_parallel_default),
    ("check_context_parallel_size", parallel.context_parallel),
    ("check_context_parallel_deepspeed", parallel.context_parallel_deepspeed),
    ("check_falcon_fsdp", attention.falcon),
    ("check_mpt_checkpointing", attention.mpt),
    ("check_gradient_checkpointing_w_offload", checkpointing.offloaded_checkpoints),
    ("check_activation_offloading_wo_gc", checkpointing.offloading_alone),
    ("check_selective_checkpointing", checkpointing.selective_checkpointing),
    ("check_torch_compile_regional_with_gradient_checkpointing", precision_and_compile.regional_compile),
    ("check_torch_expert_parallel_checkpointing", checkpointing.expert_checkpointing),
    ("check_expert_parallel_dispatch_chunks", parallel.expert_chunks),
    ("check_hidden_states_offloading", checkpointing.hidden_state_offloading),
    ("check_better_transformers", precision_and_compile.better_transformers),
    ("check_batch_flattening_fa", attention.batch_flattening),
    ("check_fsdp2_w_8bit_optimizer", quantization.fsdp_8bit),
    ("check_fsdp2_cpu_ram_efficient_loading_w_4bit", quantization.fsdp_4bit_loading),
    ("check_bnb_blocksize", quantization.bnb_blocks),
    ("check_staged_nf4", quantization.staged_nf4),
    ("check_fused_lora", adapters.fused_modules),
    ("check_onebitllms_lora", adapters.onebit),
    ("check_scaling_softmax_requires_flex", attention.scaling_softmax),
)
CHECKS_LAST: tuple[tuple[str, Callable[[AxolotlModel], None]], ...] = (
    ("validate_mixlora_top_k", adapters.mixlora_experts),
    ("validate_qlora", adapters.qlora),
    ("validate_lora_target_parameters_dropout", adapters.target_parameters),
    ("validate_mixlora", adapters.mixlora_sizes),
    ("check_label_balanced_packing", schedule.balanced_labels),
    ("check_torch_compile_options_requires_compile", precision_and_compile.compile_options),
    ("check_fp32_norms", precision_and_compile.fp32_norms),
    ("check_flash_attention_torch_preflight", attention.torch_attention),
)
