"""Text <-> values with positions: YAML, JSON and shell syntax, independent of frameworks."""
