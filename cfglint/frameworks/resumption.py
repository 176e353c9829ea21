"""A run that continues from a checkpoint: what that gives it, and where it ends. Imported only for such a run."""

from __future__ import annotations

from cfglint.data.checkpoint import Checkpoint, checkpoint_in
from cfglint.findings.setting import OVERRIDE, Setting
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.summary import BATCH, LENGTH, Summary
from cfglint.source.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.entries import ResumeEntry


KEY = "resume_from_checkpoint"
FLAG = "--resume"


class Resumption(Record):
    """A checkpoint and the run that continues from it.

    `setting` is the value that names the checkpoint, `name` the path that is meant, also if it was not found. `is_certain`: the run is
    known to hand it to its trainer. `is_unasked`: the framework looks for it in the output folder by itself. `begin` and `end` are the
    optimizer steps of the checkpoint and of the end of the run, `micro_batch` is the one that is used in the place of `own_micro_batch`,
    `restored` are the keys whose value the checkpoint gives.
    """

    setting: Setting
    name: str
    checkpoint: Checkpoint | None = None
    is_certain: bool = False
    is_unasked: bool = False
    begin: int | None = None
    end: int | None = None
    micro_batch: int | None = None
    own_micro_batch: int | None = None
    restored: tuple[str, ...] = ()

    @property
    def steps_left(self) -> int | None:
        return self.end - self.begin if self.end is not None and self.begin is not None else None

    def entry(self) -> ResumeEntry:
        return {
            "checkpoint": self.name,
            "begin": self.begin,
            "end": self.end,
            "steps_left": self.steps_left,
            "micro_batch": self.micro_batch,
            "restored": [*self.restored],
        }

    def show(self, summary: Summary) -> None:
        summary.derive(LENGTH, "resumes from", "resume", self.name or None, self.origin)
        if self.micro_batch is not None and self.own_micro_batch not in (None, self.micro_batch):
            because = f"train_batch_size of the checkpoint, not {self.own_micro_batch}"
            summary.derive(BATCH, "resumed with", "resumed_micro_batch", self.micro_batch, because)
        if self.begin is not None and self.end is not None:
            summary.derive(LENGTH, "steps left", "steps_left", self.steps_left, f"from step {self.begin:,} to {self.end:,}")

    @property
    def origin(self) -> str:
        """Where the checkpoint is named, and what it is."""
        place = self.setting.place
        if self.checkpoint is None:
            return f"{place}; not found here, so nothing is known of it"
        return f"step {self.begin:,} ({place})" if self.begin is not None else place


def given_checkpoint(facts: LaunchFacts, key: str = KEY) -> Resumption | None:
    resume = facts.resume
    if resume is None:
        return None
    return Resumption(Setting((key,), resume, OVERRIDE, because=FLAG), resume, checkpoint_in(resume, resume, ""), is_certain=True)
