"""Compares two states of a run: what changed in effect."""
