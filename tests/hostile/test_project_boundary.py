"""What a config names outside its project is neither read, shown nor written."""

from __future__ import annotations

import json
import os

import pytest

from cfglint.cli import main

SECRET = '{"auths": {"ghcr.io": {"auth": "TOKEN"}}}\n'
TRAINER = "output_dir: out\nper_device_train_batch_size: 4\ndeepspeed: {}\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A git work tree with a secret beside it."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.json").write_text(SECRET)
    root = tmp_path / "repository"
    (root / ".git").mkdir(parents=True)
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def printed(capsys):
    def run(*arguments):
        status = main(list(arguments))
        ended = capsys.readouterr()
        return status, ended.out + ended.err

    return run


@pytest.mark.parametrize("form", ["text", "json", "html", "markdown", "sarif"])
@pytest.mark.parametrize("link", [False, True])
def test_a_file_outside_is_not_shown(project, printed, form, link):
    name = "../home/config.json"
    if link:
        (project / "ds_config.json").symlink_to("../home/config.json")
        name = "ds_config.json"
    (project / "train.yaml").write_text(TRAINER.format(name))
    status, text = printed("check", "train.yaml", "--gpus", "8", "--format", form)
    assert status == 0
    assert "TOKEN" not in text
    assert "RUN011" in text


def test_a_link_that_leads_outside_is_not_walked(project, printed):
    (project / "ds_config.json").symlink_to("../home/config.json")
    status, text = printed("check", ".")
    assert (status, "TOKEN" in text) == (0, False)


def test_a_file_on_the_command_line_is_read(project, printed):
    (project.parent / "home" / "ds.json").write_text('{"zero_optimization": {"stage": 2}, "optimzer": {}}\n')
    (project / "train.yaml").write_text(TRAINER.format("../home/ds.json"))
    _, text = printed("check", "train.yaml", "../home/ds.json")
    assert "RUN011" not in text
    assert "optimzer" in text


def test_nothing_outside_is_fixed(project, printed):
    other = project.parent / "home" / "ds.json"
    other.write_text('{"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 2}}\n')
    before = other.read_bytes()
    (project / "train.yaml").write_text(TRAINER.format("../home/ds.json"))
    printed("fix", "train.yaml", "--unsafe-fixes")
    assert other.read_bytes() == before


@pytest.mark.parametrize("target", ["train.yaml", "../home/config.json"])
def test_a_baseline_replaces_nothing_but_a_baseline(project, printed, target):
    (project / "train.yaml").write_text(TRAINER.format("null") + "learning_rate: 2e-5\n")
    before = (project / target).read_bytes()
    status, text = printed("check", "train.yaml", "--baseline", target, "--write-baseline")
    assert status == 2
    assert (project / target).read_bytes() == before
    assert "baseline" in text


def test_a_baseline_is_written_again(project, printed):
    (project / "train.yaml").write_text(TRAINER.format("null") + "learning_rate: 2e-5\n")
    for _ in range(2):
        assert printed("check", "train.yaml", "--baseline", "base.json", "--write-baseline")[0] == 0
    assert json.loads((project / "base.json").read_text())["cfglint-baseline"] == 1


def test_a_regular_expression_without_end(project, printed):
    text = "num_layers: 2\nhidden_size: 64\nnum_attention_heads: 4\nseq_length: 128\nmax_position_embeddings: 128\npipe_parallel_size: 2\n"
    (project / "neox.yml").write_text(text + "train_micro_batch_size_per_gpu: 4\npipe_partition_method: 'type:(\\w+\\w+)+!'\n")
    status, _ = printed("check", "neox.yml", "--kind", "neox")
    assert status in (0, 1)


def test_a_command_of_the_build_is_no_command(project, printed):
    (project / "ds.json").write_text('{"train_batch_size": "##[stop-commands]x", "zero_optimization": {"stage": 2}}\n')
    _, text = printed("check", "ds.json", "--kind", "deepspeed")
    assert "stop-commands" in text
    assert "##[" not in text


def test_a_deleted_working_directory(tmp_path, monkeypatch, printed):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    os.rmdir(gone)
    status, text = printed("check", str(tmp_path / "ds.json"))
    assert status == 2
    assert "the working directory cannot be used" in text
    monkeypatch.chdir(tmp_path)


def test_rates_beyond_comparison(project, printed):
    for name, rate in (("old.yaml", "1.0e-5"), ("new.yaml", "1.0e-320")):
        (project / name).write_text(f"output_dir: out\nper_device_train_batch_size: 4\nlearning_rate: {rate}\n")
    assert printed("diff", "old.yaml", "new.yaml")[0] in (0, 1)
