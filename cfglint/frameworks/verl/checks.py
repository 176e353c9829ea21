"""What a verl run refuses, in the order of its stages: the rows of its functions and classes, then what is by hand."""

from __future__ import annotations

import functools

from cfglint.findings.wording import spelled
from cfglint.frameworks.refusal import Refusal, Words
from cfglint.frameworks.releases.versions import Version
from cfglint.frameworks.rows.evaluation import value_at
from cfglint.frameworks.rows.expressions import Raised, walk
from cfglint.frameworks.rows.refusals import Check, Pages, Plan, unknown_field
from cfglint.frameworks.rows.table import table_of
from cfglint.frameworks.verl import KIND
from cfglint.frameworks.verl.by_hand import CHECKS, CONFIG, INIT, INSTANTIATION, STEP, too_few
from cfglint.frameworks.verl.sizes import (
    ACTOR,
    BATCH,
    CRITIC,
    CRITIC_GLOBAL_MICRO,
    CRITIC_MICRO,
    CRITIC_MINI,
    GLOBAL_MICRO,
    LOG_PROB,
    MICRO,
    MINI,
    REF,
    ROLLOUT,
    SAMPLES,
    STRATEGY,
    Sizes,
    uses_critic,
    uses_reference,
)
from cfglint.frameworks.verl.values import ComposedConfig
from cfglint.source.annotations import Any, Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.vocabulary import Stage
    from cfglint.frameworks.rows.expressions import Path, Row
    from cfglint.frameworks.rows.reasons import Condition

STAGES = (CONFIG, INIT, STEP)
TARGET = "_target_"  # the class of the object that Hydra makes of a section
WORLD, ROWS = "world_size", "train_dataloader"
KEPT = ("adv_estimator", "strategy", "use_dynamic_bsz", "name", "nnodes", "n_gpus_per_node", "do_sample", "enable", "mode")
# Keys that the finding is at, where the condition has several.
PLACES = {
    "VRL011": ("algorithm.kl_ctrl.type", STRATEGY),
    "VRL012": ("critic.strategy",),
    "VRL013": (f"{ACTOR}.megatron.tensor_model_parallel_size",),
    "VRL014": (BATCH, SAMPLES),
    "VRL015": (MICRO, f"{REF}.{LOG_PROB}_per_gpu", f"{ROLLOUT}.{LOG_PROB}_per_gpu", CRITIC_MICRO),
    "VRL016": (GLOBAL_MICRO, f"{REF}.{LOG_PROB}", f"{ROLLOUT}.{LOG_PROB}", CRITIC_GLOBAL_MICRO),
    "VRL017": (MINI, CRITIC_MINI),
    "VRL018": (GLOBAL_MICRO, CRITIC_GLOBAL_MICRO, f"{ROLLOUT}.{LOG_PROB}"),
    "VRL020": tuple(f"{section}.ulysses_sequence_parallel_size" for section in (REF, ACTOR, CRITIC)),
    "VRL021": (f"{ROLLOUT}.temperature", "actor_rollout_ref.model.lora_rank"),
    "VRL022": (BATCH,),
    "VRL023": (f"{ROLLOUT}.tensor_model_parallel_size",),
    "VRL024": (MICRO, CRITIC_MICRO),
    "VRL025": (f"{ROLLOUT}.log_prob_use_dynamic_bsz",),
    "VRL029": tuple(f"{section}.ulysses_sequence_parallel_size" for section in (ACTOR, CRITIC)),
}
MACHINE: dict[tuple[str, ...], str | None] = {("use_critic",): "", ("use_reference_policy",): "", (WORLD,): "", (ROWS,): ""}
MESSAGES = {"VRL015": "neither `{0}` nor `{1}` is set", "VRL016": "`{0}` and `{1}` cannot be set together"}
ARITHMETIC = [[operator] for operator in ("*", "//", "%", "*=", "//=", "<", ">", "<=", ">=")]  # and comparison by size
OF_A_SIZE, OF_GLOBAL, OF_ROWS, OF_GROUPS = "VRL010", "VRL018", "VRL022", "VRL029"


class RowPages(Pages):
    """The page of a row; its words have the exception and the keys, too."""

    def __call__(self, row: Row, failed: str = "") -> str:
        if failed == "TypeError":
            return OF_A_SIZE
        say = row.get("say", "")
        text = say if isinstance(say, str) else "".join(part for part in say[1:] if isinstance(part, str))
        words = f"{failed or row.get('raise')}: {text} [{', '.join(sorted(set(leaves(row['when']))))}] {row.get('key', '')}"
        return max(((len(mark), code) for mark, code in self.marks if mark in words), default=(0, OF_A_SIZE if failed else self.others))[1]


def leaves(part: Any) -> Iterator[str]:
    """The last steps of the keys in a condition."""
    if isinstance(part, list) and part[:1] in (["attr"], ["get"]):
        yield str(part[2])
    else:
        for inner in part if isinstance(part, list) else ():
            yield from leaves(inner)


@functools.cache
def pages() -> RowPages:
    return RowPages(KIND)


def exceptions(_: str) -> Iterator[tuple[str, str]]:
    """The page and the text of every exception that the checks raise."""
    return table_of(KIND).messages(lambda _, row: pages()(row))


@functools.lru_cache(maxsize=32)
def plan(release: Version, parts: frozenset[str], targets: frozenset[tuple[str, str]]) -> Plan:
    """The rows of a release for sections with these classes, of the functions for all runs and those of some parts; without their
    conditions on the classes of sections.
    """
    rows: dict[Stage, list[Row]] = {CONFIG: [], INIT: []}
    for stage, found in rows.items():
        for function in table_of(KIND).functions(stage, release):
            for row in function.rows if "-" not in function.name or function.name in parts else ():
                asked = [guard for guard in row["when"] if is_about_class(guard)]
                if all((dotted(guard[1][1]), guard[2]) in targets for guard in asked):
                    found.append({**row, "when": [guard for guard in row["when"] if guard not in asked]})
    return Plan(rows)


def is_about_class(guard: Any) -> bool:
    """Whether a condition is about the class of the object that Hydra makes of a section."""
    return isinstance(guard, list) and guard[0] == "==" and isinstance(guard[1], list) and guard[1][-1] == TARGET


def dotted(section: Any) -> str:
    """The dotted key of a section in a row."""
    return f"{dotted(section[1])}.{section[2]}" if section[0] == "attr" else str(section[1])


def classes_of(values: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """(dotted key, class) of the sections that become objects."""
    for name, value in values.items() if isinstance(values, dict) else ():
        if name == TARGET:
            yield key, str(value)
        elif isinstance(value, dict):
            yield from classes_of(value, f"{key}.{name}" if key else str(name))


def failed(tree: ComposedConfig, sizes: Sizes) -> list[Refusal]:
    """The failing checks of a tree, in the order in which a run reaches them."""
    if not tree.values:
        return []
    refusals = [*refused(tree, sizes)]
    keys = {refusal.key for refusal in refusals if refusal.kind == OF_A_SIZE}
    by_hand = (refusal for check in CHECKS for refusal in check(tree, sizes))
    refusals += [refusal for refusal in by_hand if refusal.kind != OF_A_SIZE or refusal.key not in keys]
    refusals.sort(key=lambda refusal: STAGES.index(refusal.fails_at))
    if sizes.batch is None or sizes.batch > 0:
        return refusals
    about = [refusal for refusal in refusals if BATCH in refusal.keys]
    return [refusal for refusal in refusals if refusal not in about[1:]]  # a batch of no prompts fails once, at the first of its checks


def refused(tree: ComposedConfig, sizes: Sizes) -> Iterator[Refusal]:
    numbers = {"use_critic": uses_critic(tree), "use_reference_policy": uses_reference(tree), WORLD: sizes.gpus}
    values = {**tree.resolved, **{name: unknown_field("a number") if value is None else value for name, value in numbers.items()}}
    values[ROWS] = unknown_field(ROWS) if sizes.steps_per_epoch is None else range(sizes.steps_per_epoch)
    actor, critic = (str(tree.value(key)).removesuffix("2") for key in (STRATEGY, "critic.strategy"))
    parts = {f"{actor}-worker", f"{actor}-rollout", f"{actor}-optimizer", f"{critic}-critic", "engine-worker"}
    parts |= {"trainer-v1", "pools-v1"} if tree.is_true("trainer.use_v1") else {"trainer-v0"}
    words = Words(KEPT, MACHINE, lambda key: isinstance(tree.value(key), bool), PLACES, {(WORLD,): "GPU"})
    check = RunCheck(plan(tree.release, frozenset(parts), frozenset(classes_of(tree.values))), values)
    for refusal in check.refusals(words):
        if refusal.kind == OF_ROWS:
            refusal.message, refusal.help = too_few(sizes), ["set a smaller batch"]
        elif refusal.kind == OF_GLOBAL and (key := next((key for key in refusal.keys if key.endswith("_per_gpu")), "")):
            for_all = key.removesuffix("_per_gpu")
            if tree.value(for_all) is None:
                continue  # neither is set, which another check refuses
            refusal.paths = [tuple(for_all.split(".")), tuple(key.split("."))]
            refusal.message, refusal.help = f"`{for_all}` is not read from verl 0.8.0 on, and `{key}` is not set", [f"set `{key}`"]
        elif refusal.kind in MESSAGES and len(refusal.keys) > 1:
            refusal.message = MESSAGES[refusal.kind].format(*refusal.keys)
        elif check.failures.get(id(refusal)) == OF_GROUPS:
            refusal.message = f"`{refusal.key}` is {tree.value(refusal.key)}, more than the {sizes.gpus} GPUs"
            refusal.help = [f"set `{refusal.key}` to a divisor of {sizes.gpus}"]
        if not refusal.failed:
            if refusal.key not in check.derived:
                yield refusal
        elif refusal.keys and "'NoneType' object " not in refusal.exception and all(map(tree.has, refusal.keys)):
            refusal.kind = check.failures[id(refusal)]
            yield refusal


class RunCheck(Check):
    """The rows of a run; Hydra reports what a class refuses. `failures` has the pages of the refusals where Python fails on a value."""

    def __init__(self, plan: Plan, values: Any) -> None:
        super().__init__(plan, values, {}, (), lambda *_: None, pages())
        self.failures: dict[int, str] = {}
        self.derived: set[str] = set()  # keys whose value verl takes from another one, at which it is refused, too

    def refusal(self, raised: Raised, *others: Any) -> Refusal:
        refusal = super().refusal(raised, *others)
        if refusal.failed:
            from cfglint.frameworks.rows.reasons import Condition

            self.failures[id(refusal)] = pages()(raised.row, raised.kind)
            self.place(refusal, Condition(raised.row, self.plan.rows, raised.state, self.written))
        else:
            refusal.paths = [self.written_path(path, raised.state.values) for path in refusal.paths]
        path = refusal.paths[0] if refusal.paths else ()
        used = value_at(raised.state.values, path) if path else None
        if isinstance(used, str) and used != value_at(self.written, path):
            self.derived.add(refusal.key)
        if "within" in raised.row:
            target, key = raised.row["within"]
            said = f"{raised.kind}({raised.message!r})" if raised.message else f"{raised.kind}()"
            refusal.exception = f"{INSTANTIATION} '{target}': {said} full_key: {key}"
        refusal.exception = refusal.exception.replace("'list'", "'ListConfig'")
        if not refusal.paths and not refusal.failed:
            refusal.paths = [tuple(key.split(".")) for key in PLACES.get(refusal.kind, (STRATEGY,))]
        return refusal

    def written_path(self, path: Path, values: Any) -> Path:
        """A key, or its former name, which has no first section, where the program took the value from there."""
        used, former = value_at(values, path), path[1:]
        is_former = used is not None and used != value_at(self.written, path) and used == value_at(self.written, former)
        return former if is_former else path

    def place(self, refusal: Refusal, condition: Condition) -> None:
        """Place a refusal where Python fails at the values of its arithmetic that are not numbers."""
        row, values, page = condition.row, condition.run.values, self.failures[id(refusal)]
        paths: dict[tuple[str, ...], None] = {}
        for part in walk([*row["when"], row.get("be"), row.get("try"), row.get("say")]):
            if not isinstance(part, list) or part[:1] not in ARITHMETIC:
                continue
            for operand in part[1:]:
                paths.update(dict.fromkeys(path for path in number_paths(operand, condition) if path not in MACHINE))
        wrong = [self.written_path(path, values) for path in paths if not isinstance(value_at(values, path), int)]
        first = PLACES.get(page, ())
        refusal.paths = wrong or sorted(paths, key=lambda path: ".".join(path) not in first)
        if not refusal.paths:
            return
        value = value_at(values, refusal.paths[0])
        if page == OF_A_SIZE:
            refusal.message, refusal.help = f"`{refusal.key}` is {spelled(value)}, not an integer", [f"set `{refusal.key}` to an integer"]
        else:
            refusal.message = f"`{refusal.key}` is {value}: {refusal.message.rpartition(': ')[2]}"


def number_paths(operand: Any, condition: Condition) -> Iterator[tuple[str, ...]]:
    """The paths of the keys in an operand, of a choice those of the alternative that holds."""
    if isinstance(operand, list) and operand[:1] == ["if"]:
        try:
            operand = operand[2 if condition.run.truth(operand[1]) is True else 3]
        except Raised:
            return
    yield from condition.paths(operand)
