"""The settings that determine the memory of a run: dtypes, optimizer, checkpointing, adapters, sharding. Each framework fills them in."""

from __future__ import annotations

from cfglint.source.record import Record, changed

FP32, BF16, FP16 = "fp32", "bf16", "fp16"
# The names of dtypes in files.
DTYPES = {"float32": FP32, "bfloat16": BF16, "float16": FP16, "fp32": FP32, "bf16": BF16, "fp16": FP16, "half": FP16, "float": FP32}
WIDTH = {FP32: 4, BF16: 2, FP16: 2}  # bytes of an element

# How attention keeps its intermediate values. FUSED: flash-attention or sdpa; MASKED: sdpa with a mask of padding; EAGER: scores in memory.
FUSED, MASKED, EAGER = "fused", "masked", "eager"

# Optimizers by their states. FOREACH makes one more copy of a state during the step (TWICE: two), LOOP two of one tensor at a time, the
# fused kernels none.
ADAM_FUSED, ADAM_FOREACH, ADAM_TWICE, ADAM_LOOP = "adam_fused", "adam_foreach", "adam_twice", "adam_loop"
UNFUSED = (ADAM_FOREACH, ADAM_TWICE, ADAM_LOOP)
ADAM_8BIT, LION_8BIT, ADAM_4BIT = "adam_8bit", "lion_8bit", "adam_4bit"
ADAFACTOR, SGD, ONE_STATE, PAGED = "adafactor", "sgd", "one_state", "paged"

# How the loss is computed from the logits (see loss.py).
LOSS_FLOAT, LOSS_COPY, LOSS_PADDED = "float", "copy", "padded"
LOSS_IN_PLACE, LOSS_MEGATRON = "in_place", "megatron"
LOSS_FUSED, LOSS_CHUNKED, LOSS_NONE = "fused", "chunked", "none"

NONE, FULL = "none", "full"

NF4, NF4_DOUBLE, INT8 = "nf4", "nf4_double", "int8"
DDP, FSDP, ZERO = "ddp", "fsdp", "zero"
ALL_LINEAR = "all-linear"


class Lora(Record):
    """LoRA adapters: rank, target modules (names or ALL_LINEAR), dropout, trained embedding-sized modules, whether they are fp32."""

    rank: int = 8
    targets: tuple[str, ...] = ("q_proj", "v_proj")
    dropout: float = 0.0
    saved_modules: int = 0
    fp32: bool = True


class Zero(Record):
    """DeepSpeed ZeRO; sizes in elements, as its config has them (runtime/zero/config.py has the defaults)."""

    stage: int
    reduce_bucket: float = 5e8
    overlap: bool | None = None  # None: the stage's default
    contiguous: bool = True
    fp32_gradients: bool = False  # data_types.grad_accum_dtype fp32
    offload_optimizer: bool = False
    offload_parameters: bool = False
    max_live: float = 1e9
    prefetch: float = 5e7
    sub_group: float = 1e9

    @property
    def overlaps(self) -> bool:
        """Whether communication overlaps the backward: by default in stage 3 only (zero/config.py)."""
        return self.stage == 3 if self.overlap is None else self.overlap


class Fsdp(Record):
    """PyTorch FSDP as accelerate sets it up. `parameters_sharded` is false for SHARD_GRAD_OP."""

    parameters_sharded: bool = True
    offload: bool = False


class Settings(Record):
    """The settings of one run that determine the memory of each rank.

    `rows_per_sample` is 2 for preference pairs. `loaded` is the dtype of the weights, `autocast` that of mixed precision or None.
    `ranks` is the number of data-parallel ranks. `strategy` is NONE, DDP, FSDP or ZERO. `quantization` is NONE, NF4, NF4_DOUBLE or
    INT8, and `kbit_fp32` tells whether norms, embeddings and head were cast to fp32 (`prepare_model_for_kbit_training`).
    `fused_experts`: experts are parameters and no linear layers, so that nothing quantizes them. `varying`: rows are as long as their
    samples, so that the allocator keeps blocks of many sizes. `fused_kernels`: norms and activations are Liger's. `residual` overrides
    the bytes per element of the residual stream. `reference_model`: a frozen copy of the model is held as well. `own_code`: the code of
    the trainer or of the model is not among the code that the estimate was derived from; `unmeasured`: it is, and full training with it
    has not been measured.
    """

    micro_batch: int = 1
    rows_per_sample: int = 1
    sequence: int = 2048
    loaded: str = BF16
    autocast: str | None = None
    checkpointing: bool = False
    checkpoint_layers: int = 1  # layers that are recomputed together
    attention: str = FUSED
    optimizer: str = ADAM_FUSED
    loss: str = LOSS_PADDED
    accumulation: int = 1
    lora: Lora | None = None
    quantization: str = NONE
    kbit_fp32: bool = True
    fused_experts: bool = False
    varying: bool = False
    fused_kernels: bool = False
    strategy: str = NONE
    ranks: int = 1
    zero: Zero | None = None
    fsdp: Fsdp | None = None
    residual: int | None = None
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    in_flight: int = 1
    reference_model: bool = False
    own_code: bool = False
    unmeasured: bool = False

    @property
    def tokens(self) -> int:
        return self.micro_batch * self.rows_per_sample * self.sequence

    @property
    def sharded(self) -> str:
        """The sharding strategy in effect: on a single rank neither FSDP nor DDP is active."""
        return self.strategy if self.strategy == ZERO or self.ranks > 1 else NONE

    def effective(self) -> Settings:
        """The settings that are in effect in the end: DeepSpeed's engine casts the whole module, with adapters, and uses no autocast."""
        if self.sharded != ZERO or (self.autocast is None and (self.zero is None or not self.zero.stage)):
            return self
        loaded = self.autocast or self.loaded
        lora = self.lora if self.lora is None else changed(self.lora, fp32=self.lora.fp32 and loaded == FP32)
        return changed(self, loaded=loaded, autocast=None, lora=lora)
