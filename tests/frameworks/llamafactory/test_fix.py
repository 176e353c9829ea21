"""What `fix`, `explain` and `new` do with a LLaMA-Factory file."""

from __future__ import annotations

import json

import pytest

from cfglint.cli import main
from cfglint.generators import generate
from cfglint.generators.job_spec import JobSpec
from tests.frameworks.llamafactory.conftest import BASE, run_of


def test_a_target_is_reached_and_the_rest_stays(tmp_path, capsys):
    path = tmp_path / "train.yaml"
    path.write_text(BASE.replace("steps: 4\n", "steps: 4  # four\n") + "learning_rate: 1e-5\n")
    assert main(["fix", str(path), "--gpus", "8", "--global-batch", "128"]) == 0
    assert path.read_text() == BASE.replace("steps: 4\n", "steps: 8  # four\n") + "learning_rate: 1e-5\n"
    capsys.readouterr()


def test_explain_says_what_is_trained(tmp_path, capsys):
    path = tmp_path / "train.yaml"
    path.write_text(BASE.replace("stage: sft", "stage: pt"))
    assert main(["explain", "--all", str(path), "--gpus", "8"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for part in ("stage", "lora", "number of blocks", "disable_gradient_checkpointing", "transformers 5.6.0"):
        assert part in shown
    assert "the evaluation set is that of the file" in shown
    assert shown.count("gradient checkpointing") == 1


@pytest.mark.parametrize(
    "facts",
    [
        {"gpus": 1},
        {"gpus": 8, "global_batch": 256, "zero": 3, "num_examples": 10_000, "epochs": 2.0, "warmup": 0.05},
        {"gpus": 8, "zero": 2, "lora": True, "steps": 500, "scheduler": "cosine", "min_learning_rate": 1.0e-6, "learning_rate": 1.0e-4},
        {"gpus": 16, "precision": "fp16", "seq_length": 8192, "optimizer": "adafactor", "checkpointing": False},
    ],
)
def test_new_makes_files_that_are_accepted(facts):
    made = generate("llamafactory", JobSpec(**facts))
    texts = [file.text for file in made.files]
    run = run_of(texts[0], facts["gpus"], facts.get("num_examples"), deepspeed=texts[1] if len(texts) > 1 else None)
    assert run.verdict == "accept", [each.message for each in run.diagnostics]
    assert [each.code for each in run.diagnostics if each.severity == "warning"] == []
    assert run.resolved["global_batch"] == facts.get("global_batch", 8 * facts["gpus"])
    if "steps" in facts:
        assert run.resolved["total_steps"] == 500


def test_assignments_behind_the_file_override_it(tmp_path, capsys):
    (tmp_path / "train.yaml").write_text(BASE + 'learning_rate: "1e-5"\n')
    script = tmp_path / "train.sh"
    script.write_text("llamafactory-cli train train.yaml learning_rate=1e-4 lr_scheduler_type=cosine per_device_train_batch_size=8\n")
    assert main(["check", str(script), "--gpus", "4", "--format", "json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert (run["verdict"], run["resolved"]["global_batch"]) == ("accept", 8 * 4 * 4)
    script.write_text("llamafactory-cli train train.yaml learning_rate=1e-4 lora_ranks=8\n")
    assert main(["check", str(script), "--gpus", "4", "--format", "json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["diagnostics"]
    assert (found["code"], found["file"], found["key"]) == ("LLF001", str(script), "lora_ranks")
