"""A command of ms-swift as its parser takes it: what the configs of `swift` and `megatron_swift` have in common.

Source: ms-swift 4.6.0 pipelines/base.py:35-44, utils/utils.py:178-190; transformers 5.19.0 hf_argparser.py:158-260.
"""

from __future__ import annotations

import json

from cfglint.findings.setting import WRITTEN, Setting
from cfglint.frameworks.arguments.config import OptionsConfig
from cfglint.frameworks.arguments.parsing import LEFT, ListedWords, RefusedWords, plain
from cfglint.frameworks.huggingface import PACKAGE as TRANSFORMERS
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases.versions import Version
from cfglint.frameworks.swift import COMMANDS
from cfglint.frameworks.swift.fields import HISTORY, Arguments, exists
from cfglint.launch.argparse_types import spellings
from cfglint.source.annotations import Any, ConfigMapping, Operand
from cfglint.source.document import MAPPING, SCALAR, Document, Node
from cfglint.source.loaders import JSON_WORDS
from cfglint.source.shell.command import CommandDocument

DASHED: Version = (4, 46)  # from this release of transformers on, each option is also spelled with dashes
FILE_WINS: Version = (4, 1)  # before, `--config` names a file, which overrides the line; from here on a file is the first argument
CONFIG = "config"  # the option that names a file before 4.1
RLHF, RLHF_TYPE = "rlhf", "rlhf_type"
VISIBLE = ("CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES")
MAPPINGS = (
    "columns dataset_args device_groups extra_megatron_kwargs gradient_checkpointing_kwargs lr_scheduler_kwargs max_memory"
    " megatron_extra_kwargs model_kwargs mrl_dims teacher_deepspeed vit_gradient_checkpointing_kwargs"
).split()
OPTIONS = ListedWords("HfArgumentParser.parse_args_into_dataclasses")


def command_of(facts: LaunchFacts, document: Document) -> str:
    """The command of a run: `sft`, `pt`, `rlhf`; if no line starts it, it follows from the keys of the file."""
    line = facts.launch.line
    if line is None or line.program is None:
        keys = (key.raw for key, _ in document.root.children) if document.root is not None and document.root.kind == MAPPING else ()
        return RLHF if any(HISTORY.sections_with(key)[:1] == [RLHF] for key in keys) else COMMANDS[-1]
    words = line.program.string.replace("\\", "/").removesuffix(".py").replace(".", " ").replace("/", " ").split()
    return words[-1] if words and words[-1] in COMMANDS else COMMANDS[-1]


class CommandConfig(OptionsConfig):
    command: str
    known: Arguments
    root: Operand

    def _completed(self, values: ConfigMapping) -> ConfigMapping:
        document, line, is_former = self.documents[0], self.facts.launch.line, self.own_version < FILE_WINS
        words, overrides = dict(values), self.facts.overrides
        shown = spellings if self.facts.version(TRANSFORMERS, "") >= DASHED else plain
        if not document.is_command:
            words = {str(key): as_words(value) for key, value in values.items() if key != "ENV"}  # a key of a file, for variables
            named = [file for file in line.files if file.role in ("positional", f"--{CONFIG}")] if line is not None else []
            file = named[0].word.string if named else ""
            if line is not None and any(file.role == f"--{CONFIG}" for file in line.files):
                if is_former:
                    overrides = tuple(override for override in overrides if override.key not in words)
                else:  # no argument of this name, which is refused; the values are those of the file, however it is given
                    words = {CONFIG: [file], **words}
            elif line is not None and is_former:  # it is refused, too
                parsed = self.parse_words(words, overrides, shown)
                self.refused += [RefusedWords(LEFT, "", (file,))]
                return parsed
        return self.parse_words(words, overrides, shown)

    def parse_words(self, *arguments: Any) -> ConfigMapping:
        """The values; words for mappings are JSON. Of `deepspeed`, those that are false are no config."""
        values = super().parse_words(*arguments)
        words = {name: str(values.get(name)) for name in (*MAPPINGS, "deepspeed")}
        read = {name: JSON_WORDS[word] for name, word in words.items() if word in JSON_WORDS and (name, word) != ("deepspeed", "true")}
        return {**values, **read}

    def exists(self, key: str) -> bool:
        return exists(key)

    @property
    def devices_setting(self) -> Setting:
        """The variable with the visible GPUs, with its place; the command if it is not set in the script."""
        document, line = self.documents[0], self.facts.launch.line
        environment = line.call.environment if line is not None else {}
        word = next((environment[name] for name in VISIBLE if name in environment), None)
        if word is None or not isinstance(document, CommandDocument) or word.place is None or word.place[0] != document.path:
            return self.setting()
        start, end = document.within(word.place)
        return Setting((VISIBLE[0],), word.string, WRITTEN, document, Node(SCALAR, start, end, word.string))

    @property
    def shares_devices(self) -> bool:
        """Whether the processes share the GPUs that they see."""
        return True

    @property
    def devices(self) -> tuple[int, int] | None:
        """(visible GPUs, processes) of a node, as `swift.utils.is_mp` compares them; None if unknown, or if it does not compare them."""
        line = self.facts.launch.line
        if line is None or not line.processes or not line.nodes or line.processes % line.nodes:
            return None
        environment = line.call.environment
        single = environment.get("SWIFT_SINGLE_DEVICE_MODE")  # with 1 a process uses one GPU, however many it sees
        if single is not None and single.value in ("1", None):
            return None
        visible = next((environment[name] for name in VISIBLE if name in environment), None)
        seen = line.machine_gpus
        if visible is not None:
            seen = None if visible.value is None else len([device for device in visible.value.split(",") if device.strip()])
        return None if seen is None else (seen, line.processes // line.nodes)

    @property
    def is_whole(self) -> bool:
        return super().is_whole and not (self.facts.launch.line is not None and CONFIG in self.root)


def as_words(value: object) -> list[str]:
    """The words that ms-swift makes of a value of its YAML or JSON file (4.6.0 cli/main.py:50-61)."""
    if isinstance(value, list):
        return [str(item) for item in value]
    if isinstance(value, dict):
        return [json.dumps(value, ensure_ascii=False)]
    return [str(value)]
