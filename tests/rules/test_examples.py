"""Every rule's examples are its tests: the bad one is found at its place, the good one is not, the fix gives the stated text."""

from __future__ import annotations

import os
from collections import Counter
from functools import cache
from itertools import count

import pytest

from cases import each_case
from cfglint.findings import rule as rule_module
from cfglint.frameworks import framework
from cfglint.frameworks.base import LaunchFacts
from cfglint.frameworks.memory import named_model
from cfglint.project.policy_schema import PolicySchemas
from cfglint.rewrite.apply_fixes import apply_fixes
from cfglint.rewrite.retarget import rewritten
from cfglint.rules.catalogue import every_rule
from cfglint.run.checked import CheckedRun
from cfglint.run.discovery import Discovery

NAMES = {
    "deepspeed": "ds_config.json",
    "huggingface": "train.yaml",
    "neox": "config.yml",
    "accelerate": "accelerate.yaml",
    "llamafactory": "train.yaml",
    "trl": "train.yaml",
    "launch": "train.sh",
    "axolotl": "config.yml",
}
RULES = every_rule()


def kind_of(rule):
    return rule.example.get("kind") or (rule.kinds[0] if rule.kinds else "huggingface")


def run_of(rule, texts, folder, changes=()):
    example = {**rule.example, **dict(changes)}
    kind = example.get("kind") or kind_of(rule)
    files = texts if isinstance(texts, dict) else {example.get("name", NAMES[kind]): texts}
    for name, text in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="") as out:
            out.write(text)
    facts = LaunchFacts(
        gpus=example.get("gpus"),
        num_examples=example.get("num_examples"),
        target=example.get("target"),
        complete=example.get("complete", True),
        declared=example.get("declared", True),
        strict_keys=example.get("strict_keys", False),
        model=named_model(example["model"]) if "model" in example else None,
        gpu_memory=example.get("gpu_memory"),
        trainer=example.get("trainer"),
        promises=example.get("promises"),
        policies=PolicySchemas({"": example["policies"]}) if "policies" in example else None,
    )
    return Discovery(facts, kind).one([os.path.join(folder, name) for name in list(files)[: example.get("named", len(files))]])


every_rule_alone = each_case("rule", RULES, ids=lambda rule: rule.code)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Paths of folders that are not there yet, one for each example that is written."""
    above = tmp_path_factory.mktemp("examples")
    return (str(above / str(number)) for number in count())


@pytest.fixture(scope="module")
def checked(folders):
    """The run of a rule's bad example of this number, which is checked once for all tests."""

    @cache
    def run(rule, number=0):
        example = rule.bad_examples[number]
        return run_of(rule, example.text, next(folders), example.facts)

    return run


@every_rule_alone
def test_bad_example_is_found_at_its_place(rule, checked):
    if not rule.bad:
        assert rule.code.startswith(("SRC001", "INT")), f"{rule.code} has no bad example"
        return
    for number, example in enumerate(rule.bad_examples):
        run = checked(rule, number)
        found = [each for each in run.diagnostics if each.code == rule.code]
        assert found, (example.text, [f"{each.code} {each.message}" for each in run.diagnostics])
        at = example.at if number or example.at is not None else rule.example.get("at")
        assert at is None or at in [each.key for each in found]
        assert any((each.exception or "").startswith(example.exception or "") for each in found)
        assert any((example.message or "") in each.message for each in found)


@every_rule_alone
def test_good_example_is_clean_of_it(rule, folders):
    if not rule.good:
        assert not rule.bad, f"{rule.code} has no good example"
        return
    run = run_of(rule, rule.good, next(folders))
    assert [each.message for each in run.diagnostics if each.code in (rule.code, "INT000")] == []


@every_rule_alone
def test_fix_makes_the_stated_text(rule, checked):
    if rule.fixed is None:
        return
    run = checked(rule)
    with pytest.MonkeyPatch.context() as patch:
        for each in run.diagnostics:
            if each.code != rule.code:
                patch.setattr(each, "fix", None)
        mended = apply_fixes(run, unsafe=True)
    assert list(mended.texts.values()) == [rule.fixed]


@every_rule_alone
def test_safe_fixes_settle_and_make_nothing_worse(rule, checked):
    run = checked(rule) if rule.bad else None
    texts = apply_fixes(run).texts if run else {}
    if not texts:
        return
    after = CheckedRun(rewritten(run, texts), run.kinds, run.facts)
    assert apply_fixes(after).texts == {}
    assert {each.code for each in after.diagnostics if each.severity == "error"} <= {each.code for each in run.diagnostics}


@every_rule_alone
def test_page_says_what_a_reader_needs(rule):
    page = rule.page
    first = page.partition("\n")[0]
    assert first.endswith("."), f"{rule.code}: the first line is a sentence"
    assert "Source:" in page, f"{rule.code} names no source"
    if rule.severity == "error":
        assert rule.fails_at in ("load", "config", "init", "first-step"), f"{rule.code} does not say when"
    assert all(framework(kind).kind == kind for kind in rule.kinds)


def test_codes_and_names_are_unique():
    codes = [rule.code for rule in rule_module.RULES]
    names = [name for rule in rule_module.RULES for name in rule.names]
    assert len(set(codes)) == len(codes)
    assert sorted(name for name, count in Counter(names).items() if count > 1) == []
