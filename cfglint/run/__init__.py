"""Paths become runs: discovery of files, a run as it is loaded, a run with its findings."""
