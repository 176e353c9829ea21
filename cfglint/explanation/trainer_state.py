"""The state that the Trainer saves with a checkpoint, as the lines of a log: each logged step where its number is, then where it ended."""

from __future__ import annotations

import json
import os
import re

from cfglint.explanation.log_analysis import LogExplanation
from cfglint.explanation.log_parser import HUGGINGFACE, TrainingBanner
from cfglint.source import files
from cfglint.source.annotations import ConfigMapping

NAME = "trainer_state.json"
EXACT = 1e-6  # of the steps per epoch: a last incomplete accumulation is a part of a step in some releases
STEP = re.compile(r'"step": (\d+)')


def read(path: str) -> tuple[str, ConfigMapping]:
    """The text of the state of a checkpoint, given by its file or its folder, and its values; nothing for any other path."""
    path = os.path.join(path, NAME) if os.path.isdir(path) else path
    if not path.endswith(NAME) or not os.path.isfile(path):
        return "", {}
    text = files.read(path)[0]
    try:
        found = json.loads(text)
    except ValueError:
        return text, {}
    return text, found if isinstance(found, dict) else {}


def lines(text: str, state: ConfigMapping) -> list[str] | None:
    logged = state.get("log_history")
    if not isinstance(logged, list):
        return None
    found: list[list[str]] = [[] for _ in range(text.count("\n") + 1)]
    places = iter([text.count("\n", 0, match.start(1)) for match in STEP.finditer(text)])
    for entry in logged:
        found[next(places, -1)].append(f"{entry}")
    return ["\r".join(each) + "\n" for each in found]  # several may stand in a line


def explain(text: str, state: ConfigMapping) -> LogExplanation | None:
    """The numbers of a checkpoint's state, and how far its training came; None if it does not say that."""
    step, epoch, total, epochs = (state.get(name) for name in ("global_step", "epoch", "max_steps", "num_train_epochs"))
    if not isinstance(step, int) or not isinstance(epoch, (int, float)) or not isinstance(total, int) or not epoch:
        return None
    numbers = {"total_steps": total, "num_epochs": epochs, "micro_batch": state.get("train_batch_size")}
    line = text[: max(text.find('"max_steps"'), 0)].count("\n") + 1
    banner = TrainingBanner(line, HUGGINGFACE, numbers={name: number for name, number in numbers.items() if isinstance(number, int)})
    updates = step / epoch
    rest = f"{total - step:,} steps are left" if total > step else "no step is left"
    note = f"step {step:,} of {total:,}, epoch {epoch:.4g} of {epochs}: {updates:,.4g} steps per epoch; {rest}"
    return LogExplanation(banner, note=note, steps_per_epoch=round(updates) if abs(updates - round(updates)) < EXACT else None)
