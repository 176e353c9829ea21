#!/usr/bin/env python3
"""cfglint beside its peers, in one run: time as a ratio to `python -c pass`, and memory.

    python3 benchmarks/compare.py [--files N] [--repeat N] [--corpus DIR] [--json FILE]

Makes two environments under .cache/benchmarks, cfglint from this checkout in one and check-jsonschema, yamllint
and pre-commit-hooks from the package index in the other, and runs all commands in turn, round by round, so that
a busy machine hurts all of them alike. What is printed are medians of the rounds; the ratios are to the start of
the same interpreter in the same rounds, once of the time that passed and once (`cpu`) of the processor's time,
which is the steadier one on a busy machine. Milliseconds are this machine's.

Without --corpus the files are the examples with other numbers; with it, the YAML files found under DIR, repeated
until there are enough. Memory is the largest resident set that the kernel saw; it cannot show less than this
script's own (about 12 MB).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache" / "benchmarks"
PEERS = ("check-jsonschema", "yamllint", "pre-commit-hooks")
BASELINE = "python -c pass"
SILENT = open(os.devnull, "w")  # noqa: SIM115


class Subject:
    """A command to measure: its title, the command line, and what the rounds gave."""

    def __init__(self, title: str, *command: str | Path) -> None:
        self.title = title
        self.command = [str(part) for part in command]
        self.seconds: list[float] = []
        self.processor: list[float] = []
        self.kilobytes = 0

    def run(self, folder: Path) -> None:
        """Once more; the exit status does not matter, for peers find things to say about any file."""
        began = time.perf_counter()
        process = subprocess.Popen(self.command, cwd=folder, stdin=subprocess.DEVNULL, stdout=SILENT, stderr=SILENT)
        _, status, usage = os.wait4(process.pid, 0)
        self.seconds.append(time.perf_counter() - began)
        self.processor.append(usage.ru_utime + usage.ru_stime)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 1):
            raise SystemExit(f"{' '.join(self.command)[:200]}: exit status {process.returncode}")
        self.kilobytes = max(self.kilobytes, usage.ru_maxrss)

    @property
    def median(self) -> float:
        """Seconds."""
        return statistics.median(self.seconds)

    @property
    def spread(self) -> float:
        """Half the distance between the quartiles, in seconds."""
        if len(self.seconds) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.seconds, n=4)
        return (high - low) / 2


def environment(name: str, *requirements: str) -> Path:
    """The `bin` folder of an environment with these requirements, made when it is not there."""
    folder = CACHE / name
    binaries = folder / "bin"
    if not (binaries / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([binaries / "python", "-m", "pip", "install", "--quiet", *requirements], check=True)
    return binaries


def cfglint() -> Path:
    """The environment with cfglint as this checkout has it."""
    binaries = environment("cfglint", str(ROOT))
    subprocess.run([binaries / "python", "-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps", str(ROOT)], check=True)
    return binaries


def made_up(folder: Path, count: int) -> None:
    """YAML files after the examples, no two alike."""
    texts = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples" / "good").rglob("*.y*ml"))]
    for number in range(count):
        text = texts[number % len(texts)]
        (folder / f"{number:05}.yaml").write_text(text.replace("1000", str(1000 + number)), encoding="utf-8")


def copied(folder: Path, count: int, corpus: Path) -> None:
    """The YAML files of a corpus, over and over."""
    found = sorted(path for path in corpus.rglob("*.y*ml") if path.is_file())
    for number in range(count):
        shutil.copyfile(found[number % len(found)], folder / f"{number:05}.yaml")


def rounds(subjects: list[Subject], folder: Path, count: int) -> None:
    """Every subject once a round, in turn; the first round warms the caches and does not count."""
    for number in range(count + 1):
        for subject in subjects:
            subject.run(folder)
            if not number:
                subject.seconds.clear()
                subject.processor.clear()


def table(title: str, subjects: list[Subject], unit: Subject) -> list[dict[str, object]]:
    """Print a table, and give its rows as plain values."""
    print(f"\n{title}, median of {len(subjects[0].seconds)} rounds\n")
    print(f"| {'command':<34} | {'ms':>8} | {'+-':>6} | {'ratio':>6} | {'cpu':>6} | {'MB':>4} |")
    print(f"|{'-' * 36}|{'-' * 9}:|{'-' * 7}:|{'-' * 7}:|{'-' * 7}:|{'-' * 5}:|")
    rows: list[dict[str, object]] = []
    for each in subjects:
        ratio = each.median / unit.median
        work = statistics.median(each.processor) / statistics.median(unit.processor)
        megabytes = each.kilobytes / 1024
        print(
            f"| {each.title:<34} | {1000 * each.median:8.1f} | {1000 * each.spread:6.1f} | {ratio:6.1f} | {work:6.1f} | {megabytes:4.0f} |"
        )
        row = {"command": each.title, "seconds": each.median, "spread": each.spread, "ratio": ratio, "cpu_ratio": work}
        rows.append({**row, "megabytes": megabytes})
    return rows


def one_file(ours: Path, peers: Path, scratch: Path, count: int) -> list[dict[str, object]]:
    """Cold start on one JSON and one YAML file."""
    shutil.copyfile(ROOT / "examples/good/deepspeed.json", scratch / "ds_config.json")
    shutil.copyfile(ROOT / "examples/good/neox-125M.yml", scratch / "125M.yml")
    schemas = ROOT / "schemas"
    baseline = Subject(BASELINE, ours / "python", "-c", "pass")
    subjects = [
        baseline,
        Subject("cfglint check, one JSON file", ours / "cfglint", "check", "ds_config.json", "--gpus", "8"),
        Subject("cfglint check, one YAML file", ours / "cfglint", "check", "125M.yml", "--gpus", "8"),
        Subject("check-json, one JSON file", peers / "check-json", "ds_config.json"),
        Subject("check-yaml, one YAML file", peers / "check-yaml", "125M.yml"),
        Subject("yamllint, one YAML file", peers / "yamllint", "125M.yml"),
        Subject(
            "check-jsonschema, one JSON file", peers / "check-jsonschema", "--schemafile", schemas / "deepspeed.json", "ds_config.json"
        ),
        Subject("check-jsonschema, one YAML file", peers / "check-jsonschema", "--schemafile", schemas / "neox.json", "125M.yml"),
    ]
    rounds(subjects, scratch, count)
    return table("Cold start", subjects, baseline)


def many_files(ours: Path, peers: Path, scratch: Path, options: argparse.Namespace) -> list[dict[str, object]]:
    """Many YAML files in one process of each."""
    folder = scratch / "many"
    folder.mkdir()
    if options.corpus:
        copied(folder, options.files, options.corpus)
    else:
        made_up(folder, options.files)
    names = sorted(path.name for path in folder.iterdir())
    size = sum(path.stat().st_size for path in folder.iterdir())
    schema = ROOT / "schemas/huggingface.json"
    subjects = [
        Subject("cfglint check", ours / "cfglint", "check", "."),
        Subject("cfglint check --format json", ours / "cfglint", "check", ".", "--format", "json"),
        Subject("check-jsonschema", peers / "check-jsonschema", "--schemafile", schema, *names),
        Subject("yamllint", peers / "yamllint", "-d", "relaxed", "."),
        Subject("check-yaml", peers / "check-yaml", *names),
    ]
    rounds(subjects, folder, max(3, options.repeat // 5))
    return table(f"{len(names)} YAML files, {size / 1e6:.1f} MB, one process; ratios to cfglint", subjects, subjects[0])


def main() -> int:
    """Measure, print, and write the figures where they are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=3000, help="how many YAML files (default 3000)")
    parser.add_argument("--repeat", type=int, default=15, help="rounds of the cold start (default 15)")
    parser.add_argument("--corpus", type=Path, help="a folder with YAML files to take instead of made-up ones")
    parser.add_argument("--json", type=Path, help="write the figures there")
    options = parser.parse_args()
    ours, peers = cfglint(), environment("peers", *PEERS)
    with tempfile.TemporaryDirectory(prefix="cfglint-") as scratch:
        figures = {"one": one_file(ours, peers, Path(scratch), options.repeat), "many": many_files(ours, peers, Path(scratch), options)}
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
