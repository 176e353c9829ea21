"""`cfglint check`: lint files or folders."""

from __future__ import annotations

from cfglint.cli.console import fail, warn
from cfglint.cli.options import (
    UsageError,
    add_baseline_options,
    add_finding_options,
    add_output_options,
    add_run_options,
    add_skip_option,
    baseline_of,
    count,
    first_few,
    left_out,
    load_configuration,
    not_done,
    positive,
    silence,
    tell_unknown,
)
from cfglint.cli.output import write
from cfglint.cli.run_all import outcomes
from cfglint.project.selection import Selection
from cfglint.report import FORMATS, render
from cfglint.report.text import shown
from cfglint.run.discovery import ScanStats, UnknownKindError
from cfglint.source.files import FileProblem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.cli.argument_parser import Namespace, Parser
    from cfglint.findings.diagnostic import Outcome
    from cfglint.project.baseline import Baseline
    from cfglint.project.settings_file import Configuration


def add_arguments(parser: Parser) -> None:
    """The options of `check`."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files, or folders to walk (default: the declared runs, else .)")
    add_run_options(parser)
    add_finding_options(parser)
    add_baseline_options(parser)
    add_skip_option(parser)
    add_output_options(parser, FORMATS)
    parser.add_argument("--show-files", action="store_true", help="list every file with its kind and run, or why it is skipped")
    parser.add_argument("--show-settings", action="store_true", help="list the settings and where they come from")
    parser.add_argument("--jobs", type=positive, metavar="N", help="processes that share the work (default: as many as pay)")


def run(arguments: Namespace) -> int:
    """Check, report, and tell by the exit status."""
    tally = ScanStats()
    try:
        project = load_configuration(arguments)
        selection = Selection(project, arguments.select, arguments.ignore, arguments.fail_on)
        if arguments.show_files or arguments.show_settings:
            return show(arguments, project, tally)
        accepted = baseline_of(arguments, project)
        found = outcomes(arguments, project, tally)
        silence(found, selection)
        if accepted:
            accept(accepted, found, arguments.write_baseline)
    except (UsageError, UnknownKindError) as error:
        return fail(str(error))
    written = write(arguments, lambda form, colour, width: render(form, found, colour, width))
    tell_unknown(selection)
    incomplete = not_done(tally, arguments.skip_unrecognized)
    warn(summary(found, tally))
    if incomplete or not written:
        return 2
    return selection.status(found)


def show(arguments: Namespace, project: Configuration, tally: ScanStats) -> int:
    """Print what would be checked, or the settings, instead of checking."""
    from cfglint.cli.show import files_shown, settings_shown

    lines = settings_shown(arguments, project) if arguments.show_settings else []
    if arguments.show_files:
        lines += files_shown(arguments, project, tally)
    for line in lines:
        print(shown(line))
    return 2 if not_done(tally, skip_unrecognized=True) else 0


def accept(accepted: Baseline, outcomes: list[Outcome], write_new: bool) -> None:
    """Silence what the baseline accepts, after writing it when that was asked for."""
    if write_new:
        accepted = accepted.of(accepted.path, outcomes)
        try:
            accepted.write()
        except FileProblem as error:
            raise UsageError(f"baseline {error}") from error
    gone = accepted.apply(outcomes)
    if gone:
        text = f"{count(gone, 'accepted finding')} not found any more; --write-baseline drops them from {accepted.path}"
        warn(text)


def summary(outcomes: list[Outcome], tally: ScanStats) -> str:
    """What was checked, what was found, and what was left alone."""
    counts = {"error": 0, "warning": 0, "info": 0}
    silenced = 0
    for outcome in outcomes:
        for each in outcome.diagnostics:
            if each.suppressed:
                silenced += 1
            else:
                counts[each.severity] += 1
    parts = [f"{count(tally.checked, 'file')} in {count(len(outcomes), 'run')} checked"]
    found = [count(number, severity) if severity != "info" else f"{number} info" for severity, number in counts.items() if number]
    if tally.checked or not tally.unrecognized_named:
        parts.append(", ".join(found) or "nothing found")
    if silenced:
        parts.append(f"{silenced} silenced")
    if tally.targets:
        parts.append("for " + first_few(tally.targets))
    parts += left_out(tally)
    return "; ".join(parts)
