"""A DeepSpeed config section by section, with its optimizer and, if there is one, the trainer that passes it on."""

from __future__ import annotations

from cfglint.evaluate import Reason, Unknown
from cfglint.findings.rule import Rule
from cfglint.findings.setting import OVERRIDE, Setting
from cfglint.findings.vocabulary import Stage
from cfglint.frameworks.base import Config
from cfglint.frameworks.deepspeed import FRAMEWORK, models
from cfglint.frameworks.deepspeed.models import ModelSection, PydanticModel
from cfglint.frameworks.deepspeed.optimizers import Optimizer, Scheduler, chosen, scheduler_of
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases.history import DEFAULT
from cfglint.frameworks.releases.versions import Version
from cfglint.source.annotations import Collection, ConfigMapping, Operand, Sequence
from cfglint.source.document import NOT_STRICT_JSON, Document
from cfglint.source.loaders import HJSON, STRICT_JSON

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.frameworks.megatron.config import MegatronConfig
    from cfglint.launch.program import OwnLoop

AS_JSON = "DeepSpeed accepts this (hjson), the Hugging Face Trainer does not (json.load)"
AS_OWN = "DeepSpeed rejects this, the Hugging Face Trainer does not (json.load)"


class Unset:
    """Marks what has not been computed yet."""


class DeepSpeedConfig(Config):
    """The config of `deepspeed.initialize`: of a file that DeepSpeed loads itself, or of one that a trainer passes to it.

    With `values` the trainer has loaded the file and resolved its "auto" values. `trainer` is the config that
    names the file: then the trainer passes the optimizer and the scheduler that the file omits.
    `world_size` is the number of processes if it differs from the launch facts. `filled` are the trainer's
    settings that the "auto" values come from, `assumed` the keys whose values follow from an assumption.
    """

    framework = FRAMEWORK
    batch_keys = {
        "micro_batch": "train_micro_batch_size_per_gpu",
        "accumulation": "gradient_accumulation_steps",
        "global_batch": "train_batch_size",
    }
    _optimizer: Optimizer | type | None = Unset
    _megatron: MegatronConfig | type | None = Unset

    def __init__(
        self,
        documents: list[Document],
        facts: LaunchFacts,
        kinds: Sequence[str] = (),
        *,
        values: ConfigMapping | None = None,
        trainer: Config | None = None,
        world_size: int | None = None,
        mismatched_keys: Collection[str] = (),
        filled: dict[str, Setting] | None = None,
        assumed: Collection[str] = (),
    ) -> None:
        super().__init__(documents, facts, kinds)
        self.mismatched_keys = mismatched_keys
        self.filled = filled or {}
        self.assumed = assumed
        self.trainer = trainer
        self.open = not facts.complete and trainer is None and facts.launch.passed is None  # a trainer may still resolve "auto"
        self.world_size = facts.gpus if world_size is None else world_size
        self.root: Operand = values
        self.readable = True
        if values is None:
            self.read()
        if isinstance(self.root, dict):
            self.values = self.root
        if trainer is not None:
            has_size = any(self.batch_keys[role] in self.values for role in ("micro_batch", "global_batch"))
            self.insertable_auto = ("accumulation",) if has_size else ("accumulation", "micro_batch")
        self._version = super().version
        self._sections: dict[str, ModelSection] = {}

    @property
    def megatron(self) -> MegatronConfig | None:
        """The arguments of the line, if they are those of Megatron-LM, which gives the engine its parallel layout (`mpu`)."""
        launch = self.facts.launch
        if self._megatron is Unset and launch.command is not None:
            from cfglint.frameworks import megatron

            self._megatron = None
            if megatron.FRAMEWORK.takes(launch):
                from cfglint.frameworks.megatron.config import MegatronConfig

                self._megatron = MegatronConfig([launch.command], self.facts)
        return None if self._megatron is Unset else self._megatron  # type: ignore[return-value]

    @property
    def version(self) -> Version:
        return self._version

    def looks_up(self, *path: str) -> bool:
        """Whether the target release has a key, among those that DeepSpeed looks up one by one."""
        return path[-1] in models.KEY_HISTORY.fields(".".join(path[:-1]), self._version)

    def reads(self, key: str) -> bool:
        from cfglint.frameworks.validation.schema import load

        return load(self.kind).lookup((key,)) is not None

    def read(self) -> None:
        """Load the file with DeepSpeed's own loader, or, if its consumer is not declared, with a trainer's json.

        json.load does not accept comments, and uses the last of duplicate keys. A problem that only one of the two has
        is reported, and does not prevent loading.
        """
        document = self.documents[0]
        reading = (self.framework.loader(document, self.facts) if document.syntax == "python" else HJSON).read(document)
        problems = reading.problems
        if not self.facts.kind_given and (problems or document.relaxations or document.bom):
            strict = STRICT_JSON.read(document)
            note = ""
            if problems and not strict.problems:
                reading, note = strict, AS_OWN
            elif strict.problems and not problems:
                problems, note = strict.problems[:1], AS_JSON
                problems[0].kind = NOT_STRICT_JSON
            for problem in problems if note else ():
                problem.only_here, problem.note = True, note
        self.load_problems = [(document, problem) for problem in problems]
        self.readable = not reading.problems
        self.root = reading.value if self.readable else {}
        if self.facts.overrides and isinstance(self.root, dict):
            self.root = self.launched_with(self.root)

    # ---- sections

    def section(self, name: str) -> ModelSection:
        """A section that is a pydantic model, validated by it; empty if the file has none.

        `bf16` means `bfloat16` if only that is set, `monitor` the four monitor sections, `throughput`
        `timers.throughput`.
        """
        if name not in self._sections:
            raw: Operand = self.values.get(self.section_key(name), {})
            if name == "monitor":
                raw = {key: self.values[key] for key in models.MONITORS if key in self.values and self.looks_up(key)}
            elif name == "throughput":
                raw = self.get("timers", "throughput", default={})
            elif name == "zero_optimization" and isinstance(raw, bool):  # zero/config.py:57-66
                buckets = self.values.get("allgather_size", 500_000_000)
                raw = {"stage": 1, "allgather_bucket_size": buckets} if raw else {"stage": 0}
            model = {"monitor": models.MONITOR, "throughput": models.THROUGHPUT}.get(name) or models.SECTIONS[name]
            if model in (models.FP16, models.BF16) and not model.is_in(self.version):
                self._sections[name] = lenient(model, raw, self.open, self.version)
            else:
                read = raw if isinstance(raw, dict) and model.is_in(self.version) else {}
                self._sections[name] = models.read_section(model, read, self.version)
        return self._sections[name]

    def section_key(self, name: str) -> str:
        """The key of a section in the file: `bfloat16` is used where `bf16` is missing or null."""
        if name == "bf16" and self.values.get("bf16") is None and "bfloat16" in self.values:
            return "bfloat16"
        return name

    def at(self, name: str, *path: str | int) -> Setting:
        section = {"monitor": (), "throughput": ("timers", "throughput")}.get(name)
        return self.setting(*(section if section is not None else (self.section_key(name),)), *path)

    @property
    def zero(self) -> ModelSection:
        return self.section("zero_optimization")

    @property
    def stage(self) -> int | None:
        """The stage; None if the section that sets it is not known."""
        stage: int | None = None if isinstance(self.values.get("zero_optimization"), Unknown) else self.zero["stage"]
        return stage

    @property
    def offload(self) -> str:
        """The device of the optimizer's states: `none`, `cpu` or `nvme`."""
        section = self.zero["offload_optimizer"]
        if section is not None:
            return str(section["device"])
        return "cpu" if self.zero["cpu_offload"] else "none"

    @property
    def overlap_comm(self) -> bool:
        """`overlap_comm`, which by default is on with stage 3 only (zero/config.py:382)."""
        written = self.zero["overlap_comm"]
        return self.stage == 3 if written is None else bool(written)

    @property
    def precision(self) -> str:
        """The model's data type: `fp16`, `bf16` or `fp32`."""
        if self.section("fp16")["enabled"]:
            return "fp16"
        return "bf16" if self.section("bf16")["enabled"] else "fp32"

    @property
    def knows_precision(self) -> bool:
        """Whether fp16 and bf16 are both known here: a trainer may still fill an "auto", or fill it with an unknown value, and of a file in
        which it fills anything, or that a program gets which was not read, it may add the section (accelerate 1.15.0 utils/dataclasses.py,
        set_mixed_precision).
        """
        switches = [self.get(key, "enabled") for key in ("fp16", self.section_key("bf16"))]
        if self.trainer is not None:
            return True in switches or (self.trainer.knows("fp16") and self.trainer.knows("bf16"))
        may_be_added = "auto" in (*switches, *self.values.values()) or bool(self.facts.launch.not_read)
        return self.unknown_precision is None and (not self.open or True in switches or not may_be_added)

    @property
    def unknown_precision(self) -> Unknown | None:
        """The section that is not known and decides about the precision; None if neither does."""
        sections = [self.values.get(key) for key in ("fp16", self.section_key("bf16"))]
        is_known = any(isinstance(section, dict) and section.get("enabled") is True for section in sections)
        return None if is_known else next((section for section in sections if isinstance(section, Unknown)), None)

    # ---- the run

    def passes(self, name: str) -> bool:
        """Whether the program passes an object to `deepspeed.initialize`, in the place of what the file has."""
        return name in (self.facts.launch.passed or ())

    @property
    def loop(self) -> OwnLoop | None:
        """The training loop of the program that makes the engine, if it was found."""
        document = self.documents[0]
        found = self.facts.launch.loop if self.trainer is None else None
        if document.is_call:
            from cfglint.launch.program import ProgramCall

            found = (document.loop if isinstance(document, ProgramCall) else None) or found
        return found if found is not None and found.is_found else None

    @property
    def optimizer(self) -> Optimizer | None:
        """The optimizer that the file sets, if the program passes none."""
        if self.passes("optimizer"):
            return None
        if self._optimizer is Unset:
            self._optimizer = chosen(self.values.get("optimizer"), self.version, self.offload != "none", self.zero["zenflow"] is not None)
        return self._optimizer  # type: ignore[return-value]

    @property
    def scheduler(self) -> Scheduler | None:
        return scheduler_of(self.values.get("scheduler"), self._version) if self.has_optimizer else None

    @property
    def has_optimizer(self) -> bool:
        """Whether there is an optimizer at all: the file's, or the one that a trainer or the program passes."""
        return self.optimizer is not None or self.trainer is not None or self.passes("optimizer")

    # ---- findings

    def failure_stage(self, fails_at: Stage | None) -> Stage | None:
        """With a trainer, DeepSpeed parses the config when training starts, and builds the engine when it wraps the model."""
        if self.trainer is None or fails_at is None:
            return fails_at
        return "first-step" if fails_at in ("init", "first-step") else "init"

    def unmodelled(self, rule: Rule) -> tuple[Reason, ...]:
        """The unmodelled releases; the values that a trainer passes depend on that of transformers, too."""
        passing = self.trainer
        of_trainer = (*self.outside(*(passing.base_packages or (passing.package,))), *passing.fork) if passing is not None else ()
        return (*super().unmodelled(rule), *of_trainer)

    @property
    def rest(self) -> tuple[Reason, ...]:
        """The rest of the run; a trainer that names the file has already completed it."""
        return super().rest if self.trainer is None else ()

    def blamed(self, setting: Setting) -> Setting:
        """The setting that is the cause of a finding: if the trainer filled an "auto", its own setting."""
        return self.filled.get(setting.name, setting) if setting.origin != OVERRIDE else setting


def lenient(model: PydanticModel, raw: object, is_open: bool, version: Version) -> ModelSection:
    """A precision section of a release in which it was not strict: no key is checked, and those that it does not look up are ignored.

    If a trainer may still resolve "auto", the key is omitted; otherwise "auto" is a string that counts as true.
    """
    section = ModelSection(version)
    given = raw if isinstance(raw, dict) else {}
    if is_open:
        given = {name: value for name, value in given.items() if value != "auto"}
    section.values = {name: field.default_at(()) for name, field in model.fields.items()}
    section.values.update({name: given.get(name, row[DEFAULT]) for name, row in models.KEY_HISTORY.fields(model.name, version).items()})
    section.given = {name: name for name in given}
    if not section.values["enabled"] and "fp16_master_weights_and_grads" in section.values:
        section.values["fp16_master_weights_and_grads"] = False  # looked up only with fp16 (0.16.9, runtime/config.py:180)
    return section
