"""The fix of a batch that does not add up."""

from __future__ import annotations

import json

import cfglint
from cases import each_case


@each_case(
    ("global_batch", "micro_batch", "edits"),
    [
        (64, 4, ["2"]),
        (32, 8, None),  # less than one micro batch on each GPU
        (100, 4, None),  # no accumulation gives 100 samples
    ],
)
def test_the_accumulation_that_makes_the_equation_hold_is_written(global_batch, micro_batch, edits):
    terms = {"train_batch_size": global_batch, "train_micro_batch_size_per_gpu": micro_batch, "gradient_accumulation_steps": 3}
    run = cfglint.check({"ds.json": json.dumps(terms)}, kind="deepspeed", run=True, gpus=8)
    (found,) = [each for each in run.diagnostics if each.code == "BAT001"]
    assert (found.fix and [edit.text for edit in found.fix.edits]) == edits
