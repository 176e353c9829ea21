"""The checks of a trainer's constructor that its arguments alone decide."""

from __future__ import annotations

import textwrap

import pytest
from row_sources import Package
from rows_trl import constructor

from cases import each_case
from cfglint.frameworks.rows.evaluation import Evaluation
from cfglint.frameworks.rows.expressions import Raised

TRAINER = """
class MadeTrainer:
    def __init__(self, model, args=None, loss=None):
        if args is None:
            args = MadeConfig()
        self.group = args.group
        self.twice = args.size
        self.twice = 2
        args.rewritten = 1
        processes = self.accelerator.num_processes
        made = args.size * processes
        limit = args.limit
        if is_adapter(model):
            limit = 3
            if args.sync:
                raise ValueError("adapters are not synchronized")
        if made % self.group:
            raise ValueError(f"{made} is not a multiple of {self.group}")
        if limit > 5:
            raise ValueError("limit")
        if self.twice == 7:
            raise ValueError("twice")
        if args.rewritten == 7:
            raise ValueError("rewritten")
        if loss == "none":
            raise ValueError("loss")
        if args.fused:
            load(model)
            if args.mode != "token":
                raise NotImplementedError("fused")
            for name in args.losses:
                if name == "old":
                    raise ValueError("old")
"""


@pytest.fixture(name="rows")
def rows_of_trainer(tmp_path):
    (tmp_path / "trl").mkdir()
    for name, text in {"__init__.py": "", "made_trainer.py": textwrap.dedent(TRAINER)}.items():
        (tmp_path / "trl" / name).write_text(text)
    [function] = constructor(Package(str(tmp_path), "trl"), "trl.made_trainer", "MadeTrainer", "made")
    return function.rows


ACCEPTED = {"group": 2, "size": 2, "world_size": 1, "limit": 1, "rewritten": 0, "sync": False, "fused": True, "mode": "token", "losses": []}


@each_case(
    ("changes", "raised"),
    [
        ({}, ""),
        ({"size": 3}, "ValueError: 3 is not a multiple of 2"),
        ({"world_size": 3, "group": 4}, "ValueError: 6 is not a multiple of 4"),
        ({"mode": "sequence"}, "NotImplementedError: fused"),
        ({"mode": "sequence", "fused": False}, ""),
        ({"losses": ["new", "old"]}, "ValueError: old"),
        ({"limit": 9}, ""),  # the model may change it
        ({"sync": True}, ""),  # only for some models
        ({"rewritten": 7}, ""),
        ({"size": 7, "group": 7}, ""),
        ({"loss": "none"}, ""),  # not an argument of the configuration
    ],
)
def test_checks_that_read_only_the_arguments(rows, changes, raised):
    run, said = Evaluation({**ACCEPTED, **changes}, lambda name, *arguments: None), ""
    try:
        run.run(rows)
    except Raised as found:
        said = f"{found.kind}: {found.message}"
    assert said == raised


def test_a_trainer_without_such_checks_has_no_rows(tmp_path):
    (tmp_path / "trl").mkdir()
    (tmp_path / "trl" / "made_trainer.py").write_text("class MadeTrainer:\n    def __init__(self, args):\n        self.args = args\n")
    assert not [*constructor(Package(str(tmp_path), "trl"), "trl.made_trainer", "MadeTrainer", "made")]
