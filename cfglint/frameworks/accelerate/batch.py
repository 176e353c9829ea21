"""The part of the batch that a launch file decides: how many processes there are, and what they share."""

from __future__ import annotations

from cfglint.frameworks.base import Batch, Layout
from cfglint.frameworks.setting import DERIVED, Setting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.frameworks.accelerate.config import AccelerateConfig


def resolve(config: AccelerateConfig) -> Batch:
    """The launcher knows processes and no batch; that is the script's."""
    processes = config.started if config.facts.gpus is None else config.facts.gpus
    nothing = Setting(("batch",), None, DERIVED, because="the script's own")
    tensor, context, sequence = (config.axis(name) or 1 for name in ("tp", "cp", "sp"))
    layout = Layout(processes, tensor, context_parallel=context, sequence_parallel=sequence)
    replica = tensor * context * sequence
    data_parallel = Setting(("data_parallel",), processes // replica if processes else None, DERIVED, because="processes")
    return Batch(layout, nothing, nothing, data_parallel, nothing, gpus_per_replica=replica)
