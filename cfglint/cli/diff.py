"""`cfglint review OLD NEW`: what differs in effect between two states of a run that lie next to each other."""

from __future__ import annotations

import os

from cfglint.cli import options
from cfglint.cli.argument_parser import Namespace, Parser
from cfglint.cli.asked_runs import section_of
from cfglint.cli.console import warn
from cfglint.cli.options import UsageError
from cfglint.cli.output import reports, write
from cfglint.findings.diagnostic import INFO, INTERNAL, severity_counts
from cfglint.findings.wording import counted
from cfglint.project.selection import Selection, suppress
from cfglint.project.settings_file import Configuration
from cfglint.report import FORMATS, render_changes
from cfglint.report.changes import only_new
from cfglint.review.compare import Comparison
from cfglint.review.left_out import NotCompared
from cfglint.review.pairing import paired, renamed
from cfglint.review.releases import with_same_releases
from cfglint.run.checked import CheckedRun
from cfglint.run.discovery import Discovery
from cfglint.run.paths import ScanStats, UnknownKindError, is_script, line_of


def add_arguments(parser: Parser) -> None:
    """The options of `diff`, the former name of `review OLD NEW`."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="OLD NEW: two files or two folders; or the old files of a run, with --to")
    add_comparison_options(parser)


def add_comparison_options(parser: Parser) -> None:
    parser.add_argument("--to", nargs="+", metavar="PATH", default=[], help="the new files, where a run has several")
    options.add_run_options(parser)
    options.add_finding_options(parser)
    options.add_output_options(parser, FORMATS)


def run(arguments: Namespace) -> int:
    stats = ScanStats()
    reports(arguments)
    project = options.load_configuration(arguments)
    options.selection_of(arguments, project)
    comparisons = compare(arguments, project, stats)
    status = report_and_status(arguments, project, comparisons)
    warn(summary(comparisons, stats))
    return 2 if stats.unreadable or stats.beyond_limits else status


def report_and_status(
    arguments: Namespace, project: Configuration, comparisons: list[Comparison], unused: list[NotCompared] | None = None, note: str = ""
) -> int:
    """Suppress what is accepted, print, and return the exit status: 1 for a new finding at or above --fail-on, 2 for a bug of ours."""
    selection = Selection(project, arguments.select, arguments.ignore, arguments.fail_on)
    before = [comparison.before for comparison in comparisons if comparison.before is not None]
    after = [comparison.after for comparison in comparisons if comparison.after is not None]
    suppress(before, selection)
    suppress(after, selection)
    accepted = options.baseline_of(arguments, project)
    if accepted is not None:
        for side in (*before, *after):
            accepted.suppress(side.diagnostics)
    for comparison in comparisons:
        comparison.add_notes()
    failed = write(arguments, lambda form, colour, width: render_changes(form, comparisons, colour, width, unused or [], note))
    options.warn_of_unknown_codes(selection)
    has_bug = any(diagnostic.code == INTERNAL for side in (*before, *after) for diagnostic in side.diagnostics)
    return 2 if has_bug or failed else selection.status(only_new(comparisons))


def summary(comparisons: list[Comparison], stats: ScanStats) -> str:
    """The number of runs, and what is new in them."""
    altered = sum(comparison.in_effect for comparison in comparisons)
    new = [diagnostic.severity for comparison in comparisons for diagnostic in comparison.new]
    found = severity_counts(each for each in new if each != INFO).values()
    none = "no errors or warnings" if new else "no findings"
    parts = [f"{counted(len(comparisons), 'run')} compared, {altered} changed in effect", f"{' and '.join(found) or none} new"]
    return "; ".join([*parts, *options.skipped_files(stats)])


def compare(arguments: Namespace, project: Configuration, stats: ScanStats) -> list[Comparison]:
    """The comparisons that the paths require: of the runs of two folders, the launch lines of two scripts, or the runs of two files."""
    if arguments.to:
        old, new = arguments.paths, arguments.to
    elif len(arguments.paths) == 2:
        old, new = arguments.paths[:1], arguments.paths[1:]
    else:
        raise UsageError("pass OLD and NEW; for a run of several files: review OLD OLD --to NEW NEW")
    for path in (*old, *new):
        if not os.path.exists(path) and not os.path.exists(line_of(path)[0]):
            raise UsageError(f"{path}: no such file or folder")

    def discovery(complete: bool = False, kind: str | None = None, counts: ScanStats = stats) -> Discovery:
        found = Discovery(options.facts_of(arguments, project, complete), arguments.kind or kind, section_of(arguments))
        found.request.stats = counts
        found.request.exclude, found.request.kinds = project.exclude, project.kinds
        return found

    def with_releases(before: CheckedRun | None, after: CheckedRun | None) -> Comparison:
        """Compare two runs with the same releases, if files state some for only one of them."""
        if before is not None and after is not None:
            before, after, said = with_same_releases(before, after, options.facts_of(arguments, project, complete=False).target)
            if said:
                warn(said)
        return Comparison(before, after)

    if arguments.run or arguments.to:
        return [with_releases(*(discovery(complete=True).together(paths)[0] for paths in (old, new)))]
    if os.path.isdir(old[0]) != os.path.isdir(new[0]):
        raise UsageError("OLD and NEW have to be two files or two folders")
    if os.path.isdir(old[0]):
        # Paired by the paths relative to the folder, the rest by similar content.
        before, after = (
            {os.path.relpath(run.documents[0].path, folder): run for run in discovery().runs([folder], ())} for folder in (old[0], new[0])
        )
        if not before and not after:
            raise UsageError(f"neither {old[0]} nor {new[0]} contains a config that cfglint recognises; pass --kind")
        old_names = renamed(*({name: run.documents[0].text for name, run in runs.items()} for runs in (before, after)))
        came_from = set(old_names.values())
        names = dict.fromkeys((*after, *(name for name in before if name not in came_from)))
        return [Comparison(before.get(old_names.get(name, name)), after.get(name)) for name in sorted(names)]
    if is_script(line_of(old[0])[0]) and is_script(line_of(new[0])[0]):
        return [with_releases(*pair) for pair in paired(*(discovery().runs(paths, ()) for paths in (old, new)))]
    # Where the kind of one file is unknown, it is that of the other.
    runs = [next(iter(discovery(counts=ScanStats()).runs(paths, ())), None) for paths in (old, new)]
    kind = next((run.kinds[0] for run in runs if run is not None), None)
    if kind is None:
        raise UnknownKindError(old[0])
    return [
        with_releases(*(run or next(iter(discovery(kind=kind).runs(paths, ())), None) for run, paths in zip(runs, (old, new), strict=True)))
    ]
