"""Command lines that start a launcher of their own: llamafactory-cli, swift, trl, axolotl, xtuner; plain python; deepy.py.

Sources: LLaMA-Factory ff6d4d12e src/llamafactory/launcher.py; ms-swift 3602360a5 swift/cli/main.py; axolotl 067b021c8
src/axolotl/cli/utils/train.py; trl 1.16.0 trl/cli; xtuner b934f4620 xtuner/entry_point.py; GPT-NeoX ea7aefd8
megatron/neox_arguments/arguments.py (consume_deepy_args).
"""

from __future__ import annotations

from itertools import pairwise

from cfglint.frameworks.accelerate.packaged import PACKAGED, PACKAGED_PROCESSES
from cfglint.frameworks.launch_line import MACHINE, NamedFile, Option, Options
from cfglint.launch import accelerate, torchrun
from cfglint.launch.machine import Machine, number, visible
from cfglint.launch.options import after_mark, is_option
from cfglint.source.shell.placed_text import Text, literal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cfglint.frameworks.launch_line import LaunchLine

ON = ("true", "y", "1")
TRL_TRAINERS = ("sft", "dpo", "grpo", "kto", "reward", "rloo", "distillation", "bco", "cpo", "orpo", "ppo")
SWIFT_TRAINERS = ("sft", "pt", "rlhf")


def llamafactory(line: LaunchLine, words: list[Text], machine: Machine) -> bool:
    """Parse `llamafactory-cli train X`: one process for one visible GPU, else torchrun. Return whether it is a training."""
    if not words or words[0].value != "train":
        return False
    environment = line.call.environment
    line.module = True
    line.program = literal("llamafactory")
    line.arguments = words[1:]
    if line.arguments and line.arguments[0].string.endswith((".yaml", ".yml", ".json")):
        line.files.append(NamedFile(line.arguments[0], "positional", "llamafactory"))
    forced = is_switched_on(environment.get("FORCE_TORCHRUN"))
    if is_switched_on(environment.get("USE_RAY")) or is_switched_on(environment.get("USE_KT")):
        line.sized(1, 1)
        return True
    if "NPROC_PER_NODE" not in environment:
        each = visible(line, machine)
    else:
        each = number(environment["NPROC_PER_NODE"], 1, machine, line, "gpus_per_node")
        seen = visible_count(line, machine)
        if not forced and seen == 1:
            each = 1
    nodes = number(environment.get("NNODES"), 1, machine, line, "nodes")
    line.inner = "torchrun"
    line.sized(each, nodes)
    return True


def visible_count(line: LaunchLine, machine: Machine) -> int | None:
    """The number of visible GPUs, without recording why it is unknown."""
    given = line.call.environment.get("CUDA_VISIBLE_DEVICES")
    if given is None or given.value is None:
        return machine.gpus_per_node
    return len([each for each in given.value.split(",") if each.strip().isdigit()])


def is_switched_on(text: Text | None) -> bool:
    """Whether an environment variable is switched on."""
    return text is not None and (text.value or "").lower() in ON


def swift(line: LaunchLine, words: list[Text], machine: Machine) -> bool:
    """Parse `swift sft`: torchrun if NPROC_PER_NODE or NNODES is set, else one process for all GPUs."""
    if not words or words[0].value not in SWIFT_TRAINERS:
        return False
    environment = line.call.environment
    line.module = True
    line.program = literal(f"{line.launcher} {words[0].value}")
    line.arguments = words[1:]
    if "NPROC_PER_NODE" in environment or "NNODES" in environment or line.launcher == "megatron":
        line.inner = "torchrun"
        each = number(environment.get("NPROC_PER_NODE"), 1, machine, line, "gpus_per_node")
        line.sized(each, number(environment.get("NNODES"), 1, machine, line, "nodes"))
    else:
        line.gpus_per_node, line.nodes, line.processes = visible(line, machine), 1, 1
    return True


def trl(line: LaunchLine, words: list[Text], machine: Machine, values_of: Callable[[str], dict[Any, Any] | None]) -> bool:
    """Parse `trl sft ...`: accelerate launch of a script of TRL's; accelerate's options may appear anywhere among the others."""
    if not words or words[0].value not in TRL_TRAINERS:
        return False
    line.module = True
    line.program = literal(f"trl {words[0].value}")
    line.options, line.arguments = trl_options(words)
    for option, word in pairwise(words):
        if option.value == "--config":
            line.files.append(NamedFile(word, "--config", "trl"))
            add_file_options(line.options, word, values_of(word.value) if word.value is not None else None)
    start(line, machine, values_of)
    return True


def start(line: LaunchLine, machine: Machine, values_of: Callable[[str], dict[Any, Any] | None]) -> None:
    """Compute the launch from accelerate's options of a `trl` line; `accelerate_config` is a path or a name of TRL's."""
    assert line.options is not None
    given = line.options.given
    named = given.pop("accelerate_config", None)
    if named is None or named.value is None:
        accelerate.resolve(line, machine, values_of)
        return
    name = named.value.value
    given["config_file"] = named
    if name in PACKAGED:
        line.inner = name
        accelerate.resolve_with(line, machine, named.value, {"distributed_type": PACKAGED[name], "num_processes": PACKAGED_PROCESSES})
    elif named.in_file:  # the file is added to the run together with the one that names it
        accelerate.resolve_with(line, machine, named.value, values_of(name) if name is not None else None)
    else:
        accelerate.resolve(line, machine, values_of)
        line.files[-1].role = "launcher:accelerate_config"


def trl_options(words: list[Text]) -> tuple[Options, list[Text]]:
    """(accelerate's options, the words that remain for the script) of the words after `trl`."""
    options = Options()
    arguments: list[Text] = []
    index = 1
    while index < len(words):
        word = words[index]
        name = word.string.partition("=")[0].lstrip("-").replace("-", "_")
        index += 1
        if not is_option(word) or name not in LAUNCH_NAMES:
            arguments.append(word)
        elif name in accelerate.FLAGS:
            options.given[name] = Option(name, word, None)
        elif "=" in word.string:
            options.given[name] = Option(name, word, after_mark(word))
        elif index < len(words):
            options.given[name] = Option(name, word, words[index])
            index += 1
    return options, arguments


def add_file_options(options: Options, word: Text, values: dict[Any, Any] | None) -> None:
    """Add accelerate's options from the config file, if the line does not have them; one without a value stops the launch."""
    for key, value in (values or {}).items():
        name = key.replace("-", "_") if isinstance(key, str) else ""
        if name in LAUNCH_NAMES and name not in accelerate.FLAGS and name not in options.given:
            options.given[name] = Option(name, word, literal(str(value)), in_file=True)


LAUNCH_NAMES = frozenset(
    (*accelerate.TYPES, "num_processes", "num_machines", "config_file", "machine_rank", "main_process_port", "main_process_ip", "gpu_ids",
     "mixed_precision", "accelerate_config", "deepspeed_config_file", "zero_stage", "num_cpu_threads_per_process", "cpu"),
)  # fmt: skip


def axolotl(line: LaunchLine, words: list[Text], machine: Machine, values_of: Callable[[str], dict[Any, Any] | None]) -> bool:
    """Parse `axolotl train X`: accelerate launch, or the launcher that `--launcher` names; launcher options come after `--`."""
    if not words or words[0].value != "train":
        return False
    launcher, arguments, extra = axolotl_words(words[1:])
    named = next((word for word in arguments if not word.string.startswith("-")), None)
    program = [literal("-m"), literal("axolotl.cli.train"), *arguments]
    line.inner = launcher
    if launcher == "torchrun":
        torchrun.read(line, [*extra, *program], machine)
    elif launcher == "accelerate":
        accelerate.read(line, [*extra, *program], machine, values_of)
    else:
        line.module, line.program, line.arguments = True, literal("axolotl.cli.train"), arguments
        line.sized(1, 1)
    if named is not None:
        line.files.append(NamedFile(named, "positional", "axolotl"))
    return True


def axolotl_words(words: list[Text]) -> tuple[str, list[Text], list[Text]]:
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


def deepy(line: LaunchLine, words: list[Text], machine: Machine) -> None:
    """Parse `deepy.py train.py -d configs a b.yml`: the sizes are those of the files, else those of the machine."""
    line.program = words[0] if words else None
    line.arguments = words[1:]
    line.files.extend(NamedFile(word, "neox", "neox") for word in deepy_files(words))
    reason = "deepy.py takes GPUs from hostfile / num_gpus / include of the YAML files, else from the machine"
    line.gpus_per_node, line.nodes, line.processes = machine.gpus_per_node, machine.nodes, machine.gpus
    line.machine = True
    if machine.gpus is None:
        line.unsure("gpus_per_node", reason)
        line.unsure("processes", MACHINE)


def deepy_files(words: list[Text]) -> list[Text]:
    """The config files after the program of a deepy.py line.

    Source: GPT-NeoX ea7aefd8 megatron/neox_arguments/arguments.py (consume_deepy_args).
    """
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


def plain(line: LaunchLine, words: list[Text]) -> bool:
    """Parse `python train.py`, `python -m module`: one process, or as many as srun starts."""
    index = 0
    while index < len(words):
        text = words[index].string
        if text == "-m":
            line.module = True
            line.program = words[index + 1] if index + 1 < len(words) else None
            line.arguments = words[index + 2 :]
            break
        if text in ("-c", "-"):
            return False
        if text in ("-W", "-X"):
            index += 2
            continue
        if text.startswith("-"):
            index += 1
            continue
        line.program, line.arguments = words[index], words[index + 1 :]
        break
    if line.program is None:
        return False
    if line.srun:
        line.unsure("processes", "srun starts the program itself; the ranks come from its own initialisation")
    else:
        line.processes = 1
    return True
