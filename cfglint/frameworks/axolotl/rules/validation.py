"""Rules about the refusals of axolotl's own checks, by topic: each refusal is a finding at its key.

The checks are rows (`rows.json`), a few are in `by_hand.py`; `pages.py` names the topic of each, and these rules give topics their pages.
"""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.rule import Example, ExampleFacts, Finding, config_error, rule_of
from cfglint.frameworks.axolotl import KIND
from cfglint.frameworks.axolotl.config import AxolotlConfig
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
    MODEL_TYPE,
    OPTIMIZER,
    PARALLEL,
    PLUGIN,
    PRECISION,
    QUANTIZATION,
    REMOVED,
    RL,
    SCHEDULE,
    STREAMING,
    TOKENIZER,
    TYPE,
)
from cfglint.frameworks.axolotl.releases import FSDP2_ONLY
from cfglint.frameworks.axolotl.rules import BASE
from cfglint.source.annotations import Callable, Iterator

NEEDS_KEYS = ((DATA, "datasets"), (STREAMING, "max_steps"))  # keys that the launch line may supply if the file is not the complete run


def refused(config: AxolotlConfig, topic: str) -> Iterator[Finding]:
    """The refusals of a topic."""
    for refusal in config.refusals:
        if refusal.kind != topic:
            continue
        from cfglint.frameworks.axolotl.migration import migrated

        places = [config.place(path) for path in refusal.paths or [()]]
        absent = not places[0].written and (topic, places[0].name) in NEEDS_KEYS
        yield refusal.finding(
            places,
            config.values,
            depends_on=config.rest if absent else (),
            fix=migrated(config, refusal) if topic in (FSDP, REMOVED) and not config.without_remedies else None,
            on_key=topic == REMOVED,
        )


def refusals_of(
    code: str,
    kind: str,
    at: str,
    bad: str | tuple[str | Example, ...],
    good: str,
    fixed: str | None = None,
    old_names: tuple[str, ...] = (),
    *,
    source: str,
    releases: tuple[Releases, ...] = (),
) -> Callable[[Callable[[], None]], None]:
    """Register the rule of a kind of refusals; its page is the docstring of the decorated function."""
    example: ExampleFacts = {"kind": KIND, "at": at}
    return rule_of(
        lambda config: refused(config, kind),
        config_error(code, source=source, bad=bad, good=good, fixed=fixed, example=example, old_names=old_names, releases=releases),
    )


@refusals_of(
    "AXL010",
    DATA,
    "/datasets/0/type",
    source="axolotl 0.21.0 utils/schemas/validation.py:246-330, config.py:2214-2240",
    bad="base_model: org/model\nlearning_rate: 2.0e-5\ndatasets:\n  - {path: data.jsonl, type: sharegpt}\n",
    good="base_model: org/model\nlearning_rate: 2.0e-5\ndatasets:\n  - {path: data.jsonl, type: chat_template}\n",
)
def axolotl_data() -> None:
    """The data sets of the file are refused.

    Without `datasets` or `pretraining_dataset` there is nothing to train on; `type: sharegpt` became `chat_template`; deduplication
    needs the preparation that `skip_prepare_dataset` leaves out.
    """


@refusals_of(
    "AXL011",
    STREAMING,
    "/max_steps",
    source="axolotl 0.21.0 utils/schemas/validation.py:1849-1930",
    bad=BASE + "streaming: true\n",
    good=BASE + "streaming: true\nmax_steps: 1000\n",
)
def axolotl_streaming() -> None:
    """A streamed data set is combined with what needs its length.

    `streaming` and `pretraining_dataset` need `max_steps`, and support neither `val_set_size` nor deduplication.
    """


@refusals_of(
    "AXL012",
    BATCH,
    "/batch_size",
    source="axolotl 0.21.0 utils/schemas/validation.py:447-510, utils/config/__init__.py:253",
    bad=(
        BASE + "batch_size: 32\ngradient_accumulation_steps: 4\n",
        Example(BASE + "gradient_accumulation_steps: null\n", "/gradient_accumulation_steps"),
    ),
    good=BASE + "micro_batch_size: 8\ngradient_accumulation_steps: 4\n",
)
def axolotl_batch_keys() -> None:
    """The batch keys are incompatible with each other, or do not determine a batch size.

    `batch_size` is incompatible with `gradient_accumulation_steps`, and does not suffice alone. An accumulation of null or 0 is
    computed from `batch_size`, which is then required.
    """


@refusals_of(
    "AXL013",
    SCHEDULE,
    "/warmup_ratio",
    source="axolotl 0.21.0 utils/schemas/validation.py:526-560, 2209-2268",
    bad=BASE + "warmup_steps: 10\nwarmup_ratio: 0.1\n",
    good=BASE + "warmup_ratio: 0.1\n",
)
def axolotl_schedule() -> None:
    """Keys for warm-up, saving, early stopping or the learning rate exclude each other.

    `warmup_steps` or `warmup_ratio`, `save_steps` or `saves_per_epoch`: one of each. `early_stopping_patience` needs `save_steps`
    and `eval_steps`, the first a multiple of the second.
    """


@refusals_of(
    "AXL014",
    EVALUATION,
    "/eval_steps",
    source="axolotl 0.21.0 utils/schemas/validation.py:335-390, 561-600",
    bad=BASE + "val_set_size: 0\neval_steps: 100\n",
    good=BASE + "val_set_size: 0.1\neval_steps: 100\n",
)
def axolotl_evaluation() -> None:
    """Keys for evaluation exclude each other, or there is no evaluation set.

    `eval_steps` requires `eval_strategy: steps` and evaluation data; `evals_per_epoch` replaces both; `val_set_size` and
    `test_datasets` are alternatives.
    """


@refusals_of(
    "AXL015",
    ATTENTION,
    "/flash_attention",
    source="axolotl 0.21.0 utils/schemas/config.py:1640-1732",
    bad=BASE + "attn_implementation: sdpa\nflash_attention: true\n",
    good=BASE + "attn_implementation: flash_attention_2\n",
)
def axolotl_attention() -> None:
    """The attention implementation is unknown, or is selected twice.

    `attn_implementation` accepts the names of transformers and of kernels on the Hub; the old switches (`flash_attention: true`) are
    refused together with it, even where they mean the same.
    """


@refusals_of(
    "AXL016",
    ADAPTER,
    "/adapter",
    source="axolotl 0.21.0 utils/schemas/peft.py:199-310",
    bad=BASE + "adapter: qlora\nload_in_4bit: false\n",
    good=BASE + "adapter: qlora\nload_in_4bit: true\n",
)
def axolotl_adapter() -> None:
    """The adapter is incompatible with other keys.

    Quantized loading needs an adapter; `qlora` means `load_in_4bit: true`; ReLoRA needs `jagged_restart_steps`.
    """


@refusals_of(
    "AXL017",
    QUANTIZATION,
    "/quantize_moe_experts",
    source="axolotl 0.21.0 utils/schemas/config.py:2049-2153, validation.py:1607-1660",
    bad=BASE + "quantize_moe_experts: true\nadapter: lora\n",
    good=BASE + "quantize_moe_experts: true\nadapter: qlora\nload_in_4bit: true\n",
)
def axolotl_quantization() -> None:
    """Two quantizations exclude each other, or a quantization lacks what it needs.

    `qat` and `model_quantization_config` are incompatible with `load_in_8bit` and `load_in_4bit`; `quantize_moe_experts` needs one of them.
    """


@refusals_of(
    "AXL018",
    FSDP,
    "/fsdp",
    source="axolotl 0.21.0 utils/schemas/validation.py:1437-1600",
    bad=BASE + "fsdp:\n  - full_shard\nfsdp_config:\n  fsdp_sharding_strategy: FULL_SHARD\n",
    good=BASE + "fsdp_version: 2\nfsdp_config: {reshard_after_forward: true}\n",
    fixed=BASE + "fsdp_config:\n  fsdp_reshard_after_forward: true\n",
    releases=(Releases(until=FSDP2_ONLY.since, of="FSDP1 and FSDP2"), Releases(FSDP2_ONLY.since, of="FSDP2 alone")),
)
def axolotl_fsdp() -> None:
    """A key of FSDP1, or a combination that FSDP2 does not support.

    FSDP1 was removed: no `fsdp:` list, no `sharding_strategy`, `fsdp_version` 2. FSDP2 is incompatible with bitsandbytes' 8-bit
    optimizers and with DeepSpeed.

    Fix: change the key that the message names. Without `fsdp_config`, or for a strategy other than FULL_SHARD and SHARD_GRAD_OP, there
    is no automatic one.
    """


@refusals_of(
    "AXL019",
    PARALLEL,
    "/optimizer",
    source="axolotl 0.21.0 utils/schemas/validation.py:2276-2380, integrations/expert_parallel/args.py:60-134",
    bad=BASE + "tensor_parallel_size: 2\noptimizer: adamw_8bit\n",
    good=BASE + "tensor_parallel_size: 2\noptimizer: adamw_torch\n",
)
def axolotl_parallelism() -> None:
    """Tensor, context or expert parallelism is incompatible with another key.

    Each has optimizers, kernels and attentions that it does not support; expert parallelism needs FSDP2 and full state dicts.
    """


@refusals_of(
    "AXL020",
    RL,
    "/sample_packing",
    source="axolotl 0.21.0 utils/schemas/validation.py:922-1140, 2399-2590",
    bad=BASE + "rl: dpo\nsample_packing: true\n",
    good=BASE + "rl: dpo\n",
    old_names=("axolotl-preference-training",),
)
def axolotl_option_incompatible_with_rl() -> None:
    """Keys for preference or reinforcement learning are incompatible with each other.

    `sample_packing` is incompatible with `rl`; under GRPO the generation batch must be a multiple of `trl.num_generations`; `rl: kto`
    needs `remove_unused_columns: false`.
    """


@refusals_of(
    "AXL021",
    OPTIMIZER,
    "/optimizer",
    source="axolotl 0.21.0 utils/schemas/validation.py:1212-1328",
    bad=BASE + "optimizer: muon\ndeepspeed: {zero_optimization: {stage: 2}}\n",
    good=BASE + "optimizer: adamw_torch\ndeepspeed: {zero_optimization: {stage: 2}}\n",
)
def axolotl_optimizer() -> None:
    """The optimizer is incompatible with other keys.

    axolotl's own optimizers support some ways of sharding only; Muon, Q-GaLore and the flash optimizers do not run under DeepSpeed.
    """


@refusals_of(
    "AXL022",
    LOSS,
    "/use_dft",
    source="axolotl 0.21.0 utils/schemas/validation.py:1374-1436",
    bad=BASE + "use_dft: true\nchunked_cross_entropy: true\n",
    good=BASE + "use_dft: true\n",
)
def axolotl_loss() -> None:
    """Two implementations of the loss are on.

    One of `cut_cross_entropy`, `chunked_cross_entropy` and Liger's; `use_dft` and `use_eaft` are for plain fine-tuning without them.
    """


@refusals_of(
    "AXL023",
    CHECKPOINTING,
    "/activation_offloading",
    source="axolotl 0.21.0 utils/schemas/validation.py:1996-2175",
    bad=BASE + "activation_offloading: true\n",
    good=BASE + "activation_offloading: true\ngradient_checkpointing: true\n",
)
def axolotl_activation_memory() -> None:
    """Keys for saving activation memory are incompatible with each other.

    Offloading and selective checkpointing need `gradient_checkpointing: true`, selective checkpointing the non-reentrant one.
    """


@refusals_of(
    "AXL024",
    REMOVED,
    "/max_packed_sequence_len",
    source="axolotl 0.21.0 utils/schemas/deprecated.py",
    bad=BASE + "max_packed_sequence_len: 2048\n",
    good=BASE + "sequence_len: 2048\nsample_packing: true\n",
)
def axolotl_removed_key() -> None:
    """A key that axolotl has removed.

    It is refused, unlike unknown keys, which are dropped: the run would not do what it did before.
    """


@refusals_of(
    "AXL025",
    PLUGIN,
    "/liger_use_token_scaling",
    source="axolotl 0.21.0 integrations/*/args.py",
    bad=BASE + "plugins:\n  - axolotl.integrations.liger.LigerPlugin\nliger_use_token_scaling: true\n",
    good=BASE
    + "plugins:\n  - axolotl.integrations.liger.LigerPlugin\nliger_fused_linear_cross_entropy: true\nliger_use_token_scaling: true\n",
)
def axolotl_plugin_keys() -> None:
    """The keys of a plugin are incompatible with each other.

    Each plugin in `plugins` adds keys with checks of its own.
    """


@refusals_of(
    "AXL026",
    MODEL_TYPE,
    "/gradient_checkpointing",
    source="axolotl 0.21.0 utils/schemas/validation.py:1960-1975",
    bad=BASE.replace("org/model", "mosaicml/mpt-7b") + "gradient_checkpointing: true\n",
    good=BASE.replace("org/model", "mosaicml/mpt-7b"),
    old_names=("axolotl-model-type",),
)
def axolotl_option_unsupported_by_model() -> None:
    """The model named in `base_model` does not support a key.

    axolotl compares only the name: FSDP is refused for anything with "falcon" in it, gradient checkpointing for anything with "mpt".
    """


@refusals_of(
    "AXL027",
    PRECISION,
    "/fp8_config",
    source="axolotl 0.21.0 utils/schemas/validation.py:654-698",
    bad=BASE + "fp8_config: {recipe: rowwise}\n",
    good=BASE + "fp8: true\nfp8_config: {recipe: rowwise}\n",
)
def axolotl_precision() -> None:
    """Keys for precision are incompatible with each other.

    `fp8_config` needs `fp8: true`, `fp32_norms` needs `fsdp_config`, cut cross entropy needs `bf16` or `fp16`.
    """


@refusals_of(
    "AXL028",
    COMPILE,
    "/deepcompile",
    source="axolotl 0.21.0 utils/schemas/config.py:1727-1780, validation.py:1615",
    bad=BASE + "deepcompile: true\n",
    good=BASE + "torch_compile: true\n",
)
def axolotl_compile() -> None:
    """Keys for compilation are incompatible with each other.

    `torch_compile_options` needs `torch_compile` and allows a list of flags; `deepcompile` needs DeepSpeed.
    """


@refusals_of(
    "AXL029",
    TOKENIZER,
    "/chat_template",
    source="axolotl 0.21.0 utils/schemas/validation.py:783-826, 1824",
    bad=BASE + "chat_template: jinja\n",
    good=BASE + "chat_template: chatml\n",
)
def axolotl_tokenizer() -> None:
    """Keys for the tokenizer or the chat template are incompatible with each other.

    `chat_template: jinja` needs `chat_template_jinja`; the mistral-common tokenizer does not support changes.
    """


@refusals_of(
    "AXL030",
    TYPE,
    "/tensor_parallel_size",
    source="axolotl 0.21.0 utils/schemas/validation.py",
    bad=BASE + 'tensor_parallel_size: "2"\n',
    good=BASE + "tensor_parallel_size: 2\n",
)
def axolotl_value_type() -> None:
    """A check of axolotl cannot work with the value.

    axolotl's checks run before pydantic converts anything, so a string where one of them compares numbers ends the run with Python's own
    exception, although pydantic would have converted it.
    """
