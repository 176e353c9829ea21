"""Finds the smallest change to a run's files that makes the framework compute a target global batch."""

from __future__ import annotations

from cfglint.batch import equation, solver
from cfglint.evaluate import Unknown
from cfglint.findings.diagnostic import ERROR
from cfglint.findings.setting import OVERRIDE, Batch, Setting, integer
from cfglint.findings.wording import spelled
from cfglint.frameworks import takes_arguments
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.launch.findings import CODE as BROKEN_CONTINUATION
from cfglint.launch.launcher import launcher_of
from cfglint.launch.line import LaunchLine
from cfglint.launch.overrides import Override
from cfglint.launch.program import ProgramCall
from cfglint.rewrite.layout import Layout, layout_on, spread_model
from cfglint.rewrite.resized import Resized, documents_on, with_imposed_count, without_line
from cfglint.rewrite.terms import SourceTerm, Term, by_cost, sources_of, texts_of
from cfglint.rewrite.value_change import ValueChange, count_in
from cfglint.run.checked import CheckedRun
from cfglint.source import CfglintError
from cfglint.source.annotations import Iterator
from cfglint.source.change import EditRefused
from cfglint.source.document import Document, Part, Path
from cfglint.source.python.call import CallDocument
from cfglint.source.record import Record
from cfglint.source.sections import reread_all
from cfglint.source.shell.command import CommandDocument
from cfglint.source.shell.tables import names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.entries import Alternatives
    from cfglint.frameworks.memory.estimate import MicroBatchBound

AUTO = "auto"
BY_HAND = "cfglint does not change the batch of a {title} run: `cfglint explain` shows the keys that set it"
SUGGESTED_MICRO = 4  # suggested for a trainer that is not among the files; only an example, since its memory use is unknown
TRAINER_KEYS = {"micro_batch": "per_device_train_batch_size", "accumulation": "gradient_accumulation_steps"}
INSERTED_FIRST = ("accumulation", "micro_batch", "global_batch", "gpus")

TUNED = names(
    "learning_rate lr min_lr warmup_min_lr warmup_max_lr cycle_min_lr cycle_max_lr warmup warmup_steps warmup_ratio warmup_num_steps"
    " total_num_steps max_steps train_iters lr_decay_iters save_steps eval_steps eval_interval checkpoint_factor"
)
MOST_SAMPLES = 10**9  # maximum global batch: its divisors are found by trial division, and no run needs more


class MissingFactError(CfglintError):
    """A fact that the target needs is unknown; `remedies` maps each argument that supplies it to its meaning."""

    def __init__(self, problem: str, **remedies: str) -> None:
        self.problem = problem
        self.remedies = remedies
        super().__init__(self.text("`{}`"))

    def text(self, argument: str, between: str = "_") -> str:
        """The problem with its remedies, each argument written in a format such as `--{}`, with a mark between its words."""
        options = [f"{what} ({argument.format(name.replace('_', between))})" for name, what in self.remedies.items()]
        return f"{self.problem}: pass {' or '.join(options)}" if options else self.problem

    @property
    def for_command_line(self) -> str:
        return self.text("--{}", "-")


class Need(Record):
    """A value that must be set outside these files, such as an argument of a trainer."""

    key: str
    value: int


class Retarget(Record):
    """A target and the changes to a run that reach it.

    `texts` maps files to their new content; `held` are `"auto"` settings that follow another file's number;
    `before` is the current batch; `needs` are the values that must be set outside these files, and `by_hand` those of these files that
    have to agree with them: then nothing is edited; `unbounded`: the
    current micro batch is unknown, so that only the target limits the new one. `memory_bound` is the largest micro
    batch for the memory of a GPU, if that is known. `planned`: the files cannot be edited to reach the target. `values` are those of
    the keys of a framework that chooses its sizes itself. `layout` are the nodes.
    """

    run: CheckedRun
    gpus: int
    before: Batch | None
    solution: solver.Solution
    texts: dict[str, str] = {}
    changed: list[ValueChange] = []
    held: list[Setting] = []
    needs: list[Need] = []
    by_hand: list[ValueChange] = []
    values: dict[str, int] = {}
    unbounded: bool = False
    planned: bool = False
    memory_bound: MicroBatchBound | None = None
    layout: Layout = Layout(None, None)

    @property
    def feasible(self) -> bool:
        return self.solution.feasible

    @property
    def alternatives(self) -> Alternatives:
        """The nearest targets that can be reached."""
        below, above = (split.global_batch if split else None for split in (self.solution.below, self.solution.above))
        return {"below": below, "above": above, "gpus": self.solution.gpu_counts}

    def after(self) -> CheckedRun:
        """The run with the new contents on the new GPUs; if they cannot be edited, with the batch sizes given from outside."""
        if self.planned:
            facts, keys, chosen = self.run.facts, self.run.configs[0].batch_keys, self.solution.chosen
            by_key = self.values
            if not by_key and chosen is not None:
                sizes = {"micro_batch": chosen.micro_batch, "accumulation": chosen.accumulation}
                by_key = {keys[role]: size for role, size in sizes.items() if role in keys}
            overrides = tuple(Override(key, [str(value)]) for key, value in by_key.items())
            facts = facts.replace(gpus=self.gpus, overrides=(*facts.overrides, *overrides))
            return CheckedRun(self.run.documents, self.run.kinds, facts)
        if self.values and self.texts and self.run.facts.relaunched is not None:
            launched = self.run.facts.relaunched(self.texts, None)
            facts = self.run.facts.started_by(launched)
            return CheckedRun([launched.documents[0], *self.run.documents[1:]], self.run.kinds, facts)
        documents = reread_all(self.run.documents, self.texts)
        return CheckedRun(documents, self.run.kinds, self.run.facts.replace(gpus=self.gpus))


def current_gpus(run: CheckedRun, facts: LaunchFacts) -> int | None:
    """The current GPU count: from --from-gpus, the declaration or a file of the run, else implied by three written sizes."""
    if facts.from_gpus is not None:
        return facts.from_gpus
    if facts.gpus is not None:
        return facts.gpus
    batch = run.batch
    if batch is None or batch.layout.gpus is not None:
        return batch.layout.gpus if batch is not None else None
    return implied_gpus(batch)


def implied_gpus(batch: Batch) -> int | None:
    """The GPU count for which the three written sizes are consistent; None if one of them is not written."""
    terms = (batch.global_batch, batch.micro_batch, batch.accumulation)
    if all(term.written and type(term.value) is int for term in terms):
        return equation.implied_gpus(*(term.value for term in terms), batch.gpus_per_replica)
    return None


def retarget(
    run: CheckedRun,
    facts: LaunchFacts,
    gpus: int | None,
    global_batch: int | None,
    max_micro: int | None,
    *,
    edits: bool = True,
    now: CheckedRun | None = None,
) -> Retarget:
    """Solve for the target and find the fewest edits. `facts` are the current ones; `now` is the run with the edits that other runs
    have made to its files.

    Raises MissingFactError if they do not suffice, and EditRefused if the files cannot be edited to reach the target; without `edits`
    they do not have to be editable.
    """
    refuse_unreadable(run)
    is_set = (not run.launch.machine) if run.launch.line is not None else run.given.gpus is None  # by the launch line or a file
    if is_set and run.facts.from_gpus is not None and run.facts.gpus not in (None, run.facts.from_gpus):
        now_set = f"{run.facts.gpus} ({run.facts.gpus_source})"
        raise EditRefused(f"the current number of GPUs is {now_set}, not {run.facts.from_gpus} as given", 0)
    if edits:
        refuse_lost_arguments(run)
    refuse_unknown_batch(run)
    current = current_gpus(run, facts)
    before = CheckedRun(documents_on(run, current), run.kinds, facts.replace(gpus=current)).batch if current != facts.gpus else run.batch
    gpus = gpus or current
    if gpus is None:
        raise MissingFactError("the GPU count is unknown", gpus="the new one", from_gpus="the current one")
    if gpus != current and spread_model(run):
        first = run.documents[0]
        raise EditRefused(spread_model(run), first.extent[0] if isinstance(first, Part) else 0)
    layout = layout_on(run, gpus)
    resized = resized_run(now or run, gpus, layout, edits)
    command = resized.run.documents[0]
    if isinstance(command, CommandDocument):  # an edit of the script changes all arguments of the batch that are computed from the value
        batch_keys = [item for config in resized.run.configs for item in config.batch_keys.items()]
        command.following = frozenset(key for role, key in batch_keys if role in TRAINER_KEYS)
    after = resized.run.batch
    if before is None or after is None:
        raise MissingFactError("the batch of these files cannot be computed; `check` reports why")
    target = global_batch or kept_batch(run, before, after, gpus)
    if target is None:
        is_stated = facts.from_gpus or (run.launch.line is not None and facts.gpus)
        missing = {} if is_stated else {"from_gpus": "the current GPU count"}
        raise MissingFactError("current global batch is unknown", **missing, global_batch="a target")
    opened = open_terms(run)
    bound = memory_bound(run, facts.replace(gpus=gpus))
    most = max_micro or (bound.size if bound is not None else None)
    problem = problem_of(resized.run, before, after, gpus, target, most, opened)
    problem.gpus_per_node = layout.each
    solution = solver.refused_nodes(problem, layout.refusal) if layout.refusal else solver.solve(problem)
    found = Retarget(run, gpus, before, solution, layout=layout)
    found.memory_bound = bound
    found.unbounded = max_micro is None and bound is None and not positive(before.micro_batch.value)
    if found.feasible:
        try:
            _rewrite(found, resized, opened)
        except EditRefused:
            if edits:
                raise
            found.planned = True
    return found


def resized_run(run: CheckedRun, gpus: int, layout: Layout, edits: bool) -> Resized:
    """The run on another number of GPUs; without `edits` as if its launch line offered them."""
    resized = Resized(CheckedRun(run.documents, run.kinds, run.facts.replace(gpus=gpus))) if layout.refusal else None
    try:
        if resized is None and (run.facts.relaunched is None or layout.after is None):
            resized = without_line(run, gpus, layout.after)
        elif resized is None and layout.after is not None:
            from cfglint.rewrite.resize import resize

            resized = resize(run, layout.after)
    except EditRefused:
        if edits:
            raise
    return with_imposed_count(resized or Resized(CheckedRun(run.documents, run.kinds, run.facts.replace(gpus=gpus))), gpus)


def memory_bound(run: CheckedRun, facts: LaunchFacts) -> MicroBatchBound | None:
    """The largest micro batch for the memory of a GPU under other facts; None if model or card are unknown."""
    if facts.gpu_memory is None:
        return None
    from cfglint.frameworks.memory.estimate import micro_batch_bound

    return micro_batch_bound(CheckedRun(run.documents, run.kinds, facts).configs[0])


def refuse_unreadable(run: CheckedRun) -> None:
    """Raise EditRefused for a file that its parser refuses: no edit has an effect before that is repaired."""
    for config in run.configs:
        for document, problem in config.load_problems:
            if not document.problems and not problem.only_here:
                raise EditRefused(f"{document.path} cannot be loaded: {problem.message}", problem.start)


def refuse_lost_arguments(run: CheckedRun) -> None:
    """Raise EditRefused for a launch whose last arguments do not reach the program: they would take effect with the next repair."""
    line = run.launch.line
    if line is not None and run.facts.relaunched is not None and line.call.lost:
        lost = next(problem.message for problem in line.problems if problem.code == BROKEN_CONTINUATION)
        raise EditRefused(f"{lost}; repair that first", line.call.start)


def refuse_unknown_batch(run: CheckedRun) -> None:
    """Raise MissingFactError for a launch whose program sets the batch in a way that is not known."""
    line = run.launch.line
    if own_loop_settings(run):
        return
    batch, not_read = run.batch, [reason.text for reason in run.not_read if reason.opens]
    if not_read and batch is not None and not (positive(batch.micro_batch.value) and positive(batch.accumulation.value)):
        raise MissingFactError(f"the batch is not known: {'; '.join(not_read)}; set it where it is read")
    if line is None and run.configs and run.documents[0].is_call and "micro_batch" not in run.configs[0].batch_keys:
        written = (
            [f"`{setting.name}` ({setting.place})" for setting in (run.batch.micro_batch, run.batch.accumulation) if setting.written]
            if run.batch
            else []
        )
        raise MissingFactError(
            f"the program has a training loop of its own, which is not edited: set {' and '.join(written) or 'its batch size'}"
        )
    if run.unmodelled:
        raise MissingFactError(f"`{run.unmodelled}` is not modelled, so how it sets its batch is not known")
    if line is not None and run.configs and run.facts.relaunched is not None and "micro_batch" not in run.configs[0].batch_keys:
        modelled = takes_arguments(run.configs[0].kind)
        raise MissingFactError(BY_HAND.format(title=run.configs[0].framework.title) if modelled else unknown_batch(line))


def own_loop_settings(run: CheckedRun) -> dict[str, Setting]:
    """The settings of micro batch and accumulation, by role, of a program's own training loop; empty if its batch is not known."""
    batch = run.batch
    call = loop_call(run)
    if call is None or "micro_batch" in run.configs[0].batch_keys or batch is None:
        return {}
    loop_settings = {"micro_batch": batch.micro_batch, "accumulation": batch.accumulation}
    return loop_settings if batch.micro_batch.written and all(positive(setting.value) for setting in loop_settings.values()) else {}


def loop_call(run: CheckedRun) -> ProgramCall | None:
    """The call that sets up a training loop of the program's own, if that is the run."""
    if not run.configs or run.configs[0].kind != "launch":
        return None
    return next((document for document in run.documents if isinstance(document, ProgramCall) and document.loop is not None), None)


def unknown_batch(line: LaunchLine) -> str:
    program = line.program.string if line.program is not None else ""
    if line.module and program:
        return f"`{program.split('.')[0].split()[0]}` is not modelled, so how it sets its batch is not known"

    source = launcher_of(line).batch_source
    if source:
        return f"`{line.launcher}` takes the batch from {source}, and none that this line names is in the project"
    if line.program is None or not program or not line.program.known:
        return "the program of this launch is not known, nor how it sets its batch"
    name = program.rpartition("/")[2]
    if line.program_path is None:
        return f"`{name}` is not in the project, so how it sets its batch is not known"
    return f"the batch of `{name}` is computed in the program, not by the Trainer"


def kept_batch(run: CheckedRun, before: Batch, after: Batch, gpus: int) -> int | None:
    """The global batch to keep if no target is given: the expected one, the one that the files already reach, else the current one."""
    expected = run.facts.expected_numbers.get("global_batch")
    if expected:
        return expected
    if implied_gpus(after) == gpus and after.problem is None:  # as after an earlier fix
        return after.global_batch.integer
    return before.global_batch.integer if before.problem is None else None


def is_recorded(run: CheckedRun, gpus: int) -> bool:
    """Whether a second fix would change nothing: the files have the total batch or the GPU count, or the project declares it."""
    if run.facts.expected_numbers.get("global_batch") or gpus == current_gpus(run, run.facts):
        return True
    batch = run.batch
    if batch is None:
        return False
    is_launched = run.facts.relaunched is not None and run.facts.gpus is not None  # by a line, which records another number
    sets_count = any("gpus" in config.batch_keys or (config.gpus_key and config.setting(config.gpus_key).written) for config in run.configs)
    return implied_gpus(batch) is not None or sets_count or is_launched


def is_filled_elsewhere(run: CheckedRun) -> bool:
    """Whether a run is a single file whose batch sizes a trainer fills in."""
    return len(run.documents) == 1 and bool(run.configs) and run.configs[0].framework.is_engine and bool(open_terms(run))


def open_terms(run: CheckedRun) -> list[str]:
    """The factors (`micro_batch`, `accumulation`, `global_batch`) that these files leave to a trainer whose file is not among them.

    A DeepSpeed file on its own may have `"auto"`, or no batch key at all; an accelerate file never has one.
    """
    config = run.configs[0]
    if own_loop_settings(run):
        return []
    if "micro_batch" not in config.batch_keys:
        return ["micro_batch", "accumulation"]
    if not config.framework.is_engine:
        return []
    raw = {role: raw_text(config.setting(key)) for role, key in config.batch_keys.items()}
    if not any(written and written != AUTO for written in raw.values()):
        return ["micro_batch", "accumulation"]
    opened = [role for role in ("micro_batch", "accumulation") if raw[role] == AUTO]
    if raw["global_batch"] == AUTO or (opened and raw["global_batch"] is None):
        opened += [role for role in ("micro_batch",) if raw[role] is None]
    if raw["global_batch"] == AUTO and not opened:
        return ["global_batch"]  # the written value must equal the trainer's, which fills in the product
    return opened


def raw_text(setting: Setting) -> str | None:
    """The source of a written scalar; None if it is not written."""
    return setting.node.raw if setting.written and setting.node is not None else None


def positive(value: object) -> bool:
    number = integer(value)
    return number is not None and number > 0


def problem_of(
    run: CheckedRun, before: Batch, after: Batch, gpus: int, target: int, max_micro: int | None, opened: list[str]
) -> solver.SplitProblem:
    """The solver's problem; raises MissingFactError if the target or a parallel size is invalid."""
    if not 0 < target <= MOST_SAMPLES:
        raise MissingFactError(
            f"a global batch must be 1 to {MOST_SAMPLES:,} samples, which these files do not give", global_batch="a target"
        )
    sizes = after.layout
    for size in (sizes.tensor_parallel, sizes.pipeline_parallel, sizes.context_parallel, sizes.sequence_parallel):
        if not isinstance(size, int) or size < 1:
            raise MissingFactError(f"a parallel size of {size} is not a positive integer; `check` reports why")
    micro, accumulation = before.micro_batch.integer, before.accumulation.integer
    bound = max_micro or (micro if micro and micro > 0 else None)
    if bound is None:  # the quotient that the written accumulation allows; one that a trainer sets is only a suggestion, and a small one
        key = run.configs[0].batch_keys.get("accumulation")
        written = integer(run.configs[0].setting(*key.split(".")).value) if key and "accumulation" not in opened else None
        per_replica = target // max(gpus // after.gpus_per_replica, 1)
        bound = max(per_replica // (written or 1), 1) if written is None or written > 0 else per_replica
        bound = min(bound, SUGGESTED_MICRO) if opened and written is None else bound
    if after.problem is None and after.global_batch.integer == target:
        there = after.micro_batch.integer
        if there and there <= bound:  # the files already reach the target, as after an earlier fix
            micro, accumulation = there, after.accumulation.integer
    return solver.SplitProblem(
        gpus,
        target,
        micro,
        accumulation,
        max_micro_batch=bound,
        tensor_parallel=after.gpus_per_replica // sizes.pipeline_parallel,
        pipeline_parallel=sizes.pipeline_parallel,
        rule=run.configs[0].split_rule(),
    )


def _rewrite(found: Retarget, resized: Resized, opened: list[str]) -> None:
    run = resized.run
    chosen_split = found.solution.chosen
    if opened and chosen_split is not None:
        found.needs = [Need(key, getattr(chosen_split, role)) for role, key in TRAINER_KEYS.items()]
    terms = list(_terms(found, run))
    there = [term for term in terms if term.in_file and term.setting.value != term.value]
    before = found.before.global_batch.integer if found.before is not None else None
    there += [source_term for term in there for source_term in sources_of(term, (found.solution.problem.global_batch, before))]
    missing = sorted((term for term in terms if not term.in_file), key=lambda term: INSERTED_FIRST.index(term.role))
    if opened:
        found.by_hand = final_changes([*resized.changed, *(change for term in there for change in term.value_changes())])
        return
    refuse_other_accumulation(run, chosen_split.accumulation if chosen_split is not None else None)
    from cfglint.rewrite.resize import refuse_other_size

    reasons: list[str] = []
    for chosen in by_cost(there, missing):
        try:
            texts = texts_of(chosen)
            if _reached(found, resized, texts, chosen):
                refuse_other_size(run, resized.texts, {**resized.texts, **texts}, found.layout.after)
                found.texts = {**resized.texts, **texts}
                value_changes = final_changes([*resized.changed, *(change for term in chosen for change in term.value_changes())])
                found.changed = with_computed(value_changes, found, run.documents[0], chosen)
                return
        except EditRefused as error:  # noqa: PERF203
            reasons.append(error.message)
    batch = run.batch
    imposed = batch.layout.gpus if batch else None
    because = f": the files set a GPU count of {imposed}" if imposed not in (None, found.gpus) else ""
    key = found.run.configs[0].gpus_key
    if because and key:
        because = f": `{key}` is {imposed}; set it to {found.gpus}, or remove it"
    if reasons and (found.run.placeholders or any(document.is_in_code for document in found.run.documents)):
        because = f": {reasons[0]}"
    raise EditRefused(f"no edit of the batch keys in these files reaches this target{because}{by_hand(terms, found, run)}", 0)


def refuse_other_accumulation(run: CheckedRun, accumulation: int | None) -> None:
    """Raise EditRefused if `accelerate launch` gets an accumulation for a config that is not in the project, where DeepSpeed may use it."""
    line = run.launch.line
    if line is None or line.values is not None:
        return

    option = launcher_of(line).accumulation_option
    if not option:
        return
    value = line.options.value(option)
    if value is not None and value != str(accumulation):
        raise EditRefused(
            f"`accelerate launch` gets `--{option} {value}` with a config that is not in the project; "
            f"set it to {accumulation}, like that of the program, by hand",
            0,
        )


def by_hand(terms: list[Term], found: Retarget, run: CheckedRun) -> str:
    """The values to set by hand, with their files if there are several; empty if the run would not reach the target with them."""
    wrong = [term for term in terms if term.role != "gpus" and term.setting.value != term.value]
    if not wrong or not holds_with(wrong, found, run):
        return ""
    changes = [term.value_changes()[0] for term in wrong]
    is_one_file = len({change.file for change in changes}) == 1
    named = [f"`{change.key.lstrip('/')}` to {spelled(change.after)}" + ("" if is_one_file else f" in {change.file}") for change in changes]
    return f"; set {' and '.join(named)} by hand"


def holds_with(terms: list[Term], found: Retarget, run: CheckedRun) -> bool:
    """Whether the run reaches the target without a new error if some of its keys get their values, however these are written."""
    editable: list[Term] = []
    overrides: list[Override] = []
    for term in terms:
        try:
            texts_of([term])
            editable.append(term)
        except EditRefused:  # noqa: PERF203
            if term.config is not run.configs[0]:
                return False
            overrides.append(Override(".".join(map(str, term.setting.path)), [str(term.value)]))
    try:
        documents = reread_all(run.documents, texts_of(editable))
    except EditRefused:
        return False
    after = CheckedRun(documents, run.kinds, run.facts.replace(overrides=(*run.facts.overrides, *overrides)))
    known = {diagnostic.identity for diagnostic in found.run.diagnostics}
    new = [diagnostic for diagnostic in after.diagnostics if diagnostic.severity == ERROR and diagnostic.identity not in known]
    return computes(after, found) and not new


def final_changes(changes: list[ValueChange]) -> list[ValueChange]:
    """The changes with one entry for a value that was changed twice, and none for one that was changed back."""
    found: dict[tuple[str, str], ValueChange] = {}
    for change in changes:
        place = change.file, change.key
        found[place] = ValueChange(*place, found[place].before if place in found else change.before, change.after)
    return [each for each in found.values() if each.before != each.after]


def with_computed(made: list[ValueChange], found: Retarget, resized: Document, chosen: list[Term]) -> list[ValueChange]:
    """The changes with the final values of the arguments that the script computes from the edited ones."""
    before = found.run.documents[0]
    if not isinstance(before, CommandDocument) or not isinstance(resized, CommandDocument) or before.path not in found.texts:
        return made
    after = found.after().documents[0]
    assert isinstance(after, CommandDocument)
    edited = {str(term.setting.path[0]) for term in chosen if term.is_on_line and not isinstance(term, SourceTerm)}
    for name in resized.following:
        then, now = before.words.get(name), after.words.get(name)
        flag = before.flags.get(name, f"--{name}")
        if name in edited or then is None or now is None:
            continue
        made = [change for change in made if (change.file, change.key) != (before.path, flag)]
        if then != now:
            made.append(ValueChange(before.path, flag, count_in(" ".join(then)), count_in(" ".join(now))))
    return made


def _terms(found: Retarget, after: CheckedRun) -> Iterator[Term]:
    """The batch keys of all files with their values for the target; `"auto"` is set by another file.

    If a DeepSpeed file has no accumulation, accelerate writes 1 into it; `"auto"` passes on the trainer's number. A file without any
    batch size needs a micro batch as well.
    """
    chosen = found.solution.chosen
    if chosen is None:
        return
    micro, accumulation = chosen.pair
    for role, setting in own_loop_settings(after).items():
        call = loop_call(after)
        if setting.written or (call is not None and call.loop is not None and call.loop.accumulates):
            yield Term(after.configs[0], role, setting, micro if role == "micro_batch" else accumulation)
    places: set[tuple[str, Path]] = set()
    for config in after.configs:
        data_parallel = config.batch.data_parallel.integer or 1
        values = {
            "micro_batch": micro,
            "accumulation": accumulation,
            "global_batch": micro * accumulation * data_parallel,
            "gpus": found.gpus,
        }
        for role, key in config.batch_keys.items():
            setting = config.setting(*key.split("."))
            at = setting.at_value
            # The command that starts the run may give a value of its launcher's file as an option.
            line = setting.document if setting.origin == OVERRIDE else None
            is_option = isinstance(line, CommandDocument) and setting.path in line.around
            place = (at.document or config.documents[0]).path, at.path
            if raw_text(setting) == AUTO:
                found.held.append(setting)
            elif place in places:  # the launcher's own config and that of its file have the same number of processes
                continue
            elif (at.written and at.node is not None) or config is after.configs[0] or is_option:
                places.add(place)
                yield Term(config, role, setting, values[role])
            elif role in config.insertable_auto and (role != "accumulation" or accumulation != 1):
                yield Term(config, role, setting, AUTO)


def _reached(found: Retarget, resized: Resized, texts: dict[str, str], chosen_terms: list[Term]) -> bool:
    """Whether each config computes the target from the new contents; raises EditRefused if they change something else of a program."""
    run = resized.run
    documents, facts = reread_all(run.documents, texts), run.facts
    command = run.launch.command
    if facts.relaunched is not None and command is not None and any(path.document.path in texts for path in command.written_elsewhere()):
        launched = facts.relaunched({**resized.texts, **texts}, found.layout.after)  # what the program does with them is evaluated anew
        names = {term.setting.name for term in chosen_terms}
        values = [
            {override.key: override.values for override in overrides if override.key not in names}
            for overrides in (facts.overrides, launched.facts.overrides)
        ]
        if values[0] != values[1]:
            raise EditRefused("the edited program would set other arguments, too", 0)
        documents[0], facts = launched.documents[0], facts.started_by(launched)
    for before, after in zip(run.documents, documents, strict=True):
        if isinstance(before, CallDocument) and isinstance(after, CallDocument):
            terms = [chosen_term for chosen_term in chosen_terms if len(chosen_term.setting.path) == 1 and not chosen_term.is_on_line]
            wanted = {str(term.setting.path[0]): term.value for term in terms}
            from cfglint.source.python.edits import refuse_other_changes

            refuse_other_changes(before, after, {**before.values, **{name: wanted[name] for name in wanted if name in after.values}})
    return computes(CheckedRun(documents, run.kinds, facts), found)


def computes(run: CheckedRun, found: Retarget) -> bool:
    counts = [config.get(config.batch_keys["gpus"]) for config in run.configs if "gpus" in config.batch_keys]
    line = run.launch.line
    if line is not None and line.machine:  # a number of processes that the line counts on its machine
        counts = [count for count in counts if not isinstance(count, Unknown)]
    if any(count != found.gpus for count in counts):
        return False
    own = run.configs[:1] if own_loop_settings(run) else []
    batches = [config.batch for config in run.configs if "micro_batch" in config.batch_keys or config in own]
    chosen = found.solution.chosen
    if chosen is None or not batches or any(batch.problem for batch in batches):
        return False
    splits = {(batch.micro_batch.integer, batch.accumulation.integer) for batch in batches}
    return splits == {chosen.pair} and batches[0].global_batch.integer == chosen.global_batch


def tuned(run: CheckedRun) -> list[Setting]:
    """Settings that depend on the batch size: learning rates, warm-up, step counts; the numbers that the files give for them."""
    return [
        Setting(path, node.raw, "written", document, node, key)
        for document in run.documents
        for path, key, node in document.walk()
        if path and isinstance(path[-1], str) and path[-1].replace("-", "_") in TUNED and node.kind == "scalar" and is_tuned(node.raw)
    ]


def is_tuned(raw: str) -> bool:
    """Whether a value may have been chosen for a batch size: "auto", 0 and -1 for "not set" are not."""
    try:
        return float(raw) > 0
    except ValueError:
        return raw not in (AUTO, "null", "None", "~", "")
