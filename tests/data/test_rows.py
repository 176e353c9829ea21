"""Rows are counted as `load_dataset` counts them, inside the project, within limits."""

import gzip
import json
import os
import struct

import pytest

from cases import each_case
from cfglint.data import remembered
from cfglint.data.arrow import rows as arrow_rows
from cfglint.data.rows import Limits, found, rows_of


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache in a folder of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(remembered, "_known", {})
    monkeypatch.setattr(remembered, "_read", [])


@pytest.fixture
def project(tmp_path, monkeypatch):
    """The folder of a project, which is the working directory."""
    (tmp_path / "p" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "p")
    return tmp_path / "p"


def counted(project, name, content, **options):
    (project / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return rows_of([name], Limits(str(project)), **options)


@each_case(
    ("name", "content", "rows"),
    [
        ("a.jsonl", '{"a": 1}\n\n  \n{"a": 2}', 2),
        ("a.jsonl", '{"a": 1}\r\n{"a": 2}\r\n', 2),
        ("a.jsonl", '{"a": 1}\r{"a": 2}\r', 2),
        ("a.jsonl", '\ufeff{"a": 1}\n', 1),
        ("a.jsonl", '{"a": 1}{"a": 2} {"a": 3}\n', 3),
        ("a.jsonl", '{\n  "a": {"b": 1}\n}\n{\n  "a": 2\n}\n', 2),
        ("a.jsonl", '{"a": "x\u2028y\u0085z"}\n{"a": "}{"}\nnull\n', 3),
        ("a.json", '[{"a": 1}, {"a": 2}]', 2),
        ("a.json", '["a", "b", "c"]', 3),
        ("a.json", '{"a": [1, 2, 3]}', 1),
        ("a.json", "[]", 0),
        ("a.csv", 'a,b\n1,"x\ny"\n\n2,z\n,\n', 3),
        ("a.csv", "a,b\n", 0),
        ("a.txt", "a\n\nb\x0cc\u2028d\r\ne", 4),
        ("a.txt", "", 0),
    ],
)
def test_rows_of_a_file(project, name, content, rows):
    assert counted(project, name, content).count == rows


@each_case(
    ("name", "content", "why"),
    [
        ("a.jsonl", "", "is empty"),
        ("a.jsonl", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS"),
        ("a.json", "[" * 100_000, "is not readable"),
        ("a.json", '[{"a": 1}', "is not readable"),
        ("a.parquet", "no parquet", "is not readable"),
        ("a.parquet", b"\xff" * 60 + struct.pack("<I", 50) + b"PAR1", "is not readable"),
        ("a.arrow", b"\xff" * 100, "is not readable"),
        ("a.csv", b"a\n" + b"x" * 200_000, "is not readable"),
        ("a.jsonl.gz", b"no gzip", "is not readable"),
        ("a.bin", "x", "type"),
    ],
)
def test_what_is_not_counted_has_a_reason(project, name, content, why):
    found = counted(project, name, content)
    assert found.count is None
    assert why in found.why


def test_a_field_has_the_rows(project):
    assert counted(project, "a.json", '{"data": [1, 2, 3, 4]}', field="data").count == 4
    assert counted(project, "b.json", '{"data": 1}', field="data").count is None


def test_a_packed_file_is_unpacked_up_to_the_limit(project):
    assert counted(project, "a.jsonl.gz", gzip.compress(b'{"a": 1}\n' * 50)).count == 50
    (project / "b.jsonl.gz").write_bytes(gzip.compress(b'{"a": 1}\n' * 100_000))
    assert "--count-data" in rows_of(["b.jsonl.gz"], Limits(str(project), 10_000)).why


def test_the_footer_of_a_parquet_file(project):
    # A schema with one element that is a structure with a list, a map and a string, then num_rows 1234 (zigzag 2468).
    element = bytes([0x18, 3]) + b"abc" + bytes([0x19, 0x25, 2, 4, 0x1B, 1, 0x55, 2, 4, 0x11, 0])
    footer = bytes([0x15, 4, 0x19, 0x1C]) + element + bytes([0x16]) + bytes([0xA4, 0x13]) + bytes([0])
    content = b"PAR1" + footer + struct.pack("<I", len(footer)) + b"PAR1"
    assert counted(project, "a.parquet", content).count == 1234


def test_a_large_file_is_counted_when_asked_for(project):
    (project / "a.jsonl").write_text('{"a": 1}\n' * 1000)
    assert "--count-data" in rows_of(["a.jsonl"], Limits(str(project), 100)).why
    assert rows_of(["a.jsonl"], Limits(str(project), 10_000)).count == 1000


def test_nothing_outside_of_the_project_is_opened(project):
    (project.parent / "out.jsonl").write_text('{"a": 1}\n')
    (project / "link.jsonl").symlink_to(project.parent / "out.jsonl")
    (project / ".git" / "a.jsonl").write_text('{"a": 1}\n')
    os.mkfifo(project / "pipe.jsonl")
    for name in ("../out.jsonl", "link.jsonl", ".git/a.jsonl"):
        assert found(name, "train.yaml") is None
        assert rows_of([name], Limits(str(project))).count is None
    assert "pipe" in rows_of(["pipe.jsonl"], Limits(str(project))).why


def test_counts_are_remembered_outside_of_the_project(project, monkeypatch):
    monkeypatch.setattr(remembered, "WORTH_WRITING", 1)
    assert counted(project, "a.jsonl", '{"a": 1}\n').count == 1
    [entry] = json.loads((project.parent / "cache" / "cfglint" / "rows.json").read_text())
    assert entry[4] == 1
    monkeypatch.setenv("XDG_CACHE_HOME", str(project / "cache"))
    assert counted(project, "b.jsonl", '{"a": 1}\n').count == 1
    assert not (project / "cache").exists()


@each_case("content", ["[", '[["a", 1, 2, "k", "x"]]', "[1]", '{"a": 1}'])
def test_a_cache_that_makes_no_sense_is_ignored(project, monkeypatch, content):
    monkeypatch.setattr(remembered, "WORTH_WRITING", 1)
    path = project.parent / "cache" / "cfglint" / "rows.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    assert counted(project, "a.jsonl", '{"a": 1}\n').count == 1


def test_batches_of_an_arrow_stream(tmp_path):
    path = tmp_path / "a.arrow"
    # Message: version, kind of head 3, head, length of the body; the batch has a length of 7.
    vtable = struct.pack("<HHHHHH", 12, 20, 0, 4, 8, 12)
    table = struct.pack("<iB3xiq", 12, 3, 20, 16)  # back to the vtable, kind, offset of the head, body
    inner_vtable = struct.pack("<HHH2x", 6, 16, 8)
    inner = struct.pack("<i4xq", 8, 7)
    head = struct.pack("<i", 16) + vtable + table + inner_vtable[:8] + inner
    place = 4 + len(vtable) + 8  # where the offset of the head is
    at = 4 + len(vtable) + len(table) + 8
    head = head[:place] + struct.pack("<i", at - place) + head[place + 4 :]
    message = b"\xff\xff\xff\xff" + struct.pack("<i", len(head)) + head + b"\0" * 16
    path.write_bytes(message * 3 + b"\xff\xff\xff\xff\0\0\0\0")
    with path.open("rb") as file:
        assert arrow_rows(file) == 21
