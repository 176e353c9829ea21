"""Programs whose values are those that Python itself computes, and expressions that no evaluation may take for known.

The cases of the folder `computed` are programs; the lines behind `=>` hold expressions that are evaluated at their end, one after another.
"""

from __future__ import annotations

import ast
import random
from pathlib import Path

import pytest

from evaluated_programs import evaluated
from random_programs import RESULTS, Writer
from records import CAME, given, read

HERE = Path(__file__).parent / "computed"
UNKNOWN = "<?>"
PROGRAMS, RUNS = 120, 12  # random ones, and how often Python runs each


def cases(name):
    """(the program, its expressions) of each case of a file."""
    for title, lines in read(HERE / f"{name}.txt").items():
        listed = ", ".join(each.removeprefix(CAME) for each in lines if each.startswith(CAME))
        yield pytest.param(
            "\n".join(given(lines)), [ast.unparse(each) for each in ast.parse(f"[{listed}]", mode="eval").body.elts], id=title
        )


@pytest.mark.parametrize(("code", "expressions"), [*cases("known")])
def test_values_that_python_computes(code, expressions):
    names = {"__name__": "__main__"}
    exec(compile(code, "train.py", "exec", dont_inherit=True), names)
    expected = {each: repr(eval(each, names)) for each in expressions}
    differing = [
        f"{each}: Python {expected[each]}, evaluated {found}"
        for each, found in evaluated(code, expressions).items()
        if found != expected[each]
    ]
    assert not differing


@pytest.mark.parametrize(("code", "expressions"), [*cases("unknown")])
def test_values_that_are_not_known(code, expressions):
    known = [f"{each}: evaluated {found}" for each, found in evaluated(code, expressions).items() if found != UNKNOWN]
    assert not known


def outcomes(code, expressions):
    """The values of expressions at the end of runs in which the conditions are random."""
    for seed in range(RUNS):
        chance = random.Random(seed)
        names = {
            "unknown": lambda chance=chance: chance.random() < 0.5,
            "turn": lambda chance=chance: chance.random() < 0.5,
            "turns": lambda chance=chance: range(chance.randrange(3)),
        }
        try:
            exec(compile(code, "train.py", "exec"), names)
            found = {each: repr(eval(each, names)) for each in expressions}
        except Exception:  # a run that fails trains nothing
            continue
        yield found


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_a_known_value_is_that_of_every_run(seed):
    code = Writer(seed).program()
    known = {each: found for each, found in evaluated(code, RESULTS).items() if found != UNKNOWN}
    for each in outcomes(code, RESULTS):
        wrong = {name: f"known as {found}, Python {each[name]}" for name, found in known.items() if each[name] != found}
        assert not wrong, code
