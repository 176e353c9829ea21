"""What the rows of NeoXArgs ask of the environment."""

from __future__ import annotations

import pytest

from cfglint.frameworks.neox.checks import facts
from cfglint.frameworks.row_evaluation import Raised


def test_the_attention_of_all_layers_is_listed_unless_they_are_too_many():
    assert facts("expand_attention_types", [[["global", "flash"], "all"]], 4) == ["global", "flash", "global", "global"]
    assert facts("expand_attention_types", [[["global"], 10**9]], 10**9) is None


def test_a_pattern_that_does_not_divide_the_layers_is_refused():
    with pytest.raises(Raised, match="not divisible"):
        facts("expand_attention_types", [[["global", "flash"], "all"]], 3)
