"""The cursor at every place of some texts: `cursors.txt` holds each text as a Python string behind its syntax, and where it is what.

A line tells the first and last place, the section, the key whose value is typed there (`-`: a key itself), the beginning of the word, and
whether it has an opening quote; places that are neither a key nor a value are left out.
"""

from __future__ import annotations

import ast
from itertools import groupby
from pathlib import Path

from cfglint.server.cursor import cursor_at

FILE = Path(__file__).parent / "cursors.txt"


def described(syntax, text):
    places = []
    for offset in range(len(text) + 1):
        found = cursor_at(text, offset, syntax)
        if found is not None:
            word = f"{found.word}{' quoted' if found.quoted else ''}"
            places.append((f"{'.'.join(found.section) or 'root'} {found.key if found.key is not None else '-'} {word}", offset))
    for shown, group in groupby(places, key=lambda each: each[0]):
        offsets = [offset for _, offset in group]
        yield f"  {offsets[0]}-{offsets[-1]} ({len(offsets)}): {shown}"


def test_cursors(updating):
    """`CFGLINT_UPDATE=1` rewrites what comes of them."""
    blocks = []
    for line in FILE.read_text(encoding="utf-8").splitlines():
        if not line.startswith("  "):
            syntax, _, written = line.partition(" ")
            blocks.append("\n".join([line, *described(syntax, ast.literal_eval(written))]))
    found = "\n".join(blocks) + "\n"
    if updating:
        FILE.write_text(found, encoding="utf-8")
    assert found == FILE.read_text(encoding="utf-8")
