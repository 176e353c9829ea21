"""A rule that looks up a field of no release is an error of ours, not a rule that never applies."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.findings.setting import NoSuchField
from cfglint.frameworks.deepspeed.models import ZERO, read_section
from cfglint.frameworks.huggingface.arguments import Arguments
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.llamafactory.config import LlamaFactoryConfig
from cfglint.frameworks.neox.config import NeoXConfig
from cfglint.frameworks.trl.config import TrlConfig
from cfglint.source.parse import parse


@each_case(
    "look_up",
    [
        lambda: read_section(ZERO, {"stage": 1}, (0, 19, 8))["stge"],
        lambda: Arguments({}, (5, 23, 0))["learning_rat"],
        lambda: TrlConfig([parse("a.yaml", "{}\n", "yaml")], LaunchFacts(trainer="sft")).arguments["packin"],
        lambda: NeoXConfig([parse("a.yml", "{}\n", "yaml")], LaunchFacts()).argument("comet"),
        lambda: LlamaFactoryConfig([parse("a.yaml", "{}\n", "yaml")], LaunchFacts()).own("finetuning_typ"),
    ],
)
def test_a_field_of_no_release_cannot_be_looked_up(look_up):
    with pytest.raises(NoSuchField):
        look_up()


def test_a_field_of_another_release_is_none():
    assert Arguments({}, (5, 23, 0))["evaluation_strategy"] is None
