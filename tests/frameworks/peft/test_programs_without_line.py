"""The adapter of a program that no line starts: what its parser has as a default need not be what it gets."""

from __future__ import annotations

import json

import pytest

from cfglint.cli import main

PROGRAM = """import argparse
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
p = argparse.ArgumentParser()
p.add_argument('--model', default='EleutherAI/pythia-1.4b')
model = AutoModelForCausalLM.from_pretrained(p.parse_args().model)
model = get_peft_model(model, LoraConfig(target_modules=['q_proj']))
Trainer(model, TrainingArguments('out')).train()
"""


@pytest.mark.parametrize(("line", "severity", "doubts"), [("", "warning", ["argument"]), ("python train.py\n", "error", [])])
def test_its_refusal_depends_on_its_arguments(tmp_path, monkeypatch, capsys, line, severity, doubts):
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "run.sh").write_text(line)
    main(["check", "run.sh" if line else "train.py", "--format", "json"])
    [found] = [each for each in json.loads(capsys.readouterr().out)["diagnostics"] if each["code"] == "PFT001"]
    assert (found["severity"], [each["kind"] for each in found.get("depends_on", ())]) == (severity, doubts)
