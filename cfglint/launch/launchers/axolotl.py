"""`axolotl train` (axolotl 067b021c8 src/axolotl/cli/utils/train.py)."""

from __future__ import annotations

from cfglint.launch.launchers import accelerate, torchrun
from cfglint.launch.line import LaunchLine, NamedFile
from cfglint.launch.machine import Surroundings
from cfglint.source.shell.placed_text import Text, literal


class AxolotlLauncher(accelerate.OfAccelerate):
    """axolotl's command: accelerate launch, or the launcher that `--launcher` names; launcher options come after `--`."""

    name = "axolotl"
    commands = {"axolotl": ""}
    marks = ("axolotl",)
    kind = "axolotl"
    opens_files = True
    refused_config = "Error: Invalid value for 'CONFIG': Path '{}' does not exist."  # axolotl 0.21.0 cli/main.py
    always_trains = True
    counts = {}

    def read(self, line: LaunchLine, words: list[Text], around: Surroundings) -> bool:
        if not words or words[0].value != "train":
            return False
        launcher, arguments, extra = split(words[1:])
        named = next((word for word in arguments if not word.string.startswith("-")), None)
        program = [literal("-m"), literal("axolotl.cli.train"), *arguments]
        line.inner = launcher
        if launcher == "torchrun":
            torchrun.Torchrun().read(line, [*extra, *program], around)
        elif launcher == "accelerate":
            accelerate.AccelerateLauncher().read(line, [*extra, *program], around)
        else:
            line.starts(program[1:], module=True)
            line.sized(1, 1)
        if named is not None:
            line.files.append(NamedFile(named, "positional", "axolotl"))
        return True


def split(words: list[Text]) -> tuple[str, list[Text], list[Text]]:
    """(launcher, arguments of the program, options of the launcher) of the words of `axolotl train`."""
    at = next((index for index, word in enumerate(words) if word.value == "--"), len(words))
    rest, extra = words[:at], words[at + 1 :]
    launcher = "accelerate"
    arguments: list[Text] = []
    index = 0
    while index < len(rest):
        name, mark, value = rest[index].string.partition("=")
        after = 1 if mark else 2
        if name == "--launcher":
            launcher = value if mark else rest[index + 1].string if index + 1 < len(rest) else launcher
        elif name.replace("-", "_") in ("__num_processes", "__main_process_port"):
            extra = [*rest[index : index + after], *extra]
        else:
            arguments.append(rest[index])
            after = 1
        index += after
    return launcher, arguments, extra


LAUNCHERS = (AxolotlLauncher(),)
