"""The estimates of every option alone, for a model of each structure: a byte more or less in any term is seen."""

from __future__ import annotations

from cfglint.batch.memory.estimate import CLOSE, DOES_NOT_FIT, FITS, GIB, estimate, verdict
from cfglint.batch.memory.savings import savings
from cfglint.batch.memory.settings import ALL_LINEAR, Fsdp, Lora, Settings, Zero
from cfglint.batch.memory.shape import ARCHITECTURES, UnknownShape, of_config
from cfglint.batch.shapes import config_of, shape_of
from records import check_parts

LLAMA = config_of("llama-3.2-1b")
MODELS = (
    *("llama-3.2-1b", "llama-2-7b", "qwen2.5-0.5b", "qwen3-8b", "gemma-2b", "gemma-2-2b", "phi-1.5", "phi-3-medium"),
    *("olmo-1b", "gpt2", "pythia-160m", "mixtral-8x7b", "qwen3.5-0.8b", "deepseek-v2-lite"),
)
SHAPES = {name: shape_of(name) for name in MODELS}
SHAPES["llama-3.2-1b, biases"] = of_config({**LLAMA, "attention_bias": True, "mlp_bias": True})
SHAPES["llama-3.2-1b, dropout"] = of_config({**LLAMA, "model_type": "phi", "resid_pdrop": 0.5})
CONFIG = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 128, "vocab_size": 1000}
EXPERTS = {"num_experts": 8, "num_experts_per_tok": 2}
LATENT = {"kv_lora_rank": 8, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 24}
DELTA = {"linear_num_value_heads": 4, "linear_num_key_heads": 2}
CHANGES = (  # keys of config.json that say the same in other words, or more
    *({"hidden_size": None, name: 32} for name in ("n_embd", "d_model", "dim")),
    *({"num_attention_heads": None, name: 8} for name in ("n_head", "n_heads", "num_heads")),
    *({"num_hidden_layers": None, name: 3} for name in ("n_layer", "num_layers", "n_layers")),
    *({"intermediate_size": None, name: 96} for name in ("ffn_hidden_size", "ffn_dim", "d_ff", "hidden_dim", "n_inner")),
    *({"vocab_size": None, "padded_vocab_size": 1024}, {"vocab_size": None}, {"vocab_size": True}, {"hidden_size": 0}),
    *({name: 2} for name in ("num_key_value_heads", "multi_query_group_num", "num_kv_heads", "head_dim", "d_kv")),
    *({"multi_query": True}, {"multi_query": True, "new_decoder_architecture": True, "num_kv_heads": 2}),
    *({name: True} for name in ("attention_bias", "bias", "use_qkv_bias", "mlp_bias", "tie_word_embeddings", "auto_map")),
    *({"attention_bias": True, "model_type": "glm"}, {"model_type": "gemma", "tie_word_embeddings": False}, {"model_type": 5}),
    *({"resid_pdrop": 0.5}, {"resid_pdrop": "x"}, {"feed_forward_proj": "gated-gelu", "model_type": "t5"}, {"model_type": "t5"}),
    *(EXPERTS, {**EXPERTS, "num_experts": None, "num_local_experts": 4}, {**EXPERTS, "num_experts": None, "n_routed_experts": 4}),
    *({**EXPERTS, "moe_intermediate_size": 32}, {"moe_intermediate_size": 32}, {**EXPERTS, "shared_expert_intermediate_size": 48}),
    *({**EXPERTS, "n_shared_experts": 2, "moe_intermediate_size": 32, "first_k_dense_replace": 1}, {"first_k_dense_replace": 1}),
    *(LATENT, {**LATENT, "q_lora_rank": 4}, {**LATENT, "v_head_dim": None}, DELTA, {**DELTA, "linear_key_head_dim": 16}),
    *({"model_type": "gpt2", "intermediate_size": None}, {"model_type": "gpt2", "n_positions": 512}, {"model_type": "qwen"}),
    *({"model_type": "roberta", "max_position_embeddings": 514}, {"model_type": "bert", "max_position_embeddings": 512}),
    *({"model_type": "falcon", "intermediate_size": None}, {"model_type": "mystery"}, {"max_position_embeddings": 4096}),
    *({"hidden_size": None, "text_config": CONFIG}, {"hidden_size": None, "llm_config": {**CONFIG, "tie_word_embeddings": True}}),
    {"hidden_size": None, "tie_word_embeddings": True, "text_config": CONFIG},
)
OPTIONS = {
    "bf16": {},
    "fp32": {"loaded": "fp32"},
    "autocast over fp32": {"loaded": "fp32", "autocast": "bf16"},
    "autocast over bf16": {"autocast": "bf16"},
    "autocast, checkpointing": {"loaded": "fp32", "autocast": "bf16", "checkpointing": True},
    "accumulation, 3 rows": {"accumulation": 4, "micro_batch": 3},
    "checkpointing": {"checkpointing": True},
    "checkpointing, 3 layers": {"checkpointing": True, "checkpoint_layers": 3},
    "checkpointing, 99 layers": {"checkpointing": True, "checkpoint_layers": 99},
    "eager": {"attention": "eager"},
    "eager, fp32": {"attention": "eager", "loaded": "fp32"},
    "padding": {"attention": "masked", "micro_batch": 2},
    "kernels": {"fused_kernels": True},
    "fp32 stream": {"residual": 4},
    "reference model": {"reference_model": True},
    **{f"loss {name}": {"loss": name} for name in ("float", "copy", "in_place", "megatron", "fused", "chunked", "none")},
    "loss copy, fp32": {"loss": "copy", "loaded": "fp32"},
    "loss fused, long": {"loss": "fused", "sequence": 8192, "micro_batch": 8},
    "loss chunked, long": {"loss": "chunked", "sequence": 8192},
    **{
        f"optimizer {name}": {"optimizer": name}
        for name in ("adam_foreach", "adam_8bit", "lion_8bit", "adam_4bit", "adafactor", "sgd", "one_state", "paged")
    },
    "adafactor, fp32": {"optimizer": "adafactor", "loaded": "fp32"},
    "adapters": {"lora": Lora()},
    "adapters, rank 64": {"lora": Lora(64, (ALL_LINEAR,), 0.1, 1), "optimizer": "adam_foreach"},
    "adapters, bf16": {"lora": Lora(16, (ALL_LINEAR,), 0.0, 0, fp32=False)},
    "adapters, bf16, dropout": {"lora": Lora(16, ("q_proj", "down_proj", "fc1", "dense_h_to_4h", "mlp.c_proj"), 0.1, 0, fp32=False)},
    "adapters, autocast": {"lora": Lora(16, (ALL_LINEAR,), 0.1), "autocast": "bf16", "checkpointing": True},
    "adapters, autocast over fp32": {"lora": Lora(16, (ALL_LINEAR,)), "loaded": "fp32", "autocast": "bf16"},
    "adapters, loss fused": {"lora": Lora(), "loss": "fused"},
    "adapters, loss chunked": {"lora": Lora(), "loss": "chunked"},
    **{f"{name}": {"lora": Lora(), "quantization": name} for name in ("nf4", "nf4_double", "int8")},
    "nf4, norms in bf16": {"lora": Lora(), "quantization": "nf4", "kbit_fp32": False},
    "ddp, 1 rank": {"strategy": "ddp"},
    "ddp": {"strategy": "ddp", "ranks": 2, "accumulation": 2},
    "fsdp, 1 rank": {"strategy": "fsdp", "autocast": "bf16", "fsdp": Fsdp()},
    "fsdp": {"strategy": "fsdp", "ranks": 4, "autocast": "bf16", "fsdp": Fsdp()},
    "fsdp, fp32": {"strategy": "fsdp", "ranks": 4, "loaded": "fp32", "fsdp": Fsdp(), "accumulation": 2},
    "fsdp, gradients": {"strategy": "fsdp", "ranks": 4, "autocast": "bf16", "fsdp": Fsdp(parameters_sharded=False)},
    "fsdp, offload": {"strategy": "fsdp", "ranks": 4, "autocast": "bf16", "fsdp": Fsdp(offload=True)},
    "fsdp, adapters": {"strategy": "fsdp", "ranks": 4, "autocast": "bf16", "lora": Lora(), "reference_model": True},
    "fsdp, nf4": {"strategy": "fsdp", "ranks": 4, "autocast": "bf16", "lora": Lora(), "quantization": "nf4"},
    **{f"zero {stage}": {"strategy": "zero", "ranks": 4, "autocast": "bf16", "zero": Zero(stage, 1e6)} for stage in range(4)},
    **{
        f"zero {stage}, offload": {"strategy": "zero", "ranks": 4, "autocast": "bf16", "zero": Zero(stage, 1e6, offload_optimizer=True)}
        for stage in range(4)
    },
    **{
        f"zero {stage}, accumulation": {
            "strategy": "zero",
            "ranks": 4,
            "autocast": "fp16",
            "accumulation": 2,
            "zero": Zero(stage, 1e6, overlap=stage != 3, fp32_gradients=True),
        }
        for stage in range(4)
    },
    "zero 0, fp32": {"strategy": "zero", "ranks": 4, "loaded": "fp32", "zero": Zero(0)},
    "zero 1, fp32": {"strategy": "zero", "ranks": 4, "loaded": "fp32", "zero": Zero(1, contiguous=False)},
    "zero 2, adapters": {"strategy": "zero", "ranks": 4, "autocast": "bf16", "zero": Zero(2), "lora": Lora(), "reference_model": True},
    "zero 3, adapters": {"strategy": "zero", "ranks": 4, "zero": Zero(3, max_live=1e5, sub_group=1e5), "lora": Lora()},
    "zero 3, all offloaded": {
        "strategy": "zero",
        "ranks": 4,
        "autocast": "bf16",
        "reference_model": True,
        "zero": Zero(3, offload_optimizer=True, offload_parameters=True, max_live=0),
    },
    "tensor": {"tensor_parallel": 2, "loss": "megatron"},
    "pipeline": {"pipeline_parallel": 4, "accumulation": 2, "loss": "megatron"},
    "code of its own": {"own_code": True},
}

WHOLE = ("llama-3.2-1b", "gpt2")  # models with every option; the others with those in which the structure of a layer matters
STRUCTURE = (
    *("bf16", "autocast over fp32", "checkpointing, 3 layers", "eager", "kernels", "adapters", "adapters, bf16, dropout"),
    *("adapters, autocast", "nf4", "fsdp", "zero 2", "zero 3", "tensor", "pipeline"),
)


def line(name, shape, run):
    found = estimate(shape, run)
    moments = " ".join(f"{moment.total:.0f}" for moment in found.moments)
    most = max(found.moments, key=lambda each: each.total)
    terms = " ".join(f"{size:.0f}" for size in most.terms().values())
    band = f"{found.low:.0f} to {found.high:.0f}, class {found.classification}, {found.overhead:.0f} more"
    return f"{name}: {moments} | {most.name} {terms} | {band}"


def test_the_estimates_are_as_recorded(root, updating):
    """Bytes at each moment, by term at the highest, and the band; `CFGLINT_UPDATE=1` rewrites the record."""
    lines = []
    for model, shape in SHAPES.items():
        lines.append(f"=== {model}")
        names = OPTIONS if model in WHOLE else STRUCTURE
        lines += [line(f"  {name}", shape, Settings(**{"sequence": 512, **OPTIONS[name]})) for name in names]
    check_parts(root / "tests" / "batch" / "memory" / "expected" / "estimates", "the memory of a model by its parts", lines, updating)


def test_the_models_of_each_type_are_as_recorded(root, updating):
    """Parameters, and bytes at each moment, of one config.json with each `model_type`; `CFGLINT_UPDATE=1` rewrites the record."""
    lines = []
    for name in ARCHITECTURES:
        shape = of_config({**CONFIG, "model_type": name})
        encoder = ", and an encoder that is not counted" if shape.architecture.text_only else ""
        lines += [f"=== {name}", f"{shape.parameters:,} parameters, {shape.head:,} of the head{encoder}"]
        lines += [line(option, shape, Settings(sequence=512, **OPTIONS[option])) for option in ("bf16", "tensor")]
    folder = root / "tests" / "batch" / "memory" / "expected" / "types"
    check_parts(folder, "the memory of a small model of each type", lines, updating)


def test_the_shapes_are_as_recorded(root, updating):
    """What a change of config.json changes in the shape, by its fields; `CFGLINT_UPDATE=1` rewrites the record."""
    base = {**CONFIG, "model_type": "llama"}
    usual, lines = of_config(base), []
    for change in CHANGES:
        lines.append(f"=== {change}")
        try:
            shape = of_config({key: value for key, value in {**base, **change}.items() if value is not None})
        except UnknownShape as unknown:
            lines.append(f"not known without {unknown}")
            continue
        fields = [name for name in type(shape).__slots__ if getattr(shape, name) != getattr(usual, name)]
        lines += [f"{name} {getattr(shape, name)!r}" for name in fields]
        lines.append(f"{shape.parameters:,} parameters of {usual.parameters:,}, rows of {shape.longest_row:,}")
    folder = root / "tests" / "batch" / "memory" / "expected" / "shapes"
    check_parts(folder, "the shape that a changed config.json of a small Llama describes", lines, updating)


def test_the_savings_are_as_recorded(root, updating):
    """What each change of the settings would save at the peak, the largest first; `CFGLINT_UPDATE=1` rewrites the record."""
    lines = []
    for name, more in OPTIONS.items():
        saved = savings(SHAPES["llama-2-7b"], Settings(**{"micro_batch": 2, **more}))
        lines.append(f"{name}: {', '.join(f'{change} {size:.0f}' for change, size in saved)}")
    purpose = "what each remedy saves at the peak"
    check_parts(root / "tests" / "batch" / "memory" / "expected" / "savings", purpose, ["=== llama-2-7b, micro batch 2", *lines], updating)


def test_the_verdict_at_each_limit():
    """It fits where the upper end with fragmentation and overhead is within 99 %, and surely not where the lower end is not within all."""
    found = estimate(shape_of("llama-3-8b"), Settings(ranks=2, strategy="ddp"))
    fits = (found.high * 1.05 + found.overhead) / 0.99 / GIB
    possible = (found.low + 0.6 * found.overhead) / GIB
    sizes = (fits * 1.0001, fits * 0.9999, possible * 1.0001, possible * 0.9999)
    assert [verdict(found, size) for size in sizes] == [FITS, CLOSE, CLOSE, DOES_NOT_FIT]
