"""The memory of cards by their names."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.batch.cards import Memory, offered


@each_case(
    ("name", "size", "assumption"),
    [
        ("A100", 79.2, "A100 is the card with 79.2 GiB (A100-40GB: 39.4)"),
        ("nvidia-a100-sxm", 79.2, "A100 is the card with 79.2 GiB (A100-40GB: 39.4)"),
        ("V100", 31.7, "V100 is the card with 31.7 GiB (V100-16GB: 15.8)"),
        ("A100-80GB", 79.2, ""),
        ("a100-40gb", 39.4, ""),
        ("L4", 22.0, ""),
        ("80GB", 79.2, ""),
    ],
)
def test_a_name_of_cards_with_several_sizes_is_an_assumption(name, size, assumption):
    found = offered(name)
    assert isinstance(found, Memory)
    assert (found, found.assumption) == (size, assumption)


def test_a_number_of_gib_assumes_nothing():
    assert type(offered("79.2")) is float
    with pytest.raises(ValueError, match="0"):
        offered("0")
