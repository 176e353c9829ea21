"""The launcher's option for the processes of a node, on a line whose program reads a config file."""

from __future__ import annotations

from cfglint import api


def test_size_is_not_an_argument_of_the_program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.yaml").write_text("output_dir: out\nper_device_train_batch_size: 4\nlearning_rate: 1.0e-5\n")
    (tmp_path / "run.sh").write_text("torchrun --nproc_per_node 4 train.py train.yaml\n")
    result = api.explain(["run.sh"])
    assert result.resolved["global_batch"] == 16
