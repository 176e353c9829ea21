"""What the commands do, for Python: `cfglint.check()`, `fix()`, `plan()` and `diff()` over paths or texts.

Nothing is printed, and nothing is written to a file. In a notebook each result shows its page's pictures.

Sources are a path, several paths, or a mapping from file names to texts; a file that another one names is looked
for among the texts first. `run` says that the sources are one run and all of it. Facts of the launch are keyword
arguments under the names of the flags: `gpus`, `num_examples`, `kind`, `target` (package to version), `strict_keys`.
"""

from __future__ import annotations

import os

from cfglint.explain.summary import explained
from cfglint.frameworks.base import LaunchFacts
from cfglint.rewrite.apply_fixes import apply_fixes
from cfglint.rewrite.plan import Pace, table
from cfglint.rewrite.plan import plan as plans_for
from cfglint.rewrite.retarget import retarget
from cfglint.run.discovery import Discovery, FileSource

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, TypeAlias

    from cfglint.findings.diagnostic import Diagnostic, Outcome
    from cfglint.review.compare import Comparison
    from cfglint.rewrite.retarget import ValueChange
    from cfglint.run.checked import CheckedRun

    Path: TypeAlias = str | os.PathLike[str]
    Sources: TypeAlias = Path | Iterable[Path] | dict[str, str]


class CheckResult:
    """What came of some runs, in the order of the sources; true where nothing keeps one of them from starting."""

    def __init__(self, runs: list[Outcome]) -> None:
        self.runs = runs

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """The findings of all runs that no comment silences."""
        return [each for run in self.runs for each in run.diagnostics if not each.suppressed]

    def __bool__(self) -> bool:
        return all(run.verdict == "accept" for run in self.runs)

    def __iter__(self) -> Iterator[Outcome]:
        return iter(self.runs)

    def __str__(self) -> str:
        from cfglint.report import render

        return render("text", self.runs)

    def _repr_html_(self) -> str:
        from cfglint.report import html

        return html.notebook(self.runs)


class FixResult:
    """What a fix makes of files: `texts` are the new texts of those that change, `changed` says what in them.

    `feasible` is false when a target cannot be reached; `titles` are the fixes that were applied without a target.
    """

    def __init__(self, texts: dict[str, str], changed: list[ValueChange], titles: list[str], feasible: bool = True) -> None:
        self.texts = texts
        self.changed = changed
        self.titles = titles
        self.feasible = feasible


class PlanResult:
    """A target on several GPU counts: `plans` are those of `cfglint plan --format json`; true where one of them works."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.told = told

    @property
    def plans(self) -> list[dict[str, Any]]:
        """A plan for each GPU count."""
        plans: list[dict[str, Any]] = self.told["plans"]
        return plans

    def __bool__(self) -> bool:
        return any(plan["feasible"] for plan in self.plans)

    def __str__(self) -> str:
        from cfglint.report.plans import render

        return render("text", self.told)

    def _repr_html_(self) -> str:
        from cfglint.report import html

        return html.notebook_plan(self.told)


class DiffResult:
    """A run before and after a change; true where something changed in meaning."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison

    def __bool__(self) -> bool:
        return not self.comparison.empty

    def __str__(self) -> str:
        from cfglint.report import render_changes

        return render_changes("text", [self.comparison])

    def _repr_html_(self) -> str:
        from cfglint.report import html

        return html.notebook_changes([self.comparison])


class Texts(FileSource):
    """Files that are given as texts, in front of those on the disk."""

    def __init__(self, given: dict[str, str]) -> None:
        super().__init__()
        self.given = given

    def is_file(self, path: str) -> bool:
        """Whether there is such a text or file."""
        return path in self.given or super().is_file(path)

    def identity(self, path: str) -> str:
        """A text is told by its name alone."""
        return path if path in self.given else super().identity(path)

    def read(self, path: str) -> tuple[str, bool]:
        """(text, whether it had a byte order mark); raises FileProblem."""
        return (self.given[path], False) if path in self.given else super().read(path)


def check(sources: Sources, *, run: bool = False, **facts: Any) -> CheckResult:
    """Every finding, and the numbers that each run resolves to. FileNotFoundError for a path that is not there."""
    from cfglint.project.suppression import settle

    outcomes = [explained(each) for each in gathered(sources, run, facts)]
    settle(outcomes)
    return CheckResult(outcomes)


def fix(
    sources: Sources,
    *,
    gpus: int | None = None,
    global_batch: int | None = None,
    max_micro_batch: int | None = None,
    unsafe: bool = False,
    **facts: Any,
) -> FixResult:
    """The texts after the safe fixes, or after the fewest changes that hit a target on a number of GPUs.

    Unknown (of `cfglint.rewrite.retarget`) when the facts do not suffice, EditRefused when a text cannot be edited.
    """
    each = single(sources, facts)
    if gpus is None and global_batch is None:
        mended = apply_fixes(each, unsafe)
        return FixResult(mended.texts, mended.changed, mended.titles)
    found = retarget(each, each.facts, gpus, global_batch, max_micro_batch)
    return FixResult(found.texts, found.changed, [], found.feasible)


def plan(
    sources: Sources,
    *,
    gpus: Iterable[int],
    global_batch: int | None = None,
    max_micro_batch: int | None = None,
    seconds_per_step: float | None = None,
    tokens_per_second: float | None = None,
    **facts: Any,
) -> PlanResult:
    """A target global batch, today's by default, on each of several GPU counts; Unknown when the facts do not suffice."""
    pace = Pace(seconds_per_step, tokens_per_second)
    return PlanResult(table(plans_for(single(sources, facts), list(gpus), global_batch, max_micro_batch, pace), pace))


def diff(old: Sources, new: Sources, **facts: Any) -> DiffResult:
    """What a change means for a run."""
    from cfglint.review.compare import Comparison

    comparison = Comparison(single(old, facts), single(new, facts))
    comparison.add_notes()
    return DiffResult(comparison)


def single(sources: Sources, facts: dict[str, Any]) -> CheckedRun:
    """The sources as one run, and all of it."""
    [found] = gathered(sources, True, facts)
    return found


def gathered(sources: Sources, whole: bool, facts: dict[str, Any]) -> list[CheckedRun]:
    """The runs of some sources."""
    paths, texts = named(sources)
    kind = facts.get("kind")
    known = {name: value for name, value in facts.items() if name != "kind"}
    gathering = Discovery(LaunchFacts(whole=whole, declared=kind is not None, **known), kind, shelf=Texts(texts))
    found = [gathering.one(paths)] if whole else [each for _, each in sorted(gathering.each(paths), key=lambda pair: pair[0])]
    if gathering.tally.unreadable:
        raise FileNotFoundError(", ".join(gathering.tally.unreadable))
    return found


def named(sources: Sources) -> tuple[list[str], dict[str, str]]:
    """Paths, and the texts that stand for some of them."""
    if isinstance(sources, (str, os.PathLike)):
        return [os.fspath(sources)], {}
    paths = [os.fspath(each) for each in sources]
    return paths, dict(sources) if isinstance(sources, dict) else {}
