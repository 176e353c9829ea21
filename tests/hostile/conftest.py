"""What hostile input is tried with: a process that may take so much time and memory, and a healthy file beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

sys.path.append(str(Path(__file__).resolve().parent))

from soundness import BUGS, FORMATS, harmless, strict

MEGABYTE = 1 << 20
GRACE = 20  # seconds beyond six times the processor time: whoever takes longer waits for something
AT_START = "print(*[line.split()[1] for line in open('/proc/self/status') if line.startswith('VmPeak')])"


class Ended:
    """A process that has come to its end: its exit status and what it printed, bytes that are no UTF-8 as surrogates."""

    def __init__(self, status: int, out: bytes, err: bytes) -> None:
        self.status = status
        self.out = out.decode("utf-8", "surrogateescape")
        self.err = err.decode("utf-8", "surrogateescape")

    def sound(self, status: int | None = None) -> Ended:
        """Itself, when it broke nowhere and ended with this status, if one is given."""
        said = ascii(f"exit status {self.status}\n{self.out[-4000:]}\n{self.err[-4000:]}").replace("\\n", "\n")
        assert self.status in (0, 1, 2), said
        assert not [bug for bug in BUGS if bug in self.out or bug in self.err], said
        assert status is None or self.status == status, said
        return self


@pytest.fixture(scope="session")
def at_start():
    """Megabytes of address space that Python has before it does anything; systems differ by hundreds."""
    if sys.platform != "linux":
        pytest.skip("limits of memory as Linux has them")
    done = subprocess.run([sys.executable, "-c", AT_START], capture_output=True, text=True, check=True)
    return int(done.stdout) // 1024


def restricted(memory: int, seconds: int):
    """What a child does before it becomes `cfglint`: it gives up memory (MB of address space) and processor time beyond these."""
    import resource

    def give_up() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (memory * MEGABYTE,) * 2)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    return give_up


@pytest.fixture(scope="session")
def limited(environment, at_start):
    """Run `cfglint` with arguments in a folder: how it ended.

    It may take `memory` MB beyond what Python begins with, and `seconds` of processor time. `env` comes on top of
    the environment of a plain terminal. `program` is what Python runs instead of `cfglint`.
    """

    def run(arguments, cwd, memory=300, seconds=10, stdin=None, env=None, program=("-m", "cfglint")):
        done = subprocess.run(
            [sys.executable, *program, *map(os.fspath, arguments)],
            cwd=cwd,
            env={**environment, **(env or {})},
            capture_output=True,
            timeout=GRACE + 6 * seconds,
            preexec_fn=restricted(at_start + memory, seconds),
            **({"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}),
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture(scope="session")
def good():
    """A healthy file with one mistake, which must be told whatever stands beside it: its name, text, code, line, and what is told."""
    lines = ["{", '  "train_batch_size": 7,', '  "train_micro_batch_size_per_gpu": 4,', '  "gradient_accumulation_steps": 8', "}", ""]
    return SimpleNamespace(name="good.json", text="\n".join(lines), code="BAT001", line=2, told="good.json:2:23: error BAT001")


@pytest.fixture
def folder(tmp_path, good, monkeypatch):
    """A folder with the healthy file, where nothing above is taken for its project; also the working directory."""
    (tmp_path / good.name).write_text(good.text)
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def formats():
    """Options that ask for a report in every format, each in a file of its own."""
    return [part for form in FORMATS for part in ("--format", form, "--output", f"report.{form}")]


@pytest.fixture(scope="session")
def reports(good):
    """Read the reports of every format in a folder: their texts, which tell of the healthy file and nothing that is obeyed."""

    def read(folder):
        texts = {form: (folder / f"report.{form}").read_bytes().decode("utf-8") for form in FORMATS}
        for form, text in texts.items():
            assert good.code in text, form
            assert form == "html" or harmless(text), form
            assert "\x1b" not in text, form
        for form in ("json", "sarif", "gitlab"):
            assert strict(texts[form])
        assert [*ElementTree.fromstring(texts["junit"]).iter("testcase")]
        assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in texts["github"].splitlines())
        page = Page(texts["html"])
        assert page.names.count("html") == page.names.count("body") == 1
        return texts

    return read


class Page(HTMLParser):
    """Names of the elements of a page."""

    def __init__(self, text):
        super().__init__()
        self.names = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
