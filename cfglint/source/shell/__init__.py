"""The effect of a shell script, derived from its source without running anything.

`Script` is a source with its syntax tree, `Interpreter` follows its statements and collects the commands that it would
start, each word with the places in the file that its characters come from.
"""

from __future__ import annotations

MARKDOWN = (".md", ".markdown", ".mdx")  # files whose commands show how a script is called


def is_markdown(path: str) -> bool:
    return path.lower().endswith(MARKDOWN)
