"""What keeps an error from being one is named: in JSON with its kind, in text in one line."""

from __future__ import annotations

import json

from cases import each_case
from cfglint.cli import main

TRAINER = "output_dir: out\nper_device_train_batch_size: 4\n"
PROGRAM = """import sys
from transformers import Trainer, TrainingArguments

args = TrainingArguments("out", save_steps=0.5, eval_steps=0.3, eval_strategy="steps", load_best_model_at_end=True)
if sys.argv[1] == "train":
    Trainer(args=args, tokeniser=None).train()
"""
MEGATRON = "model_name_or_path: m\nstage: sft\ndo_train: true\ndataset: d\noutput_dir: o\ntensor_model_parallel_size: 2\n"
STATED = ("--target", "transformers==5.23.0", "--target", "deepspeed==0.19.8")


@each_case(
    ("name", "text", "options", "code", "depends_on"),
    [
        ("train.yaml", TRAINER + "learning_rate: 2e-5\n", STATED, "TYP200", [("program", "the parser of the file (`--kind` names it)")]),
        ("train.yaml", TRAINER + "learning_rate: 2e-5\n", ("--kind", "huggingface", *STATED), "TYP200", None),
        (
            "train.yaml",
            TRAINER + "load_best_model_at_end: true\neval_strategy: epoch\n",
            STATED,
            "HFT006",
            [("argument", "`save_strategy` (the file does not set it)")],
        ),
        (
            "train.yaml",
            TRAINER + "learning_rate: 2e-5\n",
            ("--kind", "huggingface", "--target", "transformers==99.0"),
            "TYP200",
            [("release", "transformers 99.0 (it is not modelled)")],
        ),
        ("sft.yaml", MEGATRON, ("--kind", "llamafactory", *STATED), "LLF001", [("environment", "the variable USE_MCA")]),
        ("train.py", PROGRAM, STATED, "KEY206", [("branch", "a condition or `try` of the program")]),
    ],
)
def test_what_an_error_depends_on(tmp_path, monkeypatch, capsys, name, text, options, code, depends_on):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    main(["check", name, *options, "--format", "json"])
    found = [each for each in json.loads(capsys.readouterr().out)["diagnostics"] if each["code"] == code]
    (tmp_path / name).unlink()
    expected = [{"kind": kind, "what": what} for kind, what in depends_on or ()]
    assert [(each["severity"], each.get("depends_on", [])) for each in found] == [("warning" if depends_on else "error", expected)]
