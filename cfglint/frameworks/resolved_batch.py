"""The batch of a run as its framework computes it."""

from __future__ import annotations

from cfglint.findings.setting import Setting
from cfglint.source.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.vocabulary import BatchReason, Stage


class Layout(Record):
    """GPUs and the parallel sizes that divide them; a size is 1 if a framework has no such axis."""

    gpus: int | None
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    context_parallel: int = 1
    sequence_parallel: int = 1


class BatchProblem(Record):
    """The reason why a framework would refuse the batch: `reason` is `mismatch`, `missing`, `type`, `not-positive`, or `layout`."""

    reason: BatchReason
    setting: Setting
    message: str
    exception: str
    fails_at: Stage = "config"
    help: str | None = None


class Batch(Record):
    """The batch as its framework computes it; an unknown number is None.

    `global_batch` is the size that the framework prints and compares with the file; `consumed_batch` is the number of samples
    that one optimizer step really takes. `data_parallel` is the framework's own divisor, and `gpus_per_replica`
    is what the framework divides the GPUs by to compute it.
    """

    layout: Layout
    micro_batch: Setting
    accumulation: Setting
    data_parallel: Setting
    global_batch: Setting
    consumed_batch: int | None = None
    problem: BatchProblem | None = None
    gpus_per_replica: int = 1
