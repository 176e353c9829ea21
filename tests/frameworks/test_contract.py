"""What every framework folder has to have."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO

from cases import each_case
from cfglint.cli import main
from cfglint.frameworks import LINE_KINDS, framework, kinds
from cfglint.frameworks.base import LineFramework, imported
from cfglint.generators import kinds as generated_kinds
from cfglint.report import manual
from cfglint.rules.engine import rules_for
from cfglint.source.files import EXTENSIONS, syntax_by_name

# What a kind lacks for now; an entry may only be removed. A launch line has no release, schema or generator, Megatron-LM and verl
# have no files of their own: a launch line is their config.
GAPS = {
    "launch": {"package", "newest release", "schema", "generator", "README row"},
    "megatron": {"package", "newest release", "schema", "rules", "README row"},
    "megatron_swift": {"schema", "README row"},  # its lines are those of ms-swift
    "openrlhf": {"schema"},  # it has no files
}


def shows_releases(kind, text):
    """Whether a page has a row for the kind that names the releases that `cfglint --version -v` prints."""
    own = framework(kind)
    with redirect_stdout(StringIO()) as printed:
        main(["--version", "-v"])
    [released] = [line for line in printed.getvalue().splitlines() if line.startswith(f"{own.package} ")] or [""]
    return any(row.startswith(f"| `{kind}` |") and f"| {released}" in row for row in text.splitlines())


def lacks(kind, root):
    """The parts that a framework does not have."""
    described = framework(kind)
    own = [rule for rule in rules_for(kind, ()) if kind in rule.kinds]
    parts = {
        "title": bool(described.title),
        "package": bool(described.package) and described.package in described.packages(),
        "newest release": bool(described.newest),
        "schema": (root / "schemas" / f"{kind}.json").exists(),
        "rules": bool(own),
        "rule family": all(rule.code[:3] in manual.families() for rule in own),
        "README row": shows_releases(kind, (root / "README.md").read_text(encoding="utf-8")),
        "generator": kind in generated_kinds() or bool(described.no_generator),
    }
    return {part for part, there in parts.items() if not there}


@each_case("kind", kinds())
def test_a_framework_is_complete(kind, root):
    missing = lacks(kind, root) - GAPS.get(kind, set())
    assert not missing, f"{kind} lacks {', '.join(sorted(missing))}: see `A new framework` in CONTRIBUTING.md"
    assert framework(kind).kind == kind


def test_the_kinds_that_no_file_shows_are_those_of_launch_lines():
    assert {kind for kind in kinds() if isinstance(framework(kind), LineFramework)} == set(LINE_KINDS)


@each_case("kind", kinds())
def test_the_parts_of_a_framework_exist(kind):
    own = framework(kind)
    tables = ("base_fields", "base_numbers", "constructors", "modules", "names", "operations", "parsed_types", "words")
    assert all(callable(imported(place)) != (name in tables) for name, place in own.parts.items())
    assert {"config", "batch", "account"} <= own.parts.keys()


def test_the_source_of_a_release_is_read_again_when_it_changes(tmp_path, monkeypatch):
    own, file, read = framework("llamafactory"), tmp_path / "a.py", []

    def learn(release, folder, opens):
        read.append(folder)
        return opens(str(file))

    monkeypatch.setattr(type(own), "part", lambda *_: learn)
    file.write_text("x = 1\n")
    for folder, times in (("a", 1), ("a", 1), ("b", 2), ("a", 3)):
        assert own.learn((99, 0), folder, lambda path: True)
        assert len(read) == times
    file.write_text("x = 100\n")
    assert own.learn((99, 0), "a", lambda path: True)
    assert len(read) == 4


def test_the_ending_of_a_name_means_the_same_syntax_to_all():
    parsers = [framework(kind) for kind in kinds() if not framework(kind).only_syntax]
    differing = {(each.kind, end) for each in parsers for end in EXTENSIONS if each.syntax(f"a{end}") != syntax_by_name(f"a{end}")}
    assert differing == {("accelerate", end) for end in (".jsonc", ".hjson", ".config")}  # to it, only `.json` is JSON
