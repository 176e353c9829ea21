"""What frameworks raise where rules find something: `raises` of a rule, else the exceptions of its bad examples, which are recorded."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

WIDTH = 115
MOST = 4  # exceptions of a page


def paragraph(code: str, raises: str | None) -> str:
    """The paragraph "Run-time error" of a rule's page; empty if nothing is known to be raised."""
    from textwrap import fill

    from cfglint.findings._raised import RAISED

    found = RAISED.get(code) or ((raises,) if raises else ())
    text = "; ".join(map(quoted, found[:MOST]))
    text += "; ..." if len(found) > MOST else "" if text.endswith((".`", ".``")) else "."
    title = "Run-time error" if len(found) == 1 else "Run-time errors"
    return fill(f"{title}: {text}", WIDTH, break_long_words=False, break_on_hyphens=False) if found else ""


def quoted(text: str) -> str:
    """An exception as code in Markdown, whatever backticks it has."""
    line = " ".join(text.split())
    return f"``{line}{' ' if line.endswith('`') else ''}``" if "`" in line else f"`{line}`"


def recorded(raised: Iterable[tuple[str, list[str]]]) -> str:
    """The module `_raised.py`, of the exceptions of each rule's examples."""
    rows = "".join(f"    {code!r}: {tuple(longest(found))!r},\n" for code, found in raised)
    head = '"""What the bad examples of rules raise; written by tests/test_rules_doc.py."""\n\n# fmt: off\n# ruff: noqa: E501\n'
    return f"{head}from __future__ import annotations\n\nRAISED: dict[str, tuple[str, ...]] = {{\n{rows}}}\n"


def longest(texts: list[str]) -> list[str]:
    """The texts that are not the beginning of another one."""
    return [text for text in texts if not any(other != text and other.startswith(text) for other in texts)]
