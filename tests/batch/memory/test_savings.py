"""The changes that would save memory, each by itself."""

from __future__ import annotations

from cases import each_case
from cfglint.batch.memory.savings import MICRO_BATCH, changes
from cfglint.batch.memory.settings import ADAM_8BIT, ADAM_FOREACH, LOSS_FUSED, ZERO, Settings, Zero

DONE = {"checkpointing": True, "loss": LOSS_FUSED, "optimizer": ADAM_8BIT}  # nothing is left to change


@each_case(
    ("settings", "names"),
    [
        ({}, []),
        ({"micro_batch": 2}, [f"{MICRO_BATCH} 1"]),
        ({"micro_batch": 5}, [f"{MICRO_BATCH} 2"]),
        ({"checkpointing": False}, ["gradient checkpointing"]),
        ({"optimizer": ADAM_FOREACH}, ["the fused AdamW", "an 8-bit optimizer"]),
        ({"ranks": 2}, ["ZeRO stage 3 or FSDP"]),
        ({"ranks": 2, "strategy": ZERO, "zero": Zero(2)}, ["ZeRO stage 3"]),
    ],
)
def test_only_what_the_run_does_not_do_already_is_offered(settings, names):
    assert [name for name, _ in changes(Settings(**{**DONE, **settings}))] == names


def test_half_of_the_rows_are_accumulated_twice():
    ((_, after),) = changes(Settings(**DONE, micro_batch=4, accumulation=3))
    assert (after.micro_batch, after.accumulation) == (2, 6)
