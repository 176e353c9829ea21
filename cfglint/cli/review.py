"""`cfglint review`: the effect of a git branch, or of two states that are named, on every run that it changes."""

from __future__ import annotations

import os

from cfglint.cli import diff
from cfglint.cli.argument_parser import Namespace, Parser
from cfglint.cli.console import fail, warn
from cfglint.cli.diff import report_and_status, summary
from cfglint.cli.options import facts_of, facts_of_declared, load_configuration, own_files, selection_of
from cfglint.cli.output import reports
from cfglint.cli.progress import counted_on_terminal
from cfglint.findings.wording import first_few, first_names
from cfglint.review import branch as branches
from cfglint.review.branch import Branch, DeclaredPair
from cfglint.review.left_out import MOST_FILES, left_out
from cfglint.run.paths import ScanStats
from cfglint.source.git import GitProblem, GitRepository

OF_PATHS = ("to", "run", "kind", "section")  # options for OLD NEW
OF_BRANCH = ("base", "state")
BY_HOOK = "PRE_COMMIT"  # the environment variable that pre-commit sets


def add_arguments(parser: Parser) -> None:
    parser.add_argument("paths", nargs="*", metavar="PATH", help="OLD NEW: two files or folders (default: this git branch)")
    parser.add_argument("--base", metavar="REV", help="compare with where the branch left REV (default: the main branch)")
    parser.add_argument("--state", choices=branches.STATES, help="what to compare (default: the files in the working tree)")
    diff.add_comparison_options(parser)
    parser.hide("--stdin-filename")
    parser.add_example("cfglint review", "this branch")
    parser.add_example("cfglint review --base origin/main --output comment.md", "as a comment of a pull request")
    parser.add_example("cfglint review old.yaml new.yaml --gpus 8", "an edit, on 8 GPUs")


def run(arguments: Namespace) -> int:
    names = OF_BRANCH if arguments.paths else OF_PATHS
    unfit = next((name for name in names if getattr(arguments, name)), None)
    if unfit is not None:
        return fail(f"--{unfit} is an option of `cfglint review{'' if arguments.paths else ' OLD NEW'}`")
    commit = next(filter(is_commit, arguments.paths), None)
    if commit is not None:
        return fail(f"{commit} is a commit, not a file: `cfglint review --base {commit}` compares this branch with it")
    return diff.run(arguments) if arguments.paths else review_branch(arguments)


def is_commit(name: str) -> bool:
    """Whether a path that does not exist is the name of a commit."""
    if os.path.exists(name):
        return False
    try:
        with GitRepository() as repository:
            return repository.commit(name) is not None
    except GitProblem:
        return False


def review_branch(arguments: Namespace) -> int:
    """Compare the branch with where it left its base and report; return the exit status."""
    stats = ScanStats()
    reports(arguments)
    with GitRepository() as repository:
        base, name = branches.base_of(arguments.base, repository)
        branch = Branch(repository, base, arguments.state or branches.WORKING)
        project = load_configuration(arguments, lambda path: branches.configuration_of(branch, path))
        selection_of(arguments, project)
        before = branches.earlier(branch, project)
        if before is not project:
            warn(f"{project.path} changed, too; findings are selected by its new state")
        declared = [
            DeclaredPair(run, facts_of_declared(old, arguments, settings), facts_of_declared(run, arguments, project))
            for run, old, settings in branches.declared_runs(branch, project, before)
        ]
        undeclared = facts_of(arguments, before, complete=False), facts_of(arguments, project, complete=False)
        comparisons = [*counted_on_terminal(branches.compare(branch, declared, undeclared, stats), "runs compared")]
        for comparison in comparisons if branch.state == branches.STAGED and BY_HOOK in os.environ else ():
            comparison.is_checked = not comparison.only_releases  # by the hook `cfglint`, which gets the changed files
        uncommitted = branch.uncommitted()
        unused = left_out(branch, branches.unused_releases(branch, comparisons), own_files(arguments, project))
    named = first_names(uncommitted, MOST_FILES)
    note = f"with uncommitted changes in {named} (`--state {branches.COMMITTED}` leaves them out)" if uncommitted else ""
    status = report_and_status(arguments, project, comparisons, unused, note)
    if branch.absent:
        warn(f"{first_few(sorted(branch.absent))}: the content is not in this clone; in a partial clone, run git fetch --refetch first")
    warn(f"{summary(comparisons, stats)}; against {name} ({base[:10]}){f', {note}' if note else ''}")
    return 2 if stats.unreadable or stats.beyond_limits or stats.unknown_kind or branch.absent else status
