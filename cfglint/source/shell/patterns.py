"""Patterns of the shell: `*`, `?`, `[...]`."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.source.shell.placed_text import Text


def trimmed(value: str, pattern: str, operator: str) -> tuple[int, int]:
    """(start, end) of the part that remains after a pattern is removed at one side."""
    size = len(value)
    if len(pattern) > 200 or size > 10_000 or pattern.count("*") > 3:
        return 0, size
    expression = re.compile(glob(pattern) + r"\Z", re.DOTALL)
    ends = range(size + 1)
    if operator[0] == "#":
        for end in ends if operator == "#" else reversed(ends):
            if expression.match(value[:end]):
                return end, size
        return 0, size
    for start in reversed(ends) if operator == "%" else ends:
        if expression.match(value[start:]):
            return 0, start
    return 0, size


def fits(pattern: Text, value: str) -> bool:
    """Whether a string matches a pattern; not for one that is unknown or takes too long."""
    known = pattern.value
    if known is None or len(known) > 200 or known.count("*") > 3:
        return False
    return re.fullmatch(glob(known), value[:10_000], re.DOTALL) is not None


def escaped(text: str) -> str:
    """A string as a pattern that matches nothing else."""
    return "".join(f"\\{char}" if char in "*?[\\" else char for char in text)


def glob(pattern: str) -> str:
    """A pattern of the shell as a regular expression."""
    found = ""
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "*":
            found += ".*"
        elif char == "?":
            found += "."
        elif char == "[" and "]" in pattern[at + 2 :]:
            close = pattern.index("]", at + 2)
            inner = pattern[at + 1 : close].replace("\\", "\\\\")
            found += f"[^{inner[1:]}]" if inner[:1] in ("!", "^") else f"[{inner}]"
            at = close
        elif char == "\\" and at + 1 < len(pattern):
            at += 1
            found += re.escape(pattern[at])
        else:
            found += re.escape(char)
        at += 1
    return found
