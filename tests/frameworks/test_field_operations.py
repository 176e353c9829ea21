"""Which types a field takes, and when the run fails on the others: nothing is converted, and the first operation on the value decides.

A row has a letter for each of `VALUES`: `-` for accepted, `c`, `i` and `s` for a failure at config, init and the first step.
"""

from __future__ import annotations

from cases import each_case
from cfglint.frameworks import framework
from cfglint.frameworks.huggingface.field_operations import type_failures
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.llamafactory.field_operations import failures
from cfglint.source.parse import parse

VALUES = ("x", "null", "[1]", "{a: 1}", "2.5", "true", "3", "-1")
LETTERS = {None: "-", "config": "c", "init": "i", "first-step": "s"}
HUGGINGFACE = "output_dir: out\ndo_train: true\neval_strategy: steps\nsave_strategy: steps\ngradient_checkpointing: true\n"
TRL = "output_dir: out\nmodel_name_or_path: m\ndataset_name: d\nuse_peft: true\n"
LLAMAFACTORY = (
    "model_name_or_path: m\ndataset: d\ntemplate: qwen\ndo_train: true\nfinetuning_type: freeze\noutput_dir: out\nlearning_rate: 1.0e-5\n"
)


def config_of(kind, text, target, trainer=None):
    facts = LaunchFacts(gpus=8, num_examples=1000, kind_given=True, complete=True, target=target, trainer=trainer)
    return framework(kind).config([parse("train.yaml", text, "yaml")], [kind], facts)


def letters(find, kind, text, field, target, trainer=None):
    kept = "".join(f"{line}\n" for line in text.splitlines() if not line.startswith(f"{field}:"))
    found = [find(config_of(kind, f"{kept}{field}: {value}\n", target, trainer)) for value in VALUES]
    return "".join(LETTERS[next((each.fails_at for each in failed if each.field == field), None)] for failed in found)


@each_case(
    ("field", "now", "before"),  # of transformers 5.23.0, of 4.42.4
    [
        ("output_dir", "--cccccc", "--cccccc"),
        ("logging_dir", "--------", "--cccccc"),
        ("metric_for_best_model", "--cccccc", "--cccccc"),
        ("logging_steps", "cccc----", "cccc----"),
        ("eval_steps", "c-cc----", "c-cc----"),
        ("save_steps", "cccc----", "cccc----"),
        ("warmup_steps", "cccc----", "--------"),
        ("warmup_ratio", "--------", "cccc----"),
        ("dataloader_num_workers", "ccccs---", "iiiis---"),
        ("ddp_timeout", "cccc----", "cccc----"),
        ("fsdp_min_num_params", "--------", "cccc----"),
        ("torchdynamo", "--------", "--cccccc"),
        ("torch_compile_backend", "--------", "--cccccc"),
        ("torch_compile_mode", "--------", "--cccccc"),
        ("seed", "iiiii---", "iiiii---"),
        ("log_level", "iiiiiiii", "iiiiiiii"),
        ("log_level_replica", "iiiiiiii", "iiiiiiii"),
        ("gradient_accumulation_steps", "----s---", "--------"),
        ("max_steps", "iiiis---", "iiiis---"),
        ("debug", "----iiii", "----iiii"),
        ("dataloader_drop_last", "iiiii-ii", "iiiii-ii"),
        ("use_cache", "iiiii-ii", "--------"),
        ("label_names", "i--iiiii", "i--iiiii"),
        ("num_train_epochs", "iiii----", "iiii----"),
        ("optim_args", "--iiiiii", "--iiiiii"),
        ("learning_rate", "iiii----", "iiii----"),
        ("adam_beta1", "iiii----", "iiii----"),
        ("adam_beta2", "iiii----", "iiii----"),
        ("adam_epsilon", "iiii----", "iiii----"),
        ("data_seed", "s-ssss--", "--------"),
        ("past_index", "--------", "ssss----"),
        ("label_smoothing_factor", "ssss----", "ssss----"),
        ("activation_checkpointing_kwargs", "s-s-ssss", "--------"),
        ("gradient_checkpointing_kwargs", "--------", "s-s-ssss"),
        ("neftune_noise_alpha", "s-ss----", "s-ss----"),
        ("max_grad_norm", "ssss----", "s-ss----"),
        ("weight_decay", "ssss----", "ssss----"),
    ],
)
def test_types_of_the_trainer(field, now, before):
    assert letters(type_failures, "huggingface", HUGGINGFACE, field, {"transformers": "5.23.0"}) == now
    assert letters(type_failures, "huggingface", HUGGINGFACE, field, {"transformers": "4.42.4"}) == before


@each_case(
    ("field", "trainer", "now", "before"),  # of TRL 1.16.0, of 0.17.0
    [
        ("num_generations", "grpo", "-ccci---", "-i--i---"),
        ("num_generations", "rloo", "-ccci---", "--------"),
        ("generation_batch_size", "grpo", "--cc----", "--------"),
        ("generation_batch_size", "rloo", "--cc----", "--------"),
        ("steps_per_generation", "grpo", "--cc----", "--------"),
        ("steps_per_generation", "rloo", "--cc----", "--------"),
        ("vllm_importance_sampling_clip_min", "grpo", "--cc----", "--------"),
        ("model_init_kwargs", "rloo", "i-i-iiii", "--------"),
        ("cache_implementation", "grpo", "i-iiiiii", "i-iiiiii"),
        ("generation_kwargs", "rloo", "i-i-iiii", "--------"),
        ("scale_rewards", "grpo", "--cc----", "--------"),
        ("dataset_num_proc", "dpo", "--iii--i", "--iii--i"),
        ("lora_r", "sft", "-iiiii-i", "-iiiii-i"),
        ("lora_alpha", "sft", "-iii----", "-iii----"),
        ("lora_dropout", "sft", "-iiii-i-", "-iiii-i-"),
        ("lora_target_modules", "sft", "---ciiii", "---ciiii"),
        ("lora_modules_to_save", "sft", "----iiii", "----iiii"),
        ("lora_task_type", "sft", "i-iiiiii", "i-iiiiii"),
        ("dataset_kwargs", "sft", "i-i-iiii", "--i-iiii"),
        ("max_length", "sft", "--iii---", "--ii---i"),
        ("max_length", "dpo", "--ii----", "--------"),
        ("max_length", "kto", "--ii----", "--ii----"),
        ("max_length", "reward", "--ii----", "--ii----"),
        ("max_seq_length", "sft", "--------", "--ii---i"),
        ("max_prompt_length", "dpo", "--------", "--iii---"),
        ("max_completion_length", "dpo", "--------", "--iii---"),
        ("max_completion_length", "grpo", "--ii---i", "--ii---i"),
        ("max_completion_length", "rloo", "--ii---i", "--------"),
        ("reward_weights", "grpo", "---iiiii", "---iiiii"),
        ("reward_weights", "rloo", "---iiiii", "--------"),
        ("num_iterations", "grpo", "-iiii--i", "-iiii--i"),
        ("num_iterations", "rloo", "-iiii--i", "--------"),
    ],
)
def test_types_of_trl(field, trainer, now, before):
    assert letters(type_failures, "trl", TRL, field, {"trl": "1.16.0"}, trainer) == now
    assert letters(type_failures, "trl", TRL, field, {"trl": "0.17.0"}, trainer) == before


@each_case(
    ("field", "expected"),
    [
        ("new_special_tokens_config", "--cccccc"),
        ("tool_format", "i-iiiiii"),
        ("max_new_tokens", "iiii----"),
        ("add_tokens", "--cccccc"),
        ("add_special_tokens", "--cccccc"),
        ("image_min_pixels", "cccc----"),
        ("image_max_pixels", "cccc----"),
        ("video_min_pixels", "cccc----"),
        ("vllm_config", "--------"),
        ("sglang_config", "--------"),
        ("val_size", "iiii----"),
        ("interleave_probs", "--------"),
        ("cutoff_len", "--------"),
        ("ray_init_kwargs", "--------"),
        ("lora_rank", "-c-c----"),
        ("dpo_label_smoothing", "--------"),
        ("use_galore", "cccc----"),
        ("use_apollo", "cccc----"),
        ("loraplus_lr_ratio", "i-ii----"),
    ],
)
def test_types_of_llamafactory(field, expected):
    assert letters(failures, "llamafactory", LLAMAFACTORY, field, {}) == expected


@each_case(
    ("kind", "release", "lines", "expected"),
    [
        ("huggingface", "5.23.0", "metric_for_best_model: [1]", "c"),
        ("huggingface", "5.23.0", "metric_for_best_model: [1]; greater_is_better: true", "-"),
        ("huggingface", "4.42.0", "metric_for_best_model: 3", "c"),
        ("huggingface", "4.41.2", "metric_for_best_model: 3", "-"),
        ("huggingface", "5.23.0", 'logging_steps: x; logging_strategy: "no"', "c"),
        ("huggingface", "5.23.0", 'logging_steps: x; logging_strategy: "no"; eval_strategy: "no"', "i"),
        ("huggingface", "5.23.0", 'logging_steps: x; logging_strategy: "no"; eval_steps: 5', "i"),
        ("huggingface", "5.23.0", 'eval_steps: x; eval_strategy: "no"', "i"),
        ("huggingface", "5.23.0", 'save_steps: x; save_strategy: "no"', "i"),
        ("huggingface", "5.23.0", "ddp_timeout: x; use_cpu: true", "-"),
        ("huggingface", "5.23.0", "num_train_epochs: null; max_steps: 10", "i"),
        ("huggingface", "5.23.0", "num_train_epochs: .inf", "i"),
        ("huggingface", "5.23.0", "num_train_epochs: .inf; max_steps: 10", "-"),
        ("huggingface", "5.23.0", "learning_rate: x; optim: sgd", "i"),
        ("huggingface", "5.23.0", "adam_beta1: x; optim: sgd", "-"),
        ("huggingface", "5.23.0", "adam_beta1: x; optim: adamw_bnb_8bit", "i"),
        ("huggingface", "5.23.0", "adam_epsilon: x; optim: adamw_bnb_8bit", "i"),
        ("huggingface", "5.23.0", "adam_epsilon: x; optim: adafactor", "-"),
        ("huggingface", "5.23.0", "weight_decay: x; optim: sgd", "-"),
        ("huggingface", "5.23.0", "weight_decay: 0; optim: adamw_torch", "-"),
        ("huggingface", "5.23.0", "weight_decay: false; optim: adamw_torch_fused", "-"),
        ("huggingface", "5.23.0", "weight_decay: null; optim: adamw_torch_fused", "s"),
        ("huggingface", "5.23.0", "label_names: x; remove_unused_columns: false", "-"),
        ("huggingface", "4.46.0", "data_seed: x", "s"),
        ("huggingface", "4.45.2", "data_seed: x", "-"),
        ("huggingface", "5.15.0", "dataloader_num_workers: x", "c"),
        ("huggingface", "5.14.0", "dataloader_num_workers: x", "i"),
        ("huggingface", "5.15.0", "dataloader_num_workers: x; dataloader_multiprocessing_context: spawn", "i"),
        ("huggingface", "5.23.0", "dataloader_drop_last: x; train_sampling_strategy: batch_rebalance", "-"),
        ("huggingface", "5.3.0", "max_grad_norm: null", "s"),
        ("huggingface", "5.2.0", "max_grad_norm: null", "-"),
        ("huggingface", "4.57.0", "warmup_ratio: null", "c"),
        ("huggingface", "5.0.0", "warmup_ratio: null", "-"),
        ("huggingface", "5.0.0", "warmup_ratio: x", "c"),
        ("huggingface", "5.14.0", "warmup_ratio: x", "c"),
        ("huggingface", "5.15.0", "warmup_ratio: x", "-"),
        ("huggingface", "4.57.0", "warmup_steps: x", "-"),
        ("huggingface", "5.0.0", "warmup_steps: x", "c"),
        ("huggingface", "5.0.0", "warmup_steps: x; warmup_ratio: 0.1", "-"),
        ("huggingface", "5.15.0", "warmup_steps: x; warmup_ratio: 0.1", "c"),
        ("huggingface", "4.46.0", "gradient_accumulation_steps: 2.5", "s"),
        ("huggingface", "4.45.2", "gradient_accumulation_steps: 2.5", "-"),
        ("huggingface", "4.45.2", "gradient_accumulation_steps: 2.5; max_steps: 10", "s"),
        (
            "huggingface",
            "5.23.0",
            "gradient_accumulation_steps: 0.5; accelerator_config: {gradient_accumulation_kwargs: {num_steps: 4}}",
            "-",
        ),
        (
            "huggingface",
            "5.23.0",
            "gradient_accumulation_steps: null; accelerator_config: {gradient_accumulation_kwargs: {num_steps: 4}}",
            "i",
        ),
        ("huggingface", "5.23.0", "gradient_accumulation_steps: null", "-"),
        ("huggingface", "4.57.0", "torchdynamo: 3", "c"),
        ("huggingface", "5.0.0", "torchdynamo: 3", "-"),
        ("huggingface", "4.57.0", "logging_dir: 3", "c"),
        ("huggingface", "5.0.0", "logging_dir: 3", "-"),
        ("huggingface", "5.23.0", "max_steps: 2.5", "s"),
        ("huggingface", "5.23.0", "max_steps: -2.5", "-"),
        ("huggingface", "5.23.0", "log_level: info", "-"),
        ("huggingface", "5.23.0", "log_level: loud", "i"),
        ("huggingface", "5.23.0", "debug: underflow_overflow", "-"),
        ("huggingface", "5.23.0", "gradient_checkpointing_kwargs: 3; gradient_checkpointing: false", "-"),
        ("huggingface", "5.23.0", 'seed: "1"', "i"),
        ("huggingface", "5.23.0", "label_smoothing_factor: 0", "-"),
        ("huggingface", "5.23.0", 'neftune_noise_alpha: "5"', "s"),
        ("trl sft", "1.16.0", "lora_r: x; use_peft: false", "-"),
        ("trl sft", "1.16.0", "lora_r: x", "-"),
        ("trl sft", "1.16.0", "lora_r: 0", "i"),
        ("trl sft", "1.16.0", "lora_r: 1", "-"),
        ("trl sft", "1.16.0", "lora_dropout: 1.0", "-"),
        ("trl sft", "1.16.0", "lora_dropout: 1.5", "i"),
        ("trl sft", "1.16.0", "lora_task_type: CAUSAL_LM", "-"),
        ("trl sft", "1.16.0", "max_length: 2.5; packing: true", "i"),
        ("trl sft", "1.16.0", "max_length: 2.5", "i"),
        ("trl sft", "1.16.0", "max_length: 2.5; dataset_kwargs: {skip_prepare_dataset: true}", "-"),
        ("trl sft", "0.17.0", "max_length: 0", "-"),
        ("trl grpo", "1.16.0", "num_iterations: 2.5", "i"),
        ("trl grpo", "1.16.0", "num_iterations: 2.5; max_steps: 10", "-"),
        ("trl grpo", "1.16.0", "num_iterations: 0", "i"),
        ("trl grpo", "1.16.0", "num_iterations: 0; max_steps: 10", "-"),
        ("trl grpo", "1.16.0", "num_iterations: 1", "-"),
        ("trl grpo", "1.16.0", "max_completion_length: 0", "i"),
        ("trl grpo", "1.16.0", "max_completion_length: 1", "-"),
        ("trl dpo", "1.16.0", "precompute_ref_batch_size: 2.5", "-"),
        ("trl dpo", "1.16.0", "precompute_ref_batch_size: 2.5; precompute_ref_log_probs: true", "i"),
        ("trl dpo", "1.16.0", "precompute_ref_batch_size: -1; precompute_ref_log_probs: true", "i"),
        ("trl dpo", "1.16.0", "precompute_ref_batch_size: 0; precompute_ref_log_probs: true", "-"),
        ("trl dpo", "0.17.0", "precompute_ref_batch_size: -1; precompute_ref_log_probs: true", "-"),
        ("llamafactory", "", "add_special_tokens: 3", "c"),
        ("llamafactory", "", "add_special_tokens: 3; new_special_tokens_config: t.json", "-"),
        ("llamafactory", "", 'vllm_config: "{a"', "c"),
        ("llamafactory", "", "vllm_config: '{\"a\": 1}'", "-"),
        ("llamafactory", "", 'interleave_probs: "0.1,0.9"; mix_strategy: interleave_under', "-"),
        ("llamafactory", "", 'interleave_probs: "a,b"; mix_strategy: concat', "-"),
        ("llamafactory", "", "cutoff_len: x; packing: true", "c"),
        ("llamafactory", "", "cutoff_len: x; neat_packing: true", "c"),
        ("llamafactory", "", "val_size: x; eval_dataset: e", "c"),
        ("llamafactory", "", "val_size: x; streaming: true", "c"),
        ("llamafactory", "", "val_size: x; predict_with_generate: true", "c"),
        ("llamafactory", "", "val_size: x; tokenized_path: p", "-"),
        ("llamafactory", "", "lora_rank: null; lora_alpha: 16", "-"),
        ("llamafactory", "", "dpo_label_smoothing: x; stage: dpo; pref_loss: ipo", "c"),
        ("llamafactory", "", "dpo_label_smoothing: x; stage: dpo; pref_loss: sigmoid", "-"),
        ("llamafactory", "", "dpo_label_smoothing: x; stage: sft; pref_loss: ipo", "-"),
        ("llamafactory", "", "use_galore: x; finetuning_type: lora", "-"),
        ("llamafactory", "", "use_badam: x; finetuning_type: lora", "-"),
        ("llamafactory", "", "loraplus_lr_ratio: x; use_galore: true", "-"),
        ("llamafactory", "", "loraplus_lr_ratio: x; use_apollo: true", "-"),
    ],
)
def test_what_decides_whether_an_operation_is_reached(kind, release, lines, expected):
    """The first line has the field; `;` separates lines, which take the place of those of the base."""
    kind, _, trainer = kind.partition(" ")
    find, base, package = {
        "huggingface": (type_failures, HUGGINGFACE, "transformers"),
        "trl": (type_failures, TRL, "trl"),
        "llamafactory": (failures, LLAMAFACTORY, "llamafactory"),
    }[kind]
    changed = dict(line.split(": ", 1) for line in lines.split("; "))
    kept = [line for line in base.splitlines() if line.partition(":")[0] not in changed]
    text = "".join(f"{line}\n" for line in [*kept, *(f"{key}: {value}" for key, value in changed.items())])
    found = find(config_of(kind, text, {package: release} if release else {}, trainer or None))
    assert LETTERS[next((each.fails_at for each in found if each.field == next(iter(changed))), None)] == expected
