"""What importing unsloth changes: it replaces the classes of TRL, with other defaults, further parameters and other checks.

Source: unsloth 2025.2.15 to 2026.10.9 models/rl.py (_patch_trl_rl_trainers), trainer.py (_backwards_compatible_trainer): the trainers
accept `tokenizer` and the parameters that TRL has moved to its configs; releases before 2025.2 keep TRL's own defaults.
"""

from __future__ import annotations

from cfglint.evaluate import Unknown
from cfglint.launch.programs.modules import Modules
from cfglint.launch.programs.objects import plain
from cfglint.source.annotations import Any, Mapping
from cfglint.source.shell.tables import names

PACKAGE = "unsloth"
# Fields with another default in some release, or filled from the model where the code does not set them.
DEFAULTS = names(
    "auto_find_batch_size beta bf16 dataset_num_proc epsilon_high eval_accumulation_steps fp16 generation_kwargs"
    " gradient_accumulation_steps learning_rate logging_steps loss_type mask_truncated_completions max_length max_seq_length"
    " num_generations optim output_dir padding_free per_device_eval_batch_size per_device_train_batch_size report_to seed top_k"
    " torch_empty_cache_steps vllm_mode warmup_ratio warmup_steps weight_decay"
)
# Parameters that its classes add, and former names whose values it moves to the new ones (rl.py, rl_config_compat.py); it drops any other.
TAKEN = names(
    "max_seq_length per_gpu_eval_batch_size per_gpu_train_batch_size push_to_hub_token unsloth_grpo_mini_batch"
    " unsloth_logit_chunk_multiplier unsloth_num_chunks use_liger_loss vllm_guided_decoding_regex vllm_sampling_params"
    " wandb_log_unique_prompts warmup_ratio"
)
MICRO, COMPLETIONS = "per_device_train_batch_size", "num_generations"


def is_imported(modules: Modules) -> bool:
    return any(PACKAGE in program_module.imported_packages for program_module in modules.known())


def replaces(name: str) -> bool:
    """Whether unsloth replaces a class of arguments: not those of transformers."""
    return name not in ("TrainingArguments", "Seq2SeqTrainingArguments")


def changed_fields(given: Mapping[str, Any]) -> set[str]:
    """The fields of a config of TRL whose values depend on the release of unsloth, by the values that the code sets.

    A micro batch that `num_generations` does not divide becomes `num_generations`, in some releases; without a folder nothing may be saved.
    """
    found = set(DEFAULTS - given.keys())
    if "output_dir" not in given and "save_strategy" not in given:
        found.add("save_strategy")
    micro, completions = (plain(given[name]) if name in given else Unknown() for name in (MICRO, COMPLETIONS))
    divides = type(micro) is int and type(completions) is int and completions > 0 and micro % completions == 0
    return found if COMPLETIONS not in given or divides else {*found, MICRO}
