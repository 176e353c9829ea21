"""The messages of an editor on standard input: what is no header of one is skipped, so that the next message is understood."""

from __future__ import annotations

import sys

from cfglint.source.annotations import BinaryFile

LENGTH = b"Content-Length:"
MOST = 100_000_000  # bytes of one message
LONGEST_LINE = 1_000_000  # bytes that are searched for a header at once


class Messages:
    """A stream of messages, as pygls reads it: the lines of the headers, then as many bytes as the header says.

    A message without the header of its length cannot be told from the next header, which follows on the same line.
    """

    def __init__(self, stream: BinaryFile) -> None:
        self.stream = stream
        self.is_reported = False

    def readline(self) -> bytes:
        """The next line of headers, in the spelling that pygls knows; an unknown one stays as it is, and is ignored there."""
        line = self.stream.readline(LONGEST_LINE)
        name, mark, value = line.partition(b":")
        before, found, length = line.rpartition(LENGTH) if LENGTH in line else (b"", name.title() + mark == LENGTH, value)
        if not found:
            if line.strip() and not mark:
                self.report("a line that is no header")
            return line
        if before:
            self.report("a message without its length")
        if not length.strip().isdigit() or int(length) > MOST:
            self.report("a message of unknown length")
            return b"\n"
        return b"%s %d\r\n" % (LENGTH, int(length))

    def read(self, size: int) -> bytes:
        return self.stream.read(size)

    def report(self, what: str) -> None:
        """Say once on standard error what was skipped."""
        if not self.is_reported:
            self.is_reported = True
            print(f"cfglint: the editor sent {what}; it was skipped", file=sys.stderr, flush=True)
