"""The options of Hydra itself on a command line."""

from __future__ import annotations

from cases import each_case
from cfglint.source.hydra.command_line import refused, split


@each_case(
    ("flags", "error"),
    [
        (["--data.seed=1"], "error: unrecognized arguments: --data.seed=1"),
        (["--config", "--steps"], "error: ambiguous option: --config could match --config-path, --config-name, --config-dir"),
        (["--config-n", "--multi", "--info"], ""),
    ],
)
def test_what_argparse_says_of_options_that_hydra_does_not_have(flags, error):
    assert refused(flags) == error


def test_the_value_of_an_unknown_option_is_no_override():
    assert split(["--config", "x.yaml", "a=1", "--info", "b"]) == ([("--config", "", 0), ("--info", "", 3)], [2, 4])
