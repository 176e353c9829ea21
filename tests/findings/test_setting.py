"""The place of a setting."""

from __future__ import annotations

from cfglint.findings.setting import Setting
from cfglint.source.document import Written
from cfglint.source.parse import parse


def test_a_value_that_could_be_added_elsewhere_has_the_place_of_its_origin():
    setting = Setting(("lr",), 1, elsewhere=Written(parse("a.yaml", "x: 1\n", "yaml"), ("lr",)))
    assert (setting.place, setting.spelled) == ("default", "1")
