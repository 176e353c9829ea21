"""The launches that programs start by commands."""

from __future__ import annotations

import pytest

from cfglint.cli import main
from cfglint.launch.reader import Reader
from cfglint.source.project_files import ROOT, Project
from tests.cases import each_case

TRAIN = """
from transformers import HfArgumentParser, Trainer, TrainingArguments
[args] = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
Trainer(model=None, args=args).train()
"""
WORDS = '["torchrun", "--nproc_per_node", "2", "train.py", "--seed", "1"]'


def started(code, name="launch.py"):
    files = {"train.py": TRAIN, "run.sh": "torchrun --nproc_per_node $1 train.py --seed 1\n"}
    lines = Reader(Project("", lambda path: path in files, files.get)).lines(name, code)
    return [(line.processes, [word.value for word in line.arguments], line.call.line) for line in lines]


ONE = [(2, ["--seed", "1"], 2)]


@each_case(
    ("code", "expected"),
    [
        (f"import subprocess\nsubprocess.run({WORDS}, check=True)", ONE),
        (f"from subprocess import Popen\nPopen(args={WORDS})", ONE),
        (f"import os\nos.execvp('torchrun', {WORDS})", ONE),
        ("import os\nos.system('torchrun --nproc_per_node 2 train.py --seed 1')", ONE),
        ("import os\nos.system(f'torchrun --nproc_per_node {1 + 1} train.py --seed 1')", ONE),
        ("import subprocess as s\ns.run('torchrun --nproc_per_node 2 train.py --seed 1', shell=True)", ONE),
        ("import subprocess as s\ns.run('torchrun --nproc_per_node 2 train.py --seed 1')", []),  # the name of one program
        ("import shlex, subprocess as s\ns.run(shlex.split('torchrun --nproc_per_node 2 train.py --seed 1'))", ONE),
        (
            "import sys, subprocess as s\ns.run([sys.executable, '-m', 'torch.distributed.run', '--nproc_per_node=2', 'train.py'])",
            [(2, [], 2)],
        ),
        ("import subprocess as s\ns.run(['bash', 'run.sh', '2'])  # torchrun", [(2, ["--seed", "1"], 1)]),
        (
            "import subprocess as s, os\nos.environ['CUDA_VISIBLE_DEVICES'] = '0,1'\n"
            "s.run(['torchrun', '--nproc_per_node', 'gpu', 'train.py'], env={**os.environ, 'N': '1'})",
            [(2, [], 3)],
        ),
        ("import os, sys\nos.system('torchrun --nproc_per_node 2 train.py --seed ' + sys.argv[1])", []),
        ("import subprocess as s, sys\ns.run(['torchrun', 'train.py', '--seed', sys.argv[1]])", [(1, ["--seed", None], 2)]),
        (
            "import os\nfor seed in 1, 2:\n    os.system(f'torchrun train.py --seed {seed}')",
            [(1, ["--seed", "1"], 3), (1, ["--seed", "2"], 3)],
        ),
        ("import os\ndef run(seed):\n    os.system(f'torchrun train.py --seed {seed}')", []),
        ("print('torchrun train.py')  # subprocess", []),
    ],
)
def test_commands_of_a_program_are_launches(code, expected):
    assert started(code) == expected


def test_a_parser_that_requires_arguments_leaves_them_unknown():
    parser = "import argparse, subprocess\nparser = argparse.ArgumentParser()\nparser.add_argument('--name', required=True)\n"
    code = (
        f"{parser}args = parser.parse_args()\nsubprocess.run(['torchrun', '--nproc_per_node', '2', 'train.py', '--run_name', args.name])\n"
    )
    assert started(code) == [(2, ["--run_name", None], 5)]


def test_the_folder_of_a_command():
    code = f"import os, subprocess\nTOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))\nsubprocess.run({WORDS}, cwd=TOP)\n"
    [line] = Reader(Project("", lambda path: path == "train.py", lambda path: None)).lines("tools/launch.py", code)
    assert line.folder == ROOT


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "launch.py").write_text(f"import subprocess\nsubprocess.run({WORDS})\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_such_a_run_is_found_by_its_folder_and_its_program(project, capsys):
    assert main(["check"]) == 0
    assert "1 file checked; no findings" in capsys.readouterr().err
    assert main(["check", "train.py"]) == 0
    assert "in the run of launch.py:2" in capsys.readouterr().err


def test_a_word_is_edited_where_it_is_written(project):
    (project / "launch.py").write_text(f'import subprocess\nsubprocess.run({WORDS[:-1]}, "--gradient_accumulation_steps", "4"])\n')
    assert main(["fix", "launch.py", "--gpus", "4"]) == 0
    text = (project / "launch.py").read_text()
    assert '"--nproc_per_node", "4", "train.py"' in text
    assert '"--gradient_accumulation_steps", "2"]' in text


def test_a_program_that_starts_itself_is_one_run(project, capsys):
    start = WORDS.replace('"train.py"', "__file__").replace('"2"', '"8"')
    (project / "launch.py").unlink()
    (project / "train.py").write_text(
        f"import os, subprocess, sys\nif 'LOCAL_RANK' not in os.environ:\n    subprocess.run({start})\n    sys.exit(0)\n{TRAIN}"
    )
    for path in (".", "train.py"):
        assert main(["explain", path]) == 0
        assert "batch      64 = 8 x 1 x 8" in capsys.readouterr().out
        assert main(["check", path]) == 0
        assert "1 file checked" in capsys.readouterr().err


def test_what_the_program_writes_before_is_not_read(project, capsys):
    code = "import subprocess\nopen('ds.json', 'w').write('{}')\nsubprocess.run(['llamafactory-cli', 'train', 'a.yaml'])\n"
    (project / "launch.py").write_text(code + f"subprocess.run({WORDS[:-1]}, '--deepspeed', 'ds.json'])\n")
    assert main(["check", "launch.py"]) == 0
    assert "not read: the config `a.yaml` (it was not found), `ds.json` (the script writes it)" in capsys.readouterr().err
