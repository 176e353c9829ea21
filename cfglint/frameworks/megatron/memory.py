"""The memory settings of Megatron-LM's arguments: the complete shape, and how it is split. Not validated on measured runs: class C.

Source: Megatron-LM core 0.16.1 training/arguments.py (widths, defaults, precision), core/optimizer/optimizer.py (fp32 copies and
gradients), core/tensor_parallel/cross_entropy.py; bigscience-workshop/Megatron-DeepSpeed megatron/arguments.py
(`--checkpoint-activations`, `--zero-stage`).
"""

from __future__ import annotations

from cfglint.batch.memory.settings import ADAM_FUSED, EAGER, FP16, FP32, FUSED, LOSS_MEGATRON, SGD, ZERO, Settings, Zero
from cfglint.batch.memory.shape import Shape, ceiling
from cfglint.frameworks.megatron.config import MegatronConfig
from cfglint.frameworks.memory.inputs import Inputs, Model

VOCABULARY = 50257  # of the GPT-2 tokenizer; the real one comes from the tokenizer's files
MULTIPLE = 128  # the default of `--make-vocab-size-divisible-by`
FLASH = ("use_flash_attn", "use_flash_attn_v2", "use_flash_attn_triton")


def model(config: MegatronConfig) -> Model | None:
    """The model that the arguments describe; None if a size is unknown, and for a mixture of experts."""
    sizes = [config.integer(name) for name in ("hidden_size", "num_layers", "num_attention_heads")]
    hidden, layers, heads = (size or 0 for size in sizes)
    if not all(sizes) or any(name in config.words for name in ("num_experts", "moe_num_experts")):
        return None
    gated = "swiglu" in config.words
    inner = config.integer("ffn_hidden_size", hidden * 8 // 3 // 64 * 64 if gated else 4 * hidden)
    groups = config.integer("num_query_groups", heads) if "group_query_attention" in config.words else heads
    width = config.integer("kv_channels", hidden // heads)
    if not (inner and groups and width):
        return None
    shape = Shape(
        model_type="llama" if gated else "gpt_neox",
        hidden=hidden,
        intermediate=inner,
        layers=layers,
        heads=heads,
        kv_heads=groups,
        head_dim=width,
        vocabulary=vocabulary(config),
        tied="untie_embeddings_and_output_weights" not in config.words,
        known=False,
    )
    return Model(shape, None, config.documents[0].path)


def vocabulary(config: MegatronConfig) -> int:
    written = config.integer("pad_vocab_size_to") or config.integer("padded_vocab_size")
    multiple = (config.integer("make_vocab_size_divisible_by") or MULTIPLE) * (config.integer("tensor_model_parallel_size") or 1)
    return written or ceiling(config.integer("vocab_size") or VOCABULARY, multiple) * multiple


def zero(config: MegatronConfig) -> Zero:
    """What is partitioned: by DeepSpeed's stage, whose default is 1, or the optimizer alone."""
    words = config.words
    if "deepspeed" in words:
        written = " ".join(words.get("zero_stage") or ("1",))
        return Zero(stage=int(written) if written.isdecimal() else 1)
    return Zero(stage=1 if "use_distributed_optimizer" in words else 0, fp32_gradients="bf16" in words, reduce_bucket=0)


def inputs(config: MegatronConfig, model: Model, engine: Zero | None = None) -> Inputs:
    """The memory settings of a launch line, with those of its DeepSpeed file if it was read."""
    words, batch = config.words, config.batch
    micro, ranks, accumulation = batch.micro_batch.integer, batch.data_parallel.integer, batch.accumulation.integer
    sequence = config.integer("seq_length") or config.integer("encoder_seq_length") or config.facts.seq_length
    sixteen = "fp16" in words or "bf16" in words
    fused = any(name in words for name in FLASH) or words.get("attention_backend") in (["flash"], ["fused"])
    assumed = [f"a vocabulary of {model.shape.vocabulary:,}"]
    if ranks is None:
        assumed.append("1 data-parallel GPU (--gpus)")
    if engine is None and "deepspeed" in words and "zero_stage" not in words:
        assumed.append("ZeRO stage 1")
    if not fused:
        assumed.append("attention with scores in memory")
    settings = Settings(
        micro_batch=micro or 1,
        sequence=sequence or 1,
        loaded=FP16 if sixteen else FP32,
        autocast=FP16 if sixteen else None,
        checkpointing=any(name in words for name in ("checkpoint_activations", "deepspeed_activation_checkpointing", "recompute_method")),
        checkpoint_layers=config.integer("checkpoint_num_layers") or config.integer("recompute_num_layers") or 1,
        attention=FUSED if fused else EAGER,
        optimizer=SGD if words.get("optimizer") == ["sgd"] else ADAM_FUSED,
        loss=LOSS_MEGATRON,
        accumulation=accumulation or 1,
        strategy=ZERO,
        zero=engine or zero(config),
        ranks=ranks or 1,
        tensor_parallel=batch.layout.tensor_parallel,
        pipeline_parallel=batch.layout.pipeline_parallel,
        own_code=True,
    )
    return Inputs(settings, (), tuple(assumed), bool(sequence), bool(micro))
