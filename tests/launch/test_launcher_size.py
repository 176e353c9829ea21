"""The launcher's option for the processes of a node, on a line whose program reads a config file."""

from __future__ import annotations

from cfglint import api
from cfglint.batch.nodes import Size
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.launch.launchers.torchrun import OfCommand
from cfglint.launch.resizing import size_places
from cfglint.review.settings import size_texts
from cfglint.run.discovery import Discovery


def test_size_is_not_an_argument_of_the_program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.yaml").write_text("output_dir: out\nper_device_train_batch_size: 4\nlearning_rate: 1.0e-5\n")
    (tmp_path / "run.sh").write_text("torchrun --nproc_per_node 4 train.py train.yaml\n")
    result = api.explain(["run.sh"])
    assert result.resolved["global_batch"] == 16


def test_the_option_of_the_nodes_is_the_launchers(tmp_path, monkeypatch):
    """A new launcher names it; fix edits it and review compares it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(OfCommand, "nodes_option", "--max_restarts")
    monkeypatch.setattr(OfCommand, "counts", {"max_restarts": lambda name, text: ""})
    (tmp_path / "run.sh").write_text("torchrun --nproc_per_node 4 --max_restarts 1 train.py --output_dir out\n")
    [run] = Discovery(LaunchFacts()).runs(["run.sh"])
    assert [place.key for place in size_places(run.launch.line, Size(4, 2), Size(4, 1))] == ["--max_restarts"]
    assert "max_restarts" in size_texts(run.launch)
