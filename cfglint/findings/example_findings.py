"""What a rule's page takes from the findings of its bad examples: what the framework raises, and the remedies.

Both are recorded by a test. What the docstring of the rule says itself, and `raises` of the rule, come first.
"""

from __future__ import annotations

from cfglint.source.annotations import Iterable

Rows = Iterable[tuple[str, list[str]]]

WIDTH = 115
MOST = 4  # exceptions or remedies of a page; one more is recorded, for which the page has "..."


def raised(code: str, raises: str | None) -> str:
    """The paragraph "Run-time error" of a rule's page; empty if nothing is known to be raised."""
    from cfglint.findings._example_findings import RAISED

    found = RAISED.get(code) or ((raises,) if raises else ())
    return paragraph("Run-time error" if len(found) == 1 else "Run-time errors", [quoted(each) for each in found])


def remedy(code: str) -> str:
    """The paragraph "Fix" of a rule's page; empty if its findings have no remedy."""
    from cfglint.findings._example_findings import REMEDIES

    return paragraph("Fix", REMEDIES.get(code, ()))


def paragraph(title: str, found: Iterable[str]) -> str:
    """A paragraph of a page: a title and some texts."""
    from textwrap import fill

    texts = [*found]
    text = "; ".join(texts[:MOST])
    text += "; ..." if len(texts) > MOST else "" if text.endswith((".`", ".``", "...", "?")) else "."
    return fill(f"{title}: {text}", WIDTH, break_long_words=False, break_on_hyphens=False) if texts else ""


def quoted(text: str) -> str:
    """An exception as code in Markdown, whatever backticks it has."""
    line = " ".join(text.split())
    return f"``{line}{' ' if line.endswith('`') else ''}``" if "`" in line else f"`{line}`"


def recorded(exceptions: Rows, remedies: Rows) -> str:
    """The module `_example_findings.py`, of the exceptions and the remedies of each rule's examples."""
    head = '"""What the bad examples of rules raise, and their remedies; written by tests/test_rules_doc.py."""\n\n'
    head += "# fmt: off\n# ruff: noqa: E501\nfrom __future__ import annotations\n\n"
    return f"{head}{table('RAISED', exceptions)}\n{table('REMEDIES', remedies)}"


def table(name: str, found: Rows) -> str:
    """The texts of each rule as source."""
    rows = "".join(f"    {code!r}: {tuple(longest(texts)[: MOST + 1])!r},\n" for code, texts in found)
    return f"{name}: dict[str, tuple[str, ...]] = {{\n{rows}}}\n"


def longest(texts: list[str]) -> list[str]:
    """The texts that are not the beginning of another one."""
    return [text for text in texts if not any(other != text and other.startswith(text) for other in texts)]
