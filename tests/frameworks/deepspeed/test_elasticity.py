"""What the elasticity section refuses, and which key it names."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.frameworks.deepspeed.elasticity import Elasticity, Impossible

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
    with pytest.raises(Impossible) as raised:
        Elasticity({**SECTION, **change})
    assert raised.value.key == key


def test_the_smallest_sizes_are_accepted():
    found = Elasticity({**SECTION, "min_gpus": 1, "max_gpus": 1, "model_parallel_size": 1, "num_gpus_per_node": 1})
    assert (found.min_gpus, found.max_gpus) == (1, 1)
