"""The facts about a launch that are not in its files."""

from __future__ import annotations

from cfglint.frameworks.versions import parse_version
from cfglint.source.record import changed, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Protocol

    from cfglint.frameworks.memory_inputs import Model
    from cfglint.frameworks.overrides import Override
    from cfglint.frameworks.program import ProgramFacts
    from cfglint.frameworks.versions import Version
    from cfglint.source.document import Document, Path

    class Violation(Protocol):
        """A value that a policy schema does not allow."""

        path: Path
        message: str

    class Policies(Protocol):
        """The policy schemas of a project."""

        def violations(self, kind: str, values: dict[Any, Any]) -> Iterable[Violation]:
            """The values of a config of this kind that the schemas do not allow."""


NOTHING: Mapping[str, Any] = {}


@record
class LaunchFacts:
    """The facts about a launch that are not in its files.

    `gpus` is the number of GPUs of the launch, one process each; None if unknown. `complete`: the files are the whole run.
    `kind_given`: the user specified the kind of the files. `target` maps a package to its version as a string, `target_from` to the
    file of the repository that it was found in. `bounds` has the specifiers of a package whose release is not known, any of which may
    hold; `target` then has the newest release that they allow. `outside` maps a package to the requested version if it lies outside the
    modelled releases (`target` then has the nearest of these). `expected_numbers` are numbers of `Run.resolved` that the project
    requires; `policies` are its own schemas. `model` is the model's shape, `gpu_memory` the memory of a card in GiB, `seq_length` the
    tokens per row if the files do not set it. `trainer` is the TRL trainer that the script builds, None if it is not specified.
    `launcher_flags` are the flags of
    `accelerate launch`, by the keys of its config file. `nodes` is the number of machines if the launch line leaves it open,
    `environment` the shell variables of its script. `arguments` are those given with --args; `command` is the launch line in a script,
    and `program` are the facts about its program. `guessed`: the parser of its arguments is only likely. `undecided` names arguments
    that are set to unknown values.
    """

    gpus: int | None = None
    num_examples: int | None = None
    target: Mapping[str, str] = NOTHING
    complete: bool = False
    kind_given: bool = False
    strict_keys: bool = False
    overrides: tuple[Override, ...] = ()
    from_gpus: int | None = None
    gpus_source: str = "--gpus"
    expected_numbers: Mapping[str, int] = NOTHING
    policies: Policies | None = None
    target_from: Mapping[str, str] = NOTHING
    bounds: Mapping[str, tuple[str, ...]] = NOTHING
    nodes: int | None = None
    environment: tuple[tuple[str, str], ...] = ()
    guessed: bool = False
    undecided: tuple[str, ...] = ()
    outside: Mapping[str, str] = NOTHING
    model: Model | None = None
    gpu_memory: float | None = None
    seq_length: int | None = None
    trainer: str | None = None
    launcher_flags: tuple[Override, ...] = ()
    program: ProgramFacts | None = None
    arguments: str = ""
    command: Document | None = None
    examples_source: str = "--num-examples"
    installed: bool = False

    def version(self, package: str, newest: str) -> Version:
        """The target release of a package as three or more numbers; the newest known release if none is specified."""
        version = parse_version(self.target.get(package, newest))
        return version + (0,) * (3 - len(version))  # 5.0 is 5.0.0

    def is_known(self, package: str) -> bool:
        """Whether the release of a package is stated, and not merely a bound or nothing."""
        return package in self.target and package not in self.bounds

    def replace(self, **changes: Any) -> LaunchFacts:
        """The same facts with some changed."""
        return changed(self, **changes)
