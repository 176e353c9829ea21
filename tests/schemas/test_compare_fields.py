"""tools/compare_fields.py reads the defaults of a source by itself, and names what the tables have differently."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent

SOURCE = """
from enum import Enum
LARGEST = 2 ** 4
class Mode(Enum):
    FAST = "fast"
class Base:
    shared: int = 1
    replaced: int = 2
class Config(Base):
    replaced: float = 5e8
    of_constant: int = LARGEST
    of_member: str = Mode.FAST
    needed: str
    hidden: str = field(init=False)
    made: dict = field(default_factory=lambda: {"GPU": 1})
    empty: list = field(default_factory=list)
    computed: str = field(default_factory=folder_of_today)
    renamed: int = Field(3, alias="stage3_renamed")
    within: Annotated[int, Field(default=4)]
    required: str = Field(..., description="pydantic")
    of_class: ClassVar[int] = 1
"""


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("compare_fields")


def test_defaults_are_what_python_makes_of_a_source(tool, tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "config.py").write_text(SOURCE)
    required, computed = tool.Marker
    assert tool.Source(tmp_path, "package").fields("Config") == {
        "shared": 1,
        "replaced": 5e8,
        "of_constant": 16,
        "of_member": "fast",
        "needed": required,
        "made": {"GPU": 1},
        "empty": [],
        "computed": computed,
        "stage3_renamed": 3,
        "within": 4,
        "required": required,
    }


def test_differences_are_fields_of_one_side_and_other_defaults(tool):
    counts = tool.Counts()
    counts.compare("1.0", "", {"a": 1, "b": 1, "c": [1], "d": 0}, {"b": True, "c": (1,), "d": 0, "e": None})
    assert [what[1] for what in counts.differences] == ["a", "b", "e"]
    assert counts.equal == 2


def test_a_folder_without_the_releases_of_the_tables_is_an_error(tool, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["compare_fields.py", "trl", str(tmp_path)])
    assert tool.main() == 2
    assert "not in" in capsys.readouterr().err
