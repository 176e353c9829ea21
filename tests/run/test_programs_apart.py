"""Programs and packages beside a script: the folder that a line starts from, what the program imports, and whose release counts."""

from __future__ import annotations

import json

import pytest

from cfglint.cli import main

CLASS = """from dataclasses import dataclass, field
from transformers import TrainingArguments

@dataclass
class OwnArguments(TrainingArguments):
    learning_rate: float = field(default=3e-6)
"""
PROGRAM = """from transformers import HfArgumentParser, Trainer
from own.classes import OwnArguments
[args] = HfArgumentParser(OwnArguments).parse_args_into_dataclasses()
Trainer(args=args).train()
"""
LINE = "torchrun --nproc_per_node 4 {} --output_dir out --per_device_train_batch_size 2\n"
PACKAGE = {"src/pkg/setup.py": "", "src/pkg/src/own/classes.py": CLASS, "src/pkg/src/own/train.py": PROGRAM}


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """What `explain` tells of the launch of a script."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)

    def report(files, script, *options):
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        main(["explain", script, *options, "--format", "json"])
        return json.loads(capsys.readouterr().out)

    return report


def rate(found):
    return next((setting["value"] for setting in found["settings"] if setting["key"] == "/learning_rate"), None)


def test_a_program_imports_from_the_package_around_it(run):
    found = run({**PACKAGE, "run.sh": LINE.format("src/pkg/src/own/train.py")}, "run.sh")
    assert (found["not_read"], rate(found)) == ([], 3e-6)


@pytest.mark.parametrize("script", ["scripts/run.sh", "run.sh", "README.md"])
def test_a_line_starts_from_the_only_folder_that_has_its_program(run, script):
    line = LINE.format("src/own/train.py")
    found = run({**PACKAGE, script: line if script != "README.md" else f"```sh\n{line}```\n"}, script)
    assert (found["not_read"], rate(found), found["resolved"]["global_batch"]) == ([], 3e-6, 8)


def test_one_of_another_machine_as_well(run):
    found = run({**PACKAGE, "run.sh": f"cd /elsewhere/work\n{LINE.format('src/own/train.py')}"}, "run.sh")
    assert (found["not_read"], rate(found)) == ([], 3e-6)


def test_a_file_for_a_parser_that_is_not_in_the_project_is_read_as_it_is_written(run):
    program = "from alignment import H4ArgumentParser, SFTConfig\nfrom trl import SFTTrainer\n"
    program += "[args] = H4ArgumentParser((SFTConfig,)).parse()\nSFTTrainer(model, args=args).train()\n"
    config = "output_dir: o\nper_device_train_batch_size: 4\nevaluation_strategy: epoch\nmax_seq_length: 64\n"
    found = run({"train.py": program, "sft.yaml": config, "run.sh": "torchrun --nproc_per_node 2 train.py sft.yaml\n"}, "run.sh")
    assert (found["verdict"], [each["what"] for each in found["not_read"]]) == (None, ["the arguments of `train.py`"])
    assert (found["resolved"]["micro_batch"], found["resolved"]["global_batch"]) == (4, None)


@pytest.mark.parametrize(("name", "others"), [("train.py", {}), ("src/own/train.py", {"other/src/own/train.py": PROGRAM})])
def test_a_bare_name_or_two_folders_do_not_tell_it(run, name, others):
    found = run({**PACKAGE, **others, "scripts/run.sh": LINE.format(name)}, "scripts/run.sh")
    assert [reason["why"].startswith("it is not at this path; there is ") for reason in found["not_read"]] == [True]


@pytest.mark.parametrize(
    ("stated", "release"),
    [
        ({"Dockerfile": "RUN pip install transformers==4.44.0\n"}, "4.46.0"),  # at the top
        ({"scripts/requirements.txt": "transformers==4.45.0\n"}, "4.45.0"),  # beside the script
    ],
)
def test_the_release_that_the_program_s_package_states_counts_before_that_of_the_top(run, stated, release):
    package = {**PACKAGE, "src/pkg/setup.py": "setup(install_requires=['transformers==4.46.0'])\n"}
    found = run({**package, **stated, "scripts/run.sh": LINE.format("src/pkg/src/own/train.py")}, "scripts/run.sh")
    assert found["target"]["transformers"] == release
