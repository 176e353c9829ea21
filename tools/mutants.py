"""Mutation testing: random semantic changes of cfglint, each of which a test should notice.

    python tools/mutants.py --count 60 --seed 1
    python tools/mutants.py --count 60 --seed 2 --under cfglint/frameworks/neox --json report.json

draws changes of the hand-written modules (comparisons, `and` and `or`, conditions, constants, arithmetic, dropped statements,
swapped arguments; modules by their size, `_*.py` left out), runs the tests that execute the changed function, and prints every
change that no test notices as a diff, then the closing figures. `--json` has all of them, with the test that failed and what it said.

It works in a copy of the checkout in the temporary directory and changes nothing else. pytest collects the fast suite once; then one
process is forked for each change, which puts the changed bytecode into the functions that are loaded and runs the tests that
executed the function before, those of the mirrored folder and the quick ones first, up to the first failure. A change of a
constant is put in place likewise; any other change of what runs with an import is tested by new processes, and so is a change of a
function that imports call, like a decorator, if no test notices it in place.

Which test executes which function takes a run of the whole fast suite to find out, so it is kept in a file (`--map`, by default in
the temporary directory): tests that are new since then are added, and after large changes it is better removed. A test that takes much
longer than before counts as failed. `--seconds` bounds the processor time for each change: a change that no test has noticed until then
survives, and is marked "not all tests ran". Needs Python 3.11.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import functools
import gc
import importlib
import json
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import pytest
from mutant_sites import CHANGES, Mutant, drawn, functions

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = (".git", ".venv", "site", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", "node_modules")
GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "core.fsync=none", "-c", "maintenance.auto=false")
MAP = os.path.join(tempfile.gettempdir(), "cfglint-mutants.json")
MEMORY = 6 << 30
GRACE = 15.0  # seconds of processor time that a test may take, with ten times what it took before
MARK = time.time_ns()


def main() -> int:
    """Draw, run, print."""
    asked = arguments()
    mutants = drawn(ROOT, asked.under, asked.count, asked.seed, asked.kind)
    with tempfile.TemporaryDirectory(prefix="cfglint-mutants-") as folder:
        place = Path(folder) / "checkout"
        copied(place)
        os.chdir(place)
        sys.path[:0] = [str(place), str(place / "tools")]
        os.environ["PYTHONPATH"] = str(place)  # for the processes that tests start
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        server = Server(place, mutants, asked)
        pytest.main(["-q", "-p", "no:cacheprovider", "-n", "0", f"--basetemp={folder}/tests", *asked.tests], plugins=[server])
    results = server.results
    if asked.json:
        Path(asked.json).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    caught = sum(result["caught"] for result in results)
    print(f"\nseed {asked.seed}, {asked.under}: {caught} of {len(results)} changes are noticed")
    return int(caught < len(results))


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=60, help="number of changes (default: 60)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample (default: 0)")
    parser.add_argument("--under", default="cfglint", metavar="FOLDER", help="folder or module to change (default: cfglint)")
    parser.add_argument(
        "--kind", choices=sorted(CHANGES), default="", help="draw this kind of change only; `release` moves bounds of releases"
    )
    parser.add_argument("--seconds", type=float, default=120, help="processor time for each change (default: 120)")
    parser.add_argument("--map", metavar="FILE", default=MAP, help=f"file that keeps which test executes which function (default: {MAP})")
    parser.add_argument("--json", metavar="FILE", help="write all changes and their outcome")
    parser.add_argument("--tests", nargs="*", default=["tests"], metavar="PATH", help="tests to collect (default: the fast suite)")
    asked = parser.parse_args()
    asked.map = os.path.abspath(asked.map)
    asked.json = asked.json and os.path.abspath(asked.json)
    return asked


def copied(place: Path) -> None:
    """A copy of the checkout, which is a repository because some tests ask git."""
    shutil.copytree(ROOT, place, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "a")):
        subprocess.run([*GIT, *command], cwd=place, check=True)


class Server:
    """Holds the collected tests and tries them on each mutant in a forked process."""

    def __init__(self, place: Path, mutants: list[Mutant], asked: argparse.Namespace) -> None:
        self.place, self.mutants, self.asked = place, mutants, asked
        self.results: list[dict[str, Any]] = []
        self.seconds: dict[str, float] = {}
        self.executed: dict[str, list[str]] = {}
        self.called_by_imports: set[str] = set()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Instead of running the tests: find out what they execute, then run them on the mutants."""
        items = {item.nodeid: item for item in session.items}
        session.config.pluginmanager.unregister(name="terminalreporter")
        capture = session.config.pluginmanager.getplugin("capturemanager")
        assert capture is not None
        capture.suspend_global_capture(in_=True)
        self.learn(items)
        self.called_by_imports = set(forked(lambda: {"functions": called_by_imports(self.place)}, 600)["functions"])  # type: ignore[index]
        for number, mutant in enumerate(self.mutants, 1):
            started = time.monotonic()
            outcome = self.tried(mutant, items)
            outcome["wall"] = round(time.monotonic() - started, 1)
            self.results.append({**described(mutant), **outcome})
            print(line_of(number, mutant, outcome), flush=True)
        return True

    def learn(self, items: dict[str, pytest.Item]) -> None:
        """Which tests execute which function, and how long they take: from the file, and from a run of those that it lacks."""
        known: dict[str, Any] = {}
        if os.path.exists(self.asked.map):
            known = json.loads(Path(self.asked.map).read_text(encoding="utf-8"))
        missing = [item for name, item in items.items() if name not in known]
        if missing:
            print(f"finding out what {len(missing)} tests execute", flush=True)
            known.update(forked(lambda: traced(missing, self.place), 7200) or {})
            Path(self.asked.map).write_text(json.dumps(known), encoding="utf-8")
        for name, entry in known.items():
            if name in items and entry["passed"]:
                self.seconds[name] = entry["seconds"]
                for function in entry["functions"]:
                    self.executed.setdefault(function, []).append(name)

    def tried(self, mutant: Mutant, items: dict[str, pytest.Item]) -> dict[str, Any]:
        """What the tests say of a mutant."""
        path = self.place / mutant.path
        rewrite(path, mutant.after)
        try:
            names = self.ordered(mutant, self.of_function(mutant) if mutant.function else self.of_module(mutant))
            limit = self.asked.seconds
            found = forked(lambda: attempted(mutant, path, [items[name] for name in names], self.seconds, limit), 4 * limit)
            if found is None:
                return {"caught": True, "test": "", "said": "a test ended the process, or took much longer than before"}
            unnoticed = not found.get("caught") and f"{mutant.path}::{mutant.function}" in self.called_by_imports
            if not found["in_place"] or unnoticed:
                return self.with_new_process(self.ordered(mutant, self.of_module(mutant)))
            return {"tests": len(names), **found}
        finally:
            rewrite(path, mutant.before)

    def of_function(self, mutant: Mutant) -> set[str]:
        """The tests that execute the function of a mutant."""
        return set(self.executed.get(f"{mutant.path}::{mutant.function}", ()))

    def of_module(self, mutant: Mutant) -> set[str]:
        """The tests that execute anything in the module of a mutant."""
        start = f"{mutant.path}::"
        return {name for function, names in self.executed.items() if function.startswith(start) for name in names}

    def ordered(self, mutant: Mutant, executing: set[str]) -> list[str]:
        """These tests, and those of the mirrored folder: quick ones first, and the mirrored ones before others."""
        mirrored = tuple(mirrors(mutant.path))
        names = executing | {name for name in self.seconds if name.startswith(mirrored[0])}
        weight = {name: (name not in executing, self.seconds[name] * (1 if name.startswith(mirrored) else 8)) for name in names}
        return sorted(names, key=weight.__getitem__)

    def with_new_process(self, names: list[str]) -> dict[str, Any]:
        """What a new process says, which imports the changed module."""
        files = list(dict.fromkeys(name.partition("::")[0] for name in names))
        started, left = time.monotonic(), self.asked.seconds
        for at in range(0, len(files), 4):
            command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-n", "0", *files[at : at + 4]]
            try:
                done = subprocess.run(command, cwd=self.place, capture_output=True, text=True, timeout=4 * left, check=False)
            except subprocess.TimeoutExpired:
                return {"caught": True, "test": "", "said": "the tests took much longer than before"}
            if done.returncode not in (0, 5):
                failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
                if self.fails_unchanged(failed):
                    continue
                return {"caught": True, "test": " ".join(failed)[:300], "said": done.stdout[-4000:]}
            if time.monotonic() - started > 2 * left and at + 4 < len(files):
                return {"caught": False, "complete": False, "tests": len(names)}
        return {"caught": False, "complete": True, "tests": len(names)}

    def fails_unchanged(self, failed: list[str]) -> bool:
        """Whether the failed tests are ones that fail without a change, too."""
        names = [line.split(" ")[1] for line in failed if " " in line]
        return bool(names) and all("::" in name and name not in self.seconds for name in names)


def mirrors(path: str) -> Iterator[str]:
    """The folder of the tests that mirrors that of a module, then other places for its tests."""
    parts = Path(path).parts[1:-1]
    if parts[:1] == ("frameworks",):
        yield f"tests/{'/'.join(parts[:2])}{'/' if len(parts) > 1 else '/test_'}"
        yield "tests/rules/"
    elif parts:
        yield f"tests/{parts[0]}/"
    else:
        yield "tests/cli/"


def rewrite(path: Path, text: str) -> None:
    """Write a module so that Python does not take its former bytecode for that of the new text."""
    global MARK
    MARK += 2_000_000_000
    path.write_text(text, encoding="utf-8")
    os.utime(path, ns=(MARK, MARK))


def described(mutant: Mutant) -> dict[str, Any]:
    """A mutant in the report."""
    return {"at": f"{mutant.path}:{mutant.line}", "kind": mutant.kind, "function": mutant.function, "diff": mutant.diff}


def line_of(number: int, mutant: Mutant, outcome: dict[str, Any]) -> str:
    """What is printed of a mutant: a line, and the diff if it survived."""
    place = f"{number}. {mutant.path}:{mutant.line} {mutant.kind}"
    if outcome["caught"]:
        return f"{place}: noticed by {outcome['test'] or outcome['said']}, {outcome['wall']} s"
    note = "" if outcome.get("complete", True) else ", not all tests ran"
    return f"{place}: SURVIVES {outcome['tests']} tests{note}, {outcome['wall']} s\n{mutant.diff}"


def forked(work: Callable[[], dict[str, Any]], seconds: float) -> dict[str, Any] | None:
    """What a function returns in a forked process; None if that process dies or does not end in time."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silence, stream)
        try:
            text = json.dumps(work()).encode()
            with os.fdopen(writing, "wb") as pipe:
                pipe.write(text)
        finally:
            os._exit(0)
    os.close(writing)
    said = b"".join(received(reading, time.monotonic() + seconds))
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # with what its tests have started
    os.waitpid(child, 0)
    return json.loads(said) if said else None


def received(reading: int, until: float) -> Iterator[bytes]:
    """What comes through a pipe until its end or a moment."""
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        while time.monotonic() < until:
            if select.select([pipe], [], [], 1.0)[0]:
                part = pipe.read(1 << 16)
                if not part:
                    return
                yield part


class Outcome:
    """Notes whether a test passes."""

    def __init__(self) -> None:
        self.failed: pytest.TestReport | None = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the first failure."""
        if report.failed and self.failed is None:
            self.failed = report


def run(item: pytest.Item, following: pytest.Item | None) -> pytest.TestReport | None:
    """Run one test; its failure."""
    outcome = Outcome()
    item.config.pluginmanager.register(outcome)
    try:
        item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
    finally:
        item.config.pluginmanager.unregister(outcome)
    return outcome.failed


def traced(items: list[pytest.Item], place: Path) -> dict[str, Any]:
    """Of each test, the functions that it executes, whether it passes and how long it takes."""
    inside = f"{place / 'cfglint'}{os.sep}"
    found: dict[str, Any] = {}
    for item, following in zip(items, [*items[1:], None], strict=True):
        forget()
        seen: set[CodeType] = set()

        def trace(frame: FrameType, event: str, argument: object, seen: set[CodeType] = seen) -> None:
            seen.add(frame.f_code)

        started = time.process_time()
        sys.settrace(trace)
        failure = run(item, following)
        sys.settrace(None)
        names = {outermost(each, place) for each in seen if each.co_filename.startswith(inside)}
        found[item.nodeid] = {"passed": not failure, "seconds": round(time.process_time() - started, 3), "functions": sorted(names)}
    return found


def called_by_imports(place: Path) -> list[str]:
    """The functions that run when the modules of the package are imported anew."""
    for name in [module for module in sys.modules if module.partition(".")[0] == "cfglint"]:
        del sys.modules[name]
    seen: set[CodeType] = set()
    sys.setprofile(lambda frame, event, argument: seen.add(frame.f_code))
    for path in sorted((place / "cfglint").rglob("*.py")):
        if path.name != "__main__.py":
            with contextlib.suppress(ImportError):  # of a package that is not installed
                importlib.import_module(".".join(path.relative_to(place).with_suffix("").parts).removesuffix(".__init__"))
    sys.setprofile(None)
    inside = [each for each in seen if each.co_filename.startswith(f"{place / 'cfglint'}{os.sep}")]
    return sorted({outermost(each, place) for each in inside if each.co_name not in ("<module>", "<lambda>")})


def outermost(code: CodeType, place: Path) -> str:
    """The name of the outermost function around some code, with its module."""
    return f"{os.path.relpath(code.co_filename, place)}::{code.co_qualname.partition('.<locals>')[0]}"


def attempted(mutant: Mutant, path: Path, items: list[pytest.Item], seconds: dict[str, float], limit: float) -> dict[str, Any]:
    """The first failure of these tests with the mutant in place."""
    module = next((each for each in list(sys.modules.values()) if getattr(each, "__file__", None) == str(path)), None)
    # A module that is not loaded yet is imported as it is on the disk.
    if module and not (put_in_place(mutant, path) if mutant.function else values_put_in_place(mutant, module)):
        return {"in_place": False}
    forget()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    started = time.process_time()
    for item, following in zip(items, [*items[1:], None], strict=True):
        signal.setitimer(signal.ITIMER_PROF, GRACE + 10 * seconds[item.nodeid])  # ends the process
        failure = run(item, following)
        if failure:
            return {"in_place": True, "caught": True, "test": item.nodeid, "said": failure.longreprtext[-4000:]}
        if time.process_time() - started > limit:
            return {"in_place": True, "caught": False, "complete": item is items[-1]}
    return {"in_place": True, "caught": False, "complete": True}


def put_in_place(mutant: Mutant, path: Path) -> bool:
    """Give the loaded functions of a module their changed code; whether that is possible."""
    old = compile(ast.parse(mutant.before), str(path), "exec", dont_inherit=True)
    new = compile(mutant.tree, str(path), "exec", dont_inherit=True)
    changed = dict(differing(old, new))
    placed = False
    for get_object in gc.get_objects():
        if isinstance(get_object, FunctionType) and get_object.__code__ in changed and get_object.__code__.co_filename == str(path):
            try:
                get_object.__code__ = changed[get_object.__code__]
            except ValueError:  # another number of free variables
                return False
            placed = True
    return placed


def differing(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Pairs of functions whose code is not the same."""
    former = [co_const for co_const in old.co_consts if isinstance(co_const, CodeType)]
    later = [co_const for co_const in new.co_consts if isinstance(co_const, CodeType)]
    for one, other in zip(former, later, strict=False):
        if one != other:
            yield one, other
            yield from differing(one, other)


def values_put_in_place(mutant: Mutant, module: ModuleType) -> bool:
    """Replace the loaded constants of a module that a change of what runs with its import changes; whether that does for the change.

    It does not where another statement that runs with an import has used them.
    """
    changed = differing_values(executed(mutant.before, module), executed(mutant.after, module))
    if any(map(is_used_by_imports, changed)):
        return False
    for name, (former, value) in changed.items():
        for each in list(sys.modules.values()):
            if str(getattr(each, "__name__", "")).startswith("cfglint") and shown(getattr(each, name, None)) == former:
                setattr(each, name, value)
    return bool(changed)


def is_used_by_imports(name: str) -> bool:
    """Whether a loaded module uses a constant where it runs with its import, as in a decorator."""
    for module in [
        each for each in sys.modules.values() if str(getattr(each, "__name__", "")).startswith("cfglint") and hasattr(each, name)
    ]:
        tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
        late = dict(functions(tree))
        loads = ((order, node) for order, node in enumerate(ast.walk(tree)) if isinstance(node, ast.Name) and node.id == name)
        if any(isinstance(node.ctx, ast.Load) and order not in late for order, node in loads):
            return True
    return False


def executed(text: str, module: ModuleType) -> dict[str, Any]:
    """The constants of a module whose source is executed anew; empty if that is not possible."""
    names: dict[str, Any] = {"__name__": module.__name__, "__file__": module.__file__, "__package__": module.__package__}
    try:
        exec(compile(text, str(module.__file__), "exec", dont_inherit=True), names)
    except Exception:
        return {}
    return {name: value for name, value in names.items() if name.isupper()}


def differing_values(old: dict[str, Any], new: dict[str, Any]) -> dict[str, tuple[str, Any]]:
    """Of each constant that is not the same: how it was shown, and the new value."""
    return {name: (shown(old[name]), value) for name, value in new.items() if name in old and shown(old[name]) != shown(value)}


def shown(value: object) -> str:
    """A value without what differs from one process to the next."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def forget() -> None:
    """Empty the caches, whose content may have come from other code."""
    for get_object in gc.get_objects():
        if isinstance(get_object, functools._lru_cache_wrapper) and str(get_object.__module__).startswith("cfglint"):
            get_object.cache_clear()


if __name__ == "__main__":
    sys.exit(main())
