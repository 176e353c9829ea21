"""`cfglint check`: lint files or folders."""

from __future__ import annotations

from cfglint.cli import options
from cfglint.cli.argument_parser import Namespace, Parser
from cfglint.cli.asked_runs import outcomes
from cfglint.cli.console import columns, rows, warn, warn_of
from cfglint.cli.options import UsageError
from cfglint.cli.output import reports, write
from cfglint.findings.diagnostic import BASELINE, COMMENT, CONFIGURATION, Diagnostic, Outcome, rank, severity_counts
from cfglint.findings.wording import counted, first_few
from cfglint.project.selection import suppress
from cfglint.project.settings_file import Configuration
from cfglint.report import FORMATS, render
from cfglint.report.escapes import shown
from cfglint.run.paths import ScanStats
from cfglint.source.files import FileProblem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.project.baseline import Baseline

LONGEST_SUMMARY = 240  # characters of a summary in one line
MANY = 50  # findings, whose report is several screens long
SHOWN = ("files", "runs", "settings", "statistics")  # what is shown in the place of the findings
SHORTEST_PLACE = 24  # columns for a path and its line; with fewer it is not readable


def add_arguments(parser: Parser) -> None:
    parser.takes_command = True
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files, or folders to walk (default: the declared runs, else .)")
    options.add_run_options(parser)
    options.add_finding_options(parser)
    parser.add_argument("--baseline", metavar="FILE", help="file of accepted findings")
    parser.add_argument("--write-baseline", action="store_true", help="accept all current findings")
    parser.add_argument("--skip-unrecognized", action="store_true", help="skip named files that are not training configs")
    options.add_output_options(parser, FORMATS)
    listed = "instead of findings: files and why some are skipped; runs; settings; findings counted by code"
    parser.add_argument("--show", action="append", default=[], choices=SHOWN, help=listed)
    parser.former = {f"--show-{what}": f"--show={what}" for what in SHOWN[:3]} | {"--statistics": "--show=statistics"}
    parser.add_argument("--changed", action="store_true", help="only runs that this git branch and uncommitted changes touch")
    parser.add_argument("--base", metavar="REV", help="for --changed: since where the branch left REV (default: the main branch)")
    parser.add_argument("--quiet", action="store_true", help="findings only, without notes and summary")
    parser.add_argument("--exit-zero", action="store_true", help="exit status 0 whatever is found")
    parser.add_argument("--jobs", type=options.positive, metavar="N", help="worker processes")
    parser.add_example("cfglint check", "the declared runs, or this folder")
    parser.add_example("cfglint check train.yaml --gpus 8 --num-examples 128770", "on 8 GPUs, with steps")
    parser.add_example("cfglint check train.yaml ds_config.json --run --target transformers==4.57.1", "one run")
    parser.add_example("cfglint check -- torchrun --nproc_per_node 8 train.py", "a command, with what is installed and visible here")
    parser.add_example("cfglint check --format text --format sarif --output cfglint.sarif", "text, and a file")


def run(arguments: Namespace) -> int:
    """Check and report; return exit status 1 if there is a finding at or above --fail-on."""
    stats = ScanStats()
    arguments.format = [form for form, _ in reports(arguments)]  # those of suffixes, too
    if (arguments.changed or arguments.base) and not take_changed(arguments):
        return 0
    project = options.load_configuration(arguments)
    selection = options.selection_of(arguments, project)
    if set(arguments.show) & {"files", "runs", "settings"}:
        return show(arguments, project, stats)
    accepted = options.baseline_of(arguments, project)
    found = outcomes(arguments, project, stats)
    suppress(found, selection)
    if accepted:
        accept(accepted, found, arguments.write_baseline)
    open_findings = [finding for outcome in found for finding in outcome.open_findings]

    def render_findings(form: str, colour: bool, width: int | None) -> str:
        if form == "text" and "statistics" in arguments.show:
            return statistics(open_findings, width)
        text = render(form, found, colour, width)
        is_long = form == "text" and width is not None and text.count("\n") > (rows() or len(text))
        return f"{text}\n{statistics(open_findings, width)}" if is_long else text

    failed = write(arguments, render_findings)
    options.warn_of_unknown_codes(selection)
    incomplete = options.report_unchecked(stats, arguments.skip_unrecognized)
    if arguments.gpus and not arguments.command and not arguments.quiet:
        findings = [finding for outcome in found for finding in outcome.diagnostics]
        reported = {f"{finding.place.file}:{finding.place.line}" for finding in findings if finding.code == "LCH025"}
        starts = [(outcome.launch, outcome.gpus) for outcome in found if not outcome.machine]
        set_by_lines = {f"{launch['file']}:{launch['line']}": gpus for launch, gpus in starts if launch is not None and gpus is not None}
        others = {place: gpus for place, gpus in set_by_lines.items() if place not in reported}
        warn_of(options.gpus_not_used(others, arguments.gpus))
    if not arguments.quiet:
        is_text = not set(arguments.format) - {"text"} and "statistics" not in arguments.show
        warn_of(summary(found, stats, "; `--show statistics` counts them by rule" if is_text and len(open_findings) >= MANY else ""))
    return 2 if incomplete or failed else 0 if arguments.exit_zero else selection.status(found)


def take_changed(arguments: Namespace) -> bool:
    """Make the changed files of the git branch the paths; whether there are any."""
    from cfglint.review.branch import WORKING, Branch, base_of
    from cfglint.source.git import GitRepository

    if arguments.paths:
        raise UsageError("--changed finds the files itself: pass no PATH")
    with GitRepository() as repository:
        base, name = base_of(arguments.base, repository)
        branch = Branch(repository, base, WORKING)
        branch.compare()
    arguments.paths, arguments.skip_unrecognized = sorted(branch.altered), True
    if not arguments.paths:
        warn(f"no config, script or program changed since {name} ({base[:10]})")
    return bool(arguments.paths)


def show(arguments: Namespace, project: Configuration, stats: ScanStats) -> int:
    """Print the runs, what would be checked, or the settings, instead of checking; raises UsageError for a format without findings."""
    from cfglint.cli import runs

    if "runs" in arguments.show:
        [(form, output), *others] = reports(arguments)
        if others or form not in runs.FORMATS:
            raise UsageError(f"--show runs has one report, as {' or '.join(runs.FORMATS)}")
        return runs.print_runs(arguments, runs.as_json if form == "json" else runs.as_text, output)
    from cfglint.cli.help_text import folded_lines

    if reports(arguments) != [("text", None)]:
        raise UsageError(f"--show {','.join(arguments.show)} is text on standard output, without --format and --output")
    lines = runs.settings_shown(arguments, project) if "settings" in arguments.show else []
    if "files" in arguments.show:
        lines += runs.files_shown(arguments, project, stats)
    width = columns()
    for line in map(shown, lines):
        head, found, rest = line.partition(": ")
        too_long = width is not None and len(line) > width and found
        print(f"{head}:\n{''.join(folded_lines([f'    {rest}']))}".rstrip("\n") if too_long else line)
    return 2 if options.report_unchecked(stats, skip_unrecognized=True) else 0


def statistics(findings: list[Diagnostic], width: int | None = None) -> str:
    """How often each code was found with a severity, and the first place, in a column of its own; the worst and most frequent first."""
    alike: dict[tuple[str, str], list[Diagnostic]] = {}
    for finding in findings:
        alike.setdefault((finding.code, finding.severity), []).append(finding)
    lines = []
    for group in sorted(alike.values(), key=lambda group: (-rank(group[0].severity), -len(group), group[0].code)):
        first = group[0]
        fixable = sum(finding.fix is not None and finding.fix.safe for finding in group)
        fixed = f" ({fixable} fixable)" if fixable else ""
        line = f"{len(group):>6}  {first.code}  {first.severity:<7} {first.name}{fixed}"
        lines.append((line, shown(f"{first.place.file}:{first.place.line}")))
    start = max((len(line) for line, _ in lines), default=0) + 2
    text = ""
    for line, place in lines:
        room = len(place) if width is None else width - start
        end = place if len(place) <= room else f"...{place[3 - room :]}" if room >= SHORTEST_PLACE else ""
        text += f"{line:<{start}}{end}".rstrip() + "\n"
    return text


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
        warn(f"{counted(gone, 'accepted finding')} no longer found; --write-baseline removes them from {accepted.path}")


def summary(outcomes: list[Outcome], stats: ScanStats, hint: str = "") -> list[str]:
    """The last line: numbers of checked files, findings and skipped files. A long one is two: what was found, and what it rests on."""
    if not stats.checked and not stats.unrecognized_named:
        return ["; ".join(["no training configs found", *options.skipped_files(stats)])]
    runs = sum(not outcome.is_further_alternative for outcome in outcomes)
    checked = f"{counted(stats.checked, 'file')} checked" + (f" ({counted(runs, 'training run')})" if runs != stats.checked else "")
    if stats.readers:
        checked += f", in the {'run' if len(stats.readers) == 1 else 'runs'} of {first_few(stats.readers)}"
    parts = [checked]
    findings = [(outcome, finding) for outcome in outcomes for finding in outcome.open_findings]
    if stats.checked or not stats.unrecognized_named:
        parts.append(", ".join(severity_counts(finding.severity for _, finding in findings).values()) or "no findings")
    fixes = [finding.fix.safe for _, finding in findings if finding.fix is not None]
    if any(fixes):
        unsafe = fixes.count(False)
        parts.append(f"{fixes.count(True)} fixable with `cfglint fix`" + (f", {unsafe} more with --unsafe-fixes" if unsafe else ""))
    elif fixes:
        parts.append(f"{len(fixes)} fixable with `cfglint fix --unsafe-fixes`")
    by = {COMMENT: "by comments", BASELINE: "by the baseline", CONFIGURATION: "by --select, --ignore or settings"}
    suppressed = [finding.suppressed for outcome in outcomes for finding in outcome.diagnostics if finding.suppressed]
    causes = [(cause, suppressed.count(cause)) for cause in by if cause in suppressed]
    reasons = [(f"{number} " if len(causes) > 1 else "") + by[cause] for cause, number in causes]
    if suppressed:
        parts.append(f"{len(suppressed)} suppressed {', '.join(reasons)} (--format sarif lists them)")
    targets: dict[str, list[str]] = {}  # the releases that nothing states exactly and on which findings depend, each with its source
    depending: dict[str, int] = {}  # by package
    for outcome, finding in findings:
        for package in finding.since:
            targets.setdefault(f"{package} {outcome.target[package]}", [outcome.target_from[package]])
            depending[package] = depending.get(package, 0) + 1
    targets.update(stats.targets)
    context = [f"for {first_few(f'{version} ({first_few(sources)})' for version, sources in targets.items())}"] if targets else []
    context += [
        f"{counted(number, 'finding')} {'depends' if number == 1 else 'depend'} on the release of {package}, which is not pinned: "
        f"--target {package}==X or --target installed decides"
        for package, number in sorted(depending.items())
    ]
    memory = [outcome.memory for outcome in outcomes if outcome.memory and not outcome.is_further_alternative]
    numbers_of = {said: memory.count(said) for said in memory}
    context += [f"memory{f' of {number} runs' if number != runs else ''} {said}" for said, number in numbers_of.items()]
    context += options.skipped_files(stats)
    whole = "; ".join([*parts, *context]) + hint
    return [whole] if len(whole) <= LONGEST_SUMMARY or not context else ["; ".join(parts) + hint, "; ".join(context)]
