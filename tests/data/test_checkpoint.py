"""The folder of a checkpoint is read by its names and its JSON, inside the project, and never waits."""

import io
import json
import os
import pickle
import zipfile

import pytest

from cases import each_case
from cfglint.data.checkpoint import engine_state, last_checkpoint, named_checkpoint, step_of


@pytest.fixture
def project(tmp_path, monkeypatch):
    """The folder of a project, which is the working directory."""
    (tmp_path / "p" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "p")
    return tmp_path / "p"


def saved(folder, state=None, names=()):
    folder.mkdir(parents=True, exist_ok=True)
    if state is not None:
        (folder / "trainer_state.json").write_text(json.dumps(state))
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


@each_case(
    ("name", "step"),
    [
        ("checkpoint-500", 500),
        ("checkpoint-", None),
        ("checkpoint-5a", None),
        ("checkpoint-²", None),
        ("x-5", None),
        ("checkpoint--1", None),
    ],
)
def test_the_number_of_a_folder(name, step):
    assert step_of(name) == step


def test_the_last_checkpoint_is_that_of_the_largest_number(project):
    for step in (9, 10, 100):
        saved(project / "out" / f"checkpoint-{step}", {"global_step": step})
    (project / "out" / "checkpoint-200").touch()  # no folder
    found = last_checkpoint("out", "conf/train.yaml")
    assert (found.path, found.number("global_step")) == (os.path.join("out", "checkpoint-100"), 100)
    assert last_checkpoint("nowhere", "conf/train.yaml") is None


@each_case("state", ["[1]", "{", "[" * 100_000, '{"global_step": true}', '{"global_step": -1}', '{"global_step": 1e400}', ""])
def test_a_state_that_makes_no_sense_has_no_numbers(project, state):
    saved(project / "c")
    (project / "c" / "trainer_state.json").write_text(state)
    found = named_checkpoint("c", "train.yaml")
    assert found.has_state
    assert found.number("global_step") is None


def test_nothing_outside_of_the_project_is_read(project):
    outside = saved(project.parent / "outside", {"global_step": 1})
    saved(project / ".git" / "c", {"global_step": 1})
    (project / "link").symlink_to(outside)
    inside = saved(project / "c")
    (inside / "trainer_state.json").symlink_to(outside / "trainer_state.json")
    for name in ("../outside", str(outside), "link", ".git/c", "a\0b"):
        assert named_checkpoint(name, "train.yaml") is None
    assert named_checkpoint("c", "train.yaml").state is None


def test_a_pipe_is_not_waited_for(project):
    os.mkfifo(saved(project / "c") / "trainer_state.json")
    assert named_checkpoint("c", "train.yaml").state is None


def test_what_the_names_of_an_engine_say(project):
    shards = [f"global_step7/bf16_zero_pp_rank_{rank}_mp_rank_00_optim_states.pt" for rank in range(4)]
    folder = saved(project / "c", {}, [*shards, "global_step7/mp_rank_00_model_states.pt", "latest"])
    (folder / "latest").write_text("global_step7\n")
    state = engine_state(named_checkpoint("c", "train.yaml"))
    assert (state.ranks, state.bf16, state.stage3) == (4, True, False)
    (folder / "latest").write_text("../../outside")
    assert engine_state(named_checkpoint("c", "train.yaml")) is None


def zipped(name, data):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr(name, data)
    return held.getvalue()


class Fires:
    def __reduce__(self):
        return os.abort, ()


STATE_OF_OPTIMIZER = pickle.dumps({"state": {}, "param_groups": [{"betas": (0.9, 0.999)}], "run": Fires()})


@each_case(
    ("content", "is_read"),
    [
        (zipped("optimizer/data.pkl", STATE_OF_OPTIMIZER), True),
        (pickle.dumps(1) + STATE_OF_OPTIMIZER, True),
        (zipped("optimizer/version", b"3"), False),
        (zipped("optimizer/data.pkl", STATE_OF_OPTIMIZER)[:60], False),
        (zipped("optimizer/data.pkl", b"\xff"), False),
        (b"", False),
    ],
)
def test_the_words_of_an_optimizer_are_read_and_nothing_is_run(project, content, is_read):
    saved(project / "c")
    (project / "c" / "optimizer.pt").write_bytes(content)
    words = named_checkpoint("c", "train.yaml").words_of_optimizer()
    assert ({"param_groups", "betas"} <= words) is is_read
