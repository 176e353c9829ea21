"""The interface of a generator for one kind of file; each module has an instance named `GENERATOR`."""

from __future__ import annotations

from cfglint.generators import choices
from cfglint.generators.job_spec import Contradiction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.generators.convert import Existing
    from cfglint.generators.generated import Generated
    from cfglint.generators.job_spec import JobSpec


class Generator:
    """Generates files of one kind from a job, and extracts the facts of a job from such files.

    `makes` says in a phrase what the files are.
    `takes` are the facts that it supports, `trainers` the values of `JobSpec.trainer`; `makes_sets`: there is a
    `matching_set` too.
    """

    takes: frozenset[str]
    makes: str
    trainers: tuple[str, ...] = ()
    makes_sets = False

    def generate(self, job: JobSpec, folder: str = "") -> Generated:
        """The files of this kind, the consumer first."""
        raise NotImplementedError

    def matching_set(self, job: JobSpec, folder: str = "") -> Generated:
        """The files of this kind and those of its launch, which are consistent."""
        raise Contradiction("there is no set of files for this kind")

    def read(self, found: Existing, config: object) -> None:
        """Read the facts of an existing config of this kind, defaults included."""
        raise NotImplementedError

    def usual_rate(self, job: JobSpec) -> tuple[float, str]:
        """(learning rate, reason) if none is specified."""
        return choices.rate(job)
