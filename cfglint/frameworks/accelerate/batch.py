"""The part of the batch that an accelerate config determines: the number of processes and the parallel sizes."""

from __future__ import annotations

from cfglint.findings.setting import DERIVED, Setting
from cfglint.frameworks.resolved_batch import Batch, Layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.frameworks.accelerate.config import AccelerateConfig


def resolve(config: AccelerateConfig) -> Batch:
    """The layout of the processes; the batch sizes are set by the script and unknown here."""
    processes = config.started if config.facts.gpus is None else config.facts.gpus
    unknown = Setting(("batch",), None, DERIVED, because="set by the script")
    tensor, context, sequence = (config.axis(name) or 1 for name in ("tp", "cp", "sp"))
    layout = Layout(processes, tensor, context_parallel=context, sequence_parallel=sequence)
    replica = tensor * context * sequence
    data_parallel = Setting(("data_parallel",), processes // replica if processes else None, DERIVED, because="processes")
    return Batch(layout, unknown, unknown, data_parallel, unknown, gpus_per_replica=replica)
