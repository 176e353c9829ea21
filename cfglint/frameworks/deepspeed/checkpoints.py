"""What DeepSpeed refuses when it loads the state of an engine that other processes saved (0.19.8 runtime/engine.py:4380-4400, 4748)."""

from __future__ import annotations

from cfglint.data.checkpoint import EngineState
from cfglint.findings.wording import counted


def other_processes(name: str, saved: EngineState, ranks: int) -> tuple[str, str, str] | None:
    """(what is wrong, exception, remedy) of optimizer states that other numbers of data-parallel processes divided."""
    if not saved.partitioned or saved.ranks == ranks:
        return None
    text = f"`{name}` was saved by {counted(saved.ranks, 'data-parallel process')}, and this run has {ranks}"
    exception = (
        f"ZeRORuntimeException: The checkpoint being loaded used a DP world size of {saved.ranks} but the current world size is "
        f"{ranks}. Automatic adjustment of ZeRO's optimizer state partitioning with a new world size is not currently supported."
    )
    return text, exception, f"start {counted(saved.ranks, 'data-parallel process')}, or convert the checkpoint with `ds_to_universal.py`"


def missing_shards(name: str, saved: EngineState, bf16: bool, remedy: str) -> tuple[str, str, str] | None:
    if saved.partitioned and saved.bf16 == bf16:
        return None
    missing = f"{name}/{saved.tag}/{'bf16_' if bf16 else ''}zero_pp_rank_0_mp_rank_00_optim_states.pt"
    exception = f"FileNotFoundError: [Errno 2] No such file or directory: '{missing}'"
    if not saved.partitioned:
        return f"`{name}` has no optimizer states of ZeRO: it was saved with stage 0", exception, remedy
    types = ("bf16", "another data type") if saved.bf16 else ("another data type", "bf16")
    return f"`{name}` was saved in {types[0]}, and this run uses {types[1]}", exception, remedy
