"""xtuner, whose configs are not modelled.

Source: xtuner b934f4620 xtuner/entry_point.py.
"""

from __future__ import annotations

from cfglint.frameworks.launch_line import LaunchLine
from cfglint.launch.launcher import Launcher
from cfglint.launch.surroundings import Surroundings
from cfglint.source.shell.placed_text import Text


class XTuner(Launcher):
    """`xtuner train`: its lines are recognised, but no run is made of them."""

    name = "xtuner"
    commands = {"xtuner": ""}
    words = ("xtuner",)

    def read(self, line: LaunchLine, words: list[Text], around: Surroundings) -> bool:
        """Return false."""
        return False


LAUNCHERS = (XTuner(),)
