"""The JSON output says where the release of each package of a run comes from."""

from __future__ import annotations

import json

import pytest

from cfglint.cli import main


@pytest.fixture
def sources(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.yaml").write_text("output_dir: out\n")

    def run(kind, *options, requirements=""):
        (tmp_path / "requirements.txt").write_text(requirements)
        main(["check", "train.yaml", "--kind", kind, "--format", "json", *options])
        return json.loads(capsys.readouterr().out)["runs"][0]["target_from"]

    return run


def test_a_release_that_nothing_states(sources):
    assert sources("trl") == {"trl": "newest known", "transformers": "newest known"}


def test_a_release_that_is_requested(sources):
    assert sources("huggingface", "--target", "transformers==4.57.1") == {"transformers": "--target"}


def test_a_release_that_a_file_states(sources):
    assert sources("huggingface", requirements="transformers==4.57.1\n") == {"transformers": "requirements.txt"}


def test_the_newest_release_that_a_bound_allows(sources):
    found = sources("huggingface", requirements="transformers>=4.40,<4.46\n")
    assert found == {"transformers": "requirements.txt says >=4.40,<4.46"}


def test_a_release_of_the_configuration(sources, tmp_path):
    (tmp_path / "cfglint.toml").write_text('target = { transformers = "4.57.1" }\n')
    assert sources("huggingface") == {"transformers": "cfglint.toml"}


def test_a_release_that_another_package_requires(sources):
    assert sources("trl", "--target", "trl==0.9.6") == {"trl": "--target", "transformers": "required by trl 0.9.6"}
    assert sources("axolotl", "--target", "axolotl==0.9.2") == {"axolotl": "--target", "transformers": "required by axolotl 0.9.2"}


def test_a_release_that_fits_one_that_it_requires(sources):
    found = sources("axolotl", requirements="transformers==4.51.3\n")
    assert found == {"axolotl": "matching transformers 4.51.3", "transformers": "requirements.txt"}


def test_a_release_that_the_newest_release_of_another_package_requires(sources):
    found = sources("axolotl")
    assert found["axolotl"] == "newest known"
    assert found["transformers"].startswith("required by axolotl ")


def test_a_release_that_is_not_modelled(sources):
    found = sources("huggingface", requirements="transformers==3.0.0\n")
    assert found == {"transformers": "requirements.txt says 3.0.0, nearest modelled"}
