"""The notes of a kind when a release removes a key."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest

from cases import each_case

TOOLS = str(Path(__file__).resolve().parent.parent.parent / "tools")
NOTES = {"keys": {"old": {"description": "A key."}, "stage.size": {"description": "A size.", "type": "integer"}}}
BEFORE = {
    "old": {"description": "A key.", "type": ["boolean", "null"], "default": None},
    "stage": {"properties": {"size": {"type": "string"}}},
}


@pytest.fixture(scope="module", autouse=True)
def tools():
    sys.path.insert(0, TOOLS)
    yield
    sys.path.remove(TOOLS)


@each_case(
    ("before", "kept"),
    [
        (None, {}),
        (BEFORE, {**NOTES["keys"], "old": {"description": "A key.", "type": ["boolean", "null"]}}),
    ],
)
def test_note_of_a_removed_key(before, kept):
    """It goes, or stays with the values that the key took if the schema of the kind has removed keys too."""
    follow_notes = importlib.import_module("follow_notes")
    text, said = follow_notes.updated(json.dumps(NOTES, indent=1), {}, {}, {}, None, before)
    assert json.loads(text)["keys"] == kept
    assert len(said) == 2 - len(kept) + (before is not None)
