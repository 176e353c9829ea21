"""The launchers are found by their modules, and each record holds everything that the rest of the package asks of one."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import cfglint
from cfglint.frameworks import kinds
from cfglint.launch.launcher import UNKNOWN, Launcher, is_command, launchers, launchers_by, marks

PACKAGE = Path(cfglint.__file__).parent
FOLDER = PACKAGE / "launch" / "launchers"
COMPARED = re.compile(r"\.launcher (?:==|!=|in|not in) (\S+?)[\s:]")
# A line by hand has no launcher; a framework asks whether its own command starts the run, or accelerate's.
BY_NAME = {
    "frameworks/trl/config.py": ["KIND"],
    "run/launched_runs.py": ["BY_HAND", "BY_HAND", "LAUNCHER"],
}


def test_every_module_of_the_folder_has_launchers():
    modules = {path.stem for path in FOLDER.glob("*.py")} - {"__init__"}
    assert {type(each).__module__.rpartition(".")[2] for each in launchers().values()} == modules
    assert "" not in launchers()


@pytest.mark.parametrize("of", ["commands", "modules", "scripts"])
def test_each_name_starts_one_launcher(of):
    names = [name for each in launchers().values() for name in getattr(each, of)]
    assert len(names) == len({*names}) == len(launchers_by(of))


def test_every_command_is_looked_for_in_scripts():
    for launcher in launchers().values():
        for name in launcher.commands:
            assert is_command(name)
            assert any(mark in name for mark in marks()), f"{name}: add it to `marks` or `words` of {type(launcher).__name__}"


def test_every_launcher_can_be_parsed_and_names_known_kinds():
    for launcher in launchers().values():
        assert type(launcher).read is not Launcher.read
        assert {launcher.kind} - {""} <= {*kinds()}


def test_a_line_by_hand_has_no_launcher():
    assert UNKNOWN.name == ""
    assert not any((UNKNOWN.commands, UNKNOWN.kind, UNKNOWN.counts, UNKNOWN.own_options, UNKNOWN.starts_programs, UNKNOWN.is_one_process))


def test_who_compares_the_name_of_a_launcher():
    found = {}
    for path in PACKAGE.rglob("*.py"):
        names = COMPARED.findall(path.read_text(encoding="utf-8"))
        if names:
            found[os.fspath(path.relative_to(PACKAGE))] = names
    assert found == BY_NAME
