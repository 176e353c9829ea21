"""No finding without an example, no rule module that is not imported, no look-up of a key that does not exist."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path

import pytest

import cfglint
from cases import each_case
from cfglint.findings import rule as rule_module
from cfglint.frameworks import schema
from cfglint.frameworks.axolotl.rules.fields import READ_ELSEWHERE
from cfglint.frameworks.base import Config, LaunchFacts
from cfglint.frameworks.deepspeed.models import ZERO, read_section
from cfglint.frameworks.huggingface.arguments import Arguments
from cfglint.frameworks.llamafactory.arguments import default_of
from cfglint.frameworks.neox.config import NeoXConfig
from cfglint.frameworks.setting import NoSuchField
from cfglint.frameworks.trl.config import TrlConfig
from cfglint.rules.catalogue import every_rule
from cfglint.source.parse import parse

PACKAGE = Path(cfglint.__file__).parent


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
def observed(tmp_path_factory):
    """What happens while all examples are checked: (file, line) of every Finding, and (kind, key) of every key that is looked up."""
    places, keys = set(), set()
    original, get, setting = rule_module.Finding.__init__, Config.get, Config.setting

    def recording(self, *arguments, **keywords):
        caller = sys._getframe(1)
        places.add((Path(caller.f_code.co_filename), caller.f_lineno))
        original(self, *arguments, **keywords)

    def noting(look_up):
        def noted(self, *path, **keywords):
            if path and path[0] not in self.values:
                keys.add((self.kind, path[0]))
            return look_up(self, *path, **keywords)

        return noted

    run_of = examples_module().run_of
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rule_module.Finding, "__init__", recording)
        patch.setattr(Config, "get", noting(get))
        patch.setattr(Config, "setting", noting(setting))
        above = tmp_path_factory.mktemp("examples")
        for rule in every_rule():
            for number, example in enumerate(rule.bad_examples):
                _ = run_of(rule, example.text, str(above / rule.code / str(number)), example.facts).diagnostics
    return places, keys


def findings_in(path):
    """The calls `Finding(...)` of a module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding":
            yield node


def test_every_finding_has_an_example(observed):
    reached, _ = observed
    missing = []
    for path in rule_modules():
        unreached = [
            call for call in findings_in(path) if not any((path, line) in reached for line in range(call.lineno, call.end_lineno + 1))
        ]
        missing.extend(f"{path.relative_to(PACKAGE)}:{call.lineno}" for call in unreached)
    assert missing == []


def test_every_rule_module_is_imported():
    every_rule()
    names = {".".join(("cfglint", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__") for path in rule_modules()}
    assert sorted(names - set(sys.modules)) == []


def test_every_key_that_is_looked_up_exists(observed):
    looked_up = {(kind, key) for kind, key in observed[1] if kind != "launch" and key not in READ_ELSEWHERE}
    known = {kind: schema.load(kind).raw["properties"].keys() for kind, _ in looked_up}
    assert {(kind, key) for kind, key in looked_up if key not in known[kind]} == set()


@each_case(
    "look_up",
    [
        lambda: read_section(ZERO, {"stage": 1}, (0, 19, 8))["stge"],
        lambda: Arguments({}, (5, 23, 0))["learning_rat"],
        lambda: TrlConfig([parse("a.yaml", "{}\n", "yaml")], ["trl"], LaunchFacts(trainer="sft")).arguments["packin"],
        lambda: NeoXConfig([parse("a.yml", "{}\n", "yaml")], LaunchFacts()).argument("comet"),
        lambda: default_of("finetuning_typ"),
    ],
)
def test_a_field_of_no_release_cannot_be_looked_up(look_up):
    with pytest.raises(NoSuchField):
        look_up()


def test_a_field_of_another_release_is_none():
    assert Arguments({}, (5, 23, 0))["evaluation_strategy"] is None
