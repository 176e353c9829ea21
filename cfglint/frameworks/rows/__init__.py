"""Rows: a framework's checks as guarded actions, their tables, their evaluation, and what their refusals say."""
