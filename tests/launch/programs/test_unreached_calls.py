"""Calls that build arguments and that the evaluation of the program does not reach: each is evaluated by itself."""

from __future__ import annotations

from cases import each_case
from cfglint.evaluate import Unknown
from cfglint.launch.programs.context import Context
from cfglint.launch.programs.documents import call_document
from cfglint.launch.programs.reading import read_program
from cfglint.source.budget import Budget

IMPORTS = "from transformers import Trainer, TrainingArguments\n"


def read(code):
    program = read_program("train.py", "", ["."], {"train.py": IMPORTS + code}.get)
    return program, program.built[0], program.evaluations.under(Context())


@each_case(
    ("code", "steps"),
    [
        ("def train():\n    steps = 8\n    TrainingArguments('out', max_steps=steps)\nregister(train)", 8),
        ("def train(steps=8):\n    TrainingArguments('out', max_steps=steps)\nregister(train)", None),  # another caller may give it
        ("def main():\n    raise ValueError\n    steps = 8\n    TrainingArguments('out', max_steps=steps)\nmain()", 8),
        ("def main():\n    assert False\n    steps = 8\n    TrainingArguments('out', max_steps=steps)\nmain()", 8),
        ("steps = 4\ndef each():\n    steps = compute()\n    yield TrainingArguments('out', max_steps=steps)\nlist(each())", None),
        ("steps = 4\ndef each():\n    yield TrainingArguments('out', max_steps=steps)\nlist(each())", 4),
        ("import sys\nsys.exit()\nTrainingArguments('out', max_steps=8)", 8),
        (
            "class Run:\n    def steps(self):\n        return 8\n"
            "    def train(self):\n        TrainingArguments('out', max_steps=self.steps())\n"
            "run = load(Run())\nrun.train()",
            8,
        ),
    ],
)
def test_its_values_are_those_that_its_function_gives_it(code, steps):
    program, call, evaluated = read(code)
    assert evaluated.reached(call) is None
    value = call_document(call, program, evaluated).values["max_steps"]
    assert (None if isinstance(value, Unknown) else value) == steps


def test_what_its_function_hands_on_is_not_known():
    _, call, evaluated = read("def train(**more):\n    TrainingArguments('out', **more)\nregister(train)")
    made = evaluated._evaluation.alone(call, Budget())
    assert not made.every


def test_a_function_that_fails_after_a_branch_has_returned_goes_on_with_that_branch():
    tries = "    for _ in range(2):\n        try:\n            return load()\n        except OSError:\n            pass\n"
    _, call, evaluated = read(f"def opened():\n{tries}    raise OSError\nopened()\nTrainingArguments('out', max_steps=8)")
    assert evaluated.reached(call) is not None


def test_of_a_call_beyond_the_limit_of_steps_only_what_is_written_is_known():
    _, call, evaluated = read("def train():\n    TrainingArguments('out', max_steps=8)\nregister(train)")
    made = evaluated._evaluation.alone(call, Budget(0))
    assert {name: value.data for name, (_, value) in made.arguments.items()} == {"output_dir": "out", "max_steps": 8}
