"""The summary of a run: every resolved number with its source."""

from __future__ import annotations

from math import ceil, prod

from cfglint.evaluate import Unknown
from cfglint.findings.diagnostic import ALONE, Diagnostic, Outcome, ReportContext
from cfglint.findings.setting import DEFAULT, DERIVED, Batch, Setting, derived
from cfglint.findings.wording import counted, first_few
from cfglint.frameworks.memory.estimate import RunMemory, missing_for
from cfglint.frameworks.summary import BATCH, GPUS, GROUPS, LAUNCH, LENGTH, Item
from cfglint.rewrite.layout import layout_on
from cfglint.rewrite.plan import Pace
from cfglint.rewrite.retarget import current_gpus, is_filled_elsewhere, resized_run
from cfglint.rules.engine import internal_error
from cfglint.run.checked import CheckedRun
from cfglint.source.annotations import ConfigValue, Iterator
from cfglint.source.document import pointer
from cfglint.source.python.call import CallDocument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.entries import SettingEntry, SummaryEntry, WhatIfEntry

LAYOUT = (
    ("tensor parallel", "tensor_parallel"),
    ("pipeline", "pipeline_parallel"),
    ("context parallel", "context_parallel"),
    ("sequence parallel", "sequence_parallel"),
)


SPLIT = ("wrapped", "bfd_split")  # ways of packing that make several rows of a long sample
CHECKED_BY_ACCELERATE = ("mixed_precision", "dynamo_backend", "log_with")  # by the names that it knows
ROWS = ("longest sample", "sequence length")  # the labels of the most tokens that a row has


class RunSummary:
    """The lines about a run: `items` by group, what is `assumed` about the launch, and the `errors` that keep it from starting.

    `what_if` is the run on the `gpus` that are asked about, if its launch sets another number; `refused_gpus` is why there is none.
    """

    def __init__(self, run: CheckedRun, gpus: int | None = None, pace: Pace | None = None, num_tokens: int | None = None) -> None:
        self.run = run
        self.refused_gpus = ""
        self.what_if = self._on_gpus(gpus) if gpus is not None else None
        self.items: list[Item] = []
        self.assumed: list[str] = []
        self.marks: dict[str, list[int]] = {}
        self.errors: list[Diagnostic] = [diagnostic for diagnostic in run.diagnostics if diagnostic.severity == "error"]
        self.resolved = run.resolved
        summaries = [config.account() for config in run.configs] if run.configs and not run.configs[0].fatal_problems else []
        resumption = run.configs[0].resumption if summaries else None
        if resumption is not None:
            resumption.show(summaries[0])
        samples = run.facts.samples
        if samples is not None and not samples.certain and summaries:
            most = "" if samples.count is None else f"{samples.source}; "
            summaries[0].derive(LENGTH, "samples at most", "samples_at_most", samples.count, f"{most}{samples.why}")
            if samples.count is not None:
                summaries[0].derive(LENGTH, "total steps at most", "steps_at_most", self._steps_of(samples.count), "of so many samples")
        items = [item for summary in summaries for item in summary.items]
        batch = run.batch
        if batch is not None and summaries:
            self._add_launch(batch, [item for item in items if item.group == LAUNCH])
            self._add_batch(batch)
        for item in items:
            self._take(item)
        for summary in reversed(summaries):
            self.marks.update(summary.marks)
        self.unset = [*dict.fromkeys(defaults_taken(run, [item.setting.at_value for item in self.items]))]
        self.assumed += [*self.unset, *([run.assumed] if run.assumed else [])]
        for summary in summaries:
            self.assumed.extend(line for line in summary.assumed if line not in self.assumed)
        self.memory: RunMemory | None = None
        self.memory_flags: list[str] = []  # that are missing for it
        if summaries:
            self.memory, self.memory_flags = run.memory, missing_for(run.configs[0])
            self._add_tokens(num_tokens)
        if pace is not None and summaries:
            self._add_time(pace, resumption.steps_left if resumption is not None else None)
        self._use_filled()
        self.items.sort(key=lambda item: GROUPS.index(item.group))

    @property
    def left_open(self) -> str:
        """What is said of a run without errors instead of the claim that it starts: its trainer, program or values are not known."""
        if is_filled_elsewhere(self.run):
            return "No errors found in this file; a trainer fills in its batch sizes"
        lone = ALONE[len(self.run.documents) > 1] if self.run.is_lone else ""
        if lone and not self.run.launch.lacks_line:
            return lone
        line = self.run.launch.line
        if line is not None and line.lacks_gpus:
            return f"No errors found, but {line.lacks_gpus}"
        not_read = self.run.not_read if not self.run.unmodelled else ()
        if not_read and self.run.assumed:
            return f"No errors found if {self.run.assumed}; not read: {not_read[0].text}"
        if not_read:
            return f"No error in what was read; not read: {'; '.join(reason.text for reason in not_read)}"
        not_known = list(dict.fromkeys(reason.what for reason in self.run.launch.not_known))
        if not not_known and line is not None:  # of a framework that reads the words of the line itself
            values = ((item.setting.name, item.setting.value) for item in self.items)
            not_known = [*dict.fromkeys(f"`{name}`" for name, value in values if isinstance(value, Unknown) and value.reasons)]
        if not not_known:
            not_known = self._undecided()
        return f"No error in what is known; not known: {first_few(not_known)}" if not_known else lone

    def _undecided(self) -> list[str]:
        """What is not known and decides whether a finding is an error, or is given to the `Accelerator`, which checks it."""
        if self.run.verdict is None:  # the reason is told with it
            return []
        deciding = [reason.what for each in self.run.diagnostics for reason in each.depends_on]
        calls = [each for each in self.run.documents if isinstance(each, CallDocument) and each.name == "Accelerator"]
        deciding += [f"`{name}`" for call in calls for name in CHECKED_BY_ACCELERATE if isinstance(call.values.get(name), Unknown)]
        return list(dict.fromkeys(deciding))

    @property
    def fingerprint(self) -> str:
        """What two runs that differ in nothing but their places have in common."""
        values = [(item.group, item.label, str(value_or_auto(item.setting))) for item in self.items if item.label != "output_dir"]
        return repr((self.run.kinds, self.run.verdict, [error.code for error in self.errors], values))

    def _add_time(self, pace: Pace, left: int | None) -> None:
        """The hours of the run, or of what is left of it, and their price, at a measured speed."""
        if pace.seconds_per_step is None and pace.tokens_per_second is None:
            return
        run = self.what_if or self.run
        numbers = run.resolved if left is None else {**run.resolved, "total_steps": left}
        micro, accumulation, gpus = numbers["micro_batch"], numbers["accumulation"], run.facts.gpus
        work = micro * accumulation / pace.share if micro and accumulation and pace.share else 1.0
        hours = pace.hours(numbers, work)
        because = counted(f"{numbers['total_steps']:,}", "step") if numbers["total_steps"] is not None else "the steps"
        because += f" at {pace.measured}"
        if self.what_if is not None:
            because += f", on {counted(gpus, 'GPU')}"
        if pace.source and (work != 1 or pace.gpus != gpus):
            because += f", x {work:.4g} as many samples on a GPU" if work != 1 else ""
            because += ", as if communication cost nothing" if pace.gpus != gpus else ""
        self._derive(LENGTH, "hours", "hours", round(hours, 2) if hours is not None else None, because, needs=self._gpus)
        cost = pace.cost(hours, gpus)
        if cost is not None:
            self._derive(LENGTH, "cost", "cost", round(cost, 2), f"{counted(gpus, 'GPU')} at {pace.gpu_price:g} an hour")

    def _add_tokens(self, data: int | None) -> None:
        """The tokens of an epoch and of the run: exact if all rows are full, else at most; with those of the `data`, its rows."""
        items, numbers = {item.label: item for item in self.items}, self.resolved
        batch, steps, total = (numbers[name] for name in ("global_batch", "steps_per_epoch", "total_steps"))
        row = numbers["seq_length"] or next(
            (length for label in ROWS if (length := integer_of(items.get(label)))), self.run.facts.seq_length
        )
        if row is None or not batch:
            return
        packed = numbers["seq_length"] is not None or "packing" in items
        each, most = row * batch, "" if packed else " at most"
        if numbers["seq_length"] is None:
            self._derive(BATCH, f"tokens per step{most}", "tokens_per_step", each, f"global batch x {row:,}")
        samples = self.run.facts.num_examples if not packed else None
        because = f"{counted(f'{steps:,}', 'step')} x {each:,}" if steps is not None else ""
        tokens = steps * each if steps is not None else None
        if samples is not None:
            because, tokens = f"{samples:,} samples x {row:,}", samples * row
        if "tokens per epoch" not in items and tokens is not None:
            self._derive(LENGTH, f"tokens per epoch{most}", "tokens_per_epoch", tokens, because)
        if total is not None:
            self._derive(LENGTH, f"tokens in all{most}", "tokens", total * each, f"{counted(f'{total:,}', 'step')} x {each:,}")
        if data is not None:
            self._add_rows(data, row, packed, items)

    def _add_rows(self, data: int, row: int, packed: bool, items: dict[str, Item]) -> None:
        """What follows from the number of tokens of the data: full rows are the fewest that hold them, the samples the most."""
        batch, total, samples = self.resolved["global_batch"] or 1, self.resolved["total_steps"], self.run.facts.num_examples
        flag, epochs = f"--num-tokens {data:,}", items["epochs"].setting.known if "epochs" in items else None
        if not packed:
            steps = self.resolved["steps_per_epoch"]
            if total is not None and steps:
                self._derive(LENGTH, "tokens in all", "data_tokens", round(data * total / steps), f"{total / steps:.4g} epochs of {flag}")
            return
        rows = -(-data // row)
        self._derive(LENGTH, "rows at least", "rows_at_least", rows, f"{flag} / {row:,}: all rows full, no sample cut off")
        if total is not None:
            seen = total * batch / rows
            self._derive(LENGTH, "epochs at most", "epochs_at_most", round(seen, 2), f"{total:,} steps x {batch:,} / {rows:,} rows")
            return
        whole = not (strategy := items.get("packing strategy")) or strategy.setting.value not in SPLIT
        for bound, count in (("at least", rows), ("at most", samples if whole else None)):
            if count is not None:
                steps, because = -(-count // batch), f"{count:,} rows / {batch:,}"
                self._derive(LENGTH, f"steps per epoch {bound}", f"steps_per_epoch_{bound[3:]}", steps, because)
                if isinstance(epochs, (int, float)):
                    end = ceil(epochs * steps)
                    self._derive(LENGTH, f"total steps {bound}", f"steps_{bound.replace(' ', '_')}", end, f"{epochs:g} epochs of {steps:,}")

    def _steps_of(self, samples: int) -> int | None:
        """The total steps of the run with so many samples."""
        run = self.run
        return run.with_facts(run.given.replace(num_examples=samples)).resolved["total_steps"]

    def _take(self, item: Item) -> None:
        """Add a line, unless an earlier config has added it."""
        if all((known.group, known.label) != (item.group, item.label) for known in self.items):
            self.items.append(item)

    def _add_launch(self, batch: Batch, own: list[Item]) -> None:
        facts, layout = self.run.facts, batch.layout
        source = facts.gpus_source if layout.gpus == facts.gpus else "the files"
        self._derive(LAUNCH, "GPUs", "gpus", layout.gpus, source, needs=self._gpus)
        size = self.run.size if self.run.launch.line is not None else None
        if size is not None and size.nodes > 1 and size.processes == layout.gpus:
            self._derive(LAUNCH, "nodes", "nodes", size.nodes, f"of {counted(size.per_node, 'GPU')}")
        if layout.gpus is None and batch.problem is None:
            implied = current_gpus(self.run, self.run.facts)
            if implied is not None:
                self._derive(LAUNCH, "GPUs implied", "implied_gpus", implied, "global batch / (micro batch x accumulation)")
        for item in own:
            self._take(item)
        for label, name in LAYOUT:
            size = getattr(layout, name)
            if size != 1 and all(item.label != label for item in own):
                self._derive(LAUNCH, label, name, size, "the files")
        self._derive(LAUNCH, "data parallel", "data_parallel", batch.data_parallel.integer, division(batch), needs=self._gpus)

    def _add_batch(self, batch: Batch) -> None:
        package = self.run.configs[0].release
        for label, setting in (("micro batch", batch.micro_batch), ("accumulation", batch.accumulation)):
            self.items.append(Item(BATCH, label, setting, self._gpus if setting.origin == DERIVED else "", package))
        terms = (batch.micro_batch, batch.accumulation, batch.data_parallel)
        values = [term.integer for term in terms]
        because = " x ".join(str(value) if value is not None else "?" for value in values)
        known = [value for value in values if value is not None]
        if len(known) == len(values) and prod(known) != batch.global_batch.integer:  # computed from another key, as axolotl's batch_size
            because = batch.global_batch.because or because
        if batch.global_batch.written:
            self.items.append(Item(BATCH, "global batch", batch.global_batch, "", package))
        else:
            self._derive(BATCH, "global batch", "global_batch", batch.global_batch.integer, because, needs=self._gpus)
        if batch.consumed_batch is not None and batch.consumed_batch != batch.global_batch.integer:
            self._derive(BATCH, "samples per step", "consumed_batch", batch.consumed_batch, "what one step actually consumes")
        length, tokens = self.resolved["seq_length"], self.resolved["tokens_per_step"]
        if length is not None:
            self._derive(BATCH, "tokens per sample", "seq_length", length, "seq_length")
            self._derive(BATCH, "tokens per step", "tokens_per_step", tokens, f"global batch x {length:,}", needs=self._gpus)

    def _derive(self, group: str, label: str, name: str, value: object, because: str, *, needs: str = "") -> None:
        self.items.append(Item(group, label, derived(name, value, because), needs))

    @property
    def _gpus(self) -> str:
        """The option for the GPU count, if it is unknown."""
        return GPUS if self.run.facts.gpus is None else ""

    def _use_filled(self) -> None:
        """Give each line that shows an `"auto"` the source of its value."""
        fills = [item for item in self.items if item.group == GROUPS[-1]]
        filled = {(place_of(item.setting), item.label.rpartition(".")[2]): item.setting for item in fills}
        absent = {item.label: item.setting for item in fills}  # the values that accelerate adds to the block of its config
        for item in self.items:
            setting = item.setting
            if item.group != GROUPS[-1] and setting.path:
                name = str(setting.path[-1])
                nowhere = setting.written and setting.node is None
                item.setting = absent.get(name, setting) if nowhere else filled.get((place_of(setting), name), setting)

    def _on_gpus(self, gpus: int) -> CheckedRun | None:
        """The run on so many GPUs, if its launch sets another number and can be put on these."""
        run = self.run
        if run.launch.line is None or run.launch.machine or run.facts.gpus in (None, gpus):
            return None

        layout = layout_on(run, gpus)
        self.refused_gpus = layout.refusal
        return resized_run(run, gpus, layout, edits=False).run if not layout.refusal else None

    @property
    def unknown(self) -> list[Item]:
        """The lines whose value depends on a missing flag."""
        return [item for item in self.items if item.unknown]


def integer_of(item: Item | None) -> int | None:
    """The value of a line that is a positive integer."""
    value = item.setting.value if item is not None else None
    return value if type(value) is int and value > 0 else None


def what_if(account: RunSummary) -> WhatIfEntry | None:
    """The run on the GPUs that are asked about as plain values."""
    run = account.what_if
    if run is None:
        return None
    return {"gpus": run.facts.gpus, "verdict": run.verdict, "fails_at": run.fails_at, "resolved": run.resolved}


def division(batch: Batch) -> str:
    """How the data-parallel size is computed from the GPUs; the framework's own description where it is not a plain division."""
    layout = batch.layout
    sizes = [(label, getattr(layout, name)) for label, name in LAYOUT if getattr(layout, name) != 1]
    replica = prod(size for _, size in sizes)
    if not layout.gpus or batch.data_parallel.integer != layout.gpus // max(replica, 1):
        return batch.data_parallel.because
    if not sizes:
        return "every GPU processes its own samples"
    return " / ".join([f"{counted(layout.gpus, 'GPU')}", *(f"{label} {size}" for label, size in sizes)])


def place_of(setting: Setting) -> tuple[str, int] | int:
    """The span of a value, to identify two settings at the same place; the object's identity for an unwritten value."""
    if setting.document is None or setting.node is None or setting.origin == DEFAULT:
        return id(setting)
    return setting.document.path, setting.node.start


def origin(item: Item) -> str:
    """Where a value comes from, for display."""
    setting = item.setting
    if setting.origin == DEFAULT and setting.because in ("", "default"):
        if setting.value is None:
            return "not set"
        return f"default of {item.package}" if item.package else "default"
    return f"{setting.place}, {setting.because}" if setting.is_unknown and setting.place != setting.because else setting.place


def defaults_taken(run: CheckedRun, settings: list[Setting]) -> Iterator[str]:
    """The variables and arguments of a script that are assumed not to be given, as values of its run hang on that."""
    line = run.launch.line
    if line is None:
        return
    scripts = {document.path: document for document in run.documents if document.syntax == "shell"}
    places = [
        (setting.document.path, setting.node.start) for setting in settings if setting.document is not None and setting.node is not None
    ]
    values = (option.value.place for option in line.options.given.values() if option.value is not None)
    for path, start in (*places, *(place[:2] for place in values if place is not None)):
        reason = line.call.assumptions.get((path, start))
        if reason is not None:
            words = f"`{reason.name}` is not given" if reason.kind == "argument" else f"`{reason.name}` is not set"
            yield f"{words} ({path}:{scripts[path].position(start)[0]})" if path in scripts else words


def table(account: RunSummary) -> SummaryEntry:
    return {
        **account.run.outcome().entry(),
        "settings": [entry(item) for item in account.items],
        "assumed": account.assumed,
        "memory": account.memory.entry() if account.memory is not None else None,
        "what_if": what_if(account),
    }


def diagram_context(account: RunSummary) -> ReportContext:
    run = account.run
    texts = {document.path: document.text for document in run.documents}
    asked = run.facts.model is not None or run.facts.gpu_memory is not None
    memory = account.memory.drawn() if asked and account.memory is not None else None
    settings = [entry(item) for item in account.items]
    return ReportContext(texts, settings, account.marks, account.assumed, run.facts.complete, memory, account.left_open)


def outcome_with_context(account: RunSummary) -> Outcome:
    outcome = account.run.outcome()
    outcome.context = diagram_context(account)
    return outcome


def explained(run: CheckedRun) -> Outcome:
    """The outcome of a run with the values of its diagrams; an exception in the summary is reported like every bug in cfglint."""
    try:
        return outcome_with_context(RunSummary(run))
    except Exception as error:
        outcome = run.outcome()
        outcome.diagnostics.append(internal_error("explaining the run", error, run.documents[0]))
        return outcome


def value_or_auto(setting: Setting) -> ConfigValue:
    """The value of a setting, null if it is unknown; `auto` if it is written so and filled by its consumer with an unknown number."""
    if setting.value is None and setting.written and setting.node is not None and setting.node.raw == "auto":
        return "auto"
    return None if isinstance(setting.value, Unknown) else setting.value


def entry(item: Item) -> SettingEntry:
    """One setting; `file` and `line` are null for an unwritten value."""
    setting, at = item.setting, item.setting.at_value
    written = at.document is not None and at.node is not None and at.origin != DEFAULT
    return {
        "key": pointer(setting.path) if setting.document is not None and setting.document.syntax == "shell" else setting.pointer,
        "name": item.label,
        "value": value_or_auto(setting),
        "origin": setting.origin,
        "file": at.document.path if written and at.document else None,
        "line": at.document.position(at.node.start)[0] if written and at.document and at.node else None,
        "because": setting.because if setting.origin != DEFAULT else origin(item),
        "needs": item.needs if item.unknown else None,
    }
