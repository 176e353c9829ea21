"""No finding without an example, no rule module that is not imported."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path

import pytest

import cfglint
from cfglint.findings import rule as rule_module
from cfglint.rules.catalogue import every_rule

PACKAGE = Path(cfglint.__file__).parent
# Findings that no example reaches yet; a number may only become smaller.
UNREACHED = {"frameworks/trl": 20, "frameworks/deepspeed": 3, "frameworks/huggingface": 2, "frameworks/neox": 2}


def examples_module():
    """The module with `run_of`, which tests import by its path."""
    spec = importlib.util.spec_from_file_location("rule_examples", Path(__file__).with_name("test_examples.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rule_modules():
    """The modules in which rules are written: `rules.py`, or a folder `rules`."""
    return [path for path in sorted(PACKAGE.rglob("*.py")) if "rules" in (path.stem, path.parent.name) and "report" not in path.parts]


@pytest.fixture(scope="module")
def reached(tmp_path_factory):
    """(file, line) of every Finding that is made while all examples are checked."""
    places = set()
    original = rule_module.Finding.__init__

    def recording(self, *arguments, **keywords):
        caller = sys._getframe(1)
        places.add((Path(caller.f_code.co_filename), caller.f_lineno))
        original(self, *arguments, **keywords)

    run_of = examples_module().run_of
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rule_module.Finding, "__init__", recording)
        for rule in every_rule():
            for example in rule.bad_examples:
                _ = run_of(rule, example.text, str(tmp_path_factory.mktemp(rule.code)), example.facts).diagnostics
    return places


def findings_in(path):
    """The calls `Finding(...)` of a module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding":
            yield node


def test_every_finding_has_an_example(reached):
    missing = {}
    for path in rule_modules():
        for call in findings_in(path):
            if not any((path, line) in reached for line in range(call.lineno, call.end_lineno + 1)):
                folder = path.relative_to(PACKAGE).as_posix().partition("/rules")[0]
                missing.setdefault(folder, []).append(f"{path.relative_to(PACKAGE)}:{call.lineno}")
    assert {folder: places for folder, places in missing.items() if len(places) > UNREACHED.get(folder, 0)} == {}


def test_every_rule_module_is_imported():
    every_rule()
    names = {".".join(("cfglint", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__") for path in rule_modules()}
    assert sorted(names - set(sys.modules)) == []
