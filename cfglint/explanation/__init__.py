"""The explanation of a run: every number with its origin, and training logs compared with the arithmetic."""
