"""The arithmetic of a training run: the batch equation, its solver, and steps. No files, no frameworks."""
