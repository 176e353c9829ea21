"""verl: launch lines whose arguments are overrides of the config files of the package."""

from __future__ import annotations

from cfglint.frameworks._releases import OLDEST, RELEASES
from cfglint.frameworks.base import LineFramework

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from cfglint.frameworks.base import Config
    from cfglint.frameworks.chosen_sizes import ChosenSizes
    from cfglint.frameworks.launch_facts import Launch, LaunchFacts
    from cfglint.frameworks.resolved_batch import Batch
    from cfglint.frameworks.summary import Summary
    from cfglint.frameworks.verl.config import VerlConfig
    from cfglint.source.document import Document
    from cfglint.source.loaders import Loader

KIND: Final = "verl"


class Verl(LineFramework["VerlConfig"]):
    """A command line of verl's trainer: Hydra composes the package's config files and the overrides of the line."""

    kind = KIND
    title = "verl"
    package = "verl"
    oldest = OLDEST["verl"]
    newest = RELEASES["verl"]
    repository_owners = ("volcengine", "verl-project")
    rule_families = {"VRL": "verl"}
    programs = ("verl.trainer.main_ppo", "verl.trainer.fsdp_sft_trainer", "verl.trainer.sft_trainer")
    takes_overrides = True
    history_tables = ("verl.files.HISTORY",)

    def loader(self, document: Document, facts: LaunchFacts) -> Loader:
        """The loader of Hydra for a config file, else that for the words of a command."""
        if document.is_command:
            return super().loader(document, facts)
        from cfglint.source.omegaconf import YAML

        return YAML

    def takes(self, launch: Launch) -> bool:
        """Whether a line runs the module whose config is modelled."""
        return launch.line is not None and self.runs(launch.line)

    def config_files(self, launch: Launch) -> list[str]:
        """The config files that the options of Hydra name, and those of the project that they include."""
        from cfglint.frameworks.verl.search_path import named_files

        return named_files(launch)

    def config(self, documents: list[Document], kinds: list[str], facts: LaunchFacts) -> Config:
        """The config that Hydra composes for a launch line."""
        from cfglint.frameworks.verl.config import VerlConfig
        from cfglint.frameworks.verl.search_path import primary_of

        if primary_of(facts.launch).startswith("sft"):
            from cfglint.frameworks.verl.sft import SftConfig

            return SftConfig(documents, facts)
        return VerlConfig(documents, facts)

    def batch(self, config: VerlConfig) -> Batch:
        """The batch of one step and of one update."""
        if not config.has_rollout:
            from cfglint.frameworks.verl import sft

            return sft.batch(config)
        from cfglint.frameworks.verl.batch import batch

        return batch(config)

    def numbers(self, config: VerlConfig) -> dict[str, int | None]:
        """The steps, and the samples of a step and an update."""
        if not config.has_rollout:
            from cfglint.frameworks.verl import sft

            return sft.numbers(config)
        from cfglint.frameworks.verl.batch import numbers

        return numbers(config)

    def choose_sizes(self, config: VerlConfig, gpus: int, nodes: int | None, batch: int, max_micro: int | None) -> ChosenSizes:
        """The values that give a number of prompts per step, or of rows, on so many GPUs."""
        if not config.has_rollout:
            from cfglint.frameworks.verl import sft

            return sft.choose(config, gpus, batch, max_micro)
        from cfglint.frameworks.verl.target import choose

        return choose(config, gpus, nodes, batch, max_micro)

    def account(self, config: VerlConfig) -> Summary:
        """The lines about rollout, batch, length and learning rate."""
        if not config.has_rollout:
            from cfglint.frameworks.verl import sft

            return sft.account(config)
        from cfglint.frameworks.verl.summary import account

        return account(config)


FRAMEWORK = Verl()
