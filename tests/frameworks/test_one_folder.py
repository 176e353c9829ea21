"""A framework is one folder: who else names TRL, LLaMA-Factory and axolotl, and what is left without them."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cfglint
from cfglint.generators import kinds as generated_kinds

PACKAGE = Path(cfglint.__file__).parent
OPTIONAL = ("axolotl", "llamafactory", "trl")
NAMES = re.compile(r"(?<!kl_c)trl|llama_?-?factory|axolotl", re.IGNORECASE)  # `kl_ctrl` is a section of verl
# The modules outside the three folders that name them in code, and why.
NAMED_IN = {
    "api/in_program.py": "the package of the objects that a program passes",
    "cli/new.py": "help text",
    "cli/options.py": "help text",
    "cli/prompts.py": "the text of a question",
    "explanation/_exceptions.py": "generated",
    "explanation/_released_names.py": "generated",
    "explanation/unknown_keyword.py": "the packages whose constructors refuse keywords",
    "findings/_rule_releases.py": "generated",
    "findings/_example_findings.py": "generated",
    "findings/_rules.py": "generated",
    "findings/_places.py": "generated",
    "findings/vocabulary.py": "the type of a kind, for mypy",
    "frameworks/releases/_dates.py": "generated",
    "frameworks/releases/_modelled.py": "generated",
    "frameworks/releases/_requirements.py": "generated",
    "frameworks/huggingface/__init__.py": "keys of other tools' files, which are not the Trainer's, with or without a kind for them",
    "frameworks/huggingface/_imports.py": "generated",
    "frameworks/huggingface/trainer_options.py": "the text of an exception",
    "frameworks/peft/_modules.py": "generated",
    "frameworks/swift/_rows.py": "generated",
    "frameworks/swift/_tables.py": "generated",
    "frameworks/swift/__init__.py": "the package whose release decides about some checks of ms-swift",
    "generators/axolotl.py": "its generator",
    "generators/huggingface.py": "a note to the user",
    "generators/llamafactory.py": "its generator",
    "generators/trl.py": "its generator",
    "launch/launchers/axolotl.py": "its launcher",
    "launch/launchers/llamafactory.py": "its launcher",
    "launch/launchers/trl.py": "its launcher",
    "launch/program.py": "the names of parsers in a program's source",
    "launch/programs/calls.py": "the packages that a program imports",
    "launch/programs/checks.py": "the names of parsers in a program's source",
    "launch/programs/parsers.py": "the parser of TRL, of which a program may have a copy",
    "launch/programs/classes.py": "the packages that a program imports",
    "launch/programs/line_parsers.py": "the packages that a program imports",
    "launch/programs/modules.py": "the packages that a program imports",
    "launch/programs/reading.py": "the package whose classes of arguments are known by the names of their fields",
    "launch/training.py": "words in the names of programs that train",
    "run/consumer.py": "the kinds whose programs the users write",
    "run/documents.py": "the kinds with keys that the own configs of programs have as well",
    "rules/releases.py": "the package whose trainers an older transformers refuses",
    "server/tool_server.py": "what it tells a client about itself",
}


def words(node):
    """The names and strings of code in a node."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.ImportFrom):
        return [node.module or "", *(each.name for each in node.names)]
    return [getattr(node, attribute) for attribute in ("id", "attr", "name") if isinstance(getattr(node, attribute, None), str)]


def named(text):
    """Whether code names one of the three; documentation and comments may."""
    tree = ast.parse(text)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docs = {id(each.body[0].value) for each in ast.walk(tree) if isinstance(each, documented) and isinstance(each.body[0], ast.Expr)}
    return any(NAMES.search(word) for node in ast.walk(tree) if id(node) not in docs for word in words(node))


def test_who_else_names_them():
    found = set()
    for path in PACKAGE.rglob("*.py"):
        place = path.relative_to(PACKAGE)
        text = path.read_text(encoding="utf-8")
        own = place.parts[0] == "frameworks" and place.parts[1] in OPTIONAL
        if not own and NAMES.search(text) and named(text):
            found.add(place.as_posix())
    assert found == NAMED_IN.keys()


def run(package, folder, *arguments):
    """The command of a copy of the package."""
    environment = {**os.environ, "PYTHONPATH": str(package)}
    return subprocess.run([sys.executable, "-m", "cfglint", *arguments], cwd=folder, env=environment, capture_output=True, text=True)


def checked(package, folder):
    """(runs, diagnostics) of a folder of files of all kinds."""
    done = run(package, folder, "check", "--format", "json", "--gpus", "8", ".")
    assert done.returncode in (0, 1), done.stderr
    found = json.loads(done.stdout)
    return {each["files"][0]: each for each in found["runs"]}, found["diagnostics"]


@pytest.mark.slow
@pytest.mark.parametrize("gone", OPTIONAL)
def test_the_others_work_without_its_folder(gone, root, tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "less" / "cfglint", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(root / "schemas", tmp_path / "less" / "schemas")
    shutil.rmtree(tmp_path / "less" / "cfglint" / "frameworks" / gone)
    files = tmp_path / "files"
    shutil.copytree(root / "examples", files, ignore=shutil.ignore_patterns("*.txt", "*.md"))
    (files / "train.sh").write_text("torchrun --nproc_per_node 8 train.py --output_dir out --per_device_train_batch_size 4 --max_steps 9\n")
    (files / "train.py").write_text("from transformers import HfArgumentParser, TrainingArguments\nHfArgumentParser(TrainingArguments)\n")
    before, findings = checked(PACKAGE.parent, files)
    after, findings_after = checked(tmp_path / "less", files)
    others = {name for name, each in before.items() if gone not in each["kinds"]}
    assert len(others) < len(before), "no example is of this kind"
    assert {name: after[name] for name in others} == {name: before[name] for name in others}
    same = [each for each in findings if each["file"] in others]
    assert [each for each in findings_after if each["file"] in others] == same
    for kind in generated_kinds():
        shape = ("--model", "pythia-160m", "--steps", "9") if kind == "neox" else ()
        made = run(tmp_path / "less", files, "new", kind, "--gpus", "8", "--global-batch", "64", *shape, "-o", "-")
        assert made.returncode == (2 if kind == gone else 0), made.stderr
    planned = run(tmp_path / "less", files, "plan", "train.sh", "--gpus", "8", "--global-batch", "64")
    assert planned.returncode == 0, planned.stderr
