"""`llamafactory-cli train`, and its other commands where a line gives them the settings of a training.

Source: LLaMA-Factory ff6d4d12e src/llamafactory/launcher.py; llamafactory 0.9.5 hparams/parser.py (_INFER_ARGS, _EVAL_ARGS).
"""

from __future__ import annotations

from cfglint.launch.kinds import base_fields, kind_named
from cfglint.launch.launcher import SIZE_VARIABLE, Launcher, OfVariables, names_config
from cfglint.launch.line import LaunchLine, NamedFile
from cfglint.launch.machine import VISIBLE, Surroundings, number, visible
from cfglint.source.shell.placed_text import Text, literal

ON = ("true", "y", "1")
TRAIN = "train"
OTHERS = ("api", "chat", "eval", "export", "webchat")  # whose parsers have no arguments of the Trainer
FEW = 5  # refused keys that a message names


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
        """Parse `llamafactory-cli train X`; another command counts only where it is given the settings of a training."""
        if words and words[0].value in OTHERS:
            return OTHER.read(line, words, around)
        if not words or words[0].value != TRAIN:
            return False
        environment = line.call.environment
        line.starts([literal("llamafactory"), *words[1:]], module=True)
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
            shown = environment.get(VISIBLE)
            seen = around.machine.gpus_per_node
            if shown is not None and shown.value is not None:
                seen = len([each for each in shown.value.split(",") if each.strip().isdigit()])
            if not forced and seen == 1:
                each = 1
        nodes = number(environment.get("NNODES"), 1, around.machine.with_nodes(each), line, "nodes")
        line.inner = "torchrun"
        line.sized(each, nodes)
        return True


class OtherCommand(Launcher):
    """A command of LLaMA-Factory that trains nothing and refuses the settings of a training."""

    name = "llamafactory-cli for inference"
    always_trains = True  # it looks at no line that gives it nothing of a training

    def read(self, line: LaunchLine, words: list[Text], around: Surroundings) -> bool:
        """Whether the file or the options of the line have keys that only the training has."""
        command, *texts = words
        named = texts[0] if texts and names_config(texts[0]) else None
        values = around.values(named.string) if named is not None and named.known else None
        options = [word.string.partition("=")[0].lstrip("-").replace("-", "_") for word in texts if word.string.startswith("--")]
        refused = [key for key in (values or {}) if is_of_training(key)] if named is not None else [*filter(is_of_training, options)]
        if not refused or is_switched_on(line.call.environment.get("ALLOW_EXTRA_ARGS")):
            return False
        line.launcher, line.module, line.program = self.name, True, literal("llamafactory")
        what, said, given = "arguments", "specified arguments", str([f"--{key}" for key in refused])
        if named is not None:
            what, said, given = "keys", "keys", str(sorted(refused))
        names = [f"`{key}`" for key in refused[:FEW]] + (["..."] if len(refused) > FEW else [])
        message = f"`llamafactory-cli {command.string}` does not accept the {what} of a training: {', '.join(names)}"
        raised = f"ValueError: Some {said} are not used by the HfArgumentParser: {given}"
        remedy = f"remove the {what} of the training, or start it with `llamafactory-cli {TRAIN}`"
        line.refuse("LCH024", named or command, (named or command).string, message, raised, remedy=remedy)
        return True


def is_of_training(key: object) -> bool:
    """Whether a key is an argument of the Trainer, and in no release one of LLaMA-Factory's own."""
    return isinstance(key, str) and key in base_fields() and not kind_named(LlamaFactoryLauncher.kind).has_own_key(key)


def is_switched_on(text: Text | None) -> bool:
    return text is not None and (text.value or "").lower() in ON


OTHER = OtherCommand()
LAUNCHERS = (LlamaFactoryLauncher(), OTHER)
