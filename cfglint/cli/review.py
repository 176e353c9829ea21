"""`cfglint review`: the effect of a git branch, or of two states that are named, on every run that it changes."""

from __future__ import annotations

import os

from cfglint.cli import diff
from cfglint.cli.console import fail, warn
from cfglint.cli.diff import report_and_status, summary
from cfglint.cli.options import (
    UsageError,
    facts_of,
    facts_of_declared,
    first_few,
    load_configuration,
    own_files,
    selection_of,
)
from cfglint.cli.output import check_outputs
from cfglint.cli.progress import counted_on_terminal
from cfglint.project import settings_file
from cfglint.project.settings_file import ConfigurationError
from cfglint.review.branch import STATES, WORKING, Branch
from cfglint.review.compare import Comparison
from cfglint.review.left_out import left_out
from cfglint.run.discovery_errors import LaunchChoiceError, UnknownKindError
from cfglint.run.scan_stats import ScanStats
from cfglint.source.files import FileProblem
from cfglint.source.git import GitProblem, GitRepository

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.cli.argument_parser import Namespace, Parser
    from cfglint.frameworks.launch_facts import LaunchFacts
    from cfglint.project.settings_file import Configuration, DeclaredRun
    from cfglint.review.releases import ReleaseChange

GITHUB = "GITHUB_BASE_REF"  # the branch that a pull request goes to
GITLAB = "CI_MERGE_REQUEST_DIFF_BASE_SHA"  # the commit at which a merge request branched off its target
USUAL = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
OF_PATHS = ("to", "run", "kind", "section")  # options for OLD NEW
OF_BRANCH = ("base", "state")
DEEPER = "git fetch --unshallow; on GitHub `fetch-depth: 0` of actions/checkout, on GitLab `GIT_DEPTH: 0`"


def add_arguments(parser: Parser) -> None:
    """The options of `review`."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="OLD NEW: two files or folders (default: this git branch)")
    parser.add_argument("--base", metavar="REV", help="compare with where the branch left REV (default: the main branch)")
    parser.add_argument("--state", choices=STATES, help="what to compare (default: the files in the working tree)")
    diff.add_comparison_options(parser)
    parser.hide("--stdin-filename")
    parser.add_example("cfglint review", "this branch")
    parser.add_example("cfglint review --base origin/main --output comment.md", "as a comment of a pull request")
    parser.add_example("cfglint review old.yaml new.yaml --gpus 8", "an edit, on 8 GPUs")


def run(arguments: Namespace) -> int:
    """Compare two states and report; return the exit status."""
    names = OF_BRANCH if arguments.paths else OF_PATHS
    unfit = next((name for name in names if getattr(arguments, name)), None)
    if unfit is not None:
        return fail(f"--{unfit} is an option of `cfglint review{'' if arguments.paths else ' OLD NEW'}`")
    return diff.run(arguments) if arguments.paths else review_branch(arguments)


def review_branch(arguments: Namespace) -> int:
    """Compare the branch with where it left its base and report; return the exit status."""
    stats = ScanStats()
    try:
        check_outputs(arguments)
        with GitRepository() as repository:
            base, name = base_of(arguments, repository)
            branch = Branch(repository, base, arguments.state or WORKING)
            project = load_configuration(arguments, lambda path: configuration_of(branch, path))
            selection_of(arguments, project)
            comparisons = compare(branch, arguments, project, stats)
            unused = left_out(branch, unused_releases(branch, comparisons), own_files(arguments, project))
    except (UsageError, UnknownKindError, GitProblem, FileProblem) as error:
        return fail(str(error))
    status = report_and_status(arguments, project, comparisons, unused)
    if branch.absent:
        warn(f"{first_few(sorted(branch.absent))}: the content is not in this clone; in a partial clone, run git fetch --refetch first")
    warn(f"{summary(comparisons, stats)}; against {name} ({base[:10]})")
    return 2 if stats.unreadable or stats.beyond_limits or stats.unknown_kind or branch.absent else status


# ---- the base


def base_of(arguments: Namespace, repository: GitRepository) -> tuple[str, str]:
    """(the commit at which the branch left its base, the name of the base as the user knows it)."""
    head = repository.commit("HEAD")
    if head is None:
        raise UsageError("there is no commit yet, so nothing to compare with")
    if arguments.base == "":
        raise UsageError("--base is empty: name what to compare with, or leave it out")
    names = candidates(arguments.base)
    for each in names:
        commit = repository.commit(each)
        if commit is not None:
            return left_at(repository, each, commit, head), each
    reason = f"none of {', '.join(names)} is a commit here" if len(names) > 1 else f"{names[0]} is not a commit here"
    if repository.shallow:
        raise UsageError(f"{reason}; this clone is shallow, fetch the rest: {DEEPER}")
    raise UsageError(f"{reason}; name what to compare with: --base REV")


def candidates(asked: str | None) -> tuple[str, ...]:
    """Candidates for the base: the requested revision, else that of the CI environment, else the usual branch names."""
    if asked:
        return (asked,)
    if os.environ.get(GITHUB):
        return f"origin/{os.environ[GITHUB]}", os.environ[GITHUB]
    return (os.environ[GITLAB],) if os.environ.get(GITLAB) else USUAL


def left_at(repository: GitRepository, name: str, commit: str, head: str) -> str:
    """The commit at which the branch left its base."""
    base = repository.merge_base(commit, head)
    if base is not None:
        return base
    if repository.shallow:
        raise UsageError(f"this clone is too shallow to find where the branch left {name}; fetch the rest: {DEEPER}")
    raise UsageError(f"HEAD and {name} have no commit in common; `cfglint review OLD NEW` compares folders")


# ---- the runs


def compare(branch: Branch, arguments: Namespace, project: Configuration, stats: ScanStats) -> list[Comparison]:
    """Compare every changed run: the declared ones, then the other files that changed."""
    before = earlier(branch, project)
    branch.settings = before, project
    branch.compare([file for declared in project.runs for file in declared.files])
    comparisons: list[Comparison] = []
    taken: set[str] = set()
    for declared in project.runs:
        facts = facts_of_declared(declared, arguments, project)
        twin = counterpart(declared, branch, before)
        was = facts_of_declared(twin, arguments, before) if twin else facts
        try:
            old, new = branch.declared(declared.files, was, facts, declared.kind)
        except LaunchChoiceError:
            continue  # compared as the launch of its script
        except UnknownKindError as error:
            stats.unknown_kind.append(error.path)
            continue
        taken.update(os.path.relpath(document.path) for each in (old, new) if each for document in each.documents)
        if (branch.touches(old, new) or differ(was, facts)) and not branch.lacks_content(old, new):
            if new is not None:
                stats.add_files(new)
            branch.note_compared(old, new)
            comparisons.append(Comparison(old, new, only_releases=not branch.changes_files(old, new) and not differ(was, facts)))
    alone = [facts_of(arguments, each, complete=False) for each in (before, project)]
    touched = branch.undeclared(alone[0], alone[1], taken, stats)
    for pair in counted_on_terminal(touched, "runs compared"):
        if branch.lacks_content(*pair):
            continue
        branch.note_compared(*pair)
        comparisons.append(Comparison(*pair, only_releases=not branch.changes_files(*pair)))
    for each in comparisons:
        each.releases = branch.located(each.releases, os.path.relpath(each.files[0]))
    return comparisons


def unused_releases(branch: Branch, comparisons: list[Comparison]) -> list[ReleaseChange]:
    """The changed releases that no compared run depends on."""
    used = {change.package for each in comparisons for change in each.releases}
    return [each for each in branch.stated_changes() if each.package not in used]


def configuration_of(branch: Branch, path: str) -> Configuration:
    """The configuration of the reviewed state; if that state has none, the one of the working tree."""
    if branch.new.is_file(path):
        return settings_file.configuration_of(branch.new.read_bytes(path), path)
    return settings_file.read(path)


def earlier(branch: Branch, project: Configuration) -> Configuration:
    """The configuration of the old side, if it was a different one."""
    if not project.path or not all(side.is_file(project.path) for side in (branch.old, branch.new)):
        return project
    content = branch.old.read_bytes(project.path)
    if content == branch.new.read_bytes(project.path):
        return project
    warn(f"{project.path} changed, too; findings are selected by its new state")
    try:
        before = settings_file.configuration_of(content, project.path)
        settings_file.refuse_foreign_names(before)
        return before
    except ConfigurationError:
        return project


def counterpart(declared: DeclaredRun, branch: Branch, before: Configuration) -> DeclaredRun | None:
    """The declared run with the same files on the old side."""
    files = [branch.old_name(os.path.relpath(file)) for file in declared.files]
    return next((each for each in before.runs if [os.path.relpath(file) for file in each.files] == files), None)


def differ(before: LaunchFacts, after: LaunchFacts) -> bool:
    """Whether two declarations describe different launches."""
    said = ("gpus", "gpu_memory", "num_examples", "target", "strict_keys", "overrides", "expected_numbers", "kind_given")
    return any(getattr(before, name) != getattr(after, name) for name in said)
