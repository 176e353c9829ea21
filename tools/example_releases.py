"""Find the examples of rules and the tests that hold in one release of a package and not in another, and let them ask the first.

    python tools/example_releases.py PACKAGE OLD NEW [--tests]

A release that renames a field or changes a default takes away what an example of a rule shows. Such a rule is tested with the release
before it from then on: its code is added to tests/rules/pinned_examples.json and printed. Where the rule should hold in the newer
release too, give it an example with the fields of that one, and remove the entry. With `--tests` the same is done for the fast tests:
those that fail, and pass if OLD is the newest release, are added to tests/pinned_tests.json. Tests that fail in both are printed, and
the exit status is 1.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from cfglint.findings.rule import Rule  # noqa: E402
from cfglint.rules.catalogue import every_rule  # noqa: E402

PINNED = ROOT / "tests" / "rules" / "pinned_examples.json"
PINNED_TESTS = ROOT / "tests" / "pinned_tests.json"
TESTS = "--tests"


def main() -> int:
    package, old, new = sys.argv[1:4]
    return ask_earlier(package, old, new) if TESTS in sys.argv else pin_examples(package, old, new)


def ask_earlier(package: str, old: str, new: str) -> int:
    """Let the tests that the newer release changed ask the one before it; 1 if others fail."""
    failed = failures({})
    still = failures({"CFGLINT_AS_OF": f"{package}=={old}"}, *failed) if failed else set()
    pinned: dict[str, dict[str, str]] = json.loads(PINNED_TESTS.read_text(encoding="utf-8"))
    for name in sorted(failed - still):
        pinned.setdefault(name, {}).setdefault(package, old)
        print(f"{name}: does not hold in {package} {new}; it asks {old}")
    for name in sorted(still):
        print(f"{name}: fails")
    PINNED_TESTS.write_text(json.dumps(dict(sorted(pinned.items())), indent=1) + "\n", encoding="utf-8")
    return 1 if still else 0


def failures(changes: dict[str, str], *tests: str) -> set[str]:
    """The tests that fail, of all fast ones or of some."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-rfE", "--tb=no", *tests]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **changes}, capture_output=True, text=True, check=False)
    lines = (line.partition(" ") for line in done.stdout.splitlines())
    return {name.partition(" - ")[0] for word, _, name in lines if word in ("FAILED", "ERROR")}


def pin_examples(package: str, old: str, new: str) -> int:
    """Let the rules whose examples the newer release takes away be tested with the one before it."""
    pinned: dict[str, dict[str, str]] = json.loads(PINNED.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        for rule in every_rule():
            asked = {**rule.example, **pinned.get(rule.code, {})}
            if package not in pinned.get(rule.code, {}) and not is_kept(
                found(rule, folder, asked, {package: old}), found(rule, folder, asked, {package: new})
            ):
                pinned.setdefault(rule.code, {})[package] = old
                print(f"{rule.code} {rule.name}: its examples do not hold in {package} {new}; they are tested with {old}")
    PINNED.write_text(json.dumps(dict(sorted(pinned.items())), indent=1) + "\n", encoding="utf-8")
    return 0


def found(rule: Rule, folder: str, asked: dict[str, Any], release: dict[str, str]) -> list[tuple[bool, set[str]]]:
    """Of each example of a rule in a release: whether the bad one is found, or the good one is not, and the codes of all errors."""
    examples: Any = importlib.import_module("examples")
    each_one = []
    for name, text, facts, is_bad in examples.example_texts(rule):
        target = {**release, **({**asked, **dict(facts)}.get("target") or {})}
        run = examples.run_of(rule, text, f"{folder}/{rule.code}-{name}", {**dict(facts), "target": target})
        is_found = any(diagnostic.code == rule.code for diagnostic in run.diagnostics)
        each_one.append((is_found == is_bad, {diagnostic.code for diagnostic in run.diagnostics if diagnostic.severity == "error"}))
    return each_one


def is_kept(before: list[tuple[bool, set[str]]], after: list[tuple[bool, set[str]]]) -> bool:
    """Whether the examples show in the newer release what they showed before, without an error that they did not have (a renamed field)."""
    if not all(shown for shown, _ in before):
        return True
    return all(shown and not errors - former for (_, former), (shown, errors) in zip(before, after, strict=True))


if __name__ == "__main__":
    sys.exit(main())
