"""Compare the releases that TRL's rules declare with the releases whose source raises their exceptions.

    python tools/rule_ranges.py FOLDER

FOLDER has a folder for each release, as for tools/rebuild_tables.py. The exception of each bad example is looked up in every release:
among the messages that a `raise` of the package builds, as a syntax tree, with gaps where it puts values in. A line is printed for each
exception of which the declared releases are not those of the source: its message may have other words there, or the rule is wrong. What no
`raise` of the package builds (argparse, transformers, Python itself) is listed at the end. Both have to be looked at by hand.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cfglint.findings.releases import Releases

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from schema_source import release  # noqa: E402

from cfglint.frameworks.versions import dotted, parse_version  # noqa: E402
from cfglint.rules.catalogue import every_rule  # noqa: E402

SHORTEST = 20  # characters of a message that identify it
NEWEST = "1.16.0"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    sources = {release(each.name): messages(each) for each in sorted(options.folder.iterdir()) if each.is_dir()}
    releases = sorted(sources)
    wrong, unknown = [], []
    for code, text, declared in exceptions():
        found = [each for each in releases if raised(text, sources[each])]
        expected = [each for each in releases if any(each in span for span in declared)]
        if not found:
            unknown.append(f"{code} {text[:90]}")
        elif found != expected and not (len(declared) > 1 and set(found) <= set(expected)):
            wrong.append(f"{code} {text[:70]}: source {spoken(found, releases)}; declared {spoken(expected, releases)}")
    print("\n".join([*wrong, f"{len(wrong)} differ, {len(unknown)} are not raised by the package itself:", *unknown]))
    return 0


def exceptions() -> list[tuple[str, str, list[Releases]]]:
    """(code, exception, the declared releases that contain the example's) of each bad example of a rule with releases."""
    made: list[tuple[str, str, list[Releases]]] = []
    folder, run_of = tempfile.mkdtemp(), importlib.import_module("examples").run_of
    for rule in every_rule():
        for example in rule.bad_examples if rule.code.startswith("TRL") and rule.releases else ():
            facts: dict[str, Any] = {**rule.example, **example.facts}
            asked = parse_version(facts.get("target", {}).get("trl", NEWEST))
            found = next((each for each in run_of(rule, example.text, folder, facts).diagnostics if each.code == rule.code), None)
            if found is not None and found.exception:
                made.append((rule.code, found.exception, [each for each in rule.releases if asked in each]))
    return made


def messages(folder: Path) -> list[str]:
    """The longest constant part of each message that a `raise` of a release builds."""
    found = []
    for path in (folder / "trl").rglob("*.py"):
        if "experimental" in path.parts and "kto" not in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
                parts = constants(node.exc.args[0])
                if parts and len(max(parts, key=len)) >= SHORTEST:
                    found.append(max(parts, key=len))
    return found


def constants(node: ast.expr) -> list[str]:
    """The constant parts of a string expression."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    return [str(part.value) for part in node.values if isinstance(part, ast.Constant)] if isinstance(node, ast.JoinedStr) else []


def raised(text: str, parts: list[str]) -> bool:
    """Whether one of the messages is that of an exception, of which cfglint may give only the beginning."""
    return any(part[: SHORTEST * 2] in text or (len(part) > SHORTEST and text.endswith(part[: len(text) // 3])) for part in parts)


def spoken(found: list[tuple[int, ...]], releases: list[tuple[int, ...]]) -> str:
    """Releases as spans: `0.18.0..0.29.1`."""
    spans: list[list[tuple[int, ...]]] = []
    for each in found:
        if spans and releases.index(each) == releases.index(spans[-1][-1]) + 1:
            spans[-1].append(each)
        else:
            spans.append([each])
    return ", ".join(f"{dotted(span[0])}..{dotted(span[-1])}" for span in spans) or "none"


if __name__ == "__main__":
    sys.exit(main())
