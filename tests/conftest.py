"""What several test modules need: the command on the search path, and transcripts of a terminal."""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path

import pytest

from asked_release import ask, asked_by
from cfglint.review.compare import Comparison
from cfglint.run.checked import CheckedRun
from explained import explain

ROOT = Path(__file__).resolve().parent.parent
UPDATE = "CFGLINT_UPDATE"  # set: expected outputs are rewritten with what is printed now

try:
    from hypothesis import HealthCheck, settings
except ModuleNotFoundError:
    pass  # an environment for tests/conformance alone, which draws no examples
else:  # the same examples in every run, and no failure because a machine is busy
    settings.register_profile("cfglint", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("cfglint")

SLOW = (
    *("browser", "fuzz", "hostile", "schemas/test_ajv.py", "schemas/test_editor.py"),
    *("server/test_language_server.py", "server/test_neovim.py", "test_action_runner.py", "test_benchmarks.py"),
    *("test_ci_examples.py", "test_docs.py", "test_site.py", "test_package.py", "test_precommit.py"),
)


def described(run):
    """A run in a failed assertion: its files and findings."""
    found = [f"{each.code} {each.severity} {each.message}" for each in run.diagnostics]
    return f"<{' '.join(each.path for each in run.documents)}: {'; '.join(found) or 'no findings'}>"


CheckedRun.__repr__ = described
Comparison.__repr__ = lambda compared: f"<{compared.before} -> {compared.after}: {compared.settings} {compared.consequences}>"


@cache
def is_slow(path):
    """Whether a file or folder is of the suites that start many processes or build things."""
    inside = Path(path).relative_to(ROOT / "tests").as_posix()
    return inside.startswith(tuple(f"{each}/" for each in SLOW)) or inside in SLOW


def pytest_ignore_collect(collection_path, config):
    """Do not even import the slow suites where none of their tests would run."""
    if config.option.markexpr == "not slow" and not config.option.file_or_dir and is_slow(collection_path):
        return True
    return None


def pytest_collection_modifyitems(items):
    """Mark the suites that start many processes or build things; `pytest -m slow` runs them, CI runs both."""
    for item in items:
        if is_slow(item.path):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call():
    """Say of an exception in a line of a test what its value is."""
    try:
        return (yield)
    except Exception as error:
        explain(error)
        raise


@pytest.fixture(scope="session", autouse=True)
def no_width():
    """No width of a terminal, which pytest-xdist sets: what is printed depends on the arguments alone."""
    os.environ.pop("COLUMNS", None)


@pytest.fixture(scope="session", autouse=True)
def nowhere(tmp_path_factory):
    """Tests run in an empty folder: in the checkout each run would be searched for the releases that its files state."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("nowhere"))
        yield


@pytest.fixture(scope="session", autouse=True)
def bytecode(tmp_path_factory):
    """Processes that tests start share what they compile, even where Python may not write it beside the sources."""
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
        os.environ["PYTHONPYCACHEPREFIX"] = str(tmp_path_factory.getbasetemp().parent / "bytecode")


@pytest.fixture(scope="session")
def environment():
    """The environment of a plain terminal in which `cfglint` and `python` are those under test."""
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "PYTEST_ADDOPTS")}
    folder = os.path.dirname(sys.executable)
    return {**kept, "PATH": os.pathsep.join((folder, kept.get("PATH", ""))), "PYTHONUNBUFFERED": "1", "COLUMNS": "120"}


@pytest.fixture(autouse=True)
def newest_releases(request, monkeypatch):
    """Tests of what a framework does ask its newest release, where they name no other; `tests/run` tests what others change."""
    if request.path.relative_to(ROOT / "tests").parts[0] in ("rules", "frameworks", "launch"):
        monkeypatch.setattr("cfglint.run.allowed_releases.open_packages", lambda _: {})


@pytest.fixture(autouse=True)
def asked_release(request, monkeypatch):
    """A test that a newer release of a framework changed asks the release that it was written for."""
    for package, release in asked_by(request.node.nodeid).items():
        ask(package, release, monkeypatch)


class Transcript:
    """A text in which lines that start with `$ ` are commands and the lines after each are what it prints."""

    def __init__(self, text: str) -> None:
        self.preface, *parts = re.split(r"^(?=\$ )", text, flags=re.MULTILINE)
        self.steps = [part.partition("\n")[::2] for part in parts]

    def replayed(self, run: Callable[[str], str]) -> str:
        """The text again, with what the commands print now."""
        return self.preface + "".join(f"{prompt}\n{run(prompt[2:])}" for prompt, _ in self.steps)


ANSWERS = (0, 1)  # exit statuses of a command that did what was asked


def printed(command: str, folder: str | os.PathLike[str], environment: dict[str, str], statuses: Sequence[int] = ANSWERS) -> str:
    """What a shell command prints, both streams in their order, as a terminal shows it; every part of it ends with an expected status."""
    shell = ["bash", "-o", "pipefail", "-c", command]
    done = subprocess.run(shell, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    text = done.stdout.decode("utf-8")
    assert done.returncode in statuses, f"exit status {done.returncode}: {command}\n{text}"
    return text


@pytest.fixture
def replay(environment):
    """Run a transcript in a folder: the text that it should be, and the folder in which its last command leaves the shell."""

    def run(text: str, folder: Path) -> tuple[str, Path]:
        place = folder

        def step(command: str) -> str:
            nonlocal place
            if re.fullmatch(r"cd \S+", command):
                place = place / command[3:]
                return ""
            return printed(command, place, environment)

        return Transcript(text).replayed(step), place

    return run


@pytest.fixture
def replay_here(monkeypatch):
    """The same in this process, which takes a tenth of the time: for commands that are `cfglint` and its arguments."""

    def run(text: str, folder: str | os.PathLike[str]) -> str:
        monkeypatch.chdir(folder)
        return Transcript(text).replayed(said)

    return run


def said(command: str) -> str:
    """What `cfglint` with these arguments prints on a terminal of 120 columns, both streams in their order."""
    from cfglint.cli import main

    name, *arguments = shlex.split(command)
    assert name == "cfglint", command
    output = io.StringIO()
    with redirect_stdout(output), redirect_stderr(output), pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "120")
        patch.setenv("PATH", os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"])
        main(arguments)
    return output.getvalue()


@pytest.fixture(scope="session")
def root():
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def example_project(tmp_path_factory):
    """A project whose only folder is `examples`, to be read: in the checkout all of these tests are searched for who starts them."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "examples", folder / "examples")
    return folder


@pytest.fixture(scope="session")
def updating():
    """Whether expected outputs are to be rewritten."""
    return bool(os.environ.get(UPDATE))


QUIET = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}
QUICK = ("-c", "maintenance.auto=false", "-c", "core.fsync=none")  # no process that tidies up, nothing that has to outlive the machine


class Checkout:
    """A git repository in a folder of a test."""

    def __init__(self, folder, *options):
        self.folder = folder
        self.seconds = 1_700_000_000  # no two commits are alike
        self.git("init", "-q", "-b", "main", "--template=", *options)

    def git(self, *arguments):
        """Run git in it."""
        dates = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), f"{self.seconds} +0000")
        environment = {**os.environ, **QUIET, **dates}
        return subprocess.run(
            ["git", *QUICK, *arguments], cwd=self.folder, env=environment, check=True, capture_output=True, text=True
        ).stdout

    def write(self, **files):
        """Write files; `__` in a name is a dot, `_in_` a slash."""
        for name, text in files.items():
            path = self.folder / name.replace("_in_", "/").replace("__", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="")

    def commit(self, message="change"):
        """Commit everything."""
        self.seconds += 1
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """An empty repository, which is also the working directory."""
    monkeypatch.chdir(tmp_path)
    for name, value in QUIET.items():
        monkeypatch.setenv(name, value)
    for name in ("GITHUB_BASE_REF", "CI_MERGE_REQUEST_DIFF_BASE_SHA", "GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)
    return Checkout(tmp_path)


@pytest.fixture(scope="session")
def npm_package():
    """Installs a package from the npm registry once, into `CFGLINT_NODE_CACHE` or the temporary directory; gives the folder with it."""

    def installed(name, version):
        if not shutil.which("node") or not shutil.which("npm"):
            pytest.skip("no node or npm on this machine")
        cache = os.environ.get("CFGLINT_NODE_CACHE") or Path(tempfile.gettempdir()) / "cfglint-node"
        folder = Path(cache) / name.replace("/", "-") / version
        if not (folder / "node_modules" / name).is_dir():
            package = f"{name}@{version}"
            command = ["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--loglevel=error", package]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
            except subprocess.TimeoutExpired:
                pytest.skip(f"npm did not install {package} within three minutes")
            if done.returncode:
                pytest.skip(f"npm cannot install {package}: {done.stderr.strip()[-300:]}")
        return folder

    return installed
