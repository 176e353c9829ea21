"""`cfglint review OLD NEW`: what differs in effect between two states of a run that lie next to each other."""

from __future__ import annotations

import os

from cfglint.cli.argument_parser import Namespace, Parser
from cfglint.cli.console import fail, warn
from cfglint.cli.options import (
    UsageError,
    add_finding_options,
    add_output_options,
    add_run_options,
    baseline_of,
    facts_of,
    load_configuration,
    section_of,
    selection_of,
    skipped_files,
    warn_of_unknown_codes,
)
from cfglint.cli.output import check_outputs, write
from cfglint.findings.diagnostic import INTERNAL
from cfglint.findings.wording import counted
from cfglint.project.selection import Selection, suppress
from cfglint.project.settings_file import Configuration
from cfglint.report import FORMATS, render_changes
from cfglint.report.changes import only_new
from cfglint.review import renames
from cfglint.review.compare import Comparison
from cfglint.review.left_out import NotCompared
from cfglint.review.releases import with_same_releases
from cfglint.run.checked import CheckedRun
from cfglint.run.discovery import Discovery
from cfglint.run.paths import UnknownKindError, is_script, line_of
from cfglint.run.scan_stats import ScanStats


def add_arguments(parser: Parser) -> None:
    """The options of `diff`, the former name of `review OLD NEW`."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="OLD NEW: two files or two folders; or the old files of a run, with --to")
    add_comparison_options(parser)


def add_comparison_options(parser: Parser) -> None:
    """Add the options for two states of a run."""
    parser.add_argument("--to", nargs="+", metavar="PATH", default=[], help="the new files, where a run has several")
    add_run_options(parser)
    add_finding_options(parser)
    add_output_options(parser, FORMATS)


def run(arguments: Namespace) -> int:
    """Compare the states that the paths name; return the exit status."""
    stats = ScanStats()
    try:
        check_outputs(arguments)
        project = load_configuration(arguments)
        selection_of(arguments, project)
        comparisons = compare(arguments, project, stats)
    except (UsageError, UnknownKindError) as error:
        return fail(str(error))
    status = report_and_status(arguments, project, comparisons)
    warn(summary(comparisons, stats))
    return 2 if stats.unreadable or stats.beyond_limits else status


def report_and_status(
    arguments: Namespace, project: Configuration, comparisons: list[Comparison], unused: list[NotCompared] | None = None, note: str = ""
) -> int:
    """Suppress what is accepted, print, and return the exit status: 1 for a new finding at or above --fail-on, 2 for a bug of ours."""
    selection = Selection(project, arguments.select, arguments.ignore, arguments.fail_on)
    for one_side in ([comparison.before for comparison in comparisons], [comparison.after for comparison in comparisons]):
        suppress([side for side in one_side if side is not None], selection)
    accepted = baseline_of(arguments, project)
    if accepted is not None:
        for side in (side for comparison in comparisons for side in (comparison.before, comparison.after) if side is not None):
            accepted.suppress(side.diagnostics)
    for comparison in comparisons:
        comparison.add_notes()
    written = write(arguments, lambda form, colour, width: render_changes(form, comparisons, colour, width, unused or [], note))
    warn_of_unknown_codes(selection)
    sides = [side for comparison in comparisons for side in (comparison.before, comparison.after) if side is not None]
    bugs = [diagnostic for side in sides for diagnostic in side.diagnostics if diagnostic.code == INTERNAL]
    return 2 if bugs or not written else selection.status(only_new(comparisons))


def summary(comparisons: list[Comparison], stats: ScanStats) -> str:
    """The number of runs, and what is new in them."""
    altered = sum(comparison.in_effect for comparison in comparisons)
    new = [diagnostic.severity for comparison in comparisons for diagnostic in comparison.new]
    found = [counted(new.count(severity), severity) for severity in ("error", "warning") if severity in new]
    parts = [f"{counted(len(comparisons), 'run')} compared, {altered} changed in effect", f"{' and '.join(found) or 'no findings'} new"]
    return "; ".join([*parts, *skipped_files(stats)])


def compare(arguments: Namespace, project: Configuration, stats: ScanStats) -> list[Comparison]:
    """The comparisons that the paths require."""
    old, new = sides(arguments)
    for path in (*old, *new):
        if not os.path.exists(path) and not os.path.exists(line_of(path)[0]):
            raise UsageError(f"{path}: no such file or folder")
    if arguments.run or arguments.to:
        return [
            compared(arguments, project, *(discovery(arguments, project, stats, complete=True).together(paths)[0] for paths in (old, new)))
        ]
    if os.path.isdir(old[0]) != os.path.isdir(new[0]):
        raise UsageError("OLD and NEW have to be two files or two folders")
    if os.path.isdir(old[0]):
        return compare_folders(old[0], new[0], arguments, project, stats)
    if is_script(line_of(old[0])[0]) and is_script(line_of(new[0])[0]):
        return compare_scripts(old[0], new[0], arguments, project, stats)
    return [compare_files(old[0], new[0], arguments, project, stats)]


def compare_scripts(old: str, new: str, arguments: Namespace, project: Configuration, stats: ScanStats) -> list[Comparison]:
    """Compare the launch lines of two scripts, each with the most similar one."""
    from cfglint.review.launches import paired

    before, after = (discovery(arguments, project, stats, complete=False).runs([path], ()) for path in (old, new))
    return [compared(arguments, project, *pair) for pair in paired(before, after)]


def compared(arguments: Namespace, project: Configuration, old: CheckedRun | None, new: CheckedRun | None) -> Comparison:
    """Compare two runs with the same releases, if files state some for only one of them."""
    if old is not None and new is not None:
        old, new, said = with_same_releases(old, new, facts_of(arguments, project, complete=False).target)
        if said:
            warn(said)
    return Comparison(old, new)


def sides(arguments: Namespace) -> tuple[list[str], list[str]]:
    """(old paths, new paths)."""
    if arguments.to:
        return arguments.paths, arguments.to
    if len(arguments.paths) != 2:
        raise UsageError("pass OLD and NEW; for a run of several files: review OLD OLD --to NEW NEW")
    return arguments.paths[:1], arguments.paths[1:]


def discovery(arguments: Namespace, project: Configuration, stats: ScanStats, *, complete: bool, kind: str | None = None) -> Discovery:
    """Set up the discovery of the runs of one side."""
    found = Discovery(facts_of(arguments, project, complete), arguments.kind or kind, section_of(arguments))
    found.request.stats = stats
    found.request.exclude, found.request.kinds = project.exclude, project.kinds
    return found


def compare_files(old: str, new: str, arguments: Namespace, project: Configuration, stats: ScanStats) -> Comparison:
    """Compare the runs of two files; if the kind of one is unknown, the kind of the other is used."""
    runs: list[CheckedRun | None] = [run_of_file(path, arguments, project, stats) for path in (old, new)]
    recognized = next((each for each in runs if each is not None), None)
    if recognized is None:
        raise UnknownKindError(old)
    for number, path in enumerate((old, new)):
        runs[number] = runs[number] or run_of_file(path, arguments, project, stats, recognized.kinds[0])
    return compared(arguments, project, *runs)


def run_of_file(path: str, arguments: Namespace, project: Configuration, stats: ScanStats, kind: str | None = None) -> CheckedRun | None:
    """The run of a file with the files that it names; None where its kind is unknown."""
    runs = discovery(arguments, project, stats if kind else ScanStats(), complete=False, kind=kind).runs([path], ())
    return next(iter(runs), None)


def compare_folders(old: str, new: str, arguments: Namespace, project: Configuration, stats: ScanStats) -> list[Comparison]:
    """Compare the runs of two folders, paired by their paths relative to the folder, the rest by similar content."""
    before, after = (runs_below(folder, arguments, project, stats) for folder in (old, new))
    if not before and not after:
        raise UsageError(f"neither {old} nor {new} contains a config that cfglint recognises; pass --kind")
    renamed = renames.renamed(*({name: each.documents[0].text for name, each in runs.items()} for runs in (before, after)))
    came_from = set(renamed.values())
    names = dict.fromkeys((*after, *(name for name in before if name not in came_from)))
    return [Comparison(before.get(renamed.get(name, name)), after.get(name)) for name in sorted(names)]


def runs_below(folder: str, arguments: Namespace, project: Configuration, stats: ScanStats) -> dict[str, CheckedRun]:
    """The runs of a folder by the path of their first file, relative to the folder."""
    runs = discovery(arguments, project, stats, complete=False).runs([folder], ())
    return {os.path.relpath(each.documents[0].path, folder): each for each in runs}
