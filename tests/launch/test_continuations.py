"""Broken line continuations: what bash passes to a program, and what the program makes of it."""

from __future__ import annotations

import json

import pytest

from cfglint.cli import main

STRICT = """\
from transformers import HfArgumentParser, Trainer, TrainingArguments

parser = HfArgumentParser(TrainingArguments)
(training_args,) = parser.parse_args_into_dataclasses()
trainer = Trainer(model=None, args=training_args)
"""
LENIENT = STRICT.replace("dataclasses()", "dataclasses(return_remaining_strings=True)").replace("(training_args,)", "training_args, _")
OWN = """\
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--learning_rate", type=float)
parser.add_argument("--output_dir")
args = parser.parse_args()
"""
LINE = "torchrun --nproc_per_node 8 train.py --output_dir out"


@pytest.fixture
def checked(tmp_path, monkeypatch, capsys):
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)

    def check(script, program=STRICT):
        (tmp_path / "train.py").write_text(program)
        (tmp_path / "run.sh").write_bytes(script.encode())
        status = main(["check", "run.sh", "--format", "json"])
        found = json.loads(capsys.readouterr().out)
        return status, found["runs"], [(each["code"], each["severity"], each["exception"]) for each in found["diagnostics"]]

    return check


def unused(word):
    return f"ValueError: Some specified arguments are not used by the HfArgumentParser: {[word]}"


@pytest.mark.parametrize("word", [" ", "\t", "\r"])
def test_a_blank_behind_a_backslash_is_refused_by_a_strict_parser(checked, word):
    status, _, found = checked(f"{LINE} \\{word}\n  --bf16\n")
    assert (status, found) == (1, [("LCH001", "error", unused(word))])


def test_a_blank_behind_the_last_backslash_is_refused_too(checked):
    assert checked(f"{LINE} \\ \n")[2] == [("LCH001", "error", unused(" "))]


def test_a_blank_before_the_first_option_is_refused_too(checked):
    assert checked("torchrun --nproc_per_node 8 train.py \\ \n  --output_dir out\n")[2] == [("LCH001", "error", unused(" "))]


def test_a_blank_is_a_warning_where_the_program_accepts_unknown_arguments(checked):
    status, _, found = checked(f"{LINE} \\ \n  --bf16\n", LENIENT)
    assert (status, found) == (0, [("LCH001", "warning", None)])


def test_argparse_refuses_a_blank(checked):
    assert checked(f"{LINE} \\ \n", OWN)[2] == [("LCH001", "error", "error: unrecognized arguments:  ")]


def test_a_launcher_without_its_program_is_still_a_launch(checked):
    status, runs, found = checked("torchrun --nproc_per_node 8 \\ \n  train.py --output_dir out --bf16\n")
    assert (status, len(runs), runs[0]["gpus"]) == (1, 1, 8)
    assert found == [("LCH001", "error", "python: can't open file ' '")]


def test_the_next_command_is_no_part_of_a_command_that_ends(checked):
    assert checked(f"{LINE}\ntrain.py --output_dir other --bf16\n")[2] == []


def test_an_ellipsis_on_a_line_of_its_own_stands_for_other_arguments(checked):
    assert checked(f"{LINE} \\\n  ...\n  --bf16 \\\n  --tf32 true\n", LENIENT)[2] == []


def test_an_option_behind_a_value_without_a_blank_is_a_part_of_the_value(checked):
    status, _, found = checked(f"{LINE} --learning_rate 0.03\\\n--lr_scheduler_type cosine\n")
    assert (status, found) == (1, [("LCH001", "error", "error: argument --learning_rate: invalid float value: '0.03--lr_scheduler_type'")])


def test_the_type_of_an_argument_of_the_program_itself_decides(checked):
    script = "torchrun --nproc_per_node 8 train.py --learning_rate 0.03\\\n--output_dir o\n"
    raised = "error: argument --learning_rate: invalid float value: '0.03--output_dir'"
    assert checked(script, OWN)[2] == [("LCH001", "error", raised)]


def test_a_string_takes_the_option_behind_it(checked):
    assert checked(f"{LINE}\\\n--bf16\n")[2] == [("LCH001", "warning", None)]


def test_a_path_over_two_lines_is_intended(checked):
    assert checked("torchrun --nproc_per_node 8 train.py --output_dir long/\\\npath\n")[2] == []


def test_an_assignment_before_an_empty_line_is_not_exported(checked):
    line = "torchrun --nproc_per_node 8 train.py --output_dir out --per_device_train_batch_size 1\n"
    _, _, found = checked(f"CUDA_VISIBLE_DEVICES=0,1 \\\n\nA=1 \\\n{line}")
    assert found == []
    assert checked(f"CUDA_VISIBLE_DEVICES=0,1 \\\nA=1 \\\n{line}")[2] == [
        ("LCH006", "error", "RuntimeError: CUDA error: invalid device ordinal")
    ]


def test_a_carriage_return_in_a_fenced_block_is_not_copied_with_the_command(tmp_path, capsys):
    """The rendered page has none, so the command is whole where a script with Windows line ends is cut."""
    block = "```bash\r\ntorchrun train.py \\\r\n  --output_dir out \\\r\n  --max_steps 7\r\n```\r\n"
    (tmp_path / "README.md").write_bytes(block.encode())
    (tmp_path / "run.sh").write_bytes(block.replace("```bash\r\n", "").replace("```\r\n", "").encode())
    codes = {}
    for name in ("README.md", "run.sh"):
        main(["check", str(tmp_path / name), "--format", "concise"])
        codes[name] = "LCH001" in capsys.readouterr().out
    assert codes == {"README.md": False, "run.sh": True}


@pytest.mark.parametrize(
    ("script", "fixed"),
    [
        (f"{LINE} \\  \n    --bf16 True \\\n    --seed 1\n", f"{LINE} \\\n    --bf16 True \\\n    --seed 1\n"),
        (f"{LINE} \\\r\n    --bf16 True\r\necho done\r\n", f"{LINE} \\\n    --bf16 True\necho done\r\n"),
        (f"{LINE} --learning_rate 0.1\\\n--seed 1\n", f"{LINE} --learning_rate 0.1 \\\n--seed 1\n"),
        (f"{LINE} \\ # not here\n    --bf16 True\n", None),
    ],
    ids=["blanks", "carriage returns", "joined words", "a comment"],
)
def test_blanks_around_a_backslash_are_fixed(checked, tmp_path, capsys, script, fixed):
    checked(script)
    main(["fix", "run.sh", "--unsafe-fixes"])
    capsys.readouterr()
    assert (tmp_path / "run.sh").read_bytes().decode() == (fixed or script)


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("torchrun train.py --output_dir out '\n", "error"),
        ('torchrun train.py --output_dir "out\n', "error"),
        ("torchrun train.py --output_dir out 'a\nb\n", "error"),
        ("torchrun train.py --output_dir 'out'\n", ""),
        ("torchrun train.py --output_dir out # it's a comment\n", ""),
        ("torchrun train.py --output_dir out\ncat <<EOF\nit's\nEOF\n", ""),
        ("torchrun train.py --output_dir out\necho 'a\n", ""),  # bash runs it before it reads on
        ("echo 'a\nb'\ntorchrun train.py --output_dir out\n", ""),
    ],
)
def test_a_quote_that_is_never_closed(checked, script, found):
    said = [severity for code, severity, _ in checked(script)[2] if code == "LCH029"]
    assert said == ([found] if found else [])


def test_a_quote_that_quotes_nothing_is_removed(checked, tmp_path):
    checked(f"{LINE} '\n")
    main(["fix", "run.sh"])
    assert (tmp_path / "run.sh").read_text() == f"{LINE}\n"


def test_nothing_starts_behind_a_command_that_bash_cannot_parse(checked):
    _, runs, said = checked(f"{LINE}\nfor a in 1 2; do\n  echo $a\ndone\ndone\n{LINE}\n")
    assert [run["verdict"] for run in runs][-1] == "reject"
    assert [code for code, _, _ in said if code == "LCH030"] == ["LCH030"]


def test_a_function_of_another_file_is_behind_no_fault_of_the_one_that_calls_it(checked, tmp_path):
    (tmp_path / "lib.sh").write_text(f"{'# pad ' * 99}\nrun_it() {{\n  {LINE}\n}}\n")
    _, [run], said = checked("source lib.sh\nrun_it\n# pad\ndone\n")
    assert (run["verdict"], [code for code, _, _ in said if code == "LCH030"]) == ("accept", [])
