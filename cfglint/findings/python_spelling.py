"""Remedies in the spelling of Python."""

from __future__ import annotations

import re

PYTHON = {"true": "True", "false": "False", "null": "None"}


def in_python(text: str, is_mapping: bool) -> str:
    """A remedy with its values as Python spells them, and `key: value` as a keyword, or as an item of a mapping."""

    def pair(found: re.Match[str]) -> str:
        key, value = found[1], PYTHON.get(found[2], found[2])
        value = value if value != found[2] or not value.isidentifier() else f'"{value}"'
        return f'`"{key}": {value}`' if is_mapping else f"`{key}={value}`"

    text = re.sub(r"`(\w+): ([^`:{\[]+)`", pair, text)
    return re.sub(r"\b(to|write|or) (true|false|null)\b", lambda found: f"{found[1]} {PYTHON[found[2]]}", text)
