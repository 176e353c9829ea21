"""`cfglint check`: lint files or folders."""

from __future__ import annotations

import os
import sys

from cfglint.cli.common import (
    UsageError,
    add_baseline_options,
    add_finding_options,
    add_output_options,
    add_run_options,
    baseline_of,
    count,
    fail,
    left_out,
    load_configuration,
    runs_of,
)
from cfglint.gather import Tally, UnknownKind
from cfglint.report import FORMATS, render
from cfglint.selection import Selection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from cfglint.baseline import Baseline
    from cfglint.diagnostic import Outcome

UNUSED_IGNORE = "SUP001"


def add_arguments(parser: ArgumentParser) -> None:
    """The options of `check`."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files, or folders to walk (default: the declared runs, else .)")
    add_run_options(parser)
    add_finding_options(parser)
    add_baseline_options(parser)
    add_output_options(parser, FORMATS)


def run(arguments: Namespace) -> int:
    """Check, report, and tell by the exit status."""
    tally = Tally()
    try:
        project = load_configuration(arguments)
        selection = Selection(project, arguments.select, arguments.ignore, arguments.fail_on)
        accepted = baseline_of(arguments, project)
        outcomes = [(index, each.outcome()) for index, each in runs_of(arguments, project, tally)]
        outcomes.sort(key=lambda pair: pair[0])
        found = [outcome for _, outcome in outcomes]
        silence(found, selection)
        if accepted:
            accept(accepted, found, arguments.write_baseline)
    except (UsageError, UnknownKind) as wrong:
        return fail(str(wrong))
    written = write(arguments, found)
    for code in selection.unknown():
        print(f"cfglint: no rule has the code {code}", file=sys.stderr)
    print(summary(found, tally), file=sys.stderr)
    if tally.unreadable or not written:
        return 2
    return selection.status(found)


def silence(outcomes: list[Outcome], selection: Selection) -> None:
    """Mark what comments, flags and the configuration silence."""
    if any(each.code == UNUSED_IGNORE for outcome in outcomes for each in outcome.diagnostics):
        from cfglint.suppression import settle

        settle(outcomes)
    for outcome in outcomes:
        selection.apply(outcome)


def write(arguments: Namespace, outcomes: list[Outcome]) -> bool:
    """Every asked format to its file, the one without a file to standard output; False when a file could not be written."""
    reports = max(len(arguments.format), len(arguments.output), 1)
    forms = [*arguments.format, *["text"] * reports][:reports]
    outputs = [*arguments.output, *[None] * reports][:reports]
    done = True
    for form, output in zip(forms, outputs, strict=True):
        if output is None:
            sys.stdout.write(render(form, outcomes, colour=form == "text" and in_colour()))
            continue
        try:
            with open(output, "w", encoding="utf-8", newline="") as out:
                out.write(render(form, outcomes))
        except OSError as wrong:
            fail(f"--output {output}: {wrong.strerror or wrong}")
            done = False
    return done


def accept(accepted: Baseline, outcomes: list[Outcome], write_new: bool) -> None:
    """Silence what the baseline accepts, after writing it when that was asked for."""
    if write_new:
        accepted = accepted.of(accepted.path, outcomes)
        try:
            accepted.write()
        except OSError as wrong:
            raise UsageError(f"baseline {accepted.path}: {wrong.strerror or wrong}") from wrong
    gone = accepted.apply(outcomes)
    if gone:
        text = f"{count(gone, 'accepted finding')} not found any more; --write-baseline drops them from {accepted.path}"
        print(f"cfglint: {text}", file=sys.stderr)


def in_colour() -> bool:
    """Whether standard output is a terminal that wants colour (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def summary(outcomes: list[Outcome], tally: Tally) -> str:
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
    parts.append(", ".join(found) or "nothing found")
    if silenced:
        parts.append(f"{silenced} silenced")
    if tally.targets:
        parts.append("for " + ", ".join([*tally.targets][:3]) + (", ..." if len(tally.targets) > 3 else ""))
    parts += left_out(tally)
    return "cfglint: " + "; ".join(parts)
