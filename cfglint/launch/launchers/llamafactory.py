"""`llamafactory-cli train`.

Source: LLaMA-Factory ff6d4d12e src/llamafactory/launcher.py.
"""

from __future__ import annotations

from cfglint.frameworks.launch_line import LaunchLine, NamedFile
from cfglint.launch.launcher import SIZE_VARIABLE, OfVariables, names_config
from cfglint.launch.machine import VISIBLE, Machine, number, visible
from cfglint.launch.surroundings import Surroundings
from cfglint.source.shell.placed_text import Text, literal

ON = ("true", "y", "1")


class LlamaFactoryLauncher(OfVariables):
    """LLaMA-Factory's command: one process for one visible GPU, else torchrun."""

    name = "llamafactory-cli"
    commands = {"llamafactory-cli": "", "lmf": ""}
    modules = ("llamafactory.cli", "llamafactory")
    marks = ("llamafactory",)
    words = ("lmf",)
    kind = "llamafactory"
    opens_files = True
    takes_arguments = True
    takes_assignments = True
    refused_words = "ValueError: Some specified arguments are not used by the HfArgumentParser: {}"  # its hparams/parser.py (_parse_args)
    own_fields = ("overwrite_output_dir",)  # LLaMA-Factory 0.9.5 hparams/training_args.py; transformers has removed its own

    def read(self, line: LaunchLine, words: list[Text], around: Surroundings) -> bool:
        """Parse `llamafactory-cli train X`."""
        if not words or words[0].value != "train":
            return False
        environment = line.call.environment
        line.module = True
        line.program = literal("llamafactory")
        line.arguments = words[1:]
        if line.arguments and names_config(line.arguments[0]):
            line.files.append(NamedFile(line.arguments[0], "positional", "llamafactory"))
        forced = is_switched_on(environment.get("FORCE_TORCHRUN"))
        if is_switched_on(environment.get("USE_RAY")) or is_switched_on(environment.get("USE_KT")):
            line.sized(1, 1)
            return True
        if SIZE_VARIABLE not in environment:
            each = visible(line, around.machine)
        else:
            each = number(environment[SIZE_VARIABLE], 1, around.machine, line, "gpus_per_node")
            seen = visible_count(line, around.machine)
            if not forced and seen == 1:
                each = 1
        nodes = number(environment.get("NNODES"), 1, around.machine.with_nodes(each), line, "nodes")
        line.inner = "torchrun"
        line.sized(each, nodes)
        return True


def visible_count(line: LaunchLine, machine: Machine) -> int | None:
    """The number of visible GPUs, without recording why it is unknown."""
    given = line.call.environment.get(VISIBLE)
    if given is None or given.value is None:
        return machine.gpus_per_node
    return len([each for each in given.value.split(",") if each.strip().isdigit()])


def is_switched_on(text: Text | None) -> bool:
    """Whether an environment variable is switched on."""
    return text is not None and (text.value or "").lower() in ON


LAUNCHERS = (LlamaFactoryLauncher(),)
