"""What several programs of a project import is evaluated once, unless one of them changes it."""

from __future__ import annotations

import pytest

from cfglint.launch.programs.context import Context
from cfglint.launch.programs.interpreter import Interpreter
from cfglint.launch.programs.modules import Modules
from cfglint.launch.programs.objects import plain
from cfglint.launch.programs.runs_of_program import Evaluations
from cfglint.launch.programs.shared_modules import SHARED, SharedModules
from cfglint.source.budget import Budget

PROGRAM = "import pkg\nfrom transformers import TrainingArguments\n{}\nTrainingArguments(pkg.FOLDER, **pkg.ARGUMENTS, seed=pkg.seed())\n"
USUAL = PROGRAM
PACKAGE = {
    "pkg/__init__.py": "from pkg.base import *\nFOLDER = 'out'\ndef seed(x=SEEDS): return x[0]\n",
    "pkg/base.py": "import torch\nSEEDS = [4, 2]\nARGUMENTS = {'max_steps': 5}\nclass Config:\n    steps = [3]\n",
}


@pytest.fixture(autouse=True)
def nothing_shared(monkeypatch):
    monkeypatch.setattr(SHARED, "__dict__", vars(SharedModules()))


@pytest.fixture
def tops(monkeypatch):
    """The paths of the modules whose top level is evaluated."""
    paths = []
    evaluate = Interpreter.evaluated_module
    monkeypatch.setattr(Interpreter, "evaluated_module", lambda run, module: (paths.append(module.path), evaluate(run, module))[1])
    return paths


def arguments(code, texts=PACKAGE, words=()):
    """The arguments that a program builds, and what it has spent."""
    texts = {**texts, "train.py": PROGRAM.format(code)}
    modules, budget = Modules(["."], texts.get), Budget()
    context = Context(words, read=texts.get, folders=(".",))
    evaluation, complete = Evaluations(modules, modules.module_of("train.py")).evaluated(context, budget)
    assert complete
    [made] = evaluation.made.values()
    return {name: plain(value) for name, (_, value) in made.arguments.items()}, budget.spent, len(evaluation.imports)


def test_the_second_program_takes_over_what_the_first_has_evaluated(tops):
    first, second = arguments("a = 1"), arguments("b = 1")
    assert first == second == ({"output_dir": "out", "max_steps": 5, "seed": 4}, first[1], 2)
    assert tops == ["pkg/__init__.py", "pkg/base.py"]


@pytest.mark.parametrize("change", ["pkg.ARGUMENTS['max_steps'] = 7", "pkg.SEEDS[0] = 9", "pkg.Config.steps.append(1)", "pkg.new = 1"])
def test_a_program_that_changes_an_object_of_a_module_has_its_own(change):
    alone = {"pkg.ARGUMENTS['max_steps'] = 7": {"max_steps": 7}, "pkg.SEEDS[0] = 9": {"seed": 9}}.get(change, {})
    usual = {"output_dir": "out", "max_steps": 5, "seed": 4}
    assert [arguments(code)[0] for code in ("a = 1", change, "b = 1")] == [usual, {**usual, **alone}, usual]


@pytest.mark.parametrize(
    "base",
    [
        "import sys\nSEEDS = [len(sys.argv)]\n",  # of the line
        "import os\nSEEDS = [1]\nSEED = os.environ.get('SEED')\n",
        "import argparse\nSEEDS = [1]\nparser = argparse.ArgumentParser()\n",  # whose parts are no slots
        "import os\nSEEDS = [1]\nos.environ['A'] = 'b'\n",
    ],
)
def test_a_module_that_depends_on_more_is_evaluated_again(base, tops):
    texts = {**PACKAGE, "pkg/base.py": base + "ARGUMENTS = {'max_steps': 5}\n"}
    first, second = (arguments("a = 1", texts, words)[0] for words in ((), ("--x", "1")))
    assert (second["seed"] != first["seed"]) == ("argv" in base)
    assert tops.count("pkg/base.py") == 2


@pytest.mark.parametrize(
    ("state", "read"),
    [("import os\nos.environ['SEED'] = {!r}\n", "os.environ['SEED']"), ("import sys\nsys.argv.append({!r})\n", "sys.argv[1]")],
)
def test_a_module_that_reads_what_the_program_has_set_is_evaluated_for_it(state, read, monkeypatch):
    texts = {**PACKAGE, "pkg/base.py": f"import os, sys\nSEEDS = [{read}]\nARGUMENTS = {{'max_steps': 5}}\n"}
    for seed in ("3", "8"):
        monkeypatch.setattr(f"{__name__}.PROGRAM", state.format(seed) + USUAL)
        assert arguments("a = 1", texts)[0]["seed"] == seed


def test_a_module_whose_import_is_another_one_is_evaluated_again():
    other = {**PACKAGE, "pkg/base.py": PACKAGE["pkg/base.py"].replace("5", "6")}
    assert [arguments("a = 1", texts)[0]["max_steps"] for texts in (PACKAGE, other, PACKAGE)] == [5, 6, 5]
