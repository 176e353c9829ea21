"""Words of commands that install packages: which are requirements."""

from __future__ import annotations

from itertools import product

import pytest

from cases import each_case
from cfglint.project.statements.lines import bare, included, installed

TRL = "trl==0.17.0"
INSTALLERS = (
    "pip",
    "pip3",
    "uv",
    "uv pip",
    "conda",
    "mamba",
    "micromamba",
    "poetry",
    "pdm",
    "python -m pip",
    "/opt/bin/pip",
    "!pip",
    "%pip",
)
OPTIONS = ("-r", "-c", "--requirement", "--constraint", "-i", "--index-url", "--extra-index-url", "-f", "--find-links", "-t", "--target")
CONDA_OPTIONS = ("-n", "--name", "--channel")


@each_case(("installer", "command"), [*product(INSTALLERS, ("install", "add"))])
def test_every_installer_installs(installer, command):
    assert [*installed(f"{installer} {command} {TRL} torch", {})] == [TRL, "torch"]


@each_case("option", [*OPTIONS, *CONDA_OPTIONS])
def test_the_value_of_an_option_is_no_requirement(option):
    assert [*installed(f"pip install {option} value {TRL}", {})] == [TRL]
    assert [*installed(f"pip install {option}=value {TRL}", {})] == [TRL]


@each_case("option", ["-U", "-q", "--upgrade", "--no-cache-dir", "-e", "--user", "-y"])
def test_other_options_have_no_value(option):
    assert [*installed(f"pip install {option} {TRL}", {})] == [TRL]


@each_case("end", ["&&", "||", ";", "|", "&", "#"])
def test_a_command_ends(end):
    assert [*installed(f"pip install {TRL} {end} other torch", {})] == [TRL]


@each_case(
    ("line", "expected"),
    [
        (f"pip install {TRL}; echo torch", [TRL]),
        (f"pip install {TRL}&&pip install torch", [TRL, "torch"]),
        (f'pip install "{TRL}" torch', [f'"{TRL}"', "torch"]),
        ("pip install 'trl >= 0.17' torch", ["trl>=0.17", "torch"]),
        ("pip install trl==$T torch==${U}", ["trl==0.17.0", "torch==2.0"]),
        ("pip download trl", []),
        ("apt install trl", []),
        ("pip list install trl", ["trl"]),
        ("pip a b c install trl", []),
        ("pip install", []),
        (f"bash -c 'pip install {TRL}'", [TRL]),
    ],
)
def test_lines(line, expected):
    assert [each.strip("\"'") for each in installed(line, {"T": "0.17.0", "U": "2.0"})] == [each.strip("\"'") for each in expected]


@each_case(
    ("line", "expected"),
    [
        ("-r more.txt", ["more.txt"]),
        ("-c more.txt", ["more.txt"]),
        ("--requirement more.txt", ["more.txt"]),
        ("--constraint=more.txt", ["more.txt"]),
        ("-rmore.txt", ["more.txt"]),
        ("  -cmore.txt", ["more.txt"]),
        ("--require more.txt", []),
        ("--reporter more.txt", []),
        ("-r", []),
        ("-i https://x", []),
        ("trl -r more.txt", []),
        ("# -r more.txt", []),
    ],
)
def test_what_a_requirements_file_includes(line, expected):
    assert [*included(f"{line}\n")] == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [("-e x", "x"), ("--editable x", "x"), ("--editable=x", "x"), ("# x", ""), (" x # y", "x"), ("x#y", "x#y"), ("x", "x")],
)
def test_a_line_of_a_requirements_file(line, expected):
    assert bare(line) == expected
