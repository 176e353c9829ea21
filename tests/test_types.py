"""What mypy refuses in a rule and in the head of its page, so that no test has to reach it: words and names that do not exist."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAD = """
from __future__ import annotations
from collections.abc import Iterator
from typing import TYPE_CHECKING
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
if TYPE_CHECKING:
    from cfglint.findings._rules import Head
"""
RULE = """
HEAD_{name}: Head = ("name", "{severity}", "{stage}", ("{kind}",), "key", ())
@rule("DSP999")
def check_{name}(config: DeepSpeedConfig) -> Iterator[Finding]:
    yield Finding(config.setting("fp16"), "`fp16` is wrong", severity="{own}", fails_at="{moment}")
"""
RIGHT = {"severity": "error", "stage": "config", "kind": "deepspeed", "own": "warning", "moment": "init"}
MISSPELT = {"severity": "eror", "stage": "confg", "kind": "deepsped", "own": "warn", "moment": "initt"}


@pytest.mark.slow
def test_mypy_refuses_each_misspelt_word_of_a_rule(tmp_path, root):
    module = tmp_path / "example.py"
    wrong = [RULE.format(**RIGHT | {word: misspelt}, name=word) for word, misspelt in MISSPELT.items()]
    module.write_text("".join([HEAD, RULE.format(**RIGHT, name="right"), *wrong]), encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", tmp_path / "cache", module]
    asked = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert asked.stderr == ""
    errors = [int(line.split(":")[1]) for line in asked.stdout.splitlines() if "error:" in line]
    first = 1 + HEAD.count("\n")
    assert {(line - first) // RULE.count("\n") for line in errors} == {1, 2, 3, 4, 5}
