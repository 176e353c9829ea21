"""Every rule's examples are its tests: the bad one is found at its place, the good one is not, the fix gives the stated text.

No finding is without an example, no rule module is not imported, and no example looks up a key that does not exist.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path

import pytest

import cfglint
from cases import each_case
from cfglint.explanation.summary import RunSummary, origin, value_or_auto
from cfglint.findings import _example_findings
from cfglint.findings import rule as rule_module
from cfglint.findings.pages import MOST
from cfglint.findings.rule import Finding
from cfglint.frameworks import framework
from cfglint.frameworks.axolotl.rules.validation import READ_ELSEWHERE
from cfglint.frameworks.base import Config
from cfglint.frameworks.huggingface.fields import FIELDS
from cfglint.frameworks.releases._modelled import RENAMED
from cfglint.frameworks.swift.fields import exists
from cfglint.frameworks.trl.releases import HISTORY
from cfglint.frameworks.validation import schema
from cfglint.rewrite.apply_fixes import apply_fixes
from cfglint.rules.catalogue import every_rule
from cfglint.run.checked import CheckedRun
from cfglint.source.sections import reread_all
from examples import by_family, findings_of, purposes, run_of
from records import check_folder

RULES = every_rule()
PLACE = re.compile(r"[^\s(]+\.(yaml|yml|json|md|sh|py):\d+")
NUMBER = re.compile(r"\d[\d.,]*(e[+-]?\d+)?")
PACKAGE = Path(cfglint.__file__).parent


every_rule_alone = each_case("rule", RULES, ids=lambda rule: rule.code)


@pytest.fixture(scope="module")
def above(tmp_path_factory):
    """The folder of the folders."""
    return str(tmp_path_factory.mktemp("examples"))


@pytest.fixture(scope="module")
def folders(above):
    """Paths of folders that are not there yet, one for each example that is written."""
    return (f"{above}/{number}" for number in count())


class Seen:
    """What happens while examples are checked: (file, line) of every Finding, and (kind, key) of every key that is looked up."""

    def __init__(self):
        self.places, self.keys = set(), set()

    @contextmanager
    def recording(self):
        make, get, setting = Finding.__init__, Config.get, Config.setting

        def making(finding, *arguments, **keywords):
            caller = sys._getframe(1)
            self.places.add((Path(caller.f_code.co_filename), caller.f_lineno))
            make(finding, *arguments, **keywords)

        def noting(look_up):
            def noted(config, *path, **keywords):
                if path and path[0] not in config.values:
                    self.keys.add((config.kind, path[0]))
                return look_up(config, *path, **keywords)

            return noted

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Finding, "__init__", making)
            patch.setattr(Config, "get", noting(get))
            patch.setattr(Config, "setting", noting(setting))
            yield


@pytest.fixture(scope="module")
def seen():
    return Seen()


@pytest.fixture(scope="module")
def checked(folders, seen):
    """The run of a rule's bad example of this number, which is checked once for all tests."""

    @cache
    def run(rule, number=0):
        example = rule.bad_examples[number]
        with seen.recording():
            found = run_of(rule, example.text, next(folders), example.facts)
            _ = found.diagnostics
        return found

    return run


@pytest.fixture(scope="module")
def checked_good(folders):
    """The run of a rule's good example, which is checked once for all tests."""
    return cache(lambda rule: run_of(rule, rule.good, next(folders)))


@pytest.fixture(scope="module")
def all_seen(checked, seen):
    """What happens while all bad examples are checked."""
    for rule in RULES:
        for number in range(len(rule.bad_examples)):
            checked(rule, number)
    return seen


@every_rule_alone
def test_bad_example_is_found_at_its_place(rule, checked):
    if not rule.bad:
        assert rule.code.startswith(("SRC001", "INT")), f"{rule.code} has no bad example"
        return
    for number, example in enumerate(rule.bad_examples):
        run = checked(rule, number)
        found = [each for each in run.diagnostics if each.code == rule.code]
        at = example.at if number or example.at is not None else rule.example.get("at")
        expected = f"expected {rule.code} {rule.name} at {at or 'any key'}: {example.message or 'any message'} | {example.exception or ''}"
        shown = "\n".join(f"{each.code} {each.severity} at {each.key}: {each.message} | {each.exception or ''}" for each in run.diagnostics)
        told = f"bad example {number + 1} of {rule.code}:\n{example.text}\n{expected}\ncame\n{shown or 'no finding'}"
        assert found, told
        assert at is None or at in [each.key for each in found], told
        assert any((each.exception or "").startswith(example.exception or "") for each in found), told
        assert any((example.message or "") in each.message for each in found), told
        # the engine asks these rules for errors
        assert rule.severity == "error" or "error" not in {each.severity for each in found}, told


@every_rule_alone
def test_good_example_is_clean_of_it(rule, checked_good):
    if not rule.good:
        assert not rule.bad, f"{rule.code} has no good example"
        return
    run = checked_good(rule)
    assert [each.message for each in run.diagnostics if each.code in (rule.code, "INT000")] == []


@each_case("family", by_family(RULES))
def test_each_good_example_and_bad_one_is_as_recorded(family, root, above, checked, checked_good, updating):
    """The findings of every example with their texts and fixes, the verdict and the numbers; `CFGLINT_UPDATE=1` rewrites the record."""

    def outcomes(rule):
        for purpose, number in purposes(rule):
            yield purpose, findings_of(checked_good(rule) if number is None else checked(rule, number), above, rule.code)

    now = {rule.code: dict(outcomes(rule)) for rule in by_family(RULES)[family] if rule.bad}
    check_folder(root / "tests" / "rules" / "expected" / family, now, updating)


def test_each_good_example_and_bad_one_is_explained_as_recorded(root, checked, checked_good, updating):
    """Every line that `explain` can give for the examples, once: the kind, the label, where a value comes from, and the first value."""
    seen = {}
    for rule in sorted(RULES, key=lambda rule: rule.code):
        for number in range(len(rule.bad_examples)):
            note_account(seen, f"{rule.code}, bad {number + 1}", checked(rule, number))
        if rule.good:
            note_account(seen, f"{rule.code}, good", checked_good(rule))
    now = {}
    for (kind, label, because), first in sorted(seen.items()):
        now.setdefault(kind, {}).setdefault(f"{label}: where `explain` takes it from", []).append(f"{because}: {first}")
    check_folder(root / "tests" / "rules" / "expected" / "account", now, updating)


def note_account(seen, name, run):
    """The lines of a run's account that are new, with numbers and files left out."""
    for item in RunSummary(run).items:
        because = NUMBER.sub("#", PLACE.sub("FILE", origin(item)))
        line = (run.kinds[0], item.label, f"{because}{', needs ' + item.needs if item.unknown else ''}")
        seen.setdefault(line, f"{json.dumps(value_or_auto(item.setting), default=str)} ({name})")


@every_rule_alone
def test_fix_makes_the_stated_text(rule, checked):
    if rule.fixed is None:
        return

    def suppress_others(run):
        for each in run.diagnostics:
            each.suppressed = "another rule" if each.code != rule.code else None

    run = checked(rule)
    mended = apply_fixes(CheckedRun(run.documents, run.kinds, run.facts), unsafe=True, suppress=suppress_others)
    assert list(mended.texts.values()) == [rule.fixed]


@every_rule_alone
def test_safe_fixes_settle_and_make_nothing_worse(rule, checked):
    run = checked(rule) if rule.bad else None
    texts = apply_fixes(run).texts if run else {}
    if not texts:
        return
    after = CheckedRun(reread_all(run.documents, texts), run.kinds, run.facts)
    assert apply_fixes(after).texts == {}
    assert {each.code for each in after.diagnostics if each.severity == "error"} <= {each.code for each in run.diagnostics}


def takes_exceptions(rule):
    return rule.severity == "error" and "Run-time " not in rule.written.text


def takes_remedies(rule):
    return "\n\nFix: " not in rule.written.text


def test_what_the_pages_take_from_the_examples_is_current(above, checked, updating):
    """The exceptions of errors, but for those of which `raises` says it all, and the remedies."""
    exceptions, remedies = [], []
    folder = re.compile(rf"(?:{above}|(?:\.\./)+{Path(above).name})/\d+/")
    for rule in [each for each in RULES if takes_exceptions(each) or takes_remedies(each)]:
        runs = [checked(rule, number) for number in range(len(rule.bad_examples))]
        found = [each for run in runs for each in run.diagnostics if each.code == rule.code]
        raised = list(dict.fromkeys(folder.sub("", each.exception) for each in found if each.exception))
        if takes_exceptions(rule) and raised and {*raised} != {rule.raises}:
            exceptions.append((rule.code, raised))
        if takes_remedies(rule):
            texts = [each.help or (f"in the example, {each.fix.title}" if each.fix else "") for each in found]
            remedies.append((rule.code, list(dict.fromkeys(folder.sub("", text) for text in texts if text))))
    path, now = Path(_example_findings.__file__), recorded(exceptions, remedies)
    if updating:
        path.write_text(now, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == now


@every_rule_alone
def test_page_says_what_a_reader_needs(rule):
    page = rule.page
    first = page.partition("\n")[0]
    assert first.endswith("."), f"{rule.code}: the first line is a sentence"
    assert all(framework(kind).kind == kind for kind in rule.kinds)


def rule_modules():
    """The modules in which rules are written: `rules.py`, or a folder `rules`."""
    return [path for path in sorted(PACKAGE.rglob("*.py")) if "rules" in (path.stem, path.parent.name) and "report" not in path.parts]


def findings_in(path):
    """The calls `Finding(...)` of a module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding":
            yield node


def test_every_finding_has_an_example(all_seen):
    missing = []
    for path in rule_modules():
        lines = {line for file, line in all_seen.places if file == path}
        unreached = [call for call in findings_in(path) if lines.isdisjoint(range(call.lineno, call.end_lineno + 1))]
        missing.extend(f"{path.relative_to(PACKAGE)}:{call.lineno}" for call in unreached)
    assert missing == []


def test_every_rule_module_is_imported():
    names = {".".join(("cfglint", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__") for path in rule_modules()}
    assert sorted(names - set(sys.modules)) == []


def test_every_key_that_is_looked_up_exists(all_seen):
    without = ("launch", "megatron_swift", "openrlhf")  # kinds without files, and so without a schema
    looked_up = {(kind, key) for kind, key in all_seen.keys if kind not in without and key not in READ_ELSEWHERE}
    known = {kind: schema.load(kind).raw["properties"].keys() for kind, _ in looked_up}
    old = {("trl", key) for _, key in looked_up if HISTORY.ever(key)}  # the schemas have the fields of the newest release
    old |= {("swift", key) for _, key in looked_up if exists(key)}
    old |= {(kind, key) for kind, key in looked_up if key in FIELDS}
    old |= {(kind, key) for kind, key in looked_up for names in RENAMED.values() if key in names}
    assert {(kind, key) for kind, key in looked_up if key not in known[kind]} - old == set()


def test_codes_and_names_are_unique():
    codes = [rule.code for rule in rule_module.RULES]
    names = [name for rule in rule_module.RULES for name in rule.names]
    assert len(set(codes)) == len(codes)
    assert sorted(name for name, count in Counter(names).items() if count > 1) == []


def recorded(exceptions, remedies):
    """The module `_example_findings.py`, of the exceptions and the remedies of each rule's examples."""
    head = '"""What the bad examples of rules raise, and their remedies. Generated by tests/rules/test_examples.py."""\n\n'
    head += "# fmt: off\n# ruff: noqa: E501\nfrom __future__ import annotations\n\n"
    return f"{head}{table('RAISED', exceptions)}\n{table('REMEDIES', remedies)}"


def table(name, found):
    """The texts of each rule as source."""
    rows = "".join(f"    {code!r}: {tuple(longest(texts)[: MOST + 1])!r},\n" for code, texts in found)
    return f"{name}: dict[str, tuple[str, ...]] = {{\n{rows}}}\n"


def longest(texts):
    """The texts that are not the beginning of another one."""
    return [text for text in texts if not any(other != text and other.startswith(text) for other in texts)]
