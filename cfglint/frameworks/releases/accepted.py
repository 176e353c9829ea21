"""The releases of libraries that a framework accepts, where the project leaves them open."""

from __future__ import annotations

from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases.versions import parse_version
from cfglint.source.annotations import Mapping


def within(facts: LaunchFacts, accepted: Mapping[str, str]) -> LaunchFacts:
    """The facts with the newest releases that a framework accepts, where the project states none, or allows these and newer ones."""
    asked = facts.target
    capped = {package: version for package, version in accepted.items() if package not in asked or is_capped(facts, package, version)}
    return facts.replace(target={**asked, **capped})


def is_capped(facts: LaunchFacts, package: str, version: str) -> bool:
    """Whether the bounds that a project states for a package allow a release that is older than the one that is asked."""
    if package not in facts.bounds or parse_version(facts.target[package]) <= parse_version(version):
        return False
    from cfglint.frameworks.releases.bounds import allows

    return any(allows(spec, version) for spec in facts.bounds[package])
