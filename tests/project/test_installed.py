"""The releases in a project's environment, read from the names of its `*.dist-info` folders."""

from __future__ import annotations

import json

import pytest

from cfglint.cli import main
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.project.installed import complete

PACKAGES = ["transformers", "trl", "deepspeed"]


@pytest.fixture
def install(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)

    def run(distribution, environment=".venv", url=None):
        folder = tmp_path / environment / "lib" / "python3.11" / "site-packages" / f"{distribution}.dist-info"
        folder.mkdir(parents=True)
        if url is not None:
            (folder / "direct_url.json").write_text(json.dumps(url))

    return run


def test_the_environment_of_the_project(install):
    install("transformers-4.45.2")
    install("deepspeed-0.15.4+cu121")
    facts = complete(LaunchFacts(), "train.yaml", PACKAGES)
    assert facts.target == {"transformers": "4.45.2", "deepspeed": "0.15.4"}
    assert facts.target_from["transformers"] == "installed in .venv"
    assert facts.is_known("transformers")


def test_the_active_environment_comes_first(install, tmp_path, monkeypatch):
    install("trl-0.17.0")
    install("trl-1.0.0", "active")
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "active"))
    assert complete(LaunchFacts(), "train.yaml", PACKAGES).target == {"trl": "1.0.0"}


def test_a_target_comes_before_it(install):
    install("trl-0.17.0")
    assert complete(LaunchFacts(target={"trl": "1.16.0"}), "train.yaml", PACKAGES).target == {"trl": "1.16.0"}


@pytest.mark.parametrize(
    ("distribution", "url", "where"),
    [
        ("trl-0.18.0.dev0", None, "at the development version 0.18.0.dev0 (installed in .venv)"),
        ("trl-0.17.0", {"vcs_info": {"vcs": "git", "commit_id": "0123456789abcdef"}}, "at commit 0123456789 (installed in .venv)"),
        ("trl-0.17.0", {"url": "file:///src/trl", "dir_info": {"editable": True}}, "at the copy at file:///src/trl (installed in .venv)"),
    ],
)
def test_what_is_no_release(install, distribution, url, where):
    install(distribution, url=url)
    assert complete(LaunchFacts(), "train.yaml", PACKAGES).outside == {"trl": where}


@pytest.mark.parametrize("by_configuration", [False, True])
def test_check(install, tmp_path, capsys, by_configuration):
    install("transformers-4.45.2")
    (tmp_path / "requirements.txt").write_text("transformers==5.23.0\n")
    (tmp_path / "train.yaml").write_text("output_dir: out\nper_device_train_batch_size: 2\n")
    if by_configuration:
        (tmp_path / "cfglint.toml").write_text('target = "installed"\n')
    options = [] if by_configuration else ["--target", "installed"]
    assert main(["check", "train.yaml", "--kind", "huggingface", "--format", "json", *options]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["runs"][0]["target"]["transformers"] == "4.45.2"
    assert "transformers 4.45.2 (installed in .venv)" in printed.err


def test_what_is_not_installed_is_what_the_project_states(install, tmp_path, capsys):
    install("transformers-4.45.2")
    (tmp_path / "requirements.txt").write_text("trl==0.17.0\n")
    (tmp_path / "train.yaml").write_text("output_dir: out\nmodel_name_or_path: m\n")
    main(["check", "train.yaml", "--kind", "trl", "--format", "json", "--target", "installed"])
    target = json.loads(capsys.readouterr().out)["runs"][0]["target"]
    assert (target["trl"], target["transformers"]) == ("0.17.0", "4.45.2")
