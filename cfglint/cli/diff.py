"""`cfglint diff`: what a change of config means for the run."""

from __future__ import annotations

import os
import sys

from cfglint.cli.common import (
    UsageError,
    add_finding_options,
    add_output_options,
    add_run_options,
    facts_of,
    fail,
    load_configuration,
)
from cfglint.cli.write import in_colour, write
from cfglint.gather import Gathering, UnknownKind
from cfglint.report import FORMATS, changes
from cfglint.review.compare import Comparison
from cfglint.selection import Selection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.cli.arguments import Namespace, Parser
    from cfglint.configuration import Configuration
    from cfglint.run import Run


def add_arguments(parser: Parser) -> None:
    """The options of `diff`."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="OLD NEW: two files or two folders; or the old files of one run before --to")
    parser.add_argument("--to", nargs="+", metavar="PATH", default=[], help="the new files of the run (with --run)")
    add_run_options(parser)
    add_finding_options(parser)
    add_output_options(parser, FORMATS)


def run(arguments: Namespace) -> int:
    """Compare, report, and tell by the exit status."""
    try:
        project = load_configuration(arguments)
        comparisons = list(compare(arguments, project))
    except (UsageError, UnknownKind) as wrong:
        return fail(str(wrong))
    return finish(arguments, project, comparisons)


def finish(arguments: Namespace, project: Configuration, comparisons: list[Comparison]) -> int:
    """Silence, print, and the exit status: 1 for a new finding at or above --fail-on."""
    selection = Selection(project, arguments.select, arguments.ignore, arguments.fail_on)
    for each in comparisons:
        for outcome in (each.before, each.after):
            if outcome is not None:
                selection.apply(outcome)
        each.new = [found for found in each.new if not found.suppressed]
        each.gone = [found for found in each.gone if not found.suppressed]
    written = write(arguments, lambda form: changes.render(form, comparisons, colour=form == "text" and in_colour()))
    for code in selection.unknown():
        print(f"cfglint: no rule has the code {code}", file=sys.stderr)
    if not written:
        return 2
    return selection.status([changes.only_new(each) for each in comparisons if each.after is not None])


def compare(arguments: Namespace, project: Configuration) -> list[Comparison]:
    """The comparisons that the paths ask for."""
    old, new = sides(arguments)
    for path in (*old, *new):
        if not os.path.exists(path):
            raise UsageError(f"{path}: no such file or folder")
    if arguments.run or arguments.to:
        return [Comparison(whole(old, arguments, project), whole(new, arguments, project))]
    if os.path.isdir(old[0]) != os.path.isdir(new[0]):
        raise UsageError("OLD and NEW have to be two files or two folders")
    before, after = (by_name(side[0], arguments, project) for side in (old, new))
    if not before and not after:
        raise UsageError(f"neither {old[0]} nor {new[0]} holds a config that cfglint knows; say what it is with --kind")
    return [Comparison(before.get(name), after.get(name)) for name in dict.fromkeys((*before, *after))]


def sides(arguments: Namespace) -> tuple[list[str], list[str]]:
    """(old paths, new paths)."""
    if arguments.to:
        return arguments.paths, arguments.to
    if len(arguments.paths) != 2:
        raise UsageError("give OLD and NEW; a run of several files is: diff OLD OLD ... --to NEW NEW ...")
    return arguments.paths[:1], arguments.paths[1:]


def whole(paths: list[str], arguments: Namespace, project: Configuration) -> Run:
    """All paths of a side as one run."""
    return Gathering(facts_of(arguments, project, whole=True), arguments.kind).one(paths)


def by_name(path: str, arguments: Namespace, project: Configuration) -> dict[str, Run]:
    """The runs of a side by what pairs them with the other: the path below the folder, nothing for a file."""
    runs = Gathering(facts_of(arguments, project, whole=False), arguments.kind).each([path])
    if not os.path.isdir(path):
        return {"": each for _, each in runs}
    return {os.path.relpath(each.documents[0].path, path): each for _, each in runs}
