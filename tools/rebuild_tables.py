"""Rebuild `cfglint/frameworks/trl/_tables.py` from TRL's unpacked wheels, one for each release.

    python tools/rebuild_tables.py FOLDER [--fetch] [--check]

FOLDER has a folder for each release (`0.17.0`, ...) that holds the package `trl` and its metadata, and `dates.json` with the day of
each release of trl and transformers on the index. `--fetch` downloads first what FOLDER lacks. `--check` compares only, and exits 1 when
the file would change.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
from pathlib import Path

import tables_trl
from schema_source import SourceError, release

TARGET = Path(__file__).resolve().parent.parent / "cfglint" / "frameworks" / "trl" / "_tables.py"
DATES = "dates.json"
PACKAGES = ("trl", "transformers")
INDEX = "https://pypi.org/pypi/{}/json"
OLDEST = (0, 7, 0)  # the first release that is modelled


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folder", type=Path, help="a folder with one folder for each release")
    parser.add_argument("--fetch", action="store_true", help="download the releases that the folder lacks")
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 when the file would change")
    options = parser.parse_args()
    try:
        if options.fetch:
            fetch(options.folder)
        text = tables_trl.module(
            {each.name: each for each in options.folder.iterdir() if each.is_dir()},
            json.loads((options.folder / DATES).read_text(encoding="utf-8")),
        )
    except (SourceError, OSError, subprocess.CalledProcessError) as problem:
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


def fetch(folder: Path) -> None:
    """Unpack the wheels of the releases that a folder lacks, and write the days of all releases."""
    folder.mkdir(parents=True, exist_ok=True)
    dates = {package: published(package) for package in PACKAGES}
    for name in dates["trl"]:
        if name.replace(".", "").isdigit() and release(name) >= OLDEST and not (folder / name).exists():
            with tempfile.TemporaryDirectory() as place:
                command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--dest", place, f"trl=={name}"]
                subprocess.run(command, check=True)
                with zipfile.ZipFile(next(Path(place).glob("*.whl"))) as wheel:
                    wheel.extractall(folder / name)
    (folder / DATES).write_text(json.dumps(dates), encoding="utf-8")


def published(package: str) -> dict[str, str]:
    """Release -> its day on the index."""
    with urllib.request.urlopen(INDEX.format(package), timeout=60) as answer:
        releases = json.load(answer)["releases"]
    return {name: files[0]["upload_time"][:10] for name, files in releases.items() if files}


if __name__ == "__main__":
    sys.exit(main())
