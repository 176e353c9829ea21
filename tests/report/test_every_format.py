"""What holds for every format, on texts that nobody thought of."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import each_case
from cfglint.report import FORMATS, render

ANY = st.text(st.characters(), max_size=60)  # lone surrogates included


@pytest.mark.parametrize("form", FORMATS)
@settings(max_examples=30)
@given(text=ANY)
def test_any_text_can_be_reported(make, form, text):
    made = render(form, [make.hostile(text)])
    made.encode("utf-8")
    assert "\x1b" not in made
    assert "\0" not in made
    if form in ("json", "sarif", "gitlab"):
        json.loads(made)
    elif form == "junit":
        ElementTree.fromstring(made)
    elif form == "github":
        assert made.count("\n") == 1


@each_case("form", FORMATS)
def test_a_format_is_complete(root, form):
    parsed = (root / "tests" / "hostile" / "test_reports.py").read_text(encoding="utf-8").partition("\nHOLDS = ")[2]
    assert f'"{form}": ' in parsed, "add a function that parses the format to `HOLDS` in tests/hostile/test_reports.py"
    assert f"{form}`" in (root / "docs" / "integrations.md").read_text(encoding="utf-8"), "name the format in docs/integrations.md, `CI`"


@each_case("form", FORMATS)
def test_a_report_is_a_function_of_the_findings(make, form):
    outcomes = [make.outcome([make.diagnostic("x", related="y", fix="z")])]
    assert render(form, outcomes) == render(form, outcomes)
