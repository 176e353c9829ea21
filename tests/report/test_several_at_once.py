"""Several reports of one check, each to its own place."""

from __future__ import annotations

import json
import os

import pytest

from cfglint.cli import main

CONFIG = "output_dir: out\nper_device_train_batch_size: 010\n"


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """Run `cfglint check train.yaml`: (exit status, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.yaml").write_text(CONFIG)

    def run(*arguments):
        status = main(["check", "train.yaml", "--kind", "huggingface", *arguments])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


def content(name):
    with open(name, encoding="utf-8") as file:
        return file.read()


def test_each_format_to_its_file(check):
    status, out, _ = check("--format", "sarif", "--output", "a.sarif", "--format", "markdown", "--output", "b.md")
    assert (status, out) == (0, "")
    assert json.loads(content("a.sarif"))["version"] == "2.1.0"
    assert content("b.md").startswith("<!-- cfglint -->")


def test_a_format_without_a_file_goes_to_standard_output(check):
    _, out, _ = check("--format", "github", "--format", "junit", "--output", "c.xml")
    assert out.startswith("::warning file=train.yaml,line=2")
    assert content("c.xml").startswith("<?xml")


def test_the_file_may_come_first(check):
    _, out, _ = check("--output", "d.json", "--format", "gitlab", "--format", "text")
    assert json.loads(content("d.json"))[0]["check_name"] == "octal-number"
    assert out.startswith("train.yaml:2:30: warning TYP001")


def test_a_file_alone_is_text(check):
    _, out, _ = check("--output", "e.txt")
    assert out == ""
    assert content("e.txt").startswith("train.yaml:2:30: warning TYP001")


def test_a_file_that_cannot_be_written_is_exit_2_and_the_others_are_there(check):
    status, _, told = check("--format", "sarif", "--output", "no/folder/a.sarif", "--format", "markdown", "--output", "b.md")
    assert status == 2
    assert "no/folder/a.sarif" in told
    assert os.path.getsize("b.md")


def test_a_repeated_run_starts_afresh(check):
    check("--format", "markdown", "--output", "b.md")
    status, out, _ = check("--format", "json")
    assert status == 0
    assert json.loads(out)["diagnostics"][0]["code"] == "TYP001"


@pytest.mark.parametrize("form", ["xml", "htm", ""])
def test_an_unknown_format_is_exit_2(check, form):
    with pytest.raises(SystemExit) as stopped:
        check("--format", form)
    assert stopped.value.code == 2
