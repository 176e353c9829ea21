"""What axolotl hands to the Trainer: of a plain file, and what other lines of a file change in it.

A case of `handed.txt` is the lines, and the fields that are other, with axolotl's own key where it has another name.
`CFGLINT_UPDATE=1` rewrites the fields.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import records
from cfglint.frameworks import framework, modelled_releases
from cfglint.frameworks.axolotl import NEWEST
from cfglint.frameworks.axolotl.trainer_arguments import trainer_fields
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.source.parse import parse
from examples import recorded
from release_changes import ReleaseChanges

FILE = Path(__file__).parent / "handed.txt"
PLAIN = (
    "base_model: org/model\nlearning_rate: 2.0e-5\ndatasets: [{path: data.jsonl, type: alpaca}]\n"
    "micro_batch_size: 2\ngradient_accumulation_steps: 4\n"
)
FACTS = LaunchFacts(gpus=8, num_examples=10_000, complete=True, kind_given=True)


class Refused(Exception):
    """The validation refuses the file, so that nothing is handed on."""


def fields(lines, release=NEWEST):
    """The Trainer's fields as text."""
    text = PLAIN + lines.replace("; ", "\n") + "\n"
    config = framework("axolotl").config([parse("config.yml", text, "yaml")], ["axolotl"], FACTS.replace(target={"axolotl": release}))
    if config.model is None:
        raise Refused(lines)
    given, filled, source = trainer_fields(config)
    values = {**filled, **given}
    return {key: json.dumps(value) + (f" ({source[key]})" if key in source else "") for key, value in sorted(values.items())}


def test_what_the_trainer_gets(updating):
    usual = fields("")
    lines = []
    for case in FILE.read_text(encoding="utf-8").strip().split("\n\n"):
        title = case.partition("\n")[0]
        now = usual if title == "(plain)" else fields(title)
        changed = now if title == "(plain)" else {key: value for key, value in now.items() if value != usual.get(key)}
        gone = [key for key in usual if key not in now]
        lines += [title, *(f"  {key}: {value}" for key, value in changed.items()), *(f"  no {key}" for key in gone), ""]
    assert lines[:-1] == recorded(FILE, lines[:-1], updating)


def test_what_a_release_changes_in_what_the_trainer_gets(updating):
    """`CFGLINT_UPDATE=1` rewrites the record."""
    releases, usual, lines = modelled_releases("axolotl"), [], []
    for case in FILE.read_text(encoding="utf-8").strip().split("\n\n"):
        title = case.partition("\n")[0]
        changes = ReleaseChanges(partial(listed, title)).lines(releases)
        usual = usual or changes
        own = [line for line in changes if changes is usual or line not in usual]
        lines += [f"{records.MARK}{title}", *own] if own else []
    purpose = "What a release of axolotl changes in the fields that the Trainer gets; the others are those of the plain file."
    records.check_parts(FILE.with_name("handed_in_releases"), purpose, lines, updating)


def listed(title, release):
    """A text for each field in a release; none if it refuses the file."""
    try:
        return {f"{key}: {value}" for key, value in fields("" if title == "(plain)" else title, release).items()}
    except Refused:
        return set()
