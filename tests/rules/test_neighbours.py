"""What is right beside the examples: numbers one off, and a key less. A limit that moves by one is seen, and a condition that is gone."""

from __future__ import annotations

import json
import re
from itertools import count

import pytest

from cfglint.rules.catalogue import every_rule
from cfglint.source.errors import CfglintError
from examples import NAMES, example_texts, kind_of, recorded, run_of

KEY = re.compile(r"^([\w.-]+):.*\n?(?:[ \t#-].*\n?|\n)*", re.MULTILINE)  # a key at the top level of YAML, with what is below it
OPTION = re.compile(r" --([\w-]+)(?:[ =][^ -][^ \n]*)?")
NUMBER = re.compile(r"(?<![\w.+-])(0|[1-9]\d*)(\.\d+)?(?![\w.])")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    above = tmp_path_factory.mktemp("neighbours")
    return (str(above / str(number)) for number in count())


def neighbours(text):
    """(what was changed, text): each number of a text one less, one more, zero and negative."""
    for found in NUMBER.finditer(text):
        value = json.loads(found.group())
        line = text.count("\n", 0, found.start()) + 1
        for other in dict.fromkeys((value - 1, value + 1, 0, -1)):
            if other != value:
                yield f"{line}: {value} -> {other:.10g}", f"{text[: found.start()]}{other:.10g}{text[found.end() :]}"


def answer(rule, text, folder):
    run = run_of(rule, text, folder)
    numbers = ("micro_batch", "accumulation", "global_batch", "total_steps", "warmup_steps")
    found = sorted({f"{each.code} {each.severity}" for each in run.diagnostics})
    return ", ".join([*found, json.dumps([run.resolved[name] for name in numbers])])


@pytest.mark.slow
def test_numbers_beside_the_good_ones(root, folders, updating):
    """The numbers of good examples that change the answer when they change; `CFGLINT_UPDATE=1` rewrites the record."""
    lines = []
    for rule in sorted(every_rule(), key=lambda rule: rule.code):
        texts = rule.good if isinstance(rule.good, dict) else {"": rule.good}
        for name, text in texts.items():
            folder = next(folders)
            usual = answer(rule, rule.good, folder)
            for change, changed in neighbours(text):
                now = answer(rule, {**texts, name: changed} if name else changed, folder)
                if now != usual:
                    lines.append(f"{rule.code} {name}:{change}: {now}")
    assert lines == recorded(root / "tests" / "rules" / "expected" / "neighbours.txt", lines, updating)


def without_each_key(text, syntax):
    """(key, text without it) for the keys at the top level, or for the options of a launch line."""
    if syntax == "json":
        try:
            values = json.loads(text)
        except ValueError:
            return
        for key in values if isinstance(values, dict) and len(values) > 1 else ():
            yield key, json.dumps({other: value for other, value in values.items() if other != key})
        return
    found = [*(OPTION if syntax == "sh" else KEY).finditer(text)]
    for each in found if len(found) > 1 else ():
        yield each[1], text[: each.start()] + text[each.end() :]


def syntax_of(rule, name):
    return (name or rule.example.get("name") or NAMES[kind_of(rule)]).rpartition(".")[2]


def is_found(rule, texts, folder, facts):
    try:
        return any(each.code == rule.code for each in run_of(rule, texts, folder, facts).diagnostics)
    except CfglintError:  # no launch is left in a script
        return False


@pytest.mark.slow
def test_keys_that_decide(root, folders, updating):
    """The keys without which the bad example is still found, and those without which the good one is; `CFGLINT_UPDATE=1` rewrites them."""
    lines = []
    for rule in sorted(every_rule(), key=lambda rule: rule.code):
        for title, given, facts, bad in example_texts(rule):
            texts = given if isinstance(given, dict) else {"": given}
            still = []
            for name, text in texts.items():
                for key, changed in without_each_key(text, syntax_of(rule, name)):
                    if is_found(rule, {**texts, name: changed} if name else changed, next(folders), facts):
                        still.append(f"{name}:{key}" if name else key)
            if still:
                lines.append(f"{rule.code} {title}, {'still found' if bad else 'found'} without {', '.join(still)}")
    assert lines == recorded(root / "tests" / "rules" / "expected" / "keys.txt", lines, updating)
