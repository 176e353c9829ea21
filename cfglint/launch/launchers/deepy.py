"""GPT-NeoX: `deepy.py train.py -d configs a b.yml` (GPT-NeoX ea7aefd8 megatron/neox_arguments/arguments.py (consume_deepy_args))."""

from __future__ import annotations

from cfglint.evaluate import Reason
from cfglint.launch.launcher import Launcher
from cfglint.launch.line import MACHINE, LaunchLine, NamedFile
from cfglint.launch.machine import Surroundings
from cfglint.source.shell.placed_text import Text, after_mark, literal

OF_FILES = Reason("file", "hostfile, num_gpus or include of the YAML files, else the GPUs of the machine")


class Deepy(Launcher):
    """GPT-NeoX's program: the sizes are those of the files, else those of the machine."""

    name = "deepy.py"
    scripts = ("deepy.py",)
    marks = ("deepy",)
    kind = "neox"
    trains_by_default = True
    lists_files = True
    opens_files = True
    batch_source = "GPT-NeoX configs"

    def read(self, line: LaunchLine, words: list[Text], around: Surroundings) -> bool:
        line.starts(words)
        line.files.extend(NamedFile(word, "neox", "neox") for word in files_of(words))
        line.gpus_per_node, line.nodes, line.processes = around.machine.gpus_per_node, around.machine.nodes, around.machine.gpus
        line.machine = True
        if around.machine.gpus is None:
            line.unsure("gpus_per_node", OF_FILES)
            line.unsure("processes", MACHINE)
        return True

    def naming_words(self, words: list[Text]) -> list[Text]:
        return [*words[:1], *files_of(words)]


def files_of(words: list[Text]) -> list[Text]:
    folder: Text | None = None
    names: list[Text] = []
    index = 1
    while index < len(words):
        text = words[index].string
        if text in ("-d", "--conf_dir") and index + 1 < len(words):
            folder = words[index + 1]
            index += 1
        elif text.startswith("--conf_dir="):
            folder = after_mark(words[index])
        elif not text.startswith("-"):
            names.append(words[index])
        index += 1
    full = [name if name.string.endswith((".yml", ".json")) else name + literal(".yml") for name in names]
    return [folder + literal("/") + name for name in full] if folder is not None else full


LAUNCHERS = (Deepy(),)
