"""The keywords of a trainer's constructor in a program whose releases are not stated."""

from __future__ import annotations

import json

from cases import each_case
from cfglint.cli import main

START = "from transformers import Trainer, TrainingArguments\nfrom trl import SFTTrainer\nargs = TrainingArguments('o')\n"


@each_case("trainer", ["Trainer", "SFTTrainer"])
def test_a_keyword_that_some_allowed_release_accepts_is_a_warning(tmp_path, monkeypatch, capsys, trainer):
    (tmp_path / ".git").mkdir(exist_ok=True)
    (tmp_path / "train.py").write_text(f"{START}{trainer}(model, args, tokenizer=tokenizer).train()\n")
    monkeypatch.chdir(tmp_path)
    main(["check", "train.py", "--format", "json"])
    [found] = json.loads(capsys.readouterr().out)["diagnostics"]
    assert (found["code"], found["severity"]) == ("KEY206", "warning")
