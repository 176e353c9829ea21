"""Brings all runs of a command to one target: runs that share a file reach it together, or none of them is changed."""

from __future__ import annotations

from os.path import abspath

from cfglint.findings.diagnostic import ERROR, WARNING
from cfglint.findings.rule import ARGUMENT, BATCH, LAUNCH, LAUNCHER_CONFIG
from cfglint.findings.wording import first_few
from cfglint.rewrite.own_sizes import reach_target
from cfglint.rewrite.resized import keep_targeted
from cfglint.rewrite.retarget import MissingFactError, Retarget, is_recorded
from cfglint.run.checked import CheckedRun
from cfglint.source.annotations import Callable, Collection, Iterable, Sequence
from cfglint.source.change import EditRefused
from cfglint.source.python.call import CallDocument
from cfglint.source.record import Record
from cfglint.source.sections import reread_all, reread_with

Recheck = Callable[[dict[str, str]], list[CheckedRun]]  # the same runs on the target's GPUs, with other contents of their files

MOST_PLACES = 6  # runs or files that are named
Reading = Callable[[Collection[str], dict[str, str]], list[CheckedRun]]  # the runs that read some files, with new contents of files
OF_SIZES = (BATCH, LAUNCH, ARGUMENT, LAUNCHER_CONFIG)  # subjects of rules about GPU counts and batch sizes


class Target(Record):
    """The wanted numbers; `lasting`: a second call must find nothing to change, which `--diff` does not require."""

    gpus: int | None
    global_batch: int | None
    max_micro: int | None
    lasting: bool = True


class Aimed(Record):
    """A run and how it reaches the target.

    `problem` is why it cannot be brought there, `withheld` why its edits are left out although they would reach it; `bug` is an
    internal error on the way.
    """

    run: CheckedRun
    found: Retarget | None = None
    texts: dict[str, str] = {}
    problem: str | None = None
    withheld: str | None = None
    bug: Exception | None = None
    read_by: dict[str, list[str]] = {}  # the further runs of the project that read its edited files

    @property
    def missed(self) -> bool:
        if self.problem is not None or self.bug is not None:
            return True
        return self.found is not None and (not self.found.feasible or bool(self.found.needs))


def reach(aims: Sequence[Aimed], target: Target, recheck: Recheck, reading: Reading | None = None, named: Collection[str] = ()) -> None:
    """Retarget runs one after the other and check what came of it; `reading` gives the further runs of files, `named` are the user's."""
    texts: dict[str, str] = {}
    calls = [document for aim in aims for document in aim.run.documents if isinstance(document, CallDocument)]
    for call in calls:  # an edit changes all calls of a program that get the same target
        call.partners = frozenset(document.number for document in calls if document.path == call.path)
    for aim in aims:
        try_one(aim, target, texts)
        texts.update(aim.texts)
    groups = sharing(aims, texts)
    # Of runs that read one named file where each would change a file of its own, it is not known which one is meant.
    for path in dict.fromkeys(aim.run.read_for for aim in aims if aim.run.read_for is not None):
        readers = [aim for aim in aims if aim.run.read_for == path]
        places = [*dict.fromkeys(aim.run.written_at for aim in readers)]
        shared = set.intersection(*(absolute(aim.run.read_paths) for aim in readers)) | absolute(named)
        own = [*dict.fromkeys(each for aim in readers for each in aim.texts if abspath(each) not in shared)]
        if len(places) < 2 or not own:
            continue
        for aim in readers:
            aim.texts = {}
            aim.problem = aim.problem or (
                f"{path}: {first_few(places, MOST_PLACES)} read it, and {first_few(own, MOST_PLACES)} would change as well: "
                "run `cfglint fix` on the one that is meant"
            )
    for group in groups:
        withhold(group)
    if edits_of(aims):
        verify(aims, groups, recheck, edits_of(aims))
    if edits_of(aims) and reading is not None:
        verify_others(groups, reading, edits_of(aims))


def edits_of(aims: Sequence[Aimed]) -> dict[str, str]:
    return {path: text for aim in aims for path, text in aim.texts.items()}


def absolute(paths: Iterable[str]) -> set[str]:
    """Paths, however they are spelled."""
    return set(map(abspath, paths))


def try_one(aim: Aimed, target: Target, texts: dict[str, str]) -> None:
    """Find the edits that bring one run to the target."""
    unread = next((document for document in aim.run.documents if document.problems), None)
    if unread is not None:
        aim.problem = f"{unread.path}: does not parse, so it was not changed; `cfglint check` reports why"
        return
    if aim.run.incomplete_script:
        script = aim.run.documents[0].path
        aim.problem = f"{script}: not changed: {aim.run.incomplete_script}; name the lines to change ({script}:LINE)"
        return
    if aim.run.launch.command is not None:
        aim.run.launch.command.targeted = True
    try:
        now = rebased(aim.run, texts)
        retarget = reach_target(aim.run, aim.run.facts, target.gpus, target.global_batch, target.max_micro, now=now)
    except MissingFactError as error:
        aim.problem = f"{aim.run.written_at}: {error.for_command_line}"
        return
    except EditRefused as error:
        aim.problem = f"{aim.run.written_at}: {error}"
        return
    except MemoryError:
        raise
    except Exception as error:
        aim.bug = error
        return
    if retarget.texts and target.lasting and not (target.global_batch or is_recorded(aim.run, retarget.gpus)):
        aim.problem = (
            f"{aim.run.written_at}: these files do not record the GPU count that they are written for, so a second fix would "
            f"change them again: pass --global-batch {retarget.solution.problem.global_batch} (the current one) to reach it"
        )
        return
    aim.found, aim.texts = retarget, retarget.texts


def rebased(run: CheckedRun, texts: dict[str, str]) -> CheckedRun:
    """The run with the edits that others have made."""
    if not any(path in texts for path in run.paths):
        return run
    first, facts = run.documents[0], run.facts
    if run.facts.relaunched is not None:
        launched = run.facts.relaunched(texts, None)
        keep_targeted(run.launch, launched.launch)
        first = launched.documents[0]
        facts = facts.started_by(launched).replace(gpus=launched.facts.gpus)
    else:
        first = reread_with(first, texts)
    others = reread_all(run.documents[1:], texts)
    return CheckedRun([first, *others], run.kinds, facts)


def sharing(aims: Sequence[Aimed], texts: dict[str, str]) -> list[list[Aimed]]:
    """The runs in groups that share a script or an edited file."""
    groups: list[tuple[set[str], list[Aimed]]] = []
    for aim in aims:
        line = aim.run.launch.line
        read = (*aim.run.paths, aim.run.read_for)  # the last one by the program of the run
        paths = {path for path in read if path in texts}
        if line is not None:
            paths.add(line.script_path)
        joined = [group for group in groups if group[0] & paths]
        groups = [group for group in groups if not group[0] & paths]
        groups.append((paths.union(*(group[0] for group in joined)), [*(each for group in joined for each in group[1]), aim]))
    return [group for _, group in groups]


def withhold(group: list[Aimed]) -> None:
    """Leave out the edits of a group of which one run does not reach the target."""
    missed = next((aim for aim in group if aim.missed), None)
    if missed is None:
        return
    for aim in group:
        if aim.texts and not aim.missed:
            aim.withheld = (
                f"{aim.run.written_at}: not changed, because {missed.run.written_at} shares its files and cannot be brought to this target"
            )
            aim.texts = {}


def verify(aims: Sequence[Aimed], groups: list[list[Aimed]], recheck: Recheck, texts: dict[str, str]) -> None:
    """Check the edited texts as `check` would: the target's numbers, and no new finding about them; else they are left out."""
    before, after = recheck({}), recheck(texts)
    for group in groups:
        if not any(aim.texts for aim in group):
            continue
        if not len(before) == len(after) == len(aims):
            wrong: str | None = "the edited files would start something else"
        else:
            places = [index for index, aim in enumerate(aims) if aim in group]
            wrong = next(filter(None, (contradiction(before[index], after[index], aims[index]) for index in places)), None)
        if wrong is not None:
            first = next(aim for aim in group if aim.texts)
            first.problem = f"{first.run.written_at}: not changed: {wrong}"
            first.texts = {}
            withhold(group)


def verify_others(groups: list[list[Aimed]], reading: Reading, texts: dict[str, str]) -> None:
    """Leave out edits with which a further run of the project that reads the file would not start any more; name such runs."""
    before, after = reading(texts, {}), reading(texts, texts)
    for place, run in enumerate(after):
        known = {diagnostic.identity for diagnostic in before[place].diagnostics} if len(before) == len(after) else set()
        errors = (diagnostic for diagnostic in run.diagnostics if diagnostic.severity == ERROR and diagnostic.identity not in known)
        new, line = next(errors, None), run.launch.line
        for path in texts:
            editing = [aim for group in groups for aim in group if path in aim.texts]
            if abspath(path) not in absolute(run.read_paths) or not editing:
                continue
            if new is None:
                if line is None or line.script_path != path:
                    editing[-1].read_by.setdefault(path, []).append(run.written_at)
                continue
            first = editing[0]
            reads = f"{run.written_at} reads {path}, too"
            first.problem = f"{first.run.written_at}: not changed: {reads}, and `check` would report {new.code}: {new.message}"
            first.texts = {}
            withhold(next(group for group in groups if first in group))


def contradiction(before: CheckedRun, after: CheckedRun, aim: Aimed) -> str | None:
    """What is wrong with an edited run; None if it has the target's numbers and nothing new to report about them."""
    retarget = aim.found
    chosen = retarget.solution.chosen if retarget is not None else None
    if retarget is None or chosen is None:
        return None
    gpus, batch = after.facts.gpus, after.resolved["global_batch"]
    if gpus not in (None, retarget.gpus):
        return f"the edited launch would start {gpus} processes"
    if batch not in (None, chosen.global_batch):
        return f"the edited files would resolve to a global batch of {batch}"
    known = {diagnostic.identity for diagnostic in before.diagnostics}
    new = [
        diagnostic
        for diagnostic in after.diagnostics
        if diagnostic.severity == ERROR or (diagnostic.severity == WARNING and diagnostic.about in OF_SIZES)
        if diagnostic.identity not in known
    ]
    return f"with the edit `check` would report {new[0].code}: {new[0].message}" if new else None
