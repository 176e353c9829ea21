"""A config file that extends the one of the package is recognised without a launch line."""

from __future__ import annotations

import pytest

from cfglint.cli import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["new", "verl", "--gpus", "8", "-o", "d"]) == 0
    return tmp_path / "d"


def test_what_new_writes_is_recognised(folder, capsys):
    assert main(["check", "d/grpo.yaml"]) == 0
    assert capsys.readouterr().err.endswith("cfglint: 1 file checked; no findings\n")
    assert main(["check", "."]) == 0
    assert capsys.readouterr().err.endswith("cfglint: 1 file checked; no findings\n")


def test_it_is_composed_and_checked(folder, capsys):
    path = folder / "grpo.yaml"
    path.write_text(path.read_text().replace("ppo_mini_batch_size: 64", "ppo_mini_batch_size: 512"))
    assert main(["check", ".", "--format", "concise", "--fail-on", "warning"]) == 1
    assert "VRL017" in capsys.readouterr().out


def test_a_file_that_does_not_extend_the_package_is_not(folder, capsys):
    path = folder / "grpo.yaml"
    text = path.read_text()
    for other in (text.replace("pkg://verl.trainer.config", "file://conf"), text.replace("[ppo_trainer,", "[own: group, ppo_trainer,")):
        path.write_text(other)
        assert main(["check", "d/grpo.yaml"]) == 2
