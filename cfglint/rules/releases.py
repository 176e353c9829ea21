"""Rules about the releases that a project states."""

from __future__ import annotations

from cfglint.findings.diagnostic import WARNING
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks import framework, modelled_releases
from cfglint.frameworks.base import Config
from cfglint.frameworks.releases.history import NAME, SINCE
from cfglint.frameworks.releases.versions import parse_version
from cfglint.source.annotations import Iterator, Mapping

PASSED = "processing_class"  # which TRL's trainers pass to `Trainer` from this release on (trainer/*_trainer.py)
PASSES = (0, 12, 0)
BOTH = 2


@rule("RUN015")
def incompatible_releases(config: Config) -> Iterator[Finding]:
    facts = config.facts
    if len(facts.target_from) + len(facts.pinned) < BOTH:
        return
    from cfglint.frameworks.releases.requirements import OTHERS, accepts, required

    pinned = {package: (facts.target[package], file) for package, file in facts.target_from.items() if facts.is_known(package)}
    pinned = {**facts.pinned, **{package: each for package, each in pinned.items() if package not in facts.outside}}
    for package in OTHERS:
        for other in OTHERS[package]:
            if package not in pinned or other not in pinned:
                continue
            (release, file), (found, of_other) = pinned[package], pinned[other]
            if not accepts(package, release, {other: found}):
                refused = is_refused(package, release, other, found) and builds_trainer(config)
                yield Finding(
                    config.setting(),
                    f"{package} {release} ({file}) requires {other} {required(package, parse_version(release), other)}, but {found} "
                    f"is pinned{'' if of_other == file else f' ({of_other})'}",
                    exception=f"TypeError: Trainer.__init__() got an unexpected keyword argument {PASSED!r}" if refused else None,
                    severity=None if refused else WARNING,
                    for_any_parser=True,
                    note=None if refused else "pip does not install the two together",
                    help=remedy(package, other, pinned),
                )


def is_refused(package: str, release: str, other: str, found: str) -> bool:
    """Whether the two are TRL and transformers, and TRL's trainers pass an argument to `Trainer` that it does not have."""
    since = max(row[SINCE] for row in framework("huggingface").constructor("Trainer") if row[NAME] == PASSED)
    return (package, other) == ("trl", "transformers") and parse_version(release) >= PASSES and parse_version(found) < since


def builds_trainer(config: Config) -> bool:
    """Whether the run builds a trainer of TRL: the program that is read, or TRL's own."""
    program = config.facts.launch.code
    return config.kind == "trl" if program is None else any(call.package == "trl" and call.is_certain for call in program.trainer_calls)


def remedy(package: str, other: str, pinned: Mapping[str, tuple[str, str]]) -> str:
    """Which release of one of the two to pin in place of the stated one."""
    from cfglint.frameworks.releases.requirements import newest_with, required

    release, found = pinned[package][0], pinned[other][0]
    able = [each for each in modelled_releases(package) if not is_refused(package, each, other, found)]
    fitting = newest_with(package, able, {other: found})
    spec = required(package, parse_version(release), other)
    return f"pin {other} {spec}" + (f", or {package} {fitting}" if fitting else "")
