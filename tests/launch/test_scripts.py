"""What small scripts start: the folder `scripts` holds each script and, behind `=>`, its commands as they were recorded.

A command is shown with its line, its words (without the name `run`), and what is special about it: `conditional` (a branch that is not
decided), `caller` (a call without arguments ends before), `broken` (bash does not get there), its folder, its exported variables, the
words that a broken continuation loses, and why a word is not known. The scripts whose commands are all known are those of bash itself.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from cfglint.source.project_files import ROOT, Project
from cfglint.source.shell.interpreter import ShellInterpreter
from cfglint.source.shell.script import Script
from records import check_cases, inputs

FOLDER = Path(__file__).parent / "scripts"
CASES = inputs(FOLDER)
FILES = {
    "env.sh": "N=4\nrun sourced $1\n",
    "conf/env.sh": "N=5\n",
    "inner.sh": "run inner $# $1 ${X-unset} ${0##*/}\nexit 1\n",
    "again.sh": "run again $U\nbash again.sh\n./again.sh\n",
    "deep1.sh": "run 1 $U\nbash deep2.sh\n",
    "deep2.sh": "run 2\nbash deep3.sh\n",
    "deep3.sh": "run 3\nbash deep4.sh\n",
    "deep4.sh": "run 4\nbash deep5.sh\n",
    "deep5.sh": "run 5\n",
    "returns.sh": "run a\nreturn\nrun never\n",
    "numbers.txt": "7\n",
    "lib.sh": "where() { run $1 ${BASH_SOURCE[0]##*/} ${#BASH_SOURCE[@]} ${BASH_SOURCE[-1]##*/} ${0##*/}; }\n"
    'run here ${BASH_SOURCE##*/}\n[ "$BASH_SOURCE" = "$0" ] && run main\n',
    "tools/up.sh": 'HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)\nTOP=$(dirname "$HERE")\n',
}
# What bash needs besides the script: `run` shows its words, whatever the script does with its output; programs that nobody has succeed.
PROLOGUE = 'HOME="~"\nexec 9>&1\nrun() { printf "%s\\n" "$(printf "%s|" "$@")" >&9; }\ncommand_not_found_handle() { :;}\nexec 2>/dev/null\n'


def followed(text):
    project = Project("", FILES.__contains__, FILES.get)
    interpreter = ShellInterpreter(ROOT, f"{ROOT}/run.sh", project.text, project.exists)
    interpreter.project = project
    interpreter.follow(Script("run.sh", f"{text}\n"))
    return interpreter


def described(call):
    words = call.words[1:] if call.words[0].string == "run" else call.words
    shown = [f"{call.path.removeprefix(f'{ROOT}/').removeprefix('run.sh')}{call.line}:", "|".join(word.string for word in words)]
    shown += [name for name, given in (("conditional", call.conditional), ("caller", call.needs_caller), ("broken", call.broken)) if given]
    if call.folder != ROOT:
        shown.append(f"in {call.folder}")
    shown += [f"{name}={value.string}" for name, value in sorted(call.environment.items())]
    shown += [f"lost {' '.join(word.string for word in lost)}" for lost, _ in call.lost]
    reasons = dict.fromkeys(reason for word in call.words for reason in word.reasons)
    return "  ".join(shown + [f"({reason.text})" for reason in reasons])


def commands(text):
    return [described(call) for call in followed(text).calls] or ["nothing"]


def test_scripts(updating):
    """`CFGLINT_UPDATE=1` rewrites what comes of them."""
    check_cases(FOLDER, commands, updating)


def certain(text):
    """The words of the commands that `run` shows; None if some of them hang on what is not known."""
    calls = followed(text).calls
    for call in calls:
        if call.conditional or call.needs_caller or call.broken or call.lost or not all(word.known for word in call.words):
            return None
    return [[word.string for word in call.words[1:]] for call in calls if call.words[0].string == "run"]


def of_bash(text, folder):
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(PROLOGUE + content, encoding="utf-8")
        path.chmod(0o755)
    script = folder / "run.sh"
    script.write_text(f"{PROLOGUE}{text}\n", encoding="utf-8")
    done = subprocess.run(["bash", str(script)], cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, timeout=20)
    output = done.stdout.decode().replace(os.path.realpath(folder), ROOT).replace(str(folder), ROOT)
    return [line.split("|")[:-1] for line in output.splitlines() if line.endswith("|")]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_scripts_are_those_of_bash(tmp_path):
    """Of those whose commands are certain, without the ones that pass a line break."""
    known = [(text, certain(text)) for text in CASES]
    known = [(text, calls) for text, calls in known if calls is not None and not any("\n" in word for call in calls for word in call)]
    assert len(known) > 100
    assert [(text, sorted(calls)) for text, calls in known] == [(text, sorted(of_bash(text, tmp_path))) for text, _ in known]
