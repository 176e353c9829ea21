"""The specification of a training job from which configs are generated."""

from __future__ import annotations

from typing import Literal

from cfglint.frameworks import framework
from cfglint.frameworks.releases.versions import Version, parse_version
from cfglint.source import CfglintError
from cfglint.source.annotations import Any, ConfigTable, ConfigValue, TypeAlias

Precision: TypeAlias = Literal["bf16", "fp16", "fp32"]
Optimizer: TypeAlias = Literal["adamw", "adamw-8bit", "adafactor", "lion", "sgd"]
Scheduler: TypeAlias = Literal["linear", "cosine", "constant"]
Offload: TypeAlias = Literal["optimizer", "all"]

PRECISIONS: tuple[Precision, ...] = ("bf16", "fp16", "fp32")
OPTIMIZERS: tuple[Optimizer, ...] = ("adamw", "adamw-8bit", "adafactor", "lion", "sgd")
SCHEDULERS: tuple[Scheduler, ...] = ("linear", "cosine", "constant")
OFFLOADS: tuple[Offload, ...] = ("optimizer", "all")
LENGTHS = ("epochs", "steps", "tokens")
SIZES = ("layers", "hidden", "heads")
PARALLEL = ("tensor_parallel", "pipeline_parallel")
SHORT = {"tensor_parallel": "tp", "pipeline_parallel": "pp", "learning_rate": "lr"}  # names of options
# Facts that every kind supports.
COMMON = frozenset(
    ("gpus", "gpus_per_node", "global_batch", "micro_batch", "max_micro_batch", "num_examples"),
).union(("zero", "offload", "precision", "clipping", "target"))
# Facts of an optimizer and its schedule.
TRAINING = COMMON.union(
    ("learning_rate", "warmup", "optimizer", "scheduler", "weight_decay", "beta1", "beta2", "epsilon"),
    (*LENGTHS, "seq_length", "logging_steps"),
)


class Contradiction(CfglintError):
    """Facts that are incompatible, insufficient or not supported by this kind of file; the message names a remedy."""


class Unreachable(CfglintError):
    """A global batch or layout that these GPUs cannot reach; the message names possible ones."""


class JobSpec:
    """The facts of a job; None if not specified.

    `global_batch` counts samples per optimizer step. `warmup` is a fraction of the run below 1, and steps from 1
    on. `offload` moves the `optimizer` to the CPU, or `all`: the weights too. `model` names a published GPT-NeoX
    shape; `layers`, `hidden`, `heads`, `kv_heads` give one in numbers. `target` maps packages to versions. The facts from
    `weight_decay` on are never asked for in the dialogue; an existing config may have them.
    """

    gpus: int | None
    gpus_per_node: int | None
    global_batch: int | None
    micro_batch: int | None
    max_micro_batch: int | None
    zero: int | None
    precision: Precision | None
    tensor_parallel: int | None
    pipeline_parallel: int | None
    seq_length: int | None
    learning_rate: float | None
    warmup: float | None
    epochs: float | None
    steps: int | None
    tokens: int | None
    num_examples: int | None
    optimizer: Optimizer | None
    scheduler: Scheduler | None
    lora: bool | None
    trainer: str | None
    model: str | None
    layers: int | None
    hidden: int | None
    heads: int | None
    kv_heads: int | None
    offload: Offload | None
    target: dict[str, str] | None
    weight_decay: float | None
    beta1: float | None
    beta2: float | None
    epsilon: float | None
    min_learning_rate: float | None
    clipping: float | None
    seed: int | None
    checkpointing: bool | None
    logging_steps: int | None
    save_steps: int | None
    output_dir: str | None

    __slots__ = NAMES = tuple(__annotations__)

    def __init__(self, **known: ConfigValue) -> None:
        for name in self.NAMES:
            setattr(self, name, known.pop(name, None))
        if known:
            raise TypeError(f"no such fact: {', '.join(known)}")
        for names in (LENGTHS, ("micro_batch", "max_micro_batch")):
            flags = [flag(name) for name in names if getattr(self, name) is not None]
            if len(flags) > 1:
                raise Contradiction(f"{' and '.join(flags)} are incompatible; pass one of them")
        if self.offload and not self.zero:
            raise Contradiction("--offload requires --zero 1, 2 or 3")
        if self.offload == "all" and self.zero != 3:
            raise Contradiction("--offload-weights requires --zero 3")
        if self.tokens is not None and self.seq_length is None and self.model is None:
            raise Contradiction("--tokens requires --seq-length")
        if self.warmup is not None and (self.warmup < 0 or (self.warmup >= 1 and self.warmup % 1)):
            raise Contradiction(f"--warmup {self.warmup} must be a ratio below 1, or an integer number of steps")

    def replace(self, **changes: object) -> JobSpec:
        return JobSpec(**{**self.known(), **changes})

    def known(self) -> ConfigTable:
        return {name: getattr(self, name) for name in self.NAMES if getattr(self, name) is not None}

    def needed_gpus(self) -> int:
        """The GPU count, which is required; raises Contradiction without it."""
        if self.gpus is None:
            raise Contradiction("--gpus is required")
        return self.gpus

    def version(self, package: str) -> Version:
        """The target release of a package, else the newest known."""
        kind = {"transformers": "huggingface", "gpt-neox": "neox"}.get(package, package)
        return parse_version((self.target or {}).get(package, framework(kind).newest))

    def beyond(self, taken: frozenset[str]) -> list[str]:
        """The facts that a kind of file does not support; a parallel size of 1 is always supported."""
        return [name for name, value in self.known().items() if name not in taken and not (name in PARALLEL and value == 1)]

    def choose(self, name: str, table: ConfigTable, kind: str) -> Any:
        """The value that a kind writes for a fact with a fixed list of choices; raises Contradiction if it does not support it."""
        value = getattr(self, name)
        if value not in table:
            raise Contradiction(f"{flag(name)} {value} is not available for {kind} (valid: {', '.join(table)})")
        return table[value]


# Facts whose command-line flag has the same name; --offload, --offload-weights and --target differ.
FLAGS = JobSpec.NAMES[: JobSpec.NAMES.index("offload")]


def flag(name: str) -> str:
    """The option of the command line for a fact."""
    if name in (*SIZES, "kv_heads"):
        return f"--model {name.replace('_', '-')}=N"
    return "--" + SHORT.get(name, name).replace("_", "-")
