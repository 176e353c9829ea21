"""The values of an axolotl config and their places, which validation, batch and arguments are computed from."""

from __future__ import annotations

from cfglint.findings.setting import Setting
from cfglint.frameworks.axolotl import FRAMEWORK, NEWEST, PACKAGE
from cfglint.frameworks.axolotl.refusals import AxolotlModel
from cfglint.frameworks.axolotl.releases import library
from cfglint.frameworks.base import Config, Framework
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases.versions import Version
from cfglint.source.annotations import Operand, Sequence
from cfglint.source.document import Document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.launch.overrides import Override


class AxolotlValues(TrainerConfig):
    """The values of the files; `model` are those that axolotl has validated and completed, None if it refuses them."""

    framework: Framework = FRAMEWORK
    batch_keys = {"micro_batch": "micro_batch_size", "accumulation": "gradient_accumulation_steps"}
    obsolete_batch_keys = {"accumulation": "batch_size"}  # `batch_size` only affects the number of steps, not the training batch
    model: AxolotlModel | None = None

    def __init__(self, documents: list[Document], facts: LaunchFacts, kinds: Sequence[str] = ()) -> None:
        self.own_version: Version = facts.version(PACKAGE, NEWEST)
        accepted = {package: library(package, self.own_version) for package in ("transformers", "deepspeed")}
        super().__init__(documents, facts.within(accepted), kinds)

    default = Config.default  # of a key of the file, which may differ from that of the Trainer's argument of the same name

    @property
    def axolotl_text(self) -> str:
        return self.facts.target.get(PACKAGE, NEWEST)

    @property
    def launched(self) -> bool | None:
        """Whether processes are started: with several GPUs, and for DeepSpeed and FSDP. None if that is unknown."""
        return True if self.uses_fsdp else super().launched

    _completed = Config.launched_with  # nothing interpolates `${...}`

    def override_value(self, override: Override) -> Operand:
        """The value of an argument of the launch line, cast to the type of the file's value as axolotl does."""
        from cfglint.launch.overrides import by_omegaconf

        return by_omegaconf(override) if override.texts else True

    def setting(self, *path: str | int, value: object = None, because: str = "") -> Setting:
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
