"""The package in the first comments of a file, as Hydra finds it (plugins/config_source.py, _get_header_dict)."""

from __future__ import annotations

from cases import each_case
from cfglint.source.hydra.folders import header


@each_case(
    ("text", "expected"),
    [
        ("# @package _global_\nrows: 8\n", "_global_"),
        ("#@package a.b\n", "a.b"),
        ("  # @package _group_ more\n", "_group_"),
        ("\n\n# @package a\n", "a"),
        ("# @other x\n# @package a\n", "a"),
        ("# @package\nrows: 8\n", None),
        ("# a comment\n# @package a\n", None),
        ("rows: 8\n# @package a\n", None),
        ("# @packages a\n", None),
        ("# package a\n", None),
        ("@package a\n", None),
        ("rows: 8\n", None),
        ("", None),
    ],
)
def test_the_package_of_a_file(text, expected):
    assert header(text) == expected
