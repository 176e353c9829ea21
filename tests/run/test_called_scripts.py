"""Findings that a script has only with the variables of the line that calls it."""

from __future__ import annotations

import json

from cases import each_case
from cfglint.cli import main

PROGRAM = (
    "from transformers import HfArgumentParser, Trainer, TrainingArguments\n"
    "(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\nTrainer(args=args).train()\n"
)


@each_case(
    ("alone", "notes"),
    [
        ("${RATE:-1e-5}", ["only when ./caller.sh:1 starts the script, not when it is started alone"]),
        ("fast", [None]),
    ],
)
def test_a_finding_of_one_caller_names_it(tmp_path, monkeypatch, capsys, alone, notes):
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "called.sh").write_text(f"python train.py --output_dir o --learning_rate {alone}\n")
    (tmp_path / "caller.sh").write_text("RATE=fast bash called.sh\n")
    monkeypatch.chdir(tmp_path)
    main(["check", ".", "--format", "json"])
    found = json.loads(capsys.readouterr().out)["diagnostics"]
    assert [each["note"] for each in found] == notes
