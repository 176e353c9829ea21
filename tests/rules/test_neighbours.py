"""What is right beside the examples: numbers one off, and a key less. A limit that moves by one is seen, and a condition that is gone."""

from __future__ import annotations

import json
import re
from itertools import count

import pytest

from cfglint.rules.catalogue import every_rule
from cfglint.source import CfglintError
from examples import by_family, example_texts, found_by, kind_of, name_of, run_of
from records import check

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
    """(what is found, the numbers) of a text."""
    run = run_of(rule, text, folder)
    numbers = ("micro_batch", "accumulation", "global_batch", "total_steps", "warmup_steps")
    found = sorted({f"{each.code} {each.severity}" for each in run.diagnostics})
    return found, [run.resolved[name] for name in numbers]


def answers(rule, folder):
    """(what was changed, answer) of the neighbours of the good example whose answer is another one."""
    texts = rule.good if isinstance(rule.good, dict) else {"": rule.good}
    usual = answer(rule, rule.good, folder)
    for name, text in texts.items():
        for change, changed in neighbours(text):
            now = answer(rule, {**texts, name: changed} if name else changed, folder)
            if now != usual:
                yield f"{name} line {change}".lstrip(), now


@pytest.mark.slow
@pytest.mark.parametrize("family", by_family(every_rule()))
def test_numbers_beside_the_good_ones(family, root, folders, updating):
    """The limits of each rule, and the first number with which each finding of another one comes; `CFGLINT_UPDATE=1` rewrites them."""
    seen, now = set(), {}
    for rule in by_family(every_rule())[family]:
        lines = []
        for change, (found, numbers) in answers(rule, next(folders)):
            new = [each for each in found if each.startswith(rule.code) or each not in seen]
            seen.update(found)
            if new:
                lines.append(f"{change}: {', '.join(found)}, {json.dumps(numbers)}")
        if lines:
            now[f"{rule.code} {rule.name}: other numbers in the good example"] = lines
    check(root / "tests" / "rules" / "expected" / "neighbours" / f"{family}.txt", now, updating)


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
    return (name or name_of(rule.example, kind_of(rule))).rpartition(".")[2]


def is_found(rule, texts, folder, facts):
    try:
        return bool(found_by(rule, run_of(rule, texts, folder, facts)))
    except CfglintError:  # no launch is left in a script
        return False


def needless(rule, folders):
    """(example, the keys without which a finding of the rule is there)."""
    for title, given, facts, bad in example_texts(rule):
        texts = given if isinstance(given, dict) else {"": given}
        still = []
        for name, text in texts.items():
            for key, changed in without_each_key(text, syntax_of(rule, name)):
                if is_found(rule, {**texts, name: changed} if name else changed, next(folders), facts):
                    still.append(f"{name}:{key}" if name else key)
        if still:
            yield f"{title}, {'still found' if bad else 'found'} without {', '.join(still)}"


@pytest.mark.slow
@pytest.mark.parametrize("family", by_family(every_rule()))
def test_keys_that_decide(family, root, folders, updating):
    """The keys without which the bad example is still found, and those without which the good one is; `CFGLINT_UPDATE=1` rewrites them."""
    now = {
        f"{rule.code} {rule.name}: a key less": lines for rule in by_family(every_rule())[family] if (lines := [*needless(rule, folders)])
    }
    check(root / "tests" / "rules" / "expected" / "keys" / f"{family}.txt", now, updating)
