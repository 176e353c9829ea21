"""GPT-NeoX: YAML files of NeoXArgs fields, several of which make up one run."""

from __future__ import annotations

from cfglint.frameworks.base import CERTAIN, MAYBE, NO_MATCH, Framework
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases._modelled import RELEASES
from cfglint.source.annotations import Final
from cfglint.source.document import MAPPING, Document
from cfglint.source.loaders import YAML11_FULL, Loader

KIND: Final = "neox"
NEWEST = RELEASES["gpt-neox"]

# Names of GPT-NeoX arguments that are unlikely in the config of another trainer.
MARKERS = frozenset(
    """
    pipe_parallel_size model_parallel_size pipe_partition_method sequence_parallel attention_config sparsity_config
    pos_emb rotary_pct no_weight_tying gpt_j_residual gpt_j_tied output_layer_parallelism attention_dropout
    hidden_dropout layernorm_epsilon rms_norm_epsilon norm make_vocab_size_divisible_by num_kv_heads
    scaled_upper_triang_masked_softmax_fusion scaled_masked_softmax_fusion bias_gelu_fusion bias_dropout_fusion
    rope_fusion init_method output_layer_init_method init_method_std use_bias_in_norms use_bias_in_attn_linear
    use_bias_in_mlp checkpoint_activations checkpoint_num_layers partition_activations synchronize_each_layer
    contiguous_checkpointing data_path data_impl train_data_paths valid_data_paths test_data_paths train_data_weights
    valid_data_weights test_data_weights train_label_data_paths weight_by_num_documents weighted_sampler_alpha pack_impl
    dataset_impl train_impl vocab_file merge_file split mmap_warmup use_shared_fs checkpoint_factor checkpoint_scale
    extra_save_iters checkpoint_validation_with_forward_pass eval_iters eval_interval train_iters lr_decay_iters
    lr_decay_style lr_decay_fraction use_checkpoint_lr_scheduler override_lr_scheduler min_lr distributed_backend
    launcher deepspeed_slurm deepspeed_mpi deepspeed_extra_args gradient_noise_scale_n_batches log_gradient_noise_scale
    log_grad_norm keep_last_n_checkpoints text_gen_type sample_input_file sample_output_file maximum_tokens num_samples
    prompt_end recompute eval_results_prefix te_mha te_layernorm_mlp te_columnparallel moe_num_experts
    moe_expert_interval moe_router_type use_mup use_bnb_optimizer soft_prompt_tuning adlr_autoresume hostfile
    master_addr tensorboard_dir wandb_team wandb_host wandb_group comet_workspace comet_project use_wandb git_hash
    char_level_ppl eod_mask_loss
    """.split()
)
# Keys of related tools that share many of these names: Megatron's own spelling of sizes, a model's config.json, accelerate.
FOREIGN = frozenset(
    """
    architectures model_type model_name_or_path base_model tensor_model_parallel_size pipeline_model_parallel_size
    compute_environment distributed_type per_device_train_batch_size trainer exp_manager megatron_cfg method
    """.split()
)
LEAST = 2  # minimum number of markers
FRACTION = 0.3  # minimum fraction of the top-level keys that are markers
LEAST_FRACTION = 0.1  # below this fraction, markers in a long file are coincidence


class NeoX(Framework):
    """GPT-NeoX of May 2026 with the DeeperSpeed commit that its requirements pin."""

    kind = KIND
    title = "GPT-NeoX"
    package = "gpt-neox"
    newest = NEWEST
    source_paths = ("megatron",)
    rule_families = {"NEO": title}
    rules = "deepspeed_engine fields model neox_args no_effect training"
    further_rules = "resuming"
    file_match = ("**/gpt-neox/configs/*.yml", "*.neox.yml", "*.neox.yaml")
    only_syntax = "yaml"  # `.json` files too (arguments.py:242)
    telling_keys = MARKERS
    parts = {
        "exceptions": "rows.refusals.row_exceptions",
        "config": "neox.config.NeoXConfig",
        "refusals": "neox.checks.refusals",
        "refused": "neox.rules.neox_args.refused",
        "batch": "neox.batch.resolve",
        "numbers": "neox.steps.numbers",
        "resumption": "neox.resumption.resumption",
        "model": "neox.memory.model",
        "memory": "neox.memory.inputs",
        "account": "neox.summary.account",
    }

    def detect(self, document: Document) -> int:
        root = document.root
        if root is None or root.kind != MAPPING:
            return NO_MATCH
        keys = [key.raw.replace("-", "_") for key, _ in root.children]
        marked = sum(key in MARKERS for key in keys)
        if marked <= LEAST_FRACTION * len(keys) or not FOREIGN.isdisjoint(keys):
            return NO_MATCH
        if marked >= LEAST:
            return CERTAIN if marked >= FRACTION * len(keys) else MAYBE
        return MAYBE if root.style == "flow" and document.syntax == "yaml" else NO_MATCH

    def may_be(self, names: list[str], path: str) -> bool:
        return sum(map(MARKERS.__contains__, " ".join(names).replace("-", "_").split())) >= LEAST

    def loader(self, document: Document, facts: LaunchFacts) -> Loader:
        return YAML11_FULL


FRAMEWORK = NeoX()
