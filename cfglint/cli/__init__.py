"""The command line: one small module per command. No other module prints or reads argv or the environment."""

from __future__ import annotations

import errno
import gc
import os
import sys

from cfglint.source import CfglintError
from cfglint.source.annotations import NoReturn
from cfglint.version import __version__

GROUPS = {
    "a run": {
        "check": "find values that the framework would refuse, ignore or override",
        "start": "check a command line, then run it unless it would fail",
        "fix": "apply safe fixes, or reach a global batch size on other GPUs",
        "plan": "show which batch sizes and GPU counts reach a global batch size",
        "explain": "show every number of a run, its origin, and the GPU memory",
        "log": "show why a training failed, and what the numbers of its log mean",
        "review": "show what a git branch, or an edit from OLD to NEW, changes in the runs",
    },
    "a start": {
        "new": "generate a config from a few facts",
        "init": "write a configuration, a baseline and pre-commit hooks for this repository",
    },
    "reference, editors and programs": {
        "rule": "show the manual page of a rule, or list all rules",
        "schema": "print the JSON Schema of a kind of config",
        "server": "run the language server for an editor",
        "mcp": "serve these commands to a language model (Model Context Protocol)",
        "completion": "print the completion script for bash, zsh or fish",
    },
}
COMMANDS = {name: text for group in GROUPS.values() for name, text in group.items()}
FORMER = {"diff": "review OLD NEW", "runs": "check --show runs"}  # commands that have another name now, and are accepted

TOPICS = {  # of `cfglint help`, beside the commands: a command that has the options, and what they are
    "run": ("check", "options about a run, which most commands have"),
    "job": ("new", "further facts of a job"),
}
NOT_DONE = 2
INTERRUPTED = 130
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # standard output: errors about files are reported elsewhere
RARELY = (30_000, 20, 20)  # thresholds of the garbage collector

EXIT_STATUS = "Exit status: 0; 1 for findings at or above --fail-on (default: error) or an unreachable target; 2 for a job not done."


def program() -> NoReturn:
    """Run the command as a process of its own, and end the process.

    A check leaves few reference cycles behind, so garbage collection is delayed; and at the end memory
    that the system frees anyway is not released piece by piece. Together they save a sixth of the time for one file.
    """
    from cfglint import source

    source.IS_OWN_PROCESS = True
    gc.set_threshold(*RARELY)
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115 (it was closed, as with `>&-`)
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        status = main(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt:
        status = INTERRUPTED
    except Exception as error:
        status = ended(error)
    os._exit(status)


def ended(error: Exception) -> int:
    """Report an unexpected exception, which is a bug in cfglint, in one line with its place; return the exit status."""
    from cfglint.cli.console import bug_report, fail

    if isinstance(error, BrokenPipeError):  # the process that reads the output has ended, as with `| head`
        return NOT_DONE
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        return fail(f"standard output: {error.strerror}")
    if isinstance(error, MemoryError):
        return fail("there is not enough memory for these files")
    return fail(bug_report(error))


def main(arguments: list[str]) -> int:
    """Run one command and return its exit status: 0, 1 for findings at or above --fail-on, 2 if the job could not be done."""
    name = arguments[0] if arguments else "--help"
    if name in ("help", "-h", "--help") and len(arguments) > 1:
        name, arguments = arguments[1], [arguments[1], "--help"]
    if name in TOPICS and arguments[1:] == ["--help"]:
        return print_topic(name)
    if name in ("-h", "--help", "help"):
        print(usage())
        return 0 if arguments else NOT_DONE
    if name in ("-V", "--version"):
        print(f"cfglint {__version__}")
        if {"-v", "--verbose"} & set(arguments[1:]):
            from cfglint.frameworks import framework, kinds

            modelled = {(name, *ends) for kind in map(framework, kinds()) for name, ends in kind.modelled.items() if name}
            print("\n".join(sorted(f"{name} {last}" if first == last else f"{name} {first} to {last}" for name, first, last in modelled)))
        return 0
    from cfglint.cli.argument_parser import Parser
    from cfglint.cli.console import fail, warn

    if name not in COMMANDS and name not in FORMER:
        if os.path.exists(name) or os.path.splitext(name)[1]:
            return fail(f"a command is missing before {name!a}: `cfglint check {name}` checks it")
        from cfglint.source.similar_keys import closest

        near = closest(name, COMMANDS)
        return fail(f"unknown command {name!a}; {f'did you mean `cfglint {near}`?' if near else 'commands: ' + ', '.join(COMMANDS)}")
    command = __import__(f"cfglint.cli.{name}", fromlist=["run"])
    parser = Parser(f"cfglint {name}", COMMANDS.get(name) or f"the former name of `cfglint {FORMER[name]}`")
    command.add_arguments(parser)
    parsed = parser.parse_args(arguments[1:])
    if name in FORMER:
        warn(f"`cfglint {name}` is `cfglint {FORMER[name] if name != 'runs' or not parsed.declare else 'init --declare'}` now")
    try:
        if parsed.command:
            from cfglint.cli.typed_command import of_command

            of_command(parsed)
        return int(command.run(parsed))
    except CfglintError as error:
        return fail(str(error))
    except KeyboardInterrupt:
        return INTERRUPTED


def print_topic(topic: str) -> int:
    """Print `cfglint help TOPIC`: the options of a topic, which the help of a command only names."""
    from cfglint.cli.argument_parser import Parser

    command, what = TOPICS[topic]
    parser = Parser("cfglint COMMAND" if topic == "run" else f"cfglint {command}", what)
    __import__(f"cfglint.cli.{command}", fromlist=["run"]).add_arguments(parser)
    chosen = {name: option for name, option in parser.options.items() if option.topic == topic}
    parser.positionals, parser.options, parser.examples = [], chosen, []
    for option in chosen.values():
        option.topic = ""
    print(parser.help())
    return 0


def usage() -> str:
    """The output of `cfglint --help`, folded to the width of the terminal."""
    from cfglint.cli.help_text import folded, help_width

    width = help_width()
    lines = folded("usage: cfglint COMMAND ...  Predict what a training framework would do with a run on this many GPUs.", width)
    for title, group in GROUPS.items():
        lines += ["", f"{title}:"]
        for name, text in group.items():
            lines += folded(f"  {name:<11}{text}", width, " " * 13)
    ends = "`cfglint help COMMAND` has options and examples, `cfglint help run` the options about a run.", EXIT_STATUS
    return "\n".join([*lines, "", *(line for end in ends for line in folded(end, width))])
