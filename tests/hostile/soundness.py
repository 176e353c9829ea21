"""What holds for whatever is printed about hostile input."""

from __future__ import annotations

import json

BUGS = ("Traceback", "INT000", "internal error", "This is a bug")
FORMATS = ("text", "json", "github", "sarif", "junit", "gitlab", "markdown", "html")


def harmless(text):
    """Whether a text holds nothing that a terminal obeys or hides."""
    return text.replace("\n", "").replace("\t", "").isprintable()


def strict(text):
    """What a text is that has to be JSON, without the numbers that JSON does not have."""
    return json.loads(text, parse_constant=refused)


def refused(name):
    raise AssertionError(f"{name} is no JSON")


# Commands on files of standard input, watched for what they must never do.
WATCHED = """
import io, json, os, sys
from contextlib import redirect_stderr, redirect_stdout

from cfglint import source

source.IS_OWN_PROCESS = True
from cfglint.cli import main

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
NEVER = ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "pty.spawn", "subprocess.Popen",
         "os.startfile", "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.chmod", "os.chown",
         "os.truncate", "os.putenv", "os.unsetenv", "webbrowser.open", "urllib.Request", "shutil.rmtree", "ctypes.dlopen")
seen, watching = [], False

def watch(event, details):
    if watching and (event in NEVER or event.startswith("socket.") or (event == "open" and details[2] & WRITES)):
        seen.append(f"{event} {details!r}")

sys.addaudithook(watch)
commands = (["check"], ["explain"], ["plan", "--gpus", "8,16"], ["fix", "--diff", "--gpus", "8", "--global-batch", "256"])
ended, said = {}, io.StringIO()
said.fileno = lambda: 2
names = json.load(sys.stdin)
before = sorted(os.listdir())
watching = True
for command, *options in commands:
    for name in names:
        with redirect_stdout(said), redirect_stderr(said):
            status = main([command, name, *options])
        ended.setdefault(command, []).append(status)
watching = False
bugs = [line for line in said.getvalue().splitlines() if "INT000" in line or "internal error" in line or "Traceback" in line]
print(json.dumps({"seen": seen, "ended": ended, "bugs": bugs, "litter": sorted(set(os.listdir()) - set(before))}))
"""
