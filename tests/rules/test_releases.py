"""What each release changes in the findings of the examples: a version in a rule that moves by one release is seen.

The records are written by trying many releases, which is slow; the fast test tries the two at each recorded change. The cases of `releases`
are files for what no example reaches: a check of several releases, of which each is a variant.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cfglint.frameworks import framework, modelled_releases
from cfglint.rules.catalogue import every_rule
from cfglint.source import CfglintError
from examples import check_answers, example_texts, found_by, given_of, kind_of, launch_of, run_of
from records import CAME, MARK, check_parts, given, head, read
from release_changes import ReleaseChanges

KINDS = ("deepspeed", "huggingface", "accelerate", "trl", "axolotl", "llamafactory", "swift", "megatron_swift", "verl")
LONGEST = 100  # of a finding in a record of files
FEWER = 8  # releases between two that are tried: what comes and goes between them is recorded
FILES = sorted((Path(__file__).parent / "releases").glob("*.txt"))
NUMBERS = ("micro_batch", "accumulation", "global_batch", "total_steps", "warmup_steps")


class Example:
    """An example of a rule, to be checked in releases of the framework that it is for."""

    def __init__(self, rule, title, texts, facts):
        self.rule, self.texts, self.facts = rule, texts, dict(facts)
        self.name = f"{rule.code} {rule.name}, {title}"
        kind = {**rule.example, **self.facts}.get("kind", kind_of(rule))
        self.kind = rule.kinds[0] if kind == "launch" and rule.kinds else kind

    def changes(self, folder):
        """What releases change in what the rule finds."""
        return ReleaseChanges(lambda release: self.found(folder, release))

    def found(self, folder, release):
        """What the rule finds in a release, with what the framework raises, and the numbers of the run."""
        package = framework(self.kind).package
        target = {**self.rule.example.get("target", {}), **self.facts.get("target", {}), package: release}
        try:
            run = run_of(self.rule, self.texts, folder, {**self.facts, "target": target})
        except CfglintError:  # no run is left
            return set()
        texts = (f"{each.code} {each.exception or each.severity}" for each in found_by(self.rule, run))
        found = {text.partition("\n")[0].replace(f"{folder}/", "") for text in texts}
        return found | numbers_of(run)


def numbers_of(run):
    """The numbers of a run that its batch and its length depend on."""
    return {f"{name} {run.resolved[name]}" for name in NUMBERS if run.resolved.get(name) is not None}


def examples_of(kind):
    """The examples of a kind."""
    for rule in sorted(every_rule(), key=lambda rule: rule.code):
        every = (Example(rule, title, texts, facts) for title, texts, facts, _ in example_texts(rule))
        yield from (example for example in every if example.kind == kind)


def recorded(root, kind):
    """The folder of the record of a kind."""
    return root / "tests" / "rules" / "expected" / "releases" / kind


def former(root, kind):
    """The lines of the record of a kind, by the names of their examples."""
    return {name: lines for path in recorded(root, kind).glob("*.txt") for name, lines in read(path).items()}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_what_a_release_changes(kind, root, tmp_path, updating):
    """The findings that come and go with a release; the fields of each are in generated tables. `CFGLINT_UPDATE=1` rewrites the record."""
    releases, lines = modelled_releases(framework(kind).package), []
    expected = former(root, kind)
    for number, example in enumerate(examples_of(kind)):
        changes = example.changes(str(tmp_path / str(number))).lines(releases, expected.get(example.name, ()), FEWER)
        lines += [f"{MARK}{example.name}", *changes] if changes else []
    purpose = f"What a release of {framework(kind).package} changes in the findings of an example."
    check_parts(recorded(root, kind), purpose, lines, updating)


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_changes_what_is_recorded(kind, root, tmp_path):
    releases, wrong = modelled_releases(framework(kind).package), []
    expected = former(root, kind)
    for number, example in enumerate(examples_of(kind)):
        found = example.changes(str(tmp_path / str(number))).wrong(expected.get(example.name, ()), releases)
        wrong.extend(f"{example.name}, {each}" for each in found)
    assert not wrong, "\n".join(wrong)


def changes_of(kind, facts, texts, folder):
    """What releases change in a run of files."""

    def answer(release):
        target = {**facts.get("target", {}), framework(kind).package: release}
        run = launch_of(kind, texts, str(folder), {**facts, "target": target})
        found = (f"{each.code} {each.key} {each.fails_at or each.severity} {each.exception or ''}" for each in run.diagnostics)
        return {text.partition("\n")[0][:LONGEST].rstrip() for text in found} | numbers_of(run)

    return ReleaseChanges(answer)


def recorded_changes(lines):
    """What a record says that releases change in a case."""
    return [line.removeprefix(CAME) for line in lines if line.startswith(CAME)]


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_a_release_changes_in_files(path, tmp_path, updating):
    """`CFGLINT_UPDATE=1` rewrites it."""

    recorded = iter([recorded_changes(lines) for lines in read(path).values()])

    def answer(kind, facts, texts):
        return changes_of(kind, facts, texts, tmp_path).lines(modelled_releases(framework(kind).package), next(recorded), FEWER)

    check_answers(path, answer, updating)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_release_changes_in_files_what_is_recorded(path, tmp_path):
    wrong = []
    for title, lines in read(path).items():
        kind, facts, texts = given_of(head(path), "\n".join(given(lines)))
        found = changes_of(kind, facts, texts, tmp_path).wrong(recorded_changes(lines), modelled_releases(framework(kind).package))
        wrong.extend(f"{title}, {each}" for each in found)
    assert not wrong, "\n".join(wrong)
