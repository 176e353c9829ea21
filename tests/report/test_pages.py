"""The address of the page of a finding: from the template of the configuration, in every format that has links."""

from __future__ import annotations

import json

import pytest

from cfglint.cli import main

ADDRESS = "https://example.org/rules/KEY105"


@pytest.fixture
def report(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ds_config.json").write_text('{"train_batch_size": 8, "gradient_cliping": 1.0}')

    def made(form, pages="https://example.org/rules/{code}"):
        (tmp_path / "cfglint.toml").write_text(f'pages = "{pages}"\n')
        status = main(["check", "ds_config.json", "--format", form])
        said = capsys.readouterr()
        return status, said.out, said.err

    return made


def test_text_has_the_page_only_when_asked(report):
    assert f"page: {ADDRESS}\n" in report("full")[1]
    assert ADDRESS not in report("text")[1]


def test_reports_for_programs_and_pages_have_it(report):
    assert [each["page"] for each in json.loads(report("json")[1])["diagnostics"]] == [ADDRESS]
    assert [each["helpUri"] for each in json.loads(report("sarif")[1])["runs"][0]["tool"]["driver"]["rules"]] == [ADDRESS]
    assert ADDRESS in report("github")[1]
    assert f'<a href="{ADDRESS}">' in report("html")[1]


@pytest.mark.parametrize("pages", ["https://example.org/", "file:///{code}", "rules/{code}"])
def test_an_address_has_a_place_for_the_code(report, pages):
    status, _, said = report("text", pages)
    assert status == 2
    assert "`pages` must be an address with {code}" in said


def test_without_an_address_the_command_is_named(report, tmp_path, capsys):
    (tmp_path / "none.toml").write_text("")
    main(["check", "ds_config.json", "--format", "full", "--config", str(tmp_path / "none.toml")])
    assert "page: cfglint rule KEY105\n" in capsys.readouterr().out
