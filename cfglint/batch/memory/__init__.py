"""The memory of a training run on one GPU, from the model's shape and the run's settings: pure arithmetic.

The peak is a maximum over moments, not a sum of piles: `moments.py` says what is alive at each, `activations.py`, `loss.py`,
`optimizer.py` and `sharding.py` where each term comes from, `estimate.py` how sure the sum is. All figures are bytes of one rank, as
`torch.cuda.max_memory_allocated` counts them.
"""

from cfglint.batch.memory.estimate import CLOSE, DOES_NOT_FIT, FITS, GIB, Estimate, estimate, largest_micro_batch, verdict
from cfglint.batch.memory.settings import Fsdp, Lora, Settings, Zero
from cfglint.batch.memory.shape import Shape, UnknownShape, of_config

__all__ = [
    "CLOSE",
    "DOES_NOT_FIT",
    "FITS",
    "GIB",
    "Estimate",
    "Fsdp",
    "Lora",
    "Settings",
    "Shape",
    "UnknownShape",
    "Zero",
    "estimate",
    "largest_micro_batch",
    "of_config",
    "verdict",
]
