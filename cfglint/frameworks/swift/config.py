"""A run of ms-swift: the arguments of its command, and the trainer that it builds."""

from __future__ import annotations

from cfglint.evaluate import Reason, Unknown
from cfglint.findings.releases import Releases
from cfglint.findings.setting import DEFAULT, DERIVED, Setting
from cfglint.frameworks.arguments.parsing import INVALID, LEFT, RefusedWords
from cfglint.frameworks.huggingface import PACKAGE as TRANSFORMERS
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.refusal import Refusal
from cfglint.frameworks.releases.versions import Version, parse_version
from cfglint.frameworks.swift import FRAMEWORK, LIBRARY
from cfglint.frameworks.swift.arguments import SwiftArguments
from cfglint.frameworks.swift.fields import HISTORY, RENAMED, arguments_of, config_files, libraries
from cfglint.frameworks.swift.parsed_command import RLHF, RLHF_TYPE, CommandConfig, command_of
from cfglint.source.annotations import Collection, Operand, Sequence
from cfglint.source.document import Document

OWN_LOADER = ("sft", "pt")  # commands whose batches are those of ms-swift's own loader,
OWN_LOADER_TYPES = ("dpo",)  # and kinds of preference training
FAST_INFERENCE = Releases((3, 2), (3, 6))  # a process is not asked for its GPUs where an engine generates the completions

REFUSED = Reason("argument", "a value that the parser refuses")


class SwiftConfig(CommandConfig, TrainerConfig):
    """The config of a training command. `refused` are the words that its parser refuses."""

    framework = FRAMEWORK
    arguments: SwiftArguments
    sole_consumer = True
    evaluation_assumed = "the evaluation set is that of the arguments"
    seeded_at = "config"

    def __init__(self, documents: list[Document], facts: LaunchFacts, kinds: Sequence[str] = ()) -> None:
        self.own_version: Version = facts.version(FRAMEWORK.package, FRAMEWORK.newest)
        facts = facts.within(libraries(self.own_version))
        self.library_version: Version = facts.version(LIBRARY, "")
        self.command = command_of(facts, documents[0])
        self.known = arguments_of(self.command, self.own_version, facts.version(TRANSFORMERS, ""))
        self.refused: list[RefusedWords] = []
        super().__init__(documents, facts, kinds)

    @property
    def is_older(self) -> bool:
        """Whether the release is one before those that are modelled, which has arguments, defaults and checks of its own."""
        stated = self.facts.outside.get(FRAMEWORK.package, "")
        return stated[:1].isdigit() and parse_version(stated) < parse_version(FRAMEWORK.oldest)

    @property
    def refusals(self) -> list[Refusal]:
        return [] if self.is_older else super().refusals

    def parsed_arguments(self) -> SwiftArguments:
        defaults = [name for name in self.known if name not in self.values] if self.is_older else []
        refused = dict.fromkeys(defaults, Unknown(*self.outside(FRAMEWORK.package)))
        refused |= {words.name: Unknown(REFUSED) for words in self.refused if words.why == INVALID}
        for name in (words.name for words in self.refused if words.why == LEFT):
            meant = RENAMED.get(name, "")
            if meant in self.known and self.known[meant].default is not None and meant not in self.values:
                refused[meant] = Unknown(Reason("argument", f"`--{name}`", "another release reads it"))
        if self.command == RLHF and self.facts.launch.line is None and RLHF_TYPE not in self.values:
            refused[RLHF_TYPE] = Unknown(Reason("argument", f"`--{RLHF_TYPE}`", "the launch line may give it"))
        files = config_files(self.own_version)
        return SwiftArguments({**self.values, **refused}, self.version, self.known, self.own_version, self.world_size, files)

    def setting(self, *path: str | int, value: object = None, because: str = "") -> Setting:
        arguments = getattr(self, "arguments", None)
        reason = arguments.because.get(str(path[0]), "") if isinstance(arguments, SwiftArguments) and len(path) == 1 else ""
        if not reason or self.has(*path):
            return super().setting(*path, value=value, because=because)
        because = because or reason
        setting = super().setting(*path, value=value, because=because)
        if setting.origin == DEFAULT:
            return Setting(path, value, DERIVED, setting.document, setting.node, setting.key_node, because)
        return setting

    def own(self, name: str) -> Operand:
        return self.arguments[name] if name in self.known and self.arguments.known(name) else None

    def is_unset(self, name: str) -> bool:
        """Whether a field of the release is known to have no value."""
        return name in self.known and self.arguments.known(name) and self.arguments[name] is None

    def registered(self, section: str) -> Collection[str]:
        """The names of a kind that the release registers; empty if its source does not list them."""
        return HISTORY.fields(section, self.own_version) if HISTORY.has_section(section, self.own_version) else ()

    def is_unreadable(self, name: str, value: str) -> bool:
        """Whether the value of an argument that names a config is known to be neither a name, a file, nor JSON."""
        if value in config_files(self.own_version) or name in self.files or value.lstrip().startswith(("{", "[")):
            return False
        line = self.facts.launch.line
        named = [named_file for named_file in line.files if named_file.role == f"--{name}"] if line is not None else []
        if named:
            file = named[0]
            return file.path is None and (file.known or self.facts.complete) and not file.outside and not file.is_written
        return "/" not in value or (line is not None and line.deepspeed_word is not None and line.deepspeed_word.known)

    @property
    def has_adapter(self) -> bool:
        """Whether the target modules of an adapter are named."""
        return super().has_adapter or "target_modules" in self.arguments

    @property
    def shares_devices(self) -> bool:
        """Where an engine generates the completions, some GPUs may be left to it."""
        engines = [name for name in ("use_vllm", "use_lmdeploy") if name in self.known]
        infers = any(self.arguments[name] or not self.arguments.known(name) for name in engines)
        return not (self.trainer == "grpo" and infers and self.own_version in FAST_INFERENCE)

    @property
    def is_spread(self) -> bool:
        """Whether a process sees several GPUs, over which the model is spread (`device_map`)."""
        seen, local = self.devices if self.shares_devices and self.devices is not None else (1, 1)
        return seen > local and not seen % local

    @property
    def trainer(self) -> str:
        """What is trained: `sft`, `pt`, or the kind of preference training."""
        return str(self.arguments.rlhf_type or self.command)

    @property
    def sequence_parallel(self) -> int:
        size = self.own("sequence_parallel_size")
        return size if isinstance(size, int) and size > 0 else 1

    @property
    def packs(self) -> bool:
        return bool(self.own("packing"))

    @property
    def streams(self) -> bool:
        return bool(self.own("streaming"))

    @property
    def own_sampler(self) -> bool:
        """Whether the batches are not those of the Trainer's loader."""
        return self.trainer in ("grpo", "gkd")

    @property
    def own_loader(self) -> bool:
        return self.trainer in (*OWN_LOADER, *OWN_LOADER_TYPES)

    def batches_because(self) -> str:
        if not self.own_loader or self.facts.num_examples is None:
            return self.part("batches_because", "")
        return f"{self.facts.num_examples:,} samples / data parallel, rounded down, / micro batch"
