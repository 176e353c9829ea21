"""The examples for build servers: they parse, and every line of theirs that runs cfglint does what it says."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from cfglint.report.markdown import MARK

CI = Path(__file__).resolve().parent.parent / "examples" / "ci"
EXAMPLES = sorted(CI.glob("*.yml")) + sorted(CI.glob("*.yaml"))
COMMAND = re.compile(r"^[\s-]*(?:run: |entry: )?(?P<command>cfglint \w.*)$", re.MULTILINE)
LINES = [(path, found["command"]) for path in EXAMPLES for found in COMMAND.finditer(path.read_text(encoding="utf-8"))]
GOOD = '{"train_batch_size": 256, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8}\n'
BAD = GOOD.replace(": 8", ": 4")

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def topic(checkout):
    """A branch whose last commit breaks a config."""
    checkout.write(ds__json=GOOD, cfglint__toml="gpus = 8\n")
    checkout.commit("good")
    checkout.git("checkout", "-q", "-b", "topic")
    checkout.write(ds__json=BAD)
    checkout.commit("bad")
    return checkout


def test_every_mention_of_a_command_is_found():
    told = sum(len(re.findall(r"\bcfglint (?:check|review|fix|diff)\b", path.read_text(encoding="utf-8"))) for path in EXAMPLES)
    assert len(LINES) == told == 3


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_it_is_yaml(example):
    assert isinstance(yaml.safe_load(example.read_text(encoding="utf-8")), dict)


@pytest.mark.parametrize("line", [command for _, command in LINES])
def test_the_line_runs(topic, environment, line):
    """A review fails for the new error; a scan that tolerates findings does not. What it writes is there."""
    done = subprocess.run(["bash", "-c", line], cwd=topic.folder, env=environment, capture_output=True, text=True)
    assert done.returncode == (0 if "|| [" in line else 1), done.stderr
    for output in re.findall(r"--output (\S+)", line):
        text = (topic.folder / output).read_text(encoding="utf-8")
        if output.endswith(".xml"):
            ElementTree.fromstring(text)
        elif output.endswith((".json", ".sarif")):
            json.loads(text)
        assert "BAT001" in text


def test_a_line_that_tolerates_findings_does_not_tolerate_more(topic, environment):
    (line,) = [command for _, command in LINES if "|| [" in command]
    topic.write(cfglint__toml="nonsense = 1\n")
    assert subprocess.run(["bash", "-c", line], cwd=topic.folder, env=environment, capture_output=True).returncode != 0


def test_the_comment_is_found_by_its_mark():
    assert f'startswith("{MARK}")' in (CI / "github-workflow.yml").read_text(encoding="utf-8")


def test_hooks_exist_and_nobody_is_told_to_install_another_package():
    hooks = yaml.safe_load((CI.parent.parent / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    config = yaml.safe_load((CI / "pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert {each["id"] for each in config["repos"][0]["hooks"]} <= {each["id"] for each in hooks}
    for example in EXAMPLES:
        assert not re.search(r"install\s+(-\S+\s+)*cfglint(?!-train)\b", example.read_text(encoding="utf-8"))


def test_the_base_is_there_where_it_is_needed():
    github = yaml.safe_load((CI / "github-workflow.yml").read_text(encoding="utf-8"))
    gitlab = yaml.safe_load((CI / "gitlab-ci.yml").read_text(encoding="utf-8"))
    action = yaml.safe_load((CI / "github-action.yml").read_text(encoding="utf-8"))
    assert github["jobs"]["review"]["steps"][0]["with"] == {"persist-credentials": False, "fetch-depth": 0}
    assert action["jobs"]["cfglint"]["steps"][0]["with"] == {"persist-credentials": False, "fetch-depth": 0}
    assert gitlab["cfglint"]["variables"] == {"GIT_DEPTH": "0"}
