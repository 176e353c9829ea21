"""The arguments of a line have the types that the fields have in the release of the run."""

from __future__ import annotations

import pytest

import cfglint

PROGRAM = """\
from transformers import HfArgumentParser, Trainer, TrainingArguments

(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
Trainer(args=args).train()
"""


@pytest.mark.parametrize(
    ("arguments", "release", "codes"),
    [
        ("--save_total_limit 1.5", "5.10.0", ["LCH017"]),
        ("--bf16 maybe --learning_rate abc", "4.45.2", ["LCH017", "LCH017"]),
        ("--warmup_steps 0.1", "4.36.2", ["LCH017"]),  # an integer up to 4.57, a number since
        ("--warmup_steps 0.1", "5.10.0", []),
        ("--report_to wandb tensorboard", "4.36.2", []),  # a list up to 4.39, one word since
        ("--report_to wandb tensorboard", "4.45.2", ["LCH003"]),
        ("--logging_steps 1 -tf32 False", "5.10.0", ["LCH003"]),  # an option with one dash is none with two
    ],
)
def test_a_value_is_refused_by_the_type_of_its_release(tmp_path, arguments, release, codes):
    (tmp_path / ".git").mkdir()
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "run.sh").write_text(f"python train.py --output_dir out {arguments}\n")
    (tmp_path / "requirements.txt").write_text(f"transformers=={release}\n")
    (run,) = cfglint.check(str(tmp_path)).runs
    assert [each.code for each in run.diagnostics if each.severity == "error"] == codes
    assert run.verdict == ("reject" if codes else "accept")
