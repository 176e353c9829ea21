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
        ("", "def pick():\n    if a:\n        return None\n    return b()\n", ", optimizer=pick()", []),
    ],
)
def test_what_is_passed_decides(found, keys, code, arguments, expected):
    assert sorted(found(keys, code, arguments)) == sorted(expected)
    assert sorted(found(keys, code, arguments, "train.py")) == sorted(expected)
