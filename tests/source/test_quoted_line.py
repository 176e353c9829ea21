"""What a report quotes of a line: the value in its line, without comments."""

import pytest

from cfglint.source.parse import parse
from cfglint.source.quoted_line import quoted_line


@pytest.mark.parametrize(
    ("name", "text", "value", "expected"),
    [
        ("a.yaml", "a: 1\nlr: 2e-5  # token abc\nb: 2\n", "2e-5", "lr: 2e-5"),
        ("a.yaml", "lr: '#2'  # token\n", "'#2'", "lr: '#2'"),
        ("a.yaml", "lr: 2e-5  # cfglint: ignore[X]\n", "# cfglint: ignore[X]", "lr: 2e-5  # cfglint: ignore[X]"),
        ("a.json", '{"a": 1, // token\n "b": 2 /* token */, "c": 3}\n', "3", ' "b": 2            , "c": 3}'),
        ("a.json", '{/* token\n token */ "b": 2}\n', "2", '          "b": 2}'),
    ],
)
def test_comments_of_a_file_are_not_quoted(name, text, value, expected):
    document = parse(name, text, "json" if name.endswith("json") else "yaml")
    start = text.rindex(value)
    assert quoted_line(document, start, start + len(value)) == expected


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("SFTConfig(beta=1)  # token\n", "1", "SFTConfig(beta=1)"),
        ("SFTConfig(beta=1, name='#1')  # it's a token\n", "1", "SFTConfig(beta=1, name='#1')"),
        ("torchrun a.py --lr x#y # token\n", "x#y", "torchrun a.py --lr x#y"),
        ("torchrun a.py --lr 1\n", "1", "torchrun a.py --lr 1"),
    ],
)
def test_comments_of_code_are_not_quoted(text, value, expected):
    document = parse("a.yaml", "", "yaml")
    document.text, document.syntax = text, "shell"
    assert quoted_line(document, text.index(value), text.index(value) + len(value)) == expected
