"""The values that programs load from files, parse from their words or get from libraries, or why they are not known.

A case of the folder `values` is a program, below it the files that it may load, each behind `# file: NAME`. Lines above it say the words of
its launch line (`# words:`, `<?>` for an unknown one, `...` for a line that is not known), its number of GPUs (`# gpus:`), and the
expressions whose values at its end are recorded (`# show:`).
"""

from __future__ import annotations

import ast
from pathlib import Path

from cfglint.evaluate import Unknown, because
from cfglint.launch.programs.calls import ProgramEvaluation
from cfglint.launch.programs.context import Context
from cfglint.launch.programs.modules import Modules
from cfglint.launch.programs.objects import plain
from cfglint.source.budget import Budget
from records import check_cases

HERE = Path(__file__).parent
HEADS = ("# words: ", "# gpus: ", "# show: ")


def told(lines, head):
    return ", ".join(each.removeprefix(head) for each in lines if each.startswith(head))


def outcome(text):
    lines = text.split("\n")
    words, gpus, shown = (told(lines, head) for head in HEADS)
    expressions = [ast.unparse(each) for each in ast.parse(f"[{shown}]", mode="eval").body.elts]
    code, *others = "\n".join(each for each in lines if not each.startswith(HEADS)).split("# file: ")
    texts = {name: content for name, _, content in (each.partition("\n") for each in others)}
    call = ", ".join(f"v{place}={each}" for place, each in enumerate(expressions))
    texts["train.py"] = f"{code}\nfrom transformers import TrainingArguments\nTrainingArguments({call})\n"
    modules = Modules(["."], texts.get)
    line = tuple(None if each == "<?>" else each for each in words.removesuffix("...").split())
    size = int(gpus) if gpus else None
    context = Context(line, words.endswith("..."), gpus=size, read=texts.get, folders=(".",), local_gpus=size, devices=size)
    evaluation = ProgramEvaluation(modules, Budget(), context)
    evaluation.run_main(modules.module_of("train.py"))
    last = next((each.arguments for each in evaluation.made.values() if "v0" in each.arguments), None)
    if last is None:
        yield "the end of the program is not reached"
    for place, each in enumerate(expressions if last is not None else ()):
        value = last[f"v{place}"][1]
        found = plain(value)
        yield f"{each}: {f'? {because(value.reasons)}' if isinstance(found, Unknown) else repr(found)}"


def test_values_and_reasons(updating):
    check_cases(HERE / "values", outcome, updating)
