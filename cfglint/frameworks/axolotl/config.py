"""An axolotl file: what pydantic makes of it, what axolotl completes, and the Trainer that it is handed to."""

from __future__ import annotations

from cfglint.frameworks.axolotl import FRAMEWORK, NEWEST, PACKAGE, TRANSFORMERS
from cfglint.frameworks.axolotl.validation import Validation
from cfglint.frameworks.huggingface.arguments import Arguments
from cfglint.frameworks.huggingface.config import TrainerConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cfglint.findings.setting import Setting
    from cfglint.findings.vocabulary import Stage
    from cfglint.frameworks.axolotl.refusals import Model, Refusal
    from cfglint.frameworks.base import Framework
    from cfglint.frameworks.overrides import Override
    from cfglint.frameworks.versions import Version


# Keys of runs whose trainer, and with it the arguments, is built after models or data of its own are loaded.
LATE = ("rl", "streaming", "pretraining_dataset", "reward_model", "process_reward_model", "diffusion_lm", "use_ray")


class Handed(Arguments):
    """The `TrainingArguments` that axolotl builds: `given` by the file under axolotl's names, the rest as axolotl fills it in."""

    def __init__(self, given: dict[str, Any], filled: dict[str, Any], source: dict[str, str], version: Version) -> None:
        self._filled = filled
        super().__init__(given, version)
        self.source = source

    def release_defaults(self, version: Version) -> dict[str, Any]:
        """The release's fields, with what axolotl fills in for those that the file does not give."""
        return {**super().release_defaults(version), **self._filled}


class AxolotlConfig(TrainerConfig):
    """What axolotl makes of its file.

    `validation` holds what pydantic and axolotl's validators say; `refusal` is why what comes after them ends the run. `model` has the
    values after both, None where the run does not get that far.
    """

    framework: Framework[Any] = FRAMEWORK
    batch_keys = {"micro_batch": "micro_batch_size", "accumulation": "gradient_accumulation_steps"}
    obsolete_batch_keys = {"accumulation": "batch_size"}  # which counts the steps, and not what is trained on

    def parsed_arguments(self) -> Arguments:
        """The arguments that axolotl hands to the Trainer; the release's defaults where the run does not get there."""
        self._version = self.facts.version("transformers", TRANSFORMERS)
        self.validation = Validation(self)
        self.refusal: Refusal | None = None
        if not self.validation.accepted or not isinstance(self.root, dict | None):
            self.parsed = False
            return Handed({}, {}, {}, self._version)
        from cfglint.frameworks.axolotl.normalization import normalize
        from cfglint.frameworks.axolotl.trainer_arguments import handed

        self.refusal = normalize(self)
        if self.refusal is not None:
            self.parsed = False
            return Handed({}, {}, {}, self._version)
        self.parsed = True
        given, filled, source = handed(self)
        return Handed(given, filled, source, self._version)

    def _additions(self) -> dict[str, Any]:
        """What axolotl writes into DeepSpeed's configuration; the micro batch under packing (core/builders/causal.py:480)."""
        model = self.model
        packed = {"train_micro_batch_size_per_gpu": model.micro_batch_size} if model is not None and model.sample_packing else {}
        return {**self.validation.additions, **packed}

    @property
    def model(self) -> Model | None:
        """The values that axolotl continues with."""
        return self.validation.model

    def failure_stage(self, fails_at: Stage | None) -> Stage | None:
        """Trainers for preferences, rewards and streams are built after their data is loaded, and with them the arguments."""
        model = self.model
        late = model is not None and self.parsed and any(getattr(model, key) for key in LATE)
        return "init" if late and fails_at == "config" else fails_at

    @property
    def refusals(self) -> list[Refusal]:
        """Every check that ends the run, in axolotl's order."""
        return [*self.validation.refusals, *([self.refusal] if self.refusal is not None else [])]

    @property
    def axolotl_version(self) -> Version:
        """The targeted release of axolotl."""
        return self.facts.version(PACKAGE, NEWEST)

    @property
    def axolotl_text(self) -> str:
        """The targeted release of axolotl as people write it."""
        return self.facts.target.get(PACKAGE, NEWEST)

    def section(self, name: str) -> Any:
        """A mapping of the file or of a file that it names; what a check of axolotl adds to DeepSpeed's file is in it."""
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
        """The file's values with the launch line's over them; `${...}` is text to axolotl."""
        return self.launched_with(values)

    def override_value(self, override: Override) -> Any:
        """A value of the launch line; axolotl casts it to the type that the file's value has, and pydantic reads it."""
        from cfglint.frameworks.overrides import by_omegaconf

        return by_omegaconf(override) if override.texts else True

    def setting(self, *path: str | int, value: Any = None, because: str = "") -> Setting:
        """A key of the file; a field of the Trainer is looked up under axolotl's name for it."""
        if path and path[0] not in self.values:
            name = self.arguments.written(str(path[0]))
            if name != path[0]:
                return super().setting(name, *path[1:], value=value, because=because)
        return super().setting(*path, value=value, because=because)

    def place(self, path: tuple[str | int, ...]) -> Setting:
        """A key of the file by a path of any depth; steps that are numbers are indices of lists."""
        steps = [int(step) if isinstance(step, str) and step.isdecimal() else step for step in path]
        return super().setting(*steps, value=None)
