"""A Trainer config: its files, and the DeepSpeed config that they may name."""

from __future__ import annotations

from cfglint.evaluate import Unknown, because
from cfglint.findings.setting import DEFAULT, WRITTEN, Setting
from cfglint.findings.vocabulary import Stage
from cfglint.frameworks.base import Config
from cfglint.frameworks.huggingface import FRAMEWORK
from cfglint.frameworks.huggingface.trainer_files import TrainerFiles
from cfglint.frameworks.refusal import Refusal
from cfglint.source.annotations import Any, Callable, Collection
from cfglint.source.document import Part

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.frameworks.huggingface.deepspeed_integration import HfDeepSpeedConfig


class TrainerConfig(TrainerFiles):
    evaluation_assumed = "an evaluation set is passed"
    unused_fields: Collection[str] = ()  # fields that this trainer does not use, unlike the Trainer of transformers
    checkpoint_arguments: Collection[str] = ()  # what this trainer itself takes out of the arguments of checkpointing, if it sets some
    seeded_at: Stage = "init"  # the stage at which the random number generators are seeded: by the Trainer's constructor
    _deepspeed: HfDeepSpeedConfig | None = None
    _refusals: list[Refusal] | None = None
    _argument_refusals: list[Refusal] | None = None
    adapters: list[Any] | None = None  # cached for the rules about adapters

    @property
    def refusals(self) -> list[Refusal]:
        if self._refusals is None:
            self._refusals = [*self.part("refusals", ())] if self.parsed else []
        return self._refusals

    @property
    def argument_refusals(self) -> list[Refusal]:
        if self._argument_refusals is None:
            refusals: Callable[[TrainerConfig], list[Refusal]] = FRAMEWORK.part("argument_refusals", lambda config: [])
            self._argument_refusals = refusals(self) if self.parsed else []
        return self._argument_refusals

    def sets(self, name: str) -> bool:
        return name in self.arguments or self.arguments.written(name) in self.values

    def unknown(self, name: str) -> Setting:
        """A field whose value is unknown, with the place of its key if the file has it."""
        document = self.documents[0]
        key, node = document.find((name,))
        said = document.unknown.get(name) if isinstance(document, Part) else None
        value: Unknown = said if said is not None else self.own_defaults.get(name, Unknown())
        return Setting((name,), value, WRITTEN if node is not None else DEFAULT, document, node, key, because(value.reasons))

    @property
    def deepspeed(self) -> HfDeepSpeedConfig | None:
        """The DeepSpeed file or section after the trainer filled it in; None without one, or if its content is unknown."""
        if self._deepspeed is not None or not self.uses_deepspeed or not self.parsed:
            return self._deepspeed
        values = self.section("deepspeed")
        if values is not None:
            from cfglint.frameworks.huggingface.deepspeed_integration import HfDeepSpeedConfig

            named = self.files.get("deepspeed")
            document, prefix = (named, ()) if named is not None else (self.documents[0], ("deepspeed",))
            self._deepspeed = HfDeepSpeedConfig(self, values, document, prefix)
        elif self.launcher is not None and self.launcher.uses_deepspeed and not (self.arguments["deepspeed"] or self.launcher.lacks_engine):
            from cfglint.frameworks.huggingface.accelerate_block import BlockLaunch

            self._deepspeed = BlockLaunch(self, self.launcher)
        if self._deepspeed is not None:
            self._deepspeed.run()
        return self._deepspeed

    def nested_configs(self) -> list[Config]:
        configs: list[Config] = [self.launcher] if self.launcher is not None else []
        engine = self.deepspeed.engine() if self.deepspeed is not None else None
        return configs if engine is None else [engine, *configs]

    @property
    def makes_optimizer(self) -> bool:
        """Whether the Trainer builds the optimizer itself; a DeepSpeed config may have its own."""
        return self.deepspeed is None or "optimizer" not in self.deepspeed.written

    def loaded(self) -> tuple[int | None, int | None]:
        """(samples per epoch, samples that one process takes from the loader at a time); None for an unknown number."""
        samples, at_once = self.part("loaded", (self.facts.num_examples, self.batch.micro_batch.integer))
        return None if self.own_samples else samples, at_once

    @property
    def own_sampler(self) -> bool:
        """Whether the trainer samples its data in another way than the Trainer of transformers."""
        return False

    @property
    def own_loader(self) -> bool:
        """Whether the batches are those of a loader of the trainer's own, which shares the samples among the processes itself."""
        return False

    @property
    def script_resumes(self) -> bool:
        """Whether the script hands `resume_from_checkpoint` to the trainer, as far as is known."""
        return True

    @property
    def packs(self) -> bool:
        """Whether samples are packed into blocks, whose number depends on the data; the Trainer itself packs none."""
        return False

    @property
    def counts_samples(self) -> bool:
        """Whether a loop of the trainer's own takes updates of several steps until all samples are done, without `max_steps`."""
        return False

    def batches_because(self) -> str:
        """How samples become the batches of one process, if this trainer has a sampler of its own."""
        return self.part("batches_because", "")
