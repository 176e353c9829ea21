"""Words of a launch line: which ones argparse takes for an option."""

from __future__ import annotations

from cases import each_case
from cfglint.launch.launcher import is_option
from cfglint.source.shell.placed_text import literal


@each_case(
    ("word", "option"),
    [("--lr", True), ("-m", True), ("-5", False), ("-.5", False), ("-", False), ("lr", False), ("-a b", False), ("--a=b c", True)],
)
def test_a_negative_number_is_no_option(word, option):
    assert is_option(literal(word)) is option
