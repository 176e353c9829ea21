"""The commit that a branch is compared with: where it left its base."""

from __future__ import annotations

import os

from cfglint.source import CfglintError
from cfglint.source.git import GitRepository

GITHUB = "GITHUB_BASE_REF"  # the branch that a pull request goes to
GITLAB = "CI_MERGE_REQUEST_DIFF_BASE_SHA"  # the commit at which a merge request branched off its target
USUAL = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
DEEPER = "git fetch --unshallow; on GitHub `fetch-depth: 0` of actions/checkout, on GitLab `GIT_DEPTH: 0`"


class NoBaseError(CfglintError):
    """A base that is not a commit, or with which the branch has no commit in common."""


def base_of(asked: str | None, repository: GitRepository) -> tuple[str, str]:
    """(the commit at which the branch left its base, the name of the base as the user knows it)."""
    head = repository.commit("HEAD")
    if head is None:
        raise NoBaseError("there is no commit yet, so nothing to compare with")
    if asked == "":
        raise NoBaseError("--base is empty: name what to compare with, or leave it out")
    names: tuple[str, ...] = (asked,) if asked else USUAL
    if not asked and os.environ.get(GITHUB):
        names = f"origin/{os.environ[GITHUB]}", os.environ[GITHUB]
    elif not asked and os.environ.get(GITLAB):
        names = (os.environ[GITLAB],)
    for name in names:
        commit = repository.commit(name)
        if commit is not None:
            return left_at(repository, name, commit, head), name
    reason = f"none of {', '.join(names)} is a commit here" if len(names) > 1 else f"{names[0]} is not a commit here"
    if repository.shallow:
        raise NoBaseError(f"{reason}; this clone is shallow, fetch the rest: {DEEPER}")
    raise NoBaseError(f"{reason}; name what to compare with: --base REV")


def left_at(repository: GitRepository, name: str, commit: str, head: str) -> str:
    base = repository.merge_base(commit, head)
    if base is not None:
        return base
    if repository.shallow:
        raise NoBaseError(f"this clone is too shallow to find where the branch left {name}; fetch the rest: {DEEPER}")
    raise NoBaseError(f"HEAD and {name} have no commit in common; `cfglint review OLD NEW` compares folders")
