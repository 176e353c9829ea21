"""The drawing of docs/architecture.md: which part imports which, and the way of four runs through the parts.

python tools/draw_architecture.py           # compares the page, exit status 1 if it is not current
python tools/draw_architecture.py --write   # rewrites what stands between its marks
"""

from __future__ import annotations

import contextlib
import functools
import gc
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "cfglint"
PAGE = ROOT / "docs" / "architecture.md"
KEEPS_RESULTS = str(PACKAGE / "source" / "__init__.py")  # the decorator that calls functions of all parts for those that call them
# The parts from the top downwards: a module imports those of its own part and of the parts after it.
PARTS = (
    *("cli", "server", "api", "report", "review", "generators", "explanation", "rewrite", "run", "project"),
    *("rules", "frameworks", "launch", "findings", "data", "batch", "source", "evaluate"),
)
# What people do most, on files of the project itself.
RUNS = {
    "one JSON file": ("check", "examples/bad/batch-mismatch.json", "--gpus", "8"),
    "one script, its program and its files": ("check", "examples/first-hour/train.sh"),
    "one program": ("explain", "examples/first-hour/sft.py"),
    "a review of two files": ("review", "examples/good/trainer.yaml", "examples/bad/best-model.yaml", "--gpus", "8"),
}
IMPORT = re.compile(r"^ *from cfglint(?:\.(\w+)[\w.]*)? import (\w+)", re.MULTILINE)
WIDTH = 13


def imports() -> set[tuple[str, str]]:
    """(part, part that it imports); late imports and those for a type checker alone count, too."""
    return {
        (path.relative_to(PACKAGE).parts[0], statement[1] or statement[2])
        for path in PACKAGE.rglob("*.py")
        for statement in IMPORT.finditer(path.read_text(encoding="utf-8"))
    }


def matrix(found: set[tuple[str, str]]) -> list[str]:
    """A row for each part that imports others: all parts below it but those that are named."""
    lines = []
    for row, part in enumerate(PARTS[:-1]):
        above = [other for other in PARTS[:row] if (part, other) in found]
        without = [other for other in PARTS[row + 1 :] if (part, other) not in found]
        lines.append(
            f"{part:<{WIDTH}}{'UPWARDS: ' + ', '.join(above) if above else ''}{'without ' + ', '.join(without) if without else 'all'}"
        )
    return lines


class Way:
    """The parts that a command goes through, in the order in which they are first entered, and where a lower one calls an upper one."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.upwards: list[str] = []
        self.known: set[tuple[CodeType, CodeType]] = set()  # (caller, called), both of cfglint

    def note(self, frame: FrameType, event: str, _: object) -> None:
        """Note a call, for `sys.setprofile`."""
        if event != "call" or frame.f_back is None or (pair := (frame.f_back.f_code, frame.f_code)) in self.known:
            return
        part = part_of(frame)
        if part is None:
            return
        if part_of(frame.f_back) is not None:
            self.known.add(pair)
        if part not in self.parts:
            self.parts.append(part)
        caller = next((found for found in map(part_of, callers(frame)) if found), None)
        if caller is not None and PARTS.index(part) < PARTS.index(caller):
            self.upwards += [call] if (call := f"{caller} -> {part}") not in self.upwards else []


def callers(frame: FrameType) -> Iterator[FrameType]:
    """The frames below a frame, the nearest first."""
    while frame.f_back is not None:
        frame = frame.f_back
        yield frame


def part_of(frame: FrameType) -> str | None:
    """The part whose code a frame runs; None for Python's and other packages'."""
    return part_of_code(frame.f_code)


@functools.cache
def part_of_code(code: CodeType) -> str | None:
    file = code.co_filename
    if file == KEEPS_RESULTS:
        return None
    name = file.removeprefix(f"{PACKAGE}{os.sep}").split(os.sep)[0] if file.startswith(f"{PACKAGE}{os.sep}") else ""
    return name if name in PARTS and code.co_name != "<module>" else None


def way(arguments: list[str]) -> dict[str, object]:
    """The way of one command, which runs in this process."""
    from cfglint.cli import main

    noted = Way()
    gc.disable()  # it would close generators in the middle of any function
    sys.setprofile(noted.note)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            main([*arguments, *(("--jobs", "1") if arguments[0] == "check" else ())])  # else the other processes take a part of it
    finally:
        sys.setprofile(None)
    modules = [name for name in sys.modules if name.partition(".")[0] == "cfglint"]
    return {"parts": noted.parts, "modules": len(modules), "upwards": noted.upwards}


def ways() -> list[str]:
    """A row for each of the usual runs, each in a process of its own, so that its modules are those that it needs."""
    lines = ["| run | modules, about | parts in the order in which they are entered | calls upwards |", "|---|--:|---|---|"]
    for title, arguments in RUNS.items():
        command = [sys.executable, __file__, "--way", *arguments]
        found = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
        modules = 50 * round(found["modules"] / 50)
        shown = [
            f"{title}: `cfglint {' '.join(arguments)}`",
            f"{modules}",
            ", ".join(found["parts"]),
            ", ".join(found["upwards"]) or "none",
        ]
        lines.append(f"| {' | '.join(shown)} |")
    return lines


def drawn(page: str, name: str, lines: list[str]) -> str:
    """The page with other lines between the marks `<!-- NAME -->` and `<!-- end of NAME -->`."""
    start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, _, rest = page.partition(start)
    return f"{before}{start}" + "".join(f"{line}\n" for line in lines) + end + rest.partition(end)[2]


def with_imports(page: str) -> str:
    """The page with the imports as they are."""
    return drawn(page, "imports", ["```text", *matrix(imports()), "```"])


def with_ways(page: str) -> str:
    """The page with the ways of the usual runs as they are."""
    return drawn(page, "ways", ways())


def main(arguments: list[str]) -> int:
    """Compare or rewrite the page; with `--way COMMAND ...`, print the way of one command."""
    if arguments[:1] == ["--way"]:
        print(json.dumps(way(arguments[1:])))
        return 0
    page = PAGE.read_text(encoding="utf-8")
    current = with_ways(with_imports(page))
    if arguments == ["--write"]:
        PAGE.write_text(current, encoding="utf-8")
        return 0
    print("current" if current == page else f"{PAGE.name} is not current: --write rewrites it")
    return int(current != page)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
