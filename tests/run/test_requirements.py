"""Releases that can be installed together: the allowed ones of a package that bounds leave open, and pins that exclude each other."""

from __future__ import annotations

import json

import pytest

from cases import each_case
from cfglint.cli import main
from cfglint.frameworks.releases.requirements import meets
from cfglint.frameworks.releases.versions import parse_version

SFT = "from trl import SFTConfig, SFTTrainer\nSFTTrainer('gpt2', SFTConfig('out')).train()\n"


@pytest.fixture
def checked(tmp_path, monkeypatch, capsys):
    """(the asked releases, [(severity, message) of RUN015]) of a program with some requirements."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)

    def report(requirements, program=SFT, *options):
        (tmp_path / "t.py").write_text(program)
        (tmp_path / "requirements.txt").write_text(requirements)
        main(["check", "t.py", "--format", "json", *options])
        found = json.loads(capsys.readouterr().out)
        about = [(each["severity"], each["message"]) for each in found["diagnostics"] if each["code"] == "RUN015"]
        return found["runs"][0]["target"], about

    return report


@each_case(
    ("version", "spec", "expected"),
    [
        ("4.46.0", ">=4.46", True),
        ("4.45.2", ">=4.46.0", False),
        ("4.47.1", ">=4.41,!=4.47.*,!=4.48.0", False),
        ("4.48.0", ">=4.41,!=4.47.*,!=4.48.0", False),
        ("4.48.1", ">=4.41,!=4.47.*,!=4.48.0", True),
        ("5.9.0", "==5.9.0", True),
        ("5.9.1", "==5.9.0", False),
        ("5.9.1", "==5.9.*", True),
        ("1.0", "<1.0", False),
        ("1.0", "<=1.0", True),
        ("1.0", ">1.0", False),
        ("1.0", "", True),
    ],
)
def test_a_version_meets_a_specifier(version, spec, expected):
    assert meets(parse_version(version), spec) == expected


@each_case(
    ("requirements", "trl"),
    [
        ("trl>=0.8\ntransformers==4.48.1\n", "0.17.0"),
        ("trl>=0.8\n", "1.16.0"),
        ("trl>=0.8\naccelerate==0.28.0\n", "0.11.4"),
        ("trl>=0.8,<0.11\ntransformers==4.48.1\n", "0.10.1"),
        ("trl\ntransformers==4.48.1\n", "0.17.0"),
        ("trl\naccelerate==0.28.0\n", "0.11.4"),
        ("trl>=0.20\ntransformers==4.48.1\n", "1.16.0"),  # none can be installed
    ],
)
def test_a_bound_allows_what_can_be_installed_with_the_pins(checked, requirements, trl):
    assert checked(requirements)[0]["trl"] == trl


def test_a_target_bounds_the_other_package(checked):
    assert checked("trl>=0.8\n", SFT, "--target", "transformers==4.48.1")[0]["trl"] == "0.17.0"


def test_pins_that_exclude_each_other(checked):
    text = "trl {} (requirements.txt) requires transformers {}, but {} is pinned"
    assert checked("trl==0.14.0\ntransformers==4.45.2\n")[1] == [("error", text.format("0.14.0", ">=4.46.0", "4.45.2"))]
    assert checked("trl==0.19.0\ntransformers==4.50.0\n")[1] == [("warning", text.format("0.19.0", ">=4.51.0", "4.50.0"))]
    assert checked("trl==0.14.0\ntransformers==4.46.3\naccelerate==0.34.0\n")[1] == []
    assert checked("trl==0.14.0\ntransformers>=4.45\n")[1] == []
    assert [each[0] for each in checked("trl==0.14.0\ntransformers==4.46.3\naccelerate==0.33.0\n")[1]] == ["warning"]


def test_pins_of_which_one_is_no_release(checked):
    assert checked("trl==0.14.0\ntransformers @ git+https://github.com/huggingface/transformers@0123456789\n")[1] == []


def test_a_trainer_that_is_built_under_a_condition(checked):
    program = "from transformers import TrainingArguments\nfrom trl import SFTTrainer\nargs = TrainingArguments('out')\n"
    found = checked("trl==0.14.0\ntransformers==4.45.2\n", program + "if load():\n    SFTTrainer('gpt2', args)\n")[1]
    assert [each[0] for each in found] == ["warning"]


@each_case(
    ("trl", "transformers", "severity"),
    [
        ("trl==0.15.2", "transformers==4.49.0", "error"),
        ("trl @ git+https://github.com/huggingface/trl@0123456789", "transformers==4.49.0", "error"),
        ("trl==0.15.2", "transformers @ git+https://github.com/huggingface/transformers@0123456789", "warning"),
    ],
)
def test_an_error_hangs_on_the_release_of_the_package_that_raises_it(tmp_path, monkeypatch, capsys, trl, transformers, severity):
    (tmp_path / ".git").mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.py").write_text(
        "from trl import SFTConfig, SFTTrainer\nSFTTrainer('gpt2', SFTConfig('out', save_strategy='never')).train()\n"
    )
    (tmp_path / "requirements.txt").write_text(f"{trl}\n{transformers}\n")
    main(["check", "t.py", "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    assert [each["severity"] for each in found["diagnostics"]] == [severity]
    assert found["runs"][0]["verdict"] == ("reject" if severity == "error" else None)
