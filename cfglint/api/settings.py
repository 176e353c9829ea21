"""The settings of a project, as the commands apply them: those of the nearest configuration above the working directory."""

from __future__ import annotations

import os

from cfglint.project import baseline, selection, settings_file
from cfglint.project.selection import Selection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.diagnostic import Outcome
    from cfglint.frameworks.launch_facts import LaunchFacts
    from cfglint.project.settings_file import Configuration


def configuration(apply: bool) -> Configuration:
    """The configuration in effect, empty without one; raises ConfigurationError if it cannot be used."""
    return settings_file.in_effect(settings_file.find(os.getcwd()) if apply else None)


def with_settings(facts: LaunchFacts, project: Configuration) -> LaunchFacts:
    """The facts with those of the configuration where the caller gives none."""
    return facts.replace(
        gpus=facts.gpus or project.gpus,
        gpus_source=facts.gpus_source if facts.gpus else project.path,
        target={**project.target, **facts.target},
        target_from={**dict.fromkeys(project.target, project.path), **facts.target_from},
        gpu_memory=facts.gpu_memory or project.gpu_memory,
        installed=facts.installed or project.installed,
        policies=project.policies,
    )


def suppress(outcomes: list[Outcome], project: Configuration) -> None:
    """Mark the findings that the configuration and its baseline suppress."""
    selection.suppress(outcomes, Selection(project))
    if project.baseline:
        baseline.read(project.baseline).apply(outcomes)
