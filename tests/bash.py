"""What bash itself makes of scripts: the words that each call of `run` gets, for hundreds of lines in one process."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from itertools import zip_longest

import pytest

from cfglint.source.shell.interpreter import ShellInterpreter
from cfglint.source.shell.script import Script

CALL, END = "\2", "\1"  # before each call, and behind a script
TOGETHER = 50  # lines of a script: each script costs a process
SHOWN = 12  # lines of a failure
RUN = r"""run() { printf '\002'; [ $# -eq 0 ] || printf '<%s>' "$@"; }"""
PROGRAM = rf"""
exec 2>/dev/null
{RUN}
while IFS= read -r -d '' script; do (HOME='~'; eval "$script") </dev/null; printf '\001'; done
"""


@cache
def bash() -> str:
    """The path of bash 5.2 or newer; the test is skipped without it."""
    found = shutil.which("bash")
    version = subprocess.run([found, "-c", "echo $BASH_VERSION"], capture_output=True, text=True, check=True).stdout if found else "0"
    if [*map(int, re.findall(r"\d+", version)[:2])] < [5, 2]:
        pytest.skip("bash 5.2 is not installed")
    return str(found)


def of_bash(scripts: list[str], folder: object) -> list[list[str]]:
    """The words of each call in each script, as `<word><word>`, that bash makes in an empty folder."""
    text = "".join(f"{script}\0" for script in scripts)
    command = [bash(), "--norc", "-c", PROGRAM, "/start/run.sh"]
    done = subprocess.run(command, cwd=str(folder), input=text.encode(), capture_output=True, check=True)
    return [each.split(CALL)[1:] for each in done.stdout.decode().split(END)[:-1]]


def of_calls(script: str, calls: list[list[str]], folder: object) -> list[str]:
    """What the calls of `run` in a script show when it is called with each of these arguments."""
    text = f"exec 2>/dev/null\n{RUN}\n{script}\n"
    commands = ([bash(), "--norc", "-c", text, "/start/run.sh", *arguments] for arguments in calls)
    return [subprocess.run(each, cwd=str(folder), capture_output=True, check=False, timeout=20).stdout.decode() for each in commands]


def ours(script: str) -> list[str]:
    """The same as cfglint understands it, without calls in branches that may not be taken."""
    interpreter = ShellInterpreter("/start", "/start/run.sh", lambda path: None, lambda path: False)
    interpreter.follow(Script("run.sh", f"{script}\n"))
    calls = [call for call in interpreter.calls if not call.conditional and call.words[0].string == "run"]
    return ["".join(f"<{word.string}>" for word in call.words[1:]) for call in calls]


def differences(lines: list[str], folder: object) -> list[str]:
    """Where cfglint says something else than bash; each line calls `run` once, and an unknown word is a difference, too."""
    scripts = [lines[at : at + TOGETHER] for at in range(0, len(lines), TOGETHER)]
    found = []
    for script, wanted in zip(scripts, of_bash(["\n".join(script) for script in scripts], folder), strict=True):
        came = ours("\n".join(script))
        if len(came) != len(script):
            came = ["".join(ours(line)) for line in script]
        assert len(wanted) == len(script), f"bash stops at {script[len(wanted)]}"
        if came != wanted:
            found += [f"{line}: {each} in bash, here {other}" for line, each, other in zip_longest(script, wanted, came) if each != other]
    return found


def check(lines: list[str], folder: object) -> None:
    """Fail with the lines that cfglint understands differently."""
    found = differences(lines, folder)
    if found:
        pytest.fail("\n".join((f"{len(found)} of {len(lines)} lines differ from bash", *found[:SHOWN])), pytrace=False)
