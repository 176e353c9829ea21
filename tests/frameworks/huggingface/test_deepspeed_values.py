"""What the engine receives of a DeepSpeed config under the Trainer: what is filled, added, compared and refused on the way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cfglint.evaluate import Unknown
from examples import check_answers, flat, launch_of

RECORDS = sorted((Path(__file__).parent / "deepspeed_values").glob("*.txt"))


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_what_the_engine_receives(path, tmp_path, updating):
    """The records name where transformers and accelerate compute it; `CFGLINT_UPDATE=1` writes what comes of their cases."""

    def answer(kind, facts, texts):
        return received(launch_of(kind, texts, str(tmp_path), facts))

    check_answers(path, answer, updating)


def received(run):
    """Of a run in lines: each value that is filled or added, each that differs from the Trainer's, the refusal, and all errors."""
    section = run.configs[0].deepspeed
    for key, fill in section.filled.items():
        yield f"filled {key}: {spelled(fill.value)} ({fill.because})"
    written, values = dict(flat("", section.written)), dict(flat("", section.values))
    for key, value in values.items():
        if key not in section.filled and spelled(value) != spelled(written.get(key)):
            yield f"set {key}: {spelled(value)}"
    yield from (f"dropped {key}" for key in written if key not in values and f"{key}." not in " ".join(values))
    yield from (f"differs {each.line[2:]} {list(each.fields)}" for each in section.mismatches)
    if section.refusal is not None:
        yield f"refused, {section.refusal.kind}: {section.refusal.exception}"
    for each in run.diagnostics:
        if each.severity == "error":
            yield f"{each.code} {each.place.file.rpartition('/')[2]} {each.key} {each.fails_at}"


def spelled(value):
    """A value as JSON has it."""
    return "unknown" if isinstance(value, Unknown) else json.dumps(value, default=str)
