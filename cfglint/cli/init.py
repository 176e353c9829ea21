"""`cfglint init`: a configuration, a baseline and the pre-commit hooks for a repository that has none."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys

from cfglint.cli.argument_parser import Namespace, Parser
from cfglint.cli.asked_runs import outcomes
from cfglint.cli.console import warn
from cfglint.cli.options import UsageError, add_run_options, load_configuration, working_directory
from cfglint.cli.runs import declared, print_runs
from cfglint.findings.diagnostic import ERROR
from cfglint.findings.wording import counted
from cfglint.frameworks import file_kinds
from cfglint.project import baseline
from cfglint.project.selection import Selection, suppress
from cfglint.report.links import home
from cfglint.run.paths import ScanStats
from cfglint.source import writing

SETTINGS = "cfglint.toml"
COMMAND = "cfglint"
BASELINE = "cfglint-baseline.json"
MOST_CODES = 8  # of accepted findings that are named
MOST_UNCLEAR = 10  # files that the configuration names
HOOKS = ".pre-commit-config.yaml"
SCRIPT = "sh|bash|zsh|ksh|sbatch|slurm|pbs|qsub|lsf|job|md|mk"
CHECKED = rf"""files: '(?i)(\.(ya?ml|jsonc?|hjson|config|py|ipynb|{SCRIPT})|(^|/)(gnu)?makefile)$'"""
STATED = r"|\.(toml|lock|cfg|txt)$|(^|/)dockerfile[^/]*$"  # files that state releases
COMPARED = f"{CHECKED[:-1]}{STATED}'"
# (id, arguments of `cfglint`, files), as in .pre-commit-hooks.yaml
EACH_HOOK = (
    ("cfglint-fix", "fix --skip-unrecognized", CHECKED),
    ("cfglint", "check --skip-unrecognized --fail-on warning", CHECKED),
    ("cfglint-review", "review --state staged --base HEAD --fail-on warning", f"{COMPARED}\n        pass_filenames: false"),
)
INSTALLED = """\
repos:
  - repo: local  # runs {where}; to install it from a repository: `repo: ADDRESS`, `rev: TAG` and the ids alone
    hooks:
"""
LOCAL = """\
      - id: {id}
        name: {id}
        entry: {entry}
        language: system
        {files}
        require_serial: true
"""


def add_arguments(parser: Parser) -> None:
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files, or folders to walk (default: .)")
    add_run_options(parser)
    parser.add_argument("--declare", action="store_true", help="print the runs as [[run]] tables for the configuration instead")
    parser.hide_all_but("--gpus", "--target", "--declare")
    parser.add_example("cfglint init --gpus 8", "for launches on 8 GPUs")
    parser.add_example("cfglint init --declare scripts >> cfglint.toml", "declare the launch lines of a folder")


def run(arguments: Namespace) -> int:
    """Write the files that are not there yet, and print the hooks if they cannot be written; return 2 if one cannot be written."""
    arguments.format, arguments.jobs = [], None
    if arguments.declare:
        return print_runs(arguments, declared)
    stats = ScanStats()
    project = load_configuration(arguments)
    kept = next((path for path in (project.path, SETTINGS) if path and os.path.lexists(path)), "")
    if os.path.lexists(BASELINE) and not project.baseline:
        raise UsageError(f"{BASELINE} exists already; init overwrites nothing")
    working_directory()
    found = outcomes(arguments, project, stats)
    suppress(found, Selection(project))
    findings = [finding for outcome in found for finding in outcome.open_findings]
    codes, errors = [finding.code for finding in findings], sum(finding.severity == ERROR for finding in findings)
    accepted = {} if project.baseline else {code: codes.count(code) for code in codes}
    if accepted:
        baseline.Baseline(BASELINE, {}).of(BASELINE, found).write()
    if not kept:
        writing.write_report(SETTINGS, settings(arguments.gpus, bool(accepted), stats.unclear).encode())
    if os.path.exists(".git") and not os.path.lexists(HOOKS):
        writing.write_report(HOOKS, hooks().encode())
        hooked = f"wrote {HOOKS}; `pre-commit install` enables it"
    else:
        sys.stdout.write(f"# for {HOOKS}\n{hooks()}")
        why = "exists already" if os.path.lexists(HOOKS) else "belongs at the top of a git repository"
        hooked = f"{HOOKS} {why}: add the hooks that were printed"
    note = f"{BASELINE} accepts {by_code(accepted)}" if accepted else "no findings, so no baseline was written"
    if accepted and errors:
        note += f", {counted(errors, 'error')} among them: runs that would not start"
    if project.baseline:
        note = "its baseline stays as it is"
    elif accepted and kept:
        note += f', once the configuration has `baseline = "{BASELINE}"`'
    done = f"{kept} stays as it is" if kept else f"wrote {SETTINGS}"
    warn(f"{counted(stats.checked, 'file')} in {counted(len(found), 'run')} checked; {done}; {note}; {hooked}")
    return 0


def by_code(numbers: dict[str, int]) -> str:
    """`3 findings (BAT001 x 2, KEY105)`, the most frequent codes first."""
    codes = sorted(numbers, key=lambda code: (-numbers[code], code))
    texts = [code if numbers[code] == 1 else f"{code} x {numbers[code]}" for code in codes[:MOST_CODES]]
    more = [counted(len(codes) - MOST_CODES, "more code")] if len(codes) > MOST_CODES else []
    return f"{counted(sum(numbers.values()), 'finding')} ({', '.join([*texts, *more])})"


def hooks() -> str:
    """The hooks, by the repository that pip installed cfglint from; without one, those that run this cfglint, whatever the PATH
    of the commit: that of an environment in this folder by its path from here, and by its name what a link on the PATH leads to."""
    repository, revision = home()
    if repository:
        ids = "".join(f"      - id: {name}\n" for name, _, _ in EACH_HOOK)
        return f"repos:\n  - repo: {repository}\n    rev: {revision}\n    hooks:\n{ids}"

    command, where = COMMAND, "the cfglint on the PATH"
    script, linked = os.path.join(os.path.dirname(sys.executable), COMMAND), shutil.which(COMMAND)
    if not (linked and os.path.islink(linked) and os.path.realpath(linked) == os.path.realpath(script)):
        here = os.path.join(os.getcwd(), "") if os.path.exists(".git") else ""
        script, python = script.removeprefix(here), sys.executable.removeprefix(here)
        command = shlex.quote(script) if os.path.isfile(script) else f"{shlex.quote(python)} -m {COMMAND}"
        where = "the cfglint that wrote this file"
    text = INSTALLED.format(where=where)
    for name, options, files in EACH_HOOK:
        line = f"{command} {options}"
        text += LOCAL.format(id=name, entry=line if command == COMMAND else json.dumps(line), files=files)
    return text


def settings(gpus: int | None, has_baseline: bool, unclear: list[str]) -> str:
    """The content of the configuration file; decisions that are left to the user are comments in it."""
    lines = [f"gpus = {gpus}" if gpus else "# gpus = 8  # number of GPUs of a launch, for files that do not specify it"]
    lines.append('fail-on = "error"  # lowest severity that fails: error, warning or info; the hooks fail on warnings, too')
    if has_baseline:
        lines.append(f'baseline = "{BASELINE}"  # findings that are accepted; drop resolved ones with `cfglint check --write-baseline`')
    if unclear:
        lines += ["", f"# [kinds]  # of files that could not be recognised by their keys: {', '.join(file_kinds())}"]
        lines += [f'# {json.dumps(path)} = "..."' for path in unclear[:MOST_UNCLEAR]]
    return "\n".join(lines) + "\n"
