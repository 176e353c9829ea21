"""ms-swift: `swift sft`, `megatron sft` (ms-swift 4.6.0 swift/cli/main.py)."""

from __future__ import annotations

from cfglint.launch.launcher import SIZE_VARIABLE, OfVariables, names_config
from cfglint.launch.line import LaunchLine, NamedFile
from cfglint.launch.machine import Surroundings, visible
from cfglint.source.shell.placed_text import Text, literal

TRAINERS = ("sft", "pt", "rlhf")
CONFIG_OPTION = "--config"
RAY, RAY_PROGRAM = "--use_ray", "swift.ray.megatron"


class SwiftLauncher(OfVariables):
    """`swift sft`: torchrun if one of the variables is set, else one process for all GPUs."""

    name = "swift"
    commands = {"swift": ""}
    modules = ("swift.cli.main",)
    words = ("swift",)
    kind = "swift"
    opens_files = True
    takes_arguments = True
    shares_devices = True
    runs_in_ranks = True  # its program inherits the variables of the rank
    always_several = False  # whether it always starts torchrun

    def read(self, line: LaunchLine, words: list[Text], around: Surroundings) -> bool:
        if not words or words[0].value not in TRAINERS:
            return False
        line.starts([literal(f"{self.name} {words[0].value}"), *words[1:]], module=True)
        for place, word in enumerate(line.arguments):
            if not place and names_config(word):
                line.files.append(NamedFile(word, "positional", self.kind))
                values = around.values(word.value) if word.value is not None else None
                own = values.get("ENV") if values is not None else None
                if isinstance(own, dict):  # sets further variables
                    found = {str(key): literal(str(value)) for key, value in own.items()}
                    line.call.environment = {**found, **line.call.environment}
            elif place and line.arguments[place - 1].value == CONFIG_OPTION:  # before 4.1
                line.files.append(NamedFile(word, CONFIG_OPTION, self.kind))
        environment = line.call.environment
        line.machine_gpus = around.machine.gpus_per_node
        if SIZE_VARIABLE in environment or self.nodes_variable in environment or self.always_several:
            line.inner = "torchrun"
            line.sized(*self.sizes(line, around.machine))
        else:
            line.gpus_per_node, line.nodes, line.processes = visible(line, around.machine), 1, 1
        return True


class MegatronLauncher(SwiftLauncher):
    """`megatron sft`, always with torchrun."""

    name = "megatron"
    commands = {"megatron": ""}
    modules = ("swift.cli._megatron.main",)
    words = ("megatron",)
    kind = "megatron_swift"
    always_several = True
    runs_in_ranks = False

    def read(self, line: LaunchLine, words: list[Text], around: Surroundings) -> bool:
        """Parse `megatron sft`; with `--use_ray`, another program of `rlhf` reads the file (swift/cli/_megatron/rlhf.py)."""
        if not super().read(line, words, around):
            return False
        following = [after.value for word, after in zip(words, [*words[1:], literal("")], strict=True) if word.value == RAY]
        if words[0].value == "rlhf" and following and (following[0] or "").lower() != "false":
            line.program, line.files = literal(RAY_PROGRAM), []
        return True


LAUNCHERS = (SwiftLauncher(), MegatronLauncher())
