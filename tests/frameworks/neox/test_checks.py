"""What the rows of NeoXArgs ask of the environment."""

from __future__ import annotations

import pytest

from cfglint.api import check
from cfglint.frameworks.neox.checks import facts
from cfglint.frameworks.rows.expressions import Raised


def test_the_attention_of_all_layers_is_listed_unless_they_are_too_many():
    assert facts("expand_attention_types", [[["global", "flash"], "all"]], 4) == ["global", "flash", "global", "global"]
    assert facts("expand_attention_types", [[["global"], 10**9]], 10**9) is None


def test_a_pattern_that_does_not_divide_the_layers_is_refused():
    with pytest.raises(Raised, match="not divisible"):
        facts("expand_attention_types", [[["global", "flash"], "all"]], 3)


@pytest.mark.parametrize("precision", ["", "precision: fp16, ", "precision: bfloat16, "])
def test_two_precisions_are_refused_whatever_another_file_says(tmp_path, precision):
    (tmp_path / "neox.yml").write_text(f"{{{precision}fp16: {{enabled: true}}, bf16: {{enabled: true}}, zero_optimization: {{stage: 1}}}}")
    found = check([str(tmp_path / "neox.yml")], kind="neox", gpus=8).diagnostics
    assert [(each.code, each.severity) for each in found] == [("PRC300", "error")]
