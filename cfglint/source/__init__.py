"""Text <-> values with positions. Knows YAML and JSON, knows no framework."""
