#!/usr/bin/env python3
"""cfglint beside its peers and beside itself on more and more work, in one run.

    python3 benchmarks/run.py [--corpus DIR] [--rounds N] [--tree DIR] [--only TABLE...] [--frameworks PYTHON] [--write]

Makes two environments under .cache/benchmarks, cfglint from this checkout in one and check-jsonschema, yamllint and
pre-commit-hooks from the package index in the other, and runs all commands of a table in turn, round by round, so
that a busy machine hurts all of them alike. Prints medians, ratios within the rounds, and spreads.

Without --corpus the files are the examples with other numbers; with it, the configs found below DIR that cfglint
checks, over and over until there are enough. --write makes benchmarks/README.md and its plots anew, which --from
does again from figures that are there.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import environments
import growth
import inputs
import page
import tables

HERE = environments.ROOT / "benchmarks"
FIGURES = HERE / "results" / "figures.json"


def main() -> int:
    """Measure, print, and write the page where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--corpus", type=Path, help="a folder with configs to take instead of made-up ones")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of the shortest commands; the others get a fifth, 3 at least")
    parser.add_argument("--tree", type=Path, help="the repository to measure as a whole instead of a made-up one")
    parser.add_argument("--only", nargs="+", default=[], metavar="TABLE", help="measure these tables, keep the page's other figures")
    parser.add_argument("--frameworks", type=Path, metavar="PYTHON", help="an interpreter with deepspeed and transformers")
    parser.add_argument("--write", action="store_true", help="write benchmarks/README.md, its plots and its figures")
    parser.add_argument("--from", dest="figures", type=Path, metavar="FILE", help="take these figures instead of measuring")
    options = parser.parse_args()
    figures = json.loads(options.figures.read_text(encoding="utf-8")) if options.figures else measured(options)
    if options.write:
        for name, text in page.files(figures).items():
            path = HERE / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return 0


def measured(options: argparse.Namespace) -> page.Figures:
    """All figures, printed as they come."""
    ours, peers = environments.cfglint(), environments.peers()
    frameworks = environments.frameworks(options.frameworks)
    with tempfile.TemporaryDirectory(prefix="cfglint-") as scratch:
        bench = tables.Bench(ours, peers, frameworks, Path(scratch), options)
        corpus = inputs.recognised(options.corpus, ours / "cfglint") if options.corpus else []
        bench.sources = {suffix: inputs.Source(suffix, corpus) for suffix in inputs.SUFFIXES}
        kept = json.loads(FIGURES.read_text(encoding="utf-8")) if options.only else {"tables": {}, "growth": {}}
        figures = {"machine": environments.machine(), "versions": kept.get("versions", {}) | versions(ours, peers, frameworks)}
        print(page.machine(figures), flush=True)
        shown = tables.everything(bench, lambda table: print("", page.shown(table), sep="\n", flush=True))
        figures["tables"] = kept["tables"] | shown
        figures["growth"] = kept["growth"] or growth.everything(bench, lambda grown: print("", page.grown(grown), sep="\n", flush=True))
    print("", page.shared(figures), "", page.targets(figures), sep="\n")
    return figures


def versions(ours: Path, peers: Path, frameworks: Path | None) -> dict[str, str]:
    """What was measured, by name."""
    found = environments.versions(ours / "python", "PyYAML") | environments.versions(peers / "python", *environments.PEERS)
    return found | (environments.versions(frameworks, *environments.FRAMEWORKS) if frameworks else {})


if __name__ == "__main__":
    raise SystemExit(main())
