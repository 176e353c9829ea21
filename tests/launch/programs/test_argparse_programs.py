"""Programs with an `argparse` parser of their own."""

from __future__ import annotations

import json

import pytest

from cfglint.cli import main

PROGRAM = """\
import argparse

import deepspeed


def parse_args():
    parser = argparse.ArgumentParser(description="x")
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--flag", action="store_true")
    parser.add_argument("--mode", choices=["a", "b"], default="a")
    parser.add_argument("--local_rank", type=int, default=-1)
    group = parser.add_argument_group("g")
    group.add_argument("--train-steps", type=int, required=True)
    more(parser)
    parser = deepspeed.add_config_arguments(parser)
    return parser.parse_args()


def more(parser):
    parser.add_argument("--names", nargs="+")


def main():
    args = parse_args()
    deepspeed.initialize(args=args, model=None)


main()
"""
CONFIG = '{"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2}\n'
LINE = "deepspeed --num_gpus 4 train.py --deepspeed --deepspeed_config ds.json --train-steps 3"


@pytest.fixture
def launched(tmp_path, monkeypatch, capsys):
    (tmp_path / ".git").mkdir()
    (tmp_path / "ds.json").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)

    def run(program, line):
        (tmp_path / "train.py").write_text(program)
        (tmp_path / "run.sh").write_text(line + "\n")
        main(["check", "run.sh", "--format", "json"])
        found = json.loads(capsys.readouterr().out)
        return found["runs"][0], {(each["code"], each["key"]): each for each in found["diagnostics"] if each["severity"] == "error"}

    return run


def test_arguments_of_the_program_are_known(launched):
    run, found = launched(PROGRAM, LINE + " --lr 1e-4 --flag --mode b --names x y --tr 5")
    assert (run["files"], run["resolved"]["global_batch"], found) == (["run.sh", "ds.json"], 32, {})


@pytest.mark.parametrize(
    ("words", "code", "key", "exception"),
    [
        ("--learning_rate 3", "LCH003", "--learning_rate", "error: unrecognized arguments: --learning_rate 3"),
        ("--flag True", "LCH003", "--flag", "error: unrecognized arguments: True"),
        ("--mode c", "LCH017", "--mode", "error: argument --mode: invalid choice: 'c' (choose from a, b)"),
        ("--lr fast", "LCH017", "--lr", "error: argument --lr: invalid float value: 'fast'"),
        ("--names", "LCH013", "--names", "error: argument --names: expected at least one argument"),
    ],
)
def test_what_the_parser_refuses(launched, words, code, key, exception):
    _, found = launched(PROGRAM, f"{LINE} {words}")
    assert {place: each["exception"] for place, each in found.items()} == {(code, key): exception}


def test_a_required_argument_is_missing(launched):
    _, found = launched(PROGRAM, LINE.replace(" --train-steps 3", ""))
    [[place, missing]] = found.items()
    assert place == ("LCH016", "--train_steps")
    assert (missing["message"], missing["help"]) == ("`--train-steps` is missing; train.py:13 requires it", "add --train-steps")
    assert missing["exception"] == "error: the following arguments are required: --train-steps"


def test_the_launcher_adds_an_argument(launched):
    without = PROGRAM.replace('    parser.add_argument("--local_rank", type=int, default=-1)\n', "")
    assert [*launched(without, LINE)[1]] == [("LCH003", "--local_rank")]
    assert launched(without, LINE.replace("--num_gpus", "--no_local_rank --num_gpus"))[1] == {}


def test_an_argument_that_the_launcher_adds_is_not_missing(launched):
    required = PROGRAM.replace('"--local_rank", type=int, default=-1', '"--local_rank", type=int, required=True')
    assert launched(required, LINE)[1] == {}
    assert [*launched(required, LINE.replace("deepspeed --num_gpus 4", "python"))[1]] == [("LCH016", "--local_rank")]
    assert [*launched(required, LINE.replace("--num_gpus", "--no_local_rank --num_gpus"))[1]] == [("LCH016", "--local_rank")]


@pytest.mark.parametrize(
    ("start", "is_missing"),
    [("main()", True), ("mp.spawn(main, nprocs=2)", True), ("Thread(target=main).start()", True), ("button.click(main)", False)],
)
def test_an_argument_is_required_where_the_program_calls_its_parser(launched, start, is_missing):
    """A function that a page of buttons gets may never run, and gets its arguments from there."""
    program = PROGRAM.removesuffix("main()\n") + f"{start}\n"
    _, found = launched(program, LINE.replace(" --train-steps 3", ""))
    assert [*found] == ([("LCH016", "--train_steps")] if is_missing else [])


def test_a_missing_argument_of_a_page_is_a_warning(launched, tmp_path, capsys):
    launched(PROGRAM, LINE)
    (tmp_path / "README.md").write_text("```bash\ndeepspeed --num_gpus 4 train.py --lr 1e-4 # the others as above\n```\n")
    main(["check", "README.md", "--format", "concise"])
    assert "LCH016 warning: `--train-steps` is missing" in capsys.readouterr().out


def test_names_in_capitals_are_to_be_filled_in_where_they_stand_in_a_page(launched, tmp_path, capsys):
    assert [*launched(PROGRAM, f"{LINE} --lr LR")[1]] == [("LCH017", "--lr")]
    (tmp_path / "README.md").write_text(f"```bash\n{LINE} --lr LR --mode b\n```\n")
    main(["check", "README.md", "--format", "concise"])
    assert capsys.readouterr().out == ""
    (tmp_path / "README.md").write_text(f"```bash\n{LINE} --lr fast\n```\n")
    main(["check", "README.md", "--format", "concise"])
    assert "`--lr` is fast, not a number" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("parser.parse_args()", "parser.parse_known_args()[0]"),
        ('"--mode", choices=["a", "b"]', '"--nope", type=lambda text: text * 2, choices=["11"]'),
        ('"--mode", choices=["a", "b"]', '"--nope", type=int, choices=range(3)'),
        ("    more(parser)\n", "    elsewhere.more(parser)\n"),
        ('"--mode"', '"-m", "--mode"'),
        ('"--mode", choices', "*names, choices"),
        ('("--lr"', '("path")\n    parser.add_argument("--lr"'),
        ('description="x"', "parents=[base]"),
    ],
)
def test_what_cannot_be_decided_is_not_refused(launched, old, new):
    assert launched(PROGRAM.replace(old, new), LINE + " --nope 1")[1] == {}


def test_a_file_that_the_code_names_is_followed(launched):
    program = 'import deepspeed\nCONFIG = "ds.json"\ndeepspeed.initialize(model=None, config=CONFIG)\n'
    run, _ = launched(program, "deepspeed --num_gpus 2 train.py --epochs 3 --train_data d")
    assert (run["files"], run["resolved"]["global_batch"]) == (["run.sh", "ds.json"], 16)


def test_the_rank_that_torch_distributed_launch_adds(launched):
    without = PROGRAM.replace('    parser.add_argument("--local_rank", type=int, default=-1)\n', "")
    line = LINE.replace("deepspeed --num_gpus", "python -m torch.distributed.launch --nproc_per_node")
    [found] = launched(without, line)[1].values()
    assert (found["key"], found["exception"]) == ("--local_rank", "error: unrecognized arguments: --local-rank=0")
    assert launched(without, line.replace("--nproc", "--use_env --nproc"))[1] == {}
    assert launched(without, line.replace("python -m torch.distributed.launch", "torchrun"))[1] == {}


def test_a_second_parser_that_parses_a_file_does_not_hide_the_first_one(launched):
    program = """\
import argparse

from transformers import HfArgumentParser, Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--train_args_file", type=str, default="args.json")
args = parser.parse_args()
inner = HfArgumentParser(TrainingArguments)
(training_args,) = inner.parse_json_file(json_file=args.train_args_file)
trainer = Trainer(model=None, args=training_args)
"""
    assert [*launched(program, "deepspeed --num_gpus 4 train.py --train_args_file ds.json")[1]] == [("LCH003", "--local_rank")]
    assert launched(program.replace("json_file(json_file=args.train_args_file)", "args_into_dataclasses()"), LINE)[1] == {}
