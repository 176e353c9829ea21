"""`cfglint explain`: every number of a run and its origin."""

from __future__ import annotations

import os

from cfglint.cli.argument_parser import Namespace, Parser
from cfglint.cli.asked_runs import runs_asked
from cfglint.cli.console import warn_of
from cfglint.cli.options import RUN, UsageError, add_pace_options, add_run_options, load_configuration, pace_given, tokens
from cfglint.cli.output import add_report_options, below_places, name_readers, refuse_several, write
from cfglint.explanation.summary import RunSummary, table
from cfglint.report import render_account
from cfglint.report.json import dumps
from cfglint.report.summary import as_brief
from cfglint.run.paths import MissingSectionError, UnknownKindError, is_program
from cfglint.source.files import EXTENSIONS

FORMATS = ("text", "json", "html")
OWN_COUNT = "what it takes from a checkpoint is not known; a training loop of its own counts the steps itself"


def add_arguments(parser: Parser) -> None:
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
    project = load_configuration(arguments)
    if not all(path.endswith(EXTENSIONS) for path in arguments.paths):
        # What is known of logs is loaded only for a file that may be one.
        from cfglint.cli.log import explained_instead

        status = explained_instead(arguments, project)
        if status is not None:
            return status
    if arguments.resume is not None and not os.path.isdir(arguments.resume):
        raise UsageError(f"--resume {arguments.resume}: not a folder; pass that of a checkpoint, such as out/checkpoint-500")
    try:
        runs = runs_asked(arguments, project, arguments.run)
    except UnknownKindError as error:
        if isinstance(error, MissingSectionError) or is_program(error.path):
            raise
        from cfglint.cli.log import explained_instead

        status = explained_instead(arguments, project, error.path)
        if status is not None:
            return status
        from cfglint.run.broken import nothing_in

        if nothing_in(error.path):
            raise
        raise UsageError(f"{error}; nor is it a log with a training banner or a failure") from error
    if arguments.resume is not None:
        warn_of(f"--resume: {run.written_at}: {OWN_COUNT}" for run in runs if not any(config.may_resume for config in run.configs))
    pace = pace_given(arguments, arguments.gpu_price)
    accounts = [RunSummary(run, arguments.gpus, pace, arguments.num_tokens) for run in runs]
    alike: dict[str, list[RunSummary]] = {}  # those that differ in nothing but their places
    for account in accounts:
        alike.setdefault(account.fingerprint, []).append(account)
    firsts = [first for first, *_ in alike.values()]
    name_readers(first.run for first in firsts)

    def render(form: str, _colour: bool, width: int | None) -> str:
        if form == "html":
            refuse_several([first.run for first in firsts], "explain")
        elif form == "json" and len(accounts) > 1:
            return dumps({"runs": [table(account) for account in accounts]})
        brief = form == "text" and not arguments.all
        texts = [as_brief(first, width) if brief else render_account(form, first, width) for first in firsts]
        if len(accounts) == 1 or form == "html":
            return texts[0]
        return below_places(list(zip(texts, ([account.run.full_place for account in group] for group in alike.values()), strict=True)))

    written = write(arguments, render, FORMATS)
    warn_of(bug for run in runs for bug in run.bug_reports)
    return written or (2 if any(run.beyond_limits or run.bug_reports for run in runs) else 0)
