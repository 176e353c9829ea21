"""`review` in repositories that try to run something, lead elsewhere, or are told by a git that is none."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest
from soundness import harmless

from cfglint.cli import main
from cfglint.source import git
from cfglint.source.git import GitProblem, GitRepository

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

BEFORE = '{"train_batch_size": 32, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8}\n'
HOOKS = [
    *("applypatch-msg", "commit-msg", "fsmonitor-watchman", "post-applypatch", "post-checkout", "post-commit", "post-index-change"),
    *("post-merge", "post-receive", "post-rewrite", "post-update", "pre-applypatch", "pre-auto-gc", "pre-commit", "pre-merge-commit"),
    *("pre-push", "pre-rebase", "pre-receive", "prepare-commit-msg", "proc-receive", "push-to-checkout", "reference-transaction"),
    *("sendemail-validate", "update", "p4-pre-submit"),
]
COMMANDS = ("rev-parse", "merge-base", "ls-tree", "ls-files", "cat-file")
PLAIN = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM")
RECORDER = """\
import json, os, sys

STARTED = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile", "pty.spawn")
REACHED = ("socket.connect", "socket.getaddrinfo", "socket.sendto", "urllib.Request")

def record(event, given):
    if event in STARTED + REACHED:
        with open(os.environ["RECORD"], "a") as file:
            file.write(json.dumps([event, list(given[1]) if event == "subprocess.Popen" else str(given)]) + "\\n")

sys.addaudithook(record)
"""


class Trap:
    """A repository with a change, and a script in it that leaves a canary when it runs."""

    def __init__(self, checkout, good):
        self.folder, self.git = checkout.folder, checkout.git
        self.canary = self.folder.parent / f"{self.folder.name}-canary"
        self.script = self.folder / "script"
        self.script.write_text(f"#!/bin/sh\necho \"$0 $@\" >> '{self.canary}'\ncat\n")
        self.script.chmod(0o755)
        checkout.write(good__json=BEFORE, other__yaml="a: 1\n", __gitattributes="* filter=evil diff=evil merge=evil\n")
        checkout.commit("\x1b]0;pwned\x07 before")
        (self.folder / good.name).write_text(good.text)

    @property
    def quiet(self):
        return not self.canary.exists()

    def configure(self, text):
        """Append to the repository's own configuration."""
        with (self.folder / ".git" / "config").open("a") as file:
            file.write(text.replace("SCRIPT", str(self.script)))


@pytest.fixture
def trap(checkout, good):
    return Trap(checkout, good)


@pytest.fixture
def review(limited, tmp_path_factory):
    """Run `review` in a folder: how it ended, and what it started or reached."""
    folder = tmp_path_factory.mktemp("recorder")
    (folder / "sitecustomize.py").write_text(RECORDER)
    record = folder / "record"

    def run(cwd, *arguments, **env):
        record.write_text("")
        plain = dict.fromkeys(PLAIN, os.devnull) | {"GITHUB_BASE_REF": "", "CI_MERGE_REQUEST_DIFF_BASE_SHA": ""}
        given = {**plain, "PYTHONPATH": str(folder), "RECORD": str(record), **env}
        ended = limited(["review", "--base", "main", *arguments], cwd, env=given)
        ended.started = [json.loads(line) for line in record.read_text().splitlines()]
        return ended

    return run


TRAPS = """
[core]
    repositoryFormatVersion = 1
    fsmonitor = SCRIPT
    hooksPath = hooked
    pager = SCRIPT
    editor = SCRIPT
    askPass = SCRIPT
    sshCommand = SCRIPT
    gitProxy = SCRIPT
    alternateRefsCommand = SCRIPT
    untrackedCache = true
[feature]
    manyFiles = true
[diff]
    external = SCRIPT
    ignoreSubmodules = none
[diff "evil"]
    command = SCRIPT
    textconv = SCRIPT
[filter "evil"]
    clean = SCRIPT
    smudge = SCRIPT
    process = SCRIPT
    required = true
[merge "evil"]
    driver = SCRIPT
[alias]
    rev-parse = !SCRIPT
    ls-files = !SCRIPT
    cat-file = !SCRIPT
[pager]
    rev-parse = SCRIPT
    ls-tree = SCRIPT
    ls-files = SCRIPT
    cat-file = SCRIPT
[credential]
    helper = !SCRIPT
[gpg]
    program = SCRIPT
[log]
    showSignature = true
[uploadpack]
    packObjectsHook = SCRIPT
[extensions]
    partialClone = origin
[remote "origin"]
    url = ext::SCRIPT
    promisor = true
    partialCloneFilter = blob:none
    uploadpack = SCRIPT
[protocol]
    allow = always
[submodule "sub"]
    path = sub
    url = --upload-pack=SCRIPT
    update = !SCRIPT
[include]
    path = included
"""


def test_nothing_of_a_repository_is_run(trap, review, good):
    for folder in (".git/hooks", "hooked"):
        for name in HOOKS:
            (trap.folder / folder).mkdir(exist_ok=True)
            (trap.folder / folder / name).symlink_to(trap.script)
    (trap.folder / ".git" / "included").write_text(f"[core]\n fsmonitor = {trap.script}\n")
    (trap.folder / ".gitmodules").write_text('[submodule "sub"]\n path = sub\n url = ext::sh\n update = !touch canary\n')
    trap.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    trap.configure(TRAPS)
    trap.canary.unlink(missing_ok=True)
    shutil.copytree(trap.folder / ".git", trap.folder / "sub" / ".git", symlinks=True)
    (trap.folder / "sub" / "x.json").write_text(good.text)
    for state in ("working", "committed"):
        ended = review(trap.folder, "--state", state).sound(1 if state == "working" else 0)
        assert (f"{good.code} batch-mismatch" in ended.out) == (state == "working")
        assert [event for event, _ in ended.started] == ["subprocess.Popen"] * len(ended.started) != []
        for _, arguments in ended.started:
            assert arguments[:6] == [*git.GIT, arguments[5]]
            assert arguments[5] in COMMANDS
    assert trap.quiet, trap.canary.read_text()
    subprocess.run(["git", "status"], cwd=trap.folder, stdin=subprocess.DEVNULL, capture_output=True)
    assert not trap.quiet  # the traps work


@pytest.mark.parametrize(
    "url", ["ext::SCRIPT %S", "evil::there", "ssh://host/there", "git://host/there", "http://127.0.0.1:1/there", "file:///there", "/there"]
)
def test_what_a_partial_clone_lacks_is_not_fetched(trap, capsys, monkeypatch, tmp_path_factory, url):
    programs = tmp_path_factory.mktemp("programs")
    for name in ("ssh", "git-remote-evil"):
        (programs / name).symlink_to(trap.script)
    monkeypatch.setenv("PATH", os.pathsep.join((str(programs), os.environ["PATH"])))
    lost = trap.git("rev-parse", f"HEAD:{os.path.basename('good.json')}").strip()
    (trap.folder / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    trap.configure("[core]\nrepositoryFormatVersion = 1\nsshCommand = SCRIPT\ngitProxy = SCRIPT\n[extensions]\npartialClone = origin\n")
    trap.configure(f'[remote "origin"]\nurl = {url}\npromisor = true\nuploadpack = SCRIPT\n[protocol]\nallow = always\n')
    assert main(["review", "--base", "main"]) == 2
    said = capsys.readouterr()
    assert (said.out.partition("\n")[0], trap.quiet) == ("no run compared", True)
    assert "good.json: the content is not in this clone; in a partial clone, run git fetch --refetch first" in said.err


REVISIONS = [
    *("--upload-pack=touch canary", "--output=canary", "-o", "--all", "--", "-", "--exec=touch canary", "--output=canary HEAD"),
    *("main\nHEAD", "main\tHEAD", "ma*n", "@{u}", "@{-1}", "main..HEAD", "^main", "main --output=canary"),
    *("HEAD:good.json", "\x1b[31mred\x07", "\u202eniam", "\u2028", "refs/heads/../../../canary", "HEAD^99999999999", "x" * 5000, ":(top)"),
    *(":/--output=canary", "HEAD^{/no such text}", "$(touch canary)", "`touch canary`", "; touch canary", "\udcff"),
]


@pytest.mark.parametrize("by", ["--base", "GITHUB_BASE_REF", "CI_MERGE_REQUEST_DIFF_BASE_SHA"])
def test_a_revision_is_never_anything_else(trap, capsys, monkeypatch, by):
    before = sorted(os.listdir())
    for name in REVISIONS if by == "--base" else REVISIONS[:12]:
        if by == "--base":
            status = main(["review", f"--base={name}"])
        else:
            monkeypatch.setenv(by, name)
            status = main(["review"])
        said = capsys.readouterr()
        assert (status, said.out) == (2, ""), name
        assert said.err.startswith("cfglint: ")
        assert harmless(said.err)
    assert sorted(os.listdir()) == before


def test_branches_with_names_like_options(trap, capsys):
    for name in ("refs/heads/--output=canary", "refs/remotes/origin/-x", "refs/tags/--upload-pack=touch"):
        trap.git("update-ref", name, "HEAD")
    trap.git("symbolic-ref", "HEAD", "refs/heads/--output=canary")
    assert main(["review", "--base", "main"]) == 1
    assert main(["review", "--base", "refs/heads/--output=canary"]) == 1
    assert not os.path.exists("canary")


NAMES = [
    *("\x1b[31mred.json", "line\nbreak.json", "tab\t.json", "quo\"te'.json", "back\\slash.json", "\x9b31m.json", "\u202egnp.json"),
    *("::error::x.json", "%0A::warning::x.json", "-dash.json", "--output=x.json", "<script>.json", "a|b`c.json", "@all #1.json"),
    *(" .json", ":(top)x.json", ":!x.json", "{{7*7}}.json", "\u2028.json", "*.json", "$(touch canary).json", b"\xff\xfe.json"),
]


def test_file_names_and_messages_never_act(trap, review, good):
    for name in NAMES:
        (trap.folder / os.fsdecode(name)).write_text(good.text)
    forms = ("markdown", "github", "json", "html", "sarif", "junit", "gitlab")
    ended = review(trap.folder, *(part for form in forms for part in ("--format", form, "--output", f"../made.{form}"))).sound(1)
    assert ended.err.count("\n") == 1
    changes = json.loads((trap.folder.parent / "made.json").read_text())["changes"]
    assert sorted(each["files"][0] for each in changes) == sorted([good.name, *map(os.fsdecode, NAMES)])
    for form in forms:
        text = (trap.folder.parent / f"made.{form}").read_bytes().decode()
        assert harmless(text), form
        assert "pwned" not in text
    commands = (trap.folder.parent / "made.github").read_text().splitlines()
    assert {line.partition(" ")[0] for line in commands} == {"::error", "::notice"}
    told = review(trap.folder).sound(1)
    assert harmless(told.out + told.err)
    assert not (trap.folder / "canary").exists()


def test_trees_that_lead_elsewhere(trap, review):
    outside = trap.folder.parent / "outside"
    outside.mkdir()
    (outside / "x.json").write_text('{"train_batch_size": 32, "marked": "SECRET", "train_micro_batch_size_per_gpu": 5}\n')
    for name, target in (("a.json", outside / "x.json"), ("b.json", "../outside/x.json"), ("c.json", ".git/config"), ("d", outside)):
        (trap.folder / name).symlink_to(target)
    (trap.folder / "zero.json").symlink_to("/dev/zero")
    trap.git("checkout", "-q", "-b", "topic")
    trap.git("add", "-A")
    trap.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},module.json")
    trap.git("commit", "-qm", "links")
    for state in ("committed", "staged"):
        ended = review(trap.folder, "--state", state, "--format", "json").sound(2)
        assert "4 files outside the project not read: a.json, b.json, c.json, ..." in ended.err
        assert "SECRET" not in ended.out
        assert {name for each in json.loads(ended.out)["changes"] for name in each["files"]} == {"good.json"}


def test_a_tree_with_a_way_out(trap, monkeypatch):
    """As no git writes it, but any program can: an entry whose name leads out of the repository."""
    blob = trap.git("rev-parse", "HEAD:good.json").strip()
    tree = b"".join(b"100644 %s\0" % name + bytes.fromhex(blob) for name in (b"../outside.json", b"/etc/x.json", b"in.json"))
    made = subprocess.run(["git", "hash-object", "-t", "tree", "-w", "--stdin", "--literally"], input=tree, capture_output=True, check=True)
    with GitRepository() as repository:
        assert list(repository.tree(made.stdout.decode().strip())) == ["in.json"]


def test_a_blob_of_any_size(trap, review, good, monkeypatch):
    (trap.folder / "huge.json").write_bytes(good.text.encode() + b" " * 6_000_000)
    trap.git("checkout", "-q", "-b", "topic")
    trap.git("add", "-A")
    trap.git("commit", "-qm", "huge")
    (trap.folder / "pyproject.toml").write_bytes(b"[project]\ndependencies = ['deepspeed==0.9.5']\n" + b"a.a = [1]\n" * 600_000)
    trap.git("add", "-A")
    trap.git("commit", "-qm", "huge, too")
    ended = review(trap.folder, "--state", "committed").sound(1)
    assert f"new findings\n    {good.told}" in ended.out
    monkeypatch.setattr(git, "MOST_CONTENT", 1000)
    with GitRepository() as repository:
        entries = repository.tree("HEAD")
        assert len(repository.content(entries["huge.json"].id)) == 1001
        assert repository.content(entries["good.json"].id) == good.text.encode()


def test_the_environment_is_the_users_own(trap, review, good):
    script = str(trap.script)
    named = ("GIT_EXTERNAL_DIFF", "GIT_PAGER", "PAGER", "GIT_SSH_COMMAND", "GIT_SSH", "GIT_EDITOR", "GIT_ASKPASS", "GIT_PROXY_COMMAND")
    counted = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": script}
    modes = {"GIT_LITERAL_PATHSPECS": "1", "GIT_TRACE": "1", "GIT_TRACE_SETUP": "1", "GIT_PAGER_IN_USE": "1", "GIT_FLUSH": "0"}
    (trap.folder / "new.json").write_text(good.text)
    ended = review(trap.folder, **dict.fromkeys(named, script), **counted, **modes).sound(1)
    assert good.told in ended.out
    assert "new.json" in ended.out
    assert trap.quiet


def test_a_repository_of_somebody_else(trap, review):
    ended = review(trap.folder, GIT_TEST_ASSUME_DIFFERENT_OWNER="1", GIT_TRACE="1").sound(2)
    assert "dubious ownership" in ended.err
    assert "safe.directory" in ended.err
    assert ended.err.count("\n") == 1


def test_a_folder_that_pretends_to_be_a_repository(trap, review):
    """A bare repository among the files of another, a `.git` file that names one, and one that names nothing."""
    inner = trap.folder / "inner"
    shutil.copytree(trap.folder / ".git", inner)
    (inner / "config").write_text(f"[core]\nrepositoryFormatVersion = 0\nbare = false\nworktree = ..\nfsmonitor = {trap.script}\n")
    elsewhere = trap.folder.with_name(f"{trap.folder.name}-elsewhere")
    elsewhere.mkdir()
    (elsewhere / ".git").write_text(f"gitdir: {inner}\n")
    review(inner).sound()
    review(elsewhere).sound()
    (elsewhere / ".git").write_text("gitdir: \x1b[31m/no/where\n")
    ended = review(elsewhere).sound(2)
    assert ended.err[:-1].isprintable()
    assert trap.quiet


@pytest.mark.parametrize("name", ["two\nlines", "page\u2028break", "feed\x0c", "\x1b[31mred", "-dash", "--output=x"])
def test_a_repository_in_a_folder_of_any_name(trap, capsys, monkeypatch, name):
    folder = trap.folder / name
    folder.mkdir()
    for part in (".git", "good.json"):
        shutil.move(trap.folder / part, folder / part)
    monkeypatch.chdir(folder)
    assert main(["review", "--base", "main"]) == 1
    said = capsys.readouterr()
    assert "good.json:2:23: error BAT001" in said.out
    assert harmless(said.out + said.err)


# ---- a git that is none


@pytest.fixture
def fake(tmp_path_factory, monkeypatch):
    """Put a `git` of one's own on the search path."""

    def put(content, mode=0o755):
        folder = tmp_path_factory.mktemp("fake")
        (folder / "git").write_bytes(content)
        (folder / "git").chmod(mode)
        monkeypatch.setenv("PATH", str(folder))

    return put


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"#!/bin/sh\necho '\x1b[31mhello'\n", "unexpected output of git"),
        (b"#!/bin/sh\nexit 0\n", "unexpected output of git"),
        (b"#!/bin/sh\nprintf '/tmp\\nsha1\\n'\n", "unexpected output of git"),
        (b"#!/bin/sh\nprintf '\\377\\376\\0\\n\\n\\n\\n'\n", "unexpected output of git"),
        (b"#!/bin/sh\nkill -9 $$\n", "no answer"),
        (b"#!/bin/sh\nprintf 'fatal: \\033[31m\\377\\n' >&2; exit 128\n", "fatal: \\x1b[31m"),
        (b"\x7fELF\0\0", "cannot be run"),
        (b"#!/no/such/shell\n", "git"),
    ],
    ids=["words", "nothing", "half", "bytes", "killed", "complaint", "binary", "interpreter"],
)
def test_a_git_that_makes_no_sense(fake, capsys, tmp_path, monkeypatch, content, says):
    monkeypatch.chdir(tmp_path)
    fake(content)
    assert main(["review"]) == 2
    said = capsys.readouterr()
    assert says in said.err
    assert said.err[:-1].isprintable()


@pytest.mark.parametrize("hanging", ["rev-parse", "ls-files", "cat-file"])
def test_a_git_that_hangs(trap, fake, capsys, monkeypatch, hanging):
    real = shutil.which("git")
    shell = f'#!/bin/sh\ncase "$*" in *{hanging}*) exec {shutil.which("sleep")} 60;; esac\nexec {real} "$@"\n'
    fake(shell.encode())
    monkeypatch.setattr(git, "TIMEOUT", 0.2)
    assert main(["review", "--base", "main"]) == 2
    assert f"git {hanging} did not answer for" in capsys.readouterr().err


def test_a_git_that_dies_between_two_answers(trap):
    with GitRepository() as repository:
        entries = repository.tree("HEAD")
        repository.content(entries["good.json"].id)
        repository._batch.kill()
        repository._batch.wait()
        with pytest.raises(GitProblem, match="exited unexpectedly"):
            repository.content(entries["good.json"].id)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes in the file system here")
def test_a_pipe_in_the_place_of_ignore_rules(trap, capsys, monkeypatch):
    os.mkfifo(".gitignore")
    monkeypatch.setattr(git, "TIMEOUT", 0.2)
    assert main(["review", "--base", "main"]) == 2
    assert "a named pipe" in capsys.readouterr().err


def test_no_git(trap, review):
    ended = review(trap.folder, PATH=str(trap.folder / "empty")).sound(2)
    assert ended.err == "cfglint: git was not found on the PATH\n"
