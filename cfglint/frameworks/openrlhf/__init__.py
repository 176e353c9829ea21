"""OpenRLHF: the arguments of the programs that train, `openrlhf.cli.train_sft` and its likes."""

from __future__ import annotations

from cfglint.frameworks.base import LineFramework
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases._modelled import OLDEST, RELEASES
from cfglint.source.annotations import Final

KIND: Final = "openrlhf"
PACKAGE = "openrlhf"
PROGRAMS = ("sft", "rm", "prm", "dpo", "kto", "kd", "ppo", "ppo_ray")
PREFIX = f"{PACKAGE}.cli.train_"


class OpenRlhf(LineFramework):
    kind = KIND
    title = "OpenRLHF"
    package = PACKAGE
    oldest = OLDEST[PACKAGE]
    newest = RELEASES[PACKAGE]
    repository_owners = ("openrlhf",)
    source_paths = ("/openrlhf/",)
    parses_command = True
    no_generator = "a run is a command line, with what differs from the defaults"
    rule_families = {"ORL": title}
    rules = "arguments"
    programs = tuple(f"{PREFIX}{name}" for name in PROGRAMS)
    scripts = tuple(f"{PREFIX.replace('.', '/')}{name}.py" for name in PROGRAMS)
    history_tables = ("openrlhf.fields.HISTORY",)
    parts = {
        "exceptions": "rows.refusals.row_exceptions",
        "config": "openrlhf.config.OpenRlhfConfig",
        "words": "openrlhf.fields.WORDS",
        "fitting": "openrlhf.fields.fitting",
        "batch": "openrlhf.batch.batch",
        "numbers": "openrlhf.batch.numbers",
        "choose_sizes": "openrlhf.target.choose",
        "account": "openrlhf.summary.account",
        "refusals": "openrlhf.checks.failed",
    }

    def completed(self, facts: LaunchFacts) -> LaunchFacts:
        """The facts with the newest release that has the arguments of the line, if the project states none."""
        release = self.part("fitting", lambda _: "")(facts) if facts.launch.command is not None and not facts.is_known(PACKAGE) else ""
        if not release:
            return facts
        bounds = tuple(f"{spec},<={release}" for spec in facts.bounds.get(PACKAGE, ("",)))
        bounds = tuple(bound.lstrip(",") for bound in bounds)
        return facts.replace(target={**facts.target, PACKAGE: release}, bounds={**facts.bounds, PACKAGE: bounds})


FRAMEWORK = OpenRlhf()
