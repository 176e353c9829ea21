"""The memory settings of GPT-NeoX files: the complete shape, and how it is split.

Source: gpt-neox 2026-05 megatron/neox_arguments/neox_args.py, megatron/model/transformer.py (widths, attention), mpu/cross_entropy.py
(`vocab_parallel_cross_entropy`), megatron/tokenizer/tokenizer.py (padding of the vocabulary). Not validated on measured runs: class C.
"""

from __future__ import annotations

from cfglint.batch.memory import settings as modes
from cfglint.batch.memory.settings import Settings, Zero
from cfglint.batch.memory.shape import Shape, ceiling
from cfglint.frameworks.memory.inputs import Inputs, Model
from cfglint.frameworks.neox.config import NeoXConfig
from cfglint.frameworks.neox.sizes import GATED, widths

VOCABULARY = 50257  # of the GPT-2 tokenizer; the real one comes from the tokenizer's files
PRECISIONS = {"fp16": modes.FP16, "bfloat16": modes.BF16, "fp32": modes.FP32}
OPTIMIZERS = {"sgd": modes.SGD, "lion": modes.ONE_STATE, "sm3": modes.ONE_STATE}
SIZES = ("hidden_size", "num_layers", "num_attention_heads")


def positive(value: object) -> int:
    return value if type(value) is int and value > 0 else 0


def model(config: NeoXConfig) -> Model | None:
    hidden, layers, heads = (positive(config.argument(name)) for name in SIZES)
    inner = [width for _, width in widths(config)] if hidden else []
    if not (hidden and layers and heads and inner and inner[-1] > 0):
        return None
    gated = config.argument("activation") in GATED
    multiple = (positive(config.argument("make_vocab_size_divisible_by")) or 128) * (config.derived.tensor or 1)
    vocabulary = positive(config.argument("padded_vocab_size")) or ceiling(VOCABULARY, multiple) * multiple
    experts = positive(config.argument("moe_num_experts"))
    shape = Shape(
        model_type="llama" if gated else "gpt_neox",
        hidden=hidden,
        intermediate=inner[-1],
        layers=layers,
        heads=heads,
        kv_heads=positive(config.argument("num_kv_heads")) or heads,
        head_dim=hidden // heads,
        vocabulary=vocabulary,
        tied=not config.argument("no_weight_tying"),
        experts=experts if experts > 1 and gated else 0,
        experts_per_token=positive(config.argument("moe_top_k")) or 1 if experts > 1 and gated else 0,
        known=False,
    )
    return Model(shape, None, config.documents[0].path)


def zero(config: NeoXConfig) -> Zero:
    section = config.derived.zero
    offload = section.get("offload_optimizer")
    parameters = section.get("offload_param")
    bucket = section.get("reduce_bucket_size")
    overlap = section.get("overlap_comm")
    return Zero(
        stage=config.derived.zero_stage or 0,
        reduce_bucket=bucket if isinstance(bucket, (int, float)) else 5e8,
        overlap=overlap if isinstance(overlap, bool) else None,
        contiguous=section.get("contiguous_gradients") is not False,
        offload_optimizer=section.get("cpu_offload") is True or device(offload) != "none",
        offload_parameters=device(parameters) != "none",
    )


def device(section: object) -> str:
    return str(section.get("device") or "none") if isinstance(section, dict) else "none"


def inputs(config: NeoXConfig, model: Model) -> Inputs | None:
    batch = config.batch
    micro, ranks, accumulation = batch.micro_batch.integer, batch.data_parallel.integer, batch.accumulation.integer
    sequence = positive(config.argument("seq_length")) or config.facts.seq_length
    precision = PRECISIONS[config.derived.precision]
    layout, attention = batch.layout, config.derived.attention
    flash = attention is not None and attention.any("flash")  # of any layer; else the scores are in memory
    assumed = []
    if not positive(config.argument("padded_vocab_size")):
        assumed.append(f"a vocabulary of {model.shape.vocabulary:,}")
    if not positive(ranks):
        assumed.append("1 data-parallel GPU (--gpus)")
    settings = Settings(
        micro_batch=positive(micro) or 1,
        sequence=sequence or 1,
        loaded=precision,
        autocast=None if precision == modes.FP32 else precision,
        checkpointing=config.argument("checkpoint_activations") is True,
        checkpoint_layers=positive(config.argument("checkpoint_num_layers")) or 1,
        attention=modes.FUSED if flash else modes.EAGER,
        optimizer=OPTIMIZERS.get(config.derived.optimizer_name, modes.ADAM_FUSED),
        loss=modes.LOSS_IN_PLACE if config.argument("fp16_lm_cross_entropy") else modes.LOSS_MEGATRON,
        accumulation=positive(accumulation) or 1,
        strategy=modes.ZERO,
        zero=zero(config),
        ranks=positive(ranks) or 1,
        tensor_parallel=max(layout.tensor_parallel, 1),
        pipeline_parallel=max(layout.pipeline_parallel, 1),
        own_code=True,
    )
    return Inputs(settings, (), tuple(assumed), bool(sequence), bool(positive(micro)))
