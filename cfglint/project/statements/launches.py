"""What a launch tells of releases: the folders of its program, and names in its line that only former releases have."""

from __future__ import annotations

from cfglint.frameworks import modelled_releases
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases.versions import parse_version
from cfglint.project.statements.statement import Statement
from cfglint.source.record import changed
from cfglint.source.root import repository

# The first release without names, and the names: options of ms-swift (2.6.1 and 3.0.0), a module of verl (0.7.0 and 0.7.1).
FORMER = {
    "ms-swift": ("3", frozenset(("--sft_type", "--model_id_or_path", "--train_dataset_sample"))),
    "verl": ("0.7.1", frozenset(("verl.trainer.fsdp_sft_trainer",))),
}


def of_former(package: str, facts: LaunchFacts, statements: list[Statement]) -> list[Statement]:
    """That a run without a stated release, or with a source tree that is none, is one for those whose arguments or module its line has."""
    line, (first, names) = facts.launch.line, FORMER.get(package, ("", frozenset()))
    words = [word.string.partition("=")[0] for word in (*filter(None, [line.program]), *line.arguments)] if line is not None else []
    found = next((word for word in words if word in names), "")
    if not found or not statements:
        return [Statement(f"`{found}`", f"<{first}")] if found else statements
    older = (release for release in reversed(modelled_releases(package)) if parse_version(release) < parse_version(first))
    nearest = next(older, "")
    return [changed(statement, release=nearest) for statement in statements]


def with_program(folders: list[str], program: str) -> list[str]:
    """The folders above a script, and before the first other one above its program as well those between that and the program."""
    above = repository(program)
    place = next((place for place, folder in enumerate(folders) if place and folder in above), len(folders))
    return [*folders[:place], *(folder for folder in above if folder not in folders), *folders[place:]]
