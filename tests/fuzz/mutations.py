"""A fuzzer: mutants of configs, and the properties that cfglint has to keep on them.

    python tests/fuzz/mutations.py --minutes 60 --seed 1 --corpus DIR --out DIR

prints what was run and found; a failure is made small and written to a folder of --out, with the commands' output.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import sys
import tempfile
import time
import traceback
from collections import Counter, deque
from itertools import chain

sys.path.append(os.path.dirname(os.path.abspath(__file__)))

from mutators import TOKEN, Mutator
from properties import ONE, Bench, Broken, compared, ordered
from seeds import Case, of_examples, of_folder, of_rules

from cfglint.rules.catalogue import every_rule

BATCH = 40  # mutants that are checked together, in several orders and processes
TRIES = 400  # runs of a property that making a failure small may cost
MEMORY = 2 << 30  # bytes of the process, so that what takes all there is becomes a failure of its own
PATIENCE = 30  # seconds that it may cost, for a failure that takes its time


class Fuzzer:
    """Mutants of groups of cases, the properties they are held to, and what failed. The same seed gives the same mutants."""

    def __init__(self, folder, seed, groups, report=None):
        self.rng = random.Random(seed)
        self.mutator = Mutator(self.rng)
        self.groups = groups
        self.bench = Bench(folder)
        self.recent = deque(maxlen=BATCH)
        self.executions = 0
        self.failures = {}  # signature -> the first failure
        self.times = Counter()
        self.report = report

    def step(self):
        """One mutant, under the properties of one case, and of the latest ones together where there are enough."""
        case = self.mutator.made_up() if self.rng.random() < 0.2 else self.mutator.mutant(self.rng.choice(self.rng.choice(self.groups)))
        self.executions += 1
        for prove in ONE:
            self.hold(prove, case)
        if self.executions % 3 == 0 and self.recent:
            other = self.rng.choice(self.recent)
            self.hold(compared, case, other)
        self.recent.append(case)
        if self.executions % BATCH == 0:
            self.together()

    def hold(self, prove, case, *others):
        """Try a property; a failure that is new is made small and kept."""
        draw = self.rng.random()
        try:
            attempt(prove, self.bench, case, draw, others)
        except Broken as broken:
            self.times[broken.signature] += 1
            if broken.signature not in self.failures:
                self.failures[broken.signature] = broken
                small = reduced(self.bench, prove, case, draw, broken.signature, others)
                if self.report:
                    self.report(broken, small)

    def together(self):
        """The latest mutants on one command line."""
        draw = self.rng.random()
        cases = list(self.recent)
        try:
            attempt(ordered, self.bench, cases, draw, ())
        except Broken as broken:
            self.times[broken.signature] += 1
            if broken.signature not in self.failures:
                self.failures[broken.signature] = broken
                if self.report:
                    self.report(broken, fewer(self.bench, cases, draw, broken.signature))


def attempt(prove, bench, case, draw, others):
    """Try a property; what goes wrong in it, and not in a command, is told as a failure of the fuzzer."""
    try:
        prove(bench, case, random.Random(draw), *others)
    except Broken:
        raise
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        about = f"{type(error).__name__} in {prove.__name__} at {frame.name}:{frame.lineno}"
        raise Broken("fuzzer", about, traceback.format_exc()) from error


def fails(bench, prove, case, draw, signature, others):
    """Whether a case still fails in the same way."""
    try:
        attempt(prove, bench, case, draw, others)
    except Broken as broken:
        return broken.signature == signature
    return False


def reduced(bench, prove, case, draw, signature, others):
    """A smaller case with the same failure: without files, flags, lines and tokens that it does not need."""
    left = [TRIES]
    end = time.monotonic() + PATIENCE

    def still(smaller):
        left[0] -= 1
        return left[0] > 0 and time.monotonic() < end and fails(bench, prove, smaller, draw, signature, others)

    options = shortest(grouped(case.flags), lambda kept, case=case: still(Case(case.files, chain.from_iterable(kept), case.named)))
    case = Case(case.files, chain.from_iterable(options), case.named)
    for name in list(case.files):
        others_of = {each: text for each, text in case.files.items() if each != name}
        if others_of and still(Case(others_of, case.flags, min(case.named, len(others_of)))):
            case = Case(others_of, case.flags, min(case.named, len(others_of)))
    for name in case.files:
        for split in (lambda text: text.splitlines(keepends=True), TOKEN.findall):
            parts = shortest(split(case.files[name]), lambda kept, name=name, case=case: still(case.replace({name: "".join(kept)})))
            case = case.replace({name: "".join(parts)})
    return case


def grouped(flags):
    """Flags, each with its value."""
    groups = []
    for flag in flags:
        if flag.startswith("--"):
            groups.append([flag])
        else:
            groups[-1].append(flag)
    return groups


def shortest(parts, still):
    """Fewer parts, chunks left out by halves while the failure stays."""
    size = max(len(parts) // 2, 1)
    while parts:
        start = 0
        while start < len(parts):
            kept = parts[:start] + parts[start + size :]
            if still(kept):
                parts = kept
            else:
                start += size
        if size == 1:
            return parts
        size //= 2
    return parts


def fewer(bench, cases, draw, signature):
    """The files of as few cases as still fail together, as one case."""
    kept = shortest(cases, lambda left: bool(left) and fails(bench, ordered, left, draw, signature, ()))
    return Case({f"d{number}/{name}": text for number, case in enumerate(kept) for name, text in case.files.items()})


def writer(out):
    """A function that puts failures into folders below `out`."""

    def write(broken, case):
        folder = os.path.join(out, re.sub(r"[^\w.]+", "-", broken.signature)[:80])
        print(f"FAILED {broken.signature}  -> {folder}", flush=True)
        for name, text in case.files.items():
            path = os.path.join(folder, "files", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(text.encode("utf-8", "surrogatepass"))
        with open(os.path.join(folder, "failure.txt"), "wb") as file:
            file.write(f"{' '.join([*case.paths, *case.flags])}\n{broken}\n".encode("utf-8", "surrogatepass"))

    return write


def main():
    """Fuzz for some minutes; exit status 1 when something failed."""
    parser = argparse.ArgumentParser(description="mutate configs and hold cfglint to its properties")
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", action="append", default=[], help="a folder of further configs; repeatable")
    parser.add_argument("--out", default="fuzz-failures", help="where failures go")
    arguments = parser.parse_args()
    out = os.path.abspath(arguments.out)
    groups = [of_examples(), of_rules(), of_rules(), *map(of_folder, arguments.corpus)]
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    start = time.monotonic()
    told = start
    with tempfile.TemporaryDirectory() as folder:
        fuzzer = Fuzzer(folder, arguments.seed, groups, writer(out))
        while time.monotonic() < start + 60 * arguments.minutes:
            fuzzer.step()
            if time.monotonic() > told + 60:
                told = time.monotonic()
                print(line(fuzzer, told - start), flush=True)
        print(line(fuzzer, time.monotonic() - start))
        for signature, times in fuzzer.times.most_common():
            print(f"{times:6} {signature}")
        missing = sorted({rule.code for rule in every_rule()} - fuzzer.bench.codes)
        print(f"codes that never came: {' '.join(missing) or 'none'}")
        os.chdir(out if os.path.isdir(out) else "/")
    return 1 if fuzzer.failures else 0


def line(fuzzer, seconds):
    """The figures of a moment."""
    codes = len(fuzzer.bench.codes)
    return (
        f"{seconds / 60:.1f} min, {fuzzer.executions} mutants ({fuzzer.executions / seconds:.1f} a second), "
        f"{fuzzer.bench.commands} commands, {codes} of {len(every_rule())} codes came, {len(fuzzer.failures)} failures"
    )


if __name__ == "__main__":
    raise SystemExit(main())
