"""The rows of local data files, as `load_dataset` counts them.

A file is counted only inside the project of what names it, up to `LARGEST` bytes unless more is asked for, and without waiting for a pipe.
Nothing that goes wrong here is an error: such a file has no known number of rows. This package is imported only for a run that names data.
"""

from __future__ import annotations

import os
from io import BytesIO, TextIOWrapper
from itertools import islice

from cfglint.source.annotations import BinaryFile, Callable
from cfglint.source.files import FileProblem, open_regular
from cfglint.source.record import Record
from cfglint.source.root import is_inside, places_of, root_of

LARGEST = 256_000_000  # bytes of a file that is counted unasked
LARGEST_JSON = 64_000_000  # bytes of JSON that is parsed as a whole
MOST_FILES = 1000  # that a pattern stands for
BLOCK = 1 << 20
LFS = b"version https://git-lfs"
PACKED = {".gz": "gzip", ".bz2": "bz2", ".xz": "lzma"}


class Uncountable(Exception):
    """Rows that are not known; the message is the reason."""


class Rows(Record):
    """The rows of some files; None with the reason why they are not known."""

    count: int | None
    files: tuple[str, ...]
    why: str = ""


class Limits(Record):
    """What may be counted: the root that no file may lie outside of, and the largest file."""

    root: str
    largest: int = LARGEST


def found(name: str, origin: str) -> str | None:
    """The file or folder of the project that a file of a run names; None if it is not there."""
    root = root_of(origin)
    return next((path for path in places_of(name, origin) if "\0" not in path and os.path.exists(path) and is_inside(path, root)), None)


def found_all(name: str, origin: str) -> list[str]:
    """The files that a name or a pattern of a run means, in the project; empty if there are none, or too many."""
    if not any(mark in name for mark in "*?["):
        path = found(name, origin)
        return [] if path is None else [path]
    if "**" in name or "\0" in name:
        return []
    from glob import iglob

    root = root_of(origin)
    for pattern in places_of(name, origin):
        paths = [*islice(iglob(pattern), MOST_FILES + 1)]
        inside = sorted(path for path in paths if is_inside(path, root) and os.path.isfile(path))
        if inside:
            return inside if len(paths) <= MOST_FILES else []
    return []


def rows_of(paths: list[str], limits: Limits, field: str = "", kind: str = "") -> Rows:
    """The rows of files together; `field` is the key of a JSON object that has the list, `kind` the type if the name does not tell it."""
    if not paths:
        return Rows(None, (), "no data file is named")
    try:
        return Rows(sum(counted(path, limits, field, kind) for path in paths), tuple(paths))
    except Uncountable as error:
        return Rows(None, tuple(paths), str(error))


def counted(path: str, limits: Limits, field: str = "", kind: str = "") -> int:
    """The rows of one file, which are remembered while it does not change; raises Uncountable, with the file."""
    from cfglint.data.remembered import known, remember

    try:
        state = os.stat(path)
    except OSError:
        raise Uncountable(f"{path} is not there") from None
    key = (os.path.realpath(path), state.st_size, state.st_mtime_ns, f"{kind}:{field}")
    rows = known(key)
    if rows is None:
        try:
            rows = count(path, state.st_size, limits, field, kind)
        except Uncountable as error:
            raise Uncountable(f"{path} {error}") from None
        remember(key, rows, limits.root)
    return rows


def count(path: str, size: int, limits: Limits, field: str, kind: str) -> int:
    name = path.lower()
    packed = next((each for each in PACKED if name.endswith(each)), "")
    counter = COUNTERS.get(kind or name.removesuffix(packed).rpartition(".")[2])
    if counter is None:
        raise Uncountable("is of a type that is not counted")
    if size > limits.largest and counter not in (parquet, arrow):
        raise Uncountable(f"has {size / 1e6:,.0f} MB: --count-data counts it")
    try:
        with os.fdopen(open_regular(path, limits.root), "rb") as file:
            if file.read(len(LFS)) == LFS:
                raise Uncountable("is a Git LFS pointer: its data is not here")
            file.seek(0)
            if not packed:
                return counter(file, field)
            with unpacked(file, packed, limits.largest) as content:
                return counter(content, field)
    except FileProblem as error:
        raise Uncountable(error.message) from None
    except (OSError, ValueError, EOFError, RecursionError, MemoryError, IndexError, OverflowError) as error:
        raise Uncountable(f"is not readable ({type(error).__name__})") from None


def unpacked(file: BinaryFile, packed: str, largest: int) -> BinaryFile:
    """The content of a packed file; raises Uncountable if it is larger than what may be counted."""
    from importlib import import_module

    with import_module(PACKED[packed]).open(file, "rb") as stream:
        content: bytes = stream.read(largest + 1)
    if len(content) > largest:
        raise Uncountable(f"has more than {largest / 1e6:,.0f} MB unpacked: --count-data counts it")
    return BytesIO(content)


def json_rows(file: BinaryFile, field: str) -> int:
    """The rows of JSON or JSON Lines: the elements of a list, else the objects, however they are divided into lines."""
    first = file.read(BLOCK).lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    file.seek(0)
    if not first:
        raise Uncountable("is empty")
    if first != b"[" and not field:
        lines = object_lines(file)
        if lines is not None:
            return lines
        file.seek(0)
    import json

    data = file.read(LARGEST_JSON + 1)
    if len(data) > LARGEST_JSON:
        raise Uncountable(f"is JSON of more than {LARGEST_JSON / 1e6:,.0f} MB that is not one object a line")
    text = data.decode("utf-8-sig")
    if first == b"[" or field:
        value = json.loads(text)
        value = value.get(field) if field and isinstance(value, dict) else value
        if not isinstance(value, list):
            raise Uncountable(f"has no list `{field}`" if field else "has no list")
        return len(value)
    decoder, place, rows = json.JSONDecoder(), 0, 0
    while True:
        while place < len(text) and text[place] in " \t\r\n":
            place += 1
        if place == len(text):
            return rows
        _, place = decoder.raw_decode(text, place)
        rows += 1


def listed_rows(file: BinaryFile, field: str) -> int:
    """The entries of a list in JSON, as a program has them that parses the file itself."""
    if not field and file.read(BLOCK).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] != b"[":
        raise Uncountable("has no list")
    file.seek(0)
    return json_rows(file, field)


def object_lines(file: BinaryFile) -> int | None:
    """The lines that are not blank of a file in which each of them is one object or null; None if some may not be."""
    rows = 0
    for line in file:
        text = line.strip(b" \t\r\n\xef\xbb\xbf")
        if not text:
            continue
        if (
            not (text[:1] == b"{" and text[-1:] == b"}" and b"}{" not in text and b"} {" not in text and b"\r" not in text)
            and text != b"null"
        ):
            return None
        rows += 1
    return rows


def csv_rows(file: BinaryFile, _: str) -> int:
    """The records of a CSV file behind its header; blank lines are none."""
    import csv

    reader = csv.reader(TextIOWrapper(file, "utf-8-sig", "replace", newline=""))
    try:
        records = sum(1 for record in reader if record)
    except csv.Error as error:
        raise Uncountable(f"is not readable ({error})") from None
    return max(records - 1, 0)


def text_rows(file: BinaryFile, _: str) -> int:
    """The lines of a text file, empty ones too."""
    lines, last = 0, b"\n"
    while block := file.read(BLOCK):
        lines, last = lines + block.count(b"\n"), block[-1:]
    return lines + (last != b"\n")


def parquet(file: BinaryFile, _: str) -> int:
    from cfglint.data.parquet import rows

    return rows(file)


def arrow(file: BinaryFile, _: str) -> int:
    """The rows of the record batches of an Arrow file or stream."""
    from cfglint.data.arrow import rows

    return rows(file)


COUNTERS: dict[str, Callable[[BinaryFile, str], int]] = {
    **dict.fromkeys(("json", "jsonl", "ndjson"), json_rows),
    "list": listed_rows,
    **dict.fromkeys(("csv", "tsv"), csv_rows),
    **dict.fromkeys(("txt", "text"), text_rows),
    "parquet": parquet,
    "arrow": arrow,
}
