"""Rebuild `cfglint/frameworks/trl/_tables.py` from TRL's unpacked wheels, one for each modelled release.

    python tools/rebuild_tables.py 0.17.0=PATH 1.16.0=PATH [--check]

PATH is a folder that holds the package `trl`. `--check` compares only, and exits 1 when the file would change.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import schema_trl
from schema_source import SourceError

TARGET = Path(__file__).resolve().parent.parent / "cfglint" / "frameworks" / "trl" / "_tables.py"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("releases", nargs="+", help="RELEASE=PATH, the oldest first")
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 when the file would change")
    options = parser.parse_args()
    try:
        trees = {release: schema_trl.find(Path(path)) for release, _, path in (each.partition("=") for each in options.releases)}
        text = schema_trl.table_module(trees)
    except SourceError as problem:
        print(problem, file=sys.stderr)
        return 2
    if TARGET.exists() and TARGET.read_text(encoding="utf-8") == text:
        return 0
    if options.check:
        print(f"{TARGET} is not what the wheels give", file=sys.stderr)
        return 1
    TARGET.write_text(text, encoding="utf-8")
    print(f"wrote {TARGET}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
