"""The command line of a run: which command it starts, how many GPUs each process sees, and its options with their words."""

from __future__ import annotations

from cfglint.frameworks.arguments.parsing import ListedWords
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases.versions import Version
from cfglint.frameworks.swift import COMMANDS
from cfglint.source.document import Document
from cfglint.source.shell.placed_text import Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.launch.line import LaunchLine

FILE_WINS: Version = (4, 1)  # before, `--config` names a file, which overrides the line; from here on a file is the first argument
CONFIG = "config"  # the option that names a file before 4.1
RLHF, RLHF_TYPE = "rlhf", "rlhf_type"
SINGLE_DEVICE = "SWIFT_SINGLE_DEVICE_MODE"  # with 1 a process uses one GPU, however many it sees
VISIBLE = ("CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES")


OPTIONS = ListedWords("HfArgumentParser.parse_args_into_dataclasses")


def command_of(facts: LaunchFacts, document: Document) -> str:
    """The command of a run: `sft`, `pt`, `rlhf`; if no line starts it, it follows from the keys of the file."""
    line = facts.launch.line
    if line is None or line.program is None:
        return RLHF if document.find((RLHF_TYPE,))[1] is not None else COMMANDS[-1]
    words = line.program.string.replace("\\", "/").removesuffix(".py").replace(".", " ").replace("/", " ").split()
    return words[-1] if words and words[-1] in COMMANDS else COMMANDS[-1]


def named_by_option(line: LaunchLine | None) -> bool:
    """Whether a line names the file of its arguments by `--config`."""
    return line is not None and any(file.role == f"--{CONFIG}" for file in line.files)


def named_file(line: LaunchLine | None) -> str:
    """The file of the arguments as a line names it; empty if it names none."""
    roles = ("positional", f"--{CONFIG}")
    return next((file.word.string for file in line.files if file.role in roles), "") if line is not None else ""


def devices_per_process(facts: LaunchFacts) -> tuple[int, int] | None:
    """(visible GPUs, processes) of a node, as `swift.utils.is_mp` compares them; None if one of them is unknown."""
    line = facts.launch.line
    if line is None or is_single_device(line):
        return None
    seen = visible(line)
    if seen is None or not line.processes or not line.nodes or line.processes % line.nodes:
        return None
    return seen, line.processes // line.nodes


def visible(line: LaunchLine) -> int | None:
    """The GPUs that each process of a line sees: those of the variables, else those of the machine."""
    for name in VISIBLE:
        text = line.call.environment.get(name)
        if text is not None:
            return None if text.value is None else counted(text.value)
    return line.machine_gpus


def counted(devices: str) -> int:
    """The number of devices in a list."""
    return len([each for each in devices.split(",") if each.strip()])


def is_single_device(line: LaunchLine) -> bool:
    """Whether a variable says that each process uses one GPU, or may say so."""
    text = line.call.environment.get(SINGLE_DEVICE)
    return text is not None and text.value in ("1", None)


def shown_devices(line: LaunchLine) -> Text | None:
    """The variable with the visible GPUs, as it is written."""
    return next((line.call.environment[name] for name in VISIBLE if name in line.call.environment), None)
