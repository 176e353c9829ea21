"""The configuration of a TRL trainer: the values that `TrlParser` parses from a file, and the trainer that uses them."""

from __future__ import annotations

from cfglint.evaluate import Reason
from cfglint.findings.releases import Releases
from cfglint.frameworks.base import Framework
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.fields import FIELDS
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases.history import holds
from cfglint.frameworks.releases.versions import Version, dotted
from cfglint.frameworks.trl import FRAMEWORK, KIND, LAUNCHER_FILE, NEWEST, PACKAGE
from cfglint.frameworks.trl.arguments import EPISODES, OLD_NAMES, TrlArguments
from cfglint.frameworks.trl.fields import REQUIRED, fields, likely_trainers, trainers_of
from cfglint.frameworks.trl.parser import CASTS, NULL_WORDS_READ, UncastString, cast, complemented
from cfglint.frameworks.trl.releases import CLASSES, HISTORY
from cfglint.launch.accelerate_options import is_option
from cfglint.launch.overrides import ARGS, Override
from cfglint.launch.program import HF_PARSER
from cfglint.source.annotations import Operand, Sequence
from cfglint.source.document import Document, Path
from cfglint.source.python.call import CallDocument
from cfglint.source.record import changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.launch.line import LaunchLine

PROCESSES = "num_processes"  # an option of `accelerate launch`, to which the command passes the key
# From here on TRL's command reads the file (before, it passes the line to its script, or refuses `--config`), and passes unknown
# keys to `accelerate launch` (trl 0.18.0 cli.py: for sft only; 0.29.0 cli/commands/training.py: for all).
HANDS_ON_SFT = (0, 18, 0)
HANDS_ON = (0, 29, 0)
COMMAND_BUILDS = (1, 0, 0)  # from here on it also builds the arguments (cli/commands/training.py)
REPEATS: dict[str, Version] = {"grpo": (0, 15, 0), "rloo": (0, 22, 0)}  # first releases whose sampler repeats prompts
OTHER_TRAINERS = ("Trainer", "Seq2SeqTrainer")  # of transformers
ENV = "env"  # removed from the file and exported first
SCRIPT_RESUMES = (1, 15)  # up to 1.14 the command's own scripts call `train()` without a checkpoint


class TrlConfig(TrainerConfig):
    """The config of a TRL trainer: `trainers` are those that the file may be for, `refused` the strings that the parser refuses.

    `lacks_class`: code builds the arguments with a class that the release does not have, or not where the code imports it.
    """

    framework: Framework = FRAMEWORK
    arguments: TrlArguments
    checkpoint_arguments = ("selective",)  # of SFTTrainer; the trainers set use_reentrant where it is not written
    unused_fields = ("label_names",)  # TRL's trainers name the columns that they need themselves

    def __init__(self, documents: list[Document], facts: LaunchFacts, kinds: Sequence[str] = ()) -> None:
        self.trl_version: Version = facts.version(PACKAGE, NEWEST)
        self.trainers: tuple[str, ...] = trainers_of(self.trl_version)
        self.lacks_class = lacks_class(facts, self.trl_version)
        former = of_former_class(facts, documents)
        if facts.launch.program is not None and (former or facts.trainer not in self.trainers):  # the program's trainer is not modelled
            self.lacks_class = True
            program = facts.launch.program
            why = former or f"TRL {dotted(self.trl_version)} has no `TrainingArguments` of this name"
            unread = Reason("program", f"the arguments of `{program.arguments}`", why, program.path, opens=True)
            unread = unread if program.arguments or not program.not_read else program.not_read[0]  # its class is not known
            not_read = tuple(dict.fromkeys((*facts.launch.not_read, unread)))
            launch = changed(facts.launch, doubts=(unread,), program=None, not_read=not_read)
            facts = facts.replace(strict_keys=False, trainer=None, launch=launch)
        self.refused: list[UncastString] = []
        self.set_later: set[str] = set()  # the keys that the parser sets on classes that it has built
        self.env: Operand = {}
        super().__init__(documents, facts, kinds)
        option = self.command.options.given.get(PROCESSES) if self.command is not None else None
        if option is not None and option.in_file and isinstance(self.values.get(PROCESSES), int):
            self.batch_keys = {**self.batch_keys, "gpus": PROCESSES}
        self.parsed = self.parsed and isinstance(self.env, dict) and all(isinstance(key, str) for key in self.values)

    def parsed_arguments(self) -> TrlArguments:
        self.env = self.values.pop(ENV, {}) if self.values else {}
        names = {key for key in self.values if isinstance(key, str)}
        named = self.facts.trainer
        self.trainers = (named,) if named is not None else likely_trainers(names, self.trl_version)
        table, program = fields(self.trl_version, self.trainers, self.version), self.facts.launch.program
        if program is not None:
            table = table.of_program(program, self.trl_version)
        if self.documents[0].is_command:
            self.values = complemented(self.values, table.types, table.defaults)
        found = self.values
        if not self.documents[0].is_call:  # code sets attributes of the class without a parser, and so did a file before `CASTS`
            words = set(self.values) if self.documents[0].is_command else set()
            words.update(override.key for override in self.facts.overrides if override.origin == ARGS)
            sets_file = self.documents[0].syntax == "yaml" and self.trl_version < CASTS
            uncast = {name for name in self.values if sets_file and name not in words}
            self.set_later = uncast if program is None or program.parser != HF_PARSER else set()
            texts = {name: value for name, value in self.values.items() if name not in uncast}
            nullable = table.nullable if self.trl_version >= NULL_WORDS_READ else set()
            cast_values, self.refused = cast(texts, table.types, nullable, words)
            found = {name: cast_values.get(name, value) for name, value in self.values.items() if name in cast_values or name not in texts}
        self.values = {name: found.get(name, value) for name, value in self.values.items()}
        parsed = {name: value for name, value in found.items() if program is None or name not in program.changed}
        refused = {uncast_string.name for uncast_string in self.refused}
        return TrlArguments(parsed, self.version, table, self.trl_version, refused, self.own_defaults)

    def override_value(self, override: Override) -> Operand:
        """The value of a launch-line argument, a string that the parser casts; an argument without a value switches its key on."""
        if override.origin != ARGS:
            return super().override_value(override)
        return override.texts[0] if len(override.texts) == 1 else list(override.texts) or True

    @property
    def has_adapter(self) -> bool:
        return super().has_adapter or any(self.values.get(key) for key in ("use_peft", "load_in_4bit", "load_in_8bit"))

    def has_field(self, key: str) -> bool:
        """Whether a class of the release has the field: a removed field has no effect."""
        return key in self.arguments.fields.types

    def lacks_field(self, key: str) -> bool:
        return not self.has_field(key) and self.arguments.exists(key)

    @property
    def has_own_keys(self) -> bool:
        """Whether the file has keys that no class of TRL ever had: a class of the script takes them, and its trainer may use them."""
        names = {key for key in self.values if isinstance(key, str)} - {ENV, LAUNCHER_FILE}
        return any(not self.arguments.exists(name) and not is_option(name) for name in names)

    def may_build_own_trainer(self) -> bool:
        """Whether the script may build no trainer of TRL: its program builds another one, or its file has keys of its own class."""
        program = self.facts.launch.program
        if program is not None:
            return program.trainer in OTHER_TRAINERS or super().may_build_own_trainer()
        declared = self.facts.strict_keys or self.facts.complete or self.facts.trainer is not None
        return self.has_own_keys and not declared

    def only(self, *trainers: str) -> bool:
        """Whether the file is for one of these trainers, even if it is unknown which one."""
        return set(self.trainers) <= set(trainers)

    def checked_in(self, releases: dict[str, Releases]) -> bool:
        """Whether the release is one of those of the trainers that the file may be for."""
        return self.only(*(name for name, of_trainer in releases.items() if self.trl_version in of_trainer))

    @property
    def launched(self) -> bool | None:
        """Whether a launcher starts the processes: one does if the file enables FSDP, on a single GPU too."""
        return True if any(key.startswith("fsdp") for key in self.values if isinstance(key, str)) else super().launched

    @property
    def command(self) -> LaunchLine | None:
        """The launch line, if TRL's own command starts the run: `trl sft`."""
        line = self.facts.launch.line
        return line if line is not None and line.launcher == KIND else None

    @property
    def hands_on(self) -> bool:
        """Whether unknown keys become options of `accelerate launch`: those of `trl sft` do first, then those of all commands."""
        since = HANDS_ON_SFT if self.only("sft") else HANDS_ON
        return self.command is not None and self.trl_version >= since

    @property
    def command_checks(self) -> bool:
        """Whether TRL's command builds the arguments itself, in one process, before it starts the others."""
        return self.command is not None and self.trl_version >= COMMAND_BUILDS

    def default(self, path: Path, missing: object) -> Operand:
        found = super().default(path, missing)
        is_gone = len(path) == len(self.trainers) == 1 and self.lacks_field(str(path[0]))  # or has not come yet
        return missing if found == REQUIRED or is_gone else found

    def opens(self, path: Path) -> bool:
        """Whether a class of the script opens a named file; `accelerate_config` belongs to the command."""
        return path != (LAUNCHER_FILE,) and super().opens(path)

    @property
    def script_resumes(self) -> bool:
        return self.command is None or self.trl_version >= SCRIPT_RESUMES

    @property
    def streams(self) -> bool:
        return bool(self.arguments["dataset_streaming"] or self.arguments["streaming"])

    @property
    def streaming_key(self) -> str:
        return "dataset_streaming" if self.arguments["dataset_streaming"] else "streaming"

    @property
    def packs(self) -> bool:
        return bool(self.arguments["packing"])

    @property
    def counts_samples(self) -> bool:
        """Source: trl 0.13.0 trainer/rloo_trainer.py, ppo_trainer.py (`num_total_batches`)."""
        own = {"ppo": True, "rloo": self.trl_version < OLD_NAMES[-1][-1]}
        return self.has_field(EPISODES) and all(own.get(trainer, False) for trainer in self.trainers)

    @property
    def own_sampler(self) -> bool:
        """Whether prompts are repeated for several completions: by the trainers of TRL, not by one that a program derives from others."""
        program = self.facts.launch.program
        is_of_trl = program is None or program.trainer not in OTHER_TRAINERS
        return is_of_trl and self.only(*(name for name, since in REPEATS.items() if since <= self.trl_version))


def of_former_class(facts: LaunchFacts, documents: list[Document]) -> str:
    """Why code is not written for the class that builds its arguments, but for one that had its name before, where no release is stated;
    empty if it is not: `PPOConfig(ppo_epochs=4)`.
    """
    name = facts.launch.program.arguments if facts.launch.program is not None else ""
    spans = HISTORY.spans.get(CLASSES.get(name, ""), ())
    first = spans[0][0] if spans else ()
    if facts.is_known(PACKAGE) or not first or not any(since < first for since, _ in FRAMEWORK.importable(PACKAGE, name)):
        return ""
    known = FRAMEWORK.fields_of_class(name) | FIELDS.keys()
    calls = (document for document in documents if isinstance(document, CallDocument))
    key = next((key for call in calls for key in call.values if key not in known), None)
    return f"`{key}` is of the class of this name before TRL {dotted(first)}" if key is not None else ""


def lacks_class(facts: LaunchFacts, release: Version) -> bool:
    """Whether a release does not have the class that the program builds in the module from which the program imports it."""
    name = facts.launch.program.arguments if facts.launch.program is not None else ""
    imports = facts.launch.code.imports if facts.launch.code is not None else ()
    having = (FRAMEWORK.importable(names.module, name) for names in imports if names.package == PACKAGE and name in names.names)
    return any(spans and not any(holds(*span, release) for span in spans) for spans in having)
