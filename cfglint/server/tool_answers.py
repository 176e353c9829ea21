"""The answers of cfglint's commands for a language model: short texts of commands that write no file.

Each answer is the output of a process of its own, so that it is exactly that of the command line, whatever the model asks meanwhile.
"""

from __future__ import annotations

import os
import subprocess
import sys

from cfglint.run.paths import line_of
from cfglint.source.annotations import Sequence
from cfglint.source.root import is_inside, resolved

MOST_CHARACTERS = 12_000  # of an answer, some 3,000 tokens
LONGEST = 120  # seconds for one answer
ENVIRONMENT = {"COLUMNS": "140", "NO_COLOR": "1"}
# The process is isolated (`-I`): neither the working directory, which is the project's, nor a variable adds a folder of modules. That of
# cfglint itself comes last, for an installation that an isolated process does not search.
PROGRAM = "import sys; sys.path.append(sys.argv.pop(1)); from cfglint.cli import program; program()"
OWN_FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NOT_DONE = 2  # the exit status of a command that could not do its job


class NotAnswered(Exception):
    """The command could not do its job; the message is what it printed about that."""


def flags(**values: str | float | bool | list[str] | None) -> list[str]:
    """The options of a command line for named values; one that is None, False or empty is left out."""
    words: list[str] = []
    for name, value in values.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif isinstance(value, list):
            words += [f"{option}={each}" for each in value]
        elif value not in (None, False, ""):
            words.append(f"{option}={value}")
    return words


def answer(command: str, paths: Sequence[str] = (), piped: str = "", **options: str | float | bool | list[str] | None) -> str:
    """What a command prints, with its summary, cut to a length that a model can read; `piped` is its standard input.

    Raises NotAnswered if the command could not do its job, and for a path outside the folder in which the server runs: a file in it may
    ask a language model to name any path.
    """
    root = resolved(os.curdir)
    for path in paths:
        name, _ = line_of(path)
        if resolved(name) != root and not is_inside(name, root):
            raise NotAnswered(f"{path}: is not in {root}, in which this server runs; start a server there, or use `cfglint` itself")
    # What follows `--` may be a command.
    behind = [os.path.join(os.curdir, path) if path.startswith("-") and path != "-" else path for path in paths]
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", PROGRAM, OWN_FOLDER, command, *flags(**options), *behind],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LONGEST,
            check=False,
            input=piped,
            env={**os.environ, **ENVIRONMENT},
        )
    except subprocess.TimeoutExpired:
        raise NotAnswered(f"cfglint did not answer within {LONGEST} seconds: name fewer files") from None
    summary = done.stderr.strip()
    if done.returncode == NOT_DONE and not done.stdout:
        raise NotAnswered(shortened(summary, MOST_CHARACTERS))
    text = shortened(done.stdout.strip(), MOST_CHARACTERS - min(len(summary), MOST_CHARACTERS // 2))
    return "\n".join(filter(None, [text, shortened(summary, MOST_CHARACTERS // 2)])) or "no output"


def shortened(text: str, most: int) -> str:
    """The first lines of a text, with the number of those that are left out."""
    if len(text) <= most:
        return text
    kept = text[: text.rfind("\n", 0, most) if "\n" in text[:most] else most]
    rest = text[len(kept) :].count("\n") or 1
    return f"{kept}\n... {rest} more lines: name fewer files, or choose rules with `select`"
