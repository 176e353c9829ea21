"""Megatron-LM, whose programs take all settings as arguments of a launch line: it has no files."""

from __future__ import annotations

from cfglint.frameworks.base import LineFramework

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from cfglint.frameworks.base import Config
    from cfglint.frameworks.launch_facts import Launch, LaunchFacts
    from cfglint.frameworks.megatron.config import MegatronConfig
    from cfglint.frameworks.memory_inputs import Inputs, Model
    from cfglint.frameworks.resolved_batch import Batch
    from cfglint.frameworks.summary import Summary
    from cfglint.source.document import Document

KIND: Final = "megatron"
REQUIRED = ("micro_batch_size", "num_layers", "hidden_size", "num_attention_heads")  # without these, Megatron-LM does not start


class Megatron(LineFramework["MegatronConfig"]):
    """The arguments of Megatron-LM's programs, or of forks that compute the batch in the same way."""

    kind = KIND
    title = "Megatron-LM"
    estimates_memory = True
    no_generator = "Megatron-LM has no config files: its settings are the arguments of the launch line"

    def takes(self, launch: Launch) -> bool:
        """Whether a line has the arguments without which Megatron-LM does not start."""
        return launch.command is not None and all(name in launch.command.words for name in REQUIRED)

    def packages(self) -> dict[str, str]:
        """Return no packages: releases are not told apart."""
        return {}

    def config(self, documents: list[Document], kinds: list[str], facts: LaunchFacts) -> Config:
        """The config of a launch line."""
        from cfglint.frameworks.megatron.config import MegatronConfig

        return MegatronConfig(documents, facts)

    def batch(self, config: MegatronConfig) -> Batch:
        """The batch of the arguments."""
        from cfglint.frameworks.megatron.batch import batch

        return batch(config)

    def numbers(self, config: MegatronConfig) -> dict[str, int | None]:
        """The length of the run."""
        from cfglint.frameworks.megatron.batch import numbers

        return numbers(config)

    def model(self, config: MegatronConfig) -> Model | None:
        """The model that the arguments describe."""
        from cfglint.frameworks.megatron.memory import model

        return model(config)

    def memory(self, config: MegatronConfig, model: Model) -> Inputs:
        """The memory settings of a launch line."""
        from cfglint.frameworks.megatron.memory import inputs

        return inputs(config, model)

    def account(self, config: MegatronConfig) -> Summary:
        """The lines about launcher, parallelism, length, learning rate and precision."""
        from cfglint.frameworks.megatron.batch import account

        return account(config)

    def load_rules(self) -> None:
        """Register no rules: those of launch lines are enough."""


FRAMEWORK = Megatron()
