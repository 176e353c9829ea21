"""What a release refuses first, and values right beside these that it accepts.

A case of `refusals.txt` is the release and the keys beside `train_batch_size`, on 8 GPUs, and `=> /key: exception` or `=> accepted`.
"""

from __future__ import annotations

import json
from pathlib import Path

from cases import each_case

CASES = [tuple(text.split("\n=> ")) for text in (Path(__file__).parent / "refusals.txt").read_text(encoding="utf-8").strip().split("\n\n")]


@each_case(("case", "expected"), CASES)
def test_the_first_refusal(runs, case, expected):
    release, _, keys = case.partition(" ")
    run = runs.of({"train_batch_size": 8, **json.loads(keys)}, target=release)
    found = [f"{each.key}: {each.exception}" for each in run.diagnostics if each.severity == "error"]
    assert (found[:1] or ["accepted"]) == [expected]
