"""`cfglint fix`: safe fixes, and the rewrite that reaches a target global batch size."""

from __future__ import annotations

import sys

from cfglint.cli.console import bug_report, fail, warn
from cfglint.cli.options import (
    UsageError,
    add_code_options,
    add_run_options,
    add_skip_option,
    load_configuration,
    positive,
    report_unchecked,
    runs_of,
    selection_of,
    skipped_files,
)
from cfglint.cli.progress import counted_on_terminal
from cfglint.cli.terminal import in_build_log
from cfglint.findings.wording import counted
from cfglint.report import fixes
from cfglint.report.escapes import MARKS, shown, without_runner_command
from cfglint.rewrite.apply_fixes import Skipped, apply_fixes
from cfglint.rewrite.retarget import MissingFactError, Retarget, is_recorded, retarget
from cfglint.rewrite.write_texts import edited
from cfglint.run.discovery_errors import UnknownKindError
from cfglint.run.scan_stats import ScanStats
from cfglint.source import writing
from cfglint.source.change import EditRefused
from cfglint.source.files import FileProblem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Collection

    from cfglint.cli.argument_parser import Namespace, Parser
    from cfglint.findings.entries import FixRunEntry
    from cfglint.project.selection import Selection
    from cfglint.rewrite.value_change import ValueChange
    from cfglint.run.checked import CheckedRun

    Reason = tuple[str, str]  # the code of a finding, and why it was not fixed


def add_arguments(parser: Parser) -> None:
    """The options of `fix`."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files, or folders to walk (default: the declared runs, else .)")
    add_run_options(parser)
    add_skip_option(parser)
    add_code_options(parser)
    parser.add_argument("--global-batch", type=positive, metavar="G", help="the global batch size to reach (default: the current one)")
    parser.add_argument("--from-gpus", type=positive, metavar="N", help="the current GPU count, if the files do not specify it")
    parser.add_argument(
        "--max-micro-batch", type=positive, metavar="M", help="the largest allowed micro batch size (default: the current one)"
    )
    parser.add_argument("--unsafe-fixes", action="store_true", help="also apply fixes that change what the run computes")
    parser.add_argument("--diff", action="store_true", help="print a unified diff and write nothing")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with status 1 if something would change")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.add_example("cfglint fix train.yaml", "apply the safe fixes")
    parser.add_example("cfglint fix train.yaml --gpus 8 --global-batch 256", "edit the batch keys: 256 samples per step on 8 GPUs")
    parser.add_example("cfglint fix . --diff", "show what would change, and write nothing")


STANDARD_INPUT = "-"
MOST_NAMED = 3  # files that are named if the same finding is not fixed in them; more are counted


class Work:
    """The result for one run: the new contents of its files and how they were computed."""

    def __init__(self, run: CheckedRun) -> None:
        self.run = run
        self.texts: dict[str, str] = {}
        self.changed: list[ValueChange] = []
        self.retarget: Retarget | None = None
        self.titles: list[tuple[str, str]] = []
        self.comments: list[tuple[str, str]] = []  # comments that were removed with a key: (file, comment)
        self.skipped: list[Skipped] = []
        self.problem: str | None = None  # why the job could not be done: exit status 2

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
    works: list[Work] = []
    try:
        project = load_configuration(arguments)
        selection = selection_of(arguments, project)
        for _, each in counted_on_terminal(runs_of(arguments, project, stats), "runs checked"):
            works.append(_worked_on(Work(each), arguments, target_gpus, selection))
    except (UsageError, UnknownKindError) as error:
        return fail(str(error))
    if STANDARD_INPUT in arguments.paths and arguments.format == "text" and not arguments.diff and not arguments.check:
        return _print_fixed(works, stats, arguments)
    _write(works, arguments)
    if arguments.format == "json":
        sys.stdout.write(_as_json(works))
    else:
        _name_skipped_once(works)
        often = _not_fixed_often(works)
        sys.stdout.write("".join(_as_text(work, arguments, often) for work in works))
        (sys.stderr if arguments.diff else sys.stdout).write("".join(_counted_lines(often)))
        warn(_summary(works, stats, arguments))
    return _status(works, stats, arguments)


def _worked_on(work: Work, arguments: Namespace, gpus: int | None, selection: Selection) -> Work:
    """Fix one run; a bug in cfglint becomes the problem of this run, so that other runs are still fixed."""
    asked = bool(gpus or arguments.global_batch)
    try:
        if not asked or not _hit_target(work, arguments, gpus):
            _apply_fixes(work, arguments.unsafe_fixes, selection)
        if work.run.bug_reports:
            work.problem = "\n".join(work.run.bug_reports)
    except MemoryError:
        raise
    except Exception as error:
        work.problem = f"{work.run.documents[0].path}: {bug_report(error)}"
        work.texts, work.changed, work.titles = {}, [], []
    return work


def _name_skipped_once(works: list[Work]) -> None:
    """Leave out fixes that were not applied and are already reported for another run with the same file."""
    named: set[tuple[str, str, str]] = set()
    for work in works:
        work.skipped = [each for each in work.skipped if (each.code, each.file, each.reason) not in named]
        named.update((each.code, each.file, each.reason) for each in work.skipped)


def _print_fixed(works: list[Work], stats: ScanStats, arguments: Namespace) -> int:
    """Print the fixed content of standard input; the report goes to standard error."""
    for work in works:
        document = work.run.documents[0]
        sys.stdout.write(work.texts.get(document.path, document.text))
        sys.stderr.write(_as_text(work, arguments))
    return _status(works, stats, arguments)


def _hit_target(work: Work, arguments: Namespace, gpus: int | None) -> bool:
    """Change the batch keys to reach the target; return False if it cannot be computed."""
    run = work.run
    unread = next((document for document in run.documents if document.problems), None)
    if unread is not None:
        work.problem = f"{unread.path}: does not parse, so it was not changed; `cfglint check` reports why"
        return False
    try:
        found = retarget(run, run.facts, gpus, arguments.global_batch, arguments.max_micro_batch)
    except MissingFactError as error:
        work.problem = f"{run.documents[0].path}: {error.for_command_line}"
        return False
    except EditRefused as error:
        work.problem = f"{run.documents[0].path}: {error}"
        return False
    if found.texts and not (arguments.global_batch or arguments.diff or is_recorded(run, found.gpus)):
        work.problem = (
            f"{run.documents[0].path}: these files do not record the GPU count that they are written for, so a second fix would "
            f"change them again: pass --global-batch {found.solution.problem.global_batch} (the current one) to reach it"
        )
        return True
    work.retarget, work.texts, work.changed = found, found.texts, found.changed
    if found.needs:
        work.problem = f"{run.documents[0].path}: {_needed(found)}"
    return True


def _needed(found: Retarget) -> str:
    """The values that have to be set outside these files, with an example."""
    split = found.solution.chosen
    assert split is not None
    keys = " x ".join(f"`{need.key}`" for need in found.needs)
    numbers = " x ".join(str(need.value) for need in found.needs)
    who = f"filled by the trainer: set {keys}"
    if found.run.configs[0].kind == "accelerate" and found.run.kinds[0] == "launch":
        who = "the program's own: set micro batch x accumulation"
    return (
        f"the batch sizes are {who} = {split.micro_batch * split.accumulation} in its arguments "
        f"(e.g. {numbers}; global batch {split.global_batch} = {numbers} x {split.data_parallel} data parallel)"
    )


def _apply_fixes(work: Work, unsafe: bool, selection: Selection) -> None:
    done = apply_fixes(work.run, unsafe, lambda run: selection.suppress(run.diagnostics))
    work.texts, work.changed, work.titles, work.skipped = done.texts, done.changed, done.titles, done.skipped
    work.comments = done.comments


def _write(works: list[Work], arguments: Namespace) -> None:
    if arguments.diff or arguments.check:
        return
    written: dict[str, str] = {}
    for work in works:
        if any(written.get(path, text) != text for path, text in work.texts.items()):
            work.problem = f"{work.run.documents[0].path}: another launch of this script was changed; run the command again for this one"
            work.texts, work.changed = {}, []
            continue
        work.texts = {path: text for path, text in work.texts.items() if path not in written}
        if work.texts:
            _write_run(work)
            written.update(work.texts)


def _write_run(work: Work) -> None:
    """Write the new contents of a run's files: all, or none if one of them has changed since it was read."""
    edits = edited(work.run.documents, work.texts)
    try:
        writing.write_all(edits)
    except FileProblem as error:
        work.problem = str(error)
        work.titles = [(file, title) for file, title in work.titles if file in work.texts]
        others = [each.path for each in edits if each.path != error.path and not each.written]
        if others:
            work.problem += f" (of the same run, and not written either: {', '.join(others)})"
        work.texts = {each.path: work.texts[each.path] for each in edits if each.written}
        work.changed = [each for each in work.changed if each.file in work.texts]
        return
    for each in edits:
        if each.note:
            warn(each.note)


def _status(works: list[Work], stats: ScanStats, arguments: Namespace) -> int:
    if report_unchecked(stats, arguments.skip_unrecognized) or any(work.problem for work in works):
        return 2
    if any(work.infeasible for work in works):
        return 1
    return 1 if arguments.check and any(work.texts for work in works) else 0


def _as_json(works: list[Work]) -> str:
    from cfglint.report.json import dumps

    return dumps({"runs": [_entry(work) for work in works]})


def _entry(work: Work) -> FixRunEntry:
    entry: FixRunEntry = {
        "files": [document.path for document in work.run.documents],
        "kinds": work.run.kinds,
        "gpus": work.retarget.gpus if work.retarget else work.run.facts.gpus,
        "changed": [fixes.change_entry(each) for each in work.changed],
        "skipped": [{"code": each.code, "file": each.file, "reason": each.reason} for each in work.skipped],
        "removed_comments": [{"file": file, "comment": comment} for file, comment in work.comments],
        "plan": fixes.plan_entry(work.retarget) if work.retarget else None,
        "alternatives": fixes.alternatives_entry(work.retarget) if work.retarget else None,
        "needs": ([fixes.need_entry(each) for each in work.retarget.needs] or None) if work.retarget else None,
    }
    if work.problem:
        entry["problem"] = work.problem
    return entry


def _not_fixed_often(works: list[Work]) -> Counter[Reason]:
    """(code, reason) of what is not fixed in more files than are named, with the number of files."""
    from collections import Counter

    files = Counter((code, reason) for code, reason, _ in {(each.code, each.reason, each.file) for work in works for each in work.skipped})
    return Counter({reason: number for reason, number in files.items() if number > MOST_NAMED})


def _counted_lines(often: Counter[Reason]) -> list[str]:
    """The lines about fixes that were not applied in many files."""
    return [shown(f"{number} files: {code} not fixed: {reason}") + "\n" for (code, reason), number in often.most_common()]


def _as_text(work: Work, arguments: Namespace, often: Collection[Reason] = ()) -> str:
    """The changes and their consequences, without the unapplied fixes listed in `often`; with --diff only the diff, which can be piped."""
    if work.problem:
        warn(work.problem)
        if not work.changed and not work.skipped:
            return ""
    explained = "".join(fixes.target_lines(work.retarget)) if work.retarget and not work.needs else ""
    for each in work.skipped:
        if (each.code, each.reason) in often:
            continue
        explained += shown(f"{each.file}: {each.code} not fixed: {each.reason}") + "\n"
    if arguments.diff and not work.infeasible:
        sys.stderr.write(explained)
        return "".join(map(_printed, fixes.diff_lines(work.run.documents, work.texts)))
    if work.titles:
        lines = [f"{shown(f'{file}: {title}')}\n" for file, title in work.titles]
    else:
        lines = [fixes.change_line(each) for each in work.changed]
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
    if any(work.problem for work in works):
        first = f"{counted(changed, 'file')} {verb} ({checked} checked, {sum(bool(work.problem) for work in works)} could not be fixed)"
    return "; ".join([first, *skipped_files(stats)])
