"""Each refusal of `validate_config`: the lines that cause it, all of which are needed; each was seen with the real axolotl 0.21.0.

A case of `refusals.txt` is the lines that come to the keys which every file needs, and `=> /key: message`. Those of `accepted.txt` are
accepted by it, those of `completed.txt` have a field of the model that it goes on with.
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

import cfglint
from cases import each_case
from cfglint.frameworks.axolotl.refusals import Refusal
from cfglint.frameworks.axolotl.validation import Validation
from cfglint.frameworks.base import LaunchFacts
from examples import recorded

HERE = Path(__file__).parent
PACKAGE = Path(cfglint.__file__).parent / "frameworks" / "axolotl"
CHECKS = (PACKAGE / "validation.py", PACKAGE / "plugins.py", PACKAGE / "checks_after.py", *sorted((PACKAGE / "checks_before").glob("*.py")))
NEEDED = {"base_model": "org/model", "learning_rate": 2e-5, "datasets": [{"path": "data.jsonl", "type": "alpaca"}]}


def validated(lines, gpus):
    """What axolotl makes of lines that come to the keys which every file needs."""
    values = dict(NEEDED)
    for line in lines:
        values |= line
    return Validation(SimpleNamespace(root=values, values=values, load_problems=[], facts=LaunchFacts(gpus=gpus)))


class Case:
    """Lines, the GPUs of the launch, and the first thing that axolotl or pydantic refuses."""

    def __init__(self, text):
        self.text, _, _ = text.partition("\n=> ")
        lines = text.splitlines()
        self.expected = lines.pop().removeprefix("=> ") if lines[-1].startswith("=> ") else ""
        self.gpus = int(lines.pop(0).split()[1]) if lines[0].startswith("#") else 1
        self.lines = [yaml.load(line, yaml.CSafeLoader) for line in lines]

    def __repr__(self):
        return str(self.lines)

    def refusal(self, without=None):
        """What is refused of all lines, or of all but one."""
        found = validated([line for line in self.lines if line is not without], self.gpus)
        refused = [
            *(((each.paths or [()])[0], each.message) for each in found.refusals),
            *((each.path, each.message) for each in found.faults),
        ]
        return f"/{'/'.join(map(str, refused[0][0]))}: {refused[0][1]}" if refused else ""


def cases(name):
    """The cases of a file beside this one."""
    return [Case(text) for text in read(name).split("\n\n")]


def read(name):
    return (HERE / name).read_text(encoding="utf-8").strip()


REFUSED, ACCEPTED = cases("refusals.txt"), cases("accepted.txt")
COMPLETED = [line.split(" => ") for line in read("completed.txt").splitlines()]


@pytest.fixture(scope="module")
def refused():
    """What each case is refused with, and the (file, line) of all refusals."""
    places, make = set(), Refusal.__init__

    def making(refusal, *arguments, **keywords):
        caller = sys._getframe(1)
        places.add((Path(caller.f_code.co_filename), caller.f_lineno))
        make(refusal, *arguments, **keywords)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Refusal, "__init__", making)
        return {case: case.refusal() for case in REFUSED}, places


def test_what_is_refused(refused, updating):
    """`CFGLINT_UPDATE=1` rewrites the messages."""
    lines = [line for case in REFUSED for line in (*case.text.splitlines(), f"=> {refused[0][case]}", "")]
    assert lines[:-1] == recorded(HERE / "refusals.txt", lines[:-1], updating)


def test_every_refusal_has_a_case(refused):
    missing = []
    for path in CHECKS:
        lines = {line for file, line in refused[1] if file == path}
        unreached = [call for call in refusals_in(path) if lines.isdisjoint(range(call.lineno, call.end_lineno + 1))]
        missing.extend(f"{path.relative_to(PACKAGE)}:{call.lineno}" for call in unreached)
    assert missing == []


@each_case("case", REFUSED)
def test_every_line_is_needed(case):
    assert [line for line in case.lines if case.refusal(without=line) == case.expected] == []


@each_case("case", ACCEPTED)
def test_what_is_accepted(case):
    assert case.refusal() == ""


@each_case(("lines", "expected"), COMPLETED)
def test_what_is_completed(lines, expected):
    path, _, value = expected.partition(": ")
    name, _, key = path.partition(".")
    found = getattr(validated([yaml.load(line, yaml.CSafeLoader) for line in lines.split("; ")], gpus=1).model, name)
    assert (found[key] if key else found) == json.loads(value)


def refusals_in(path):
    """The calls `Refusal(...)` of a module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Refusal":
            yield node
