"""Numbers right beside those of the good examples: a limit that moves by one is seen."""

from __future__ import annotations

import json
import re
from itertools import count

import pytest

from cfglint.rules.catalogue import every_rule
from examples import recorded, run_of

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
    """What changes when one number of a good example does; `CFGLINT_UPDATE=1` rewrites the record."""
    lines = []
    for rule in sorted(every_rule(), key=lambda rule: rule.code):
        texts = rule.good if isinstance(rule.good, dict) else {"": rule.good}
        for name, text in texts.items():
            folder = next(folders)
            for change, changed in neighbours(text):
                lines.append(f"{rule.code} {name}:{change}: {answer(rule, {**texts, name: changed} if name else changed, folder)}")
    assert lines == recorded(root / "tests" / "rules" / "expected" / "neighbours.txt", lines, updating)
