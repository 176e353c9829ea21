"""The sizes that `new` generates from are those that memory is computed with."""

from __future__ import annotations

import pytest

from cfglint.batch.shapes import config_of, known_name
from cfglint.new.models import SHAPES

SHARED = [name for name in SHAPES if known_name(name)]


def test_some_models_are_in_both_tables():
    assert len(SHARED) >= 11


@pytest.mark.parametrize("name", SHARED)
def test_both_tables_give_a_model_the_same_sizes(name):
    config, shape = config_of(name), SHAPES[name]
    keys = ("num_hidden_layers", "hidden_size", "num_attention_heads")
    assert tuple(config[key] for key in keys) == (shape.layers, shape.hidden, shape.heads)
