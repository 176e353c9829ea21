"""What a module of this package has for one kind of file: its instance `GENERATOR`."""

from __future__ import annotations

from cfglint.generators import choices
from cfglint.generators.convert import Existing
from cfglint.generators.generated import Generated
from cfglint.generators.job_spec import Contradiction, JobSpec
from cfglint.source.annotations import Any, Callable
from cfglint.source.record import Record


class Generator(Record):
    """Generates files of one kind from a job, and extracts the facts of a job from such files.

    `makes` says in a phrase what the files are, `takes` are the facts that it supports, and `trainers` the values of `JobSpec.trainer`.
    `generate` gives the files of the kind, the consumer first, and `files_of_run` those of its launch too, which are consistent: the last
    argument is their folder. `read` reads the facts of an existing config, defaults included. `usual_rate`: (learning rate, reason) if none
    is specified.
    """

    makes: str
    takes: frozenset[str]
    generate: Callable[[JobSpec, str], Generated]
    read: Callable[[Existing, Any], None]
    files_of_run: Callable[[JobSpec, str], Generated] | None = None
    trainers: tuple[str, ...] = ()
    usual_rate: Callable[[JobSpec], tuple[float, str]] = choices.rate

    def matching_set(self, job: JobSpec, folder: str) -> Generated:
        """The matching set of files; raises Contradiction if there is none."""
        if self.files_of_run is None:
            raise Contradiction("there is no set of files for this kind")
        return self.files_of_run(job, folder)
