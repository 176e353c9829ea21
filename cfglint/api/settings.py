"""The settings of a project, as the commands apply them: those of the nearest configuration above the working directory."""

from __future__ import annotations

import os

from cfglint.api.arguments import launch_facts
from cfglint.findings.diagnostic import Outcome
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.project import baseline, selection, settings_file
from cfglint.project.selection import Selection
from cfglint.project.settings_file import Configuration, DeclaredRun
from cfglint.source.annotations import Any


def configuration(apply: bool) -> Configuration:
    """The configuration in effect, empty without one; raises ConfigurationError if it cannot be used."""
    return settings_file.in_effect(settings_file.find(os.getcwd()) if apply else None)


def with_settings(facts: LaunchFacts, project: Configuration) -> LaunchFacts:
    """The facts with those of the configuration where the caller gives none."""
    facts = facts.on_card(project.gpu, project.gpu_memory)
    return facts.replace(
        gpus=facts.gpus or project.gpus,
        gpus_source=facts.gpus_source if facts.gpus else project.path,
        target={**project.target, **facts.target},
        target_from={**dict.fromkeys(project.target, project.path), **facts.target_from},
        installed=facts.installed or project.installed,
        policies=project.policies,
    )


def declared_facts(given: dict[str, Any], run: DeclaredRun, project: Configuration) -> LaunchFacts:
    """The facts of a declared run; the arguments of the caller win."""
    names = ("gpus", "num_examples", "trainer", "model")
    facts = {**given, **{name: getattr(run, name) for name in names if given[name] is None}}
    facts["strict_keys"] = given["strict_keys"] or run.strict_keys
    facts["overrides"] = {**dict(run.overrides), **(given["overrides"] or {})}
    found = launch_facts(**{**facts, "kind": run.kind, "target": given["target"] or run.target, "run": True})
    found = found.on_card(run.gpu, run.gpu_memory)
    found.arguments, found.expected_numbers = run.arguments or "", run.expected_numbers
    found.installed = found.installed or run.installed
    return with_settings(found, project)


def suppress(outcomes: list[Outcome], project: Configuration) -> None:
    """Mark the findings that the configuration and its baseline suppress."""
    selection.suppress(outcomes, Selection(project))
    if project.baseline:
        baseline.read(project.baseline).apply(outcomes)
