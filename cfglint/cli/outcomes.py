"""What the runs of a command line come to; where there are many, several processes have a share in the work."""

from __future__ import annotations

from cfglint.cli.common import declared_run, gathering_of
from cfglint.cli.cores import spread
from cfglint.gather import Tally

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cfglint.cli.arguments import Namespace
    from cfglint.cli.common import Folders
    from cfglint.configuration import Configuration, DeclaredRun
    from cfglint.diagnostic import Outcome
    from cfglint.run import Run

    Numbered = list[tuple[int, str]]


class Share:
    """A part of the outcomes, by position, and what was learnt on the way."""

    __slots__ = ("found", "taken", "tally", "waiting")

    def __init__(self, found: list[tuple[int, Outcome]], tally: Tally, waiting: Numbered, taken: set[str]) -> None:
        self.found = found
        self.tally = tally
        self.waiting = waiting
        self.taken = taken


def outcomes(arguments: Namespace, project: Configuration, tally: Tally) -> list[Outcome]:
    """What every run came to, in the order of the arguments."""
    if not arguments.paths and project.runs:
        shares = of_declared(arguments, project)
    elif arguments.run:
        gathering, paths = gathering_of(arguments, project, tally)
        return [outcome_of(gathering.one(paths), arguments)]
    else:
        shares = of_paths(arguments, project)
    for share in shares:
        tally.add(share.tally)
    found = sorted((pair for share in shares for pair in share.found), key=lambda pair: pair[0])
    return [outcome for _, outcome in found]


def of_declared(arguments: Namespace, project: Configuration) -> list[Share]:
    """The declared runs."""
    folders: Folders = {}

    def work(block: list[tuple[int, DeclaredRun]]) -> Share:
        tally = Tally()
        found = [(index, outcome_of(declared_run(each, arguments, project, tally, folders), arguments)) for index, each in block]
        return Share(found, tally, [], set())

    return spread(work, list(enumerate(project.runs)), arguments.jobs)


def of_paths(arguments: Namespace, project: Configuration) -> list[Share]:
    """The files of the paths: first those that may name others, then of the others those that nobody named."""
    gathering, paths = gathering_of(arguments, project, Tally())

    def look(runs_of: Callable[[Numbered], Iterator[tuple[int, Run]]]) -> Callable[[Numbered], Share]:
        def work(block: Numbered) -> Share:
            gathering.tally, gathering.waiting = Tally(), []
            found = [(index, outcome_of(each, arguments)) for index, each in runs_of(block)]
            return Share(found, gathering.tally, gathering.waiting, gathering.taken)

        return work

    first = spread(look(gathering.consumers), gathering.numbered(paths), arguments.jobs)
    gathering.taken = set().union(*(share.taken for share in first))
    waiting = [each for share in first for each in share.waiting]
    return first + spread(look(gathering.others), waiting, arguments.jobs)


def outcome_of(run: Run, arguments: Namespace) -> Outcome:
    """What a run came to, with what pictures are drawn from where a page was asked for."""
    if "html" not in arguments.format:
        return run.outcome()
    from cfglint.explain import explained

    return explained(run)
