"""A bare exception that many mistakes raise names several causes, and no rule unless a traceback, the kind or the files decide."""

from __future__ import annotations

import json

import pytest

from cfglint.cli import main
from cfglint.explanation.failures import failures_in
from tests.cases import each_case


@each_case(
    ("text", "causes"),
    [
        ("IndexError: list index out of range", 2),
        ("TypeError: '<=' not supported between instances of 'float' and 'str'", 2),
        ("RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x8 and 4x2)", 3),
        ("TypeError: 'NoneType' object is not subscriptable", 2),
        ("AttributeError: 'list' object has no attribute 'get'", 2),
        ("ValueError: Target modules {'a', 'b'} not found in the base model. Please check the target modules and try again.", 2),
        ("ZeroDivisionError: division by zero", 2),
        ("ValueError: range() arg 3 must not be zero", 2),
        ("ValueError: could not convert string to float: '1e-5,'", 2),
    ],
)
def test_a_general_exception_has_causes_and_no_rule(text, causes):
    [found] = failures_in([text])
    assert (found.rules, len(found.causes)) == ([], causes)


@each_case(
    ("text", "rule"),
    [
        ("ValueError: FP16 Mixed precision training with AMP or APEX", ""),
        ("KeyError: 'schedule_config'", "DSP062"),
        ("RuntimeError: CUDA error: invalid device ordinal", "LCH006"),
    ],
)
def test_a_specific_exception_has_no_causes(text, rule):
    [found] = failures_in([text])
    assert found.causes == []
    assert not rule or rule in found.rules


def test_the_kind_or_a_traceback_decides():
    text = "IndexError: list index out of range"
    assert failures_in([text], "deepspeed")[0].rules == ["DSP071"]
    assert failures_in([text], "axolotl")[0].rules == []
    traceback = ["Traceback (most recent call last):", '  File "/x/site-packages/{}", line 5, in f', "    a[1]", text]
    other = [line.format("datasets/arrow_dataset.py") for line in traceback]
    assert failures_in(other)[0].rules == []


def test_slots_that_a_host_does_not_have_are_explained():
    [found] = failures_in(["ValueError: No slot '1' specified on host 'localhost'"])
    assert "name GPUs that the host has" in found.remedy


@each_case(
    "line",
    [
        "11/28/2026 12:00:00 - INFO - done",
        "wandb: Run ended",
        "12:00:01 worker stopped",
        "INFO:root:done",
        " 10%|#         | 1/10 [00:01<00:09, 1.0s/it]",
        "step 12 loss 0.5",
    ],
)
def test_a_line_of_the_log_is_no_part_of_the_message(line):
    [found] = failures_in(
        ["Traceback (most recent call last):", '  File "a.py", line 1, in f', "ValueError: a message of the program", line]
    )
    assert found.exception == "ValueError: a message of the program"


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.log").write_text("ValueError: Some keys are not used by the HfArgumentParser: ['split']\n")
    return tmp_path


def test_a_missing_log_is_named(project, capsys):
    assert main(["log", "b.log"]) == 2
    assert capsys.readouterr().err == "cfglint: b.log: no such file\n"


@each_case(("name", "text"), [("run.sh", "echo a\n"), ("a.yaml", "task: t\nsplit: s\n"), ("b.json", None)])
def test_a_file_that_is_no_run_keeps_the_answer_of_the_log(project, capsys, name, text):
    if text is not None:
        (project / name).write_text(text)
    assert main(["log", "a.log", name]) == 2
    captured = capsys.readouterr()
    assert captured.out.startswith("a.log:1  the run ended with ValueError: Some keys")
    assert captured.err.startswith("cfglint: not compared: ")


def test_a_log_is_compared_with_the_runs_of_a_folder(project, capsys):
    (project / "train.yaml").write_text("output_dir: o\nper_device_train_batch_size: 4\nlearning_rate: 1.0e-5\n")
    assert main(["log", "a.log", ".", "--format", "json"]) == 0
    [failure] = json.loads(capsys.readouterr().out)["failures"]
    assert (
        "no finding of cfglint in ./train.yaml predicts it, as far as it is known without the number of GPUs (--gpus N)"
        in failure["details"]
    )


MEMORY = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.00 GiB is"
    " free. Of the allocated memory 70.10 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated.\n"
)


def test_a_memory_error_corrects_the_estimate(project, capsys):
    (project / "m.log").write_text(MEMORY)
    (project / "train.yaml").write_text(
        "model_name_or_path: Qwen/Qwen2.5-0.5B\noutput_dir: o\nper_device_train_batch_size: 1\nlearning_rate: 1.0e-5\nbf16: true\n"
    )
    main(["log", "m.log", "train.yaml", "--gpus", "1", "--seq-length", "512"])
    said = " ".join(capsys.readouterr().out.split())
    assert "this run needed at least 74.10 GiB at this moment; the estimate of" in said
    assert "is too low" in said
    assert "fits" not in said
