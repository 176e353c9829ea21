"""`--args TEXT`: the arguments of a launch line without a script."""

from __future__ import annotations

import os

from cfglint.launch.arguments import read_arguments
from cfglint.launch.line import MACHINE, LaunchLine
from cfglint.launch.reader import Reader
from cfglint.source.project_files import ROOT
from cfglint.source.shell.script import Script

NAME = "--args"  # the name in reports in place of a script


def line_by_hand(reader: Reader, text: str) -> LaunchLine | None:
    """The launch line with the given arguments, started from the working directory; None if the string is not one list of words."""
    here = os.path.normpath(f"{ROOT}/{os.path.relpath(os.getcwd(), os.path.abspath(reader.project.root))}")
    calls = reader.follow(Script(NAME, text), here, f"{here}/{NAME}", text).calls
    if len(calls) != 1:
        return None
    [call] = calls
    line = LaunchLine(call, NAME)
    line.folder = here
    words = call.words
    first = words[0].value or ""
    if first.endswith(".py"):
        line.program, words = words[0], words[1:]
        line.program_path = reader.around(here).path_of(first)
    line.arguments = words
    line.processes, line.machine = reader.machine.gpus, True
    if line.processes is None:
        line.unsure("processes", MACHINE)
    reader.name_files(line, *read_arguments(words))
    for file in line.files:
        reader.locate(file, line, known=True)
    return line
