"""The runs of a project, launch lines included: `check --show runs`, and as `[[run]]` tables `init --declare`."""

from __future__ import annotations

import os

from cfglint.cli.argument_parser import Namespace, Parser
from cfglint.cli.console import fail, warn, warn_of
from cfglint.cli.help_text import folded_lines
from cfglint.cli.options import UsageError, add_run_options, load_configuration, skipped_files
from cfglint.cli.run_all import outcomes
from cfglint.cli.single_report import write_text
from cfglint.findings.diagnostic import INTERNAL, Outcome
from cfglint.findings.wording import counted
from cfglint.frameworks import framework
from cfglint.report.escapes import shown, visible
from cfglint.run.paths import UnknownKindError
from cfglint.run.scan_stats import ScanStats
from cfglint.source.annotations import Callable
from cfglint.source.shell.reasons import PLACEHOLDER, is_unset

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.evaluate import Reason
    from cfglint.findings.entries import AlternativeEntry

FORMATS = ("text", "json")
FLAGS = {"gpus_per_node": "--gpus N", "processes": "--gpus N", "nodes": "--nodes N"}
SIZES = {"gpus_per_node": "GPUs of a node", "processes": "processes", "nodes": "nodes", "files": "config file"}
MOST_NAMES = 4
INDENT = 16  # columns before a value
MOST_CALLERS = 5  # that are named
BRANCH = "  (in a branch that may not be reached)"
CALLER = "  (only with arguments, variables or files that the script expects)"


def add_arguments(parser: Parser) -> None:
    """The options of `runs`, the former name of `check --show runs` and `init --declare`."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files, or folders to walk (default: .)")
    add_run_options(parser)
    parser.add_argument("--declare", action="store_true", help="print [[run]] tables for the configuration")
    parser.add_argument("--format", choices=FORMATS, default="text", help="default: text")


def run(arguments: Namespace) -> int:
    """List or declare the runs; 2 when a path cannot be read."""
    return print_runs(arguments, declared if arguments.declare else as_json if arguments.format == "json" else as_text)


def print_runs(arguments: Namespace, render: Callable[[list[Outcome]], str], output: str | None = None) -> int:
    """Print the runs of the paths in a form, or write them to a file; return 2 if a path cannot be read."""
    stats = ScanStats()
    try:
        project = load_configuration(arguments)
        arguments.jobs = None
        found = outcomes(arguments, project, stats, holding=False)
    except (UsageError, UnknownKindError) as error:
        return fail(str(error))
    failed = write_text(render(found), output)
    firsts = [outcome for outcome in found if not outcome.is_further_alternative]
    launches = sum(first.launch is not None for first in firsts)
    parts = [f"{counted(len(firsts), 'run')}, {counted(launches, 'launch line')}" if found else "no runs found", *skipped_files(stats)]
    warn("; ".join(parts))
    bugs = [
        f"{diagnostic.place.file}: {diagnostic.message}; {diagnostic.help}"
        for run in found
        for diagnostic in run.diagnostics
        if diagnostic.code == INTERNAL
    ]
    warn_of(bugs)
    return 2 if stats.unreadable or bugs or failed else 0


def as_text(found: list[Outcome]) -> str:
    """A paragraph for each run, folded to the terminal."""
    callers: dict[tuple[str, str], list[str]] = {}
    for outcome in found:
        caller = outcome.launch["called_from"] if outcome.launch else None
        callers.setdefault(described(outcome), []).extend([caller] if caller else [])
    lines = {key: shown(f"  called from   {places_of(places)}") + "\n" if places else "" for key, places in callers.items()}
    texts = [f"{head}{lines[head, rest]}{rest}" for head, rest in callers]
    return "".join(folded_lines("".join(texts).splitlines(keepends=True), INDENT))


def places_of(callers: list[str]) -> str:
    """The lines that call a script, the first ones by name."""
    more = len(callers) - MOST_CALLERS
    return ", ".join(callers[:MOST_CALLERS]) + (f" and {more} more" if more > 0 else "")


def as_json(found: list[Outcome]) -> str:
    """The runs as `check --format json` has them, without findings."""
    import json

    from cfglint.version import __version__

    return json.dumps({"cfglint": __version__, "runs": [outcome.entry() for outcome in found]}) + "\n"


def described(outcome: Outcome) -> tuple[str, str]:
    """A run in a few lines: its place and program; its launch size, files, numbers, and what is unknown."""
    launch = outcome.launch
    others = outcome.files[1:]
    lines: list[str] = []
    if launch is None:
        head = f"{outcome.files[0]}  ({framework(outcome.consumer).title} config)"
    else:
        uncertain = CALLER if launch["needs_caller"] else BRANCH if launch["conditional"] else ""
        head = f"{launch['file']}:{launch['line']}  {launch['launcher']} {launch['program'] or ''}".rstrip() + uncertain
        if "alternative" in launch:
            lines.append(f"  alternative   {alternative(launch['alternative'])}")
    if others:
        lines.append(f"  files         {', '.join(others)}")
    lines.append(f"  GPUs          {sizes(outcome)}")
    numbers = outcome.resolved
    if numbers.get("global_batch") is None and numbers.get("micro_batch") is not None:
        lines.append(f"  per GPU       {per_gpu(outcome)}")
    for label, name in (("global batch", "global_batch"), ("total steps", "total_steps")):
        if numbers.get(name) is not None:
            lines.append(f"  {label:<13} {numbers[name]:,}")
    lines += [f"  unknown       {line}" for line in unknown(outcome)]
    return f"{shown(head)}\n", "\n".join(map(shown, lines)) + "\n\n"


def alternative(entry: AlternativeEntry) -> str:
    """Which of the alternatives of a run this is: `1 of 2, built at train.py:10`."""
    return f"{entry['number']} of {entry['of']}, built at {entry['built_at']} in a branch of a condition"


def sizes(outcome: Outcome) -> str:
    """The size of a launch: `16 (8 on each of 2 nodes)`."""
    launch = outcome.launch
    each, nodes = (launch["gpus_per_node"], launch["nodes"]) if launch else (None, None)
    if outcome.gpus is None and takes_all(outcome):
        return "those of the machine (pass --gpus N)"
    if outcome.gpus is None:
        return f"{each} on each node" if each is not None else "unknown (pass --gpus N)" if launch is None else "unknown"
    return f"{outcome.gpus} ({each} on each of {nodes} nodes)" if nodes and nodes > 1 and each else str(outcome.gpus)


def takes_all(outcome: Outcome) -> bool:
    """Whether a launch uses all GPUs of its machine, and nothing else about its size is unknown."""
    kinds = {reason.kind for field, reason in outcome.unknown if field in FLAGS}
    return "machine" in kinds and kinds <= {"machine", "derived"}


def per_gpu(outcome: Outcome) -> str:
    """The batch of one GPU, `4 samples x 8 accumulation steps`, if the number of GPUs is unknown."""
    micro, steps = outcome.resolved["micro_batch"], outcome.resolved.get("accumulation")
    more = f" x {steps} accumulation steps" if steps is not None and steps > 1 else ""
    return f"{micro} sample{'s' if micro != 1 else ''}{more}"


def unknown(outcome: Outcome) -> list[str]:
    """The unknown values, a line for each cause, with the flag that supplies the value."""
    causes: dict[Reason, list[str]] = {}
    for field, reason in outcome.unknown:
        fields = causes.setdefault(reason, [])
        if field not in fields:
            fields.append(field)
    found = []
    unset: dict[str, list[str]] = {}
    for reason, fields in causes.items():
        left = [field for field in fields if field not in FLAGS or not takes_all(outcome)]
        if left and is_unset(reason):
            unset.setdefault(reason.name, []).extend(left)
        elif left and reason.kind != "derived":
            found.append(because(left, reason))
    if unset:
        found.append(because_unset(unset))
    numbers = outcome.resolved
    if not found and outcome.consumer != "accelerate" and numbers.get("micro_batch") is None and numbers.get("global_batch") is None:
        where = "no batch size on the line or in its files" if outcome.launch else "the program that loads this file sets it"
        read = [f"{each['what']} not read: {each['why']}" for each in outcome.not_read]
        found.append(f"global batch: {read[0] if read else where}")
    return found


def because(fields: list[str], reason: Reason) -> str:
    """The line about unknown fields: `GPUs of a node: the machine decides (pass --gpus N)`."""
    flag = next((FLAGS[field] for field in fields if field in FLAGS), "--gpus N" if reason.kind == "machine" else "")
    return f"{first_names(fields)}: {'to be filled in' if reason == PLACEHOLDER else reason.text}{f' (pass {flag})' if flag else ''}"


def because_unset(variables: dict[str, list[str]]) -> str:
    """The line about fields that depend on variables: `--output_dir: OUT is not set in the script (pass --env OUT=VALUE)`."""
    fields = first_names([field for own in variables.values() for field in own])
    verb, name = ("is", next(iter(variables))) if len(variables) == 1 else ("are", "NAME")
    return f"{fields}: {', '.join(variables)} {verb} not set in the script (pass --env {name}=VALUE)"


def first_names(fields: list[str]) -> str:
    """The first fields as options of the launch line, and how many more there are."""
    names = [SIZES.get(field, "--" + field.removeprefix("arguments.")) for field in dict.fromkeys(fields)]
    return ", ".join(names[:MOST_NAMES]) + (f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else "")


def declared(found: list[Outcome]) -> str:
    """A `[[run]]` table for each run, or one for all runs of a launch line, with their expected global batch size if it is the same."""
    tables: dict[str, list[Outcome]] = {}
    for outcome in found:
        if outcome.launch is None or not outcome.launch["conditional"] or outcome.launch["needs_caller"]:
            tables.setdefault(named(outcome), []).append(outcome)
    return "\n".join(f"[[run]]\n{name}\n{promises(runs)}" for name, runs in tables.items())


def named(outcome: Outcome) -> str:
    """What a run is declared by: `launch = "train.sh:12"`, or its files."""
    launch = outcome.launch
    if launch is None:
        return f"files = [{', '.join(map(quoted, outcome.files))}]"
    path, _, line = (launch["called_from"] or f"{launch['file']}:{launch['line']}").rpartition(":")
    return f"launch = {quoted(os.path.normpath(path) + ':' + line)}"


def promises(runs: list[Outcome]) -> str:
    """The lines with GPU count and expected global batch size; neither if the runs of a launch line differ."""
    lines = []
    gpus = {outcome.gpus if outcome.machine else None for outcome in runs}
    batches = {outcome.resolved.get("global_batch") for outcome in runs}
    for key, values in (("gpus", gpus), ("global-batch", batches)):
        if len(values) == 1 and values != {None}:
            lines.append(f"{key} = {values.pop()}\n")
    return "".join(lines)


def quoted(text: str) -> str:
    """Quote a string for TOML, with escapes for what would be invisible on a terminal or a command in a CI log."""
    import json

    spelled = json.dumps(text, ensure_ascii=False).replace("##", "#\\u0023")
    return "".join(char if visible(char) else f"\\U{ord(char):08x}" for char in spelled)
