"""Rebuild a schema from a framework's unpacked wheel or source tree.

    python tools/rebuild_schema.py accelerate  site-packages/accelerate
    python tools/rebuild_schema.py axolotl     site-packages/axolotl
    python tools/rebuild_schema.py deepspeed   site-packages/deepspeed
    python tools/rebuild_schema.py huggingface site-packages/transformers
    python tools/rebuild_schema.py llamafactory site-packages
    python tools/rebuild_schema.py neox        gpt-neox --release 2026-05
    python tools/rebuild_schema.py trl         site-packages

Writes `schemas/KIND.json`, `schemas/draft7/KIND.json`, `cfglint/frameworks/KIND/_tables.py` where the tool of the kind makes one, for
GPT-NeoX `_rows.py` beside it, the release in `cfglint/frameworks/releases/_modelled.py`, the tables of README.md and
editors/schemas.md, and pyproject.toml; `--check` compares only, and exits 1 when a file would change. Exits 2, naming what, when
the source or the notes hold something that the rebuilding does not understand, when a default has changed without its history, and
when a new key has no release.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from pathlib import Path

import row_table_text
import schema_draft7
import schema_merge
from schema_source import SourceError, Tree, mentioned

from cfglint.frameworks.releases.versions import parse_version

WITH_ROWS = ("neox",)  # kinds whose rows come with the schema; those of other kinds are of all releases (`rebuild_tables.py`)
KINDS = sorted(path.stem for path in schema_merge.NOTES.glob("*.json"))


def rebuilt(kind: str, path: Path, release: str | None = None) -> str:
    """The text of a kind's schema by a source tree; SourceError when it cannot be had."""
    source = importlib.import_module(f"schema_{kind}")
    tree: Tree = source.find(path)
    version = release or source.version(tree)
    if version is None:
        raise SourceError(f"{path}: the source does not name its release, say --release")
    definitions = source.definitions(tree) if hasattr(source, "definitions") else None
    histories = source.histories() if hasattr(source, "histories") else None
    return schema_merge.build(
        kind, version, source.facts(tree), lambda file, key: key in mentioned(tree.file(file)), definitions, histories
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("path", type=Path, help="the folder of the package, or the root of its sources")
    parser.add_argument("--release", help="the framework's release, where the source does not say it")
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 when the file would change")
    options = parser.parse_args()
    try:
        text = rebuilt(options.kind, options.path, options.release)
    except SourceError as problem:
        print(problem, file=sys.stderr)
        return 2
    files = {schema_merge.SCHEMAS / f"{options.kind}.json": text}
    files[schema_draft7.FOLDER / f"{options.kind}.json"] = schema_draft7.text_of(options.kind, json.loads(text))
    tables = tables_of(options.kind, text)
    if tables is not None:
        files[schema_merge.ROOT / "cfglint" / "frameworks" / options.kind / "_tables.py"] = tables
    if options.kind in WITH_ROWS:
        rows = importlib.import_module(f"rows_{options.kind}")
        release = parse_version(json.loads(text)["x-framework"]["version"])
        files[schema_merge.ROOT / "cfglint" / "frameworks" / options.kind / row_table_text.NAME] = rows.table(
            {release: options.path}
        ).text()
    files[schema_merge.RELEASES] = schema_merge.releases({options.kind: text})
    files.update(schema_merge.named(options.kind, json.loads(text)["x-framework"]["version"]))
    changed = {file: new for file, new in files.items() if not file.exists() or file.read_text(encoding="utf-8") != new}
    for file, new in changed.items():
        if options.check:
            print(f"{file} is not what {options.path} gives", file=sys.stderr)
            continue
        file.write_text(new, encoding="utf-8")
        print(f"wrote {file}", file=sys.stderr)
    return 1 if changed and options.check else 0


def tables_of(kind: str, text: str) -> str | None:
    """The text of `cfglint/frameworks/KIND/_tables.py` by a schema's text; None for a kind without one."""
    source = importlib.import_module(f"schema_{kind}")
    return str(source.tables(json.loads(text))) if hasattr(source, "tables") else None


if __name__ == "__main__":
    sys.exit(main())
