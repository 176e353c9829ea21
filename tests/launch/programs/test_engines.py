"""Programs that call `deepspeed.initialize`: what they pass to it decides what the config means."""

from __future__ import annotations

import json

import pytest

from cases import each_case
from cfglint.cli import main

CODE = """import deepspeed, torch
config = {'train_micro_batch_size_per_gpu': 4, 'optimizer': {'type': 'Adam', 'params': {'lr': 1e-4}}, 'fp16': {'enabled': 'auto'}%s}
%s
deepspeed.initialize(model=model, config=config%s)
"""
TORCH = "optimizer = torch.optim.Adam(parameters)"
OFFLOAD = ", 'zero_optimization': {'stage': 2, 'offload_optimizer': {'device': 'cpu'}}"
NOT_FILLED = ("warning", "PRC105")


@pytest.fixture
def found(tmp_path, monkeypatch, capsys):
    """The findings about a program: (severity, code)."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)

    def report(keys, code, arguments, config=""):
        (tmp_path / "train.py").write_text(CODE % (keys, code, arguments))
        (tmp_path / "run.sh").write_text("deepspeed --num_gpus 4 train.py\n")
        main(["check", config or "run.sh", "--format", "json"])
        return [(each["severity"], each["code"]) for each in json.loads(capsys.readouterr().out)["diagnostics"]]

    return report


@each_case(
    ("keys", "code", "arguments", "expected"),
    [
        ("", "", "", [NOT_FILLED]),
        ("", "optimizer = None", ", optimizer=optimizer", [NOT_FILLED]),
        ("", TORCH, ", optimizer=optimizer", [("warning", "DSP117"), NOT_FILLED]),
        ("", "optimizer = built()", ", optimizer=optimizer", []),
        (OFFLOAD, TORCH, ", optimizer=optimizer", [("warning", "DSP117"), NOT_FILLED, ("error", "DSP118")]),
        (OFFLOAD, "optimizer = deepspeed.ops.adam.DeepSpeedCPUAdam(p)", ", optimizer=optimizer", [("warning", "DSP117"), NOT_FILLED]),
        (OFFLOAD + ", 'zero_force_ds_cpu_optimizer': False", TORCH, ", optimizer=optimizer", [("warning", "DSP117"), NOT_FILLED]),
        (
            ", 'scheduler': {'type': 'WarmupLR', 'params': {}}",
            "",
            ", lr_scheduler=torch.optim.lr_scheduler.StepLR(o)",
            [("warning", "DSP117"), NOT_FILLED],
        ),
        (", 'optimizer': {'type': 'Adam', 'params': {'betas': (0.9, 0.95), 'torch_adam': True}}", "", "", [NOT_FILLED]),
        ("", "def pick():\n    if a:\n        return None\n    return b()\n", ", optimizer=pick()", []),
    ],
)
def test_what_is_passed_decides(found, keys, code, arguments, expected):
    assert sorted(found(keys, code, arguments)) == sorted(expected)
    assert sorted(found(keys, code, arguments, "train.py")) == sorted(expected)


FILE = '{"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}%s}\n'
NAMED = "import deepspeed, torch\nargs = parsed()\n%s\ndeepspeed.initialize(args=args, model=net%s, config='./conf/ds.json')\n"
ADAM = ', "optimizer": {"type": "Adam", "params": {"lr": 1e-4}}, "scheduler": {"type": "CosineAnnealingLR", "params": {"T_max": 10}}'
CPU_LION = "optimizer = deepspeed.ops.lion.DeepSpeedCPULion(p)"


@each_case(
    ("keys", "code", "arguments", "release", "expected"),
    [
        (ADAM, "", "", "0.19.8", [("error", "STP101")]),
        (ADAM, "", ", lr_scheduler=made()", "0.19.8", [("warning", "STP101")]),
        (ADAM, "", ", **more", "0.19.8", [("warning", "STP101")]),
        ("", TORCH, ", optimizer=optimizer", "0.19.8", [("error", "DSP118")]),
        ("", CPU_LION, ", optimizer=optimizer", "0.17.5", [("error", "DSP118")]),
        ("", CPU_LION, ", optimizer=optimizer", "0.17.6", []),
    ],
)
def test_a_file_is_in_the_run_of_the_program_that_names_it(tmp_path, monkeypatch, capsys, keys, code, arguments, release, expected):
    (tmp_path / ".git").mkdir(exist_ok=True)
    (tmp_path / "conf").mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conf" / "ds.json").write_text(FILE % keys)
    (tmp_path / "train.py").write_text(NAMED % (code, arguments))
    for path in ("conf/ds.json", "train.py", "."):
        main(["check", path, "--target", f"deepspeed=={release}", "--format", "json"])
        report = json.loads(capsys.readouterr().out)
        found = [(each["severity"], each["code"]) for each in report["diagnostics"]]
        assert found == ([] if path == "train.py" and ("warning", "STP101") in expected else expected)  # what it passes is not known
        assert len(report["runs"]) <= 1
