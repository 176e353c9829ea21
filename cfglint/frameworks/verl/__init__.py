"""verl: launch lines whose arguments are overrides of the config files of the package."""

from __future__ import annotations

from cfglint.frameworks._releases import OLDEST, RELEASES
from cfglint.frameworks.base import LineFramework
from cfglint.frameworks.launch_facts import Launch, LaunchFacts
from cfglint.source.annotations import Final
from cfglint.source.document import Document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.source.loaders import Loader

KIND: Final = "verl"


class Verl(LineFramework):
    """A command line of verl's trainer: Hydra composes the package's config files and the overrides of the line."""

    kind = KIND
    title = "verl"
    package = "verl"
    oldest = OLDEST["verl"]
    newest = RELEASES["verl"]
    repository_owners = ("volcengine", "verl-project")
    source_paths = ("/verl/",)
    rule_families = {"VRL": "verl"}
    rules = "checks composition no_effect"
    programs = ("verl.trainer.main_ppo", "verl.trainer.fsdp_sft_trainer", "verl.trainer.sft_trainer")
    takes_overrides = True
    history_tables = ("verl.files.HISTORY",)
    parts = {
        "config": "verl.sft.config_of",
        "batch": "verl.batch.batch",
        "numbers": "verl.batch.numbers",
        "choose_sizes": "verl.target.choose",
        "account": "verl.summary.account",
    }

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


FRAMEWORK = Verl()
