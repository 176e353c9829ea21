"""The training samples of a run whose data lies in the project: how many, of which files, and whether that is certain."""

from __future__ import annotations

from cfglint.findings.wording import first_few
from cfglint.source.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.entries import SamplesEntry


class Samples(Record):
    """The rows that become training samples; `count` is None where they are not known, `why` is the reason.

    `why` may also say that there can be fewer; `rows` are those of the files, if the run takes a part of them.
    """

    count: int | None
    files: tuple[str, ...]
    why: str = ""
    rows: int | None = None

    @property
    def certain(self) -> bool:
        """Whether the run trains on exactly these."""
        return self.count is not None and not self.why

    @property
    def source(self) -> str:
        """Where the number comes from: `1,047 rows of data/train.jsonl`."""
        total = self.rows if self.rows is not None else self.count
        of_files = first_few(self.files) if self.files else "the program"
        return f"{total:,} {'row' if total == 1 else 'rows'} of {of_files}" if total is not None else of_files

    def entry(self) -> SamplesEntry:
        return {"files": [*self.files], "rows": self.count, "certain": self.certain, "why": self.why or None}
