"""axolotl's checks and completions before pydantic's validation of the fields: on the values as YAML loads them (axolotl 0.21.0).

Each function is one of axolotl's `mode="before"` validators; the modules are the subjects. A value of a type that a check does not
support ends the run as it does in axolotl, with Python's own exception. `CHECKS_FIRST` and `CHECKS_LAST` list them in the order in
which
pydantic runs them: the last one defined first. Those of plugins run between the two.
"""

from __future__ import annotations

from cfglint.frameworks.axolotl.checks_before import (
    adapters,
    attention_and_tokenizer,
    batch_and_evaluation,
    data,
    defaults,
    loss_and_optimizer,
    parallel,
    precision,
    preference,
    removed,
    streaming,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from cfglint.frameworks.axolotl.refusals import Data

CHECKS_FIRST: tuple[Callable[[Data], None], ...] = (
    data.deduplication_without_preparation,
    data.deduplication_of_streams,
    defaults.collection_steps,
    defaults.processes,
    defaults.loader_defaults,
    adapters.quantization_aware,
    preference.two_betas,
    precision.compile_by_itself,
    adapters.kernels_by_themselves,
    adapters.lora_gradients,
    adapters.quantized_experts,
    adapters.target_patterns,
    batch_and_evaluation.best_without_metric,
    adapters.offloaded_embeddings,
    attention_and_tokenizer.attention,
    adapters.dropout,
    adapters.adapter,
    defaults.run_name,
)
CHECKS_LAST: tuple[Callable[[Data], None], ...] = (
    data.skipped_preparation,
    batch_and_evaluation.packed_evaluation,
    batch_and_evaluation.benchmark_set,
    batch_and_evaluation.two_evaluation_sets,
    data.push_without_token,
    data.no_data,
    removed.unsloth,
    streaming.tokens_per_second_of_pretraining,
    attention_and_tokenizer.mistral_tokenizer,
    attention_and_tokenizer.mistral_options,
    batch_and_evaluation.generated_evaluation,
    batch_and_evaluation.former_strategy,
    precision.reentrant_and_unfrozen,
    precision.fp8,
    removed.former_buffer,
    removed.former_noise,
    batch_and_evaluation.evaluations,
    batch_and_evaluation.saves,
    batch_and_evaluation.two_warmups,
    batch_and_evaluation.two_batch_sizes,
    preference.reward_models,
    data.padding,
    batch_and_evaluation.batch_size_alone,
    adapters.kernels_and_remote_code,
    adapters.kernels_and_8bit,
    adapters.qlora_and_zero3,
    adapters.layer_patterns,
    adapters.frozen_layers,
    adapters.rate_groups,
    preference.grpo_batch,
    preference.dpo_losses,
    preference.gdpo_aggregation,
    preference.rl_checkpointing,
    preference.grpo_liger,
    preference.kto,
    preference.packed_rl,
    parallel.deepcompile,
    parallel.tensor_parallel_json,
    parallel.fsdp_version_inside,
    parallel.fsdp_prefixes,
    parallel.fsdp_quantized_preference,
    parallel.fsdp_pinning,
    parallel.fsdp1,
    loss_and_optimizer.custom_losses,
    loss_and_optimizer.cross_entropies,
    loss_and_optimizer.flash_optimizers,
    loss_and_optimizer.qgalore,
    loss_and_optimizer.polora,
    loss_and_optimizer.muon,
    adapters.quantized_twice,
    parallel.fsdp_and_deepspeed,
    parallel.two_memory_limits,
    attention_and_tokenizer.chat_template,
    streaming.several_packed_streams,
    streaming.streamed_steps,
    streaming.streamed_evaluation,
    streaming.pretraining_evaluation,
    streaming.pretraining_loader,
    streaming.pretraining_steps,
    adapters.mxfp4_loading,
    adapters.gptq_revision,
    data.ignored_split,
    preference.ebft_length,
    preference.ebft_compile,
    preference.ebft_section,
)
