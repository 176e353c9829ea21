"""The training data of a run: files, rows, and what a trainer generates."""
