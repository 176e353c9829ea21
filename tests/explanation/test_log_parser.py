"""Banners in logs: every style of line, noise around and inside them, several runs, other frameworks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import each_case
from cfglint.explanation import log_parser
from cfglint.explanation.log_file import Log

LINES = (
    "***** Running training *****",
    "  Num examples = 1,047",
    "  Num Epochs = 300",
    "  Instantaneous batch size per device = 10",
    "  Total train batch size (w. parallel, distributed & accumulation) = 80",
    "  Gradient Accumulation steps = 8",
    "  Total optimization steps = 3,900",
    "  Number of trainable parameters = 20,185,088",
)
NUMBERS = {
    "num_examples": 1047,
    "num_epochs": 300,
    "micro_batch": 10,
    "global_batch": 80,
    "accumulation": 8,
    "total_steps": 3900,
    "trainable_parameters": 20185088,
}


def lines_of(text: str) -> list[str]:
    return text.splitlines(keepends=True) if "\r" not in text else [f"{line}\n" for line in text.split("\n")]


def read(text: str) -> list[log_parser.TrainingBanner]:
    return log_parser.read(lines_of(text))


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "[INFO|trainer.py:2405] 2025-03-04 10:12:00,100 >> ",
        "03/04/2025 10:12:00 - INFO - transformers.trainer - ",
        "2025-01-15 10:07:15,136 | run | INFO | ",
        "[2022-08-31 16:19:13,747] [    INFO] - ",
        ">> ",
        "\x1b[32m[rank0]:\x1b[0m ",
    ],
    ids=["bare", "transformers", "datefmt", "pipes", "paddle", "arrows", "coloured"],
)
def test_every_style_of_line(prefix):
    (banner,) = read("noise\n" + "".join(f"{prefix}{line}\n" for line in LINES))
    assert (banner.line, banner.framework, banner.numbers) == (2, "huggingface", NUMBERS)


def test_what_follows_a_carriage_return_counts():
    bar = "  0%|          | 0/3900 [00:00<?, ?it/s]\r  1%|          | 39/3900 [00:05<08:00]\r"
    (banner,) = read("".join(f"{bar}{line}\n" for line in LINES))
    assert banner.numbers == NUMBERS
    assert banner.line == 1


def test_windows_line_ends():
    (banner,) = log_parser.read([f"{line}\r\n" for line in LINES])
    assert banner.numbers == NUMBERS


def test_several_runs_in_one_file():
    first, second = read("\n".join([*LINES, "epoch 1", *(line.replace("3,900", "100") for line in LINES)]))
    assert (first["total_steps"], second["total_steps"]) == (3900, 100)
    assert second.line == len(LINES) + 2


def test_two_processes_print_at_the_same_time():
    first, second = read("\n".join(line for pair in zip(LINES, LINES, strict=True) for line in pair))
    assert first.numbers == second.numbers == NUMBERS


def test_a_banner_that_is_cut_off_keeps_what_it_has():
    (banner,) = read("\n".join(LINES[:4]))
    assert banner.numbers == {"num_examples": 1047, "num_epochs": 300, "micro_batch": 10}
    assert not banner.complete


def test_numbers_far_from_the_start_belong_to_nobody():
    (banner,) = read("\n".join([LINES[0], LINES[1], *["noise"] * 200, LINES[5]]))
    assert banner["accumulation"] is None


def test_a_count_of_updates_is_read_where_it_is_printed():
    (banner,) = read("\n".join([*LINES[:3], "  Num update steps per epoch = 14", *LINES[3:]]))
    assert banner["steps_per_epoch"] == 14


def test_a_batch_that_was_adjusted_is_read():
    adjusted = "  Training with DataParallel so batch size has been adjusted to: 40"
    (banner,) = read("\n".join([*LINES[:4], adjusted, *LINES[4:]]))
    assert banner["adjusted_batch"] == 40


def test_what_stands_before_a_banner_is_remembered_for_it():
    before = [
        '  "transformers_version": "4.57.6",',
        "Process rank: 0, world size: 4, device: cuda:0",
        "max_steps is given, it will override any value",
    ]
    first, second = read("\n".join([*before, *LINES, *LINES]))
    assert (first.release, first.max_steps_given, first["gpus"]) == ("4.57.6", True, 4)
    assert (second.release, second.max_steps_given) == ("4.57.6", False)


def test_paddlenlp_is_told_by_its_style():
    paddle, other = read("[2022-08-31 16:19:13,747] [    INFO] - " + "\n".join(LINES) + "\n" + "\n".join(LINES))
    assert paddle.paddle
    assert not other.paddle


NEOX = """\
-------------------- arguments --------------------
  global_num_gpus ................. 16..........................updated
  gradient_accumulation_steps ..... 8...........................updated
  model_parallel_size ............. 2...........................updated
  train_batch_size ................ 512.........................updated
  train_iters ..................... 143000......................updated
  train_micro_batch_size_per_gpu .. 8...........................updated
---------------- end of arguments ----------------
"""


def test_neox_arguments_are_read_once_from_launcher_and_worker():
    (banner,) = read(f"launcher\n{NEOX}worker\n{NEOX}")
    assert (banner.line, banner.framework) == (2, "neox")
    assert banner.numbers == {
        "gpus": 16,
        "accumulation": 8,
        "tensor_parallel": 2,
        "global_batch": 512,
        "total_steps": 143000,
        "micro_batch": 8,
    }


def test_deepspeed_configuration_counts_where_nobody_else_announces_the_run():
    deepspeed = (
        "[2024-01-01 00:00:00,000] [INFO] [config.py:1000:print] DeepSpeedEngine configuration:\n"
        "[2024-01-01 00:00:00,000] [INFO] [config.py:1004:print]   gradient_accumulation_steps .. 4\n"
        "[2024-01-01 00:00:00,000] [INFO] [config.py:1004:print]   train_batch_size ............. 64\n"
        "[2024-01-01 00:00:00,000] [INFO] [config.py:1004:print]   train_micro_batch_size_per_gpu  2\n"
        "[2024-01-01 00:00:00,000] [INFO] [config.py:1004:print]   world_size ................... 8\n"
    )
    (alone,) = read(deepspeed)
    assert alone.framework == "deepspeed"
    assert alone.numbers == {"accumulation": 4, "global_batch": 64, "gpus": 8, "micro_batch": 2}
    (under_trainer,) = read(deepspeed + "\n".join(LINES))
    assert under_trainer.framework == "huggingface"


@each_case(
    ("text", "number"),
    [
        (" 1,230", 1230),
        (" 37800.0", 37800),
        ("9,223,372,036,854,775,807", 2**63 - 1),
        ("12 (per device)", 12),
        (" 2.5", None),
        ("none", None),
    ],
)
def test_numbers(text, number):
    assert log_parser.leading_integer(text) == number


def test_what_is_a_log():
    assert Log("a", ["x\n", f"{LINES[0]}\n"]).is_log
    assert not Log("a", ["output_dir: out\n", "num_train_epochs: 3\n"]).is_log


@given(st.text())
def test_any_text_is_read_without_a_fault(text):
    for banner in log_parser.read([*text.splitlines(keepends=True), f"{LINES[0]}\n", *text.splitlines(keepends=True)]):
        assert all(isinstance(value, int) for value in banner.numbers.values())


def test_a_log_is_read_once(monkeypatch):
    reads = []
    monkeypatch.setattr(
        Log, "lines", lambda log: reads.append(log) or [f"line {number}\n" for number in range(1000)] + ["ValueError: no\n"]
    )
    log = Log("a")
    assert (log.recognised, log.banners, log.events.raised[0].line) == (True, [], 1001)
    assert len(reads) == 1
