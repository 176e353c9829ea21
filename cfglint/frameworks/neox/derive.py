"""The values that NeoXArgs computes before it checks the types.

Each property is one step of calculate_derived, as far as the values allow; where the framework would
fail in a step, the property is None and a rule reports why.
Source: gpt-neox 2026-05 megatron/neox_arguments/arguments.py:885-1192.
"""

from __future__ import annotations

from cfglint.source.annotations import ConfigTable, ConfigValue, Operand
from cfglint.source.numbers import is_number
from cfglint.source.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.frameworks.neox.config import NeoXConfig

COPIES = {
    "zero_reduce_scatter": "reduce_scatter",
    "zero_contiguous_gradients": "contiguous_gradients",
    "zero_reduce_bucket_size": "reduce_bucket_size",
    "zero_allgather_bucket_size": "allgather_bucket_size",
}

EMPTIED = frozenset(("clip_grad", "dynamic_loss_scale", "is_pipe_parallel", "config_files", "user_script"))
BATCH = frozenset(("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps", "batch_size"))
# Fields whose value in the type check differs from that in the file.
DERIVED = EMPTIED | BATCH | frozenset((*COPIES, "precision", "model_parallel_size", "zero_stage", "lr", "optimizer_type", "fp16"))


class Attention(Record):
    """The attention of all layers: the `kinds` that occur, and the number of layers of the list."""

    kinds: list[Operand]
    layers: int

    @property
    def listed(self) -> list[Operand]:
        """A list of as many layers, with each kind."""
        return [*self.kinds, *self.kinds[:1] * (self.layers - len(self.kinds))]

    def any(self, *names: str) -> bool:
        return any(name in self.kinds for name in names)


class Derived(Record):
    """The derived values of a config. `expanded` has the attention list after its expansion, and the exception, once it was asked for."""

    config: NeoXConfig
    expanded: list[tuple[Attention | None, str | None]] = []

    @property
    def pipe(self) -> int | None:
        """pipe_parallel_size as written, None for null; 0 or less means no pipeline engine."""
        value = self.config.argument("pipe_parallel_size")
        return value if is_number(value) else None

    @property
    def tensor(self) -> int | None:
        """model_parallel_size, at least 1; None if it is not a number."""
        value = self.config.argument("model_parallel_size")
        if not is_number(value):
            return None
        return value if value >= 1 else 1

    @property
    def enabled_sections(self) -> list[str]:
        return [name for name in ("fp16", "bf16") if switched_on(self.config.argument(name))]

    @property
    def precision(self) -> str:
        """`fp16`, `bfloat16` or `fp32`: anything but the first two, spelled exactly so, becomes the last (A:966-1011)."""
        written = self.config.argument("precision")
        if written is None:
            sections = self.enabled_sections
            written = {"fp16": "fp16", "bf16": "bfloat16"}[sections[0]] if sections else None
        return written if written in ("fp16", "bfloat16") else "fp32"

    @property
    def zero(self) -> ConfigTable:
        value = self.config.argument("zero_optimization")
        return {"stage": 0} if value is None else mapping(value)

    @property
    def zero_stage(self) -> int | None:
        return stage_of(self.zero)

    @property
    def extra(self) -> ConfigTable:
        return mapping(self.config.argument("deepspeed_extra_args"))

    @property
    def worker_zero_stage(self) -> int | None:
        """The ZeRO stage of the workers: a section in deepspeed_extra_args replaces the launcher's (A:498-505, 725)."""
        return stage_of(mapping(self.extra["zero_optimization"]) if "zero_optimization" in self.extra else self.zero)

    @property
    def optimizer(self) -> ConfigTable:
        return mapping(self.config.argument("optimizer") or {"type": "Adam", "params": {"lr": 0.001}})

    @property
    def optimizer_params(self) -> ConfigTable:
        return mapping(self.optimizer.get("params"))

    @property
    def optimizer_type(self) -> Operand:
        return self.optimizer.get("type", "Adam")

    @property
    def optimizer_name(self) -> str:
        """The optimizer's name in lower case, as the code compares it; empty where it is not a string."""
        return self.optimizer_type.lower() if isinstance(self.optimizer_type, str) else ""

    @property
    def lr(self) -> Operand:
        """The learning rate: the optimizer's own, else 0.001; the top-level `lr` is never used."""
        return self.optimizer_params.get("lr", 0.001)

    @property
    def attention(self) -> Attention | None:
        """The attention list after its expansion; None where it cannot be expanded: `attention_refusal` is the exception then."""
        if not self.expanded:
            written, layers = self.config.argument("attention_config"), self.config.argument("num_layers")
            try:
                self.expanded.append((expand([[["global"], layers]] if written is None else written, layers), None))
            except Exception as error:
                self.expanded.append((None, f"{type(error).__name__}: {error}"))
        return self.expanded[0][0]

    @property
    def attention_refusal(self) -> str | None:
        return self.expanded[0][1] if self.attention is None else None

    def held(self, name: str) -> Operand:
        """The value of a field as the type check sees it."""
        config = self.config
        if name not in DERIVED:
            return config.argument(name)
        if name == "precision":
            return self.precision
        if name in BATCH:
            sizes = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
            return None if name == "batch_size" or any(config.argument(size) is None for size in sizes) else config.argument(name)
        if name == "model_parallel_size":
            return self.tensor
        if name == "zero_stage":
            stage = self.zero_stage
            return stage if stage is not None else config.argument(name)
        if name in COPIES:
            return self.zero.get(COPIES[name])
        if name == "lr":
            return self.lr
        if name == "optimizer_type":
            return self.optimizer_type
        if name == "fp16" and self.precision == "fp16" and not isinstance(config.argument(name), dict):
            return {"enabled": True}
        return None if name in EMPTIED else config.argument(name)


def mapping(value: Operand) -> ConfigTable:
    return value if isinstance(value, dict) else {}


def stage_of(section: ConfigTable) -> int | None:
    """The ZeRO stage of a section; None where it is not 0 to 3."""
    stage: int | None = section.get("stage")
    return stage if is_number(stage) and stage in (0, 1, 2, 3) else None


def switched_on(section: object) -> bool:
    """Whether a precision section is enabled: by any truthy value, including the string "false"."""
    return bool(isinstance(section, dict) and section.get("enabled", False))


def expand(pattern: Operand, layers: Operand) -> Attention:
    """The expansion of an attention pattern; raises the exception of the framework's own expansion.

    Source: gpt-neox 2026-05 megatron/utils.py:329-353.
    """
    if all(isinstance(item, str) for item in pattern):
        return Attention(list(dict.fromkeys(pattern)), len(pattern))
    kinds: list[Operand] = []
    total = 0
    for item in pattern:
        names, times = item[0], item[1]
        if times == "all":
            rest = layers % len(names)
            assert rest == 0, f"Number of layers ({layers}) is not divisible by the length of pattern: {names}"
            return Attention(distinct(names), layers // len(names) * len(names))
        repeat = len(range(times))
        if repeat:
            kinds.extend(distinct(names))
            total += repeat * len(names)
    return Attention(kinds, total)


def distinct(names: Operand) -> list[ConfigValue]:
    """The distinct items of a list or string, in order; items need not be hashable."""
    found: list[Operand] = []
    for name in names:
        if name not in found:
            found.append(name)
    return found
