"""What following a release prints and writes of fields, of names and of the parameters of trainers."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(autouse=True)
def tools(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))


def changed(before, after):
    tool = importlib.import_module("follow_fields")
    return list(tool.changes({"": before}, {"": after}))


def test_a_field_with_a_new_name_and_a_new_default_is_renamed():
    """The names have to be closer to each other than those of fields with the same default."""
    assert changed({"cutoff_len": ("int", 2048)}, {"cutoff_length": ("int", 4096)}) == [
        "top level: renamed `cutoff_len` to `cutoff_length` (a guess: same type, similar name)",
        "top level: `cutoff_length`: default 2048 -> 4096",
    ]
    assert changed({"cutoff_len": ("int", 2048)}, {"row_length": ("int", 4096)}) == [
        "top level: added `row_length` (int, default 4096)",
        "top level: removed `cutoff_len` (int, default 2048)",
    ]


def test_a_field_with_the_same_default_is_the_successor_before_one_with_another():
    before, after = {"max_len": ("int", 1)}, {"max_lens": ("int", 2), "max_length": ("int", 1)}
    assert changed(before, after) == [
        "top level: renamed `max_len` to `max_length` (a guess: same type and default, similar name)",
        "top level: added `max_lens` (int, default 2)",
    ]


def test_names_that_came_and_went_are_printed():
    """The values of a field of `TrainingArguments`, which are not in its row."""
    tool = importlib.import_module("follow_fields")
    before, after = {"hub_strategy": {"end", "never"}, "optim": {"sgd"}}, {"hub_strategy": {"end", "at_night"}, "optim": {"sgd"}}
    assert list(tool.changes_of_names(before, after)) == ['`hub_strategy`: added "at_night"; removed "never"']


def test_the_parameters_of_trainers_grow_by_a_release(tmp_path):
    """Those of all other releases are as the committed module has them."""
    tool = importlib.import_module("trainer_signatures")
    trainer = tmp_path / "trl" / "trainer" / "sft_trainer.py"
    trainer.parent.mkdir(parents=True)
    trainer.write_text("class SFTTrainer:\n    def __init__(self, model, args, made_up): ...\n")
    text, said = tool.with_release("trl", (99, 0, 0), tmp_path, [(1, 15, 0), (1, 16, 0)])
    names: dict = {}
    exec(text, names)
    rows = {row[0]: row[3:] for row in names["PARAMETERS"]["SFTTrainer"]}
    assert rows["made_up"] == ((99, 0, 0), ())
    assert rows["processing_class"] == ((), (99, 0, 0))
    assert "SFTTrainer: added `made_up` (default None)" in said


def test_only_packages_with_a_schema_can_be_followed():
    """The release also goes into the schema of its kind."""
    tool = importlib.import_module("follow")
    assert all((ROOT / "tools" / f"schema_{kind}.py").exists() for kind in tool.kinds().values())
    assert {"trl", "transformers", "deepspeed"} <= tool.kinds().keys()


def test_a_check_that_changed_by_the_name_of_a_field_only_is_unchanged(tmp_path):
    """A validator is compared by its body, which has the name of the field; another change of it is printed."""
    tool = importlib.import_module("source_checks")
    source = """
class Config(Model):
    @model_validator(mode="after")
    def complete(self):
        self.overlap_comm = self.overlap_comm or self.stage == 3
"""

    def read(text, names=None):
        (tmp_path / "config.py").write_text(text)
        return tool.checks(tmp_path, "trl", names)

    def changes(text):
        names = {"overlap_communication": "overlap_comm"}
        return [each.what for each in tool.changes_but_of_names(read(source), read(text), read(text, names))]

    after = source.replace("overlap_comm", "overlap_communication")
    assert (changes(after), changes(after.replace("== 3", "== 2"))) == ([], ["changed"])
