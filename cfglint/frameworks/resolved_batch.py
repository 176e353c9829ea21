"""The batch of a run as its framework computes it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.setting import Setting
    from cfglint.findings.vocabulary import BatchReason, Stage


class Layout:
    """GPUs and the parallel sizes that divide them; a size is 1 if a framework has no such axis."""

    __slots__ = ("context_parallel", "gpus", "pipeline_parallel", "sequence_parallel", "tensor_parallel")

    def __init__(
        self,
        gpus: int | None,
        tensor_parallel: int = 1,
        pipeline_parallel: int = 1,
        context_parallel: int = 1,
        sequence_parallel: int = 1,
    ) -> None:
        self.gpus = gpus
        self.tensor_parallel = tensor_parallel
        self.pipeline_parallel = pipeline_parallel
        self.context_parallel = context_parallel
        self.sequence_parallel = sequence_parallel


class BatchProblem:
    """The reason why a framework would refuse the batch: `reason` is `mismatch`, `missing`, `type`, `not-positive`, or `layout`."""

    __slots__ = ("exception", "fails_at", "help", "message", "reason", "setting")

    def __init__(
        self,
        reason: BatchReason,
        setting: Setting,
        message: str,
        exception: str,
        fails_at: Stage = "config",
        help: str | None = None,  # noqa: A002
    ) -> None:
        self.reason = reason
        self.setting = setting
        self.message = message
        self.exception = exception
        self.fails_at = fails_at
        self.help = help


class Batch:
    """The batch as its framework computes it; an unknown number is None.

    `global_batch` is the size that the framework prints and compares with the file; `consumed_batch` is the number of samples
    that one optimizer step really takes. `data_parallel` is the framework's own divisor, and `gpus_per_replica`
    is what the framework divides the GPUs by to compute it.
    """

    __slots__ = (
        "accumulation",
        "consumed_batch",
        "data_parallel",
        "global_batch",
        "gpus_per_replica",
        "layout",
        "micro_batch",
        "problem",
    )

    def __init__(
        self,
        layout: Layout,
        micro_batch: Setting,
        accumulation: Setting,
        data_parallel: Setting,
        global_batch: Setting,
        consumed_batch: int | None = None,
        problem: BatchProblem | None = None,
        gpus_per_replica: int = 1,
    ) -> None:
        self.layout = layout
        self.micro_batch = micro_batch
        self.accumulation = accumulation
        self.data_parallel = data_parallel
        self.global_batch = global_batch
        self.consumed_batch = consumed_batch
        self.problem = problem
        self.gpus_per_replica = gpus_per_replica
