"""What a shell script would do, derived from its text without running anything.

`Script` is a text with its syntax tree, `Interpreter` follows its statements and collects the commands that it would
start, each word with the places in the file that its characters come from.
"""

from __future__ import annotations

SYNTAX = "shell"  # of documents that are commands
