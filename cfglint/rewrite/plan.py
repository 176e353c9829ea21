"""A target global batch on each of several GPU counts: batch sizes, steps, tokens, time, and the settings tuned for the old batch."""

from __future__ import annotations

from math import sqrt

from cfglint.findings.setting import Setting
from cfglint.findings.wording import counted, spelled
from cfglint.rewrite.own_sizes import reach_target
from cfglint.rewrite.retarget import Retarget, current_gpus, tuned
from cfglint.run.checked import CheckedRun
from cfglint.source.annotations import Sequence
from cfglint.source.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.entries import PlanEntry, PlanTable

RATES = frozenset(("learning_rate", "lr", "min_lr", "warmup_min_lr", "warmup_max_lr", "cycle_min_lr", "cycle_max_lr"))
COUNTS = frozenset(
    """
    warmup_steps warmup_num_steps total_num_steps max_steps train_iters lr_decay_iters save_steps eval_steps logging_steps eval_interval
    checkpoint_factor
    """.split()
)
LINEAR = "linear rule, for SGD with warm-up (Goyal et al. 2017, arXiv 1706.02677)"
SQUARE_ROOT = "square-root rule, for Adam and AdamW (Malladi et al. 2022, arXiv 2205.10287)"


class Pace(Record):
    """The speed of the run as it was measured on the current number of GPUs; both values are None if unknown.

    `share`: the samples of a GPU and step in the run of the log `source`, if it was measured there. `row`: the tokens of a sample that the
    user states.
    """

    seconds_per_step: float | None = None
    tokens_per_second: float | None = None
    gpus: int | None = None  # the number of GPUs of the measurement
    gpu_price: float | None = None  # of a GPU for an hour
    share: float | None = None
    source: str = ""
    row: int | None = None

    def cost(self, hours: float | None, gpus: int | None) -> float | None:
        return hours * gpus * self.gpu_price if hours is not None and gpus is not None and self.gpu_price is not None else None

    @property
    def measured(self) -> str:
        if self.seconds_per_step is not None:
            of_log = f" in {self.source}" if self.source else ""
            return f"{self.seconds_per_step:.4g} seconds per step{of_log}"
        return f"{self.tokens_per_second:g} tokens per second"

    def hours(self, numbers: dict[str, int | None], work: float) -> float | None:
        """The hours of the entire run, whose GPUs have `work` times as many samples per step as measured; None for unknown steps."""
        total, tokens, samples = numbers["total_steps"], numbers["tokens_per_step"], numbers.get("consumed_batch")
        if tokens is None and self.row is not None and samples is not None:
            tokens = samples * self.row
        if total is None:
            return None
        if self.seconds_per_step is not None:
            return total * (self.seconds_per_step * work) / 3600
        if self.tokens_per_second is not None and tokens is not None:
            return total * tokens / self.tokens_per_second / 3600
        return None


class Plan:
    """A target global batch on one GPU count, with the resulting numbers.

    `scaled`: the hours are not of the run that was measured, but follow from it. `bugs` are internal errors on the way. `card` is one of
    several that are compared, `refusals` what is refused on it.
    """

    card: str | None = None
    refusals: Sequence[str] = ()

    def __init__(self, found: Retarget, pace: Pace, alone: bool = False) -> None:
        self.gpus, self.pace = found.gpus, pace
        self.retarget = found
        after = found.after() if found.feasible else None
        self.numbers = after.resolved if after is not None else dict.fromkeys(("steps_per_epoch", "total_steps", "tokens_per_step"))
        self.memory = after.memory if after is not None else None
        self.bugs = after.bug_reports if after is not None else []
        work = work_of(found, pace.gpus, alone, pace.share)
        self.scaled = work != 1 or (pace.gpus is not None and found.gpus != pace.gpus)
        self.hours = None if work is None else pace.hours(self.numbers, work)
        if self.hours is not None and pace.seconds_per_step is None and pace.gpus is not None:  # a throughput is that of all GPUs together
            self.hours *= pace.gpus / self.gpus
        self.cost = pace.cost(self.hours, found.gpus)


def work_of(found: Retarget, measured_on: int | None, alone: bool, share: float | None = None) -> float | None:
    """The samples per GPU and step relative to those measured, on unknown GPUs on the only count asked about; None if unknown."""
    split = found.solution.chosen
    if split is not None and share is not None:
        return split.micro_batch * split.accumulation / share
    if split is None or (measured_on is None and not alone):
        return None
    if measured_on is None:
        return 1.0
    before = found.before
    if before is None or before.problem is not None:
        return None
    micro, accumulation = before.micro_batch.integer, before.accumulation.integer
    return split.micro_batch * split.accumulation / (micro * accumulation) if micro and accumulation else None


class Advice(Record):
    """A setting that was tuned for another global batch size, and the value that a published rule suggests. Never applied."""

    setting: Setting
    value: float
    rule: str


def plan(run: CheckedRun, gpu_counts: Sequence[int | None], global_batch: int | None, max_micro: int | None, pace: Pace) -> list[Plan]:
    """A plan for each GPU count; `global_batch` None keeps the current one. Raises MissingFactError for missing facts."""
    pace.gpus = pace.gpus if pace.source else current_gpus(run, run.facts)
    alone = len(gpu_counts) == 1
    return [Plan(reach_target(run, run.facts, gpus, global_batch, max_micro, edits=False), pace, alone) for gpus in gpu_counts]


def table(plans: list[Plan], pace: Pace | None = None) -> PlanTable:
    """The plans as plain values, for reports; `pace` is the basis of the hours."""
    batch = plans[0].retarget.before if plans else None
    before = batch.global_batch.integer if batch is not None and batch.problem is None else None
    targets = {plan.retarget.solution.problem.global_batch for plan in plans}
    after = targets.pop() if len(targets) == 1 else None
    notes = advice(plans[0].retarget.run, before, after) if plans and before and after else []
    line = plans[0].retarget.run if plans and plans[0].retarget.run.launch.line is not None else None
    # What is refused on some of the cards, and not on all, is said of these.
    everywhere = set.intersection(*(set(plan.refusals) for plan in plans)) if plans else set()
    entries = [entry(plan) for plan in plans]
    for plan, plan_entry in zip(plans, entries, strict=True):
        refusals = [text for text in plan.refusals if text not in everywhere]
        if refusals:
            plan_entry["refused"] = refusals
    return {
        "gpus_before": line.facts.gpus if line is not None and not line.launch.machine else None,
        "before": before,
        "after": after,
        "pace": bases(plans, pace) if pace is not None else "",
        "plans": entries,
        "advice": [
            {"key": note.setting.name, "place": note.setting.place, "value": note.setting.value, "advised": note.value, "rule": note.rule}
            for note in notes
        ],
    }


def joined(tables: list[PlanTable]) -> PlanTable:
    """The plans of several runs as one table, without what belongs to each of them alone."""
    return {
        "gpus_before": None,
        "before": None,
        "after": None,
        "pace": "",
        "plans": [each for one in tables for each in one["plans"]],
        "advice": [],
    }


def bases(plans: list[Plan], pace: Pace) -> str:
    """The basis of the hours, for each of several cards."""
    cards = dict.fromkeys(plan.card for plan in plans)
    if len(cards) < 2:
        return basis(plans, pace)
    groups = ((card, [plan for plan in plans if plan.card == card]) for card in cards)
    return "; ".join(f"{card}: {text}" for card, group in groups if (text := basis(group, group[0].pace)))


def basis(plans: list[Plan], pace: Pace) -> str:
    """The basis of the hours, or the fact that is missing for them; empty without a measured speed."""
    if pace.seconds_per_step is None and pace.tokens_per_second is None:
        return ""
    timed = [each for each in plans if each.hours is not None]
    if not timed:
        if pace.tokens_per_second is not None and pace.row is None and all(each.numbers["tokens_per_step"] is None for each in plans):
            return "unknown: the files do not give the tokens per sample; pass --seq-length N, or --time-per-step"
        if any(each.numbers["total_steps"] is not None for each in plans):
            return f"unknown: pass --from-gpus N, the GPU count on which {pace.measured} were measured"
        return "unknown: the total steps are needed (--num-examples N)"
    where = f"on {counted(pace.gpus, 'GPU')}" if pace.gpus is not None else "on these GPUs"
    if not any(each.scaled for each in timed):
        return f"{pace.measured} measured {where}"
    return f"{pace.measured} measured {where}; with ~ scaled by the samples of each GPU, as if communication cost nothing"


def entry(each: Plan) -> PlanEntry:
    """One plan: the keys of the JSON output, then additional ones for display."""
    solution = each.retarget.solution
    chosen = solution.chosen
    found: PlanEntry = {
        "gpus": each.gpus,
        "nodes": each.retarget.layout.after.nodes if each.retarget.layout.after is not None else None,
        "global_batch": solution.problem.global_batch,
        "feasible": solution.feasible,
        "chosen": {
            "feasible": True,
            "micro_batch": chosen.micro_batch,
            "accumulation": chosen.accumulation,
            "data_parallel": chosen.data_parallel,
            "global_batch": chosen.global_batch,
        }
        if chosen
        else None,
        "options": [{"micro_batch": split.micro_batch, "accumulation": split.accumulation} for split in solution.options],
        "steps_per_epoch": each.numbers["steps_per_epoch"],
        "total_steps": each.numbers["total_steps"],
        "hours": each.hours,
        "alternatives": each.retarget.alternatives,
        "hours_from": None if each.hours is None else "scaled" if each.scaled else "measured",
        "tokens_per_step": each.numbers["tokens_per_step"],
        "bubble": solution.bubble,
        "memory": each.memory.entry() if each.memory is not None else None,
        "warnings": solution.warnings,
        "reasons": reasons_of(each.retarget),
        "run": each.retarget.run.written_at,
    }
    if each.card is not None:
        found["gpu"] = each.card
    if each.cost is not None:
        found["cost"] = round(each.cost, 2)
    return found


def reasons_of(found: Retarget) -> list[str]:
    """The reasons for a plan; if only the number of GPUs in a file or line changes, that change."""
    chosen, problem = found.solution.chosen, found.solution.problem
    if chosen is None or not found.changed or chosen.pair != (problem.micro_batch, problem.accumulation):
        return found.solution.reasons
    changes = ", ".join(
        f"`{change.key.rpartition('/')[2]}` {spelled(change.before)} -> {spelled(change.after)}" for change in found.changed
    )
    return [f"micro batch and accumulation unchanged; {changes}", *found.solution.reasons[1:]]


def advice(run: CheckedRun, before: int, after: int) -> list[Advice]:
    """The values that published scaling rules suggest for settings tuned for the batch `before`."""
    ratio = after / before
    advices: list[Advice] = []
    for setting in tuned(run) if ratio != 1 else ():
        name = str(setting.path[-1]).replace("-", "_")
        try:
            value = float(setting.value)
        except (TypeError, ValueError):
            continue
        if value and name in RATES:
            advices.append(Advice(setting, value * ratio, LINEAR))
            advices.append(Advice(setting, value * sqrt(ratio), SQUARE_ROOT))
        elif name in COUNTS and value >= 1:
            advices.append(Advice(setting, max(round(value / ratio), 1), "the same number of samples"))
    return advices
