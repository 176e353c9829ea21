"""What axolotl checks and completes before pydantic reads the fields: on the values as YAML gave them (axolotl 0.21.0).

Each function is one of axolotl's `mode="before"` validators, with the line of utils/schemas/validation.py where no other file is
named. They work on the values as they are, so a value of a type that a check cannot work with ends the run there as it does in
axolotl, with Python's own exception. `CHECKS` has them in the order in which pydantic runs them: the last one defined first.
"""

from __future__ import annotations

from cfglint.frameworks.axolotl.refusals import (
    ADAPTER,
    ATTENTION,
    BATCH,
    CHECKPOINTING,
    COMPILE,
    DATA,
    EVALUATION,
    FSDP,
    LOSS,
    OPTIMIZER,
    PRECISION,
    QUANTIZATION,
    REMOVED,
    RL,
    SCHEDULE,
    STREAMING,
    TOKENIZER,
    Data,
    Refusal,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

LEGACY_ATTENTION = {  # in the order in which axolotl prefers them (enums.py:119-126)
    "xformers_attention": "xformers",
    "sage_attention": "sage",
    "flex_attention": "flex_attention",
    "flash_attention": "flash_attention_2",
    "sdp_attention": "sdpa",
    "eager_attention": "eager",
}
UNSLOTH = (
    "unsloth_cross_entropy_loss",
    "unsloth_lora_mlp",
    "unsloth_lora_qkv",
    "unsloth_lora_o",
    "unsloth_rms_norm",
    "unsloth_rope",
)
METRICS = ("sacrebleu", "comet", "ter", "chrf", "perplexity")
LORA_KERNELS = ("lora_mlp_kernel", "lora_qkv_kernel", "lora_o_kernel")
CROSS_ENTROPIES = ("cut_cross_entropy", "chunked_cross_entropy", "liger_cross_entropy", "liger_fused_linear_cross_entropy")
ADAPTERS = ("lora", "qlora", "llama-adapter")
PLUGIN_ADAPTERS = {"mixlora": "mixlora", "mora": "mora"}
FSDP1_REFUSED = {"sharding_strategy": "reshard_after_forward", "forward_prefetch": ""}
FSDP1_IGNORED = ("sync_module_states", "backward_prefetch", "backward_prefetch_policy", "limit_all_gathers", "use_orig_params")


# ---- data ------------------------------------------------------------------------------------------------------


def deduplication_without_preparation(data: Data) -> None:
    """config.py:2225."""
    if data.get("dataset_exact_deduplication") and data.get("skip_prepare_dataset"):
        raise Refusal(
            DATA,
            ("dataset_exact_deduplication", "skip_prepare_dataset"),
            "`dataset_exact_deduplication` has no effect with `skip_prepare_dataset: true`, and is refused",
            "dataset_exact_deduplication=True has no effect when skip_prepare_dataset=True.",
        )


def deduplication_of_streams(data: Data) -> None:
    """config.py:2214."""
    if data.get("dataset_exact_deduplication") and (data.get("streaming") or data.get("pretraining_dataset")):
        raise Refusal(
            STREAMING,
            ("dataset_exact_deduplication",),
            "`dataset_exact_deduplication` does not support streaming data sets",
            "dataset_exact_deduplication is not available for streaming datasets. ",
            "NotImplementedError",
        )


def no_data(data: Data) -> None:
    """:302."""
    if data.get("datasets") is None and data.get("pretraining_dataset") is None:
        raise Refusal(
            DATA,
            ("datasets",),
            "no training data: set `datasets` (a list with `path` and `type`) or `pretraining_dataset`",
            "either datasets or pretraining_dataset is required",
        )


def push_without_token(data: Data) -> None:
    """:324."""
    if data.get("push_dataset_to_hub") and data.get("hf_use_auth_token") is not True:
        raise Refusal(
            DATA,
            ("push_dataset_to_hub", "hf_use_auth_token"),
            "`push_dataset_to_hub` requires `hf_use_auth_token: true`",
            "Require cfg.hf_use_auth_token to be True for push_dataset_to_hub",
        )


def skipped_preparation(data: Data) -> None:
    """:389, completes."""
    if data.get("skip_prepare_dataset") and data.get("remove_unused_columns") is None:
        data["remove_unused_columns"] = False


def ignored_split(data: Data) -> None:
    """:2525, warns only; a value that cannot be walked ends the run."""
    for item in data.get("datasets", []) or []:
        if isinstance(item, dict):
            item.get("train_on_split")


# ---- streaming and pretraining ------------------------------------------------------------------------------------


def tokens_per_second_of_pretraining(data: Data) -> None:
    """:828."""
    if data.get("pretraining_dataset") and data.get("include_tokens_per_second", False):
        raise Refusal(
            STREAMING,
            ("include_tokens_per_second", "pretraining_dataset"),
            "`include_tokens_per_second` is incompatible with `pretraining_dataset`",
            "pretraining_dataset and include_tokens_per_second cannot be used together.",
        )


def pretraining_steps(data: Data) -> None:
    """:1849."""
    if data.get("pretraining_dataset") and not data.get("max_steps"):
        raise Refusal(
            STREAMING,
            ("max_steps", "pretraining_dataset"),
            "`pretraining_dataset` requires `max_steps`: a streamed data set has no length",
            "max_steps must be set when using iterable pretraining_dataset, Trainer can't infer length and schedule "
            "optimizer/learning rate without it!",
        )


def pretraining_loader(data: Data) -> None:
    """:1867, completes."""
    if not data.get("pretraining_dataset"):
        return
    given = data.get("accelerator_config", {})
    if not given:
        data["accelerator_config"] = {"split_batches": False, "dispatch_batches": False}
        return
    data["accelerator_config"] = {**given}
    for name in ("split_batches", "dispatch_batches"):
        if given.get(name) is None:
            data["accelerator_config"][name] = False


def pretraining_evaluation(data: Data) -> None:
    """:1886."""
    if data.get("pretraining_dataset") and data.get("val_set_size"):
        raise Refusal(
            STREAMING,
            ("val_set_size", "pretraining_dataset"),
            "`val_set_size` is incompatible with `pretraining_dataset`; use `test_datasets`",
            "val_set_size is not supported with pretraining_dataset. Use test_datasets to specify evaluation datasets for pretraining.",
        )


def streamed_evaluation(data: Data) -> None:
    """:1896."""
    if data.get("streaming") and data.get("val_set_size"):
        raise Refusal(
            STREAMING,
            ("val_set_size", "streaming"),
            "`val_set_size` is incompatible with `streaming`; use `test_datasets`",
            "val_set_size is not supported with streaming datasets. Use test_datasets to specify evaluation datasets when streaming is "
            "enabled.",
        )


def streamed_steps(data: Data) -> None:
    """:1906."""
    if data.get("streaming") and not data.get("max_steps"):
        raise Refusal(
            STREAMING,
            ("max_steps", "streaming"),
            "`streaming` requires `max_steps`: a streamed data set has no length",
            "max_steps must be set when using streaming datasets. Trainer cannot infer dataset length for iterable datasets.",
        )


def several_packed_streams(data: Data) -> None:
    """:1916."""
    if data.get("streaming") and data.get("sample_packing") and data.get("datasets") and len(data.get("datasets")) > 1:
        raise Refusal(
            STREAMING,
            ("sample_packing", "streaming", "datasets"),
            "`sample_packing` with `streaming` supports a single data set",
            "Sample packing with multiple streaming datasets is not yet supported",
            "NotImplementedError",
        )


# ---- batch, steps, saving, evaluation --------------------------------------------------------------------------------


def batch_size_alone(data: Data) -> None:
    """:447."""
    if data.get("micro_batch_size") or data.get("gradient_accumulation_steps"):
        return
    if data.get("batch_size"):
        raise Refusal(
            BATCH,
            ("batch_size",),
            "`batch_size` alone is refused: set `micro_batch_size` and `gradient_accumulation_steps` instead",
            "At least two of micro_batch_size, gradient_accumulation_steps, batch_size must be set",
        )


def two_batch_sizes(data: Data) -> None:
    """:502."""
    if data.get("gradient_accumulation_steps") and data.get("batch_size"):
        raise Refusal(
            BATCH,
            ("batch_size", "gradient_accumulation_steps"),
            "`batch_size` is incompatible with `gradient_accumulation_steps`: remove `batch_size`",
            "please set only one of gradient_accumulation_steps or batch_size",
        )


def two_warmups(data: Data) -> None:
    """:526."""
    if data.get("warmup_steps") and data.get("warmup_ratio"):
        raise Refusal(
            SCHEDULE,
            ("warmup_ratio", "warmup_steps"),
            "`warmup_ratio` is incompatible with `warmup_steps`: set only one of them",
            "warmup_steps and warmup_ratio are mutually exclusive",
        )


def saves(data: Data) -> None:
    """:533."""
    strategy = data.get("save_strategy")
    if strategy and data.get("save_steps") and strategy != "steps":
        raise Refusal(
            SCHEDULE,
            ("save_steps", "save_strategy"),
            f"`save_steps` requires `save_strategy: steps`, and it is {shown(strategy)}",
            "save_strategy and save_steps mismatch. Please set save_strategy to 'steps' or remove save_steps.",
        )
    if data.get("saves_per_epoch") and data.get("save_steps"):
        raise Refusal(
            SCHEDULE,
            ("saves_per_epoch", "save_steps"),
            "`saves_per_epoch` is incompatible with `save_steps`: set only one of them",
            "save_steps and saves_per_epoch are mutually exclusive and cannot be used together.",
        )


def best_without_metric(data: Data) -> None:
    """config.py:1905."""
    if data.get("save_strategy") == "best" and not data.get("metric_for_best_model"):
        raise Refusal(
            SCHEDULE,
            ("save_strategy",),
            "`save_strategy: best` requires `metric_for_best_model`, such as `eval_loss`",
            "save_strategy: 'best' requires metric_for_best_model to be set. Please specify the metric to use, e.g. "
            "metric_for_best_model: eval_loss",
        )


def former_strategy(data: Data) -> None:
    """:714, completes."""
    if data.get("evaluation_strategy") is not None and data.get("eval_strategy") is None:
        data["eval_strategy"] = data.get("evaluation_strategy")


def evaluations(data: Data) -> None:
    """:561."""
    strategy = data.get("eval_strategy")
    if strategy and data.get("eval_steps") and strategy != "steps":
        raise Refusal(
            EVALUATION,
            ("eval_steps", "eval_strategy"),
            f"`eval_steps` requires `eval_strategy: steps`, and it is {shown(strategy)}",
            "eval_strategy and eval_steps mismatch. Please set eval_strategy to 'steps' or remove eval_steps.",
        )
    none = data.get("val_set_size") == 0 and not data.get("test_datasets")
    if none and (data.get("eval_steps") or strategy) and strategy != "no":
        key = "eval_steps" if data.get("eval_steps") else "eval_strategy"
        raise Refusal(
            EVALUATION,
            (key, "val_set_size"),
            f"`{key}` requires evaluation data, and `val_set_size` is 0: set `val_set_size` or `test_datasets`",
            "eval_steps and eval_strategy are not supported with val_set_size == 0",
        )
    if data.get("evals_per_epoch") and data.get("eval_steps"):
        raise Refusal(
            EVALUATION,
            ("evals_per_epoch", "eval_steps"),
            "`evals_per_epoch` is incompatible with `eval_steps`: set only one of them",
            "eval_steps and evals_per_epoch are mutually exclusive and cannot be used together.",
        )
    if data.get("evals_per_epoch") and strategy and strategy != "steps":
        raise Refusal(
            EVALUATION,
            ("evals_per_epoch", "eval_strategy"),
            f"`evals_per_epoch` requires `eval_strategy: steps` or none, and it is {shown(strategy)}",
            "eval_strategy must be empty or set to `steps` when used with evals_per_epoch.",
        )
    if data.get("do_bench_eval") and not (data.get("evals_per_epoch") or data.get("eval_steps")):
        raise Refusal(
            EVALUATION,
            ("do_bench_eval",),
            "`do_bench_eval` requires `evals_per_epoch` or `eval_steps`",
            "do_bench_eval requires evals_per_epoch or eval_steps to be set.",
        )


def two_evaluation_sets(data: Data) -> None:
    """:335."""
    if data.get("test_datasets") and data.get("val_set_size"):
        raise Refusal(
            EVALUATION,
            ("val_set_size", "test_datasets"),
            "`val_set_size` is incompatible with `test_datasets`: set only one of them",
            "non-zero val_set_size should not be used with test_datasets configuration",
        )


def benchmark_set(data: Data) -> None:
    """:344, completes."""
    if data.get("do_bench_eval") and not data.get("test_datasets") and not data.get("val_set_size"):
        data["test_datasets"] = [{"path": "axolotl-ai-co/empty-test-ds"}]


def packed_evaluation(data: Data) -> None:
    """:359."""
    packed, table = data.get("sample_packing"), data.get("eval_table_size")
    if packed and table and data.get("eval_sample_packing") is not False:
        raise Refusal(
            EVALUATION,
            ("eval_table_size", "sample_packing"),
            "`eval_table_size` is incompatible with `sample_packing` unless `eval_sample_packing` is false",
            "eval_table_size and eval_sample_packing are not supported together with sample_packing. Please set "
            "'eval_sample_packing' to false.",
        )
    if packed and data.get("eval_sample_packing") is None and not table:
        data["eval_sample_packing"] = True
    if packed and data.get("eval_sample_packing") is False and data.get("remove_unused_columns") is None:
        data["remove_unused_columns"] = False


def generated_evaluation(data: Data) -> None:
    """:726."""
    if data.get("do_causal_lm_eval") and data.get("eval_sample_packing"):
        raise Refusal(
            EVALUATION,
            ("do_causal_lm_eval", "eval_sample_packing"),
            "`do_causal_lm_eval` requires `eval_sample_packing: false`",
            "do_causal_lm_eval is enabled, eval_sample_packing must be set to False",
        )
    metrics = data.get("eval_causal_lm_metrics")
    if metrics and not isinstance(metrics, list):
        raise Refusal(
            EVALUATION, ("eval_causal_lm_metrics",), "`eval_causal_lm_metrics` is not a list", "eval_causal_lm_metrics must be a list"
        )
    if metrics and set(metrics) - set(METRICS):
        raise Refusal(
            EVALUATION,
            ("eval_causal_lm_metrics",),
            f"`eval_causal_lm_metrics` holds {shown(sorted(map(str, set(metrics) - set(METRICS))))}; known are {', '.join(METRICS)}",
            "eval_causal_lm_metrics must be one of " + str(set(METRICS)),
        )


# ---- rewards, padding, names -------------------------------------------------------------------------------------------


def reward_models(data: Data) -> None:
    """:481-499, completes."""
    for key, labels, kind in (
        ("reward_model", 1, "AutoModelForSequenceClassification"),
        ("process_reward_model", 2, "AutoModelForTokenClassification"),
    ):
        if data.get(key):
            if data.get("num_labels") is None:
                data["num_labels"] = labels
            if not (data.get("type_of_model") or data.get("model_type")):
                data["model_type"] = kind


def padding(data: Data) -> None:
    """:459-478, completes."""
    if data.get("sample_packing") and data.get("pad_to_sequence_len") is None:
        data["pad_to_sequence_len"] = True
    if data.get("reward_model") and data.get("pad_to_sequence_len") is None:
        data["pad_to_sequence_len"] = True


def former_noise(data: Data) -> None:
    """:603."""
    if not data.get("noisy_embedding_alpha"):
        return
    if data.get("neftune_noise_alpha"):
        raise Refusal(
            REMOVED,
            ("noisy_embedding_alpha", "neftune_noise_alpha"),
            "`noisy_embedding_alpha` is the old name of `neftune_noise_alpha`, and both are set: remove it",
            "noisy_embedding_alpha is deprecated, use neftune_noise_alpha; both are set, please remove the deprecated "
            "noisy_embedding_alpha setting",
        )
    data["neftune_noise_alpha"] = data.pop("noisy_embedding_alpha")


def former_buffer(data: Data) -> None:
    """:615."""
    if not data.get("pretrain_multipack_buffer_size"):
        return
    if data.get("streaming_multipack_buffer_size"):
        raise Refusal(
            REMOVED,
            ("pretrain_multipack_buffer_size", "streaming_multipack_buffer_size"),
            "`pretrain_multipack_buffer_size` is the old name of `streaming_multipack_buffer_size`, and both are set: remove it",
            "pretrain_multipack_buffer_size is deprecated, use streaming_multipack_buffer_size; both are set, please remove the "
            "deprecated pretrain_multipack_buffer_size setting",
        )
    data["streaming_multipack_buffer_size"] = data.pop("pretrain_multipack_buffer_size")


def unsloth(data: Data) -> None:
    """:281."""
    found = [key for key in UNSLOTH if data.get(key)]
    if found:
        raise Refusal(
            REMOVED,
            tuple(found),
            f"`{found[0]}` was removed; use `lora_mlp_kernel`, `lora_qkv_kernel` and `lora_o_kernel`",
            f"`{'`, `'.join(found)}` {'has' if len(found) == 1 else 'have'} been removed. Please use `lora_mlp_kernel`, "
            "`lora_qkv_kernel`, `lora_o_kernel` instead.",
        )


def collection_steps(data: Data) -> None:
    """config.py:2188, completes."""
    steps = data.get("gc_steps")
    if steps is not None and data.get("torch_empty_cache_steps") is None and data.get("gc_collect_steps") is None:
        if steps > 0:
            data["torch_empty_cache_steps"] = steps
        data["gc_collect_steps"] = steps


def loader_defaults(data: Data) -> None:
    """config.py:2155, completes."""
    names = ("dataloader_num_workers", "dataloader_pin_memory", "dataloader_prefetch_factor")
    if all(data.get(name) is None for name in names):
        data["dataloader_num_workers"] = data["capabilities"]["n_gpu"] or 1
        data["dataloader_pin_memory"] = True
        data["dataloader_prefetch_factor"] = 256


def processes(data: Data) -> None:
    """config.py:2168, completes."""
    if data.get("dataset_processes") is not None:
        if data.get("dataset_num_proc") is None:
            data["dataset_num_proc"] = data["dataset_processes"]
        del data["dataset_processes"]


def run_name(data: Data) -> None:
    """integrations.py:82, completes."""
    if data.get("wandb_run_id") and not data.get("wandb_name"):
        data["wandb_name"] = data.get("wandb_run_id")


# ---- attention, tokenizer, templates -----------------------------------------------------------------------------------


def attention(data: Data) -> None:
    """config.py:1640."""
    chosen = data.get("attn_implementation")
    flags = [flag for flag in LEGACY_ATTENTION if data.get(flag)]
    if data.get("gemma4_hybrid_attn_impl"):
        if not chosen and not flags:
            data["attn_implementation"] = chosen = "flash_attention_2"
        elif chosen and chosen != "flash_attention_2":
            raise Refusal(
                ATTENTION,
                ("attn_implementation", "gemma4_hybrid_attn_impl"),
                f"`gemma4_hybrid_attn_impl` requires `attn_implementation: flash_attention_2`, and it is {shown(chosen)}",
                "gemma4_hybrid_attn_impl requires attn_implementation=flash_attention_2 (sliding-window layers run under FA2); "
                f"got {chosen!r}.",
            )
    if chosen and flags:
        raise Refusal(
            ATTENTION,
            (flags[0], "attn_implementation"),
            f"`{flags[0]}` is incompatible with `attn_implementation`: remove the old key",
            f"attn_implementation={chosen!r} cannot be combined with legacy attention flags ({', '.join(sorted(flags))}). The legacy "
            "flags are deprecated — set only `attn_implementation`.",
        )
    if not chosen and flags:
        data["attn_implementation"] = LEGACY_ATTENTION[flags[0]]
    for flag in LEGACY_ATTENTION:
        data.pop(flag, None)


def mistral_tokenizer(data: Data) -> None:
    """:747, completes."""
    if data.get("tokenizer_use_mistral_common") is None:
        names = [data.get(key, "") for key in ("base_model", "base_model_config", "tokenizer_config")]
        if any("magistral" in name.lower() for name in names):
            data["tokenizer_use_mistral_common"] = True


def mistral_options(data: Data) -> None:
    """:783."""
    if not data.get("tokenizer_use_mistral_common"):
        return
    for key, says in (
        ("added_tokens_overrides", "added_tokens_overrides is not supported with mistral-common tokenizer"),
        ("special_tokens", "special_tokens override is not supported with mistral-common tokenizer"),
        ("tokens", "tokens override is not supported with mistral-common tokenizer"),
        ("chat_template", "Setting chat_template is not supported with mistral-common tokenizer"),
        ("processor_kwargs", "processor_kwargs is not supported with mistral-common tokenizer"),
    ):
        if data.get(key):
            raise Refusal(
                TOKENIZER, (key, "tokenizer_use_mistral_common"), f"`{key}` is incompatible with the mistral-common tokenizer", says
            )


def chat_template(data: Data) -> None:
    """:1824."""
    if data.get("chat_template") == "jinja" and not data.get("chat_template_jinja"):
        raise Refusal(
            TOKENIZER,
            ("chat_template",),
            "`chat_template: jinja` requires `chat_template_jinja`",
            "chat_template_jinja is required when chat_template is set to 'jinja'. Please provide the Jinja template string in "
            "chat_template_jinja field.",
        )
    if data.get("chat_template_jinja") and not data.get("chat_template"):
        data["chat_template"] = "jinja"


# ---- adapters and quantization --------------------------------------------------------------------------------------------


def adapter(data: Data) -> None:
    """peft.py:199."""
    loaded = next((key for key in ("load_in_8bit", "load_in_4bit") if data.get(key)), "")
    if not data.get("adapter") and not data.get("inference") and loaded:
        raise Refusal(
            ADAPTER,
            (loaded,),
            f"`{loaded}` requires an `adapter`: a quantized model cannot be trained as a whole",
            "load_in_8bit and load_in_4bit are not supported without setting an adapter for training.If you want to full finetune, "
            "please turn off load_in_8bit and load_in_4bit.",
        )
    name = data.get("adapter")
    if name and name not in ADAPTERS and not plugin_gives(name, data):
        raise Refusal(
            ADAPTER,
            ("adapter",),
            f"`adapter` {shown(name)} is not known: use lora, qlora or llama-adapter, or add the plugin that provides it to `plugins`",
            f"Adapter '{name}' is not built in and was not registered by a plugin. Add the plugin that provides this adapter to "
            "`plugins:`.",
        )


def plugin_gives(name: object, data: Data) -> bool:
    """Whether a plugin of the file registers an adapter; one of somebody else may."""
    if data.foreign_plugins:
        return True
    folder = PLUGIN_ADAPTERS.get(name) if isinstance(name, str) else None
    return folder is not None and folder in data.plugins


def dropout(data: Data) -> None:
    """peft.py:264, completes."""
    if data.get("adapter") is not None and data.get("lora_dropout") is None:
        data["lora_dropout"] = 0.0


def target_patterns(data: Data) -> None:
    """config.py:1917."""
    modules = data.get("lora_target_modules")
    if not isinstance(modules, list):
        return
    invalid = [pattern for pattern in modules if isinstance(pattern, str) and not is_pattern(pattern)]
    if invalid:
        raise Refusal(
            ADAPTER,
            ("lora_target_modules",),
            f"`lora_target_modules` holds {shown(invalid[0])}, which is not a valid regular expression",
            f"lora_target_modules contains invalid regex pattern(s): {invalid}. Please provide valid Python regex patterns or plain "
            "module name strings.",
        )


def is_pattern(text: str) -> bool:
    """Whether a text is a regular expression; a plain name is one."""
    if text.replace("_", "").isalnum():
        return True
    import re

    try:
        re.compile(text)
    except re.error:
        return False
    return True


def kernels_by_themselves(data: Data) -> None:
    """config.py:2083, completes: LoRA kernels are on unless something speaks against them (:88-117)."""
    if data.get("rl") or data.get("nvfp4_merge_aware") or data.get("adapter") not in ("lora", "qlora"):
        return
    flags = (*LORA_KERNELS, "lora_embedding_kernel")
    if any(data.get(flag) is not None for flag in flags) or data.get("trust_remote_code"):
        return
    if data.get("adapter") == "lora" and data.get("load_in_8bit"):
        return
    data.update(dict.fromkeys(flags, True))


def lora_gradients(data: Data) -> None:
    """config.py:2075."""
    if data.get("lora_fp32_gradients") and data.get("adapter") not in ("lora", "qlora", "multilora"):
        raise Refusal(
            ADAPTER,
            ("lora_fp32_gradients",),
            "`lora_fp32_gradients` requires a LoRA adapter",
            "lora_fp32_gradients requires a LoRA adapter",
        )


def quantized_experts(data: Data) -> None:
    """config.py:2049."""
    if not data.get("quantize_moe_experts"):
        return
    key = "quantize_moe_experts"
    if data.get("lora_target_linear"):
        raise Refusal(
            QUANTIZATION,
            (key, "lora_target_linear"),
            "`quantize_moe_experts` is incompatible with `lora_target_linear`; use `lora_target_parameters`",
            "lora_target_linear is not compatible with quantize_moe_experts. Use lora_target_parameters to target expert weights instead.",
        )
    if data.get("adapter") not in ("lora", "qlora"):
        raise Refusal(QUANTIZATION, (key,), f"`{key}` requires `adapter: lora` or `qlora`", f"{key} requires adapter: lora or qlora")
    if not (data.get("load_in_4bit") or data.get("load_in_8bit")):
        raise Refusal(
            QUANTIZATION, (key,), f"`{key}` requires `load_in_4bit` or `load_in_8bit`", f"{key} requires load_in_4bit or load_in_8bit"
        )


def offloaded_embeddings(data: Data) -> None:
    """config.py:1879."""
    if not data.get("ple_cpu_offload"):
        return
    key = "ple_cpu_offload"
    if data.get("fsdp_config") is not None:
        raise Refusal(CHECKPOINTING, (key, "fsdp_config"), f"`{key}` is incompatible with FSDP", f"{key} is not compatible with FSDP")
    if data.get("deepspeed"):
        raise Refusal(
            CHECKPOINTING, (key, "deepspeed"), f"`{key}` is incompatible with DeepSpeed", f"{key} is not compatible with DeepSpeed"
        )
    name = data.get("adapter")
    if not ((name == "qlora" and data.get("load_in_4bit")) or (name == "lora" and data.get("load_in_8bit"))):
        raise Refusal(
            CHECKPOINTING,
            (key,),
            f"`{key}` requires qlora with `load_in_4bit`, or lora with `load_in_8bit`",
            f"{key} requires qlora with load_in_4bit or lora with load_in_8bit",
        )


def kernels_and_remote_code(data: Data) -> None:
    """:918; some model types are allowed, which the file does not tell: those are assumed away only where no model is named."""
    flag = next((flag for flag in LORA_KERNELS if data.get(flag)), "")
    if flag and data.get("trust_remote_code"):
        raise Refusal(
            ADAPTER,
            (flag, "trust_remote_code"),
            f"`{flag}` is incompatible with `trust_remote_code: true`",
            "lora_mlp_kernel, lora_qkv_kernel, and lora_o_kernel are not compatible with trust_remote_code. Please disable "
            "trust_remote_code or explicitly set lora_*_kernel to false.",
        )


def kernels_and_8bit(data: Data) -> None:
    """:895."""
    flag = next((flag for flag in LORA_KERNELS if data.get(flag)), "")
    if flag and data.get("adapter") == "lora" and data.get("load_in_8bit"):
        raise Refusal(
            ADAPTER,
            (flag, "load_in_8bit"),
            f"`{flag}` is incompatible with `load_in_8bit` under `adapter: lora`",
            "lora_mlp_kernel, lora_qkv_kernel, and lora_o_kernel are not compatible with 8-bit LoRA a the moment.",
        )


def qlora_and_zero3(data: Data) -> None:
    """:875, warns only; a mapping of `deepspeed` is searched for a key, a number ends the run."""
    if (
        data.get("adapter") == "qlora"
        and data.get("gradient_checkpointing_kwargs", {})
        and data.get("gradient_checkpointing_kwargs", {}).get("use_reentrant") is False
        and data.get("deepspeed", "") is not None
    ):
        _ = "zero3" in data.get("deepspeed", "")


def layer_patterns(data: Data) -> None:
    """:853."""
    if data.get("peft_layers_pattern") and not data.get("peft_layers_to_transform"):
        raise Refusal(
            ADAPTER,
            ("peft_layers_pattern",),
            "`peft_layers_pattern` requires `peft_layers_to_transform`",
            "peft_layers_pattern requires peft_layers_to_transform to be set",
        )


def frozen_layers(data: Data) -> None:
    """:840."""
    if data.get("adapter") and data.get("peft_layers_to_transform") and data.get("unfrozen_parameters"):
        raise Refusal(
            ADAPTER,
            ("unfrozen_parameters", "peft_layers_to_transform"),
            "`unfrozen_parameters` is incompatible with `peft_layers_to_transform`",
            "`unfrozen_parameters` used with `peft_layers_to_transform` can have unexpected behavior.",
        )


def rate_groups(data: Data) -> None:
    """:834."""
    if data.get("lr_groups") and data.get("loraplus_lr_ratio"):
        raise Refusal(
            OPTIMIZER,
            ("lr_groups", "loraplus_lr_ratio"),
            "`lr_groups` is incompatible with `loraplus_lr_ratio`",
            "lr_groups and loraplus_lr_ratio cannot be used together.",
        )


def quantized_twice(data: Data) -> None:
    """:1657."""
    if data.get("model_quantization_config") and (data.get("load_in_8bit") or data.get("load_in_4bit")):
        raise Refusal(
            QUANTIZATION,
            ("model_quantization_config",),
            "`model_quantization_config` is incompatible with `load_in_8bit` and `load_in_4bit`",
            "model_quantization_config and load_in_8bit or load_in_4bit cannot be used together.",
        )


def quantization_aware(data: Data) -> None:
    """config.py:2131."""
    given = data.get("qat", {})
    if not given:
        return
    for key, says in (
        ("peft", "QAT and PEFT cannot be used together."),
        ("load_in_8bit", "QAT and load_in_8bit cannot be used together."),
        ("load_in_4bit", "QAT and load_in_4bit cannot be used together."),
    ):
        if data.get(key):
            raise Refusal(QUANTIZATION, ("qat", key), f"`qat` is incompatible with `{key}`", says)
    if given.get("weight_dtype") == "ternary" and given.get("activation_dtype") not in (None, "int8"):
        raise Refusal(
            QUANTIZATION,
            ("qat.activation_dtype",),
            "`qat.weight_dtype: ternary` requires `activation_dtype: int8`",
            "Ternary QAT only supports activation_dtype: int8.",
        )


def gptq_revision(data: Data) -> None:
    """:2166."""
    if data.get("gptq") and data.get("revision_of_model"):
        raise Refusal(
            QUANTIZATION,
            ("revision_of_model", "gptq"),
            "`revision_of_model` is incompatible with `gptq`",
            "revision_of_model is not supported for GPTQ models. ",
        )


def mxfp4_loading(data: Data) -> None:
    """:2177."""
    if data.get("model_quantization_config", "") == "Mxfp4Config":
        given = data.get("fsdp_config") or {}
        if given.get("cpu_ram_efficient_loading", False) is True:
            raise Refusal(
                FSDP,
                ("fsdp_config.cpu_ram_efficient_loading", "model_quantization_config"),
                "`fsdp_config.cpu_ram_efficient_loading` is incompatible with Mxfp4 quantization",
                "FSDP cpu_ram_efficient_loading is not supported for Mxfp4Config model quantization.",
            )


# ---- precision and compilation --------------------------------------------------------------------------------------------


def fp8(data: Data) -> None:
    """:654."""
    given = data.get("fp8_config")
    recipe = given.get("recipe", "tensorwise") if isinstance(given, dict) else "tensorwise"
    gather = data.get("fp8_enable_fsdp_float8_all_gather")
    if given is not None and not data.get("fp8"):
        raise Refusal(
            PRECISION,
            ("fp8_config",),
            "`fp8_config` requires `fp8: true`",
            "`fp8_config` requires `fp8: true`; set `fp8: true` or remove `fp8_config`.",
        )
    if gather and recipe != "tensorwise":
        raise Refusal(
            PRECISION,
            ("fp8_enable_fsdp_float8_all_gather", "fp8_config"),
            "`fp8_enable_fsdp_float8_all_gather` requires `fp8_config.recipe: tensorwise`",
            "`fp8_enable_fsdp_float8_all_gather` only supports the tensorwise `fp8_config.recipe`; disable it when using rowwise scaling.",
        )
    sharding = data.get("fsdp_config") or {}
    if data.get("fp8"):
        _ = sharding.get("activation_checkpointing", False) is True or sharding.get("fsdp_activation_checkpointing", False) is True
    if gather and not data.get("fsdp_config"):
        raise Refusal(
            PRECISION,
            ("fp8_enable_fsdp_float8_all_gather",),
            "`fp8_enable_fsdp_float8_all_gather` requires `fsdp_config`",
            "fp8_enable_fsdp_float8_all_gather requires FSDP2 (fsdp_config) to be used.",
        )


def reentrant_and_unfrozen(data: Data) -> None:
    """:699."""
    if (
        data.get("unfrozen_parameters")
        and data.get("gradient_checkpointing_kwargs")
        and data.get("gradient_checkpointing_kwargs", {}).get("use_reentrant") is True
    ):
        raise Refusal(
            CHECKPOINTING,
            ("gradient_checkpointing_kwargs.use_reentrant", "unfrozen_parameters"),
            "`use_reentrant: true` is incompatible with `unfrozen_parameters`",
            "`use_reentrant` must be false when used with partially frozen model.",
        )


def compile_by_itself(data: Data) -> None:
    """config.py:2106, completes: torch is assumed to be there."""
    if data.get("torch_compile") == "auto":
        data["torch_compile"] = True


# ---- reinforcement and preference learning ------------------------------------------------------------------------------------


def grpo_batch(data: Data) -> None:
    """:1022."""
    if data.get("rl") != "grpo":
        return
    given = data.get("trl") or {}
    generations = given.get("num_generations")
    if generations is None:
        return
    if generations < 2:
        raise Refusal(
            RL,
            ("trl.num_generations",),
            f"GRPO requires `trl.num_generations` of 2 or more, and it is {generations}",
            f"GRPO requires `trl.num_generations >= 2` (got {generations}).",
        )
    gpus, explicit = data["capabilities"]["n_gpu"], given.get("generation_batch_size")
    if gpus is None and explicit is None:  # the launch is not known
        return
    world = int(gpus or data.get("world_size") or 1)
    if explicit is not None:
        size, source = int(explicit), "trl.generation_batch_size"
    else:
        micro, accumulation = data.get("micro_batch_size") or 1, data.get("gradient_accumulation_steps") or 1
        size = int(micro) * int(accumulation) * world
        source = f"micro_batch_size ({micro}) * gradient_accumulation_steps ({accumulation})"
        source += f" * world_size ({world})" if world > 1 else ""
    if size % generations != 0:
        raise Refusal(
            RL,
            ("trl.num_generations", "micro_batch_size", "gradient_accumulation_steps"),
            f"the generation batch size {size} is not a multiple of `trl.num_generations` ({generations})",
            "GRPO: generation batch size must be divisible by `trl.num_generations`. "
            f"Got effective_gbs={size} (from {source}) and num_generations={generations}.",
        )
    if world > 1 and size < generations * world:
        raise Refusal(
            RL,
            ("trl.num_generations", "micro_batch_size", "gradient_accumulation_steps"),
            f"the generation batch size {size} is below `trl.num_generations` x GPUs ({generations} x {world})",
            f"GRPO with world_size={world} requires effective_gbs >= num_generations * world_size = {generations * world}, got {size}.",
        )


def dpo_losses(data: Data) -> None:
    """:988."""
    losses, weights, rl = data.get("dpo_loss_type"), data.get("dpo_loss_weights"), data.get("rl")
    if rl == "dpo":
        if weights is not None and losses is None:
            raise Refusal(
                RL,
                ("dpo_loss_weights",),
                "`dpo_loss_weights` requires `dpo_loss_type`",
                "`dpo_loss_weights` requires `dpo_loss_type` to be set",
            )
        if losses is not None and weights is not None and len(losses) != len(weights):
            raise Refusal(
                RL,
                ("dpo_loss_weights", "dpo_loss_type"),
                f"`dpo_loss_weights` has {len(weights)} entries, `dpo_loss_type` has {len(losses)}",
                f"`dpo_loss_type` and `dpo_loss_weights` must be the same length, but got {len(losses)} losses and {len(weights)} weights",
            )
    elif losses is not None or weights is not None:
        key = "dpo_loss_type" if losses is not None else "dpo_loss_weights"
        raise Refusal(
            RL,
            (key, "rl"),
            f"`{key}` requires `rl: dpo`, and `rl` is {shown(rl)}",
            f"`dpo_loss_type` and `dpo_loss_weights` are for DPO only,but got rl={rl!r}, dpo_loss_type={losses!r} and "
            f"dpo_loss_weights={weights!r}",
        )


def gdpo_aggregation(data: Data) -> None:
    """:976."""
    if data.get("rl") == "gdpo" and data.get("trl", {}).get("multi_objective_aggregation") == "sum_then_normalize":
        raise Refusal(
            RL,
            ("trl.multi_objective_aggregation", "rl"),
            "`multi_objective_aggregation: sum_then_normalize` is GRPO, and `rl` is gdpo",
            "`multi_objective_aggregation` value set as `sum_then_normalize` => GRPO, but GDPO was selected",
        )


def rl_checkpointing(data: Data) -> None:
    """:954."""
    if (
        data.get("rl")
        and data.get("gradient_checkpointing")
        and data.get("gradient_checkpointing_kwargs")
        and data.get("gradient_checkpointing_kwargs").get("use_reentrant")
        and data.get("load_in_4bit")
        and data.get("adapter") == "qlora"
        and (data["capabilities"]["n_gpu"] or 1) > 1
    ):
        raise Refusal(
            RL,
            ("gradient_checkpointing_kwargs.use_reentrant", "rl"),
            "`use_reentrant: true` is incompatible with `rl` and qlora on several GPUs",
            "The `use_reentrant: True` implementation of gradient checkpointing is not supported for distributed RL training with "
            "QLoRA. Please set `use_reentrant: False` in `gradient_checkpointing_kwargs`.",
        )


def grpo_liger(data: Data) -> None:
    """:942."""
    if (
        data.get("rl") == "grpo"
        and data.get("trl", {})
        and data.get("trl").get("use_liger_loss")
        and data.get("context_parallel_size", 1) > 1
    ):
        raise Refusal(
            RL,
            ("trl.use_liger_loss", "context_parallel_size"),
            "`trl.use_liger_loss` is incompatible with `context_parallel_size` above 1 under GRPO",
            "GRPO + SP + Liger not currently supported",
        )


def kto(data: Data) -> None:
    """:930."""
    if data.get("rl") != "kto":
        return
    packed = next((key for key in ("sample_packing", "eval_sample_packing") if data.get(key)), "")
    if packed:
        raise Refusal(RL, (packed, "rl"), f"`{packed}` is incompatible with `rl: kto`", "sample_packing is not supported with kto")
    if data.get("remove_unused_columns") is not False:
        raise Refusal(
            RL,
            ("rl",),
            "`rl: kto` requires `remove_unused_columns: false`",
            "Set `remove_unused_columns: False` when using kto",
        )


def packed_rl(data: Data) -> None:
    """:922."""
    if data.get("sample_packing") and data.get("rl"):
        raise Refusal(
            RL,
            ("sample_packing", "rl"),
            "`sample_packing` is incompatible with `rl`",
            "`sample_packing: true` does not work with RLHF training",
        )


def two_betas(data: Data) -> None:
    """config.py:2122."""
    if data.get("beta") and data.get("trl", {}).get("beta") and data["beta"] != data["trl"]["beta"]:
        raise Refusal(
            RL,
            ("beta", "trl.beta"),
            f"`beta` ({data['beta']}) differs from `trl.beta` ({data['trl']['beta']})",
            "beta and trl.beta must match or one must be removed",
        )


def ebft_section(data: Data) -> None:
    """:2399."""
    if data.get("rl") == "ebft" and not data.get("ebft"):
        raise Refusal(
            RL,
            ("rl",),
            "`rl: ebft` requires an `ebft` section",
            "`ebft` config section is required when `rl: ebft` is set. Add an `ebft:` section with at least `mode: structured` or "
            "`mode: strided`.",
        )


def ebft_compile(data: Data) -> None:
    """:2410."""
    if (
        data.get("rl") == "ebft"
        and data.get("torch_compile") is True
        and (data.get("ebft") or {}).get("mode") == "strided"
        and data.get("gradient_checkpointing")
    ):
        raise Refusal(
            RL,
            ("torch_compile", "gradient_checkpointing"),
            "`torch_compile` is incompatible with `gradient_checkpointing` in strided EBFT",
            "EBFT strided mode: `torch_compile: true` with `gradient_checkpointing: true` causes CheckpointError (BlockMask metadata "
            "mismatch during recomputation).",
        )


def ebft_length(data: Data) -> None:
    """:2497, warns only."""
    given = data.get("ebft") or {}
    if data.get("rl") != "ebft" or given.get("mode") != "strided":
        return
    length = data.get("sequence_len", 512)
    blocks = (length - given.get("generate_max_len", 8) - given.get("context_length", 8)) // given.get("stride", 8) + 1
    _ = (length + blocks * given.get("generate_max_len", 8)) * given.get("n_samples_per_prompt", 4) > 0


# ---- loss, optimizers -----------------------------------------------------------------------------------------------------------


def cross_entropies(data: Data) -> None:
    """:1374."""
    found = [key for key in CROSS_ENTROPIES if data.get(key)]
    if len(found) > 1:
        raise Refusal(
            LOSS,
            (found[1], found[0]),
            f"`{found[1]}` is incompatible with `{found[0]}`: enable one cross entropy implementation",
            f"Only one cross entropy optimization can be enabled at a time. Found {len(found)} enabled: {', '.join(found)}. "
            "Please disable all but one.",
        )


def custom_losses(data: Data) -> None:
    """:1403."""
    found = [key for key in ("use_dft", "use_eaft") if data.get(key)]
    if not found:
        return
    if len(found) > 1:
        raise Refusal(
            LOSS,
            ("use_eaft", "use_dft"),
            "`use_eaft` is incompatible with `use_dft`",
            "`use_dft` and `use_eaft` cannot be enabled together.",
        )
    rivals = (
        "rl",
        "reward_model",
        "process_reward_model",
        "cut_cross_entropy",
        "liger_fused_linear_cross_entropy",
        "chunked_cross_entropy",
    )
    conflicts = [key for key in rivals if data.get(key)]
    if (data.get("context_parallel_size") or data.get("sequence_parallel_degree") or 1) > 1:
        conflicts.append("context_parallel_size > 1")
    if conflicts:
        raise Refusal(
            LOSS,
            (found[0], conflicts[0].split(" ")[0]),
            f"`{found[0]}` is incompatible with `{conflicts[0].split(' ')[0]}`",
            f"`{found[0]}` is an SFT-only loss and cannot be combined with: {', '.join(conflicts)}.",
        )


def muon(data: Data) -> None:
    """:1212."""
    if data.get("optimizer") in ("muon", "muon_8bit") and data.get("deepspeed"):
        raise Refusal(
            OPTIMIZER,
            ("optimizer", "deepspeed"),
            "the Muon optimizer is incompatible with DeepSpeed",
            "Muon optimizer is currently incompatible with DeepSpeed",
        )


def polora(data: Data) -> None:
    """:1223."""
    if data.get("optimizer") != "polora":
        return
    if data.get("adapter") not in ("lora", "qlora"):
        raise Refusal(
            OPTIMIZER,
            ("optimizer",),
            "the polora optimizer requires `adapter: lora` or `qlora`",
            "polora only updates LoRA (A, B) factors and requires adapter: lora or qlora.",
        )
    if data.get("deepspeed") or (data.get("tensor_parallel_size") or 1) > 1:
        raise Refusal(
            OPTIMIZER,
            ("optimizer", "deepspeed", "tensor_parallel_size"),
            "the polora optimizer is incompatible with DeepSpeed and tensor parallelism",
            "polora is not compatible with DeepSpeed or tensor parallelism. Use single-GPU, DDP, or FSDP2.",
        )
    for keys, says in (
        (
            (
                "lora_modules_to_save",
                "unfrozen_parameters",
                "peft_use_dora",
                "peft_trainable_token_indices",
                "lisa_step_interval",
                "reward_model",
                "process_reward_model",
            ),
            "polora has no fallback optimizer, so the parameters added by {} would never be trained.",
        ),
        (
            ("loraplus_lr_ratio", "lr_groups", "embedding_lr", "embedding_lr_scale"),
            "polora sets its own per-factor step size, so {} would be silently ignored.",
        ),
    ):
        found = [key for key in keys if data.get(key)]
        if found:
            raise Refusal(OPTIMIZER, (found[0], "optimizer"), f"`{found[0]}` is incompatible with the polora optimizer", says.format(found))
    if data.get("relora_steps"):
        raise Refusal(
            OPTIMIZER,
            ("relora_steps", "optimizer"),
            "relora is incompatible with the polora optimizer",
            "relora resets optimizer state through Optimizer.state, which polora does not use, so its momentum would survive every merge.",
        )


def qgalore(data: Data) -> None:
    """:1290."""
    if data.get("optimizer") != "q_galore_adamw8bit":
        return
    name = data.get("adapter")
    if name:
        raise Refusal(
            OPTIMIZER,
            ("optimizer", "adapter"),
            "q_galore_adamw8bit is incompatible with an adapter",
            f"q_galore_adamw8bit operates on full-precision parameters and is incompatible with adapter='{name}'.",
        )
    if data.get("deepspeed"):
        raise Refusal(
            OPTIMIZER,
            ("optimizer", "deepspeed"),
            "q_galore_adamw8bit is incompatible with DeepSpeed",
            "q_galore_adamw8bit is not yet validated with DeepSpeed. Use DDP or FSDP2.",
        )
    if data.get("optim_target_modules") is None:
        data["optim_target_modules"] = ["attn", "mlp"]


def flash_optimizers(data: Data) -> None:
    """:1318."""
    name = data.get("optimizer") or ""
    if str(name).startswith("flash_") and data.get("deepspeed"):
        raise Refusal(
            OPTIMIZER,
            ("optimizer", "deepspeed"),
            f"the {name} optimizer is incompatible with DeepSpeed",
            f"{name} optimizer is incompatible with DeepSpeed. Flash optimizers only support DDP and FSDP2.",
        )


# ---- sharding and parallel sizes ----------------------------------------------------------------------------------------------------


def fsdp_version_inside(data: Data) -> None:
    """:1541, completes."""
    given, version = data.get("fsdp_config") or {}, data.get("fsdp_version", None)
    if not given:
        return
    given = data["fsdp_config"] = {**given}
    if not version and given.get("version"):
        data["fsdp_version"] = given["fsdp_version"] = given.pop("version")
    elif not version and given.get("fsdp_version"):
        data["fsdp_version"] = given.get("fsdp_version")
    if version and not given.get("fsdp_version"):
        given["fsdp_version"] = version
    if not data.get("fsdp_version"):
        data["fsdp_version"] = given["fsdp_version"] = 2


def fsdp_prefixes(data: Data) -> None:
    """:1520, completes."""
    given = data.get("fsdp_config")
    if given and any(key.startswith("fsdp_") and key != "fsdp_version" for key in given):
        data["fsdp_config"] = {
            key.replace("fsdp_", "") if key.startswith("fsdp_") and key != "fsdp_version" else key: value for key, value in given.items()
        }


def fsdp_quantized_preference(data: Data) -> None:
    """:1500."""
    if data.get("fsdp_config") and data.get("rl") in ("dpo", "kto", "orpo", "ipo"):
        loaded = next((key for key in ("load_in_8bit", "load_in_4bit") if data.get(key)), "")
        if loaded:
            raise Refusal(
                FSDP,
                (loaded, "fsdp_config", "rl"),
                f"`{loaded}` is incompatible with FSDP2 and `rl: {data.get('rl')}`; use DeepSpeed",
                f"FSDP2 does not support load_in_8bit or load_in_4bit with {data.get('rl')}. Please use DeepSpeed instead.",
            )


def fsdp_pinning(data: Data) -> None:
    """:1486."""
    given = data.get("fsdp_config")
    if given and given.get("cpu_offload_pin_memory") is False and not given.get("offload_params"):
        raise Refusal(
            FSDP,
            ("fsdp_config.cpu_offload_pin_memory",),
            "`cpu_offload_pin_memory: false` requires `offload_params: true`",
            "disabling cpu_offload_pin_memory requires enabling offload_params",
        )


def fsdp1(data: Data) -> None:
    """:1437."""
    if data.get("fsdp"):
        raise Refusal(
            FSDP,
            ("fsdp",),
            "`fsdp` was removed with FSDP1; use `fsdp_config` with `fsdp_version: 2`",
            "The top-level `fsdp` list is no longer supported, it configured FSDP1 sharding strategies. Use `fsdp_config` instead, see "
            "docs/multi-gpu.qmd#sec-migrate-fsdp1-fsdp2 for the migration guide.",
        )
    given = data.get("fsdp_config") or {}
    for key, version in (
        ("fsdp_version", data.get("fsdp_version")),
        ("fsdp_config.fsdp_version", given.get("fsdp_version")),
        ("fsdp_config.version", given.get("version")),
    ):
        if version is not None and str(version) != "2":
            raise Refusal(
                FSDP,
                (key,),
                f"`fsdp_version` {version} is not supported: FSDP1 was removed, use 2",
                f"fsdp_version: {version} is no longer supported, FSDP1 has been removed from Axolotl. Use fsdp_version: 2 and see "
                "docs/multi-gpu.qmd#sec-migrate-fsdp1-fsdp2 for the migration guide.",
            )
    for key in list(given.keys()):
        name = key[5:] if key.startswith("fsdp_") and key != "fsdp_version" else key
        if name in FSDP1_REFUSED:
            instead = FSDP1_REFUSED[name]
            raise Refusal(
                FSDP,
                (f"fsdp_config.{key}",),
                f"`fsdp_config.{name}` is an FSDP1 option and was removed; " + (f"use `{instead}`" if instead else "remove it"),
                f"fsdp_config.{name} is an FSDP1-only option and FSDP1 has been removed from Axolotl. "
                + (f"Use `{instead}` instead." if instead else "It has no FSDP2 equivalent, please remove it."),
            )
        if name in FSDP1_IGNORED:
            given.pop(key)


def fsdp_and_deepspeed(data: Data) -> None:
    """:1650."""
    if data.get("deepspeed") and data.get("fsdp_config"):
        raise Refusal(
            FSDP,
            ("fsdp_config", "deepspeed"),
            "`fsdp_config` is incompatible with `deepspeed`",
            "deepspeed and fsdp cannot be used together.",
        )


def two_memory_limits(data: Data) -> None:
    """:1638."""
    if data.get("max_memory") is not None and data.get("gpu_memory_limit") is not None:
        raise Refusal(
            CHECKPOINTING,
            ("max_memory", "gpu_memory_limit"),
            "`max_memory` is incompatible with `gpu_memory_limit`",
            "max_memory and gpu_memory_limit are mutually exclusive and cannot be used together.",
        )


def tensor_parallel_json(data: Data) -> None:
    """:1582, completes the DeepSpeed file; a mapping cannot be opened."""
    size = data.get("tensor_parallel_size")
    if size is not None and size > 1 and data.get("deepspeed"):
        named_file(data)
        data.additions.update({"tensor_parallel": {"autotp_size": size}, "zero_optimization.gather_16bit_weights_on_model_save": True})


def deepcompile(data: Data) -> None:
    """:1615."""
    if not data.get("deepcompile"):
        return
    if not data.get("deepspeed"):
        raise Refusal(COMPILE, ("deepcompile",), "`deepcompile` requires `deepspeed`", "DeepCompile is only supported with DeepSpeed")
    named_file(data)
    data.additions["compile"] = {"deepcompile": True}


def named_file(data: Data) -> None:
    """A DeepSpeed configuration that is opened as a file has to be one."""
    if not isinstance(data.get("deepspeed"), str):
        raise TypeError(f"expected str, bytes or os.PathLike object, not {type(data['deepspeed']).__name__}")


def shown(value: object) -> str:
    """A value as the file spells it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    return f'"{value}"' if isinstance(value, str) else str(value)


CHECKS_FIRST: tuple[Callable[[Data], None], ...] = (
    deduplication_without_preparation,
    deduplication_of_streams,
    collection_steps,
    processes,
    loader_defaults,
    quantization_aware,
    two_betas,
    compile_by_itself,
    kernels_by_themselves,
    lora_gradients,
    quantized_experts,
    target_patterns,
    best_without_metric,
    offloaded_embeddings,
    attention,
    dropout,
    adapter,
    run_name,
)
# Those of plugins come here.
CHECKS_LAST: tuple[Callable[[Data], None], ...] = (
    skipped_preparation,
    packed_evaluation,
    benchmark_set,
    two_evaluation_sets,
    push_without_token,
    no_data,
    unsloth,
    tokens_per_second_of_pretraining,
    mistral_tokenizer,
    mistral_options,
    generated_evaluation,
    former_strategy,
    reentrant_and_unfrozen,
    fp8,
    former_buffer,
    former_noise,
    evaluations,
    saves,
    two_warmups,
    two_batch_sizes,
    reward_models,
    padding,
    batch_size_alone,
    kernels_and_remote_code,
    kernels_and_8bit,
    qlora_and_zero3,
    layer_patterns,
    frozen_layers,
    rate_groups,
    grpo_batch,
    dpo_losses,
    gdpo_aggregation,
    rl_checkpointing,
    grpo_liger,
    kto,
    packed_rl,
    deepcompile,
    tensor_parallel_json,
    fsdp_version_inside,
    fsdp_prefixes,
    fsdp_quantized_preference,
    fsdp_pinning,
    fsdp1,
    custom_losses,
    cross_entropies,
    flash_optimizers,
    qgalore,
    polora,
    muon,
    quantized_twice,
    fsdp_and_deepspeed,
    two_memory_limits,
    chat_template,
    several_packed_streams,
    streamed_steps,
    streamed_evaluation,
    pretraining_evaluation,
    pretraining_loader,
    pretraining_steps,
    mxfp4_loading,
    gptq_revision,
    ignored_split,
    ebft_length,
    ebft_compile,
    ebft_section,
)
