"""The types of the entries in the JSON output, for mypy; none of them exists at run time."""

from __future__ import annotations

from cfglint.source.annotations import ConfigTable, ConfigValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, NotRequired, TypedDict

    from cfglint.batch.memory.estimate import Certainty, Fit
    from cfglint.evaluate import ReasonKind
    from cfglint.findings.vocabulary import Kind, Origin, Severity, Stage, Verdict

    class UnknownArgument(TypedDict):
        """A field of a launch that is unknown, and why."""

        field: str
        reason: str

    class AlternativeEntry(TypedDict):
        """Which of the alternatives of one run this is, and where its program builds the arguments."""

        number: int
        of: int
        built_at: str

    class LaunchEntry(TypedDict):
        """The known properties of the launch line that starts a run; an unknown number is null."""

        file: str
        line: int
        launcher: str
        program: str | None
        processes: int | None
        gpus_per_node: int | None
        nodes: int | None
        arguments: ConfigTable
        conditional: bool
        called_from: str | None
        needs_caller: bool
        unknown: list[UnknownArgument]
        alternative: NotRequired[AlternativeEntry]

    class NotReadEntry(TypedDict):
        """A part of a run that was not read; `file` and `line` are null where they are not known."""

        what: str
        file: str | None
        line: int | None
        why: str

    class RunEntry(TypedDict):
        """An entry of `runs`; `launch` is present for a run that a script starts, `resume` for one that continues from a checkpoint,
        `num_examples_from` for one whose samples were counted."""

        files: list[str]
        kinds: list[str]
        target: dict[str, str]
        target_from: dict[str, str]
        gpus: int | None
        nodes: int | None
        verdict: Verdict | None
        fails_at: Stage | None
        resolved: dict[str, int | None]
        read: bool
        not_read: list[NotReadEntry]
        assumed: list[str]
        launch: NotRequired[LaunchEntry]
        resume: NotRequired[ResumeEntry]
        num_examples_from: NotRequired[SamplesEntry]

    class ResumeEntry(TypedDict):
        """The checkpoint that a run continues from; `micro_batch` is the one that it uses, `restored` the keys whose value it gives."""

        checkpoint: str
        begin: int | None
        end: int | None
        steps_left: int | None
        micro_batch: int | None
        restored: list[str]

    class SamplesEntry(TypedDict):
        """The data files whose rows were counted, how many of them become training samples at most, and why not exactly so many."""

        files: list[str]
        rows: int | None
        certain: bool
        why: str | None

    class SettingEntry(TypedDict):
        """A setting of a run and where it comes from."""

        key: str
        name: str
        value: ConfigValue
        origin: Origin
        file: str | None
        line: int | None
        because: str
        needs: str | None

    class LargestMicroBatch(TypedDict):
        """The largest micro batch that certainly fits, and the largest that may fit."""

        surely: int | None
        possibly: int | None

    class WouldFit(TypedDict):
        """Changes that together make a run fit, and its peak with them."""

        changes: list[str]
        peak_gib: float

    MemoryEntry = TypedDict(
        "MemoryEntry",
        {
            "peak_gib": float | None,
            "low_gib": float | None,
            "high_gib": float | None,
            "shown_gib": float | None,
            "shown_low_gib": float | None,
            "shown_high_gib": float | None,
            "cards": str | None,
            "available_gib": float | None,
            "verdict": Fit | None,
            "class": Certainty,
            "moment": str | None,
            "terms": dict[str, float | None],
            "largest_micro_batch": LargestMicroBatch,
            "longest_row": int | None,
            "would_fit": WouldFit | None,
            "model": str | None,
            "assumed": list[str],
        },
    )

    class MemoryDrawing(MemoryEntry):
        """The memory of a run with its verdict in words, a one-line description and the terms of every moment, for diagrams."""

        judgement: str
        line: str
        moments: list[tuple[str, dict[str, float]]]

    class WhatIfEntry(TypedDict):
        """A run on the GPUs that are asked about, where its launch sets another number."""

        gpus: int | None
        verdict: Verdict | None
        fails_at: Stage | None
        resolved: dict[str, int | None]

    class SummaryEntry(RunEntry):
        """The output of `explain` for a run."""

        settings: list[SettingEntry]
        memory: MemoryEntry | None
        what_if: WhatIfEntry | None

    class SplitEntry(TypedDict):
        """A micro batch and an accumulation that reach the target."""

        micro_batch: int
        accumulation: int

    class ChosenSplit(SplitEntry):
        """The best split of a plan."""

        feasible: bool
        data_parallel: int
        global_batch: int

    class Alternatives(TypedDict):
        """The nearest global batches that can be reached, and the GPU counts on which the target can."""

        below: int | None
        above: int | None
        gpus: list[int]

    class PlanEntry(TypedDict):
        """A target global batch on one GPU count."""

        gpus: int | None
        nodes: int | None
        global_batch: int
        feasible: bool
        chosen: ChosenSplit | None
        options: list[SplitEntry]
        steps_per_epoch: int | None
        total_steps: int | None
        hours: float | None
        alternatives: Alternatives
        hours_from: Literal["measured", "scaled"] | None
        tokens_per_step: int | None
        bubble: float
        memory: MemoryEntry | None
        warnings: list[str]
        reasons: list[str]
        run: str
        cost: NotRequired[float]
        gpu: NotRequired[str]
        refused: NotRequired[list[str]]

    class AdviceEntry(TypedDict):
        """A setting that was tuned for another global batch size, and the value that a published rule suggests."""

        key: str
        place: str
        value: object
        advised: float
        rule: str

    class PlanTable(TypedDict):
        """The plans of a run; `pace` is the basis of the hours, `gpus_before` the GPUs that its launch line sets."""

        gpus_before: int | None
        before: int | None
        after: int | None
        pace: str
        plans: list[PlanEntry]
        advice: list[AdviceEntry]

    class ValueChangeEntry(TypedDict):
        """A changed value; null before means added, null after means removed."""

        file: str
        key: str
        before: ConfigValue
        after: ConfigValue

    class NeedEntry(TypedDict):
        """A value that must be set outside the files of a run."""

        key: str
        value: int

    class SkippedEntry(TypedDict):
        """An offered fix that was not applied, with the reason."""

        code: str
        file: str
        reason: str

    class RemovedComment(TypedDict):
        """A comment that was removed with its key."""

        file: str
        comment: str

    class FixPlan(TypedDict):
        """The batch sizes that reach a target; null if none do."""

        feasible: bool
        micro_batch: int | None
        accumulation: int | None
        data_parallel: int | None
        global_batch: int

    class FixRunEntry(TypedDict):
        """An entry of `runs` of `fix`; `problem` is present if the run could not be fixed."""

        files: list[str]
        kinds: list[str]
        gpus: int | None
        nodes: int | None
        changed: list[ValueChangeEntry]
        skipped: list[SkippedEntry]
        removed_comments: list[RemovedComment]
        plan: FixPlan | None
        alternatives: Alternatives | None
        needs: list[NeedEntry] | None
        problem: NotRequired[str]

    class PlaceEntry(TypedDict):
        """A range of a file; lines and columns count from 1, in characters."""

        file: str
        line: int
        column: int
        end_line: int
        end_column: int

    class RelatedEntry(TypedDict):
        """Another place involved in a finding."""

        file: str
        line: int
        column: int
        message: str

    class EditEntry(TypedDict):
        """A replacement of the characters from `start` to `end` of the decoded content."""

        file: str
        start: int
        end: int
        text: str

    class FixEntry(TypedDict):
        """An offered fix."""

        title: str
        safe: bool
        edits: list[EditEntry]

    class ReasonEntry(TypedDict):
        """Something that is not known."""

        kind: ReasonKind
        what: str

    class FindingEntry(PlaceEntry):
        """An entry of `diagnostics`; `since` is present if only releases from these on give the finding, and none is pinned, `depends_on`
        if it would be an error if something were known.
        """

        code: str
        name: str
        severity: Severity
        key: str
        message: str
        fails_at: Stage | None
        exception: str | None
        note: str | None
        help: str | None
        related: list[RelatedEntry]
        fix: FixEntry | None
        since: NotRequired[dict[str, str]]
        depends_on: NotRequired[list[ReasonEntry]]
        page: NotRequired[str]

    class ConsequenceEntry(TypedDict):
        """A consequence of a change for the run; `known` is false if the files do not determine it."""

        what: str
        before: ConfigValue
        after: ConfigValue
        factor: float | None
        known: bool
        text: str

    class StateEntry(TypedDict):
        """A setting on one side of a change; `written` is false for a default."""

        value: ConfigValue
        written: bool
        place: str | None

    class SettingChangeEntry(TypedDict):
        """A changed setting; `effect` is false for names, ports and paths."""

        kind: Kind
        key: str
        before: StateEntry
        after: StateEntry
        effect: bool
        notes: list[str]

    class ChangeEntry(TypedDict):
        """A run before and after a change."""

        files: list[str]
        renamed_from: list[str]
        run: str | None
        before: RunEntry | None
        after: RunEntry | None
        consequences: list[ConsequenceEntry]
        settings: list[SettingChangeEntry]
        new: list[FindingEntry]
        gone: list[FindingEntry]
        still: list[str]
        no_effect: bool

    class RuleEntry(TypedDict):
        """A rule, as `cfglint rule --format json` has it."""

        code: str
        name: str
        severity: Severity
        kinds: list[Kind]
        fails_at: Stage | None
        exception: str | None
        summary: str
        page: str
        releases: list[str]

    class DifferenceEntry(TypedDict):
        """A number of a log that differs from that of the files."""

        key: str
        log: int
        config: int
        place: str

    class FailureEntry(TypedDict):
        """A failure that a log shows."""

        line: int
        kind: str
        rank: int | None
        phase: str | None
        summary: str
        exception: str | None
        rules: list[str]
        causes: list[str]
        details: list[str]
        help: str | None
        gpu_memory: float | None

    class BannerEntry(TypedDict):
        """A training banner of a log; a number that is neither printed nor computable is null."""

        line: int
        framework: str
        num_examples: int | None
        num_epochs: int | None
        micro_batch: int | None
        accumulation: int | None
        global_batch: int | None
        total_steps: int | None
        data_parallel: int | None
        steps_per_epoch: int | None
        consistent_with: list[dict[str, str]]
        note: str
        compared: list[str]
        differences: list[DifferenceEntry]

    class NotComparedEntry(TypedDict):
        """Something that changed and that no run shows, with the reason."""

        file: str
        reason: str

    class CheckOutput(TypedDict):
        """The output of `check --format json`."""

        cfglint: str
        runs: list[RunEntry]
        diagnostics: list[FindingEntry]

    class RunsOutput(TypedDict):
        """The output of `runs --format json`."""

        cfglint: str
        runs: list[RunEntry]

    class FixOutput(TypedDict):
        """The output of `fix --format json`."""

        cfglint: str
        runs: list[FixRunEntry]

    class PlanOutput(PlanTable):
        """The output of `plan --format json`."""

        cfglint: str

    class ExplainOutput(SummaryEntry):
        """The output of `explain --format json` for a run."""

        cfglint: str

    class ExplainedRunsOutput(TypedDict):
        """The output of `explain --format json` for several runs."""

        cfglint: str
        runs: list[SummaryEntry]

    class LogOutput(TypedDict):
        """The output of `log --format json`."""

        cfglint: str
        banners: list[BannerEntry]
        failures: list[FailureEntry]

    class ReviewOutput(TypedDict):
        """The output of `review --format json`."""

        cfglint: str
        changes: list[ChangeEntry]
        not_compared: list[NotComparedEntry]
