"""An editing session in Neovim: what a person sees with the real client, on unsaved texts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pygls")
pytestmark = pytest.mark.skipif(shutil.which("nvim") is None, reason="Neovim 0.7 or newer (`apt-get install neovim`) is not installed")

SESSION = Path(__file__).with_name("neovim.lua")
FILES = {
    "cfglint.toml": "gpus = 8\n",
    "train.yaml": """output_dir: out
deepspeed: ds.json
per_device_train_batch_size: 4
gradient_accumulation_steps: 8
lr_scheduler_type: cosine
""",
    "ds.json": """{
  "train_micro_batch_size_per_gpu": "auto",
  "gradient_accumulation_steps": "auto",
  "zero_optimization": {"stage": 2}
}
""",
    "launch.sh": """#!/bin/bash
torchrun --nproc_per_node 8 train.py \\
    --output_dir out \\
    --per_device_train_batch_size 4 \\
    --learning_rte 2e-5 \\
    --eval_strategy steps --save_strategy epoch --load_best_model_at_end true
""",
}


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """What Neovim showed after each step, by the step."""
    folder = tmp_path_factory.mktemp("session")
    project = folder / "project"
    project.mkdir()
    for name, text in FILES.items():
        (project / name).write_text(text, encoding="utf-8")
    log = folder / "log"
    server = [sys.executable, "-m", "cfglint", "server"]
    given = {**os.environ, "COMMAND": json.dumps(server), "LOG": str(log), "XDG_CACHE_HOME": str(folder), "XDG_STATE_HOME": str(folder)}
    command = ["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-n", "-c", f"luafile {SESSION}", "-c", "cquit"]
    done = subprocess.run(command, cwd=project, env=given, capture_output=True, text=True, timeout=300)
    text = log.read_text(encoding="utf-8") if log.exists() else ""
    assert done.returncode == 0, f"{text}\n{done.stderr}"
    for name, before in FILES.items():
        assert (project / name).read_text(encoding="utf-8") == before, "the texts are unsaved"
    steps = [step.split("\n", 1) for step in text.split("\n> ")[1:]]
    return {title.split(":")[0]: [line.strip() for line in rest.splitlines()] for title, rest in (*steps[:-1], [steps[-1][0], ""])}


def test_a_rate_that_is_a_string_is_shown_and_fixed(session):
    shown = session["open ds.json and train.yaml, and type `learning_rate"]
    assert shown[0].startswith("train.yaml:6: warning TYP200 [2e-5] `learning_rate` is the string")
    assert shown[1] == "ds.json: no diagnostics"
    assert session["quick fix"][1:] == ["line 6: learning_rate: 2.0e-5", "train.yaml: no diagnostics"]


def test_a_misspelt_key_is_shown_and_renamed(session):
    shown, _, line = session["type a misspelt key"]
    assert shown.startswith("train.yaml:7: warning KEY200 [warmpu_steps] ")
    assert line == "line 7: warmup_steps: 10"


def test_fix_all(session):
    assert session["two more rates, then fix all"][1:] == ["line 8: weight_decay: 0.01", "line 9: adam_epsilon: 1.0e-8"]


def test_hover_definition_and_lens(session):
    value, key = session["hover over gradient_accumulation_steps in ds.json"]
    assert value == "gradient_accumulation_steps: **8** (auto: gradient_accumulation_steps)"
    assert key.startswith("`gradient_accumulation_steps` (deepspeed): ")
    assert session['go to the definition of its "auto"'] == ["line 4: gradient_accumulation_steps: 8"]
    assert session["code lens of train.yaml"] == ["line 3: global batch 256 on 8 GPUs: 4 x 8 x 8"]


def test_the_other_file_breaks_the_run(session):
    broken, _, restored = session["add a scheduler to ds.json, unsaved"]
    assert broken.startswith("train.yaml:5: warning RUN005 [cosine] `lr_scheduler_type` is overridden")
    assert restored == "train.yaml: no diagnostics"


def test_completion(session):
    first, *_, last = session["complete `gradient_ch`, then a value of optim"]
    assert first.startswith("gradient_checkpointing (boolean")
    assert last.startswith("adamw_torch (optim), ")


def test_launch_script(session):
    assert [line.split(" `")[0] for line in session["open launch.sh"] if line] == [
        "launch.sh:5: warning KEY200 [learning_rte]",
        "launch.sh:6: error HFT006 [true]",
    ]


def test_the_server_ends_well(session):
    assert "the server ends with status 0" in session
