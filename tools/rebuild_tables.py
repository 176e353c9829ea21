"""Rebuild `cfglint/frameworks/KIND/_tables.py`, and `_rows.py` beside it, from the unpacked wheels of a package, one for each release.

    python tools/rebuild_tables.py KIND FOLDER [--fetch] [--check] [--newest N]

KIND is accelerate, axolotl, deepspeed, huggingface, llamafactory, trl or verl. FOLDER has a folder for each release (`0.17.0`, ...)
that holds the package and its metadata, and `dates.json` with the day of each release on the index, also of the libraries whose
releases the tables name. `--fetch` downloads first what FOLDER lacks, yanked releases too, which files pin; of transformers only the
files that are read, because all wheels together are 1 GB.
`_rows.py` has the checks of the functions that `rows_KIND.py` names; what it cannot read is printed, and has to be done by hand.
`--check` compares only, and exits 1 when a file would change; with `--newest 3` only the newest three releases are needed.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import io
import json
import shutil
import sys
import tempfile
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import list_releases
import row_table_text
import schema_merge
from history_rows import Release
from schema_source import SourceError, release

FRAMEWORKS = Path(__file__).resolve().parent.parent / "cfglint" / "frameworks"
KINDS = sorted(path.stem.removeprefix("tables_") for path in Path(__file__).parent.glob("tables_*.py"))
WITH_ROWS = {path.stem.removeprefix("rows_") for path in Path(__file__).parent.glob("rows_*.py")}
DATES = "dates.json"
INDEX = "https://pypi.org/simple"


def main() -> int:
    gc.set_threshold(200_000, 20, 50)  # syntax trees are no garbage
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("folder", type=Path, help="a folder with one folder for each release")
    parser.add_argument("--fetch", action="store_true", help="download the releases that the folder lacks")
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 when the file would change")
    parser.add_argument("--newest", type=int, metavar="N", help="the newest N releases alone: of the others what is committed")
    options = parser.parse_args()
    source = importlib.import_module(f"tables_{options.kind}")
    target = FRAMEWORKS / options.kind
    try:
        if options.fetch:
            newest = sorted(facts_of(source, target))[-options.newest :] if options.newest else None
            fetch(options.folder, source.PACKAGE, source.OLDEST, source.LIBRARIES, getattr(source, "FILES", ()), newest)
        dates = json.loads((options.folder / DATES).read_text(encoding="utf-8"))
        facts = facts_of(source, target) if options.newest else {}
        known = {version: facts[version] for version in sorted(facts)[: -options.newest]} if options.newest else {}
        folders = {version: path for version, path in release_folders(source, options.folder).items() if version not in known}
        texts = {target / "_tables.py": tables(source, options.folder, dates, known)}
        if options.kind in WITH_ROWS:
            rows = importlib.import_module(f"rows_{options.kind}")
            path = target / row_table_text.NAME
            table = row_table_text.Table.read(path, known) if known else rows.table(folders)
            for version in sorted(folders) if known else ():
                table.add(version, rows.functions(folders[version]))
            texts[path] = table.text()
            print(*(f"by hand: {place}: {why}" for place, why in table.by_hand.items()), sep="\n", file=sys.stderr)
    except (SourceError, OSError) as problem:
        print(problem, file=sys.stderr)
        return 2
    if not options.check:  # of a new kind, the ends of its rows are not known yet
        (target / "_tables.py").write_text(texts[target / "_tables.py"], encoding="utf-8")
        texts[schema_merge.RELEASES] = schema_merge.releases()
    changed = [path for path, text in texts.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in changed:
        if not options.check:
            path.write_text(texts[path], encoding="utf-8")
        print(f"{path} is not what the wheels give" if options.check else f"wrote {path}", file=sys.stderr)
    return 1 if changed and options.check else 0


def written(target: Path, text: str, check: bool) -> int:
    """Write a generated module if it is another one, or only say so; the exit status."""
    if target.exists() and target.read_text(encoding="utf-8") == text:
        return 0
    if check:
        print(f"{target} is not what the wheels give", file=sys.stderr)
        return 1
    target.write_text(text, encoding="utf-8")
    return 0


def tables(source: ModuleType, folder: Path, dates: dict[str, dict[str, str]], known: Mapping[Release, Any] | None = None) -> str:
    """The text of the tables by the releases in a folder, but for those that are known."""
    known = known or {}
    folders = {version: path for version, path in release_folders(source, folder).items() if version not in known}
    return str(source.text({**known, **{version: source.facts(path, version, dates) for version, path in folders.items()}}))


def facts_of(source: ModuleType, target: Path) -> dict[Release, Any]:
    """The facts of the releases of the committed tables."""
    names: dict[str, Any] = {}
    exec((target / "_tables.py").read_text(encoding="utf-8"), names)
    found: dict[Release, Any] = source.known(argparse.Namespace(**names))
    return found


def release_folders(source: ModuleType, folder: Path) -> dict[tuple[int, ...], Path]:
    """The unpacked releases of the tables."""
    return unpacked(folder, source.OLDEST)


def unpacked(folder: Path, oldest: Release) -> dict[Release, Path]:
    """The folder of each release from the oldest that counts on: of a release and its post-releases the release, which `==` names; without
    it, the newest of them.
    """
    found = {
        release(each.name): each
        for each in sorted(folder.iterdir(), key=lambda each: (".post" not in each.name, each.name))
        if each.is_dir() and is_release(each.name)
    }
    return {version: found[version] for version in sorted(found) if version >= oldest}


def is_release(name: str) -> bool:
    """Whether a name is that of a release, or of a post-release, whose fields are those of the release."""
    return name.partition(".post")[0].replace(".", "").isdigit()


def fetch(
    folder: Path,
    package: str,
    oldest: Release,
    libraries: tuple[str, ...],
    wanted: tuple[str, ...] = (),
    only: list[Release] | None = None,
    *,
    with_names: bool = False,
) -> None:
    """Unpack the wheels of the releases of a package that a folder lacks, or the `wanted` files of them, and write the days of all; `only`
    are the releases that are needed, by default all. With their names, the other modules are empty files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    answers = {each: list_releases.from_index(each, INDEX) for each in (package, *libraries)}
    missing = [each for each, answer in answers.items() if answer is None]
    if missing:
        raise SourceError(f"{', '.join(missing)}: not in the index")
    files = {each: answer["files"] for each, answer in answers.items() if answer is not None}
    dates = {
        each: {str(version): str(day) for version, day in list_releases.dated(found, with_yanked=each == package).items()}
        for each, found in files.items()
    }
    for name in dates[package]:
        is_needed = is_release(name) and release(name) >= oldest and (only is None or release(name) in only)
        if is_needed and not (folder / name).exists():
            of_release = [each for each in files[package] if str(list_releases.version_of(each["filename"])) == name]
            if wanted:
                unpack_files(package, of_release, wanted, folder / name, with_names=with_names)
            else:
                unpack(package, of_release, folder / name)
    (folder / DATES).write_text(json.dumps(dates), encoding="utf-8")


def unpack(package: str, files: list[dict[str, Any]], target: Path) -> None:
    """Unpack the wheel of a release, or its source distribution, which pip would have to build first."""
    found = next((file for file in files if file["filename"].endswith(".whl")), files[0])
    address = urllib.parse.urljoin(f"{INDEX}/{package}/", found["url"])
    with tempfile.TemporaryDirectory() as place:
        archive = Path(place) / found["filename"]
        with urllib.request.urlopen(address, timeout=300) as answer:
            archive.write_bytes(answer.read())
        if archive.suffix == ".whl":
            shutil.unpack_archive(archive, place, "zip")
        else:
            shutil.unpack_archive(archive, place, filter="data")
        is_wheel = archive.suffix == ".whl"
        archive.unlink()
        inside = [each for each in Path(place).iterdir() if each.is_dir()]
        shutil.copytree(Path(place) if is_wheel else inside[0], target)
        for pure in target.glob("*.data/purelib") if is_wheel else ():  # where pip puts what is there
            shutil.copytree(pure, target, dirs_exist_ok=True)


def unpack_files(package: str, files: list[dict[str, Any]], wanted: tuple[str, ...], target: Path, *, with_names: bool = False) -> None:
    """Unpack some files of the package of a wheel, reading no more of the archive than they need."""
    found = next(file for file in files if file["filename"].endswith(".whl"))
    with zipfile.ZipFile(RemoteFile(urllib.parse.urljoin(f"{INDEX}/{package}/", found["url"]))) as archive:
        names = {name for name in archive.namelist() if name.removeprefix(f"{package}/") in wanted}
        with tempfile.TemporaryDirectory() as place:
            archive.extractall(place, names)
            for name in archive.namelist() if with_names else ():
                if name.startswith(f"{package}/") and name.endswith(".py") and name not in names:
                    (Path(place) / name).parent.mkdir(parents=True, exist_ok=True)
                    (Path(place) / name).touch()
            shutil.copytree(place, target)


class RemoteFile(io.RawIOBase):
    """A file on a server that answers requests for ranges of bytes; blocks are kept."""

    BLOCK = 1 << 18

    def __init__(self, address: str) -> None:
        super().__init__()
        self.address = address
        self.place = 0
        self.blocks: dict[int, bytes] = {}
        with urllib.request.urlopen(urllib.request.Request(address, method="HEAD"), timeout=60) as answer:
            self.size = int(answer.headers["Content-Length"])

    def seekable(self) -> bool:
        """Whether the place can be set."""
        return True

    def readable(self) -> bool:
        """Whether there is something to read."""
        return True

    def tell(self) -> int:
        """The place of the next byte."""
        return self.place

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Set the place of the next byte."""
        self.place = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.place, io.SEEK_END: self.size}[whence]
        return self.place

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes."""
        end = self.size if size < 0 else min(self.size, self.place + size)
        made = bytearray()
        while self.place < end:
            number, offset = divmod(self.place, self.BLOCK)
            part = self.block(number)[offset : offset + end - self.place]
            made += part
            self.place += len(part)
        return bytes(made)

    def block(self, number: int) -> bytes:
        """A block of the file."""
        if number not in self.blocks:
            start = number * self.BLOCK
            wanted = {"Range": f"bytes={start}-{min(start + self.BLOCK, self.size) - 1}"}
            with urllib.request.urlopen(urllib.request.Request(self.address, headers=wanted), timeout=60) as answer:
                self.blocks[number] = answer.read()
        return self.blocks[number]


if __name__ == "__main__":
    sys.exit(main())
