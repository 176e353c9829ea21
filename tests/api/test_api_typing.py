"""The library as a user's type checker and a notebook see it."""

from __future__ import annotations

import pytest

USER = """
from pathlib import Path

import cfglint

checked: cfglint.CheckResult = cfglint.check("train.yaml", gpus=8, num_examples=1000, target={"transformers": "5.23.0"})
codes: list[str] = [each.code for each in checked.diagnostics]
batches: list[int | None] = [run.resolved["global_batch"] for run in checked]
fixed: cfglint.FixResult = cfglint.fix({"train.yaml": "a: 1"}, gpus=8, global_batch=256, kind="huggingface")
texts: dict[str, str] = fixed.texts
written: list[str] = fixed.write()
planned: cfglint.PlanResult = cfglint.plan([Path("train.yaml"), "ds.json"], gpus=[8, 16], global_batch=256, seconds_per_step=2.1)
hours = [row["hours"] for row in planned.to_dicts()]
explained: cfglint.Explanation = cfglint.explain("train.yaml", gpus=8)
steps: int | None = explained.resolved["total_steps"]
compared: cfglint.DiffResult = cfglint.diff("old.yaml", "new.yaml", overrides={"learning_rate": 1e-4})
rows = [row["text"] for row in compared.to_dicts()]
peak: float | None = explained.memory["peak_gib"] if explained.memory is not None else None
accumulation: int | None = fixed.plan["accumulation"] if fixed.plan is not None else None
made: cfglint.NewFiles = cfglint.new("huggingface", gpus=8, global_batch=256, precision="bf16")
paths: list[str] = made.write("configs")
try:
    cfglint.check("nowhere.yaml")
except cfglint.CfglintError as error:
    print(error)
"""
WRONG = """
import cfglint

cfglint.check("train.yaml", gpus="8")
cfglint.plan("train.yaml")
cfglint.fix("train.yaml", global_bach=256)
cfglint.explain("train.yaml").nothing
cfglint.check("train.yaml", kind="hugingface")
cfglint.new("deepspeed", gpus=8, precision="bf17")
cfglint.new("deepspeed", gpsu=8)
"""


@pytest.mark.slow
def test_a_users_file_is_checked_strictly(tmp_path):
    """Every function with its result passes `mypy --strict`; wrong arguments do not."""
    api = pytest.importorskip("mypy.api")
    (tmp_path / "user.py").write_text(USER)
    (tmp_path / "wrong.py").write_text(WRONG)
    options = ["--strict", "--follow-imports=silent", "--config-file=", f"--cache-dir={tmp_path / 'cache'}"]
    told, _, status = api.run([*options, str(tmp_path / "user.py"), str(tmp_path / "wrong.py")])
    lines = [line for line in told.splitlines() if ": error:" in line]
    assert status == 1
    assert [line.rpartition("[")[2].rstrip("]") for line in lines if "wrong.py" in line] == [
        *("arg-type", "call-arg", "call-arg", "attr-defined", "arg-type", "arg-type", "call-arg")
    ]
    assert [line for line in lines if "user.py" in line] == []


@pytest.mark.parametrize("call", ["check", "plan", "explain", "diff"])
def test_a_notebook_shows_a_result_as_html(tmp_path, call):
    """The last value of a cell: a page's part with its style and no script, whatever the texts hold."""
    import cfglint

    text = "output_dir: <script>alert(1)</script>\nper_device_train_batch_size: 4\nlearning_rate: 2e-5\nnum_train_epochs: 3\n"
    given = {"check": {"gpus": 8}, "plan": {"gpus": [8, 16], "global_batch": 256}, "explain": {"gpus": 8}, "diff": {}}[call]
    sources = [{"train.yaml": text}] if call != "diff" else [{"train.yaml": text}, {"train.yaml": text.replace("4\n", "8\n")}]
    shown = getattr(cfglint, call)(*sources, kind="huggingface", **given)._repr_html_()
    assert "<style" in shown
    assert "<script" not in shown
    assert repr(getattr(cfglint, call)(*sources, kind="huggingface", **given)).startswith("<")
