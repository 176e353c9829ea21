"""Circumstances that a program does not ask for give the same evaluation."""

from __future__ import annotations

import pytest

from cfglint.launch.programs.calls import ProgramEvaluation
from cfglint.launch.programs.context import Context
from cfglint.launch.programs.modules import Modules
from cfglint.launch.programs.reading import read_program
from cfglint.launch.programs.runs_of_program import Evaluations

PROGRAM = """
import os, sys
from transformers import TrainingArguments
steps = int(os.environ.get("STEPS", "7"))
TrainingArguments(output_dir="o", max_steps=steps)
"""
UNREACHED = """
def count():
    return int(os.environ["WORLD_SIZE"])
def unused():
    TrainingArguments(output_dir="p", max_steps=count())
register(unused)
"""


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The programs that are evaluated."""
    found: list[str] = []
    run_main = ProgramEvaluation.run_main

    def noted(self: ProgramEvaluation, module: object, entry: str) -> bool:
        found.append(module.path)
        return run_main(self, module, entry)

    monkeypatch.setattr(ProgramEvaluation, "run_main", noted)
    return found


def evaluations(text: str) -> Evaluations:
    modules = Modules(["."], {"train.py": text}.get)
    return Evaluations(modules, modules.module_of("train.py"))


def test_a_part_that_the_program_does_not_ask_for_needs_no_evaluation(runs: list[str]) -> None:
    program = evaluations(PROGRAM)
    first = program.under(Context(gpus=2, environment={"HOME": "/a"}))
    other = program.under(Context(("--lr", "1"), gpus=4, environment={"HOME": "/b"}))
    assert runs == ["train.py"]
    assert other.made == first.made
    assert program.budget.spent == 2 * first.steps  # the limit of a program does not depend on what is shared


def test_an_asked_variable_and_word_is_evaluated(runs: list[str]) -> None:
    program = evaluations(PROGRAM + "first = sys.argv[1]\n")
    contexts = [Context(environment={"STEPS": each}) for each in ("1", "2")] + [Context(("x",), environment={"STEPS": "1"})]
    found = [program.under(each) for each in contexts]
    assert len(runs) == 3
    assert [made.arguments["max_steps"][1].data for each in found for made in each.made.values()] == [1, 2, 1]


def test_a_call_that_is_not_reached_has_the_values_of_its_own_circumstances() -> None:
    program = read_program("train.py", "", ["."], {"train.py": PROGRAM + UNREACHED}.get)
    [call] = [each for each in program.built if each.node.lineno > 6]
    shared = [program.evaluations.under(Context(gpus=gpus)) for gpus in (2, 4, 8)]
    assert shared[0].made == shared[2].made
    assert [each.call(call).arguments["max_steps"][1].data for each in shared] == [2, 4, 8]
