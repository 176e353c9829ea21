"""A run and a target -> the fewest changes to its files that make the framework compute that target."""

from __future__ import annotations

from itertools import combinations

from cfglint.batch import equation, solver
from cfglint.frameworks.setting import Setting
from cfglint.run.checked import CheckedRun
from cfglint.run.loaded import integer
from cfglint.source import edit
from cfglint.source.edit import Change
from cfglint.source.sections import in_file, reread, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cfglint.frameworks.base import Batch, Config, LaunchFacts
    from cfglint.source.document import Document

INSERTED_FIRST = ("accumulation", "micro_batch", "global_batch", "gpus")

TUNED = frozenset(
    [
        "learning_rate",
        "lr",
        "min_lr",
        "warmup_min_lr",
        "warmup_max_lr",
        "cycle_min_lr",
        "cycle_max_lr",
        "warmup",
        "warmup_steps",
        "warmup_ratio",
        "warmup_num_steps",
        "total_num_steps",
        "max_steps",
        "train_iters",
        "lr_decay_iters",
        "save_steps",
        "eval_steps",
        "logging_steps",
        "eval_interval",
        "checkpoint_factor",
    ]
)


MOST_SAMPLES = 10**9  # of a global batch: its divisors are found by trial, and no run comes near


class Unknown(Exception):
    """Something that the target needs is not known; the text names the flags that tell it."""


class ValueChange:
    """One value that was changed: None before means that the key was added."""

    __slots__ = ("after", "before", "file", "key")

    def __init__(self, file: str, key: str, before: object, after: object) -> None:
        self.file = file
        self.key = key
        self.before = before
        self.after = after


class Retarget:
    """What a target asks of a run.

    `texts` maps files to their new text; `held` are `"auto"` settings that follow another file's number;
    `before` is today's batch.
    """

    def __init__(self, run: CheckedRun, gpus: int, before: Batch | None, solution: solver.Solution) -> None:
        self.run = run
        self.gpus = gpus
        self.before = before
        self.solution = solution
        self.texts: dict[str, str] = {}
        self.changed: list[ValueChange] = []
        self.held: list[Setting] = []

    @property
    def feasible(self) -> bool:
        """Whether the target can be reached."""
        return self.solution.feasible

    def after(self) -> CheckedRun:
        """The run with the new texts on the new GPUs."""
        return CheckedRun(rewritten(self.run, self.texts), self.run.kinds, self.run.facts.but(gpus=self.gpus))


def today(run: CheckedRun, facts: LaunchFacts) -> int | None:
    """Today's GPU count: said by --from-gpus, the declaration or a file of the run, else implied by three written sizes."""
    if facts.from_gpus is not None:
        return facts.from_gpus
    if facts.gpus is not None:
        return facts.gpus
    batch = run.batch
    if batch is None:
        return None
    if batch.layout.gpus is not None:
        return batch.layout.gpus
    terms = (batch.global_batch, batch.micro_batch, batch.accumulation)
    if all(term.written and type(term.value) is int for term in terms):
        return equation.implied_gpus(*(term.value for term in terms), model_size(batch))
    return None


def model_size(batch: Batch) -> int:
    """GPUs that share one batch: as the framework's own divisor has it, else the product of the parallel sizes."""
    layout = batch.layout
    ways = integer(batch.data_parallel.value)
    if ways and layout.gpus and layout.gpus % ways == 0:
        return layout.gpus // ways
    return layout.tensor_parallel * layout.pipeline_parallel * layout.context_parallel * layout.sequence_parallel


def retarget(run: CheckedRun, facts: LaunchFacts, gpus: int | None, global_batch: int | None, max_micro: int | None) -> Retarget:
    """Solve for the target and find the fewest edits. `facts` are today's; Unknown when they do not suffice."""
    current = today(run, facts)
    before = CheckedRun(run.documents, run.kinds, facts.but(gpus=current)).batch if current != facts.gpus else run.batch
    gpus = gpus or current
    if gpus is None:
        raise Unknown("on how many GPUs? Say it with --gpus N, or today's count with --from-gpus N")
    after = CheckedRun(run.documents, run.kinds, facts.but(gpus=gpus))
    layout = after.batch
    if before is None or layout is None:
        raise Unknown("the batch of these files cannot be resolved; `cfglint check` says why")
    target = global_batch or (integer(before.global_batch.value) if before.problem is None else None)
    if target is None:
        raise Unknown("today's global batch is not known: say today's GPU count with --from-gpus N, or the target with --global-batch G")
    solution = solver.solve(problem_of(before, layout, gpus, target, max_micro))
    found = Retarget(run, gpus, before, solution)
    if found.feasible:
        _rewrite(found, facts.but(gpus=gpus))
    return found


def problem_of(before: Batch, layout: Batch, gpus: int, target: int, max_micro: int | None) -> solver.Problem:
    """The solver's problem; Unknown when nothing bounds the micro batch, or the target or a parallel size makes no sense."""
    if not 0 < target <= MOST_SAMPLES:
        raise Unknown(f"a global batch has 1 to {MOST_SAMPLES:,} samples, and these files ask for another; say it with --global-batch G")
    micro = integer(before.micro_batch.value)
    accumulation = integer(before.accumulation.value)
    if (micro is None or micro < 1) and max_micro is None:
        raise Unknown(
            "today's micro batch is not known, and it is the bound for the new one: "
            "say today's GPU count with --from-gpus N, or a bound with --max-micro-batch M"
        )
    bound = max_micro or micro
    if layout.problem is None and integer(layout.global_batch.value) == target:
        there = integer(layout.micro_batch.value)
        if there and bound and there <= bound:  # what stands there does it, as after an earlier fix
            micro, accumulation = there, integer(layout.accumulation.value)
    sizes = layout.layout
    pipeline = sizes.pipeline_parallel
    for size in (sizes.tensor_parallel, pipeline, sizes.context_parallel, sizes.sequence_parallel):
        if not isinstance(size, int) or size < 1:
            raise Unknown(f"a parallel size of {size} is no whole number above 0; `cfglint check` says more")
    return solver.Problem(
        gpus,
        target,
        micro,
        accumulation,
        max_micro_batch=bound,
        tensor_parallel=model_size(layout) // pipeline,
        pipeline_parallel=pipeline,
    )


class Term:
    """A batch key of a file: its role in the equation, and what it has to become."""

    __slots__ = ("config", "role", "setting", "value")

    def __init__(self, config: Config, role: str, setting: Setting, value: int) -> None:
        self.config = config
        self.role = role
        self.setting = setting
        self.value = value

    def change(self) -> tuple[Document, Change]:
        """The change of a file that gives the key its value, in its place or as a new key."""
        document = self.setting.document or self.config.documents[0]
        path = in_file(document, self.setting.path)
        if self.setting.written:
            return whole(document), Change(edit.REPLACE, path, text=edit.spell(self.value, document, self.setting.node))
        return whole(document), Change(edit.INSERT, path[:-1], str(path[-1]), edit.spell(self.value, document))


def _rewrite(found: Retarget, facts: LaunchFacts) -> None:
    terms = list(_terms(found, facts))
    there = [term for term in terms if term.setting.written and term.setting.value != term.value]
    missing = sorted((term for term in terms if not term.setting.written), key=lambda term: INSERTED_FIRST.index(term.role))
    for chosen in _by_cost(there, missing):
        texts = _texts(chosen)
        if texts is not None and _reached(found, facts, texts):
            found.texts = {path: text for path, text in texts.items() if chosen}
            found.changed = [
                ValueChange(
                    (term.setting.document or term.config.documents[0]).path,
                    term.setting.pointer,
                    term.setting.value if term.setting.written else None,
                    term.value,
                )
                for term in chosen
            ]
            return
    batch = CheckedRun(found.run.documents, found.run.kinds, facts).batch
    imposed = batch.layout.gpus if batch else None
    because = f": the files impose a GPU count of {imposed}" if imposed not in (None, found.gpus) else ""
    raise edit.EditRefused(f"no change of the batch keys makes the framework compute this target{because}", 0)


def _terms(found: Retarget, facts: LaunchFacts) -> Iterator[Term]:
    """The batch keys of all files with the values that the target gives them; `"auto"` is held by another file."""
    chosen = found.solution.chosen
    if chosen is None:
        return
    micro, accumulation = chosen.pair
    after = CheckedRun(found.run.documents, found.run.kinds, facts)
    for config in after.configs:
        ways = integer(config.batch.data_parallel.value) or 1
        values = {"micro_batch": micro, "accumulation": accumulation, "global_batch": micro * accumulation * ways, "gpus": found.gpus}
        for role, key in config.batch_keys.items():
            setting = config.setting(*key.split("."))
            if setting.node is not None and setting.written and setting.node.raw == "auto":
                found.held.append(setting)
            elif setting.written or config is after.configs[0]:
                yield Term(config, role, setting, values[role])


def _by_cost(there: list[Term], missing: list[Term]) -> Iterator[list[Term]]:
    """Sets of changes, those without a new key first, then the smaller ones."""
    for new in range(len(missing) + 1):
        for added in combinations(missing, new):
            for size in range(len(there) + 1):
                for replaced in combinations(there, size):
                    yield [*replaced, *added]


def _texts(chosen: list[Term]) -> dict[str, str] | None:
    """The files' new texts; None when an edit is refused."""
    changes: dict[str, tuple[Document, list[Change]]] = {}
    for term in chosen:
        document, change = term.change()
        changes.setdefault(document.path, (document, []))[1].append(change)
    try:
        return {path: edit.apply(document, each) for path, (document, each) in changes.items()}
    except edit.EditRefused:
        return None


def _reached(found: Retarget, facts: LaunchFacts, texts: dict[str, str]) -> bool:
    """Whether the framework computes the target from the new texts, in every config of the run."""
    run = CheckedRun(rewritten(found.run, texts), found.run.kinds, facts)
    if any(config.get(config.batch_keys["gpus"]) != found.gpus for config in run.configs if "gpus" in config.batch_keys):
        return False
    batches = [config.batch for config in run.configs if "micro_batch" in config.batch_keys]
    chosen = found.solution.chosen
    if chosen is None or not batches or any(batch.problem for batch in batches):
        return False
    splits = {(integer(batch.micro_batch.value), integer(batch.accumulation.value)) for batch in batches}
    return splits == {chosen.pair} and integer(batches[0].global_batch.value) == chosen.global_batch


def rewritten(run: CheckedRun, texts: dict[str, str]) -> list[Document]:
    """The documents of a run, those with a new text parsed anew."""
    return [reread(each, texts[each.path]) if each.path in texts else each for each in run.documents]


def tuned(run: CheckedRun) -> list[Setting]:
    """Settings that people tune for a batch: learning rates, warm-up, step counts; as written in the files."""
    settings = []
    for document in run.documents:
        for path, key, node in document.walk():
            if path and isinstance(path[-1], str) and path[-1].replace("-", "_") in TUNED and node.kind == "scalar":
                settings.append(Setting(path, node.raw, "written", document, node, key))
    return settings
