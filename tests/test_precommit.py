"""The hooks under the real pre-commit, in a git repository with a bad, a good and an unrelated file.

pre-commit installs the hook from a repository of its own, as it would for a user; that repository is made of
this checkout as it stands, so that the test does not depend on what is committed or on git history.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
import yaml

BAD = '{\n  "train_batch_size": 256,\n  "train_micro_batch_size_per_gpu": 4,\n  "gradient_accumulation_steps": 4\n}\n'
GOOD = '{\n  "train_batch_size": 256,\n  "train_micro_batch_size_per_gpu": 4,\n  "gradient_accumulation_steps": 8\n}\n'
UNRELATED = "services:\n  web: {image: nginx}\n"
DECLARED = "gpus = 8\n"
PACKAGE = ("cfglint", "schemas", "pages", "pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


class Repository:
    """A git repository that no configuration of this machine reaches."""

    def __init__(self, folder, environment):
        folder.mkdir()
        self.folder = folder
        self.environment = environment
        self.git("init", "--quiet", "-b", "main")

    def run(self, *command):
        command = [str(part) for part in command]
        return subprocess.run(command, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def git(self, *arguments):
        done = self.run("git", *arguments)
        assert done.returncode == 0, done.stdout
        return done.stdout.strip()

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "as it stands")
        return self.git("rev-parse", "HEAD")

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def plain(environment, tmp_path_factory):
    """An environment in which git and pre-commit see nothing of the user."""
    kept = {name: value for name, value in environment.items() if not name.startswith("GIT_")}
    for role in ("AUTHOR", "COMMITTER"):
        kept |= {f"GIT_{role}_NAME": "nobody", f"GIT_{role}_EMAIL": "nobody@example.invalid"}
    home = tmp_path_factory.mktemp("hooks")
    kept |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "PRE_COMMIT_HOME": str(home)}
    return {**kept, "PIP_NO_COMPILE": "1"}  # what is run is compiled then; the rest would only cost time


def of_readme(root):
    """The configuration that README shows, for a clone in the folder above; the fixing hook waits for a stage of its own."""
    [text] = re.findall(
        r"^```yaml\n# \.pre-commit-config\.yaml\n(.*?)^```", (root / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    assert "repo: ../cfglint " in text
    return text.replace("- id: cfglint-fix\n", "- id: cfglint-fix\n        stages: [manual]\n")


@pytest.fixture(scope="module")
def hooked(root, plain, tmp_path_factory):
    """A user's repository with the hooks installed."""
    folder = tmp_path_factory.mktemp("repositories")
    ours = Repository(folder / "cfglint", plain)
    for name in PACKAGE:
        copy = shutil.copytree if (root / name).is_dir() else shutil.copy
        copy(root / name, ours.folder / name)
    users = Repository(folder / "project", plain)
    ours.commit()
    users.write(".pre-commit-config.yaml", of_readme(root))
    users.write("cfglint.toml", DECLARED)
    users.write("good/ds_config.json", GOOD)
    users.write("compose.yaml", UNRELATED)
    users.commit()
    done = users.run(sys.executable, "-m", "pre_commit", "install-hooks")
    assert done.returncode == 0, done.stdout
    return users


@pytest.fixture
def project(hooked):
    """The repository, as it was committed."""
    hooked.git("reset", "--quiet", "--hard")
    hooked.git("clean", "--quiet", "-fd")
    return hooked


def hook(project, name, *files, stage="pre-commit"):
    chosen = ("--files", *files) if files else ("--all-files",)
    return project.run(sys.executable, "-m", "pre_commit", "run", name, "--color", "never", "--verbose", "--hook-stage", stage, *chosen)


def test_good_and_unrelated_files_pass(project):
    done = hook(project, "cfglint")
    assert done.returncode == 0, done.stdout
    assert "Passed" in done.stdout
    assert "error" not in done.stdout


def test_bad_file_stops_the_commit_and_only_it_is_named(project):
    project.write("bad/ds_config.json", BAD)
    project.git("add", "--all")
    done = hook(project, "cfglint")
    assert done.returncode == 1
    assert "exit code: 1" in done.stdout
    assert "bad/ds_config.json:2:23: error BAT001" in done.stdout
    assert "good/ds_config.json:" not in done.stdout
    assert "compose.yaml:" not in done.stdout


def test_a_warning_alone_stops_the_commit(project):
    project.write("warned/ds_config.json", GOOD.replace("{", '{\n  "gradient_cliping": 1.0,', 1))
    project.git("add", "--all")
    done = hook(project, "cfglint")
    assert done.returncode == 1
    assert "`gradient_cliping` is ignored" in done.stdout


def test_a_commit_of_the_engine_file_alone_is_held_against_its_trainer(project):
    trainer = "output_dir: out\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 8\ndeepspeed: ds_config.json\n"
    project.write("run/train.yaml", trainer)
    sizes = '"train_micro_batch_size_per_gpu": "auto",\n  "gradient_accumulation_steps": %d'
    engine = "{\n  " + sizes + ',\n  "zero_optimization": {"stage": 2}\n}\n'
    project.write("run/ds_config.json", engine % 8)
    base = project.git("rev-parse", "HEAD")
    project.commit()
    try:
        project.write("run/ds_config.json", engine % 4)
        project.git("add", "--all")
        done = hook(project, "cfglint-review")
        assert done.returncode == 1
        assert "run/train.yaml" in done.stdout
        assert "no longer starts" in done.stdout
    finally:
        project.git("reset", "--quiet", "--hard", base)


def test_programs_and_notebooks_are_checked(project):
    code = "from transformers import Trainer, TrainingArguments\nTrainer(args=TrainingArguments('o', bf16=True, fp16=True)).train()\n"
    project.write("train.py", code)
    project.write("other.py", "print('TrainingArguments')\n")
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": code.splitlines(keepends=True)}
    project.write("train.ipynb", json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4}, indent=1))
    project.git("add", "--all")
    done = hook(project, "cfglint", "train.py", "train.ipynb", "other.py")
    assert done.returncode == 1
    assert f"train.py:2:{code.splitlines()[1].index('True))') + 1}: error PRC200" in done.stdout
    assert "train.ipynb:9" in done.stdout
    assert "other.py" not in done.stdout
    assert "train.py" in hook(project, "cfglint-review", "train.py").stdout


def test_fix_hook_mends_the_file_and_fails_because_it_did(project):
    project.write("bad/ds_config.json", BAD)
    project.git("add", "--all")
    done = hook(project, "cfglint-fix", stage="manual")
    assert done.returncode == 1
    assert "files were modified by this hook" in done.stdout
    assert (project.folder / "bad/ds_config.json").read_text(encoding="utf-8") == GOOD
    assert hook(project, "cfglint-fix", stage="manual").returncode == 0


def test_files_beyond_one_call(project):
    """pre-commit splits a long list of files; every part is checked, one after the other."""
    names = [f"runs/{'with-a-long-name-' * 8}{number:04}/ds_config.json" for number in range(1200)]
    for name in names:
        project.write(name, GOOD)
    for name in (names[0], names[-1]):
        project.write(name, BAD)
    done = hook(project, "cfglint", *names)
    assert done.returncode == 1
    assert done.stdout.count("error BAT001") == 2
    calls = [line for line in done.stdout.splitlines() if line.startswith("cfglint:")]
    assert len(calls) > 1
    assert sum(int(line.split()[1]) for line in calls) == len(names)


@pytest.mark.parametrize(
    ("name", "hook_id", "is_passed"),
    [
        ("train.slurm", "cfglint", True),
        ("scripts/Makefile", "cfglint", True),
        ("requirements.txt", "cfglint", False),
        ("requirements.txt", "cfglint-review", True),
        ("uv.lock", "cfglint-review", True),
        ("weights.bin", "cfglint-review", False),
    ],
)
def test_the_hooks_see_what_is_read(root, name, hook_id, is_passed):
    hooks = {each["id"]: each for each in yaml.safe_load((root / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
    assert bool(re.search(hooks[hook_id]["files"], name)) is is_passed


def test_all_files_pass_after_init(project):
    """The baseline that `init` writes has what each hook sees, and the fix hook leaves it as it is."""
    project.write("run/train.yaml", "output_dir: out\nper_device_train_batch_size: 4\neval_strategy: no\ndeepspeed: run/ds_config.json\n")
    project.write("run/ds_config.json", GOOD.replace("8", '"auto"').replace("256", '"auto"'))
    project.write("run/train.slurm", "torchrun --nproc_per_node 8 train.py run/train.yaml\n")
    (project.folder / "cfglint.toml").unlink()
    done = project.run(sys.executable, "-m", "cfglint", "init")
    assert "accepts" in done.stdout
    project.git("add", "--all")
    for name, stage in (("cfglint-fix", "manual"), ("cfglint", "pre-commit"), ("cfglint-review", "pre-commit")):
        done = hook(project, name, stage=stage)
        assert done.returncode == 0, done.stdout
        assert "(no files to check)" not in done.stdout
