"""What the evaluation of a program says of expressions, for comparisons with Python itself."""

from __future__ import annotations

from cfglint.launch.programs.calls import ProgramEvaluation
from cfglint.launch.programs.context import Context
from cfglint.launch.programs.modules import Modules
from cfglint.launch.programs.objects import plain
from cfglint.source.budget import Budget


def evaluated(code, expressions):
    """What the evaluation of a program says of expressions at its end."""
    names = {each: f"v{place}" for place, each in enumerate(expressions)}
    call = ", ".join(f"{name}={each}" for each, name in names.items())
    texts = {"train.py": f"{code}\nfrom transformers import TrainingArguments\nTrainingArguments({call})\n"}
    modules = Modules(["."], texts.get)
    evaluation = ProgramEvaluation(modules, Budget(), Context(read=texts.get, folders=(".",)))
    evaluation.run_main(modules.module_of("train.py"))
    assert evaluation.made, "the evaluation does not reach the end of the program"
    [made] = evaluation.made.values()
    return {each: repr(plain(made.arguments[name][1])) for each, name in names.items()}
