"""The settings of a project, as the commands apply them: those of the nearest configuration above the working directory."""

from __future__ import annotations

import os

from cfglint.project import baseline, settings_file
from cfglint.project.selection import Selection
from cfglint.project.settings_file import Configuration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.diagnostic import Outcome
    from cfglint.frameworks.launch_facts import LaunchFacts


def configuration(apply: bool) -> Configuration:
    """The configuration in effect, empty without one; raises ConfigurationError if it cannot be used."""
    path = settings_file.find(os.getcwd()) if apply else None
    if path is None:
        return Configuration()
    settings_file.refuse_foreign_file(path)
    project = settings_file.read(path)
    settings_file.refuse_foreign_names(project)
    if project.policy_files:
        from cfglint.project import policy_schema

        project.policies = policy_schema.load(project.policy_files, project.folder)
    return project


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
    selection = Selection(project, None, None, None)
    for outcome in outcomes:
        selection.apply(outcome)
    if project.baseline:
        baseline.read(os.path.join(project.folder, project.baseline)).apply(outcomes)
