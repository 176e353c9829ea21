"""The learning-rate schedules: the multipliers of transformers' own functions, which are those of transformers 5.23.0 optimization.py."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.frameworks.huggingface.schedule_operations import ScheduleRun, schedule

STEPS = (0, 5, 10, 40, 55, 99, 101)  # around the ends of a warm-up of 10 steps and of a run of 100
WSD = "warmup_stable_decay"


@each_case(
    ("kind", "given", "expected"),
    [
        ("cosine", {}, (0, 0.5, 1, 0.75, 0.5, 0.000305, 0.000305)),
        ("cosine", {"num_cycles": 2}, (0, 0.5, 1, 0.25, 1, 0.995134, 0.995134)),
        ("cosine_with_restarts", {}, (0, 0.5, 1, 0.75, 0.5, 0.000305, 0)),
        ("cosine_with_restarts", {"num_cycles": 3}, (0, 0.5, 1, 1, 0.5, 0.002739, 0)),
        ("polynomial", {}, (0, 0.5, 1, 0.6667, 0.50005, 0.01121, 0.0001)),
        ("polynomial", {"lr_end": 1e-4, "power": 2}, (0, 0.5, 1, 0.5, 0.325, 0.100111, 0.1)),
        ("inverse_sqrt", {}, (0, 0.5, 1, 0.5, 0.426401, 0.317821, 0.314658)),
        ("inverse_sqrt", {"timescale": 40}, (0, 0.5, 1, 0.755929, 0.685994, 0.556846, 0.552579)),
        ("cosine_with_min_lr", {"min_lr": 1e-4}, (0, 0.5, 1, 0.775, 0.55, 0.100274, 0.100274)),
        ("cosine_with_min_lr", {"min_lr_rate": 0.2, "num_cycles": 1}, (0, 0.5, 1, 0.4, 0.2, 0.999026, 0.999026)),
        ("cosine_warmup_with_min_lr", {"min_lr": 1e-4}, (0.1, 0.6, 0.999726, 0.761262, 0.534295, 0.1, 0.101096)),
        (
            "cosine_warmup_with_min_lr",
            {"min_lr_rate": 0.2, "warmup_lr_rate": 0.3, "num_cycles": 1},
            (0.3, 0.688889, 0.999026, 0.376323, 0.200974, 1, 0.996107),
        ),
        (WSD, {"num_decay_steps": 50}, (0, 0.5, 1, 1, 0.975528, 0.000987, 0)),
        (WSD, {"num_decay_steps": 50, "num_stable_steps": 20, "num_cycles": 2}, (0, 0.5, 1, 0.095492, 1, 0, 0)),
        (
            WSD,
            {"num_decay_steps": 50, "min_lr_ratio": 0.1, "warmup_type": "linear", "decay_type": "linear"},
            (0.1, 0.55, 1, 1, 0.91, 0.118, 0.1),
        ),
        (
            WSD,
            {"num_decay_steps": 50, "min_lr_ratio": 0.1, "warmup_type": "cosine", "decay_type": "1-sqrt"},
            (0.1, 0.55, 1, 1, 0.715395, 0.109045, 0.1),
        ),
        (
            WSD,
            {"num_decay_steps": 50, "min_lr_ratio": 0.1, "warmup_type": "1-sqrt", "decay_type": "cosine"},
            (0.1, 0.363604, 1, 1, 0.977975, 0.100888, 0.1),
        ),
    ],
)
def test_multipliers(kind, given, expected):
    multiplier = schedule(kind, given, ScheduleRun(1e-3, 10, 100, (5, 23)))
    assert {step: multiplier(step) for step in STEPS} == pytest.approx(dict(zip(STEPS, expected, strict=True)), abs=1e-6)
