"""Validation of values by a kind's JSON Schema and by pydantic's coercion."""
