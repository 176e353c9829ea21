"""The library: `check`, `fix`, `plan`, `explain`, `log`, `diff`, `review_branch` and `new`, for paths or for the contents of files.

Nothing is printed, but by `preflight` inside a training program, and only `FixResult.write` and `NewFiles.write` write files. In a
notebook each result is displayed as HTML. `sources` is a path, several paths, or a mapping from file names to file contents; a file that
another one names is looked up in the mapping first. Every error that the caller can handle is a `CfglintError`.
"""

from __future__ import annotations

import os
from typing import Literal

from cfglint.api import arguments
from cfglint.api.arguments import ArgumentError, MissingFileError, Path, Sources, Versions
from cfglint.api.in_program import Preflight, WouldFail, preflight
from cfglint.api.results import CheckResult, DiffResult, Explanation, FixResult, LogResult, NewFiles, PlanResult, ReviewResult
from cfglint.explanation.log_file import Log, compare
from cfglint.explanation.summary import RunSummary, explained
from cfglint.findings.diagnostic import drop_repeated_findings
from cfglint.findings.vocabulary import Kind
from cfglint.generators import FRAMEWORK, RUN, generate, set_frameworks
from cfglint.generators import kinds as generated_kinds
from cfglint.generators.job_spec import Contradiction, JobSpec, Offload, Optimizer, Precision, Scheduler, Unreachable
from cfglint.project.settings_file import with_settings
from cfglint.review.compare import Comparison
from cfglint.review.left_out import left_out
from cfglint.review.releases import with_same_releases
from cfglint.rewrite import plan as planning
from cfglint.rewrite.apply_fixes import Skipped, apply_fixes
from cfglint.rewrite.joint_targets import Aimed, verify
from cfglint.rewrite.own_sizes import reach_target
from cfglint.rewrite.retarget import MissingFactError
from cfglint.rewrite.value_change import ValueChange
from cfglint.run.checked import CheckedRun
from cfglint.run.paths import ScanStats, UnknownKindError
from cfglint.source import CfglintError
from cfglint.source.annotations import Iterable, Mapping
from cfglint.source.change import EditRefused
from cfglint.source.files import FileProblem
from cfglint.source.git import GitRepository

# fmt: off
__all__ = [
    "ArgumentError", "CfglintError", "CheckResult", "Contradiction", "DiffResult", "EditRefused", "Explanation", "FileProblem",
    "FixResult", "LogResult", "MissingFactError", "MissingFileError", "NewFiles", "PlanResult", "Preflight", "ReviewResult",
    "Skipped", "UnknownKindError", "Unreachable", "ValueChange", "WouldFail", "check", "diff", "explain", "fix", "log", "new",
    "plan", "preflight", "review_branch",
]
# fmt: on


def check(
    sources: Sources | None = None,
    *,
    run: bool = False,
    kind: Kind | None = None,
    gpus: int | None = None,
    num_examples: int | None = None,
    target: Versions | None = None,
    overrides: Mapping[str, object] | None = None,
    strict_keys: bool = False,
    trainer: str | None = None,
    model: Path | None = None,
    gpu: str | None = None,
    gpu_memory: float | str | None = None,
    seq_length: int | None = None,
    settings: bool = True,
) -> CheckResult:
    """Check the sources: every finding, and the numbers that each run resolves to. Without `sources`: the runs that the configuration
    declares, else all of the working directory.

    `run`: the sources are the complete configuration of one run. `gpus`: number of processes that the launch starts, one GPU each.
    `num_examples`: number of training samples. `target` maps packages to versions. `overrides` are values passed on the launch line, by
    dotted key. `strict_keys`: the script defines no keys of its own, so unknown keys are reported as the framework treats them.
    `trainer`: the TRL trainer. `gpu`: the card (`T4`, `A100-80GB`), with its memory and what the frameworks refuse on it. `model`
    (path of a config.json or a known name), `gpu_memory` (GiB or name of a card) and `seq_length` (tokens per sample) are for the
    memory estimate. `settings`: the nearest configuration above the working directory applies, with its baseline. Raises
    MissingFileError for a path that does not exist, UnknownKindError if `run` is set and no kind can be detected, ArgumentError for
    an invalid value.
    """
    given, project = locals(), arguments.configuration(settings)
    facts = arguments.facts_of(given, project)
    unrecognized: list[str] = []
    if sources is None and project.runs:
        keywords = arguments.fact_keywords(given)
        every = ((declared, arguments.declared_facts(keywords, declared, project)) for declared in project.runs)
        runs = [run for declared, of_run in every for run in arguments.loaded(declared.files, {}, of_run, declared.kind)]
    else:
        runs, unrecognized = arguments.runs_of("." if sources is None else sources, facts, kind, project)
    outcomes = [explained(checked) for checked in runs]
    drop_repeated_findings(outcomes)
    arguments.suppress(outcomes, project)
    return CheckResult(outcomes, unrecognized)


def fix(
    sources: Sources,
    *,
    gpus: int | None = None,
    global_batch: int | None = None,
    max_micro_batch: int | None = None,
    from_gpus: int | None = None,
    unsafe: bool = False,
    kind: Kind | None = None,
    num_examples: int | None = None,
    target: Versions | None = None,
    overrides: Mapping[str, object] | None = None,
    strict_keys: bool = False,
    trainer: str | None = None,
    model: Path | None = None,
    gpu: str | None = None,
    gpu_memory: float | str | None = None,
    seq_length: int | None = None,
    settings: bool = True,
) -> FixResult:
    """Apply the safe fixes to one run, or the smallest change that reaches a target global batch size.

    The target is `global_batch` samples per optimizer step (default: the current value) on `gpus` GPUs (default: the current count;
    `from_gpus` gives it if the files do not). `max_micro_batch`: upper bound on the samples per GPU and forward pass. `unsafe` also
    applies fixes that change what the run computes. Raises MissingFactError if the target cannot be computed, EditRefused if
    a file cannot be edited, or if the edited files would not start or resolve to other numbers.
    """
    given = locals()
    gpus, global_batch = arguments.positive("gpus", gpus), arguments.positive("global_batch", global_batch)
    most, unsafe = arguments.positive("max_micro_batch", max_micro_batch), arguments.boolean("unsafe", unsafe)
    facts = arguments.facts_of(given, arguments.configuration(settings), "gpus")  # which are those of the target
    run = arguments.single(sources, facts, kind)
    if gpus is None and global_batch is None:
        return FixResult(run, fixed=apply_fixes(run, unsafe))
    retarget = reach_target(run, run.facts, gpus, global_batch, most)
    aim = Aimed(run, retarget, retarget.texts)
    launched = facts.replace(gpus=gpus or run.facts.gpus)
    verify([aim], [[aim]], lambda texts: [arguments.single(sources, launched, kind, texts)], retarget.texts)
    if aim.problem is not None:
        raise EditRefused(aim.problem, 0)
    return FixResult(run, found=retarget)


def plan(
    sources: Sources,
    *,
    gpus: int | Iterable[int],
    global_batch: int | None = None,
    max_micro_batch: int | None = None,
    from_gpus: int | None = None,
    seconds_per_step: float | None = None,
    tokens_per_second: float | None = None,
    kind: Kind | None = None,
    num_examples: int | None = None,
    target: Versions | None = None,
    overrides: Mapping[str, object] | None = None,
    strict_keys: bool = False,
    trainer: str | None = None,
    model: Path | None = None,
    gpu: str | None = None,
    gpu_memory: float | str | None = None,
    seq_length: int | None = None,
    settings: bool = True,
) -> PlanResult:
    """Plan a global batch size (default: the current one) on one or several GPU counts.

    `seconds_per_step` or `tokens_per_second` (all GPUs together) give the hours of each plan. Raises MissingFactError if the
    current batch size is needed and cannot be computed.
    """
    given = locals()
    counts, most = arguments.counted(gpus), arguments.positive("max_micro_batch", max_micro_batch)
    pace = planning.Pace(
        arguments.number("seconds_per_step", seconds_per_step), arguments.number("tokens_per_second", tokens_per_second), row=seq_length
    )
    run = arguments.single(sources, arguments.facts_of(given, arguments.configuration(settings), "gpus"), kind)
    return PlanResult(planning.table(planning.plan(run, counts, arguments.positive("global_batch", global_batch), most, pace), pace))


def explain(
    sources: Sources,
    *,
    kind: Kind | None = None,
    gpus: int | None = None,
    num_examples: int | None = None,
    target: Versions | None = None,
    overrides: Mapping[str, object] | None = None,
    strict_keys: bool = False,
    trainer: str | None = None,
    model: Path | None = None,
    gpu: str | None = None,
    gpu_memory: float | str | None = None,
    seq_length: int | None = None,
    settings: bool = True,
) -> Explanation:
    """Explain a run: every value that it resolves to, and its origin. Raises the errors of `check`."""
    facts = arguments.facts_of(locals(), arguments.configuration(settings))
    return Explanation(RunSummary(arguments.single(sources, facts, kind), gpus))


def log(
    source: Path | Iterable[str],
    sources: Sources | None = None,
    *,
    kind: Kind | None = None,
    gpus: int | None = None,
    num_examples: int | None = None,
    target: Versions | None = None,
    trainer: str | None = None,
    model: Path | None = None,
    gpu: str | None = None,
    gpu_memory: float | str | None = None,
    seq_length: int | None = None,
    settings: bool = True,
) -> LogResult:
    """Explain a training log, the path of a file or its lines: why the training failed, and what its numbers mean.

    `sources` are the files of its run, with whose numbers those of the log are compared. Raises MissingFileError for a log that does not
    exist, and the errors of `check`.
    """
    given = locals()
    path, lines = arguments.lines_of(source)
    found = Log(path, lines).explained()
    if sources is not None:
        project = arguments.configuration(settings)
        files, _ = arguments.named(sources)

        def run_with(logged: dict[str, int], card: float | None) -> CheckedRun:
            known = {"gpus": gpus or logged.get("gpus"), "num_examples": num_examples or logged.get("num_examples")}
            return arguments.single(sources, arguments.facts_of({**given, **known, "gpu_memory": gpu_memory or card}, project), kind)

        compare(found, run_with)
        found.files = files
    return LogResult(path, found)


def diff(
    old: Sources,
    new: Sources,
    *,
    kind: Kind | None = None,
    gpus: int | None = None,
    num_examples: int | None = None,
    target: Versions | None = None,
    overrides: Mapping[str, object] | None = None,
    strict_keys: bool = False,
    trainer: str | None = None,
    model: Path | None = None,
    gpu: str | None = None,
    gpu_memory: float | str | None = None,
    seq_length: int | None = None,
    settings: bool = True,
) -> DiffResult:
    """Compare a run before and after a change of its config. Raises the errors of `check`."""
    facts = arguments.facts_of(locals(), arguments.configuration(settings))
    before, after = (arguments.loaded(*arguments.named(side), facts, kind)[0] for side in (old, new))
    before, after, _ = with_same_releases(before, after, facts.target)
    comparison = Comparison(before, after)
    comparison.add_notes()
    return DiffResult(comparison)


def review_branch(
    base: str | None = None,
    *,
    state: Literal["working", "staged", "committed"] = "working",
    gpus: int | None = None,
    num_examples: int | None = None,
    target: Versions | None = None,
    trainer: str | None = None,
    model: Path | None = None,
    gpu: str | None = None,
    gpu_memory: float | str | None = None,
    seq_length: int | None = None,
    settings: bool = True,
) -> ReviewResult:
    """Compare every run that the git branch of the working directory changes with its state where the branch left `base`.

    `base`: a revision (default: the main branch). `state`: the files of the working tree, those that are staged, or the last commit.
    Raises GitProblem outside a git repository and for a base that is not a commit, and the errors of `check`.
    """
    original = locals()
    from cfglint.review.branch import STATES, Branch, DeclaredPair, base_of, compare, declared_runs, earlier, unused_releases

    given = {"kind": None, "overrides": None, "strict_keys": False, **arguments.fact_keywords(original)}
    arguments.one_of("state", state, STATES)
    project, stats = arguments.configuration(settings), ScanStats()
    facts = arguments.launch_facts(run=False, **given)
    with GitRepository() as repository:
        branch = Branch(repository, base_of(base, repository)[0], state)
        before = earlier(branch, project)
        declared = [
            DeclaredPair(run, arguments.declared_facts(given, old, old_settings), arguments.declared_facts(given, run, project))
            for run, old, old_settings in declared_runs(branch, project, before)
        ]
        comparisons = [*compare(branch, declared, (with_settings(facts, before), with_settings(facts, project)), stats)]
        unused = left_out(branch, unused_releases(branch, comparisons), [os.path.abspath(project.baseline)] if project.baseline else [])
    arguments.suppress([comparison.before for comparison in comparisons if comparison.before is not None], project)
    arguments.suppress([comparison.after for comparison in comparisons if comparison.after is not None], project)
    for comparison in comparisons:
        comparison.add_notes()
    return ReviewResult(comparisons, unused)


def new(
    kind: Kind | Literal["run"],
    *,
    framework: Kind = FRAMEWORK,
    gpus: int | None = None,
    gpus_per_node: int | None = None,
    global_batch: int | None = None,
    micro_batch: int | None = None,
    max_micro_batch: int | None = None,
    zero: Literal[0, 1, 2, 3] | None = None,
    offload: Offload | None = None,
    precision: Precision | None = None,
    tensor_parallel: int | None = None,
    pipeline_parallel: int | None = None,
    seq_length: int | None = None,
    learning_rate: float | None = None,
    warmup: float | None = None,
    epochs: float | None = None,
    steps: int | None = None,
    tokens: int | None = None,
    num_examples: int | None = None,
    optimizer: Optimizer | None = None,
    scheduler: Scheduler | None = None,
    lora: bool | None = None,
    trainer: str | None = None,
    model: str | None = None,
    layers: int | None = None,
    hidden: int | None = None,
    heads: int | None = None,
    kv_heads: int | None = None,
    target: Versions | None = None,
    weight_decay: float | None = None,
    beta1: float | None = None,
    beta2: float | None = None,
    epsilon: float | None = None,
    min_learning_rate: float | None = None,
    clipping: float | None = None,
    seed: int | None = None,
    checkpointing: bool | None = None,
    logging_steps: int | None = None,
    save_steps: int | None = None,
    output_dir: str | None = None,
) -> NewFiles:
    """Generate config files for a job from the facts that `cfglint.generators.job_spec.JobSpec` describes.

    The kind `run` generates all files of a run with `framework`. Raises Contradiction if the facts contradict each other, are missing
    or cannot be expressed in such a file, Unreachable if these GPUs cannot reach the global batch size.
    """
    given = locals()
    arguments.one_of("kind", kind, (*generated_kinds(), RUN))
    arguments.one_of("framework", framework, set_frameworks())
    facts = {name: given[name] for name in JobSpec.NAMES if given[name] is not None}
    try:
        made = generate(kind, arguments.job_spec(facts), framework)
    except CfglintError as error:
        raise arguments.in_keywords(error) from None
    return NewFiles({file.name: file.text for file in made.files}, made.notes)
