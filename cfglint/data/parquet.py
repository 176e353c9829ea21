"""The number of rows in the footer of a parquet file, which is a structure of Thrift's compact protocol."""

from __future__ import annotations

from cfglint.source.annotations import BinaryFile
from cfglint.source.record import Record

MAGIC = b"PAR1"
LARGEST_FOOTER = 64_000_000
STOP, TRUE, FALSE, BYTE, SHORT, INT, LONG, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(13)
NUM_ROWS = 3  # the field of `FileMetaData`
DEEPEST = 50


def rows(file: BinaryFile) -> int:
    """The rows of all row groups; raises ValueError if the file is no parquet file."""
    end = file.seek(0, 2)
    file.seek(max(end - 8, 0))
    tail = file.read(8)
    size = int.from_bytes(tail[:4], "little")
    if tail[4:] != MAGIC or not 0 < size <= min(end - 8, LARGEST_FOOTER):
        raise ValueError("no footer")
    file.seek(end - 8 - size)
    found = Footer(file.read(size)).number(NUM_ROWS)
    if found is None or found < 0:
        raise ValueError("no number of rows")
    return found


class Footer(Record):
    """A reader of a structure."""

    data: bytes
    place: int = 0

    def number(self, wanted: int) -> int | None:
        """The integer in a field of the structure; None if it has none."""
        field = 0
        while True:
            head = self.byte()
            kind, step = head & 15, head >> 4
            if kind == STOP:
                return None
            field = field + step if step else self.signed()
            if field == wanted and kind in (SHORT, INT, LONG):
                return self.signed()
            self.skip(kind)

    def byte(self) -> int:
        self.place += 1
        return self.data[self.place - 1]

    def unsigned(self) -> int:
        """The next variable-length integer."""
        value = 0
        for shift in range(0, 70, 7):
            byte = self.byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise ValueError("too long an integer")

    def signed(self) -> int:
        value = self.unsigned()
        return value >> 1 ^ -(value & 1)

    def size(self, entries: int) -> int:
        """A number of entries, each of which has a byte at least."""
        if entries > len(self.data):
            raise ValueError("more entries than bytes")
        return entries

    def skip(self, kind: int, depth: int = 0, in_list: bool = False) -> None:
        if depth > DEEPEST:
            raise ValueError("nested too deeply")
        if kind in (TRUE, FALSE):
            self.place += in_list
        elif kind == BYTE:
            self.place += 1
        elif kind in (SHORT, INT, LONG):
            self.unsigned()
        elif kind == DOUBLE:
            self.place += 8
        elif kind == BINARY:
            size = self.unsigned()
            self.place += size
        elif kind in (LIST, SET):
            head = self.byte()
            for _ in range(self.size(head >> 4 if head >> 4 != 15 else self.unsigned())):
                self.skip(head & 15, depth + 1, in_list=True)
        elif kind == MAP:
            size = self.size(self.unsigned())
            kinds = self.byte() if size else 0
            for _ in range(size):
                self.skip(kinds >> 4, depth + 1, in_list=True)
                self.skip(kinds & 15, depth + 1, in_list=True)
        elif kind == STRUCT:
            while (head := self.byte()) & 15 != STOP:
                if not head >> 4:
                    self.unsigned()
                self.skip(head & 15, depth + 1)
        else:
            raise ValueError("unknown kind")
