"""Rules about the refusals of axolotl's own checks, by topic: each refusal is a finding at its key.

The checks are in `checks_before/`, `checks_after/` and `plugins.py`; these rules give them their pages.
"""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR
from cfglint.findings.rule import Example, Finding, rule
from cfglint.frameworks.axolotl import KIND
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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cfglint.findings.vocabulary import Kind
    from cfglint.frameworks.axolotl.config import AxolotlConfig

KINDS: tuple[Kind, ...] = (KIND,)
BASE = "base_model: org/model\nlearning_rate: 2.0e-5\ndatasets:\n  - {path: data.jsonl, type: alpaca}\n"
NEEDS_KEYS = ((DATA, "datasets"), (STREAMING, "max_steps"))  # keys that the launch line may supply if the file is not the complete run


def refused(config: AxolotlConfig, topic: str) -> Iterator[Finding]:
    """The refusals of a topic."""
    from cfglint.frameworks.axolotl.migration import migrated

    for refusal in config.refusals:
        if refusal.kind != topic:
            continue
        first, *others = [config.place(path) for path in refusal.paths] or [config.place(())]
        absent = not first.written and (topic, first.name) in NEEDS_KEYS and not config.facts.complete
        yield Finding(
            first,
            refusal.message,
            related=[each for each in others if each.written],
            exception=refusal.exception,
            fails_at=refusal.fails_at,
            severity="warning" if absent else None,
            fix=migrated(config, refusal) if topic in (FSDP, REMOVED) else None,
            on_key=topic == REMOVED,
            help=refusal.help_for(config.values),
        )


@rule(
    "AXL010",
    "axolotl-data",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad="base_model: org/model\nlearning_rate: 2.0e-5\ndatasets:\n  - {path: data.jsonl, type: sharegpt}\n",
    good="base_model: org/model\nlearning_rate: 2.0e-5\ndatasets:\n  - {path: data.jsonl, type: chat_template}\n",
    example={"kind": KIND, "at": "/datasets/0/type"},
)
def data(config: AxolotlConfig) -> Iterator[Finding]:
    """The data sets of the file are refused.

    Without `datasets` or `pretraining_dataset` there is nothing to train on; `type: sharegpt` became `chat_template`; deduplication
    needs the preparation that `skip_prepare_dataset` leaves out.

    Run-time error: `ValidationError: 1 validation error for AxolotlConfigWCapabilities: Value error, ...`, quoted with each finding.

    Fix: change the key that the message names.

    Source: axolotl 0.21.0 utils/schemas/validation.py:246-330, config.py:2214-2240.
    """
    yield from refused(config, DATA)


@rule(
    "AXL011",
    "axolotl-streaming",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad=BASE + "streaming: true\n",
    good=BASE + "streaming: true\nmax_steps: 1000\n",
    example={"kind": KIND, "at": "/max_steps"},
)
def streaming(config: AxolotlConfig) -> Iterator[Finding]:
    """A streamed data set is combined with what needs its length.

    `streaming` and `pretraining_dataset` need `max_steps`, and support neither `val_set_size` nor deduplication.

    Run-time error: `ValidationError: 1 validation error for AxolotlConfigWCapabilities: Value error, ...`, quoted with each finding.

    Fix: change the key that the message names.

    Source: axolotl 0.21.0 utils/schemas/validation.py:1849-1930.
    """
    yield from refused(config, STREAMING)


@rule(
    "AXL012",
    "axolotl-batch-keys",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad=(
        BASE + "batch_size: 32\ngradient_accumulation_steps: 4\n",
        Example(BASE + "gradient_accumulation_steps: null\n", "/gradient_accumulation_steps"),
    ),
    good=BASE + "micro_batch_size: 8\ngradient_accumulation_steps: 4\n",
    example={"kind": KIND, "at": "/batch_size"},
)
def batch_keys(config: AxolotlConfig) -> Iterator[Finding]:
    """The batch keys are incompatible with each other, or do not determine a batch size.

    `batch_size` is incompatible with `gradient_accumulation_steps`, and does not suffice alone. An accumulation of null or 0 is
    computed from `batch_size`, which is then required.

    Run-time error: `ValidationError: 1 validation error for AxolotlConfigWCapabilities: Value error, ...`, quoted with each finding.

    Fix: change the key that the message names.

    Source: axolotl 0.21.0 utils/schemas/validation.py:447-510, utils/config/__init__.py:253.
    """
    yield from refused(config, BATCH)


@rule(
    "AXL013",
    "axolotl-schedule",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad=BASE + "warmup_steps: 10\nwarmup_ratio: 0.1\n",
    good=BASE + "warmup_ratio: 0.1\n",
    example={"kind": KIND, "at": "/warmup_ratio"},
)
def schedule(config: AxolotlConfig) -> Iterator[Finding]:
    """Keys for warm-up, saving, early stopping or the learning rate exclude each other.

    `warmup_steps` or `warmup_ratio`, `save_steps` or `saves_per_epoch`: one of each. `early_stopping_patience` needs `save_steps`
    and `eval_steps`, the first a multiple of the second.

    Run-time error: `ValidationError: 1 validation error for AxolotlConfigWCapabilities: Value error, ...`, quoted with each finding.

    Fix: change the key that the message names.

    Source: axolotl 0.21.0 utils/schemas/validation.py:526-560, 2209-2268.
    """
    yield from refused(config, SCHEDULE)


@rule(
    "AXL014",
    "axolotl-evaluation",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad=BASE + "val_set_size: 0\neval_steps: 100\n",
    good=BASE + "val_set_size: 0.1\neval_steps: 100\n",
    example={"kind": KIND, "at": "/eval_steps"},
)
def evaluation(config: AxolotlConfig) -> Iterator[Finding]:
    """Keys for evaluation exclude each other, or there is no evaluation set.

    `eval_steps` requires `eval_strategy: steps` and evaluation data; `evals_per_epoch` replaces both; `val_set_size` and
    `test_datasets` are alternatives.

    Run-time error: `ValidationError: 1 validation error for AxolotlConfigWCapabilities: Value error, ...`, quoted with each finding.

    Fix: change the key that the message names.

    Source: axolotl 0.21.0 utils/schemas/validation.py:335-390, 561-600.
    """
    yield from refused(config, EVALUATION)


@rule(
    "AXL015",
    "axolotl-attention",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad=BASE + "attn_implementation: sdpa\nflash_attention: true\n",
    good=BASE + "attn_implementation: flash_attention_2\n",
    example={"kind": KIND, "at": "/flash_attention"},
)
def attention(config: AxolotlConfig) -> Iterator[Finding]:
    """The attention implementation is unknown, or is selected twice.

    `attn_implementation` accepts the names of transformers and of kernels on the Hub; the old switches (`flash_attention: true`) are
    refused together with it, even where they mean the same.

    Run-time error: `ValidationError: 1 validation error for AxolotlConfigWCapabilities: Value error, ...`, quoted with each finding.

    Fix: change the key that the message names.

    Source: axolotl 0.21.0 utils/schemas/config.py:1640-1732.
    """
    yield from refused(config, ATTENTION)


@rule(
    "AXL016",
    "axolotl-adapter",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad=BASE + "adapter: qlora\nload_in_4bit: false\n",
    good=BASE + "adapter: qlora\nload_in_4bit: true\n",
    example={"kind": KIND, "at": "/adapter"},
)
def adapter(config: AxolotlConfig) -> Iterator[Finding]:
    """The adapter is incompatible with other keys.

    Quantized loading needs an adapter; `qlora` means `load_in_4bit: true`; ReLoRA needs `jagged_restart_steps`.

    Run-time error: `ValidationError: 1 validation error for AxolotlConfigWCapabilities: Value error, ...`, quoted with each finding.

    Fix: change the key that the message names.

    Source: axolotl 0.21.0 utils/schemas/peft.py:199-310.
    """
    yield from refused(config, ADAPTER)


@rule(
    "AXL017",
    "axolotl-quantization",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad=BASE + "quantize_moe_experts: true\nadapter: lora\n",
    good=BASE + "quantize_moe_experts: true\nadapter: qlora\nload_in_4bit: true\n",
    example={"kind": KIND, "at": "/quantize_moe_experts"},
)
def quantization(config: AxolotlConfig) -> Iterator[Finding]:
    """Two quantizations exclude each other, or a quantization lacks what it needs.

    `qat` and `model_quantization_config` are incompatible with `load_in_8bit` and `load_in_4bit`; `quantize_moe_experts` needs one of them.

    Run-time error: `ValidationError: 1 validation error for AxolotlConfigWCapabilities: Value error, ...`, quoted with each finding.

    Fix: change the key that the message names.

    Source: axolotl 0.21.0 utils/schemas/config.py:2049-2153, validation.py:1607-1660.
    """
    yield from refused(config, QUANTIZATION)


@rule(
    "AXL018",
    "axolotl-fsdp",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad=BASE + "fsdp:\n  - full_shard\nfsdp_config:\n  fsdp_sharding_strategy: FULL_SHARD\n",
    good=BASE + "fsdp_version: 2\nfsdp_config: {reshard_after_forward: true}\n",
    fixed=BASE + "fsdp_config:\n  fsdp_reshard_after_forward: true\n",
    example={"kind": KIND, "at": "/fsdp"},
)
def fsdp(config: AxolotlConfig) -> Iterator[Finding]:
    """A key of FSDP1, or a combination that FSDP2 does not support.

    FSDP1 was removed: no `fsdp:` list, no `sharding_strategy`, `fsdp_version` 2. FSDP2 is incompatible with bitsandbytes' 8-bit
    optimizers and with DeepSpeed.

    Run-time error: `ValidationError: 1 validation error for AxolotlConfigWCapabilities: Value error, ...`, quoted with each finding.

    Fix: change the key that the message names. Without `fsdp_config`, or for a strategy other than FULL_SHARD and SHARD_GRAD_OP, there
    is no automatic one.

    Source: axolotl 0.21.0 utils/schemas/validation.py:1437-1600.
    """
    yield from refused(config, FSDP)


@rule(
    "AXL019",
    "axolotl-parallelism",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad=BASE + "tensor_parallel_size: 2\noptimizer: adamw_8bit\n",
    good=BASE + "tensor_parallel_size: 2\noptimizer: adamw_torch\n",
    example={"kind": KIND, "at": "/optimizer"},
)
def parallelism(config: AxolotlConfig) -> Iterator[Finding]:
    """Tensor, context or expert parallelism is incompatible with another key.

    Each has optimizers, kernels and attentions that it does not support; expert parallelism needs FSDP2 and full state dicts.

    Run-time error: `ValidationError: 1 validation error for AxolotlConfigWCapabilities: Value error, ...`, quoted with each finding.

    Fix: change the key that the message names.

    Source: axolotl 0.21.0 utils/schemas/validation.py:2276-2380, integrations/expert_parallel/args.py:60-134.
    """
    yield from refused(config, PARALLEL)


@rule(
    "AXL020",
    "axolotl-option-incompatible-with-rl",
    ERROR,
    old_names=("axolotl-preference-training",),
    kinds=KINDS,
    fails_at="config",
    bad=BASE + "rl: dpo\nsample_packing: true\n",
    good=BASE + "rl: dpo\n",
    example={"kind": KIND, "at": "/sample_packing"},
)
def preference_training(config: AxolotlConfig) -> Iterator[Finding]:
    """Keys for preference or reinforcement learning are incompatible with each other.

    `sample_packing` is incompatible with `rl`; under GRPO the generation batch must be a multiple of `trl.num_generations`; `rl: kto`
    needs `remove_unused_columns: false`.

    Run-time error: `ValidationError: 1 validation error for AxolotlConfigWCapabilities: Value error, ...`, quoted with each finding.

    Fix: change the key that the message names.

    Source: axolotl 0.21.0 utils/schemas/validation.py:922-1140, 2399-2590.
    """
    yield from refused(config, RL)


@rule(
    "AXL021",
    "axolotl-optimizer",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad=BASE + "optimizer: muon\ndeepspeed: {zero_optimization: {stage: 2}}\n",
    good=BASE + "optimizer: adamw_torch\ndeepspeed: {zero_optimization: {stage: 2}}\n",
    example={"kind": KIND, "at": "/optimizer"},
)
def optimizer(config: AxolotlConfig) -> Iterator[Finding]:
    """The optimizer is incompatible with other keys.

    axolotl's own optimizers support some ways of sharding only; Muon, Q-GaLore and the flash optimizers do not run under DeepSpeed.

    Run-time error: `ValidationError: 1 validation error for AxolotlConfigWCapabilities: Value error, ...`, quoted with each finding.

    Fix: change the key that the message names.

    Source: axolotl 0.21.0 utils/schemas/validation.py:1212-1328.
    """
    yield from refused(config, OPTIMIZER)


@rule(
    "AXL022",
    "axolotl-loss",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad=BASE + "use_dft: true\nchunked_cross_entropy: true\n",
    good=BASE + "use_dft: true\n",
    example={"kind": KIND, "at": "/use_dft"},
)
def loss(config: AxolotlConfig) -> Iterator[Finding]:
    """Two implementations of the loss are on.

    One of `cut_cross_entropy`, `chunked_cross_entropy` and Liger's; `use_dft` and `use_eaft` are for plain fine-tuning without them.

    Run-time error: `ValidationError: 1 validation error for AxolotlConfigWCapabilities: Value error, ...`, quoted with each finding.

    Fix: change the key that the message names.

    Source: axolotl 0.21.0 utils/schemas/validation.py:1374-1436.
    """
    yield from refused(config, LOSS)


@rule(
    "AXL023",
    "axolotl-activation-memory",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad=BASE + "activation_offloading: true\n",
    good=BASE + "activation_offloading: true\ngradient_checkpointing: true\n",
    example={"kind": KIND, "at": "/activation_offloading"},
)
def activation_memory(config: AxolotlConfig) -> Iterator[Finding]:
    """Keys for saving activation memory are incompatible with each other.

    Offloading and selective checkpointing need `gradient_checkpointing: true`, selective checkpointing the non-reentrant one.

    Run-time error: `ValidationError: 1 validation error for AxolotlConfigWCapabilities: Value error, ...`, quoted with each finding.

    Fix: change the key that the message names.

    Source: axolotl 0.21.0 utils/schemas/validation.py:1996-2175.
    """
    yield from refused(config, CHECKPOINTING)


@rule(
    "AXL024",
    "axolotl-removed-key",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad=BASE + "max_packed_sequence_len: 2048\n",
    good=BASE + "sequence_len: 2048\nsample_packing: true\n",
    example={"kind": KIND, "at": "/max_packed_sequence_len"},
)
def removed_key(config: AxolotlConfig) -> Iterator[Finding]:
    """A key that axolotl has removed.

    It is refused, unlike unknown keys, which are dropped: the run would not do what it did before.

    Run-time error: `ValidationError: 1 validation error for AxolotlConfigWCapabilities: Value error, ...`, quoted with each finding.

    Fix: change the key that the message names.

    Source: axolotl 0.21.0 utils/schemas/deprecated.py.
    """
    yield from refused(config, REMOVED)


@rule(
    "AXL025",
    "axolotl-plugin-keys",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad=BASE + "plugins:\n  - axolotl.integrations.liger.LigerPlugin\nliger_use_token_scaling: true\n",
    good=BASE
    + "plugins:\n  - axolotl.integrations.liger.LigerPlugin\nliger_fused_linear_cross_entropy: true\nliger_use_token_scaling: true\n",
    example={"kind": KIND, "at": "/liger_use_token_scaling"},
)
def plugin_keys(config: AxolotlConfig) -> Iterator[Finding]:
    """The keys of a plugin are incompatible with each other.

    Each plugin in `plugins` adds keys with checks of its own.

    Run-time error: `ValidationError: 1 validation error for AxolotlConfigWCapabilities: Value error, ...`, quoted with each finding.

    Fix: change the key that the message names.

    Source: axolotl 0.21.0 integrations/*/args.py.
    """
    yield from refused(config, PLUGIN)


@rule(
    "AXL026",
    "axolotl-option-unsupported-by-model",
    ERROR,
    old_names=("axolotl-model-type",),
    kinds=KINDS,
    fails_at="config",
    bad=BASE.replace("org/model", "mosaicml/mpt-7b") + "gradient_checkpointing: true\n",
    good=BASE.replace("org/model", "mosaicml/mpt-7b"),
    example={"kind": KIND, "at": "/gradient_checkpointing"},
)
def model_type(config: AxolotlConfig) -> Iterator[Finding]:
    """The model named in `base_model` does not support a key.

    axolotl compares only the name: FSDP is refused for anything with "falcon" in it, gradient checkpointing for anything with "mpt".

    Run-time error: `ValidationError: 1 validation error for AxolotlConfigWCapabilities: Value error, ...`, quoted with each finding.

    Fix: change the key that the message names.

    Source: axolotl 0.21.0 utils/schemas/validation.py:1960-1975.
    """
    yield from refused(config, MODEL_TYPE)


@rule(
    "AXL027",
    "axolotl-precision",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad=BASE + "fp8_config: {recipe: rowwise}\n",
    good=BASE + "fp8: true\nfp8_config: {recipe: rowwise}\n",
    example={"kind": KIND, "at": "/fp8_config"},
)
def precision(config: AxolotlConfig) -> Iterator[Finding]:
    """Keys for precision are incompatible with each other.

    `fp8_config` needs `fp8: true`, `fp32_norms` needs `fsdp_config`, cut cross entropy needs `bf16` or `fp16`.

    Run-time error: `ValidationError: 1 validation error for AxolotlConfigWCapabilities: Value error, ...`, quoted with each finding.

    Fix: change the key that the message names.

    Source: axolotl 0.21.0 utils/schemas/validation.py:654-698.
    """
    yield from refused(config, PRECISION)


@rule(
    "AXL028",
    "axolotl-compile",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad=BASE + "deepcompile: true\n",
    good=BASE + "torch_compile: true\n",
    example={"kind": KIND, "at": "/deepcompile"},
)
def compilation(config: AxolotlConfig) -> Iterator[Finding]:
    """Keys for compilation are incompatible with each other.

    `torch_compile_options` needs `torch_compile` and allows a list of flags; `deepcompile` needs DeepSpeed.

    Run-time error: `ValidationError: 1 validation error for AxolotlConfigWCapabilities: Value error, ...`, quoted with each finding.

    Fix: change the key that the message names.

    Source: axolotl 0.21.0 utils/schemas/config.py:1727-1780, validation.py:1615.
    """
    yield from refused(config, COMPILE)


@rule(
    "AXL029",
    "axolotl-tokenizer",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad=BASE + "chat_template: jinja\n",
    good=BASE + "chat_template: chatml\n",
    example={"kind": KIND, "at": "/chat_template"},
)
def tokenizer(config: AxolotlConfig) -> Iterator[Finding]:
    """Keys for the tokenizer or the chat template are incompatible with each other.

    `chat_template: jinja` needs `chat_template_jinja`; the mistral-common tokenizer does not support changes.

    Run-time error: `ValidationError: 1 validation error for AxolotlConfigWCapabilities: Value error, ...`, quoted with each finding.

    Fix: change the key that the message names.

    Source: axolotl 0.21.0 utils/schemas/validation.py:783-826, 1824.
    """
    yield from refused(config, TOKENIZER)


@rule(
    "AXL030",
    "axolotl-value-type",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad=BASE + 'tensor_parallel_size: "2"\n',
    good=BASE + "tensor_parallel_size: 2\n",
    example={"kind": KIND, "at": "/tensor_parallel_size"},
)
def value_type(config: AxolotlConfig) -> Iterator[Finding]:
    """A check of axolotl cannot work with the value.

    axolotl's checks run before pydantic converts anything, so a string where one of them compares numbers ends the run with Python's own
    exception, although pydantic would have converted it.

    Run-time error: `ValidationError: 1 validation error for AxolotlConfigWCapabilities: Value error, ...`, quoted with each finding.

    Fix: change the key that the message names.

    Source: axolotl 0.21.0 utils/schemas/validation.py.
    """
    yield from refused(config, TYPE)
