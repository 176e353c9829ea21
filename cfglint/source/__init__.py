"""Parses files into values with positions and edits them: YAML, JSON, shell and Python syntax, independent of frameworks."""
