"""The memory settings that follow from files and release: the cases are in the folder `settings`, with what is not usual."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from cfglint.batch.memory.settings import Fsdp, Lora, Settings, Zero
from cfglint.batch.memory.shape import Shape
from cfglint.frameworks.memory.named_models import model_of
from examples import check_answers, launch_of

FOLDER = Path(__file__).parent / "settings"
FACTS = {"gpus": 1, "model": "llama-3.2-1b", "seq_length": 1024}

NEOX = Shape("gpt_neox", 64, 256, 2, 4, 4, 16, 50304, tied=True, known=False)


def unusual(settings, usual):
    """The fields of a record that differ from those of another."""
    names = (name for name in type(settings).__slots__ if getattr(settings, name) != getattr(usual, name))
    return ", ".join(f"{name} {shown(getattr(settings, name))}" for name in names) or "as usual"


def shown(value):
    usual = next((each for each in (Zero(0), Fsdp(), Lora(), NEOX) if type(each) is type(value)), None)
    return f"({unusual(value, usual)})" if usual is not None else value


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_the_settings_of_files(path, tmp_path, updating):
    """`CFGLINT_UPDATE=1` rewrites them."""
    folders = count()

    def answer(kind, facts, texts):
        config = launch_of(kind, texts, str(tmp_path / str(next(folders))), {**FACTS, **facts}).configs[0]
        model = model_of(config)
        found = config.part("memory", None, model) if model is not None else None
        if found is None:
            return ["not modelled"]
        lines = [unusual(found.settings, Settings()), *(f"or {unusual(each, found.settings)}" for each in found.alternatives)]
        lines.append(f"assumed: {', '.join(found.assumed) or 'nothing'}; needs {'nothing' if found.rows_known else '--seq-length'}")
        if not found.micro_known:
            lines.append("the micro batch is not known")
        return [f"shape {shown(model.shape)}", *lines] if not facts.get("model", True) else lines

    check_answers(path, answer, updating)
