"""The versions that a repository's own files give."""

from __future__ import annotations

import json
import os

import pytest

import cfglint
from cases import each_case
from cfglint.cli import main
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases._modelled import RELEASES as NEWEST
from cfglint.project.pinned_versions import Repositories
from cfglint.source.root import repository

UV = """version = 1
requires-python = ">=3.10"

[[package]]
name = "accelerate"
version = "1.0.0"
dependencies = [
    { name = "transformers", version = "9.9.9" },
]

[[package]]
name = "transformers"
version = "4.57.1"
source = { registry = "https://pypi.org/simple" }
dependencies = [
    { name = "filelock" },
]

[package.optional-dependencies]
torch = [{ name = "torch" }]

[[package]]
name = "triton"
version = "3.0.0"
"""
POETRY = '[[package]]\nname = "deepspeed"\nversion = "0.14.5"\ndescription = "transformers at scale"\noptional = false\n\n[metadata]\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def found(path="train.yaml", **target):
    facts = Repositories().complete(LaunchFacts(target=target), path, ["transformers", "deepspeed"])
    return facts.target, facts.target_from


def test_the_lock_file_has_the_last_word(folder):
    write(
        folder,
        {"uv.lock": UV, "requirements.txt": "transformers==4.40.0\n", "pyproject.toml": '[project]\ndependencies = ["transformers"]'},
    )
    assert found() == ({"transformers": "4.57.1"}, {"transformers": "uv.lock"})


def test_a_lock_file_with_two_releases_is_named_once(folder):
    write(folder, {"uv.lock": UV + '\n[[package]]\nname = "transformers"\nversion = "4.56.0"\n'})
    assert found()[1] == {"transformers": "uv.lock"}


def test_poetry_s_lock(folder):
    write(folder, {"poetry.lock": POETRY})
    assert found() == ({"deepspeed": "0.14.5"}, {"deepspeed": "poetry.lock"})


def test_each_package_from_the_file_that_knows_it(folder):
    write(folder, {"uv.lock": UV, "requirements-gpu.txt": "deepspeed==0.16.9\n"})
    assert found() == ({"transformers": "4.57.1", "deepspeed": "0.16.9"}, {"transformers": "uv.lock", "deepspeed": "requirements-gpu.txt"})


def test_a_target_wins(folder):
    write(folder, {"uv.lock": UV, "poetry.lock": POETRY})
    assert found(transformers="5.0.0") == ({"transformers": "5.0.0", "deepspeed": "0.14.5"}, {"deepspeed": "poetry.lock"})


def test_nothing_there(folder):
    assert found() == ({}, {})


def test_an_exact_version_goes_before_a_range(folder):
    write(folder, {"requirements.txt": "transformers>=4.40\n", "requirements-gpu.txt": "transformers==4.42.4\n"})
    assert found() == ({"transformers": "4.42.4"}, {"transformers": "requirements-gpu.txt"})


def test_a_range_says_that_it_is_one(folder):
    write(folder, {"requirements.txt": "transformers>=4.40,<5\n"})
    assert found()[1] == {"transformers": "requirements.txt says >=4.40,<5"}


def test_a_folder_of_requirements(folder):
    write(folder, {"requirements/base.txt": "deepspeed==0.15.4\n"})
    assert found() == ({"deepspeed": "0.15.4"}, {"deepspeed": "requirements/base.txt"})


def test_what_was_installed_for_an_earlier_run_is_no_statement(folder):
    write(folder, {"wandb/offline-run-1/files/requirements.txt": "deepspeed==0.15.4\n"})
    assert found()[0] == {}


def test_poetry_s_caret_below_one(folder):
    write(folder, {"pyproject.toml": '[tool.poetry.dependencies]\ndeepspeed = "^0.14.0"\n'})
    assert found()[0] == {"deepspeed": "0.14.5"}


def test_the_nearest_exact_version_counts(folder):
    write(
        folder,
        {
            ".git/HEAD": "",
            "uv.lock": UV,
            "old/requirements.txt": "transformers==4.30.2\n",
            "member/pyproject.toml": '[project]\ndependencies = ["transformers>=4.40"]\n',
        },
    )
    assert found("old/train.yaml")[0] == {"transformers": "4.30.2"}
    assert found("member/conf/train.yaml") == ({"transformers": "4.57.1"}, {"transformers": "uv.lock"})


def test_a_submodule_that_is_not_checked_out_is_another_source_tree(folder):
    text = '[submodule "own"]\n\tpath = forks/transformers\n\turl = git@github.com:someone/transformers.git\n'
    write(folder, {".git/HEAD": "", ".gitmodules": text, "conf/train.yaml": ""})
    facts = Repositories().complete(LaunchFacts(), "conf/train.yaml", ["transformers"])
    assert facts.outside == {"transformers": "at the submodule forks/transformers (.gitmodules)"}
    write(folder, {"requirements.txt": "transformers==4.36.2\n"})
    assert found("conf/train.yaml")[0] == {"transformers": "4.36.2"}


def test_a_repository_among_those_of_others_is_the_copy_that_is_installed(folder):
    write(folder, {".git/HEAD": "", "third_party/ms-swift/swift/version.py": "__version__ = '4.1.0.dev0'\n", "scripts/train.yaml": ""})
    facts = Repositories().complete(LaunchFacts(), "scripts/train.yaml", ["ms-swift"])
    assert facts.outside == {"ms-swift": "at the development version 4.1.0.dev0 (third_party/ms-swift/swift/version.py)"}


def test_a_folder_for_the_installation_speaks_for_folders_with_programs(folder):
    """Another folder with programs is a project of its own."""
    other = {".git/HEAD": "", "train/train.sh": "", "train/train.py": ""}
    write(folder, {**other, "tools/requirements.txt": "transformers==4.36.2\n", "tools/convert.py": ""})
    assert found("train/train.sh") == ({}, {})
    (folder / "tools").rename(folder / "setup")
    assert found("train/train.sh") == ({"transformers": "4.36.2"}, {"transformers": "setup/requirements.txt"})


def test_the_repository_is_the_limit(folder, monkeypatch):
    write(folder, {"requirements.txt": "transformers==4.30.2\n", "repo/.git/HEAD": "", "repo/conf/train.yaml": ""})
    assert found("repo/conf/train.yaml") == ({}, {})
    monkeypatch.chdir(folder / "repo" / "conf")
    assert repository("train.yaml") == [str(folder / "repo" / "conf"), str(folder / "repo")]


def test_without_a_repository_the_working_directory_is_the_limit(folder, monkeypatch):
    write(folder, {"requirements.txt": "transformers==4.30.2\n", "conf/deep/train.yaml": ""})
    assert found("conf/deep/train.yaml")[0] == {"transformers": "4.30.2"}
    monkeypatch.chdir(folder / "conf")
    assert repository("deep/train.yaml") == [str(folder / "conf" / "deep"), str(folder / "conf")]
    assert found("deep/train.yaml") == ({}, {})
    assert repository(os.path.join("..", "train.yaml")) == [str(folder)]


def test_a_folder_is_looked_at_once(folder, monkeypatch):
    write(folder, {"uv.lock": UV})
    repositories = Repositories()
    repositories.complete(LaunchFacts(), "a.yaml", ["transformers"])
    monkeypatch.setattr(os, "listdir", lambda _: pytest.fail("looked again"))
    assert repositories.complete(LaunchFacts(), "b.yaml", ["transformers"]).target == {"transformers": "4.57.1"}


def test_files_that_cannot_be_read_say_nothing(folder):
    (folder / "requirements.txt").mkdir()
    (folder / "uv.lock").write_bytes(b"\xff\xfe transformers \x00")
    (folder / "requirements").write_text("transformers==4.40.0")
    assert found() == ({}, {})


def test_releases_ascend():
    from cfglint.frameworks.releases._dates import RELEASES
    from cfglint.frameworks.releases.versions import parse_version

    for package, releases in RELEASES.items():
        numbers = [parse_version(each.partition("@")[0]) for each in releases.split()]
        assert numbers == sorted(numbers)
        assert parse_version(NEWEST.get(package, "0")) <= numbers[-1]


def test_check_answers_for_the_version_that_is_locked(folder, capsys):
    write(folder, {"uv.lock": UV, "train.yaml": "output_dir: out\nper_device_train_batch_size: 4\nwarmup_ratio: 0.1\n"})
    assert main(["check", "train.yaml", "--format", "json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["runs"][0]["target"]["transformers"] == "4.57.1"
    assert "for transformers 4.57.1 (uv.lock)" in printed.err
    main(["check", "train.yaml", "--format", "json", "--target", "transformers==5.23.0"])
    printed = capsys.readouterr()
    assert json.loads(printed.out)["runs"][0]["target"]["transformers"] == "5.23.0"
    assert "uv.lock" not in printed.err


@pytest.mark.parametrize("target", ["5", "5.0", "5.0.0"])
def test_a_release_may_be_named_without_its_zeros(target):
    assert LaunchFacts(target={"transformers": target}).version("transformers", "5.23.0") == (5, 0, 0)


def test_the_nearest_folder_decides(folder):
    write(folder, {"a/requirements.txt": "transformers>=4.40,<4.50\n", "uv.lock": UV})
    (folder / ".git").mkdir()
    assert found("a/train.yaml") == ({"transformers": "4.49.0"}, {"transformers": "requirements.txt says >=4.40,<4.50"})


class TestOptionsOfARequirementsFolder:
    def test_they_yield_to_the_dependencies(self, folder):
        project = "[project]\nname = 'x'\ndependencies = ['transformers<=5.8.0']\n"
        write(folder, {"requirements/vllm.txt": "transformers==4.57.1\n", "pyproject.toml": project})
        assert found()[0] == {"transformers": "5.8.0"}

    def test_they_decide_where_nothing_else_does(self, folder):
        write(folder, {"requirements/vllm.txt": "transformers==4.57.1\n"})
        assert found()[0] == {"transformers": "4.57.1"}


@each_case(
    ("setup", "name"),
    [
        ('setup(\n    name="llamafactory",\n    version=get_version(),\n)\n', "llamafactory"),
        ("setup(\n    name='LLaMA_Factory',\n)\n", "llama-factory"),
        ('setup(\n    name="llamafactory",\n    version="0.9.1",\n)\n', ""),
        ('name = "llamafactory"\nprint(name)\n', ""),
        ("setup(\n    name=NAME,\n)\n", ""),
    ],
)
def test_a_setup_with_a_computed_version_names_its_project(setup, name):
    from cfglint.project.statements.copies import name_in_setup

    assert name_in_setup(setup) == name


def test_a_file_in_a_copy_of_unknown_version_gives_no_error(tmp_path):
    """The copy has templates and keys of its own, and its version cannot be read: the release is outside."""
    (tmp_path / ".git").mkdir()
    copy = tmp_path / "train" / "factory"
    copy.mkdir(parents=True)
    copy.joinpath("setup.py").write_text('setup(\n    name="llamafactory",\n    version=get_version(),\n)\n')
    text = "model_name_or_path: m\nstage: sft\ndo_train: true\ndataset: d\noutput_dir: out\nfinetuning_type: lora\ntemplate: qwen25\n"
    copy.joinpath("train.yaml").write_text(text)
    tmp_path.joinpath("train.yaml").write_text(text)
    inside, alone = (cfglint.check(str(folder / "train.yaml")).runs[0] for folder in (copy, tmp_path))
    assert (inside.verdict, [each.severity for each in inside.diagnostics if each.code == "LLF014"]) == (None, ["warning"])
    assert (alone.verdict, [each.severity for each in alone.diagnostics if each.code == "LLF014"]) == ("reject", ["error"])


@each_case(
    ("requirement", "installed", "spec"),
    [
        ("transformers>=4.30", "transformers<4.50", (">=4.30,<4.50",)),
        ("transformers>=4.30", "transformers<4.20", (">=4.30",)),  # no release satisfies both: the kinds of files decide
    ],
)
def test_a_bound_of_the_notebook_itself_holds_with_those_of_requirements(requirement, installed, spec, tmp_path):
    (tmp_path / "requirements.txt").write_text(f"{requirement}\n")
    notebook = str(tmp_path / "n.ipynb")
    facts = Repositories().complete(LaunchFacts(), notebook, ["transformers"], f'!pip install "{installed}"\n')
    assert facts.bounds["transformers"] == spec


def test_a_commit_beside_another_release_is_not_modelled(folder):
    """A page installs a commit, "or" a release: errors of the newest release may be those of neither."""
    commit = "ff20f9cf3615a8638023bc82925573cb9d0f3560"
    lines = f"pip install git+https://github.com/huggingface/transformers@{commit}\npip install transformers==4.28.1\npython train.py --a 1"
    program = (
        'from transformers import Trainer, TrainingArguments\nTrainer(args=TrainingArguments("o", evaluation_strategy="no")).train()\n'
    )
    write(folder, {"notes.md": f"```\n{lines}\n```\n", "train.py": program})
    [run] = cfglint.check("notes.md")
    assert [(each.code, each.severity) for each in run.diagnostics] == [("KEY202", "warning")]


@each_case(
    ("cell", "release"),
    [
        ('!pip install --upgrade \\\n  "transformers[sentencepiece]==4.37.2" \\\n  "peft==0.8.2"', "4.37.2"),
        ("%pip install 'transformers == 4.37.2'", "4.37.2"),
        ("# !pip install transformers==4.37.2", None),
        ("%%bash\npip install \\\n  transformers==4.37.2", "4.37.2"),
    ],
)
def test_a_notebook_states_what_its_cells_install(cell, release, tmp_path):
    for source in (cell, cell.splitlines(keepends=True)):
        text = json.dumps({"cells": [{"cell_type": "code", "source": source}, {"cell_type": "code", "source": ["x = 1"]}]}, indent=1)
        facts = Repositories().complete(LaunchFacts(), str(tmp_path / "n.ipynb"), ["transformers"], text)
        assert facts.target.get("transformers") == release


@each_case(("installed", "release"), [("trl", None), ("trl==0.20.0", "0.20.0"), ("peft", "0.12.1")])
def test_a_notebook_has_what_it_installs_not_what_a_lock_file_pins(installed, release, tmp_path):
    (tmp_path / "requirements.txt").write_text("trl==0.12.1\n")
    text = json.dumps({"cells": [{"cell_type": "code", "source": f"!pip install '{installed}'"}]})
    facts = Repositories().complete(LaunchFacts(), str(tmp_path / "n.ipynb"), ["trl"], text)
    assert facts.target.get("trl") == release
