"""What publishing needs: workflows that are valid by GitHub's schema and sound by zizmor, and the licences of dependencies."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def run(*command):
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_valid_by_the_schema(workflow):
    done = run(sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", workflow)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_mistake_is_found(tmp_path):
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(WORKFLOWS[0].read_text(encoding="utf-8").replace("runs-on:", "run-on:"), encoding="utf-8")
    assert run(sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", wrong).returncode == 1


def test_no_weakness_that_zizmor_knows():
    done = run(Path(sys.executable).parent / "zizmor", "--offline", "--no-progress", "--persona", "pedantic", *WORKFLOWS)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_tests_are_started_as_the_readme_says():
    command = next(line for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines() if "pytest" in line)
    steps = [step.get("run") for job in yaml.safe_load(WORKFLOWS[-1].read_text(encoding="utf-8"))["jobs"].values() for step in job["steps"]]
    assert command in steps


def test_every_supported_python_is_tested():
    found = yaml.safe_load(WORKFLOWS[-1].read_text(encoding="utf-8"))["jobs"]["tests"]["strategy"]["matrix"]["python"]
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert [each for each in found if f'"Programming Language :: Python :: {each}"' not in project] == []


def test_every_installed_package_has_its_licence():
    done = run(sys.executable, ROOT / "tools" / "licences.py", "--check")
    assert done.returncode == 0, done.stdout + done.stderr
