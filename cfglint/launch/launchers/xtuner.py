"""`xtuner train`, whose configs are not modelled.

Source: xtuner b934f4620 xtuner/entry_point.py.
"""

from __future__ import annotations

from cfglint.launch.launcher import SIZE_VARIABLE, OfVariables
from cfglint.launch.line import LaunchLine
from cfglint.launch.machine import Surroundings, number
from cfglint.source.shell.placed_text import Text


class XTuner(OfVariables):
    """XTuner's command: one process, or torchrun if one of the variables asks for several."""

    name = "xtuner"
    unmodelled = "XTuner"
    commands = {"xtuner": "train"}
    words = ("xtuner",)
    has_own_parser = True
    lists_files = True

    def read(self, line: LaunchLine, words: list[Text], around: Surroundings) -> bool:
        """Parse `xtuner train CONFIG`; the config is a program, or the name of one of XTuner's."""
        line.module = True
        line.program, line.arguments = (words[0], words[1:]) if words else (None, [])
        each, nodes = (
            number(line.call.environment.get(name), 1, around.machine, line, field)
            for name, field in ((SIZE_VARIABLE, "gpus_per_node"), (self.nodes_variable, "nodes"))
        )
        line.inner = "torchrun" if (each, nodes) != (1, 1) else ""
        line.sized(each, nodes)
        return True


LAUNCHERS = (XTuner(),)
