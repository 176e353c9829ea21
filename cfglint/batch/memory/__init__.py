"""Estimates the memory of a training run on one GPU from the shape of the model and the settings of the run: pure arithmetic.

The peak is the maximum over the moments of a step: `moments.py` defines which tensors are allocated at each moment, `activations.py`,
`loss.py`, `optimizer.py` and `sharding.py` compute the terms, `estimate.py` the uncertainty. All figures are bytes on one rank, as
`torch.cuda.max_memory_allocated` counts them.
"""
