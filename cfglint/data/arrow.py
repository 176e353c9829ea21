"""The rows of an Arrow stream or file: the lengths in the heads of its record batches, whose bodies are skipped."""

from __future__ import annotations

from cfglint.source.annotations import BinaryFile

MAGIC = b"ARROW1\0\0"
CONTINUES = b"\xff\xff\xff\xff"
RECORD_BATCH = 3
LARGEST_HEAD = 16_000_000
MOST_BATCHES = 10_000_000


def rows(file: BinaryFile) -> int:
    """The rows of all batches; raises ValueError if the file is none of Arrow's."""
    if file.read(len(MAGIC)) != MAGIC:
        file.seek(0)
    total = 0
    for number in range(MOST_BATCHES):
        mark = file.read(4)
        size = int.from_bytes(file.read(4) if mark == CONTINUES else mark, "little")
        if not size:
            if not number:
                raise ValueError("no message")
            return total
        head = file.read(size)
        if size > LARGEST_HEAD or len(head) < size:
            raise ValueError("no message")
        length, body = message(head)
        total += length
        file.seek(body, 1)
    raise ValueError("too many batches")


def message(head: bytes) -> tuple[int, int]:
    """(rows, bytes of the body) of a message: a table of FlatBuffers with version, type of head, head and length of the body."""
    table = number(head, 0, 4)
    kind, at, body = field(head, table, 1), field(head, table, 2), field(head, table, 3)
    length = 0
    if kind is not None and at is not None and head[kind] == RECORD_BATCH:
        batch = at + number(head, at, 4)
        place = field(head, batch, 0)
        length = number(head, place, 8) if place is not None else 0
    size = number(head, body, 8) if body is not None else 0
    if min(length, size) < 0:
        raise ValueError("negative")
    return length, size


def number(data: bytes, place: int, size: int) -> int:
    """A signed integer; raises ValueError outside of the data."""
    if not 0 <= place <= len(data) - size:
        raise ValueError("outside of the message")
    return int.from_bytes(data[place : place + size], "little", signed=True)


def field(data: bytes, table: int, index: int) -> int | None:
    """The place of a field of a table; None where it has its default."""
    places = table - number(data, table, 4)
    if 4 + 2 * index + 2 > number(data, places, 2):
        return None
    offset = number(data, places + 4 + 2 * index, 2)
    return table + offset if offset else None
