"""`cfglint check`: lint files or folders."""

from __future__ import annotations

from cfglint.cli.argument_parser import Namespace, Parser
from cfglint.cli.console import columns, fail, rows, warn, warn_of
from cfglint.cli.options import (
    UsageError,
    add_baseline_options,
    add_finding_options,
    add_output_options,
    add_run_options,
    add_skip_option,
    baseline_of,
    load_configuration,
    positive,
    report_unchecked,
    selection_of,
    skipped_files,
    warn_of_unknown_codes,
)
from cfglint.cli.output import check_outputs, reports, write
from cfglint.cli.run_all import outcomes
from cfglint.findings.diagnostic import BASELINE, COMMENT, CONFIGURATION, Diagnostic, Outcome, rank
from cfglint.findings.wording import counted, first_few
from cfglint.project.selection import suppress
from cfglint.project.settings_file import Configuration
from cfglint.report import FORMATS, render
from cfglint.report.escapes import shown
from cfglint.run.paths import UnknownKindError
from cfglint.run.scan_stats import ScanStats
from cfglint.source.files import FileProblem
from cfglint.source.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.project.baseline import Baseline

LONGEST_SUMMARY = 240  # characters of a summary in one line
MANY = 50  # findings, whose report is several screens long
SHOWN = ("files", "runs", "settings", "statistics")  # what is shown in the place of the findings
SHORTEST_PLACE = 24  # columns for a path and its line; with fewer it is not readable


def add_arguments(parser: Parser) -> None:
    """The options of `check`."""
    parser.takes_command = True
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files, or folders to walk (default: the declared runs, else .)")
    add_run_options(parser)
    add_finding_options(parser)
    add_baseline_options(parser)
    add_skip_option(parser)
    add_output_options(parser, FORMATS)
    listed = "instead of findings: files and why some are skipped; runs; settings; findings counted by code"
    parser.add_argument("--show", action="append", default=[], choices=SHOWN, help=listed)
    parser.former = {f"--show-{what}": f"--show={what}" for what in SHOWN[:3]} | {"--statistics": "--show=statistics"}
    parser.add_argument("--changed", action="store_true", help="only runs that this git branch and uncommitted changes touch")
    parser.add_argument("--base", metavar="REV", help="for --changed: since where the branch left REV (default: the main branch)")
    parser.add_argument("--quiet", action="store_true", help="findings only, without notes and summary")
    parser.add_argument("--exit-zero", action="store_true", help="exit status 0 whatever is found")
    parser.add_argument("--jobs", type=positive, metavar="N", help="worker processes")
    parser.add_example("cfglint check", "the declared runs, or this folder")
    parser.add_example("cfglint check train.yaml --gpus 8 --num-examples 128770", "on 8 GPUs, with steps")
    parser.add_example("cfglint check train.yaml ds_config.json --run --target transformers==4.57.1", "one run")
    parser.add_example("cfglint check -- torchrun --nproc_per_node 8 train.py", "a command, with what is installed and visible here")
    parser.add_example("cfglint check --format text --format sarif --output cfglint.sarif", "text, and a file")


def run(arguments: Namespace) -> int:
    """Check and report; return exit status 1 if there is a finding at or above --fail-on."""
    stats = ScanStats()
    try:
        check_outputs(arguments)
        arguments.format = [form for form, _ in reports(arguments)]  # those of suffixes, too
        if (arguments.changed or arguments.base) and not take_changed(arguments):
            return 0
        project = load_configuration(arguments)
        selection = selection_of(arguments, project)
        if "runs" in arguments.show:
            return show_runs(arguments)
        if set(arguments.show) & {"files", "settings"}:
            return show(arguments, project, stats)
        accepted = baseline_of(arguments, project)
        found = outcomes(arguments, project, stats)
        suppress(found, selection)
        if accepted:
            accept(accepted, found, arguments.write_baseline)
    except (UsageError, UnknownKindError) as error:
        return fail(str(error))
    written = write(arguments, lambda form, colour, width: report(form, found, colour, width, "statistics" in arguments.show))
    warn_of_unknown_codes(selection)
    incomplete = report_unchecked(stats, arguments.skip_unrecognized)
    if arguments.gpus and not arguments.command and not arguments.quiet and any(outcome.launch is not None for outcome in found):
        from cfglint.cli.gpu_counts import set_by_lines, unused

        reported = {
            f"{diagnostic.place.file}:{diagnostic.place.line}"
            for outcome in found
            for diagnostic in outcome.diagnostics
            if diagnostic.code == "LCH025"
        }
        others = {place: number for place, number in set_by_lines(found).items() if place not in reported}
        warn_of(unused(others, arguments.gpus))
    if not arguments.quiet:
        warn_of(summary(found, stats, overview(arguments, found)))
    if incomplete or not written:
        return 2
    return 0 if arguments.exit_zero else selection.status(found)


def take_changed(arguments: Namespace) -> bool:
    """Make the changed files of the git branch the paths; whether there are any. Raises UsageError if git cannot tell."""
    from cfglint.review.base import NoBaseError, base_of
    from cfglint.review.branch import WORKING, Branch
    from cfglint.source.git import GitProblem, GitRepository

    if arguments.paths:
        raise UsageError("--changed finds the files itself: pass no PATH")
    try:
        with GitRepository() as repository:
            base, name = base_of(arguments.base, repository)
            branch = Branch(repository, base, WORKING)
            branch.compare()
    except (NoBaseError, GitProblem) as error:
        raise UsageError(str(error)) from error
    arguments.paths, arguments.skip_unrecognized = sorted(branch.altered), True
    if not arguments.paths:
        warn(f"no config, script or program changed since {name} ({base[:10]})")
    return bool(arguments.paths)


def show_runs(arguments: Namespace) -> int:
    """Print the runs instead of checking them; raises UsageError for a format without findings."""
    from cfglint.cli import runs

    [(form, output), *others] = reports(arguments)
    if others or form not in runs.FORMATS:
        raise UsageError(f"--show runs has one report, as {' or '.join(runs.FORMATS)}")
    return runs.print_runs(arguments, runs.as_json if form == "json" else runs.as_text, output)


def show(arguments: Namespace, project: Configuration, stats: ScanStats) -> int:
    """Print what would be checked, or the settings, instead of checking."""
    from cfglint.cli.help_text import folded_lines
    from cfglint.cli.show import files_shown, settings_shown

    if reports(arguments) != [("text", None)]:
        raise UsageError(f"--show {','.join(arguments.show)} is text on standard output, without --format and --output")
    lines = settings_shown(arguments, project) if "settings" in arguments.show else []
    if "files" in arguments.show:
        lines += files_shown(arguments, project, stats)
    width = columns()
    for line in map(shown, lines):
        head, found, rest = line.partition(": ")
        too_long = width is not None and len(line) > width and found
        print(f"{head}:\n{''.join(folded_lines([f'    {rest}']))}".rstrip("\n") if too_long else line)
    return 2 if report_unchecked(stats, skip_unrecognized=True) else 0


def report(form: str, found: list[Outcome], colour: bool, width: int | None, counted: bool) -> str:
    """The findings in one format; as text, a table of their codes if requested, or below a list longer than the terminal."""
    if counted and form == "text":
        return statistics(found, width)
    text = render(form, found, colour, width)
    is_long = form == "text" and width is not None and text.count("\n") > (rows() or len(text))
    return f"{text}\n{statistics(found, width)}" if is_long else text


class Count(Record):
    """How often a code was found, how many of these findings `fix` repairs, and the first finding of the highest severity."""

    first: Diagnostic
    found: int = 0
    fixable: int = 0

    @property
    def rank(self) -> tuple[int, int, str]:
        """Errors first, then the most frequent."""
        return -rank(self.first.severity), -self.found, self.first.code

    @property
    def line(self) -> str:
        """A line of the table, without the place."""
        fixable = f" ({self.fixable} fixable)" if self.fixable else ""
        return f"{self.found:>6}  {self.first.code}  {self.first.severity:<7} {self.first.name}{fixable}"


def statistics(outcomes: list[Outcome], width: int | None = None) -> str:
    """How often each code was found with a severity, and the first place; errors and the most frequent first."""
    table: dict[tuple[str, str], Count] = {}
    for outcome in outcomes:
        for open_finding in outcome.open_findings:
            row = table.setdefault((open_finding.code, open_finding.severity), Count(open_finding))
            row.found += 1
            row.fixable += open_finding.fix is not None and open_finding.fix.safe
    rows = sorted(table.values(), key=lambda row: row.rank)
    start = max((len(row.line) for row in rows), default=0) + 2
    return "".join(f"{with_place(row, start, width)}\n" for row in rows)


def with_place(row: Count, start: int, width: int | None) -> str:
    """A line of the table with the first place in a column of its own: the end of the path if the width is too small."""
    place = shown(f"{row.first.place.file}:{row.first.place.line}")
    room = len(place) if width is None else width - start
    if len(place) > room:
        place = f"...{place[3 - room :]}" if room >= SHORTEST_PLACE else ""
    return f"{row.line:<{start}}{place}".rstrip()


def accept(accepted: Baseline, outcomes: list[Outcome], write_new: bool) -> None:
    """Suppress what the baseline accepts, after writing it if requested."""
    if write_new:
        accepted = accepted.of(accepted.path, outcomes)
        try:
            accepted.write()
        except FileProblem as error:
            raise UsageError(f"baseline {error}") from error
    gone = accepted.apply(outcomes)
    if gone:
        text = f"{counted(gone, 'accepted finding')} no longer found; --write-baseline removes them from {accepted.path}"
        warn(text)


def undecided(outcomes: list[Outcome]) -> list[str]:
    """How many findings depend on a release that the project does not state, for each package."""
    shown = [diagnostic for outcome in outcomes for diagnostic in outcome.open_findings if diagnostic.since]
    counts = {
        package: sum(package in diagnostic.since for diagnostic in shown)
        for package in sorted({name for diagnostic in shown for name in diagnostic.since})
    }
    return [
        f"{counted(number, 'finding')} {'depends' if number == 1 else 'depend'} on the release of {package}, which is not pinned: "
        f"--target {package}==X or --target installed decides"
        for package, number in counts.items()
    ]


def decisive(outcomes: list[Outcome]) -> dict[str, list[str]]:
    """The releases that nothing states exactly and on which findings depend, each with its source."""
    found: dict[str, list[str]] = {}
    for outcome in outcomes:
        for open_finding in outcome.open_findings:
            for package in open_finding.since:
                found.setdefault(f"{package} {outcome.target[package]}", [outcome.target_from[package]])
    return found


def summary(outcomes: list[Outcome], stats: ScanStats, hint: str = "") -> list[str]:
    """The last line: numbers of checked files, findings and skipped files. A long one is two: what was found, and what it rests on."""
    counts = {"error": 0, "warning": 0, "info": 0}
    fixable = {True: 0, False: 0}  # by whether the fix is safe
    for outcome in outcomes:
        for open_finding in outcome.open_findings:
            counts[open_finding.severity] += 1
            if open_finding.fix is not None:
                fixable[open_finding.fix.safe] += 1
    if not stats.checked and not stats.unrecognized_named:
        return ["; ".join(["no training configs found", *skipped_files(stats)])]
    parts = [files_checked(stats.checked, sum(not each.is_further_alternative for each in outcomes)) + in_runs(stats)]
    found = [counted(number, severity) if severity != "info" else f"{number} info" for severity, number in counts.items() if number]
    if stats.checked or not stats.unrecognized_named:
        parts.append(", ".join(found) or "no findings")
    if any(fixable.values()):
        parts.append(fixes_available(fixable[True], fixable[False]))
    parts += suppressed(outcomes)
    targets = {**decisive(outcomes), **stats.targets}
    releases = [f"for {first_few(f'{version} ({first_few(sources)})' for version, sources in targets.items())}"] if targets else []
    context = [*releases, *undecided(outcomes), *skipped_files(stats)]
    whole = "; ".join([*parts, *context]) + hint
    return [whole] if len(whole) <= LONGEST_SUMMARY or not context else ["; ".join(parts) + hint, "; ".join(context)]


def overview(arguments: Namespace, outcomes: list[Outcome]) -> str:
    """The hint where to find an overview of findings that fill many screens; empty for fewer findings, and for other formats."""
    findings = sum(len(outcome.open_findings) for outcome in outcomes)
    if findings < MANY or "statistics" in arguments.show or set(arguments.format) - {"text"}:
        return ""
    return "; `--show statistics` counts them by rule"


def files_checked(files: int, runs: int) -> str:
    """The number of checked files, and of the training runs that they form if that differs."""
    return f"{counted(files, 'file')} checked" + (f" ({counted(runs, 'training run')})" if runs != files else "")


def in_runs(stats: ScanStats) -> str:
    """The runs of the project that were looked for because they read a named file."""
    return f", in the {'run' if len(stats.readers) == 1 else 'runs'} of {first_few(stats.readers)}" if stats.readers else ""


def suppressed(outcomes: list[Outcome]) -> list[str]:
    """The number of suppressed findings by cause; empty if there are none."""
    by = {COMMENT: "by comments", BASELINE: "by the baseline", CONFIGURATION: "by --select, --ignore or settings"}
    numbers = dict.fromkeys(by, 0)
    for outcome in outcomes:
        for diagnostic in outcome.diagnostics:
            if diagnostic.suppressed:
                numbers[diagnostic.suppressed] += 1
    total = sum(numbers.values())
    reasons = [(f"{number} " if number < total else "") + by[kind] for kind, number in numbers.items() if number]
    return [f"{total} suppressed {', '.join(reasons)} (--format sarif lists them)"] if total else []


def fixes_available(safe: int, unsafe: int) -> str:
    """How many findings `fix` repairs, and how many more with `--unsafe-fixes`."""
    if not safe:
        return f"{unsafe} fixable with `cfglint fix --unsafe-fixes`"
    return f"{safe} fixable with `cfglint fix`" + (f", {unsafe} more with --unsafe-fixes" if unsafe else "")
