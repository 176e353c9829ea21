"""A run as people read it: every number with its origin, and training logs compared with the arithmetic."""
