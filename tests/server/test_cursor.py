"""The section and the key at a cursor, in texts that are being typed."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.server.cursor import cursor_at


@each_case(
    ("text", "section", "key", "quoted"),
    [
        ("learn|", (), None, False),
        ("bf16: tr|", (), "bf16", False),
        ('lr_scheduler_type: "co|', (), "lr_scheduler_type", True),
        ("fsdp_config:\n  # comment: x\n  min|", ("fsdp_config",), None, False),
        ("a:\n  b:\n    c: 1\n  d: |", ("a",), "d", False),
        ("a:\n  b: 1\nc|", (), None, False),
    ],
)
def test_yaml(text, section, key, quoted):
    found = cursor_at(text.replace("|", ""), text.index("|"), "yaml")
    assert (found.section, found.key, found.quoted) == (section, key, quoted)


@pytest.mark.parametrize("text", ["# learn|", "a: 1 2|", "a:1|", "a: {b|"])
def test_yaml_elsewhere(text):
    assert cursor_at(text.replace("|", ""), text.index("|"), "yaml") is None


@each_case(
    ("text", "section", "key", "quoted"),
    [
        ('{"tr|', (), None, True),
        ('{"a": 1, "zero_optimization": {"stage": 2, "over|', ("zero_optimization",), None, True),
        ('{"zero_optimization": {"stage": |', ("zero_optimization",), "stage", False),
        ('{"a": {"b": [1, {"x": 2}]}, |', (), None, False),
        ('{"a\\"b": "c, {", "d": "e|', (), "d", True),
    ],
)
def test_json(text, section, key, quoted):
    found = cursor_at(text.replace("|", ""), text.index("|"), "json")
    assert (found.section, found.key, found.quoted) == (section, key, quoted)


@pytest.mark.parametrize("text", ["|", '{"a": [1|', '{"some text |', '{"a" |'])
def test_json_elsewhere(text):
    assert cursor_at(text.replace("|", ""), text.index("|"), "json") is None
