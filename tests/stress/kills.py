"""Kill `cfglint fix` at many moments of a write, and look at what it leaves; by hand: python tests/stress/kills.py --kills 1000

Three ways to choose the moment: `line`, before a line of Python that a write runs through (--lines: SIGKILL before every one); `moment`, at
random after the write began, also inside a system call; `anywhere`, at random in the whole life of the command. The
files: JSON and YAML of 50 KB, odd modes, through a link, two files of one run. Three ways to write: as on this system,
without unnamed files, and without locks, either.

After each kill every file has to be the old or the new one, byte for byte, with its mode. Then `fix` runs once more, not
disturbed: every file has to be the new one, and nothing else may be in the folder (without locks: counted only).
Exit status 1 when something was lost.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from statistics import median

from cfglint.cli import main
from cfglint.source import writing

PADDING = 50_000  # bytes of comments, so that a write has several blocks
TARGET = ("--gpus", "8", "--global-batch", "512")
SIGNALS = (signal.SIGKILL,) * 7 + (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
WAYS = ("as here", "named", "unlocked")
MOMENTS = ("line", "line", "line", "line", "line", "moment", "moment", "moment", "moment", "anywhere")
COLUMNS = ("kills", "ended first", "old", "new", "half a run", "litter at once", "litter later", "wrong")

JSON = '{\n  "train_batch_size": 256,\n  "train_micro_batch_size_per_gpu": 4,\n%s  "gradient_accumulation_steps": 8\n}\n'
TRAINER = "output_dir: out\nper_device_train_batch_size: 4\n%sgradient_accumulation_steps: 8 # of today\n%s"


def padding(before: str = "", after: str = "") -> str:
    """Comment lines."""
    line = "  # " + "x" * 90 + "\n"
    return before + line * (PADDING // len(line)) + after


class Case:
    """Files of one run: their texts and modes, and how `fix` is called on them."""

    def __init__(self, name: str, texts: dict[str, str], mode: int, linked: bool = False) -> None:
        self.name = name
        self.mode = mode
        self.linked = linked
        self.old = {file: text.encode() for file, text in texts.items()}
        self.new: dict[str, bytes] = {}
        self.arguments = ["fix", *list(texts)[:1], "--run", "--from-gpus", "8", *TARGET]
        self.folder = tempfile.mkdtemp(prefix="kills-")
        self.store = os.path.join(self.folder, "store")  # where the files are that links lead to
        os.mkdir(self.store)

    def reset(self) -> None:
        """The old files, and nothing else."""
        for folder in (self.store, self.folder):
            for name in os.listdir(folder):
                path = os.path.join(folder, name)
                if path != self.store:
                    os.unlink(path)
        for file, data in self.old.items():
            path = os.path.join(self.store if self.linked else self.folder, file)
            with open(path, "wb") as out:
                out.write(data)
            os.chmod(path, self.mode)
            if self.linked:
                os.symlink(os.path.join("store", file), os.path.join(self.folder, file))

    def state(self) -> tuple[dict[str, bytes], bool, int]:
        """(the bytes of each file, whether modes and links are what they were, how many files are not ours)."""
        found, kept = {}, True
        for file in self.old:
            path = os.path.join(self.folder, file)
            kept = kept and os.path.islink(path) == self.linked and stat.S_IMODE(os.stat(path).st_mode) == self.mode
            with open(path, "rb") as data:
                found[file] = data.read()
        expected = len(self.old) * (2 if self.linked else 1) + 1
        return found, kept, len(os.listdir(self.folder)) + len(os.listdir(self.store)) - expected


def cases() -> list[Case]:
    """What is written."""
    pair = {"train.yaml": TRAINER % (padding(), "deepspeed: ds.json\n"), "ds.json": JSON % ""}
    return [
        Case("JSON", {"ds.json": JSON % padding("/*\n", "*/\n")}, 0o640),
        Case("YAML", {"train.yaml": TRAINER % (padding(), "")}, 0o751),
        Case("link", {"ds.json": JSON % padding("/*\n", "*/\n")}, 0o604, linked=True),
        Case("two files", pair, 0o600),
    ]


def prepare(way: str) -> None:
    """Write as this system does, or as others have to."""
    if way != "as here":
        writing.unnamed = lambda *_: None
    if way == "unlocked":
        writing.lock = lambda *_: False


def hook(before: Callable[[], object]) -> None:
    """Call something when a write begins."""
    real = writing.write_all

    def hooked(writes: object) -> None:
        before()
        real(writes)
        sys.settrace(None)

    writing.write_all = hooked


def child(case: Case, way: str, before: Callable[[], object] = lambda: None) -> int:
    """A process that runs `fix` on a case; its number."""
    number = os.fork()
    if number:
        return number
    try:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        os.chdir(case.folder)
        prepare(way)
        hook(before)
        os._exit(main(case.arguments))
    except KeyboardInterrupt:
        os._exit(130)
    finally:
        os._exit(99)


def undisturbed(case: Case, way: str) -> None:
    """Run `fix` to its end."""
    status = os.waitpid(child(case, way), 0)[1]
    if status:
        raise SystemExit(f"{case.name}: fix by itself ended with {status}")


def imported(case: Case) -> None:
    """Import what `fix` needs, so that processes that are forked have it."""
    with open(os.devnull, "w") as quiet, redirect_stdout(quiet), redirect_stderr(quiet):
        main([case.arguments[0], os.path.join(case.folder, case.arguments[1]), *case.arguments[2:], "--diff"])


def traced(number: int, what: Callable[[], object]) -> Callable[[], object]:
    """A function that has something called before the `number`th line that Python comes to from then on."""
    left = [number]

    def trace(_frame: object, event: str, _value: object) -> object:
        if event == "line":
            left[0] -= 1
            if left[0] == 0:
                what()
        return trace

    return lambda: sys.settrace(trace)


def lines(case: Case, way: str) -> int:
    """How many lines of Python a write runs through."""
    out, into = os.pipe()
    case.reset()

    def begin() -> None:
        def trace(_frame: object, event: str, _value: object) -> object:
            if event == "line":
                os.write(into, b".")
            return trace

        sys.settrace(trace)

    number = child(case, way, begin)
    os.close(into)
    with open(out, "rb") as told:
        count = len(told.read())
    os.waitpid(number, 0)
    return count


def at_line(case: Case, way: str, sent: int, line: int) -> int:
    """Kill before a line of the write; how the process ended."""
    return os.waitpid(child(case, way, traced(line, lambda: os.kill(os.getpid(), sent))), 0)[1]


def at_moment(case: Case, way: str, sent: int | None, seconds: float) -> tuple[int, float]:
    """Kill some time after the write began; how the process ended, and how long it lived from there."""
    out, into = os.pipe()
    number = child(case, way, lambda: os.write(into, b"."))
    os.close(into)
    os.read(out, 1)
    began = time.perf_counter()
    os.close(out)
    while sent and time.perf_counter() - began < seconds:  # a sleep is too coarse
        pass
    if sent:
        os.kill(number, sent)
    status = os.waitpid(number, 0)[1]
    return status, time.perf_counter() - began


def anywhere(case: Case, sent: int | None, seconds: float) -> tuple[int, float]:
    """Kill the command some time after its start; how it ended, and how long it lived."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "cfglint", *case.arguments], cwd=case.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    if sent:
        time.sleep(seconds)
        process.send_signal(sent)
    return process.wait(), time.perf_counter() - began


class Bench:
    """A case and a way to write, with what a write there takes."""

    def __init__(self, case: Case, way: str) -> None:
        self.case = case
        self.way = way
        self.lines = lines(case, way)
        self.turn: list[int] = []  # lines that were not killed at yet
        self.write = median(self.timed(lambda: at_moment(case, way, None, 0)) for _ in range(5))
        self.life = self.timed(lambda: anywhere(case, None, 0))

    def timed(self, run: Callable[[], tuple[int, float]]) -> float:
        """The seconds of a run that nobody disturbs."""
        self.case.reset()
        return run()[1]

    def kill(self, how: str, sent: int, rest: random.Random) -> int:
        """Kill once; how the process ended."""
        self.case.reset()
        if how == "line":
            self.turn = self.turn or rest.sample(range(1, self.lines + 1), self.lines)
            return at_line(self.case, self.way, sent, self.turn.pop())
        if how == "moment":
            return at_moment(self.case, self.way, sent, rest.uniform(0, 1.1 * self.write))[0]
        return anywhere(self.case, sent, rest.uniform(0, 1.1 * self.life))[0]


def at_random(benches: list[Bench], rest: random.Random) -> tuple[str, int, Bench]:
    """How to kill, with what signal, and which write."""
    how, sent = rest.choice(MOMENTS), rest.choice(SIGNALS)
    here = [bench for bench in benches if bench.way == WAYS[0]]
    return how, sent, rest.choice(here if how == "anywhere" else here + benches)


def every_line(benches: list[Bench]) -> list[tuple[str, int, Bench]]:
    """The same for each line of each write, and nothing that a process could react to."""
    return [("line", signal.SIGKILL, bench) for bench in benches for _ in range(bench.lines)]


def judge(bench: Bench, counts: Counter[str]) -> list[str]:
    """Count what a kill left, now and after another run; what is wrong with it."""
    case, error = bench.case, []
    found, kept, litter = case.state()
    counts["litter at once"] += litter > 0
    states = {"old" if found[file] == case.old[file] else "new" if found[file] == case.new[file] else "broken" for file in found}
    if "broken" in states or not kept:
        error.append(f"files {states}, mode and link kept: {kept}")
    counts["half a run" if len(states) > 1 else states.pop()] += 1
    undisturbed(case, bench.way)
    found, kept, litter = case.state()
    counts["litter later"] += litter > 0
    if not kept or (litter and bench.way != "unlocked"):
        error.append(f"after the next run: mode and link kept: {kept}, litter: {litter}")
    if found != case.new:
        error.append("after the next run: not the new text")
    counts["wrong"] += bool(error)
    return error


def program() -> int:
    """Kill, count, print a table."""
    parser = argparse.ArgumentParser(description="Kill cfglint fix at many moments of a write.")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lines", action="store_true", help="SIGKILL before every line of every write, instead")
    arguments = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells have background jobs ignore it
    rest = random.Random(arguments.seed)
    began = time.perf_counter()
    found = cases()
    for case in found:
        case.reset()
        imported(case)
        undisturbed(case, "as here")
        case.new = case.state()[0]
        if case.new.items() & case.old.items():
            raise SystemExit(f"{case.name}: a file stays as it is")
    benches = [Bench(case, way) for case in found for way in WAYS]
    table: dict[tuple[str, ...], Counter[str]] = {}
    wrongs = []
    plans = every_line(benches) if arguments.lines else [at_random(benches, rest) for _ in range(arguments.kills)]
    for number, (how, sent, bench) in enumerate(plans):
        counts = table.setdefault((how, signal.Signals(sent).name, bench.way), Counter())
        counts["kills"] += 1
        counts["ended first"] += bench.kill(how, sent, rest) == 0
        wrongs += [f"kill {number}: {bench.case.name}, {how}, {sent}, {bench.way}: {error}" for error in judge(bench, counts)]
    show(table)
    for bench in benches:
        print(f"{bench.case.name}, {bench.way}: a write runs {bench.lines} lines, {bench.write * 1e3:.1f} ms to the end of its process")
    print(f"{len(plans)} kills, seed {arguments.seed}, {time.perf_counter() - began:.0f} s, {len(wrongs)} wrong", *wrongs, sep="\n")
    for case in found:
        shutil.rmtree(case.folder)
    return 1 if wrongs else 0


def show(table: dict[tuple[str, ...], Counter[str]]) -> None:
    """Print what was counted."""
    print(f"{'killed':<10}{'by':<9}{'written':<10}" + "".join(f"{name:>{len(name) + 2}}" for name in COLUMNS))
    total: Counter[str] = Counter()
    for key, counts in sorted(table.items()):
        total += counts
        print("{:<10}{:<9}{:<10}".format(*key) + "".join(f"{counts[name]:>{len(name) + 2}}" for name in COLUMNS))
    print(f"{'all':<29}" + "".join(f"{total[name]:>{len(name) + 2}}" for name in COLUMNS))


if __name__ == "__main__":
    sys.exit(program())
