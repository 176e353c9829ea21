"""`cfglint fix`: safe fixes, and the rewrite that reaches a target global batch size."""

from __future__ import annotations

import os
import sys

from cfglint.cli.argument_parser import Namespace, Parser
from cfglint.cli.console import bug_report, fail, in_build_log, warn
from cfglint.cli.help_text import folded_lines
from cfglint.cli.options import (
    UsageError,
    add_code_options,
    add_run_options,
    add_skip_option,
    baseline_of,
    load_configuration,
    positive,
    report_unchecked,
    runs_of,
    selection_of,
    skipped_files,
)
from cfglint.cli.progress import counted_on_terminal
from cfglint.findings.wording import counted, first_few, spelled
from cfglint.project.settings_file import Configuration
from cfglint.report import fixes
from cfglint.report.escapes import MARKS, shown, without_runner_command
from cfglint.rewrite.apply_fixes import Skipped, apply_fixes
from cfglint.rewrite.joint_targets import MOST_PLACES, Aimed, Reading, Target, reach, rebased
from cfglint.rewrite.retarget import Retarget
from cfglint.rewrite.value_change import ValueChange
from cfglint.rewrite.write_texts import edited
from cfglint.run.checked import CheckedRun
from cfglint.run.paths import UnknownKindError, line_of
from cfglint.run.scan_stats import ScanStats
from cfglint.source import writing
from cfglint.source.annotations import Callable, Collection
from cfglint.source.document import Document
from cfglint.source.files import FileProblem
from cfglint.source.record import Record
from cfglint.source.root import is_inside, resolved
from cfglint.source.sections import every_document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import Counter

    from cfglint.findings.entries import FixRunEntry
    from cfglint.project.baseline import Baseline
    from cfglint.project.selection import Selection

Reason = tuple[str, str]  # the code of a finding, and why it was not fixed


def add_arguments(parser: Parser) -> None:
    """The options of `fix`."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files, or folders to walk (default: the declared runs, else .)")
    add_run_options(parser)
    add_skip_option(parser)
    add_code_options(parser)
    parser.add_argument("--global-batch", type=positive, metavar="G", help="global batch size to reach (default: the current one)")
    parser.add_argument("--from-gpus", type=positive, metavar="N", help="current GPU count, if the files leave it open")
    parser.add_argument("--max-micro-batch", type=positive, metavar="M", help="largest micro batch size (default: the current one)")
    parser.add_argument("--unsafe-fixes", action="store_true", help="also apply fixes that change what the run computes")
    parser.add_argument("--diff", action="store_true", help="write nothing; print a unified diff")
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 if something would change")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.hide("--skip-unrecognized")  # the hooks pass it
    parser.add_example("cfglint fix train.yaml", "apply the safe fixes")
    parser.add_example("cfglint fix train.yaml --gpus 8 --global-batch 256", "reach 256 samples per step")
    parser.add_example("cfglint fix . --diff", "show what would change")


STANDARD_INPUT = "-"
MOST_NAMED = 3  # files that are named if the same finding is not fixed in them; more are counted


class Work(Record):
    """The result for one run: the new contents of its files and how they were computed."""

    run: CheckedRun
    texts: dict[str, str] = {}
    changed: list[ValueChange] = []
    retarget: Retarget | None = None
    titles: list[tuple[str, str]] = []
    comments: list[tuple[str, str]] = []  # comments that were removed with a key: (file, comment)
    skipped: list[Skipped] = []
    problem: str | None = None  # why the job could not be done: exit status 2
    repeated: bool = False  # whether the report of another run of the same launch line says all of it
    lines: list[str] = []  # how the target is reached, here and in the other runs of `places`
    places: dict[str, None] = {}
    withheld: str | None = None  # why edits are left out that another run of the same files does not allow

    @property
    def infeasible(self) -> bool:
        """Whether the target cannot be reached."""
        return self.retarget is not None and not self.retarget.feasible

    @property
    def needs(self) -> bool:
        """Whether a value has to be set outside these files for the target to be reached."""
        return self.retarget is not None and bool(self.retarget.needs)


def run(arguments: Namespace) -> int:
    """Fix, write, report; the exit status tells whether everything requested is done."""
    stats = ScanStats()
    target_gpus, arguments.gpus = arguments.gpus, None
    try:
        project = load_configuration(arguments)
        selection = selection_of(arguments, project)
        has_target = bool(target_gpus or arguments.global_batch)
        runs = [each for _, each in counted_on_terminal(runs_of(arguments, project, stats), "runs checked")]
        if has_target:
            works = _hit_target(runs, arguments, project, target_gpus)
        else:
            works = [Work(each) for each in runs]
            texts: dict[str, str] = {}
            scope = FixScope(arguments.paths, selection, baseline_of(arguments, project))
            for work in works:
                _attempt(work, lambda work: _apply_fixes(work, arguments.unsafe_fixes, scope, texts))
                texts.update(work.texts)
        _write_each_file_once(works)
    except (UsageError, UnknownKindError) as error:
        return fail(str(error))
    if STANDARD_INPUT in arguments.paths and arguments.format == "text" and not arguments.diff and not arguments.check:
        return _print_fixed(works, stats, arguments)
    _write(works, arguments)
    if arguments.format == "json":
        from cfglint.report.json import dumps

        sys.stdout.write(dumps({"runs": [_entry(work) for work in works]}))
    else:
        _name_skipped_once(works)
        often = _not_fixed_often(works)
        _report_alike_once(works)
        sys.stdout.write("".join(_as_text(work, arguments, often, named=len(works) > 1) for work in works))
        (sys.stderr if arguments.diff else sys.stdout).write("".join(folded_lines([*_counted_lines(often)])))
        warn(_summary(works, stats, arguments))
    return _status(works, stats, arguments)


def _attempt(work: Work, step: Callable[[Work], None]) -> None:
    """Do something for one run; a bug in cfglint becomes the problem of this run, so that other runs are still fixed."""
    try:
        step(work)
        if work.run.bug_reports:
            work.problem = "\n".join(work.run.bug_reports)
    except MemoryError:
        raise
    except Exception as error:
        work.problem = f"{work.run.documents[0].path}: {bug_report(error)}"
        work.texts, work.changed, work.titles = {}, [], []


def _name_skipped_once(works: list[Work]) -> None:
    """Leave out fixes that were not applied and are already reported for another run with the same file."""
    named: set[tuple[str, str, str]] = set()
    for work in works:
        work.skipped = [each for each in work.skipped if (each.code, each.file, each.reason) not in named]
        named.update((each.code, each.file, each.reason) for each in work.skipped)


def _report_alike_once(works: list[Work]) -> None:
    """Report once what several runs have in common: a target that they reach alike, with their places; the problem of a loop."""
    said: set[str] = set()
    alike: dict[tuple[str, ...], Work] = {}
    for work in works:
        about = work.problem or work.withheld
        if about:
            work.repeated = about in said and not work.changed
            said.add(about)
        elif work.retarget is not None:
            lines = fixes.target_lines(work.retarget)
            first = alike.setdefault(tuple(line for line in lines if not line.startswith(fixes.DETAIL)), work)
            first.places[shown(work.run.written_at)] = None
            first.lines = fixes.with_details_of(lines, first.lines)


def _print_fixed(works: list[Work], stats: ScanStats, arguments: Namespace) -> int:
    """Print the fixed content of standard input; the report goes to standard error."""
    _report_alike_once(works)
    for work in works:
        document = work.run.documents[0]
        sys.stdout.write(work.texts.get(document.path, document.text))
        sys.stderr.write(_as_text(work, arguments))
    return _status(works, stats, arguments)


def _hit_target(found: list[CheckedRun], arguments: Namespace, project: Configuration, gpus: int | None) -> list[Work]:
    """Change what the target needs in the files of all runs."""

    def recheck(texts: dict[str, str]) -> list[CheckedRun]:
        arguments.gpus = gpus
        try:
            return [each for _, each in runs_of(arguments, project, ScanStats(), texts)]
        finally:
            arguments.gpus = None

    works = [Work(each) for each in found]
    target = Target(gpus, arguments.global_batch, arguments.max_micro_batch, lasting=not arguments.diff)
    for work, aim in zip(works, reach(found, target, recheck, _reading(arguments, project, found), arguments.paths), strict=True):
        _attempt(work, lambda work, aim=aim: _take(work, aim))  # type: ignore[misc]
        if work.run.read_for is not None and work.texts:
            warn(f"{work.run.read_for}: in the run of {work.run.written_at}")
        for path, places in aim.read_by.items():
            warn(f"{path} is read by other runs, too: {first_few(places, MOST_PLACES)}")
    return works


def _reading(arguments: Namespace, project: Configuration, runs: list[CheckedRun]) -> Reading | None:
    """What finds the further runs of the project that read some files, with new contents, as `check` does without options; None if an
    option decides how files are read.
    """
    if arguments.kind or arguments.section or arguments.args or STANDARD_INPUT in arguments.paths:
        return None
    known = {os.path.normpath(run.written_at) for run in runs}
    plain = Namespace()
    vars(plain).update(vars(arguments), run=False)

    def reading(paths: Collection[str], texts: dict[str, str]) -> list[CheckedRun]:
        plain.paths = [*paths]
        found = runs_of(plain, project, ScanStats(), texts)
        return [each for _, each in found if os.path.normpath(each.written_at) not in known]

    return reading


def _take(work: Work, aim: Aimed) -> None:
    """Take over how a run reaches the target."""
    if aim.bug is not None:
        raise aim.bug
    work.retarget, work.problem, work.withheld, work.texts = aim.found, aim.problem, aim.withheld, aim.texts
    work.changed = aim.found.changed if aim.found is not None and aim.texts else []
    if aim.found is not None and aim.found.needs and not work.problem:
        work.problem = f"{aim.place}: {_needed(aim.found)}"


def _needed(found: Retarget) -> str:
    """The values that have to be set outside these files, with an example."""
    split = found.solution.chosen
    assert split is not None
    keys = " x ".join(f"`{need.key}`" for need in found.needs)
    numbers = " x ".join(str(need.value) for need in found.needs)
    by_hand = "".join(
        f"; set `{change.key.rpartition('/')[2]}` to {spelled(change.after)} in {change.file} as well" for change in found.by_hand
    )
    return (
        f"the batch sizes are filled by the trainer: set {keys} = {split.micro_batch * split.accumulation} in its arguments "
        f"(e.g. {numbers}; global batch {split.global_batch} = {numbers} x {split.data_parallel} data parallel){by_hand}"
    )


class FixScope:
    """Which findings are fixed: those that are neither suppressed nor accepted, in the files that are named."""

    def __init__(self, paths: list[str], selection: Selection, accepted: Baseline | None) -> None:
        self.selection = selection
        self.accepted = accepted
        self.named = [resolved(line_of(path)[0]) for path in paths]

    def limit(self, run: CheckedRun, named_only: bool) -> None:
        """Mark the findings of a run that are suppressed; `named_only`: drop the fixes that edit a file that is not named."""
        self.selection.suppress(run.diagnostics)
        if self.accepted is not None:
            self.accepted.suppress(run.diagnostics)
        for diagnostic in run.diagnostics if named_only else ():
            if diagnostic.fix is not None and not all(self.holds(edit.file) for edit in diagnostic.fix.edits):
                diagnostic.fix = None

    def holds(self, path: str) -> bool:
        """Whether a file is named, or is in a named folder."""
        path = resolved(path)
        return any(path == each or is_inside(path, each) for each in self.named)


def _apply_fixes(work: Work, unsafe: bool, scope: FixScope, texts: dict[str, str]) -> None:
    """Apply the fixes of one run on top of those that other runs have made to its files."""
    run = work.run
    unreadable = _unreadable([document for document in run.documents if not run.is_of_reader or scope.holds(document.path)], run)
    if unreadable:
        work.problem = unreadable
        return
    done = apply_fixes(rebased(run, texts), unsafe, lambda current: scope.limit(current, run.is_of_reader))
    work.texts, work.changed, work.titles, work.skipped = done.texts, done.changed, done.titles, done.skipped
    work.comments = done.comments
    refused = None if run.is_of_reader else _refused(done.run)
    if refused:
        work.problem = refused


def _unreadable(documents: list[Document], run: CheckedRun) -> str | None:
    """Why files of a run cannot be fixed: one does not parse, and no fix changes that."""
    if run.is_unreadable_template:
        return None
    for document in documents:
        if document.problems and document.text.strip():
            return f"{document.path}: does not parse, so it was not changed; `cfglint check` reports why"
    return None


def _refused(run: CheckedRun) -> str | None:
    """Why a parser still refuses a file after the fixes."""
    for config in run.configs:
        for document, problem in config.load_problems:
            if not problem.only_here:
                return f"{document.path}: cannot be loaded, and no fix changes that: {problem.message}"
    return None


def _write_each_file_once(works: list[Work]) -> None:
    """Give the new content of a file to the first run that changes it: the edits of a run include those of the runs before it."""
    last = {path: text for work in works for path, text in work.texts.items()}
    for work in works:
        work.texts = {path: last.pop(path) for path in work.texts if path in last}


def _write(works: list[Work], arguments: Namespace) -> None:
    """Write the new contents, unless only a report is asked for."""
    if arguments.diff or arguments.check:
        return
    for work in works:
        if work.texts:
            _write_run(work)


def _write_run(work: Work) -> None:
    """Write the new contents of a run's files: all, or none if one of them has changed since it was read."""
    edits = edited(every_document(work.run.documents), work.texts)
    try:
        writing.write_all(edits)
    except FileProblem as error:
        work.problem = str(error)
        work.titles = [(file, title) for file, title in work.titles if file in work.texts]
        others = [edit.path for edit in edits if edit.path != error.path and not edit.written]
        if others:
            work.problem += f" (of the same run, and not written either: {', '.join(others)})"
        work.texts = {edit.path: work.texts[edit.path] for edit in edits if edit.written}
        work.changed = [change for change in work.changed if change.file in work.texts]
        return
    for edit in edits:
        if edit.note:
            warn(edit.note)


def _status(works: list[Work], stats: ScanStats, arguments: Namespace) -> int:
    if report_unchecked(stats, arguments.skip_unrecognized) or any(work.problem or work.run.incomplete_script for work in works):
        return 2
    if any(work.infeasible or work.withheld for work in works):
        return 1
    return 1 if arguments.check and any(work.texts for work in works) else 0


def _nodes(work: Work) -> int | None:
    """The nodes of a target, else those of the run."""
    if work.retarget is None:
        return work.run.outcome().entry()["nodes"]
    after = work.retarget.layout.after
    return after.nodes if after is not None else None


def _entry(work: Work) -> FixRunEntry:
    entry: FixRunEntry = {
        "files": [document.path for document in work.run.documents],
        "kinds": work.run.kinds,
        "gpus": work.retarget.gpus if work.retarget else work.run.facts.gpus,
        "nodes": _nodes(work),
        "changed": [fixes.change_entry(change) for change in work.changed],
        "skipped": [{"code": each.code, "file": each.file, "reason": each.reason} for each in work.skipped],
        "removed_comments": [{"file": file, "comment": comment} for file, comment in work.comments],
        "plan": fixes.plan_entry(work.retarget) if work.retarget else None,
        "alternatives": fixes.alternatives_entry(work.retarget) if work.retarget else None,
        "needs": ([fixes.need_entry(each) for each in work.retarget.needs] or None) if work.retarget else None,
    }
    problem = work.problem or work.withheld
    if problem:
        entry["problem"] = problem
    return entry


def _not_fixed_often(works: list[Work]) -> Counter[Reason]:
    """(code, reason) of what is not fixed in more files than are named, with the number of files."""
    from collections import Counter

    files = Counter((code, reason) for code, reason, _ in {(each.code, each.reason, each.file) for work in works for each in work.skipped})
    return Counter({reason: number for reason, number in files.items() if number > MOST_NAMED})


def _counted_lines(often: Counter[Reason]) -> list[str]:
    """The lines about fixes that were not applied in many files."""
    return [shown(f"{number} files: {code} not fixed: {reason}") + "\n" for (code, reason), number in often.most_common()]


def _as_text(work: Work, arguments: Namespace, often: Collection[Reason] = (), named: bool = False) -> str:
    """The changes and their consequences, without the unapplied fixes listed in `often`; with --diff only the diff, which can be piped.

    `named`: the lines about the target begin with the file, because there are several runs.
    """
    if work.repeated:
        return ""
    if work.problem or work.withheld:
        warn(work.problem or work.withheld or "")
        if not work.changed and not work.skipped:
            return ""
    lines = work.lines
    if lines and named:
        lines[0] = f"{first_few([*work.places])}: {lines[0]}"
    explained = "".join(folded_lines(lines))
    for each in work.skipped:
        if (each.code, each.reason) in often:
            continue
        explained += shown(f"{each.file}: {each.code} not fixed: {each.reason}") + "\n"
    if arguments.diff and not work.infeasible:
        sys.stderr.write(explained)
        return "".join(map(_printed, fixes.diff_lines(every_document(work.run.documents), work.texts)))
    if work.titles:
        lines = [f"{shown(f'{file}: {title}')}\n" for file, title in work.titles]
    else:
        lines = [fixes.change_line(change) for change in work.changed]
    return "".join(lines) + explained


def _printed(line: str) -> str:
    """A line of a diff: escaped on a terminal, unchanged in a file or a pipe.

    In a CI log, which is a pipe, too, a line that the runner would execute as a command is escaped;
    such a patch cannot be applied.
    """
    text = shown(line[:-1])
    if sys.stdout.isatty() or (in_build_log() and (without_runner_command(line) != line or any(mark in line for mark in MARKS))):
        return f"{text}\n"
    return line


def _summary(works: list[Work], stats: ScanStats, arguments: Namespace) -> str:
    changed = len({path for work in works for path in work.texts})
    verb = "would change" if arguments.diff or arguments.check else "changed"
    checked = counted(len(works), "run")
    first = f"{counted(changed, 'file')} {verb} ({checked} checked)" if changed else f"nothing to fix ({checked} checked)"
    failed = sum(bool(work.problem or work.withheld or work.infeasible) for work in works)
    if not works:
        first = "no training configs found"
    if failed:
        first = f"{counted(changed, 'file')} {verb} ({checked} checked, {failed} could not be fixed)"
    return "; ".join([first, *skipped_files(stats)])
