"""What the elasticity section refuses, which key it names, and the batch that it gives."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.frameworks.deepspeed.elasticity import Elasticity, plan
from cfglint.frameworks.refusal import Refusal

SECTION = {"max_train_batch_size": 2000, "micro_batch_sizes": [1, 2]}


@each_case(
    ("change", "key"),
    [
        ({"min_gpus": 0}, "min_gpus"),
        ({"max_gpus": 0}, "max_gpus"),
        ({"min_gpus": 9, "max_gpus": 8}, "min_gpus"),
        ({"model_parallel_size": 0}, "model_parallel_size"),
        ({"num_gpus_per_node": 0}, "num_gpus_per_node"),
        ({"micro_batch_sizes": [1, 0]}, "micro_batch_sizes"),
    ],
)
def test_a_size_below_1_is_refused(change, key):
    with pytest.raises(Refusal) as raised:
        Elasticity({**SECTION, **change})
    assert raised.value.key == f"elasticity.{key}"


def test_the_smallest_sizes_are_accepted():
    found = Elasticity({**SECTION, "min_gpus": 1, "max_gpus": 1, "model_parallel_size": 1, "num_gpus_per_node": 1})
    assert (found.min_gpus, found.max_gpus) == (1, 1)


OLDER = {"version": 0.1}
NODES = {"num_gpus_per_node": 8, "max_train_batch_size": 1000, "micro_batch_sizes": [2, 4]}


@each_case(
    ("section", "ranks", "expected"),  # (global batch, micro batch, accumulation) of DeepSpeed's own search
    [
        ({"max_train_batch_size": 2000, "micro_batch_sizes": [1, 2]}, 8, (1680, 2, 105)),
        ({"max_train_batch_size": 2000, "micro_batch_sizes": [8, 12, 16, 17], **OLDER}, 16, (1920, 12, 10)),
        (
            {"max_train_batch_size": 10000, "micro_batch_sizes": [8, 12, 16, 17], "min_gpus": 32, "max_gpus": 1500, **OLDER},
            64,
            (9792, 17, 9),
        ),
        ({"max_train_batch_size": 100, "micro_batch_sizes": [3, 4], **OLDER}, 6, (96, 4, 4)),
        ({"max_train_batch_size": 100, "micro_batch_sizes": [3, 4], "prefer_larger_batch": False, **OLDER}, 6, (72, 4, 3)),
        ({"max_train_batch_size": 8, "micro_batch_sizes": [4, 8], **OLDER}, 2, (8, 4, 1)),
        (NODES, 16, (960, 4, 15)),
        ({**NODES, "model_parallel_size": 2}, 8, (960, 4, 30)),
        ({"max_train_batch_size": 100, "micro_batch_sizes": [1, 3], "num_gpus_per_node": 4}, 28, (84, 3, 1)),  # 7 nodes, not planned
        ({"max_train_batch_size": 100, "micro_batch_sizes": [3, 4], "num_gpus_per_node": 8}, 56, (0, 4, 0)),  # too small for 7 nodes
    ],
)
def test_the_batch_of_elastic_training(section, ranks, expected):
    assert plan(section, ranks) == expected
