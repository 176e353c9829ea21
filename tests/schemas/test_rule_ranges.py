"""tools/rule_ranges.py: at which releases an example of a rule is checked, and which rules a package has."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from cfglint.rules.catalogue import every_rule

ROOT = Path(__file__).resolve().parent.parent.parent
ORDER = [(1, 0, 0), (1, 0, 1), (1, 0, 2), (1, 1, 0), (1, 1, 1), (1, 1, 2), (2, 0, 0)]


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("rule_ranges")


def test_the_ends_of_a_minor_release_answer_for_those_between_if_they_agree(tool):
    asked = []

    def at(release):
        asked.append(release)
        return ["refused"] if release >= (1, 1, 1) else []

    found = tool.of_all(ORDER, at)
    assert [release for release in ORDER if found[release]] == [(1, 1, 1), (1, 1, 2), (2, 0, 0)]
    assert (1, 0, 1) not in asked
    assert (1, 1, 1) in asked


def test_the_rules_of_a_package_are_those_about_its_files(tool):
    codes = {each.code for each in every_rule() if tool.is_own(each, "transformers")}
    assert "HFT002" in codes
    assert "DSP010" not in codes


def test_models_of_transformers_are_not_read(tmp_path, monkeypatch):
    """No configuration reaches them; another package may have its schemas in a folder of this name."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    raised = importlib.import_module("raised_messages")
    exception = "ValueError: this size of a head is not supported here"
    for package, has_it in (("transformers", False), ("axolotl", True)):
        folder = tmp_path / package / package / "models"
        folder.mkdir(parents=True)
        (folder / "config.py").write_text('def check():\n    raise ValueError("this size of a head is not supported here")\n')
        messages = raised.Messages()
        raised.Sources(package).read((1, 0, 0), tmp_path / package, messages)
        assert messages.releases(exception) == ({(1, 0, 0)} if has_it else set())
