"""Positions of the protocol."""

from __future__ import annotations

from cases import each_case
from cfglint.server.positions import Lines

TEXT = "a😀b\r\nüc\rd\n"


@each_case(
    ("encoding", "offset", "position"),
    [
        ("utf-16", 2, (0, 3)),
        ("utf-8", 2, (0, 5)),
        ("utf-32", 2, (0, 2)),
        ("utf-8", 6, (1, 2)),
        ("utf-16", 8, (2, 0)),
        ("utf-16", 10, (3, 0)),
    ],
)
def test_there_and_back(encoding, offset, position):
    lines = Lines(TEXT, encoding)
    assert lines.position(offset) == position
    assert lines.offset(*position) == offset


def test_column_behind_the_end_of_a_line():
    assert Lines(TEXT).offset(0, 99) == TEXT.index("\r")


def test_line_behind_the_end_of_the_text():
    assert Lines(TEXT).offset(9, 0) == len(TEXT)
