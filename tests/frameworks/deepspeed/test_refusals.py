"""What a release refuses first, and values right beside these that it accepts.

A case of the folder `refusals` is the release and the keys beside `train_batch_size`, on 8 GPUs, and `=> /key: exception` or `=> accepted`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from examples import recorded
from records import check_cases

FOLDER = Path(__file__).parent / "refusals"


def test_the_first_refusals(runs, updating):
    """`CFGLINT_UPDATE=1` rewrites them."""

    def first(case):
        release, _, keys = case.partition(" ")
        run = runs.of({"train_batch_size": 8, **json.loads(keys)}, target=release)
        found = [f"{each.key}: {each.exception}" for each in run.diagnostics if each.severity == "error"]
        return found[0].splitlines() if found else ["accepted"]

    check_cases(FOLDER, first, updating)


NAMES = Path(__file__).parent / "names.txt"


ATTRIBUTE = re.compile(r"^(\w+):(?:.* attribute '(\w+)'$)?.*", re.DOTALL)


def outcome(run):
    """The type of the first exception and the attribute that it names, else the codes of what is said otherwise."""
    errors = [ATTRIBUTE.sub(r"\1 \2", each.exception).strip() for each in run.diagnostics if each.severity == "error"]
    others = " ".join(f"{each.severity} {each.code}" for each in run.diagnostics)
    return errors[0] if errors else others or "accepted"


def test_names(runs, updating):
    """What comes of each of the names in the place of `@`: a case is the release and the keys, then the outcomes with their names."""
    lines = []
    for case in NAMES.read_text(encoding="utf-8").strip().split("\n\n"):
        head, *rows = case.splitlines()
        release, _, keys = head.partition(" ")
        found = {}
        for name in (name for row in rows for name in row.partition(": ")[2].split()):
            run = runs.of({"train_batch_size": 8, **json.loads(keys.replace("@", name))}, target=release)
            found.setdefault(outcome(run), []).append(name)
        lines += [head, *(f"  {what}: {' '.join(names)}" for what, names in sorted(found.items())), ""]
    assert lines[:-1] == recorded(NAMES, lines[:-1], updating)
