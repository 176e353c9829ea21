"""The state that the Trainer saves with a checkpoint, as the lines of a log: each logged step where its number is, then where it ended."""

from __future__ import annotations

import json
import os
import re

from cfglint.source import files
from cfglint.source.annotations import ConfigMapping

NAME = "trainer_state.json"
STEP = re.compile(r'^\s*"step": (\d+)', re.MULTILINE)


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


def lines(path: str) -> list[str] | None:
    """The lines of a checkpoint's state; None for any other path."""
    text, state = read(path)
    logged = state.get("log_history")
    if not isinstance(logged, list):
        return None
    found = [""] * (text.count("\n") + 1)
    places = iter([text.count("\n", 0, match.start(1)) for match in STEP.finditer(text)])
    for entry in logged:
        found[next(places, -1)] = f"{entry}"
    return [f"{each}\n" for each in found]


def progress(path: str) -> str:
    """How far the training of a checkpoint came, and the steps per epoch; empty for any other path."""
    state = read(path)[1]
    step, epoch, total, epochs = (state.get(name) for name in ("global_step", "epoch", "max_steps", "num_train_epochs"))
    if not isinstance(step, int) or not isinstance(epoch, (int, float)) or not isinstance(total, int) or not epoch:
        return ""
    each = f"{step / epoch:,.4g}"
    rest = f"; {total - step:,} steps are left" if total > step else "; no step is left"
    return f"step {step:,} of {total:,}, epoch {epoch:.4g} of {epochs}: {each} steps per epoch{rest}"
