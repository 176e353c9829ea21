"""An axolotl config: the values validated by pydantic, completed by axolotl, and the Trainer arguments built from them."""

from __future__ import annotations

from cfglint.frameworks.axolotl import FRAMEWORK, NEWEST, PACKAGE
from cfglint.frameworks.axolotl.releases import library
from cfglint.frameworks.axolotl.validation import Validation
from cfglint.frameworks.base import Config
from cfglint.frameworks.huggingface.arguments import Arguments
from cfglint.frameworks.huggingface.config import TrainerConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cfglint.findings.setting import Setting
    from cfglint.findings.vocabulary import Stage
    from cfglint.frameworks.axolotl.refusals import Model
    from cfglint.frameworks.base import Framework
    from cfglint.frameworks.launch_facts import LaunchFacts
    from cfglint.frameworks.overrides import Override
    from cfglint.frameworks.refusal import Refusal
    from cfglint.frameworks.versions import Version
    from cfglint.source.document import Document, Path


# Keys of runs whose trainer, and with it the arguments, is built after models or data of its own are loaded.
LATE = ("rl", "streaming", "pretraining_dataset", "reward_model", "process_reward_model", "diffusion_lm", "use_ray")


class AxolotlTrainingArguments(Arguments):
    """The `TrainingArguments` that axolotl builds: `given` are the fields that the file sets, under axolotl's names; axolotl fills in
    the rest.
    """

    def __init__(self, given: dict[str, Any], filled: dict[str, Any], source: dict[str, str], version: Version) -> None:
        self._filled = filled
        super().__init__(given, version)
        self.source = source

    def release_defaults(self, version: Version) -> dict[str, Any]:
        """The fields of the release, with axolotl's values for those that the file does not set."""
        return {**super().release_defaults(version), **self._filled}


class AxolotlConfig(TrainerConfig):
    """The config of `axolotl train`.

    `validation` is the result of pydantic and axolotl's validators; `refusal` is the reason why a later step ends the run. `model` has
    the values after both, None if the run does not get that far.
    """

    framework: Framework[Any] = FRAMEWORK
    batch_keys = {"micro_batch": "micro_batch_size", "accumulation": "gradient_accumulation_steps"}
    obsolete_batch_keys = {"accumulation": "batch_size"}  # `batch_size` only affects the number of steps, not the training batch

    def __init__(self, documents: list[Document], kinds: list[str], facts: LaunchFacts) -> None:
        self.own_version: Version = facts.version(PACKAGE, NEWEST)
        accepted = {package: library(package, self.own_version) for package in ("transformers", "deepspeed")}
        super().__init__(documents, kinds, facts.replace(target={**accepted, **facts.target}))

    def default(self, path: Path, missing: Any) -> Any:
        """The default of a key of the file, which may differ from that of the Trainer's argument of the same name."""
        return Config.default(self, path, missing)

    def parsed_arguments(self) -> Arguments:
        """The arguments that axolotl passes to the Trainer; the defaults of the release if the run does not get there."""
        self._version = self.facts.version("transformers", library("transformers", self.own_version))
        self.validation = Validation(self)
        self.refusal: Refusal | None = None
        if not self.validation.accepted or not isinstance(self.root, dict | None):
            self.parsed = False
            return AxolotlTrainingArguments({}, {}, {}, self._version)
        from cfglint.frameworks.axolotl.normalization import normalize
        from cfglint.frameworks.axolotl.trainer_arguments import trainer_fields

        self.refusal = normalize(self)
        if self.refusal is not None:
            self.parsed = False
            return AxolotlTrainingArguments({}, {}, {}, self._version)
        self.parsed = True
        given, filled, source = trainer_fields(self)
        return AxolotlTrainingArguments(given, filled, source, self._version)

    def _additions(self) -> dict[str, Any]:
        """The values that axolotl writes into DeepSpeed's config; under packing also the micro batch (core/builders/causal.py:480)."""
        model = self.model
        packed = {"train_micro_batch_size_per_gpu": model.micro_batch_size} if model is not None and model.sample_packing else {}
        return {**self.validation.additions, **packed}

    @property
    def launched(self) -> bool | None:
        """Whether processes are started: with several GPUs, and for DeepSpeed and FSDP. None if that is unknown."""
        return True if self.uses_fsdp else super().launched

    @property
    def model(self) -> Model | None:
        """The validated values."""
        return self.validation.model

    def failure_stage(self, fails_at: Stage | None) -> Stage | None:
        """The stage of a failure: trainers for preferences, rewards and streams are built after their data is loaded, and their
        arguments, too.
        """
        model = self.model
        late = model is not None and self.parsed and any(getattr(model, key) for key in LATE)
        return "init" if late and fails_at == "config" else fails_at

    @property
    def refusals(self) -> list[Refusal]:
        """Every check that ends the run, in axolotl's order."""
        return [*self.validation.refusals, *([self.refusal] if self.refusal is not None else [])]

    @property
    def axolotl_text(self) -> str:
        """The target release of axolotl as a string."""
        return self.facts.target.get(PACKAGE, NEWEST)

    def section(self, name: str) -> Any:
        """A mapping of the file or of a file that it names, including what a check of axolotl adds to the DeepSpeed file."""
        found = super().section(name)
        additions = self._additions() if name == "deepspeed" and isinstance(found, dict) else {}
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

    def _completed(self, values: dict[Any, Any]) -> dict[Any, Any]:
        """The values of the file, overridden by those of the launch line; axolotl does not interpolate `${...}`."""
        return self.launched_with(values)

    def override_value(self, override: Override) -> Any:
        """The value of an argument of the launch line, cast to the type of the file's value as axolotl does."""
        from cfglint.frameworks.overrides import by_omegaconf

        return by_omegaconf(override) if override.texts else True

    def setting(self, *path: str | int, value: Any = None, because: str = "") -> Setting:
        """A key of the file as a setting; a field of the Trainer is looked up under axolotl's name for it."""
        if path and path[0] not in self.values:
            name = self.arguments.written(str(path[0]))
            if name != path[0]:
                return super().setting(name, *path[1:], value=value, because=because)
        return super().setting(*path, value=value, because=because)

    def place(self, path: tuple[str | int, ...]) -> Setting:
        """A key of the file by a path of any depth; integers in the path are list indices."""
        steps = [int(step) if isinstance(step, str) and step.isdecimal() else step for step in path]
        return super().setting(*steps, value=None)
