"""Following a release: a made-up one, whose source is written from the committed tables of the newest release with some changes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cases import each_case
from cfglint.frameworks.releases._modelled import RELEASES
from cfglint.frameworks.releases._requirements import REQUIREMENTS
from cfglint.frameworks.releases.history import DEFAULT, TYPE, UNTIL
from cfglint.frameworks.releases.versions import parse_version
from cfglint.frameworks.trl.releases import ENTRY, HISTORY, is_experimental
from cfglint.frameworks.trl.source_fields import BESIDE, CONFIGS, DATASET, DATASET_SECTION

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent.parent
NEWEST = parse_version(RELEASES["trl"])
NEXT = f"{NEWEST[0]}.{NEWEST[1] + 1}.0"
COPIED = ("cfglint", "tools", "schemas", "README.md", "editors/schemas.md", "pyproject.toml", "tests/examples.py", "tests/rules")
TYPES = {"enum": "Choice", "list:object": "list[Any]"}
CHECK = """
    def __post_init__(self):
        if self.packing and self.loss_type == "focal":
            raise ValueError(f"The focal loss does not support packing, but `packing` is {self.packing}.")
"""


def annotation(row):
    kind, optional = row[TYPE].removesuffix("|None"), row[TYPE].endswith("|None")
    text = TYPES.get(kind) or (f"list[{kind.partition(':')[2]}]" if ":" in kind else kind)
    return f"{text} | None" if optional else text


def source_of(row):
    """The line of a dataclass for a row of the tables."""
    values = f', metadata={{"choices": {list(row[UNTIL + 1])!r}}}' if len(row) > UNTIL + 1 else ""
    default = "" if row[DEFAULT] == "required" else f"default={row[DEFAULT]!r}"
    return f"    {row[0]}: {annotation(row)} = field({(default + values).removeprefix(', ')})\n"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """An unpacked wheel with the classes of the newest release."""
    folder = tmp_path_factory.mktemp("wheels") / "wheel"
    root = folder / "trl"
    metadata = folder / f"trl-{NEXT}.dist-info"
    metadata.mkdir(parents=True)
    metadata.joinpath("METADATA").write_text(f"Requires-Dist: transformers{REQUIREMENTS['trl']['transformers'][-1][1]}\n")
    places = {**BESIDE, DATASET_SECTION: (DATASET,)}
    for section, fields in {**HISTORY.at(NEWEST), DATASET_SECTION: ENTRY.fields(DATASET_SECTION, NEWEST)}.items():
        place = f"experimental/{section}" if is_experimental(section, NEWEST) else "trainer"
        file, name = (f"{place}/{section}_config.py", CONFIGS[section]) if section in CONFIGS else places[section][0]
        base = "(TrainingArguments)" if section in CONFIGS else ""
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as out:
            out.write(f"class {name}{base}:\n    x = 1\n" + "".join(map(source_of, fields.values())))
    for folder_name in ("", "trainer", "scripts"):
        (root / folder_name / "__init__.py").touch()
    (root / "trainer" / "sft_trainer.py").touch()
    with (root / "scripts" / "utils.py").open("a") as out:
        out.write('ENVIRONMENT = "env"  # the key that the parser itself reads\n')
    return folder


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """A copy of what following a release reads and writes, whose history of checks begins with the made-up source."""
    folder = tmp_path_factory.mktemp("copy")
    for name in COPIED:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    (folder / "tools" / "checks" / "trl.json").write_text(json.dumps({"releases": [list(NEWEST)], "checks": []}))
    return folder


def followed(copied, wheel, *options):
    """(exit status, output) of following the made-up release."""
    before = ("--neighbour", str(wheel.parent / "before"))
    command = [sys.executable, "tools/follow.py", "trl", NEXT, "--from", str(wheel), *before, "--no-records", *options]
    done = subprocess.run(command, cwd=copied, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def answered(copied, release):
    """All fields of a release by the tables of the copy."""
    fields = f"{{name: {{key: row[:3] + row[5:] for key, row in found.items()}} for name, found in HISTORY.at({release!r}).items()}}"
    code = f"from cfglint.frameworks.trl.releases import HISTORY; print({fields})"
    return subprocess.run([sys.executable, "-c", code], cwd=copied, capture_output=True, text=True, check=True).stdout


def chosen_fields():
    """(renamed, two with a changed default, one with a new choice): fields of the newest release, whatever their names are in it."""
    rows = list(HISTORY.fields("sft", NEWEST).values())
    notes = json.loads((ROOT / "tools" / "notes" / "trl.json").read_text())["keys"]
    choices = {row[0]: row for row in rows if len(row) > UNTIL + 1}
    renamed = [row for row in rows if row[TYPE].startswith("str") and row[DEFAULT] is None and row[0] in notes and len(row[0]) > 8]
    numbers = [row for row in rows if row[TYPE].startswith("int") and isinstance(row[DEFAULT], int)]
    texts = [row for row in rows if row[TYPE] == "str" and isinstance(row[DEFAULT], str) and row[0] not in choices]
    return renamed[0], (numbers[0], texts[0]), next(iter(choices.values()))


@pytest.fixture(scope="module")
def changed(wheel):
    """The made-up release: one field renamed, two defaults and the choices of one field changed, one check added,
    one function removed and one added.
    """
    shutil.copytree(wheel, wheel.parent / "before")
    for folder, name in ((wheel.parent / "before", "made_up_before"), (wheel, "made_up_now")):
        with (folder / "trl" / "scripts" / "utils.py").open("a") as out:
            out.write(
                f"def {name}(): ...\n"
                if name == "made_up_before"
                else f"def {name}(args):\n    if args.packing:\n        raise ValueError('The made-up text is refused')\n"
            )
    path = wheel / "trl" / "trainer" / "sft_config.py"
    text = path.read_text()
    renamed, (number, words), choice = chosen_fields()
    for row, after in (
        (renamed, (renamed[0] + "_text", *renamed[1:])),
        (number, (*number[:DEFAULT], number[DEFAULT] * 2, *number[DEFAULT + 1 :])),
        (words, (*words[:DEFAULT], "content", *words[DEFAULT + 1 :])),
        (choice, (*choice[: UNTIL + 1], (*choice[UNTIL + 1], "focal"))),
    ):
        assert text.count(source_of(row)) == 1, row
        text = text.replace(source_of(row), source_of(after))
    path.write_text(text + CHECK)
    return wheel


def test_a_release_is_taken_in_and_its_new_check_is_a_row_or_asks_for_a_rule(copied, changed):
    """All in one, as the steps build on each other: nothing to do but the rule, and other releases answer as before."""
    renamed, (number, words), choice = chosen_fields()
    new, described = f"{renamed[0]}_text", json.loads((copied / "tools" / "notes" / "trl.json").read_text())["keys"][renamed[0]]
    before = [answered(copied, release) for release in ((0, 17, 0), NEWEST)]
    status, said = followed(copied, changed)
    assert status == 1, said
    lines = [line.strip() for line in said.splitlines()]
    assert f"sft: renamed `{renamed[0]}` to `{new}` (a guess: same type and default, similar name)" in lines
    assert f"sft: `{number[0]}`: default {number[DEFAULT]} -> {2 * number[DEFAULT]}" in lines
    assert f'sft: `{words[0]}`: default "{words[DEFAULT]}" -> "content"' in lines
    assert f'sft: `{choice[0]}`: choices: added "focal"' in lines
    module = "trl.scripts.utils"
    assert [line for line in lines if line.startswith(f"{module}.made_up")] == [
        f"{module}.made_up_before: removed",
        f"{module}.made_up_now: added",
    ]
    assert len([line for line in lines if line.startswith(("sft: ", "dpo: ", "grpo: "))]) == 4
    assert "rule: a row" in lines  # the check of the focal loss
    place = "added check without a rule: scripts/utils.py:made_up_now: ValueError: The made-up text is refused"
    needs = lines[lines.index("needs a hand:") + 1 :]
    assert needs[0] == place
    assert all(line.startswith("page whose checks are gone: TRL") for line in needs[1:])  # the made-up wheel lacks the other checks
    assert [answered(copied, release) for release in ((0, 17, 0), NEWEST)] == before
    assert f"'{new}': ('{new}'" in answered(copied, parse_version(NEXT))
    imports = (copied / "cfglint" / "frameworks" / "trl" / "_imports.py").read_text().splitlines()
    names = [line.strip() for line in imports if "made_up" in line]
    assert names == [f'(((), {parse_version(NEXT)}),): "made_up_before",', f'(({parse_version(NEXT)}, ()),): "made_up_now",']
    assert f'"trl": "{NEXT}"' in (copied / "cfglint" / "frameworks" / "releases" / "_modelled.py").read_text()
    notes = json.loads((copied / "tools" / "notes" / "trl.json").read_text())["keys"]
    assert notes[new]["description"] == described["description"]
    schema = json.loads((copied / "schemas" / "trl.json").read_text())
    assert schema["x-framework"]["version"] == NEXT
    assert new in schema["properties"]

    # Now it is followed: nothing is printed, and nothing changes.
    tables = (copied / "cfglint" / "frameworks" / "trl" / "_tables.py").read_text()
    status, said = followed(copied, changed)
    assert (status, said) == (0, f"trl {NEXT}: followed, nothing to change\n")
    assert (copied / "cfglint" / "frameworks" / "trl" / "_tables.py").read_text() == tables


@each_case(
    ("rule", "reasons"),
    [
        ('TEXT = "ValueError: The made-up text is refused"\n', ""),
        ("", json.dumps([{"package": "trl", "message": "The made-up text", "reason": "made up"}])),
    ],
)
def test_a_check_with_a_rule_or_a_reason_needs_no_hand(copied, changed, rule, reasons):
    notes, module = copied / "tools" / "checks" / "undecidable.json", copied / "cfglint" / "frameworks" / "trl" / "rules" / "focal.py"
    tables = copied / "cfglint" / "frameworks" / "trl" / "_tables.py"
    before, text = notes.read_text(), tables.read_text()
    module.write_text(rule)
    notes.write_text(reasons or before)
    tables.write_text((ROOT / "cfglint" / "frameworks" / "trl" / "_tables.py").read_text())
    status, said = followed(copied, changed, "--check")
    module.unlink()
    notes.write_text(before)
    tables.write_text(text)
    assert (status, "rule: made up" in said or bool(rule)) == (0, True), said


def test_a_validator_is_covered_by_the_rules_of_its_exceptions():
    """As it has no words of its own that a rule could quote; one that raises nothing asks for a hand."""
    code = """
import sys
sys.path.insert(0, "tools")
from types import SimpleNamespace
import follow, source_checks
validator = source_checks.Check("config.py", "Config.check_length", "validator", "", "", "0123")
words = "When `padding_free=True` without packing, `max_length` is not enforced."
raised = validator._replace(kind="raise", exception="ValueError", message=words)
for checks in ([validator, raised], [validator], [validator, raised._replace(where="Config.check_length_of_all")]):
    print(follow.rules_of(validator, SimpleNamespace(package="trl", checks=checks)))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["['TRL041']", "[]", "[]"]


def test_the_tests_that_write_records_are_where_it_looks(root):
    named = re.findall(r'"(tests(?:/\w+)+(?:\.py)?)(?:::(\w+))?"', (root / "tools" / "follow.py").read_text(encoding="utf-8"))
    assert len(named) > 10
    missing = [path for path, _ in named if not (root / path).exists()]
    missing += [test for path, test in named if test and f"def {test}(" not in (root / path).read_text(encoding="utf-8")]
    assert missing == []
