"""What is measured on: folders of configs, large files, declared runs, a branch."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from itertools import count

from environments import ROOT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EXAMPLES = ROOT / "examples"
SHELF = 100  # files of a folder
TRAINER = (EXAMPLES / "good" / "trainer.yaml").read_text(encoding="utf-8")
DEEPSPEED = (EXAMPLES / "good" / "deepspeed.json").read_text(encoding="utf-8")
CALM = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
SOMEBODY = {f"GIT_{role}_{what}": f"{what}@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


class Source:
    """Texts of one syntax to fill folders with: the examples with other numbers, or a corpus over and over."""

    def __init__(self, suffix: str, corpus: list[Path]) -> None:
        files = [path for path in corpus if path.suffix in SUFFIXES[suffix]]
        self.suffix = suffix
        self.real = bool(files)
        files = files or [path for path in sorted((EXAMPLES / "good").rglob("*")) if path.suffix in SUFFIXES[suffix]]
        self.texts = [path.read_bytes() for path in files]

    def fill(self, folder: Path, files: int) -> Path:
        """Write so many files below a new folder, a hundred in each of its folders."""
        for number in range(files):
            shelf = folder / f"{number // SHELF:03}"
            if not number % SHELF:
                shelf.mkdir(parents=True)
            (shelf / f"{number:05}{self.suffix}").write_bytes(self.text(number))
        return folder

    def text(self, number: int) -> bytes:
        """The text of one file; made-up ones are all different."""
        text = self.texts[number % len(self.texts)]
        return text if self.real else text.replace(b"1000", b"%d" % (1000 + number))


SUFFIXES = {".yaml": (".yaml", ".yml"), ".json": (".json",)}


def recognised(corpus: Path, cfglint: Path) -> list[Path]:
    """The files below a folder that cfglint checks: what it leaves alone costs it too little to compare."""
    done = subprocess.run([cfglint, "check", ".", "--format", "json"], cwd=corpus, capture_output=True, text=True, check=False)
    return sorted({corpus / file for run in json.loads(done.stdout)["runs"] for file in run["files"]})


def listed(folder: Path) -> list[str]:
    """The files below a folder as its commands name them."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def size_of(folder: Path) -> int:
    """Bytes of the files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def single(folder: Path) -> Path:
    """A folder with one file of each format, which no other one names."""
    folder.mkdir()
    shutil.copyfile(EXAMPLES / "good" / "deepspeed.json", folder / "ds_config.json")
    (folder / "trainer.yaml").write_text(TRAINER + "use_cpu: true\n", encoding="utf-8")  # so that the framework takes it, too
    return folder


def samples(folder: Path) -> Path:
    """A folder with one of each, as the table of single files wants them."""
    single(folder)
    shutil.copyfile(EXAMPLES / "bad" / "batch-mismatch.json", folder / "broken.json")
    pair = EXAMPLES / "good" / "trainer-zero3"
    for path in pair.iterdir():
        shutil.copyfile(path, folder / f"run-{path.name}")
    launcher = folder / "run-train.yaml"
    launcher.write_text(launcher.read_text(encoding="utf-8").replace("ds_config.json", "run-ds_config.json"), encoding="utf-8")
    return folder


def large(folder: Path, suffix: str, size: int) -> Path:
    """A config with data of a script's own behind it: a file of so many bytes, or a few less."""
    path = folder / f"{size:07}{suffix}"
    if suffix == ".json":
        head, between, tail = DEEPSPEED.rstrip()[:-1].rstrip() + ',\n  "shards": {\n', ",\n", "\n  }\n}\n"
    else:
        head, between, tail = TRAINER + "shards:\n", "", ""
    room = size - len(head) - len(tail)
    path.write_text(head + between.join(entries_of(room, suffix, len(between))) + tail, encoding="utf-8")
    return path


def entries_of(room: int, suffix: str, between: int) -> Iterator[str]:
    """Entries of a mapping, as many as there is room for, with so many bytes between them."""
    for number in count():
        name, weight = f"shard_{number:06}", f"{1 + number % 7}.5"
        if suffix == ".json":
            entry = f'    "{name}": {{"path": "data/{name}.bin", "weight": {weight}, "shuffle": true}}'
        else:
            entry = f"  {name}:\n    path: data/{name}.bin\n    weight: {weight}\n    shuffle: true\n"
        room -= len(entry) + between
        if room < 0:
            return
        yield entry


def declared(folder: Path, runs: int) -> Path:
    """A project that declares so many runs, each with a trainer file of its own and one of ten DeepSpeed files."""
    folder.mkdir()
    pair = EXAMPLES / "good" / "trainer-zero3"
    launcher = (pair / "train.yaml").read_text(encoding="utf-8")
    for number in range(10):
        shutil.copyfile(pair / "ds_config.json", folder / f"ds-{number}.json")
    tables = ["gpus = 8\n"]
    for number in range(runs):
        text = launcher.replace("ds_config.json", f"ds-{number % 10}.json").replace("4000", str(4000 + number))
        (folder / f"train-{number}.yaml").write_text(text, encoding="utf-8")
        tables.append(f'[[run]]\nfiles = ["train-{number}.yaml", "ds-{number % 10}.json"]\nnum-examples = {100_000 + number}\n')
    (folder / "cfglint.toml").write_text("\n".join(tables), encoding="utf-8")
    return folder


def branch(folder: Path, changed: int) -> Path:
    """A repository with twice so many configs; a branch that is checked out changes half of them."""
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    for number in range(2 * changed):
        (folder / f"train-{number}.yaml").write_text(TRAINER.replace("17", str(number)), encoding="utf-8")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=before")
    git(folder, "checkout", "--quiet", "-b", "faster")
    for number in range(changed):
        path = folder / f"train-{number}.yaml"
        path.write_text(path.read_text(encoding="utf-8").replace("gradient_accumulation_steps: 8", "gradient_accumulation_steps: 4"))
    git(folder, "commit", "--quiet", "--all", "--message=after")
    return folder


def git(folder: Path, *arguments: str) -> None:
    """Run git in a folder, without the user's own settings."""
    subprocess.run(["git", *arguments], cwd=folder, env={**os.environ, **CALM, **SOMEBODY}, check=True)
