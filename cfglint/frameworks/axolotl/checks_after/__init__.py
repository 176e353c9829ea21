"""axolotl's checks and completions after pydantic's validation of the fields (axolotl 0.21.0).

Each function is one of axolotl's `mode="after"` validators; the modules are the subjects. `CHECKS_FIRST` and `CHECKS_LAST` list them in
the order in which pydantic runs them. Those of plugins run between the two.
"""

from __future__ import annotations

from cfglint.frameworks.axolotl.checks_after import (
    adapters,
    attention,
    checkpointing,
    model_type,
    parallel,
    precision_and_compile,
    preference,
    quantization,
    schedule,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from cfglint.frameworks.axolotl.refusals import Model

CHECKS_FIRST: tuple[Callable[[Model], None], ...] = (
    preference.vllm_mode,
    preference.colocated_vllm,
    preference.ebft_reentrant,
    preference.ebft_offloading,
    parallel.tensor_parallel_optimizer,
    parallel.tensor_parallel_loading,
    parallel.tensor_and_expert_parallel,
    preference.preference_beta,
    preference.simpo_warmup,
    schedule.relora,
    schedule.early_stopping,
    parallel.tensor_parallel_default,
    parallel.context_parallel,
    parallel.context_parallel_deepspeed,
    model_type.falcon,
    model_type.mpt,
    checkpointing.offloaded_checkpoints,
    checkpointing.offloading_alone,
    checkpointing.selective_checkpointing,
    precision_and_compile.regional_compile,
    checkpointing.expert_checkpointing,
    parallel.expert_chunks,
    checkpointing.hidden_state_offloading,
    precision_and_compile.better_transformers,
    attention.batch_flattening,
    quantization.fsdp_8bit,
    quantization.fsdp_4bit_loading,
    quantization.bnb_blocks,
    quantization.staged_nf4,
    adapters.fused_modules,
    adapters.onebit,
    attention.scaling_softmax,
)
CHECKS_LAST: tuple[Callable[[Model], None], ...] = (
    adapters.mixlora_experts,
    adapters.qlora,
    adapters.target_parameters,
    adapters.mixlora_sizes,
    schedule.balanced_labels,
    precision_and_compile.compile_options,
    precision_and_compile.fp32_norms,
    attention.torch_attention,
)
