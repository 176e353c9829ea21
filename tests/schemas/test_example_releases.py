"""tools/example_releases.py: which examples of rules a followed release takes away."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from cases import each_case

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("example_releases")


@each_case(
    ("before", "after", "kept"),
    [
        ([(True, {"DSP051"})], [(True, {"DSP051"})], True),
        ([(True, {"DSP051"})], [(False, set())], False),
        ([(True, {"DSP051"})], [(True, {"DSP051", "KEY102"})], False),  # a field of the example was renamed
        ([(True, {"DSP051", "KEY102"})], [(True, {"DSP051"})], True),
        ([(False, set())], [(False, {"KEY102"})], True),  # it did not hold in the earlier release either
    ],
)
def test_an_example_is_kept_if_it_shows_the_same_without_a_new_error(tool, before, after, kept):
    assert tool.is_kept(before, after) is kept
