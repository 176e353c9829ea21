"""`trl sft` and the other commands of TRL (trl 1.16.0 trl/cli)."""

from __future__ import annotations

from itertools import pairwise

from cfglint.launch.accelerate_options import FLAGS, PACKAGED, PACKAGED_PROCESSES
from cfglint.launch.launcher import is_option
from cfglint.launch.launchers import accelerate
from cfglint.launch.line import LaunchLine, NamedFile, Option, Options
from cfglint.launch.machine import Surroundings
from cfglint.source.files import CONFIG_ENDS
from cfglint.source.shell.placed_text import Text, after_mark, literal

TRAINERS = ("sft", "dpo", "grpo", "kto", "reward", "rloo", "distillation", "bco", "cpo", "orpo", "ppo")


class TrlLauncher(accelerate.OfAccelerate):
    """TRL's command: accelerate launch of a script of TRL's; accelerate's options may appear anywhere among the others."""

    name = "trl"
    commands = {"trl": ""}
    words = ("trl",)
    kind = "trl"
    takes_arguments = True
    always_trains = True
    opens_files = True

    def read(self, line: LaunchLine, words: list[Text], around: Surroundings) -> bool:
        if not words or words[0].value not in TRAINERS:
            return False
        line.module = True
        line.program = literal(f"trl {words[0].value}")
        line.options, line.arguments = split(words)
        for option, word in pairwise(words):
            if option.value == "--config":
                line.files.append(NamedFile(word, "--config", "trl"))
                values = around.values(word.value) if word.value is not None else None
                for key, value in (values or {}).items():  # one without a value stops the launch
                    name = key.replace("-", "_") if isinstance(key, str) else ""
                    if name in LAUNCH_NAMES and name not in FLAGS and name not in line.options.given:
                        line.options.given[name] = Option(name, word, literal(str(value)), in_file=True)
        start(line, around)
        stray = stray_word(line.arguments)
        if stray is not None:
            file = stray.string.endswith(CONFIG_ENDS)
            message = f"`{stray.string}` belongs to no option of `{line.program.string}`" + (
                "; a file stands behind `--config`" if file else ""
            )
            remedy = f"write `--config {stray.string}`" if file else f"write `--{stray.string.replace('=', ' ', 1)}`"
            line.refuse("LCH022", stray, stray.string, message, f"error: unrecognized arguments: {stray.string}", remedy=remedy)
        return True


def stray_word(words: list[Text]) -> Text | None:
    """A word that the parser leaves to accelerate, which takes it for the program, or refuses (trl 1.16.0 cli/commands/training.py, 0.17.0
    cli.py): one before all options, or `key=value` behind the value of an option.
    """
    known = [word for word in words if word.known]
    if known and known[0] is words[0] and not is_option(known[0]) and known[0].string.endswith(CONFIG_ENDS):
        return known[0]
    pairs = ((before, word) for before, word in pairwise(words) if before.known and word.known)
    is_key = (
        word for before, word in pairs if not is_option(before) and word.string.partition("=")[0].isidentifier() and "=" in word.string
    )
    return next(is_key, None)


def start(line: LaunchLine, around: Surroundings) -> None:
    """Compute the launch from accelerate's options of a `trl` line; `accelerate_config` is a path or a name of TRL's."""
    given = line.options.given
    named = given.pop("accelerate_config", None)
    if named is None or named.value is None:
        accelerate.resolve(line, around)
        return
    name = named.value.value
    given["config_file"] = named
    if name in PACKAGED:
        line.inner = name
        accelerate.resolve_with(
            line, around.machine, named.value, {"distributed_type": PACKAGED[name], "num_processes": PACKAGED_PROCESSES}
        )
    elif named.in_file:  # the file is added to the run together with the one that names it
        accelerate.resolve_with(line, around.machine, named.value, around.values(name) if name is not None else None)
    else:
        accelerate.resolve(line, around)
        line.files[-1].role = "launcher:accelerate_config"


def split(words: list[Text]) -> tuple[Options, list[Text]]:
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
        elif name in FLAGS:
            options.given[name] = Option(name, word, None)
        elif "=" in word.string:
            options.given[name] = Option(name, word, after_mark(word))
        elif index < len(words):
            options.given[name] = Option(name, word, words[index])
            index += 1
    return options, arguments


LAUNCH_NAMES = frozenset(
    (*accelerate.TYPES, "num_processes", "num_machines", "config_file", "machine_rank", "main_process_port", "main_process_ip", "gpu_ids",
     "mixed_precision", "accelerate_config", "deepspeed_config_file", "zero_stage", "num_cpu_threads_per_process", "cpu"),
)  # fmt: skip


LAUNCHERS = (TrlLauncher(),)
