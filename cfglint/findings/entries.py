"""The types of the entries in the JSON output, for mypy; none of them exists at run time."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, TypedDict

    from cfglint.findings.vocabulary import Origin, Stage, Verdict

    class UnknownArgument(TypedDict):
        """A field of a launch that is unknown, and why."""

        field: str
        reason: str

    class LaunchEntry(TypedDict):
        """The known properties of the launch line that starts a run; an unknown number is null."""

        file: str
        line: int
        launcher: str
        program: str | None
        processes: int | None
        gpus_per_node: int | None
        nodes: int | None
        arguments: dict[str, Any]
        conditional: bool
        called_from: str | None
        needs_caller: bool
        unknown: list[UnknownArgument]

    class RunEntryBase(TypedDict):
        """The fields of every entry of `runs`."""

        files: list[str]
        kinds: list[str]
        target: dict[str, str]
        gpus: int | None
        verdict: Verdict | None
        fails_at: Stage | None
        resolved: dict[str, int | None]

    class RunEntry(RunEntryBase, total=False):
        """An entry of `runs`; `launch` is present for a run that a script starts."""

        launch: LaunchEntry

    class SettingEntry(TypedDict):
        """A setting of a run and where it comes from."""

        key: str
        name: str
        value: Any
        origin: Origin
        file: str | None
        line: int | None
        because: str
        needs: str | None

    class LargestMicroBatch(TypedDict):
        """The largest micro batch that certainly fits, and the largest that may fit."""

        surely: int | None
        possibly: int | None

    MemoryEntry = TypedDict(
        "MemoryEntry",
        {
            "peak_gib": float | None,
            "low_gib": float | None,
            "high_gib": float | None,
            "available_gib": float | None,
            "verdict": str | None,
            "class": str,
            "moment": str | None,
            "terms": dict[str, float | None],
            "largest_micro_batch": LargestMicroBatch,
            "assumed": list[str],
        },
    )

    class MemoryDrawing(MemoryEntry):
        """The memory of a run with a one-line description and the terms of every moment, for diagrams."""

        line: str
        moments: list[tuple[str, dict[str, float]]]

    class SummaryEntry(RunEntry):
        """The output of `explain` for a run."""

        settings: list[SettingEntry]
        assumed: list[str]
        memory: MemoryEntry | None

    class Split(TypedDict):
        """A micro batch and an accumulation that reach the target."""

        micro_batch: int
        accumulation: int

    class ChosenSplit(Split):
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
        global_batch: int
        feasible: bool
        chosen: ChosenSplit | None
        options: list[Split]
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

    class AdviceEntry(TypedDict):
        """A setting that was tuned for another global batch size, and the value that a published rule suggests."""

        key: str
        place: str
        value: Any
        advised: float
        rule: str

    class PlanTable(TypedDict):
        """The plans of a run; `pace` is the basis of the hours."""

        before: int | None
        after: int | None
        pace: str
        plans: list[PlanEntry]
        advice: list[AdviceEntry]
