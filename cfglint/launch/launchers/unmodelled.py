"""The commands of tools whose configs are not modelled: torchtune's `tune run` and `xtuner train`.

Source: torchtune 0.6.1 torchtune/_cli/run.py (Run._run_cmd): torchrun's options come before the recipe; xtuner b934f4620
xtuner/entry_point.py.
"""

from __future__ import annotations

from cfglint.launch.launcher import Launcher, OfVariables
from cfglint.launch.launchers import torchrun
from cfglint.launch.line import LaunchLine
from cfglint.launch.machine import Surroundings
from cfglint.source.shell.placed_text import Text

TRAINS = ("finetune", "dpo", "ppo", "grpo", "knowledge_distillation", "qat")


class Torchtune(Launcher):
    """`tune run`: a recipe in one process, or with torchrun if one of its options is given."""

    name = "tune run"
    unmodelled = "torchtune"
    commands = {"tune": "run"}
    words = ("tune",)
    has_own_parser = True
    always_trains = True
    takes_assignments = True

    def read(self, line: LaunchLine, words: list[Text], around: Surroundings) -> bool:
        """Parse the options of torchrun and the recipe; a recipe that does not train is left out."""
        torchrun.Torchrun().read(line, words, around)
        if not line.options.given:
            line.unknown.clear()
            line.sized(1, 1)
        line.module = True
        return line.program is not None and any(mark in line.program.string for mark in TRAINS)


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
        line.starts(words, module=True)
        each, nodes = self.sizes(line, around.machine)
        line.inner = "torchrun" if (each, nodes) != (1, 1) else ""
        line.sized(each, nodes)
        return True


LAUNCHERS = (Torchtune(), XTuner())
