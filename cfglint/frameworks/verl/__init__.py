"""verl: launch lines whose arguments are overrides of the config files of the package."""

from __future__ import annotations

from cfglint.frameworks.base import CERTAIN, NO_MATCH, Framework
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases._modelled import OLDEST, RELEASES
from cfglint.launch import Launch
from cfglint.source.annotations import Final
from cfglint.source.document import Document
from cfglint.source.loaders import Loader

KIND: Final = "verl"
SECTIONS = ("actor_rollout_ref", "trainer", "hydra")  # of a file that extends the config of the package
PACKAGE_CONFIG = "pkg://verl."  # how its search path names that config
EXTENDED = ("ppo_trainer", "sft_trainer", "_self_")  # the entries of a defaults list that needs no other file of the project


class Verl(Framework):
    """A command line of verl's trainer, whose overrides Hydra composes with the files of the package, or a file that extends these."""

    kind = KIND
    title = "verl"
    package = "verl"
    oldest = OLDEST["verl"]
    newest = RELEASES["verl"]
    repository_owners = ("volcengine", "verl-project")
    source_paths = ("/verl/",)
    telling_keys = frozenset(SECTIONS[:1])
    rule_families = {"VRL": "verl"}
    rules = "checks no_effect"
    further_rules = "resuming"
    programs = ("verl.trainer.main_ppo", "verl.trainer.fsdp_sft_trainer", "verl.trainer.sft_trainer")
    takes_overrides = True
    history_tables = ("verl.files.HISTORY",)
    parts = {
        "exceptions": "verl.checks.exceptions",
        "config": "verl.sft.config_of",
        "refused": "verl.rules.checks.refused",
        "batch": "verl.batch.batch",
        "numbers": "verl.batch.numbers",
        "resumption": "verl.rules.resuming.resumption",
        "samples": "verl.samples.samples",
        "choose_sizes": "verl.target.choose",
        "account": "verl.summary.account",
    }

    def detect(self, document: Document) -> int:
        """Detect a file for Hydra whose search path has the config of the package, and which extends nothing else."""
        (path, extended) = (document.find(each)[1] for each in (("hydra", "searchpath"), ("defaults",)))
        if path is None or extended is None or not all(node.resolved().raw in EXTENDED for node in extended.resolved().items()):
            return NO_MATCH
        return CERTAIN if any(node.resolved().raw.startswith(PACKAGE_CONFIG) for node in path.resolved().items()) else NO_MATCH

    def may_be(self, names: list[str], path: str) -> bool:
        return all(each in names for each in SECTIONS)

    def loader(self, document: Document, facts: LaunchFacts) -> Loader:
        if document.is_command:
            return super().loader(document, facts)
        from cfglint.source.omegaconf import YAML

        return YAML

    def config_files(self, launch: Launch) -> list[str]:
        from cfglint.frameworks.verl.search_path import named_files

        return named_files(launch)


FRAMEWORK = Verl()
