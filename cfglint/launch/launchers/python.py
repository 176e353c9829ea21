"""`python train.py`, `python -m module`."""

from __future__ import annotations

from cfglint.batch.nodes import Size
from cfglint.launch.launcher import Launcher
from cfglint.launch.line import RANKS_OF_SRUN, LaunchLine
from cfglint.launch.machine import Surroundings
from cfglint.source.shell.placed_text import Text
from cfglint.source.shell.wrappers import PYTHON


class Python(Launcher):
    """A program without a launcher: one process, or as many as srun starts."""

    name = PYTHON
    marks = (PYTHON,)
    is_one_process = True

    def read(self, line: LaunchLine, words: list[Text], around: Surroundings) -> bool:
        index = 0
        while index < len(words):
            text = words[index].string
            if text == "-m":
                line.starts(words[index + 1 :], module=True)
                break
            if text in ("-c", "-"):
                return False
            if text in ("-W", "-X"):
                index += 2
                continue
            if text.startswith("-"):
                index += 1
                continue
            line.starts(words[index:])
            break
        if line.program is None:
            return False
        if line.srun:
            line.unsure("processes", RANKS_OF_SRUN)
        else:
            line.processes = 1
        return True

    def why_fixed(self, line: LaunchLine, wanted: Size) -> str:
        if line.srun:
            return super().why_fixed(line, wanted)
        return f"`python` starts one process; start the program with `torchrun --nproc_per_node {wanted.per_node}`"


LAUNCHERS = (Python(),)
