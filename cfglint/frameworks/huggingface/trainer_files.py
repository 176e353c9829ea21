"""A trainer's file and the files that it names, as `HfArgumentParser` loads them."""

from __future__ import annotations

from os.path import basename

from cfglint.evaluate import Reason, Unknown
from cfglint.findings.setting import Setting
from cfglint.frameworks import is_added
from cfglint.frameworks.base import Config, Framework
from cfglint.frameworks.huggingface import FRAMEWORK, NEWEST, OWN_LOOP, PACKAGE
from cfglint.frameworks.huggingface.arguments import Arguments
from cfglint.frameworks.huggingface.fields import FIELDS
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases.versions import Version
from cfglint.launch.program import MISSING
from cfglint.source.annotations import Collection, ConfigMapping, ConfigTable, Operand, Sequence
from cfglint.source.document import Document, Path
from cfglint.source.loaders import STRICT_JSON

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.frameworks.accelerate.config import AccelerateConfig
    from cfglint.launch.overrides import Override

FUSED_BY_DEFAULT = (2, 8)  # release of torch with which AdamW is fused by default (transformers 4.57.1 training_args.py:1291)
OPENED_WITH_FSDP = (5, 10)  # release of transformers from which `fsdp_config` is read only with `fsdp`
# Names that programs of their own have for what the Trainer calls otherwise: a file with one has other defaults than the Trainer's.
OWN_NAMES = OWN_LOOP | set("lr optimizer scheduler epochs num_epochs n_epochs total_episodes grad_accum grad_accum_steps".split())


class TrainerFiles(Config):
    """The values of a file, without which `parsed` is false and `arguments` are the defaults; `files` are those that keys of it name."""

    framework: Framework = FRAMEWORK
    batch_keys = {"micro_batch": "per_device_train_batch_size", "accumulation": "gradient_accumulation_steps"}

    def __init__(self, documents: list[Document], facts: LaunchFacts, kinds: Sequence[str] = ()) -> None:
        super().__init__(documents, facts, kinds)
        self._version = self.facts.version(PACKAGE, NEWEST)
        self.files = attach(documents, kinds, self.framework)
        self.root: Operand = self._read(documents[0])
        self.readable = not self.load_problems
        self.parsed = self.readable and isinstance(self.root, dict)
        if isinstance(self.root, dict):
            self.values = self._completed(self.root)
        self.arguments = self.parsed_arguments()
        torch = facts.target.get("torch") or facts.pinned.get("torch", ("", ""))[0]
        if torch and facts.version("torch", torch) < FUSED_BY_DEFAULT:
            self.arguments.set_optimizer_of_older_torch()
        if not facts.launch.is_closed:
            self.arguments.leave_open(reason for reason in facts.launch.not_read if reason.opens)
        is_undeclared = self.framework is FRAMEWORK and not (facts.kind_given or facts.strict_keys or documents[0].is_command)
        own = sorted(OWN_NAMES & {*self.values}) if is_undeclared else []
        if own:
            self.arguments.leave_open((Reason("program", "the defaults of the program", f"`{own[0]}` is not an argument of the Trainer"),))
        if "deepspeed" in self.files:
            self.arguments.given.setdefault("deepspeed", self.files["deepspeed"].path)
        self.launcher = self._accelerate_launch()
        self._sections: ConfigTable = {}
        for name in self.files:
            self.section(name)

    def _accelerate_launch(self) -> AccelerateConfig | None:
        """The accelerate launch of the run, of its flags where no config file is named; None if there are none."""
        flags = self.facts.launch.flags_alone
        if "accelerate" not in self.kinds and not flags:
            return None
        from cfglint.frameworks.accelerate.config import AccelerateConfig

        if "accelerate" not in self.kinds:
            return AccelerateConfig([next(flag.place[0] for flag in flags if flag.place is not None)], self.facts, trainer=self)
        others = [document for document, kind in zip(self.documents, self.kinds, strict=True) if kind == "deepspeed"]
        documents = [self.documents[self.kinds.index("accelerate")], *others]
        return AccelerateConfig(documents, self.facts, ["accelerate", *("deepspeed" for _ in others)], self)

    def parsed_arguments(self) -> Arguments:
        program = self.facts.launch.program
        changed = program.changed if program is not None else ()  # after parsing
        values = {name: value for name, value in self.values.items() if name not in changed} if changed else self.values
        return Arguments(values, self.version, self.own_defaults)

    @property
    def own_defaults(self) -> ConfigTable:
        """The defaults that the program's own class sets for fields of the framework; values set later by its code are unknown."""
        program = self.facts.launch.program
        if program is None:
            return {}

        own = {name: field.default for name, field in program.defaults.items() if name not in self.values}
        own.update((name, Unknown(Reason("program", f"what {program.path} sets"))) for name in program.changed)
        own.update((name, Unknown(Reason("program", why))) for name, why in program.by_trainer.items())
        return {name: value for name, value in own.items() if value is not MISSING}

    def _completed(self, values: ConfigMapping) -> ConfigMapping:
        """The values as the program's parser passes them on, cast or with `${...}` resolved, with those of the launch line."""
        document, program = self.documents[0], self.facts.launch.program
        if program is not None and program.opens_config and document.syntax == "yaml" and self.framework is FRAMEWORK:
            from cfglint.frameworks.huggingface.cli_arguments import cast
            from cfglint.launch.overrides import ARGS, Override

            texts = {key: text for key, text in values.items() if isinstance(text, str) and key in FIELDS}
            values = values | {key: cast(Override(key, [text], ARGS), self.version) for key, text in texts.items()}
        values = self.launched_with(values)
        if "${" in document.text and not self.facts.kind_given:
            from cfglint.source.hydra.interpolation import interpolated, refers

            values = interpolated(values) if refers(values) else values
        return values

    def _read(self, document: Document) -> Operand:
        loader = self.framework.loader(document, self.facts) if document is self.documents[0] else STRICT_JSON
        reading = loader.read(document) if document.is_in_code else loader.read_again(document)
        self.load_problems.extend((document, problem) for problem in reading.problems)
        return reading.value

    def knows(self, key: str) -> bool:
        return self.arguments.known(key)

    @property
    def has_unknown(self) -> bool:
        return any(isinstance(value, Unknown) for value in (*self.arguments.defaults.values(), *self.arguments.given.values()))

    def override_value(self, override: Override) -> Operand:
        from cfglint.frameworks.huggingface.cli_arguments import cast
        from cfglint.launch.overrides import ARGS

        return cast(override, self.version) if override.origin == ARGS else super().override_value(override)

    def default(self, path: Path, missing: object) -> Operand:
        name = path[0]
        if len(path) > 1 or name not in self.arguments.defaults:
            return super().default(path, missing)
        value = self.arguments.defaults[name]
        return value if not isinstance(value, Unknown) else missing

    def setting(self, *path: str | int, value: object = None, because: str = "") -> Setting:
        program = self.facts.launch.program
        if program is not None and len(path) == 1 and path[0] in program.defaults and path[0] not in self.values:
            because = because or f"default in {program.defaults[str(path[0])].place}"
        return super().setting(*path, value=value, because=because)

    def section(self, name: str) -> Operand:
        """The mapping that a field contains, written in place or in a file that it names; None if it is unknown."""
        if name not in self._sections:
            value = self.arguments[name]
            if isinstance(value, str) and name in self.files:
                value = self._read(self.files[name])
            self._sections[name] = value if isinstance(value, dict) else None
        return self._sections[name]

    def opens(self, path: Path) -> bool:
        return path != ("fsdp_config",) or self.uses_fsdp or self.version < OPENED_WITH_FSDP

    def declares(self, key: str) -> bool:
        """Whether a key is an argument that the program defines itself; if that is unknown, whether any dataclass of the project has it."""
        program = self.facts.launch.program
        if program is not None and (program.accepts(key) or program.complete):
            return program.accepts(key)
        from cfglint.source.dataclass_fields import declares_field

        return declares_field(self.documents[0].path, key)

    def is_argument(self, key: object) -> bool:
        """Whether the program is known to define an argument of this name itself, or a fork of the package that the project states."""
        if is_added(key, self.facts.forks):
            return True
        program = self.facts.launch.program
        if program is None or not isinstance(key, str):
            return False
        is_short = self.documents[0].is_command and any(name.startswith(key) and name != key for name in self.arguments.defaults)
        return is_short or program.accepts(key)

    @property
    def accelerator(self) -> ConfigMapping:
        """`accelerator_config`, overridden by the old top-level keys."""
        return self.arguments.accelerator or self.section("accelerator_config") or {}

    @property
    def accumulation_kwargs(self) -> ConfigMapping:
        section = self.accelerator.get("gradient_accumulation_kwargs")
        return section if isinstance(section, dict) else {}

    @property
    def version(self) -> Version:
        return self._version

    @property
    def asked_packages(self) -> Collection[str]:
        """With DeepSpeed, accelerate: its release determines when the engine takes a step. The packages of the program's code."""
        program = self.facts.launch.code
        checked = program.checked_packages if program is not None else ()
        return (*(("accelerate",) if self.uses_deepspeed else ()), *checked)

    def has_accelerate(self, release: Version, like: Version = (0,)) -> bool:
        """Whether accelerate is of a release or newer; unspecified, it is the newest, unless transformers is older than `like`."""
        if "accelerate" in self.facts.target:
            return self.facts.version("accelerate", "") >= release
        return self.version >= like

    @property
    def uses_deepspeed(self) -> bool:
        """Whether the run is a DeepSpeed run, by its own config or by the launcher's; `deepspeed: {}` leaves it off, as does null."""
        return bool(self.arguments["deepspeed"]) or (self.launcher is not None and self.launcher.uses_deepspeed)

    @property
    def uses_fsdp(self) -> bool:
        return bool(self.arguments["fsdp"])

    @property
    def has_adapter(self) -> bool:
        return self.facts.launch.code is not None and bool(self.facts.launch.code.adapters)

    @property
    def names_data(self) -> bool:
        """Whether the run may name data files: its program, which loads them itself, or the file of a framework on top."""
        program = self.facts.launch.program
        loaded = program is not None and any(trainer_call.data is not None for trainer_call in program.trainer_calls)
        return loaded or (self.framework is not FRAMEWORK and super().names_data)

    @property
    def may_resume(self) -> bool:
        program = self.facts.launch.program
        passed = program is not None and any(isinstance(trainer_call.resumes, (str, bool)) for trainer_call in program.trainer_calls)
        return super().may_resume or passed or bool(self.arguments.given.get("resume_from_checkpoint"))

    @property
    def world_size(self) -> int | None:
        """The number of processes of the launch, one GPU each."""
        return self.facts.gpus

    @property
    def launched(self) -> bool | None:
        """Whether a launcher starts the processes: with more than one, for DeepSpeed, or as torchrun does. None when that is unknown."""
        if self.uses_deepspeed or self.facts.launch.sets_rank or (self.launcher is not None and self.launcher.spawns):
            return True
        if self.facts.launch.sets_rank is False:
            return False
        return None if self.world_size is None else self.world_size > 1


def attach(documents: list[Document], kinds: Sequence[str], framework: Framework) -> dict[str, Document]:
    """The files by the key of the trainer's file that names them, without the launcher's; the launch line may have a DeepSpeed file."""
    if len(documents) == 1:
        return {}

    files: dict[str, Document] = {}
    names = {str(path[0]): name for path, name, _ in framework.references(documents[0])}
    for document, kind in zip(documents[1:], kinds[1:], strict=False):
        if kind != "accelerate":
            named = [key for key, name in names.items() if basename(name) == basename(document.path)]
            for key in named or (["deepspeed"] if kind == "deepspeed" else []):
                files.setdefault(key, document)
    return files
