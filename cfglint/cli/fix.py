"""`cfglint fix`: safe fixes, and the rewrite that reaches a target global batch size."""

from __future__ import annotations

import os
import sys
from collections import Counter

from cfglint.cli import options
from cfglint.cli.argument_parser import HIDDEN, Namespace, Parser
from cfglint.cli.asked_runs import runs_of
from cfglint.cli.console import bug_report, in_build_log, warn
from cfglint.cli.help_text import folded_lines
from cfglint.cli.progress import counted_on_terminal
from cfglint.findings.diagnostic import ERROR
from cfglint.findings.wording import counted, first_few, spelled
from cfglint.project.baseline import Baseline
from cfglint.project.selection import Selection
from cfglint.project.settings_file import Configuration
from cfglint.report import fixes
from cfglint.report.escapes import is_runner_command, shown
from cfglint.report.json import dumps
from cfglint.rewrite.apply_fixes import Skipped, apply_fixes, writes_of
from cfglint.rewrite.joint_targets import MOST_PLACES, Aimed, Target, reach, rebased
from cfglint.rewrite.value_change import ValueChange
from cfglint.run.checked import CheckedRun
from cfglint.run.paths import ScanStats, line_of
from cfglint.source import writing
from cfglint.source.annotations import Callable, Collection
from cfglint.source.files import FileProblem
from cfglint.source.root import is_inside, resolved
from cfglint.source.sections import every_document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.entries import FixRunEntry

Reason = tuple[str, str]  # the code of a finding, and why it was not fixed

STANDARD_INPUT = "-"
MOST_NAMED = 3  # files that are named if the same finding is not fixed in them; more are counted


def add_arguments(parser: Parser) -> None:
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files, or folders to walk (default: the declared runs, else .)")
    options.add_run_options(parser)
    parser.add_argument("--skip-unrecognized", action="store_true", topic=HIDDEN)  # the hooks pass it
    options.add_code_options(parser)
    options.add_target_options(parser)
    parser.add_argument("--unsafe-fixes", action="store_true", help="also apply fixes that change what the run computes")
    parser.add_argument("--diff", action="store_true", help="write nothing; print a unified diff")
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 if something would change")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.add_example("cfglint fix train.yaml", "apply the safe fixes")
    parser.add_example("cfglint fix train.yaml --gpus 8 --global-batch 256", "reach 256 samples per step")
    parser.add_example("cfglint fix . --diff", "show what would change")


class Work(Aimed):
    """The result for one run: the new contents of its files and how they were computed; `problem` is exit status 2."""

    changed: list[ValueChange] = []
    titles: list[tuple[str, str]] = []
    comments: list[tuple[str, str]] = []  # comments that were removed with a key: (file, comment)
    skipped: list[Skipped] = []
    unfixed: dict[str, None] = {}  # the errors that are left, and that no fix of the named files takes away: code and place
    repeated: bool = False  # whether the report of another run of the same launch line says all of it
    lines: list[str] = []  # how the target is reached, here and in the other runs of `places`
    places: dict[str, None] = {}

    @property
    def infeasible(self) -> bool:
        return self.found is not None and not self.found.feasible


def run(arguments: Namespace) -> int:
    """Fix, write, report; the exit status tells whether everything requested is done."""
    stats = ScanStats()
    target_gpus, arguments.gpus = arguments.gpus, None
    project = options.load_configuration(arguments)
    selection = options.selection_of(arguments, project)
    runs = [*counted_on_terminal(runs_of(arguments, project, stats), "runs checked")]
    if target_gpus or arguments.global_batch:
        works = hit_target(runs, arguments, project, target_gpus)
    else:
        works = [Work(each) for each in runs]
        texts: dict[str, str] = {}
        scope = FixScope(arguments.paths, selection, options.baseline_of(arguments, project))
        for work in works:
            attempt(work, lambda work: apply_to(work, arguments.unsafe_fixes, scope, texts))
            texts.update(work.texts)
    # The new content of a file belongs to the first run that changes it: the edits of a run include those of the runs before it.
    last = {path: text for work in works for path, text in work.texts.items()}
    for work in works:
        work.texts = {path: last.pop(path) for path in work.texts if path in last}
    writes_nothing = arguments.diff or arguments.check
    if STANDARD_INPUT in arguments.paths and arguments.format == "text" and not writes_nothing:
        report_alike_once(works)
        for work in works:
            document = work.run.documents[0]
            sys.stdout.write(work.texts.get(document.path, document.text))
            sys.stderr.write(as_text(work, arguments))
        return exit_status(works, stats, arguments)
    for work in works:
        if work.texts and not writes_nothing:
            write_run(work)
    if arguments.format == "json":
        sys.stdout.write(dumps({"runs": [entry_of(work) for work in works]}))
        return exit_status(works, stats, arguments)
    # What is reported as not fixed for another run of the same file is left out, and what is not fixed in many files counted.
    named: dict[tuple[str, str, str, int], None] = {}
    for work in works:
        work.skipped = [each for each in work.skipped if (each.code, each.reason, each.file, each.line) not in named]
        named.update({(each.code, each.reason, each.file, each.line): None for each in work.skipped})
    files = Counter((code, reason) for code, reason, _ in {each[:3] for each in named})
    often = Counter({reason: number for reason, number in files.items() if number > MOST_NAMED})
    report_alike_once(works)
    sys.stdout.write("".join(as_text(work, arguments, often, named=len(works) > 1) for work in works))
    counted_lines = [shown(f"{number} files: {code} not fixed: {reason}") + "\n" for (code, reason), number in often.most_common()]
    (sys.stderr if arguments.diff else sys.stdout).write("".join(folded_lines(counted_lines)))
    changed = len({path for work in works for path in work.texts})
    failed = sum(bool(work.problem or work.withheld or work.infeasible) for work in works)
    first = f"{counted(changed, 'file')} {'would change' if writes_nothing else 'changed'}" if changed or failed else "nothing to fix"
    first += f" ({counted(len(works), 'run')} checked{f', {failed} could not be fixed' if failed else ''})"
    unfixed = list(dict.fromkeys(error for work in works for error in work.unfixed))
    places = shown(first_few(unfixed, MOST_NAMED))
    left = [f"{counted(len(unfixed), 'error')} left ({places}): `cfglint check` says what to do"] if unfixed else []
    warn("; ".join([first if works else "no training configs found", *left, *options.skipped_files(stats)]))
    return exit_status(works, stats, arguments)


def exit_status(works: list[Work], stats: ScanStats, arguments: Namespace) -> int:
    if options.report_unchecked(stats, arguments.skip_unrecognized) or any(work.problem for work in works):
        return 2
    if any(work.infeasible or work.withheld for work in works):
        return 1
    return 1 if arguments.check and any(work.texts for work in works) else 0


def attempt(work: Work, step: Callable[[Work], None]) -> None:
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


# ---- a target


def hit_target(runs: list[CheckedRun], arguments: Namespace, project: Configuration, gpus: int | None) -> list[Work]:
    """Change what the target needs in the files of all runs."""

    def recheck(texts: dict[str, str]) -> list[CheckedRun]:
        arguments.gpus = gpus
        try:
            return [*runs_of(arguments, project, ScanStats(), texts)]
        finally:
            arguments.gpus = None

    known = {os.path.normpath(run.written_at) for run in runs}
    plain = Namespace()
    vars(plain).update(vars(arguments), run=False)

    def read_by(paths: Collection[str], texts: dict[str, str]) -> list[CheckedRun]:
        """The further runs of the project that read some files, with new contents, as `check` finds them without options."""
        plain.paths = [*paths]
        return [run for run in runs_of(plain, project, ScanStats(), texts) if os.path.normpath(run.written_at) not in known]

    decides_how_files_are_read = arguments.kind or arguments.section or arguments.args or STANDARD_INPUT in arguments.paths
    works = [Work(each) for each in runs]
    target = Target(gpus, arguments.global_batch, arguments.max_micro_batch, lasting=not arguments.diff)
    reach(works, target, recheck, None if decides_how_files_are_read else read_by, arguments.paths)
    for work in works:
        attempt(work, finish)
        if work.run.read_for is not None and work.texts:
            warn(f"{work.run.read_for}: in the run of {work.run.written_at}")
        for path, places in work.read_by.items():
            warn(f"{path} is read by other runs, too: {first_few(places, MOST_PLACES)}")
    return works


def finish(work: Work) -> None:
    """Note what changes in a run that reaches the target, or the values that have to be set outside its files for it."""
    if work.bug is not None:
        raise work.bug
    found = work.found
    work.changed = found.changed if found is not None and work.texts else []
    if found is None or not found.needs or work.problem:
        return
    split = found.solution.chosen
    assert split is not None
    keys = " x ".join(f"`{need.key}`" for need in found.needs)
    numbers = " x ".join(str(need.value) for need in found.needs)
    by_hand = "".join(
        f"; set `{change.key.rpartition('/')[2]}` to {spelled(change.after)} in {change.file} as well" for change in found.by_hand
    )
    work.problem = (
        f"{work.run.written_at}: the batch sizes are filled by the trainer: set {keys} = {split.micro_batch * split.accumulation} "
        f"in its arguments (e.g. {numbers}; global batch {split.global_batch} = {numbers} x {split.data_parallel} data parallel){by_hand}"
    )


# ---- fixes


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
        path = resolved(path)
        return any(path == each or is_inside(path, each) for each in self.named)


def apply_to(work: Work, unsafe: bool, scope: FixScope, texts: dict[str, str]) -> None:
    """Apply the fixes of one run on top of those that other runs have made to its files, if all of its files parse."""
    run = work.run
    for document in run.documents if not run.is_unreadable_template else ():
        if document.problems and document.text.strip() and (not run.is_of_reader or scope.holds(document.path)):
            work.problem = f"{document.path}: does not parse, so it was not changed; `cfglint check` reports why"
            return
    done = apply_fixes(rebased(run, texts), unsafe, lambda current: scope.limit(current, run.is_of_reader))
    work.texts, work.changed, work.titles, work.skipped = done.texts, done.changed, done.titles, done.skipped
    work.comments = done.comments
    left = [each for each in done.run.diagnostics if each.severity == ERROR and each.fix is None and not each.suppressed]
    work.unfixed = {f"{each.code} at {each.place.file}:{each.place.line}": None for each in left}
    for config in done.run.configs if not run.is_of_reader else ():
        for document, problem in config.load_problems:
            if not problem.only_here and work.problem is None:
                work.problem = f"{document.path}: cannot be loaded, and no fix changes that: {problem.message}"


def write_run(work: Work) -> None:
    """Write the new contents of a run's files: all, or none if one of them has changed since it was read."""
    edits = writes_of(every_document(work.run.documents), work.texts)
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


# ---- the report


def entry_of(work: Work) -> FixRunEntry:
    """The JSON of a run; its nodes are those of the target, if there is one."""
    retarget = work.found
    after = retarget.layout.after if retarget else None
    entry: FixRunEntry = {
        "files": [document.path for document in work.run.documents],
        "kinds": work.run.kinds,
        "gpus": retarget.gpus if retarget else work.run.facts.gpus,
        "nodes": (after.nodes if after is not None else None) if retarget else work.run.outcome().entry()["nodes"],
        "changed": [fixes.change_entry(change) for change in work.changed],
        "skipped": [{"code": each.code, "file": each.file, "reason": each.reason} for each in work.skipped],
        "removed_comments": [{"file": file, "comment": comment} for file, comment in work.comments],
        "plan": fixes.plan_entry(retarget) if retarget else None,
        "alternatives": retarget.alternatives if retarget else None,
        "needs": ([{"key": need.key, "value": need.value} for need in retarget.needs] or None) if retarget else None,
    }
    problem = work.problem or work.withheld
    if problem:
        entry["problem"] = problem
    return entry


def report_alike_once(works: list[Work]) -> None:
    """Report once what several runs have in common: a target that they reach alike, with their places; the problem of a loop."""
    said: set[str] = set()
    alike: dict[tuple[str, ...], Work] = {}
    for work in works:
        about = work.problem or work.withheld
        if about:
            work.repeated = about in said and not work.changed
            said.add(about)
        elif work.found is not None:
            lines = fixes.target_lines(work.found)
            rest = tuple(line for line in lines if not line.startswith(fixes.DETAIL))
            first = alike.setdefault(rest, work)
            first.places[shown(work.run.written_at)] = None
            details = dict.fromkeys(line for line in (*first.lines, *lines) if line.startswith(fixes.DETAIL))
            at = next((index for index, line in enumerate(lines) if line.startswith(fixes.DETAIL)), 0)
            first.lines = [*rest[:at], *details, *rest[at:]]


def as_text(work: Work, arguments: Namespace, often: Collection[Reason] = (), named: bool = False) -> str:
    """What changed, without the skipped fixes listed `often`; `named`: with the file, of several runs; --diff gives a diff alone."""
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
        if (each.code, each.reason) not in often:
            explained += shown(f"{each.file}:{each.line}: {each.code} not fixed: {each.reason}") + "\n"
    if arguments.diff and not work.infeasible:
        sys.stderr.write(explained)
        diff = fixes.diff_lines(every_document(work.run.documents), work.texts)
        # Escaped on a terminal, unchanged in a file or a pipe. In a CI log, which is a pipe, too, a line that the runner would execute
        # as a command is escaped; such a patch cannot be applied.
        all_lines, commands = sys.stdout.isatty(), in_build_log()
        is_escaped = [all_lines or (commands and is_runner_command(line)) for line in diff]
        return "".join(f"{shown(line[:-1])}\n" if escaped else line for line, escaped in zip(diff, is_escaped, strict=True))
    if work.titles:
        return "".join(f"{shown(f'{file}: {title}')}\n" for file, title in work.titles) + explained
    return "".join(map(fixes.change_line, work.changed)) + explained
