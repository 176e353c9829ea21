"""The memory of a rank that does not depend on the micro batch: weights, gradients, optimizer states and buffers, by sharding
strategy.

Sources: accelerate 1.15.0 (`DistributedDataParallelKwargs`, `accelerator.py:2045` upcasts trained parameters under FSDP mixed
precision); torch `c10d/reducer.cpp` (buckets) and FSDP; DeepSpeed 0.19.8 `runtime/zero/stage_1_and_2.py`, `stage3.py`,
`partitioned_param_coordinator.py`, `config.py`, `runtime/bf16_optimizer.py`; peft `prepare_model_for_kbit_training`; bitsandbytes
(4-bit blocks of 64 with an fp32 maximum, double quantisation of those).
"""

from __future__ import annotations

from cfglint.batch.memory.activations import Widths, adapted
from cfglint.batch.memory.optimizer import state_bytes, step_bytes
from cfglint.batch.memory.settings import DDP, FP16, FSDP, INT8, NF4, NF4_DOUBLE, NONE, ZERO, Settings, Zero
from cfglint.batch.memory.shape import Shape
from cfglint.source.record import Record, changed

QUANTIZED = {NF4: 0.5 + 4 / 64, NF4_DOUBLE: 0.5 + 1 / 64 + 4 / 16384, INT8: 1.0}  # bytes of a weight
FP32_GRADIENT = 4


class Held(Record):
    """The bytes of one rank. `gradients` are all gradients at the end of the backward; `from_start` those that exist during the
    forward.

    `buffers` exist in forward and backward, `step_buffers` and `step_gradients` in the optimizer step, `step` is what the step
    allocates. `fraction` is the part of a gradient that stays on the rank as the backward produces it.
    """

    weights: float
    optimizer: float
    gradients: float
    buffers: float = 0
    from_start: float = 0
    step_gradients: float = 0
    step_buffers: float = 0
    step: float = 0
    fraction: float = 1


class Parameters:
    """The parameters of a run on one rank before any sharding: trained and frozen, with their widths."""

    def __init__(self, shape: Shape, run: Settings, widths: Widths) -> None:
        self.shape = shape
        self.run = run
        self.widths = widths
        self.full = run.lora is None
        lora = run.lora
        if lora is None:
            self.trained = shape.parameters
            self.width = widths.weights
            self.largest = max([shape.head_matrix, *(matrix.size for matrix in shape.matrices)])  # of a single parameter
        else:
            ranks = sum(matrix.inputs + matrix.outputs for matrix in adapted(shape, lora))
            self.trained = shape.layers * lora.rank * ranks + lora.saved_modules * shape.head_matrix
            self.width = 4 if lora.fp32 else widths.weights
            self.largest = 0

    @property
    def frozen_bytes(self) -> float:
        """The base model under adapters, or with quantised linears in its layers."""
        if self.run.quantization != NONE:
            linear = self.shape.linear_weights(self.run.fused_experts)
            rest = 4 if self.widths.residual == 4 else self.widths.weights
            return linear * QUANTIZED[self.run.quantization] + (self.shape.parameters - linear) * rest
        return 0 if self.full else self.shape.parameters * self.widths.weights

    @property
    def bytes(self) -> int:
        return self.trained * self.width

    @property
    def states(self) -> float:
        return self.trained * state_bytes(self.run.optimizer, self.width)

    @property
    def step(self) -> int:
        return step_bytes(self.run.optimizer, self.width, self.trained, self.largest)


def held(shape: Shape, run: Settings, widths: Widths) -> Held:
    """The bytes of a rank with the sharding of the run."""
    parameters = Parameters(shape, run, widths)
    if run.sharded == ZERO and run.zero is not None:
        return {0: unpartitioned, 1: stage_1, 2: stage_2}.get(run.zero.stage, stage_3)(parameters, run.zero)
    if run.sharded == FSDP:
        return fsdp(parameters)
    return replicated(parameters)


def replicated(parameters: Parameters) -> Held:
    """One GPU, or DDP, whose reducer keeps a second copy of all gradients (`gradient_as_bucket_view` is False)."""
    run, gradients = parameters.run, parameters.bytes
    buckets = gradients if run.sharded == DDP else 0
    return Held(
        weights=parameters.frozen_bytes + parameters.bytes,
        optimizer=parameters.states,
        gradients=gradients,
        buffers=buckets,
        from_start=gradients if run.accumulation > 1 else 0,
        step_gradients=gradients,
        step_buffers=buckets,
        step=parameters.step,
    )


def fsdp(parameters: Parameters) -> Held:
    """FULL_SHARD, SHARD_GRAD_OP: two layers and the root (embeddings, head, last norm) gathered, one layer's complete gradient."""
    run, shape = parameters.run, parameters.shape
    ranks, options = run.ranks, run.fsdp
    gathered_width = 2 if run.autocast else parameters.widths.weights
    layer = float(shape.layer)
    if run.quantization != NONE:  # the packed storage is gathered
        layer = shape.matrix_weights * QUANTIZED[run.quantization] / gathered_width
    root = shape.embedding + shape.head + shape.final_norm
    gathered = (2 * layer + root) * gathered_width
    if options is not None and not options.parameters_sharded:
        gathered = shape.parameters * gathered_width
    flight = layer * gathered_width if parameters.full else 0
    kept = 0 if options is not None and options.offload else 1 / ranks
    gradients = parameters.bytes * kept
    return Held(
        weights=(parameters.frozen_bytes + parameters.bytes) * kept,
        optimizer=parameters.states * kept,
        gradients=gradients,
        buffers=gathered + flight,
        from_start=gradients if run.accumulation > 1 else 0,
        step_gradients=gradients,
        step=parameters.step * kept,
        fraction=1 / ranks,
    )


class Engine:
    """The figures that all stages of DeepSpeed have in common: the 16-bit weights, the fp32 master partition and its states."""

    def __init__(self, parameters: Parameters, zero: Zero) -> None:
        self.run = run = parameters.run
        trained = parameters.trained
        self.width = parameters.widths.weights
        self.weights = trained * self.width
        self.frozen = parameters.frozen_bytes
        master = trained * FP32_GRADIENT / run.ranks if self.width == 2 else 0
        states = trained * state_bytes(run.optimizer, 4) / run.ranks
        self.optimizer = 0 if zero.offload_optimizer else master + states
        self.partition = trained * self.width / run.ranks  # the rank's gradients in 16 bit
        self.kept_partition = 0 if zero.offload_optimizer else self.partition

    def step(self, weights: float, keeps_gradients: bool = False) -> float:
        """What the step of some weights allocates: their gradients flat in 16 bit, then in fp32, and with these what the optimizer makes.

        The rank's 16-bit gradients are freed before the optimizer steps, unless their buffer is permanent.
        """
        update = weights * FP32_GRADIENT + step_bytes(self.run.optimizer, FP32_GRADIENT, int(weights), int(weights))
        return max(weights * (self.width + FP32_GRADIENT), update - (0 if keeps_gradients else self.kept_partition))


def bucket_bytes(zero: Zero, width: int) -> float:
    """The buffers in which gradients are reduced: one, or two if communication overlaps; none without contiguous gradients."""
    if not zero.contiguous:
        return 0
    buffers = 2 if zero.overlaps else 1
    return zero.reduce_bucket * (4 if zero.fp32_gradients and zero.stage == 1 else width) * buffers


def unpartitioned(parameters: Parameters, zero: Zero) -> Held:
    """ZeRO stage 0: with bf16, BF16_Optimizer partitions fp32 master and states and keeps fp32 gradients; with fp16, nothing is."""
    run, engine = parameters.run, Engine(parameters, zero)
    if parameters.widths.products == 4:
        return replicated(parameters)
    bf16 = run.loaded != FP16
    optimizer = engine.optimizer if bf16 else engine.optimizer * run.ranks
    gradients = engine.weights + (parameters.trained * FP32_GRADIENT if bf16 else 0)
    return Held(
        weights=engine.frozen + engine.weights,
        optimizer=optimizer,
        gradients=gradients,
        from_start=gradients if bf16 or run.accumulation > 1 else 0,
        step_gradients=gradients,
        step=0 if bf16 else parameters.trained * FP32_GRADIENT,
    )


def stage_1(parameters: Parameters, zero: Zero) -> Held:
    """ZeRO stage 1, optimizer states partitioned: all gradients are held until the end of the accumulation."""
    run, engine = parameters.run, Engine(parameters, zero)
    width = FP32_GRADIENT if zero.fp32_gradients else engine.width
    gradients = parameters.trained * width + engine.kept_partition
    return Held(
        weights=engine.frozen + engine.weights,
        optimizer=engine.optimizer,
        gradients=gradients,
        buffers=bucket_bytes(zero, engine.width),
        from_start=gradients if run.accumulation > 1 else 0,
        step_gradients=engine.kept_partition,
        step=0 if zero.offload_optimizer else engine.step(parameters.trained / run.ranks),
    )


def stage_2(parameters: Parameters, zero: Zero) -> Held:
    """ZeRO stage 2, gradients also partitioned; offload keeps the largest parameter as a buffer (`temp_grad_buffer_for_gpu_offload`)."""
    run, shape, engine = parameters.run, parameters.shape, Engine(parameters, zero)
    buffers = bucket_bytes(zero, engine.width)
    if parameters.full:
        buffers += max(matrix.size for matrix in shape.matrices) * engine.width  # the gradient that is being reduced
    if zero.offload_optimizer:
        buffers += parameters.largest * engine.width
    return Held(
        weights=engine.frozen + engine.weights,
        optimizer=engine.optimizer,
        gradients=engine.kept_partition,
        buffers=buffers,
        from_start=engine.kept_partition if run.accumulation > 1 else 0,
        step_gradients=engine.kept_partition,
        step=0 if zero.offload_optimizer else engine.step(parameters.trained / run.ranks),
        fraction=1 / run.ranks,
    )


def stage_3(parameters: Parameters, zero: Zero) -> Held:
    """ZeRO stage 3: weights gathered up to the live limit and the prefetch bucket; a permanent gradient partition, one bucket."""
    run, shape, engine = parameters.run, parameters.shape, Engine(parameters, zero)
    live = min(shape.parameters, max(zero.max_live, shape.layer) + zero.prefetch) * parameters.widths.weights
    bucket = bucket_bytes(changed(zero, overlap=False), engine.width)
    per_step = min(parameters.trained / run.ranks, zero.sub_group)
    return Held(
        weights=0 if zero.offload_parameters else (engine.frozen + engine.weights) / run.ranks,
        optimizer=engine.optimizer,
        gradients=engine.kept_partition,
        buffers=bucket + live,
        from_start=engine.kept_partition,
        step_gradients=engine.kept_partition,
        step_buffers=bucket,
        step=0 if zero.offload_optimizer else engine.step(per_step, keeps_gradients=True),
        fraction=1 / run.ranks,
    )
