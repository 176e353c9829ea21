"""Properties of the estimate that hold for every model and run, and figures that follow from the sources by hand."""

from __future__ import annotations

from typing import Any

import pytest

from cases import each_case
from cfglint.batch._shapes import MODELS
from cfglint.batch.memory.estimate import estimate
from cfglint.batch.memory.moments import TERMS, TrainingStep
from cfglint.batch.memory.settings import Fsdp, Lora, Settings, Zero
from cfglint.batch.shapes import shape_of
from cfglint.source.record import changed

GB = 1e9
SMALL = ("llama-3.2-1b", "qwen2.5-0.5b", "qwen3-0.6b", "gemma-2b", "gemma-2-2b", "phi-1.5", "phi-3-mini", "gpt2", "pythia-160m", "olmo-1b")
RUNS: dict[str, dict[str, Any]] = {
    "bf16": {},
    "autocast over fp32": {"loaded": "fp32", "autocast": "bf16"},
    "fp32": {"loaded": "fp32"},
    "checkpointing": {"checkpointing": True, "optimizer": "adam_foreach"},
    "eager": {"attention": "eager"},
    "padding": {"attention": "masked"},
    "accumulation": {"accumulation": 4},
    "fused loss": {"loss": "fused", "fused_kernels": True},
    "old loss": {"loss": "copy"},
    "adapters": {"lora": Lora(16, ("all-linear",), 0.05)},
    "adapters, checkpointing": {"lora": Lora(16, ("q_proj", "v_proj")), "checkpointing": True, "autocast": "bf16"},
    "4-bit": {"lora": Lora(16, ("all-linear",)), "quantization": "nf4_double", "checkpointing": True, "autocast": "bf16"},
    "DDP": {"strategy": "ddp", "ranks": 8},
    "FSDP": {"strategy": "fsdp", "ranks": 8, "autocast": "bf16", "fsdp": Fsdp()},
    "FSDP, adapters": {"strategy": "fsdp", "ranks": 8, "autocast": "bf16", "lora": Lora()},
    "ZeRO 0": {"strategy": "zero", "ranks": 8, "autocast": "bf16", "zero": Zero(0)},
    "ZeRO 1": {"strategy": "zero", "ranks": 8, "autocast": "bf16", "zero": Zero(1)},
    "ZeRO 2, offload": {"strategy": "zero", "ranks": 8, "autocast": "bf16", "zero": Zero(2, offload_optimizer=True)},
    "ZeRO 3": {"strategy": "zero", "ranks": 8, "autocast": "bf16", "zero": Zero(3), "accumulation": 2},
    "tensor and pipeline": {"tensor_parallel": 2, "pipeline_parallel": 2, "accumulation": 4, "loss": "megatron"},
}


def settings(name: str, **more: Any) -> Settings:
    return Settings(**{"sequence": 512, **RUNS[name], **more})


@each_case("model", SMALL)
@each_case("name", RUNS)
def test_memory_grows_with_micro_batch_sequence_and_layers(model: str, name: str) -> None:
    shape, run = shape_of(model), settings(name)
    base = estimate(shape, run)
    for more in (estimate(shape, changed(run, micro_batch=2)), estimate(shape, changed(run, sequence=1024))):
        assert more.total >= base.total
        assert more.high >= base.high
        assert all(after.total >= before.total for before, after in zip(base.moments, more.moments, strict=True))
    deeper = estimate(changed(shape, layers=shape.layers * 2), run)
    assert deeper.total > base.total


@each_case("name", RUNS)
def test_the_peak_is_the_largest_moment_and_the_sum_of_its_terms(name: str) -> None:
    found = estimate(shape_of("llama-3.2-1b"), settings(name))
    assert found.total == max(moment.total for moment in found.moments)
    assert sum(found.peak.terms().values()) == pytest.approx(found.total)
    assert tuple(found.peak.terms()) == TERMS
    assert all(size >= 0 for moment in found.moments for size in moment.terms().values())
    assert found.low < found.total < found.high


@each_case("model", MODELS)
def test_every_model_of_the_table_can_be_estimated(model: str) -> None:
    found = estimate(shape_of(model), settings("bf16"))
    assert found.peak.weights == 2 * shape_of(model).parameters
    assert found.classification == ("C" if not shape_of(model).known else "B" if model.startswith("mixtral") else "A")


def step(model: str, run: Settings) -> TrainingStep:
    return TrainingStep(shape_of(model), run)


@each_case(
    ("loaded", "autocast", "optimizer", "per_parameter"),
    [
        ("fp32", None, "adam_fused", 16),
        ("fp32", "bf16", "adam_foreach", 20),
        ("bf16", None, "adam_fused", 8),
        ("bf16", "bf16", "adam_foreach", 10),
        ("fp32", None, "sgd", 8),
        ("bf16", None, "adam_8bit", 4 + 2 * (1 + 4 / 256)),
    ],
)
def test_bytes_per_parameter_at_the_step(loaded: str, autocast: str | None, optimizer: str, per_parameter: float) -> None:
    run = Settings(loaded=loaded, autocast=autocast, optimizer=optimizer)
    assert step("llama-3-8b", run).moments()[-1].total == pytest.approx(per_parameter * 8_030_261_248)


def test_mistral_with_checkpointing_peaks_at_the_step_whatever_the_micro_batch() -> None:
    runs = [Settings(micro_batch=size, sequence=4096, checkpointing=True, optimizer="adam_foreach", loss="copy") for size in (1, 2)]
    peaks = [estimate(shape_of("mistral-7b-v0.1"), run) for run in runs]
    assert [found.peak.name for found in peaks] == ["optimizer step"] * 2
    assert peaks[0].total == pytest.approx(72.4e9, rel=0.001)


def test_a_layer_of_llama_keeps_what_its_formula_says() -> None:
    shape, tokens = shape_of("llama-3-8b"), 2048
    per_token = 16 * 4096 + 4 * 4096 + 4 * 1024 + 4 * 32 + 8 * 14336
    assert step("llama-3-8b", Settings(sequence=tokens)).layer == per_token * tokens
    autocast = per_token + 10 * shape.hidden
    assert step("llama-3-8b", Settings(sequence=tokens, loaded="fp32", autocast="bf16")).layer == autocast * tokens


@each_case(
    ("loss", "forward", "backward"),
    [("padded", 10, 12), ("copy", 14, 12), ("float", 12, 12), ("megatron", 6, 8), ("in_place", 2, 4), ("none", 0, 0)],
)
def test_bytes_per_logit(loss: str, forward: int, backward: int) -> None:
    made = step("llama-3-8b", Settings(sequence=100, loss=loss))
    assert (made.loss_forward, made.loss_backward) == (forward * 100 * 128256, backward * 100 * 128256)


def test_eager_attention_is_quadratic() -> None:
    scores = [
        step("pythia-1b", Settings(sequence=length, attention="eager")).layer - step("pythia-1b", Settings(sequence=length)).layer
        for length in (1024, 2048)
    ]
    assert scores[1] / scores[0] == pytest.approx(4, rel=0.01)


def zero(stage: int, ranks: int = 8, **more: Any) -> Any:
    """What a rank holds under ZeRO with buckets of no size."""
    options = Zero(stage, reduce_bucket=0, max_live=0, prefetch=0, **more)
    return step("llama-3-8b", Settings(strategy="zero", ranks=ranks, autocast="bf16", zero=options)).held


@pytest.mark.parametrize(
    ("stage", "weights", "gradients", "optimizer"),
    [(1, 2, 2 + 2 / 8, 12 / 8), (2, 2, 2 / 8, 12 / 8), (3, 2 / 8, 2 / 8, 12 / 8)],
)
def test_zero_partitions_what_its_stage_says(stage: int, weights: float, gradients: float, optimizer: float) -> None:
    held, parameters = zero(stage), 8_030_261_248
    assert held.weights == pytest.approx(weights * parameters)
    assert held.gradients == pytest.approx(gradients * parameters)
    assert held.optimizer == pytest.approx(optimizer * parameters)


def test_recorded_bytes_per_parameter_of_the_engine() -> None:
    """deepspeed 0.19.8 on 2 processes: 12 bytes per parameter at the step of stages 1 and 2."""
    for stage in (1, 2):
        run = Settings(strategy="zero", ranks=2, autocast="bf16", sequence=8, zero=Zero(stage, reduce_bucket=5e5))
        assert step("llama-2-7b", run).moments()[-1].total == pytest.approx(12 * 6_738_415_616)


def test_offload_takes_states_and_gradients_off_the_gpu() -> None:
    held = zero(3, offload_optimizer=True, offload_parameters=True)
    assert (held.weights, held.optimizer, held.gradients, held.step) == (0, 0, 0, 0)
    assert held.buffers > 0


def test_buckets() -> None:
    def bucket(stage: int, **more: Any) -> float:
        options = Zero(stage, reduce_bucket=1e6, **more)
        run = Settings(strategy="zero", ranks=8, autocast="bf16", zero=options, lora=Lora(fp32=False))
        return step("gpt2", run).held.buffers

    assert bucket(1) == 2e6
    assert bucket(1, overlap=True) == 4e6
    assert bucket(1, fp32_gradients=True) == 4e6
    assert bucket(2, fp32_gradients=True) == 2e6
    assert bucket(1, contiguous=False) == 0


def test_fsdp_divides_by_the_ranks_and_upcasts_what_it_trains() -> None:
    """Measured with Llama-3-8B, foreach AdamW and mixed precision: 20 bytes per parameter over the GPUs."""
    for ranks, measured in ((2, 80.32), (4, 40.17)):
        run = Settings(strategy="fsdp", ranks=ranks, autocast="bf16", optimizer="adam_foreach", checkpointing=True)
        assert step("llama-3-8b", run).moments()[-1].total / GB == pytest.approx(measured, rel=0.001)


def test_fsdp_with_adapters_covers_both_residual_streams() -> None:
    run = Settings(strategy="fsdp", ranks=4, autocast="bf16", lora=Lora(16), checkpointing=True, sequence=4096, micro_batch=8)
    both = [estimate(shape_of("llama-3-8b"), changed(run, residual=width)).total for width in (2, 4)]
    found = estimate(shape_of("llama-3-8b"), run)
    assert both[0] < found.total < both[1]
    assert found.low < both[0]
    assert found.high > both[1]


def test_ddp_keeps_a_second_copy_of_the_gradients() -> None:
    alone, ranks = (step("gpt2", Settings(strategy="ddp", ranks=count)).held for count in (1, 2))
    assert alone.buffers == 0
    assert ranks.buffers == 2 * 124_439_808


def test_four_bit_weights() -> None:
    """0.5 bytes, an fp32 maximum per 64 weights or its double quantisation; what is no linear of a layer stays, in fp32."""
    shape = shape_of("llama-2-7b")
    linear = shape.layers * shape.matrix_weights
    rest = shape.parameters - linear
    run = Settings(lora=Lora(), quantization="nf4", checkpointing=True, autocast="bf16")
    adapters = step("llama-2-7b", run).held.weights - linear * (0.5 + 4 / 64) - rest * 4
    assert adapters == pytest.approx(4 * 32 * 8 * (4096 + 4096) * 2)
    double = step("llama-2-7b", changed(run, quantization="nf4_double")).held.weights
    assert double < step("llama-2-7b", run).held.weights


def test_pipeline_stages_hold_their_micro_batches_in_flight() -> None:
    shape = shape_of("neox-20b")
    few, many = (Settings(pipeline_parallel=4, accumulation=count, sequence=2048, own_code=True) for count in (1, 8))
    first = [estimate(shape, run).moments[0].activations for run in (few, many)]
    assert first[1] == pytest.approx(4 * first[0])
    assert estimate(shape, many).classification == "C"
