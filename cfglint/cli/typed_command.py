"""`-- COMMAND ...`: a command line as it would be typed here, checked as a script of one line."""

from __future__ import annotations

import os
import shlex

from cfglint.cli import here
from cfglint.cli.argument_parser import Namespace
from cfglint.findings.diagnostic import Outcome
from cfglint.findings.wording import counted
from cfglint.frameworks.releases.versions import INSTALLED
from cfglint.launch.slurm import MARK, header
from cfglint.source.files import TYPED, FileProblem, read_bytes

SUBMIT = "sbatch"
ELSEWHERE = (SUBMIT, "salloc", "srun", "ssh", "pdsh", "kubectl", "sky", "qsub")  # start the training on other machines, unless allocated
WITH_VALUE = "AabCcDdeGiJLMmnNopqtwx"  # letters of sbatch's options that take a value (sbatch(1), 22.05)
WITHOUT_VALUE = (
    "--contiguous --exclusive --get-user-env --hold --ignore-pbs --no-kill --no-requeue --overcommit --oversubscribe --parsable "
    "--propagate --quiet --reboot --requeue --spread-job --test-only --use-min-nodes --verbose --wait"
).split()


def of_command(arguments: Namespace) -> None:
    """Make the arguments those of a script that consists of the command, with what is installed, visible and set here."""
    words: list[str] = arguments.command
    script = submitted(words[1:], arguments) if os.path.basename(words[0]) == SUBMIT else shlex.join(words) + "\n"
    arguments.paths, arguments.stdin_filename, arguments.piped = ["-"], TYPED, script.encode(errors="surrogateescape")
    arguments.env = [*here.environment(), *arguments.env]
    prefix = here.prefix(words[0])
    if prefix:
        arguments.env.append(f"VIRTUAL_ENV={prefix}")
    if INSTALLED not in arguments.target:
        arguments.target = [*arguments.target, INSTALLED]
    allocated = here.nodes()
    arguments.nodes = arguments.nodes or allocated
    arguments.here = os.path.basename(words[0]) not in ELSEWHERE or allocated is not None
    if arguments.gpus or not arguments.here:
        return
    gpus = here.visible_gpus()
    if gpus.number:
        arguments.gpus = gpus.number * (allocated or 1)
        arguments.gpus_source = gpus.source if (allocated or 1) == 1 else f"{gpus.source} on {counted(arguments.nodes, 'node')}"


def without_edits(found: list[Outcome]) -> None:
    """Turn the fixes of a command line into advice: who types it edits it."""
    for outcome in found:
        for diagnostic in outcome.diagnostics:
            if diagnostic.fix is not None and any(edit.file == TYPED for edit in diagnostic.fix.edits):
                diagnostic.help, diagnostic.fix = diagnostic.help or diagnostic.fix.title, None


def submitted(words: list[str], arguments: Namespace) -> str:
    """The script that `sbatch` runs: its header with the options of the line, and the call with its arguments.

    `--export=NAME=VALUE` adds to the environment.
    """
    place = 0
    options: list[str] = []
    while place < len(words) and words[place].startswith("-"):
        name, given, value = words[place].partition("=")
        options.append(words[place])
        place += 1
        takes_value = not given and name not in WITHOUT_VALUE and (name.startswith("--") or (len(name) == 2 and name[1] in WITH_VALUE))
        if takes_value and place < len(words):
            value = words[place]
            options.append(value)
            place += 1
        if name == "--export":
            arguments.env = [*arguments.env, *(each for each in value.split(",") if "=" in each)]
    called = words[place:]
    if not called:
        return shlex.join([SUBMIT, *words]) + "\n"
    try:
        text = read_bytes(called[0]).decode(errors="replace")
    except FileProblem:
        text = ""
    lines = [line for line in text.splitlines() if line.startswith(MARK)] if header(called[0], text) else []
    if options:
        lines.append(f"{MARK} {shlex.join(options)}")
    return "\n".join([*lines, shlex.join(["bash", *called])]) + "\n"
