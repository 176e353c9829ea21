"""Command lines of earlier releases are still understood: those of their README, documentation and hooks, and every option."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from cases import each_case
from cfglint.cli import COMMANDS, FORMER, main
from cfglint.cli.argument_parser import SHORT, Misused, Parser
from cfglint.cli.synonyms import current

HERE = Path(__file__).parent
LINES = (HERE / "former_lines.txt").read_text(encoding="utf-8").splitlines()
OPTIONS = (HERE / "former_options.txt").read_text(encoding="utf-8").splitlines()
DEEPSPEED = '{"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8}\n'
SCRIPT = "torchrun --nproc_per_node 8 train.py --output_dir out --per_device_train_batch_size 4\n"
LOG = "Traceback (most recent call last):\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 7.83 GiB.\n"


def parser_of(name):
    """The parser of a command, former ones included."""
    parser = Parser(f"cfglint {name}", "")
    __import__(f"cfglint.cli.{name}", fromlist=["run"]).add_arguments(parser)
    return parser


def test_a_former_option_takes_its_value_from_either_place(capsys):
    rest = ["4", "ds.json"]
    assert [current("--show-gpus", "--gpus=N", value, rest) for value in ("8", "")] == ["--gpus=8", "--gpus=4"]
    assert rest == ["ds.json"]
    assert capsys.readouterr().err == "cfglint: `--show-gpus` is `--gpus N` now\n" * 2


def test_the_lines_of_the_documentation_are_accepted():
    refused = []
    for line in LINES:
        _, name, *words = shlex.split(line)
        if name == "help" or "--help" in words:
            continue
        try:
            parser_of(name)._parse(words)
        except Misused as error:
            refused.append(f"{line}: {error}")
    assert refused == []


def test_every_option_is_accepted():
    for line in OPTIONS:
        _, name, *options = line.split()
        parser = parser_of(name)
        assert set(options) - {*parser.options, *parser.former, *SHORT} == set(), name


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in {"a.json": DEEPSPEED, "b.json": DEEPSPEED.replace("8", "4"), "train.sh": SCRIPT, "error.txt": LOG}.items():
        (tmp_path / name).write_text(text)


@each_case(
    ("former", "current"),
    [
        ("diff a.json b.json --gpus 8", "review a.json b.json --gpus 8"),
        ("diff a.json b.json --format json", "review a.json b.json --format json"),
        ("diff a.json --to b.json --gpus 8", "review a.json --to b.json --gpus 8"),
        ("runs .", "check . --show runs"),
        ("runs . --format json", "check . --show runs --format json"),
        ("check . --show-runs", "check . --show runs"),
        ("check . --show-files", "check . --show files"),
        ("check --show-settings", "check --show settings"),
        ("runs . --declare", "init . --declare"),
        ("explain error.txt", "log error.txt"),
        ("explain error.txt a.json --format json", "log error.txt a.json --format json"),
    ],
)
def test_a_former_command_prints_the_same_and_names_the_current_one(former, current, folder, capsys):
    status = main(former.split())
    printed = capsys.readouterr()
    assert main(current.split()) == status
    expected = capsys.readouterr()
    assert printed.out == expected.out != ""
    hint, *rest = printed.err.splitlines()
    assert rest == expected.err.splitlines()
    command, *options = current.split()
    assert f"`cfglint {command}" in hint or " ".join(option for option in options if option != ".") in hint


def test_few_options_are_offered():
    assert sum(len(parser_of(name).offered) for name in COMMANDS) < 200


def test_former_commands_are_not_listed(capsys):
    main(["--help"])
    listed = {line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  ")}
    assert listed == set(COMMANDS)
    assert not listed & set(FORMER)


@each_case(
    ("line", "message"),
    [
        ("review a.json", "pass OLD and NEW"),
        ("review a.json b.json --base main", "--base is an option of `cfglint review`"),
        ("review --kind deepspeed", "--kind is an option of `cfglint review OLD NEW`"),
        ("check --show runs --format sarif", "--show runs has one report, as text or json"),
        ("check --show rules", "--show rules: expected one of files, runs, settings, statistics"),
        ("new neox --model layers=2,depth=3", "'depth' is none of layers, hidden, heads, kv-heads"),
        ("new neox --layers", "layers expects a positive integer"),
        ("log a.json", "no banner of a training and no failure"),
        ("log", "PATH is missing"),
        ("log missing.txt", "missing.txt"),
    ],
)
def test_what_does_not_fit_is_refused(line, message, folder, capsys):
    try:
        status = main(line.split())
    except SystemExit as ended:
        status = ended.code
    assert status == 2
    assert message in capsys.readouterr().err


@each_case(
    ("file", "start"),
    [("run.json", '{"cfglint"'), ("run.html", "<!doctype html>"), ("run.txt", "No errors found"), ("run.md", "No errors found")],
)
def test_the_suffix_of_the_file_decides_the_format_of_explain(file, start, folder, tmp_path):
    assert main(["explain", "a.json", "--gpus", "8", "--output", file]) == 0
    assert (tmp_path / file).read_text().startswith(start)
