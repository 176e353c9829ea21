"""`action.yml` and the GitLab component: their scripts run, and nothing untrusted is written into them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from cfglint.report.markdown import MARK

ROOT = Path(__file__).resolve().parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
HEAD, COMPONENT = yaml.safe_load_all((ROOT / "examples" / "ci" / "templates" / "cfglint.yml").read_text(encoding="utf-8"))
GOOD = '{"train_batch_size": 256, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8}\n'

needs_git = pytest.mark.skipif(shutil.which("git") is None or shutil.which("bash") is None, reason="needs git and bash")


def test_scripts_take_inputs_from_the_environment_alone():
    for name, step in STEPS.items():
        assert "${{" not in step["run"], name
        assert step["shell"] == "bash", name
        own = set(re.findall(r"\$([A-Z_]+)", step["run"])) - {"GITHUB_ACTION_PATH", "GITHUB_REPOSITORY"}
        assert own <= set(step["env"]), name
    assert all("$[[" not in line for line in (*COMPONENT["cfglint"]["script"], *COMPONENT["cfglint"]["before_script"]))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("python3") is None or shutil.which("bash") is None, reason="needs python3 and bash")
def test_the_installation_imports_nothing_from_the_checkout(tmp_path, environment):
    """Its commands run in a checkout with modules of the names that they use; there is nothing to install, so the last one fails."""
    step, planted = STEPS["Install"], tmp_path / "planted"
    for name in ("venv", "ensurepip/__main__", "pip/__main__", "pip/__init__", "sitecustomize", "encodings/__init__"):
        path = tmp_path / "checkout" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"open({str(planted)!r}, 'a').write(__file__)\n", encoding="utf-8")
    variables = {**environment, "ENVIRONMENT": str(tmp_path / "environment"), "GITHUB_ACTION_PATH": str(tmp_path / "nothing")}
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", step["run"]], cwd=tmp_path / "checkout", env=variables, capture_output=True, text=True
    )
    assert "nothing" in done.stderr
    assert (tmp_path / "environment" / "bin" / "pip").exists()
    assert not planted.exists(), planted.read_text(encoding="utf-8")
    assert step["working-directory"] == "${{ runner.temp }}"


def test_other_actions_would_be_pinned():
    assert all(re.fullmatch(r".+@[0-9a-f]{40}", step["uses"]) for step in STEPS.values() if "uses" in step)


def test_inputs_exist():
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"inputs\.([a-z-]+)", text)) == set(ACTION["inputs"])
    text = (ROOT / "examples" / "ci" / "templates" / "cfglint.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"inputs\.([a-z-]+)", text)) == set(HEAD["spec"]["inputs"])


def test_the_token_reaches_the_comment_only():
    assert [name for name, step in STEPS.items() if "inputs.token" in json.dumps(step)] == ["Comment"]
    script = (ROOT / "tools" / "review_comment.py").read_text(encoding="utf-8")
    assert f'MARK = "{MARK}"' in script


@pytest.fixture
def runner(checkout, environment, tmp_path_factory):
    """A branch that breaks a config, and a step's script run as the runner runs it."""
    checkout.write(ds__json=GOOD, cfglint__toml="gpus = 8\n")
    checkout.commit("good")
    checkout.git("checkout", "-q", "-b", "topic")
    checkout.write(ds__json=GOOD.replace(": 8", ": 4"))
    checkout.commit("bad")
    temporary = tmp_path_factory.mktemp("runner")
    command = temporary / "cfglint"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m cfglint "$@"\n', encoding="utf-8")
    command.chmod(0o755)

    def run(script, **variables):
        path = os.pathsep.join((str(temporary), environment["PATH"]))
        given = {**environment, "PYTHONPATH": str(ROOT), "PATH": path, "CFGLINT": str(command), **variables}
        return subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=checkout.folder, env=given, capture_output=True, text=True)

    return run


@needs_git
def test_the_check_annotates(runner):
    done = runner(STEPS["Check"]["run"], FAIL_ON="error")
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("::error ")


@pytest.mark.slow
@needs_git
def test_the_sarif_file_is_written_and_findings_do_not_fail_its_step(runner, tmp_path):
    file = tmp_path / "a file.sarif"
    done = runner(STEPS["SARIF"]["run"], SARIF=str(file))
    assert done.returncode == 0, done.stderr
    assert "BAT001" in json.dumps(json.loads(file.read_text(encoding="utf-8")))


@pytest.mark.slow
@needs_git
def test_the_review_writes_the_comment(runner, tmp_path):
    done = runner(STEPS["Review"]["run"], FAIL_ON="error", REPORT=str(tmp_path / "cfglint.md"))
    assert done.returncode == 1, done.stderr
    assert "BAT001" in done.stdout
    assert (tmp_path / "cfglint.md").read_text(encoding="utf-8").startswith(MARK)


@pytest.mark.slow
@needs_git
def test_the_component_runs(runner, checkout):
    (line,) = COMPONENT["cfglint"]["script"]
    done = runner(line, CFGLINT_FAIL_ON="error")
    assert done.returncode == 1, done.stderr
    assert "BAT001" in (Path(checkout.folder) / "gl-code-quality-report.json").read_text(encoding="utf-8")
