"""Follow a release of a framework: take it into the tables, lists, schema and notes, and print what it changed.

    python tools/follow.py PACKAGE VERSION [--from PATH] [--neighbour PATH] [--date YYYY-MM-DD] [--check] [--no-records]
    python tools/follow.py --new

PATH is the unpacked wheel (or source distribution) of the release; without it the release is downloaded from the package index. The tables
grow from the committed ones and this release alone: the facts of all other releases stay as they are. A release older than the
newest one goes into the tables and lists only. `--neighbour` is the unpacked release before it, whose checks are compared; the
committed history of checks (tools/checks) is used where it has that release, else the release is downloaded. `--check` writes nothing.

Printed are the fields that were added, removed or (a guess) renamed, changed defaults and choices, names that programs can no longer or
newly import, and every `raise`, `assert` and validator that was added, changed (not only by the name of a renamed field) or removed, with
the rules that quote its exception. Exits 0 when nothing needs a hand, 1 when something does: a new or changed check without a rule (a check
that no file decides goes into tools/checks/undecidable.json with the reason), a removed check whose rule is still declared for the release,
a key without a description.
Exits 2 when the release cannot be read.

`--new` prints what the newest release of each package on the index would change, where the index can be reached; it writes nothing and
exits 0.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import functools
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.error
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import covering_rules
import follow_fields
import follow_notes
import import_names
import list_releases
import list_requirements
import rebuild_tables
import row_table_text
import schema_merge
import source_checks
import trainer_signatures
from history_rows import Fact, Facts, Release, same
from packaging.version import InvalidVersion, Version
from row_expressions import every
from schema_source import SourceError, Tree, release
from source_checks import Change, Check

from cfglint.findings.rule import pages_of_checks

ROOT = schema_merge.ROOT
EXAMPLES = ("tests/rules",)
RECORDS = (  # what shows the findings of examples, after these; and what shows defaults
    *("tests/test_docs.py", "tests/test_example_files.py", "tests/test_rules_doc.py", "tests/report/test_recorded.py"),
    *("tests/review/test_recorded.py", "tests/explanation/test_recorded.py", "tests/frameworks/memory/test_settings.py"),
    *("tests/cli/test_transcripts.py", "tests/run/test_projects.py", "tests/schemas/test_draft7.py"),
    *("tests/generators/test_options.py", "tests/generators/test_facts.py", "tests/launch/programs/test_facts.py"),
    "tests/explanation/test_failures.py::test_the_predicted_exceptions_are_those_of_the_records",
)
SHOWN = 110  # characters of a message
NOT_REACHED = (urllib.error.URLError, OSError)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("package", nargs="?", choices=sorted(kinds()), help="trl, transformers, ...")
    parser.add_argument("version", nargs="?", help="the release: 1.17.0")
    parser.add_argument("--from", dest="path", type=Path, help="the unpacked wheel of the release")
    parser.add_argument("--neighbour", type=Path, help="the unpacked wheel of the release before it")
    parser.add_argument("--date", help="the day of the release, where the index does not say it; else today")
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--no-records", action="store_true", help="do not rewrite the records of documents and examples")
    parser.add_argument("--new", action="store_true", help="print what the newest releases of the index change")
    options = parser.parse_args()
    if options.new:
        return news()
    if not (options.package and options.version):
        parser.error("PACKAGE and VERSION, or --new")
    try:
        with tempfile.TemporaryDirectory() as scratch:
            return follow(options, Path(scratch))
    except (SourceError, InvalidVersion, *NOT_REACHED) as problem:
        print(problem, file=sys.stderr)
        return 2


def kinds() -> dict[str, str]:
    """Package -> kind, of the kinds with a history of all releases and a schema."""
    kinds = (path.stem.removeprefix("tables_") for path in Path(__file__).parent.glob("tables_*.py"))
    found = {kind: importlib.import_module(f"tables_{kind}") for kind in kinds if (Path(__file__).parent / f"schema_{kind}.py").exists()}
    return {str(module.PACKAGE): kind for kind, module in found.items() if hasattr(module, "known")}


class Following:
    """A release that is followed: its sources, the committed facts of all releases, and its own."""

    def __init__(self, package: str, version: str, path: Path, day: str) -> None:
        self.package, self.name, self.path, self.day = package, version, path, day
        self.kind = kinds()[package]
        self.release = release(version)
        self.source: ModuleType = importlib.import_module(f"tables_{self.kind}")
        self.schema: ModuleType = importlib.import_module(f"schema_{self.kind}")
        self.tree: Tree = self.schema.find(path)
        self.target = ROOT / "cfglint" / "frameworks" / self.kind / "_tables.py"
        tables: dict[str, Any] = {}
        exec(self.target.read_text(encoding="utf-8"), tables)  # the committed file, also when it was changed since this process began
        self.before: dict[Release, Facts] = self.source.known(argparse.Namespace(**tables))
        self.facts: Facts = self.source.facts(path, self.release, days(package, version, day))
        self.checks: list[Check] = source_checks.checks(self.tree.root, package)
        self.others = {each: facts for each, facts in self.before.items() if each != self.release}
        self.imports: str | None = None  # the names that programs import, if they are known

    @property
    def neighbour(self) -> Release:
        """The release before this one; for the first one that after it."""
        older = [other for other in self.others if other < self.release]
        return max(older) if older else min(self.others)

    @property
    def renamed(self) -> dict[str, str]:
        """The former name of each field that seems to have been renamed, and the new one."""
        guesses = follow_fields.renamed(self.others[self.neighbour].sections, self.facts.sections)
        return {guess.old: guess.new for guess in guesses}

    @property
    def is_newest(self) -> bool:
        """Whether no later release is known."""
        return bool(self.release > max(self.others))

    @functools.cached_property
    def functions(self) -> list[row_table_text.Function]:
        """The functions of the release as rows, if the kind has rows."""
        return [*importlib.import_module(f"rows_{self.kind}").functions(self.path)] if self.kind in rebuild_tables.WITH_ROWS else []

    def rows(self) -> row_table_text.Table:
        """The rows of all releases with this one."""
        table = row_table_text.Table.read(self.target.with_name(row_table_text.NAME), self.others)
        table.add(self.release, self.functions)
        return table

    def is_followed(self) -> bool:
        """Whether the committed tables and rows have the release as it is."""
        if self.release not in self.before or self.tables() != self.target.read_text(encoding="utf-8"):
            return False
        path = self.target.with_name(row_table_text.NAME)
        return self.kind not in rebuild_tables.WITH_ROWS or self.rows().text() == path.read_text(encoding="utf-8")

    def covering(self, check: Check) -> str:
        """Why a check needs no rule: it is one of the rows, or its condition names no field; empty if it may need one."""
        pattern = re.compile(re.escape(check.text).replace(re.escape("{}"), ".*"), re.DOTALL)
        if any(pattern.match(text) for text in self.messages):  # the text of a check may be cut off
            return "a row"
        if check.kind == "validator":
            return "a row" if check.where.rpartition(".")[2] in {function.name.rpartition(".")[2] for function in self.functions} else ""
        fields = {name for section in self.facts.sections.values() for name in section}
        return "" if fields.intersection(re.findall(r"\w+", check.condition)) else "none: no field decides it"

    @functools.cached_property
    def messages(self) -> list[str]:
        """What the rows raise; the values in it are left out."""
        says = [(row["raise"], row["say"]) for function in self.functions for row in every(function.rows) if "raise" in row]
        texts = [(kind, say if isinstance(say, str) else "".join(part for part in say[1:] if isinstance(part, str))) for kind, say in says]
        return [f"{kind}: {text}" for kind, text in texts]

    def tables(self) -> str:
        """The text of the tables with this release; SourceError if that would change what they say of another one."""
        text = str(self.source.text({**self.others, self.release: self.facts}))
        names: dict[str, Any] = {}
        exec(text, names)
        after: dict[Release, Facts] = self.source.known(argparse.Namespace(**names))
        compared = getattr(self.source, "compared", tuple)
        for each, facts in self.others.items():
            now = after[each].sections
            if any(not is_kept(found, now.get(name, {}), compared) for name, found in facts.sections.items()):
                raise SourceError(f"{self.target}: the fields of {'.'.join(map(str, each))} would change")
        return text


def is_kept(before: Mapping[str, Fact], after: Mapping[str, Fact], compared: Callable[[Fact], Fact]) -> bool:
    """Whether a section has the same fields and, of their facts, all that is `compared`."""
    return before.keys() == after.keys() and all(same(compared(fact), compared(after[name])) for name, fact in before.items())


def days(package: str, version: str, day: str) -> dict[str, dict[str, str]]:
    """Package -> release -> its day, by the committed list and the release that is followed."""
    from cfglint.frameworks.releases._dates import RELEASES

    found = {}
    for name, text in RELEASES.items():
        pairs = (each.partition("@")[::2] for each in text.split())
        found[name] = {each: f"20{of[:2]}-{of[2:4]}-{of[4:]}" for each, of in pairs}
    found.setdefault(package, {}).setdefault(version, day)
    return found


def follow(options: argparse.Namespace, scratch: Path) -> int:
    """Follow one release: 1 when something needs a hand."""
    Version(options.version)
    given = Following(*located(options, scratch))
    if given.is_followed():
        print(f"{given.package} {given.name}: followed, nothing to change")
        return 0
    print(f"{given.package} {given.name}, compared with {'.'.join(map(str, given.neighbour))}")
    before = given.others[given.neighbour]
    lines = list(follow_fields.changes(before.sections, given.facts.sections))
    lines += follow_fields.changes_of_names(before.names, given.facts.names)
    print("\nfields and values:" if lines else "\nfields and values: no change")
    print("".join(f"  {line}\n" for line in lines), end="")
    history, changed = compared_checks(given, options.neighbour, scratch)
    report_trainers(given)
    report_imports(given, options.neighbour, scratch)
    needs = [*report_checks(given, changed)]
    report_removed(given)
    if not options.check:
        needs += written(given, history)
        if given.is_newest:
            report_pinned(given, "examples of rules")
        if given.is_newest and not options.no_records:
            needs += records()
            needs += report_pinned(given, "tests", "--tests")
    print("\nneeds a hand:" if needs else "\nnothing needs a hand")
    print("".join(f"  {line}\n" for line in needs), end="")
    return 1 if needs else 0


def report_removed(given: Following) -> None:
    """Print the removed fields that cfglint's own code reads by name, and that no field is known to replace."""
    kept = {name for section in given.facts.sections.values() for name in section}
    before = given.others[given.neighbour].sections
    removed = {name for section in before.values() for name in section} - kept - given.renamed.keys()
    lines = [f"{name}: {', '.join(found)}" for name in sorted(removed) if (found := read_in(name, given.target.parent))]
    if lines and given.is_newest:
        print(
            f"\nremoved fields that cfglint reads by name: if another one replaces it, add it to {schema_merge.RENAMES.relative_to(ROOT)}:"
        )
        print("".join(f"  {line}\n" for line in lines), end="")


def read_in(name: str, folder: Path) -> list[str]:
    """The modules of a framework that have a string with the name of a field."""
    modules = (path for path in sorted(folder.rglob("*.py")) if not path.name.startswith("_"))
    return [str(path.relative_to(ROOT)) for path in modules if f'"{name}"' in path.read_text(encoding="utf-8")]


def report_trainers(given: Following) -> None:
    """Print the changed parameters of trainers."""
    if given.package in trainer_signatures.PACKAGES:
        lines = trainers(given)[1]
        print("\nparameters of trainers:" if lines else "\nparameters of trainers: no change")
        print("".join(f"  {line}\n" for line in lines), end="")


def report_imports(given: Following, neighbour: Path | None, scratch: Path) -> None:
    """Print the names for programs to import that the newest release has removed or added."""
    if given.package not in import_names.PACKAGES or not given.is_newest:
        return
    try:
        before = neighbour or neighbour_of(given, scratch)
    except (SourceError, *NOT_REACHED):
        print("\nnames to import: not compared, the release before it cannot be had: pass --neighbour PATH")
        return
    given.imports, lines = import_names.with_release(given.package, given.release, given.tree.root.parent, before)
    print("\nnames to import:" if lines else "\nnames to import: no change")
    print("".join(f"  {line}\n" for line in lines), end="")


def neighbour_of(given: Following, scratch: Path) -> Path:
    """The folder of the release before this one, which is downloaded once."""
    name = ".".join(map(str, given.neighbour))
    path = scratch / name
    return path if path.is_dir() else downloaded(given.package, name, scratch)[0]


def trainers(given: Following) -> tuple[str, list[str]]:
    """(the text of the parameters of trainers with the release, what changed)."""
    return trainer_signatures.with_release(given.package, given.release, given.tree.root.parent, given.others)


def located(options: argparse.Namespace, scratch: Path) -> tuple[str, str, Path, str]:
    """(package, version, folder of its sources, day of the release)."""
    known = days(options.package, options.version, "")[options.package][options.version]
    day = options.date or known or datetime.date.today().isoformat()
    if options.path is not None:
        return options.package, options.version, options.path, day
    path, day = downloaded(options.package, options.version, scratch)
    return options.package, options.version, path, options.date or day


def downloaded(package: str, version: str, scratch: Path) -> tuple[Path, str]:
    """The folder of a release of the index, and its day."""
    answer = list_releases.from_index(package, rebuild_tables.INDEX)
    files = [each for each in (answer or {"files": []})["files"] if str(list_releases.version_of(each["filename"])) == version]
    if not files:
        raise SourceError(f"{package} {version} is not in the index: pass --from PATH")
    path = scratch / version
    rebuild_tables.unpack(package, files, path)
    return path, list_releases.date_of(files).isoformat()


# Checks


def compared_checks(given: Following, neighbour: Path | None, scratch: Path) -> tuple[dict[Release, list[Check]], list[Change] | None]:
    """(the committed history with this release, what changed against its neighbour, None where that cannot be had)."""
    history = source_checks.history(given.package)
    before = history.get(given.neighbour)
    if neighbour is not None or before is None:
        with contextlib.suppress(SourceError, *NOT_REACHED):
            path = neighbour or neighbour_of(given, scratch)
            before = source_checks.checks(given.schema.find(path).root, given.package)
    if given.release > min(history) if history else given.is_newest:
        history = {**{each: found for each, found in history.items() if each in given.others}, given.release: given.checks}
    if before is None:
        return history, None
    names = {new: old for old, new in given.renamed.items()}
    former = source_checks.checks(given.tree.root, given.package, names) if names else given.checks
    return history, source_checks.changes_but_of_names(before, given.checks, former)


def report_checks(given: Following, changed: list[Change] | None) -> Iterator[str]:
    """Print the changed checks, each with its rules; what needs a hand."""
    if changed is None:
        print("\nchecks: not compared, the release before it cannot be had: pass --neighbour PATH")
        return
    print("\nchecks:" if changed else "\nchecks: no change")
    notes = source_checks.undecidable(given.package)
    removed = {rule for each in changed if each.what == "removed" for rule in covering_rules.rules_of(each.check, given.package)}
    ended = removed - remaining_rules(given) if removed else set()
    for each in changed:
        rules = rules_of(each.check, given)
        if each.before is not None:
            rules = rules or [f"{rule} (its former words)" for rule in covering_rules.rules_of(each.before, given.package)]
        why = source_checks.reason(each.check, notes) or given.covering(each.check)
        print(f"  {each.what:8}{each.check.place}: {each.check.text[:SHOWN]}")
        print(f"{details(each)}          rule: {', '.join(rules) or why or 'none'}")
        if each.what != "removed":
            if (not rules or rules[0].endswith("words)")) and not why:
                yield f"{each.what} check without a rule: {each.check.place}: {each.check.text[:SHOWN]}"
        else:
            yield from still_declared(given, each.check, ended.intersection(rules))


def rules_of(check: Check, given: Following) -> list[str]:
    """The rules that cover a check; those of a validator cover the exceptions that it raises."""
    if check.kind != "validator":
        return covering_rules.rules_of(check, given.package)
    raised = [each for each in given.checks if each.kind != "validator" and f"{each.place}.".startswith(f"{check.place}.")]
    return sorted({rule for each in raised for rule in covering_rules.rules_of(each, given.package)})


def details(change: Change) -> str:
    """The conditions of a check, before and after."""
    lines = []
    if change.before is not None and change.before.text != change.check.text:
        lines.append(f"          was: {change.before.text[:SHOWN]}\n")
    if change.before is not None and change.check.kind != "validator" and change.before.condition != change.check.condition:
        lines.append(f"          if was: {change.before.condition or 'always'}\n")
    if change.what != "removed" and change.check.kind != "validator":
        lines.append(f"          if: {change.check.condition or 'always'}\n")
    return "".join(lines)


def remaining_rules(given: Following) -> set[str]:
    """The rules of the checks that a release has."""
    return {rule for check in given.checks for rule in covering_rules.rules_of(check, given.package)}


def still_declared(given: Following, check: Check, ended: set[str]) -> Iterator[str]:
    """The rules of a removed check that run in the release although nothing in it raises their exception."""
    from cfglint.rules.catalogue import every_rule

    for rule in every_rule():
        if rule.code in ended and all_in(rule.releases, given.release):
            remedy = f"give it `releases=` until {given.name}"
            yield f"removed check whose rule still runs: {rule.code} {rule.name}: {remedy}: {check.text[:SHOWN]}"


def all_in(declared: tuple[Any, ...], version: Release) -> bool:
    """Whether a rule runs in a release."""
    return not declared or any(version in each for each in declared)


# What is written


def written(given: Following, history: dict[Release, list[Check]]) -> list[str]:
    """Write tables, lists, checks, notes and schema; what needs a hand."""
    given.target.write_text(given.tables(), encoding="utf-8")
    needs = rows(given) if given.kind in rebuild_tables.WITH_ROWS else []
    if given.package in trainer_signatures.PACKAGES:
        given.target.with_name("_signatures.py").write_text(trainers(given)[0], encoding="utf-8")
    if given.imports is not None:
        given.target.with_name("_imports.py").write_text(given.imports, encoding="utf-8")
    folder = given.tree.root.parent
    list_requirements.TARGET.write_text(list_requirements.with_release(given.package, given.name, folder), encoding="utf-8")
    list_releases.TARGET.write_text(list_releases.with_release(given.package, given.name, given.day), encoding="utf-8")
    if history:
        (source_checks.FOLDER / f"{given.package}.json").write_text(source_checks.text(history), encoding="utf-8")
    return [*needs, *(take_into_schema(given) if given.is_newest else [])]


def rows(given: Following) -> list[str]:
    """Write the rows with those of this release; what it has to have by hand."""
    table = given.rows()
    given.target.with_name(row_table_text.NAME).write_text(table.text(), encoding="utf-8")
    asked = table.questions(given.release) - table.questions(given.neighbour)
    by_hand = [f"by hand: {line}" for line in table.unread(given.release, given.neighbour)]
    pages = pages_of_checks(given.kind)
    gone = table.spoken_of(given.neighbour, pages) - table.spoken_of(given.release, pages)
    return [
        *by_hand,
        *(f"question to the environment that is new: {question}" for question in sorted(asked)),
        *(f"page whose checks are gone: {code}" for code in sorted(gone)),
    ]


def take_into_schema(given: Following) -> list[str]:
    """Write notes, schema, renamed fields and what names the newest release; what the notes lack."""
    schema_merge.RENAMES.write_text(renames(given), encoding="utf-8")
    notes, schema = schema_merge.NOTES / f"{given.kind}.json", schema_merge.SCHEMAS / f"{given.kind}.json"
    definitions = given.schema.definitions(given.tree) if hasattr(given.schema, "definitions") else {}
    text, said = follow_notes.updated(
        notes.read_text(encoding="utf-8"),
        given.schema.facts(given.tree),
        definitions,
        given.renamed,
        given.tree,
        json.loads(schema.read_text(encoding="utf-8"))["properties"] if hasattr(given.schema, "histories") else None,
    )
    notes.write_text(text, encoding="utf-8")
    print("\nnotes:" if said else "\nnotes: no change")
    print("".join(f"  {line}\n" for line in said), end="")
    tool = ROOT / "tools" / "rebuild_schema.py"
    command = [sys.executable, str(tool), given.kind, str(given.path.resolve()), "--release", given.name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # in a process that has the new tables
    return [f"tools/notes/{given.kind}.json: {line}" for line in done.stderr.splitlines()] if done.returncode else []


def renames(given: Following) -> str:
    """The text of the renamed fields with those of the release; what is written there of a field stays."""
    kept = {name for section in given.facts.sections.values() for name in section}
    found: dict[str, dict[str, list[str]]] = json.loads(schema_merge.RENAMES.read_text(encoding="utf-8"))
    names = {old: [new, given.name] for old, new in given.renamed.items() if old not in kept}
    if names or given.package in found:
        found[given.package] = {**names, **found.get(given.package, {})}
    return json.dumps(found, indent=1, sort_keys=True) + "\n"


def report_pinned(given: Following, what: str, *options: str) -> list[str]:
    """Let examples of rules or tests that the release changes ask the release before it, in a process that has the new tables; what
    needs a hand.
    """
    tool, before = ROOT / "tools" / "example_releases.py", ".".join(map(str, given.neighbour))
    command = [sys.executable, str(tool), given.package, before, given.name, *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = [*done.stdout.splitlines(), *done.stderr[-SHOWN:].splitlines()]
    print(f"\n{what}:" if lines else f"\n{what}: no change")
    print("".join(f"  {line}\n" for line in lines), end="")
    return [line for line in lines if line.endswith(": fails")]


def records() -> Iterator[str]:
    """Rewrite what documents, examples and records show of the newest release; what could not be run."""
    for tests in (EXAMPLES, RECORDS):
        command = [sys.executable, "-m", "pytest", "-q", "-m", "slow or not slow", "-n", "2", *tests]
        done = subprocess.run(command, cwd=ROOT, env={**os.environ, "CFGLINT_UPDATE": "1"}, capture_output=True, text=True, check=False)
        last = ([*done.stdout.splitlines(), *done.stderr.splitlines()] or [""])[-1]
        print(f"\nrecords: {last}")
        if done.returncode > 1:  # no test was run
            yield f"records: {' '.join(tests)}: {last}"


# The index


def news() -> int:
    """Print what the newest release of each package on the index would change."""
    from cfglint.frameworks.releases._modelled import RELEASES

    for package in sorted(kinds()):
        try:
            answer = list_releases.from_index(package, rebuild_tables.INDEX)
            newest = str(max(list_releases.dated((answer or {"files": []})["files"]), default=Version("0")))
            if Version(newest) <= Version(RELEASES[package]):
                print(f"{package}: {RELEASES[package]} is the newest release of the index")
                continue
            with tempfile.TemporaryDirectory() as scratch:
                options = argparse.Namespace(
                    package=package, version=newest, path=None, neighbour=None, date=None, check=True, no_records=True
                )
                follow(options, Path(scratch))
        except (SourceError, *NOT_REACHED) as problem:
            print(f"{package}: {problem}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
