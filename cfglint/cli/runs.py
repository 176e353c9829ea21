"""What `check --show` prints in the place of findings: the runs of a project, its files, the settings; `init --declare` prints the runs
as `[[run]]` tables.
"""

from __future__ import annotations

import json
import os

from cfglint.cli.argument_parser import Namespace, Parser
from cfglint.cli.asked_runs import discovery_of, outcomes, runs_of
from cfglint.cli.console import warn, warn_of
from cfglint.cli.help_text import folded_lines
from cfglint.cli.options import add_run_options, load_configuration, skipped_files
from cfglint.cli.output import write_text
from cfglint.evaluate import Reason
from cfglint.findings.diagnostic import INTERNAL, Outcome
from cfglint.findings.wording import counted, first_names
from cfglint.frameworks import framework
from cfglint.project.settings_file import Configuration
from cfglint.report.escapes import shown, visible
from cfglint.report.json import dumps
from cfglint.run.checked import CheckedRun
from cfglint.run.paths import ScanStats, is_one_of
from cfglint.source.annotations import Callable
from cfglint.source.shell.reasons import PLACEHOLDER, is_unset

FORMATS = ("text", "json")
FLAGS = {"gpus_per_node": "--gpus N", "processes": "--gpus N", "nodes": "--nodes N"}
SIZES = {"gpus_per_node": "GPUs of a node", "processes": "processes", "nodes": "nodes", "files": "config file"}
MOST_NAMES = 4
INDENT = 16  # columns before a value
MOST_CALLERS = 5  # that are named
BRANCH = "  (in a branch that may not be reached)"
CALLER = "  (only with arguments, variables or files that the script expects)"
NOT_SETTINGS = ("folder", "policies", "path", "runs")  # attributes that are no settings, or are shown on lines of their own

Members = dict[str, dict[str, dict[str, None]]]  # path of a file -> its kinds -> the runs of others that it is in, by that kind


def add_arguments(parser: Parser) -> None:
    """The options of `runs`, the former name of `check --show runs` and `init --declare`."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files, or folders to walk (default: .)")
    add_run_options(parser)
    parser.add_argument("--declare", action="store_true", help="print [[run]] tables for the configuration")
    parser.add_argument("--format", choices=FORMATS, default="text", help="default: text")


def run(arguments: Namespace) -> int:
    return print_runs(arguments, declared if arguments.declare else as_json if arguments.format == "json" else as_text)


def print_runs(arguments: Namespace, render: Callable[[list[Outcome]], str], output: str | None = None) -> int:
    """Print the runs of the paths in a form, or write them to a file; return 2 if a path cannot be read."""
    stats = ScanStats()
    project = load_configuration(arguments)
    arguments.jobs = None
    found = outcomes(arguments, project, stats, holding=False)
    failed = write_text(render(found), output)
    firsts = [outcome for outcome in found if not outcome.is_further_alternative]
    launches = sum(first.launch is not None for first in firsts)
    parts = [f"{counted(len(firsts), 'run')}, {counted(launches, 'launch line')}" if found else "no runs found", *skipped_files(stats)]
    warn("; ".join(parts))
    internal = [diagnostic for outcome in found for diagnostic in outcome.diagnostics if diagnostic.code == INTERNAL]
    warn_of(f"{diagnostic.place.file}: {diagnostic.message}; {diagnostic.help}" for diagnostic in internal)
    return 2 if stats.unreadable or internal or failed else 0


def as_text(found: list[Outcome]) -> str:
    """A paragraph for each run, folded to the terminal; of equal runs one, with the lines that call its script."""
    callers: dict[tuple[str, str], list[str]] = {}
    for outcome in found:
        caller = outcome.launch["called_from"] if outcome.launch else None
        callers.setdefault(described(outcome), []).extend([caller] if caller else [])
    text = ""
    for (head, rest), places in callers.items():
        text += head + (shown(f"  called from   {first_names(places, MOST_CALLERS)}") + "\n" if places else "") + rest
    return "".join(folded_lines(text.splitlines(keepends=True), INDENT))


def as_json(found: list[Outcome]) -> str:
    """The runs as `check --format json` has them, without findings."""
    return dumps({"runs": [outcome.entry() for outcome in found]})


def described(outcome: Outcome) -> tuple[str, str]:
    """A run in a few lines: its place and program; its launch size, files, numbers, and what is unknown."""
    launch, numbers = outcome.launch, outcome.resolved
    lines: list[str] = []
    if launch is None:
        head = f"{outcome.files[0]}  ({framework(outcome.consumer).title} config)"
    else:
        uncertain = CALLER if launch["needs_caller"] else BRANCH if launch["conditional"] else ""
        head = f"{launch['file']}:{launch['line']}  {launch['launcher']} {launch['program'] or ''}".rstrip() + uncertain
        if "alternative" in launch:
            entry = launch["alternative"]
            lines.append(f"  alternative   {entry['number']} of {entry['of']}, built at {entry['built_at']} in a branch of a condition")
    if len(outcome.files) > 1:
        lines.append(f"  files         {', '.join(outcome.files[1:])}")
    on_node, nodes = (launch["gpus_per_node"], launch["nodes"]) if launch else (None, None)
    if outcome.gpus is not None:
        size = f"{outcome.gpus} ({on_node} on each of {nodes} nodes)" if nodes and nodes > 1 and on_node else str(outcome.gpus)
    elif takes_all(outcome):
        size = "those of the machine (pass --gpus N)"
    elif on_node is not None:
        size = f"{on_node} on each node"
    else:
        size = "unknown (pass --gpus N)" if launch is None else "unknown"
    lines.append(f"  GPUs          {size}")
    micro, steps = numbers.get("micro_batch"), numbers.get("accumulation")
    if numbers.get("global_batch") is None and micro is not None:
        more = f" x {steps} accumulation steps" if steps is not None and steps > 1 else ""
        lines.append(f"  per GPU       {counted(micro, 'sample')}{more}")
    for label, name in (("global batch", "global_batch"), ("total steps", "total_steps")):
        if numbers.get(name) is not None:
            lines.append(f"  {label:<13} {numbers[name]:,}")
    lines += [f"  unknown       {line}" for line in unknown(outcome)]
    return f"{shown(head)}\n", "\n".join(map(shown, lines)) + "\n\n"


def takes_all(outcome: Outcome) -> bool:
    """Whether a launch uses all GPUs of its machine, and nothing else about its size is unknown."""
    kinds = {reason.kind for field, reason in outcome.unknown if field in FLAGS}
    return "machine" in kinds and kinds <= {"machine", "derived"}


def unknown(outcome: Outcome) -> list[str]:
    """The unknown values, a line for each cause, with the flag that supplies the value."""
    causes: dict[Reason, dict[str, None]] = {}
    for field, reason in outcome.unknown:
        causes.setdefault(reason, {})[field] = None
    found = []
    unset: dict[str, list[str]] = {}
    for reason, fields in causes.items():
        left = [field for field in fields if field not in FLAGS or not takes_all(outcome)]
        if left and is_unset(reason):
            unset.setdefault(reason.name, []).extend(left)
        elif left and reason.kind != "derived":
            flag = next((FLAGS[field] for field in left if field in FLAGS), "--gpus N" if reason.kind == "machine" else "")
            why = "to be filled in" if reason == PLACEHOLDER else reason.text
            found.append(f"{options_of(left)}: {why}{f' (pass {flag})' if flag else ''}")
    if unset:
        verb, name = ("is", next(iter(unset))) if len(unset) == 1 else ("are", "NAME")
        names = options_of([field for left in unset.values() for field in left])
        found.append(f"{names}: {', '.join(unset)} {verb} not set in the script (pass --env {name}=VALUE)")
    numbers = outcome.resolved
    if not found and outcome.consumer != "accelerate" and numbers.get("micro_batch") is None and numbers.get("global_batch") is None:
        where = "no batch size on the line or in its files" if outcome.launch else "the program that loads this file sets it"
        read = [f"{left_out['what']} not read: {left_out['why']}" for left_out in outcome.not_read]
        found.append(f"global batch: {read[0] if read else where}")
    return found


def options_of(fields: list[str]) -> str:
    """The first fields as options of the launch line, and how many more there are."""
    names = [SIZES.get(field, "--" + field.removeprefix("arguments.")) for field in dict.fromkeys(fields)]
    return first_names(names, MOST_NAMES)


def declared(found: list[Outcome]) -> str:
    """A `[[run]]` table for each run, or one for all runs of a launch line, with what is the same for these: GPUs, global batch size."""
    tables: dict[str, list[Outcome]] = {}
    for outcome in found:
        launch = outcome.launch
        if launch is None:
            tables.setdefault(f"files = [{', '.join(map(quoted, outcome.files))}]", []).append(outcome)
        elif not launch["conditional"] or launch["needs_caller"]:
            path, _, line = (launch["called_from"] or f"{launch['file']}:{launch['line']}").rpartition(":")
            tables.setdefault(f"launch = {quoted(os.path.normpath(path) + ':' + line)}", []).append(outcome)
    texts = []
    for name, runs in tables.items():
        gpus = {outcome.gpus if outcome.machine else None for outcome in runs}
        batches = {outcome.resolved.get("global_batch") for outcome in runs}
        same = [(key, *values) for key, values in (("gpus", gpus), ("global-batch", batches)) if len(values) == 1 and values != {None}]
        texts.append(f"[[run]]\n{name}\n" + "".join(f"{key} = {value}\n" for key, value in same))
    return "\n".join(texts)


def quoted(text: str) -> str:
    """Quote a string for TOML, with escapes for what would be invisible on a terminal or a command in a CI log."""
    spelled = json.dumps(text, ensure_ascii=False).replace("##", "#\\u0023")
    return "".join(char if visible(char) else f"\\U{ord(char):08x}" for char in spelled)


# ---- files and settings


def files_shown(arguments: Namespace, project: Configuration, stats: ScanStats) -> list[str]:
    """A line for every file: `PATH: KIND, in the run of FILE`, or `PATH: skipped (WHY)`."""
    members: Members = {}
    if arguments.run or (not arguments.paths and project.runs):
        for run in runs_of(arguments, project, stats):
            add_members(members, run)
        skipped = dict.fromkeys(stats.unknown_kind, "kind unknown; declare it with `kind`")
        skipped.update(dict.fromkeys(stats.unreadable, "cannot be opened"))
        order = [*members, *(path for path in skipped if path not in members)]
    else:
        order, skipped = walk(members, arguments, project, stats)
    lines = []
    for path in order:
        texts = []
        for kind, runs in members.get(path, {}).items():
            texts.append(kind + (f", in the {'run' if len(runs) == 1 else 'runs'} of {', '.join(runs)}" if runs else ""))
        why = skipped.get(path, "in no run")
        lines.append(f"{path}: {'; '.join(texts) or f'skipped ({why})'}")
    return lines


def walk(members: Members, arguments: Namespace, project: Configuration, stats: ScanStats) -> tuple[list[str], dict[str, str]]:
    """Add the members of the runs of the paths; returns the files in order, and why some are skipped."""
    discovery, paths = discovery_of(arguments, project, stats)
    excluded, discovery.request.exclude = discovery.request.exclude, []
    order: list[str] = []
    found: list[CheckedRun] = []
    skipped: dict[str, str] = {}
    for numbered in discovery.numbered(paths):
        discovery.request.stats = counts = ScanStats()
        name = numbered[1]
        if name in discovery.readers:
            found += [run for _, run in discovery.looked_at([numbered])]
            continue
        order.append(name)
        if is_one_of(name, excluded) and (discovery.request.exclude_named or name not in discovery.request.named):
            skipped[name] = "excluded by the configuration"
            continue
        runs = [run for _, run in discovery.looked_at([numbered])]
        found += runs
        if not runs:
            reasons = [
                (counts.unreadable, "cannot be opened"),
                (counts.related_tools, f"{next(iter(counts.related_tools), '')} file, no checks for this kind"),
                (counts.unclear, "could not determine the kind; pass --kind"),
                (counts.unrecognized or counts.unrecognized_named, "not a training config"),
                (True, "no training launch in it"),
            ]
            skipped[name] = next(reason for holds, reason in reasons if holds)
        stats.add(counts)
    taken = discovery.identities(discovery.taken)
    for run in found:
        if run.unless_named is None or discovery.source.identity(run.unless_named) not in taken:
            stats.count(run)
            add_members(members, run)
    aliases = {discovery.source.identity(path): path for path in members}
    for path in order:
        if path not in members and path not in skipped and discovery.source.identity(path) in aliases:
            members[path] = members[aliases[discovery.source.identity(path)]]
    named = discovery.identities(set(order))
    return order + [path for path in members if path not in order and discovery.source.identity(path) not in named], skipped


def add_members(members: Members, run: CheckedRun) -> None:
    entry = run.launch.alternative
    alternative = f" (alternative {entry['number']} of {entry['of']}, built at {entry['built_at']})" if entry is not None else ""
    for document, kind in zip(run.documents, run.kinds, strict=True):
        runs = members.setdefault(document.path, {}).setdefault(kind, {})
        if document is not run.documents[0]:
            runs[f"{run.documents[0].path}{alternative}"] = None


def settings_shown(arguments: Namespace, project: Configuration) -> list[str]:
    """A line for every setting: its value, and whether it comes from the command line, the configuration or the default."""
    lines = [f"configuration: {project.path or '(none)'}"]
    for name in sorted(set(vars(project)) - set(NOT_SETTINGS)):
        value, origin = getattr(project, name), project.path
        given = getattr(arguments, name, None)
        if given:
            value, origin = given, "command line"
        lines.append(f"{name.replace('_', '-')}: {written(value).replace(os.getcwd() + os.sep, '')}{f' ({origin})' if value else ''}")
    lines.append(f"declared runs: {len(project.runs)}")
    return lines


def written(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} = {written(each)}" for key, each in value.items()) or "(unset)"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "(unset)"
    return "(unset)" if value in (None, "", False) else "true" if value is True else str(value)
