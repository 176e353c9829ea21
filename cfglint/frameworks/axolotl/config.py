"""An axolotl config: the values validated by pydantic, completed by axolotl, and the Trainer arguments built from them."""

from __future__ import annotations

from cfglint.findings.vocabulary import Stage
from cfglint.frameworks.axolotl.batch import normalize
from cfglint.frameworks.axolotl.releases import library
from cfglint.frameworks.axolotl.trainer_arguments import trainer_fields
from cfglint.frameworks.axolotl.validation import Validation
from cfglint.frameworks.axolotl.values import AxolotlValues
from cfglint.frameworks.huggingface.arguments import Arguments
from cfglint.frameworks.refusal import Refusal
from cfglint.frameworks.releases.versions import Version
from cfglint.source.annotations import ConfigTable, Operand

# Keys of runs whose trainer, and with it the arguments, is built after models or data of its own are loaded.
LATE = ("rl", "streaming", "pretraining_dataset", "reward_model", "process_reward_model", "diffusion_lm", "use_ray")


class AxolotlTrainingArguments(Arguments):
    """The `TrainingArguments` that axolotl builds: `given` are the fields of the file, under axolotl's names; axolotl fills in the rest."""

    def __init__(self, given: ConfigTable, filled: ConfigTable, source: dict[str, str], version: Version) -> None:
        self._filled = filled
        super().__init__(given, version)
        self.source = source

    def release_defaults(self, version: Version) -> ConfigTable:
        """The fields of the release, with axolotl's values for those that the file does not set."""
        return {**super().release_defaults(version), **self._filled}


class AxolotlConfig(AxolotlValues):
    """The config of `axolotl train`: `validation` is the result of its validators, `refusal` why a later step ends the run."""

    def parsed_arguments(self) -> Arguments:
        """The arguments that axolotl passes to the Trainer; the defaults of the release if the run does not get there."""
        self._version = self.facts.version("transformers", library("transformers", self.own_version))
        self.validation = Validation(self)
        self.model = self.validation.model
        self.refusal: Refusal | None = None
        if self.model is not None:
            self.refusal = normalize(self.model, self.validation.capabilities)
        self.parsed = self.model is not None and self.refusal is None
        if not self.parsed:
            return AxolotlTrainingArguments({}, {}, {}, self._version)

        return AxolotlTrainingArguments(*trainer_fields(self), self._version)

    @property
    def has_adapter(self) -> bool:
        return bool(self.values.get("adapter"))

    @property
    def may_resume(self) -> bool:
        values = self.values
        return super().may_resume or bool(values.get("resume_from_checkpoint")) or values.get("auto_resume_from_checkpoints") is True

    def failure_stage(self, fails_at: Stage | None) -> Stage | None:
        """The stage of a failure: trainers and arguments for preferences, rewards and streams are built after their data is loaded."""
        model = self.model
        late = model is not None and self.parsed and any(getattr(model, key) for key in LATE)
        return "init" if late and fails_at == "config" else fails_at

    @property
    def refusals(self) -> list[Refusal]:
        return [*self.validation.refusals, *([self.refusal] if self.refusal is not None else [])]

    def section(self, name: str) -> Operand:
        """A mapping of the file or of a file that it names, including what a check of axolotl adds to the DeepSpeed file."""
        found, model = super().section(name), self.model
        additions = {**self.validation.additions} if name == "deepspeed" else {}
        if name == "deepspeed" and model is not None and model.sample_packing:  # core/builders/causal.py:480
            additions["train_micro_batch_size_per_gpu"] = model.micro_batch_size
        if isinstance(found, dict) and additions:
            found = {**found}
            for key, value in additions.items():
                top, _, inner = key.partition(".")
                if inner:
                    found[top] = {**(found.get(top) or {})}
                    found[top].setdefault(inner, value)
                else:
                    found.setdefault(top, value)
        return found
