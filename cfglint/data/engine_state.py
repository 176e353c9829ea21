"""The part of a checkpoint that DeepSpeed's engine saved: what the names of its files say."""

from __future__ import annotations

from cfglint.data.checkpoint import Checkpoint
from cfglint.source.record import Record

STEP = "global_step"
OPTIMIZER = "_optim_states.pt"
MODEL = "_model_states.pt"
BF16 = "bf16_"


class EngineState(Record):
    """The state of an engine: the data-parallel ranks whose optimizer states were saved, whether in bf16, and whether by ZeRO stage 3."""

    tag: str
    ranks: int
    bf16: bool
    stage3: bool

    @property
    def partitioned(self) -> bool:
        """Whether the optimizer states are divided over ranks; else they are those of stage 0, or were not saved."""
        return self.ranks > 0


def engine_tags(checkpoint: Checkpoint) -> list[str]:
    """The folders of the engine in a checkpoint, as the Trainer looks for them."""
    return sorted(name for name in checkpoint.names if name.startswith(STEP))


def engine_state(checkpoint: Checkpoint, tag: str = "") -> EngineState | None:
    """The state of a tag, else that which `latest` names; None where its files do not tell."""
    tag = tag or checkpoint.text("latest")
    names = checkpoint.listed(tag) if tag else frozenset()
    optimizers = [name for name in names if name.endswith(OPTIMIZER) and "zero_pp_rank_" in name]
    models = [name for name in names if name.endswith(MODEL)]
    if not models:
        return None
    ranks = {rank_of(name) for name in optimizers}
    return EngineState(
        tag, len(ranks), any(name.startswith(BF16) for name in optimizers), any(name.startswith("zero_pp_rank_") for name in models)
    )


def rank_of(name: str) -> str:
    """The data-parallel rank in the name of a file."""
    return name.partition("zero_pp_rank_")[2].partition("_")[0]
