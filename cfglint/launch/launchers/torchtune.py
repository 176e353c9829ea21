"""torchtune's `tune run`, whose recipes are not modelled.

Source: torchtune 0.6.1 torchtune/_cli/run.py (Run._run_cmd): torchrun's options come before the recipe.
"""

from __future__ import annotations

from cfglint.launch.launcher import Launcher
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


LAUNCHERS = (Torchtune(),)
