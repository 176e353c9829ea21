"""The number of a run that a changed setting affects, by its key; some keys affect no number."""

from __future__ import annotations

from cfglint.review.consequence import Consequence
from cfglint.source.annotations import Iterable

LENGTHS = "tokens_per_step"
EFFECTS = {
    key: what
    for what, keys in {
        "warmup": "warmup_ratio warmup_steps warmup_num_steps warmup lr_warmup_iters",
        "learning_rate": "learning_rate lr warmup_max_lr",
        "lowest_rate": "min_lr warmup_min_lr",
        "schedule": "lr_scheduler_type lr_scheduler lr_decay_style",
        "total_steps": "num_train_epochs num_epochs max_steps train_iters num_iterations",
        "packing": "packing sample_packing eval_packing",
        "generations": "num_generations",
        "zero_stage": "stage zero_stage",
        "offload": "offload_optimizer offload_param offload_optimizer_device offload_param_device",
        "gradient_clipping": "gradient_clipping max_grad_norm",
        "gpus": "num_processes",
        "optimizer": "optim",
        "beta": "beta",
        "checkpoints": "save_steps save_strategy saves_per_epoch",
    }.items()
    for key in keys.split()
}
SIZES = frozenset(
    """
    batch_size micro_batch_size train_batch_size per_device_train_batch_size gradient_accumulation_steps epochs micro_batch_size_per_gpu
    lr_warmup_steps total_epochs total_training_steps total_steps train_steps max_train_steps num_train_steps grad_accum weight_decay
    nproc_per_node n_gpus_per_node gpus_per_node num_gpus nnodes
    """.split()
)
# What a reviewer has to know, whatever the framework computes from it.
SUBJECTS = {"training": "training is switched", "model": "another model", "data": "other data", "adapter": "other adapters"}
SUBJECT_KEYS = {
    **dict.fromkeys(("do_train", "train"), "training"),
    **dict.fromkeys(("model_name_or_path", "base_model", "model_path", "model_name", "model_id", "model", "base_model_name"), "model"),
    **dict.fromkeys(
        """
        dataset datasets dataset_name dataset_names dataset_path dataset_dir dataset_config_name dataset_config dataset_split
        dataset_mixer train_file train_files train_data train_data_path train_dataset train_path data_path data_dir data_file data_files
        data_name train_data_file train_data_paths training_data train_dir dataset_train_split
        """.split(),
        "data",
    ),
    **dict.fromkeys(
        """
        lora_r lora_rank lora_alpha lora_dropout lora_target lora_target_modules lora_target_linear lora_modules_to_save use_lora use_peft
        use_dora use_rslora r target_modules modules_to_save finetuning_type adapter tuner_type train_type load_in_4bit load_in_8bit
        quantization_bit q_lora
        """.split(),
        "adapter",
    ),
}
OF_A_FRAMEWORK = frozenset(("train_type", "tuner_type"))  # keys that mean something else in other programs
# What a setting means, where its name does not say it.
MEANINGS = {
    "beta": "the weight of the reference model in the loss of DPO and GRPO",
    "checkpoints": "when checkpoints are saved, and how much is lost if the run ends early",
}
# What decides whether and what a run trains comes first, how it is laid out on the GPUs last.
STARTS = ("run", "unreadable", "file", "verdict", "fails_at")
TRAINS = tuple("training model data adapter global_batch samples learning_rate total_steps schedule warmup precision zero_stage".split())
LAYOUT = ("micro_batch", "gpus", "implied_gpus", "memory")
TOKEN_LENGTHS = frozenset(
    "max_length max_seq_length max_seq_len cutoff_len sequence_len sequence_length model_max_length seq_length block_size".split()
)
# Names, paths, ports and destinations of reports: nothing that the framework computes depends on them.
WITHOUT_EFFECT = frozenset(
    """
    output_dir run_name logging_dir report_to hub_model_id hub_token hub_strategy push_to_hub hub_private_repo project project_config
    trackio_space_id main_process_port main_process_ip machine_rank rdzv_backend wandb_project wandb_group wandb_team wandb_run_name
    wandb_entity wandb_name wandb_watch wandb_log_model tensorboard_dir log_dir job_name output_path steps_per_print wall_clock_breakdown
    project_name experiment_name default_local_dir default_hdfs_dir logging_steps log_interval save checkpoint_dir overwrite_output_dir
    dump_state $schema tags save_total_limit
    """.split()
)


def by_importance(found: Iterable[Consequence]) -> list[Consequence]:
    """Consequences with those that change the training most first."""
    ranks = {what: rank for rank, what in enumerate((*STARTS, *TRAINS, "", *LAYOUT))}
    return sorted(found, key=lambda consequence: ranks.get(consequence.what, ranks[""]))


def has_effect(key: str) -> bool:
    """Whether a setting may affect what the framework computes; a dotted key counts by its last part."""
    return key.rpartition(".")[2].replace("-", "_") not in WITHOUT_EFFECT


def is_of_training(name: str) -> bool:
    """Whether a value in the code of a program decides how something is trained, by its name: an option, a keyword, a constant."""
    key = name.rpartition(".")[2].lstrip("-").replace("-", "_").lower()
    return key in EFFECTS or key in SIZES or key in TOKEN_LENGTHS
