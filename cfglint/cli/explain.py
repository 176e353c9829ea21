"""`cfglint explain`: every number of a run and its origin."""

from __future__ import annotations

import os
from functools import partial

from cfglint.cli.argument_parser import Namespace, Parser
from cfglint.cli.asked_runs import runs_asked
from cfglint.cli.console import columns, fail, warn, warn_of
from cfglint.cli.log import FORMATS, log_among, progress_in, report, report_progress
from cfglint.cli.options import RUN, UsageError, add_pace_options, add_run_options, load_configuration, pace_given, tokens
from cfglint.cli.single_report import MOST_RUNS, add_report_options, name_readers, only_of, write_texts
from cfglint.explanation.summary import RunSummary, table
from cfglint.project.settings_file import Configuration
from cfglint.report import render_account
from cfglint.report.brief import as_brief
from cfglint.report.json import dumps
from cfglint.run.paths import MissingSectionError, UnknownKindError

OWN_COUNT = "what it takes from a checkpoint is not known; a training loop of its own counts the steps itself"


def add_arguments(parser: Parser) -> None:
    """The options of `explain`."""
    parser.takes_command = True
    parser.add_argument("paths", nargs="*", metavar="PATH", help="a file or folder, or the files of one run")
    add_run_options(parser)
    parser.add_argument("--all", action="store_true", help="every number and where it comes from")
    add_pace_options(parser)
    parser.add_argument(
        "--num-tokens", type=tokens, metavar="T", help="tokens of the training data, such as 50e6, which are packed into rows"
    )
    parser.add_argument("--resume", metavar="CHECKPOINT", topic=RUN, help="the run continues from this checkpoint's folder")
    add_report_options(parser, FORMATS)
    parser.add_example("cfglint explain train.yaml --gpus 8 --num-examples 128770", "with steps")
    parser.add_example("cfglint explain train.yaml --gpus 8 --gpu-memory 80GB", "with the memory of each GPU")


def run(arguments: Namespace) -> int:
    """Explain and print; a log among the paths is explained as by `cfglint log`."""
    try:
        project = load_configuration(arguments)
        log = log_among(arguments)
        if log is None:
            return explain_run(arguments, project)
        warn(f"{log.path} is a log: `cfglint log` is the command for logs")
        return report(log, arguments, project)
    except (UsageError, UnknownKindError) as error:
        return fail(str(error))


def explain_run(arguments: Namespace, project: Configuration) -> int:
    """Print or write the explanation of the runs that the paths mean; return the exit status."""
    if arguments.resume is not None and not os.path.isdir(arguments.resume):
        raise UsageError(f"--resume {arguments.resume}: not a folder; pass that of a checkpoint, such as out/checkpoint-500")
    try:
        runs = runs_asked(arguments, project, arguments.run)
    except UnknownKindError as error:
        if isinstance(error, MissingSectionError):
            raise
        if arguments.paths[0] == error.path and progress_in(error.path)[0]:
            return report_progress(arguments)
        raise UsageError(f"{error}; nor is it a log with a training banner or a failure") from error
    if arguments.resume is not None:
        warn_of(f"--resume: {each.written_at}: {OWN_COUNT}" for each in runs if not any(config.may_resume for config in each.configs))
    pace = pace_given(arguments, arguments.gpu_price)
    accounts = [RunSummary(each, arguments.gpus, pace, arguments.num_tokens) for each in runs]
    differing = distinct(accounts)
    name_readers(run_summary.run for run_summary in differing)
    whole = arguments.all
    written = write_texts(arguments, FORMATS, lambda form, output: _report(form, accounts, differing, None if output else columns(), whole))
    warn_of(bug for each in runs for bug in each.bug_reports)
    return written or (2 if any(each.beyond_limits or each.bug_reports for each in runs) else 0)


def _report(form: str, accounts: list[RunSummary], differing: dict[RunSummary, list[str]], width: int | None, whole: bool) -> str:
    """The explanations of runs; as text those that differ, each with its places, and as a page one."""
    if form == "html":
        only_of([run_summary.run for run_summary in differing], "explain")
    told = as_brief if form == "text" and not whole else partial(render_account, form)
    if len(accounts) == 1 or form == "html":
        return told(accounts[0], width)
    if form == "json":
        return dumps({"runs": [table(account) for account in accounts]})
    shown = [*differing.items()][:MOST_RUNS]
    left = [place for _, places in [*differing.items()][MOST_RUNS:] for place in places]
    texts = [f"{', '.join(dict.fromkeys(places))}\n{told(run_summary, width)}" for run_summary, places in shown]
    return "\n".join([*texts, *([f"not shown: {', '.join(left)}\n"] if left else [])])


def distinct(accounts: list[RunSummary]) -> dict[RunSummary, list[str]]:
    """Those of some explanations that differ in more than their place, each with the places of all that are like it."""
    found: dict[str, RunSummary] = {}
    places: dict[RunSummary, list[str]] = {}
    for account in accounts:
        first = found.setdefault(account.fingerprint, account)
        places.setdefault(first, []).append(account.run.full_place)
    return places
