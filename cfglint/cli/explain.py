"""`cfglint explain`: every number of a run and its origin."""

from __future__ import annotations

from cfglint.cli.argument_parser import Namespace, Parser
from cfglint.cli.console import columns, fail, warn, warn_of
from cfglint.cli.gpu_counts import set_by_runs, unused
from cfglint.cli.log import FORMATS, log_among, progress_in, report, report_progress
from cfglint.cli.options import UsageError, add_run_options, load_configuration, one_run
from cfglint.cli.single_report import add_report_options, reading_runs, the_report, write_text
from cfglint.findings.wording import first_few
from cfglint.project.settings_file import Configuration
from cfglint.report import render_account
from cfglint.run.discovery_errors import MissingSectionError, UnknownKindError


def add_arguments(parser: Parser) -> None:
    """The options of `explain`."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="the files of one run")
    add_run_options(parser)
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
    """Print or write the explanation of the run that the paths describe; return the exit status."""
    from cfglint.explanation.summary import RunSummary
    from cfglint.rewrite.retarget import is_filled_elsewhere

    try:
        found = one_run(arguments, project, arguments.run)
    except UnknownKindError as error:
        if isinstance(error, MissingSectionError):
            raise
        if arguments.paths[0] == error.path and progress_in(error.path)[0]:
            return report_progress(arguments)
        raise UsageError(f"{error}; nor is it a log with a training banner or a failure") from error
    path = found.documents[0].path
    alone = arguments.paths == [path] and not found.facts.complete
    readers = reading_runs(found, arguments, project) if alone or is_filled_elsewhere(found) else []
    if alone and len(readers) == 1 and readers[0].documents[0].path == path:  # the program passes objects to the engine
        found = readers[0]
    account = RunSummary(found)
    refused = [] if account.errors or not alone else [each.written_at for each in readers if each.verdict == "reject"]
    if refused:
        account.is_refused_elsewhere = True
        warn(f"{path}: the run of {first_few(refused)} reads it and would not start: `cfglint check` shows why")
    if readers and is_filled_elsewhere(found):
        places = [each.written_at for each in readers]
        warn(f"{path}: its batch sizes are filled by {first_few(places)}: `cfglint explain {places[0]}` shows them")
    if arguments.gpus:
        warn_of(unused(set_by_runs([found]), arguments.gpus))
    form, output = the_report(arguments, FORMATS)
    written = write_text(render_account(form, account, None if output else columns()), output)
    bugs = found.bug_reports
    warn_of(bugs)
    return written or (2 if found.beyond_limits or bugs else 0)
