"""The fields of NeoXArgs in the two tagged releases of GPT-NeoX, as differences from the current ones.

Source: gpt-neox v1.0 (December 2021) and v2.0 (March 2023), megatron/neox_arguments/neox_args.py, deepspeed_args.py.
"""

from __future__ import annotations

from cfglint.frameworks.neox.fields import FIELDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.frameworks.versions import Version

FIRST_WITHOUT_TAGS = (3,)
SECOND = (2,)
ADDED_IN_2 = frozenset(
    """
    autotuning autotuning_run base_shapes_file coord_check curriculum_learning curriculum_seqlen mup_attn_temp
    mup_embedding_mult mup_init_scale mup_output_temp mup_rp_embedding_mult mup_width_scale no_ssh_check
    save_base_shapes use_mup
    """.split()  # noqa: SIM905
)
ADDED_LATER = frozenset(
    """
    account activation_checkpointing allow_chopped bf16 checkpoint comet_experiment comet_experiment_name
    comet_others comet_project comet_tags comet_workspace comms_logger communication_data_type compression_training
    csv_monitor data_efficiency data_types dataset_impl deepspeed_extra_args dim_att dpo_beta dpo_fp32
    dpo_reference_free elasticity expansion_factor ffn_dim force_multi fp32_reinforce fused_kernels_build_path
    head_size intermediate_size kl_div_beta kl_impl kto_beta kto_desirable_weight kto_fp32 kto_undesirable_weight
    layernorm_fusion lr_decay_fraction mamba_causal_conv_fusion mamba_inner_func_fusion mamba_selective_fp32_params
    mamba_selective_scan_fusion mamba_use_bias_in_conv mamba_use_bias_in_linears memory_profiling
    memory_profiling_path mlp_multiple_of moe_expert_interval moe_jitter_eps moe_lbl_in_fp32 moe_num_experts
    moe_router_type moe_top_k neg_test_data_paths neg_test_label_data_paths neg_train_data_paths
    neg_train_label_data_paths neg_valid_data_paths neg_valid_label_data_paths num_kv_heads online_dataserver_ips
    online_dataserver_ports pack_impl peak_theoretical_tflops pos_test_data_paths pos_test_label_data_paths
    pos_train_data_paths pos_train_label_data_paths pos_valid_data_paths pos_valid_label_data_paths
    precompute_model_name profile profile_step_start profile_step_stop reinforce_leave_one_out rmsnorm_fusion
    rope_fusion rotary_save_freqs_buffer s3_chunk_size s3_path sequence_parallel serve_model_weights
    sliding_window_width sparse_attention te_columnparallel te_fp8_amax_compute_algo te_fp8_amax_history_len
    te_fp8_format te_fp8_margin te_fp8_mha te_fp8_wgrad te_layernorm_mlp te_mha te_rowparallel tensorboard
    test_label_data_paths test_reward_data_paths train_epochs train_impl train_label_data_paths
    train_reward_data_paths use_bias_in_attn_linear use_bias_in_mlp use_bias_in_norms use_comet use_flashattn_swiglu
    use_qk_layernorm valid_label_data_paths valid_reward_data_paths wandb wandb_run_name weight_server_port z_loss
    """.split()  # noqa: SIM905
)
REMOVED = frozenset(["detect_nvlink_pairs", "gas", "save_iters", "zero_allow_untested_optimizer"])


def fields_of_release(version: Version) -> dict[str, str]:
    """The names of the fields of a tagged release, without their types; empty for the modelled one."""
    if version >= FIRST_WITHOUT_TAGS:
        return {}
    missing = ADDED_LATER if version >= SECOND else ADDED_LATER | ADDED_IN_2
    return dict.fromkeys((FIELDS.keys() - missing) | REMOVED, "")
