"""The estimates of every option alone, for a model of each structure: a byte more or less in any term is seen."""

from __future__ import annotations

from cfglint.batch.memory import Fsdp, Lora, Settings, Zero, estimate
from cfglint.batch.memory.estimate import CLOSE, DOES_NOT_FIT, FITS, GIB, verdict
from cfglint.batch.memory.savings import savings
from cfglint.batch.memory.settings import ALL_LINEAR
from cfglint.batch.memory.shape import of_config
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
