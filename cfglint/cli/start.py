"""`cfglint start -- COMMAND ...`: check a command line with what is here, then run it in the place of cfglint."""

from __future__ import annotations

import os
import sys

from cfglint.api.in_program import is_first
from cfglint.cli.argument_parser import Namespace, Parser
from cfglint.cli.asked_runs import outcomes
from cfglint.cli.check import summary
from cfglint.cli.console import uses_colour, warn, warn_of, width_of
from cfglint.cli.options import add_code_options, add_run_options, load_configuration, selection_of
from cfglint.project.selection import suppress
from cfglint.report import render
from cfglint.run.paths import ScanStats

NOT_FOUND = 127  # the exit status of a shell for a command that does not exist
NOT_EXECUTABLE = 126


def add_arguments(parser: Parser) -> None:
    parser.add_argument("command", nargs="+", metavar="-- COMMAND", help="the command line, as it would be typed")
    add_run_options(parser)
    add_code_options(parser)
    parser.add_argument("--anyway", action="store_true", help="run it although it would fail")
    parser.hide_all_but("--gpus", "--target", "--select", "--ignore", "--anyway")
    parser.add_example("cfglint start -- torchrun --nproc_per_node 8 train.py --bf16 True", "check, then run")
    parser.add_example("cfglint start --anyway -- sbatch train.slurm", "check, and submit in any case")


def run(arguments: Namespace) -> int:
    """Check, and become the command; returns 1 for errors, 2 for wrong options, 126 or 127 for a command that cannot be run."""
    arguments.jobs, arguments.format, stats = 1, ["text"], ScanStats()
    project = load_configuration(arguments)
    selection = selection_of(arguments, project)
    found = outcomes(arguments, project, stats)
    suppress(found, selection)
    first = is_first()
    if first and not found:
        warn("this command starts no training that cfglint knows; it runs unchecked")
    elif first:  # on standard error: standard output belongs to the command
        print(render("text", found, uses_colour(), width_of(sys.stderr)), end="", file=sys.stderr)
        warn_of(summary(found, stats))
    if any(outcome.verdict == "reject" for outcome in found) and not arguments.anyway:
        if first:
            warn("not started; `cfglint start --anyway` starts it")
        return 1
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvp(arguments.command[0], arguments.command)
    except OSError as error:
        warn(f"{arguments.command[0]}: {error.strerror}")
        return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
