"""The number that a message shows for a string that YAML 1.1 does not read as one."""

from __future__ import annotations

import pytest

from cfglint.frameworks.huggingface.rules.arguments import pointed


@pytest.mark.parametrize(("text", "number"), [("2e-5", "2.0e-5"), ("1.0e6", "1.0e+6"), ("3E4", "3.0e+4"), ("1e+3", "1.0e+3")])
def test_a_number_gets_its_point_and_sign(text, number):
    assert pointed(text) == number
