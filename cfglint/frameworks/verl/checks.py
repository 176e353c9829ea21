"""What a verl run refuses, in the order of its stages: the rows of its functions and classes, then what is by hand.

By hand are fields of the config classes, libraries, and the first step. Source: verl 0.3.0 to 0.7.1 workers/fsdp_workers.py, 0.8.0 and
0.9.1 workers/engine_workers.py, protocol.py; torch, megatron-core.
"""

from __future__ import annotations

import functools

from cfglint.evaluate import Unknown
from cfglint.findings._places import PLACES
from cfglint.findings.remedy import remove_key
from cfglint.findings.vocabulary import Stage
from cfglint.findings.wording import counted, described, spelled
from cfglint.frameworks.refusal import Refusal, Words
from cfglint.frameworks.releases.versions import Version
from cfglint.frameworks.remedies import raised_by
from cfglint.frameworks.rows.evaluation import Evaluation, value_at
from cfglint.frameworks.rows.expressions import Path, Raised, Row, walk
from cfglint.frameworks.rows.reasons import Condition
from cfglint.frameworks.rows.refusals import Check, Pages, Plan, unknown_field
from cfglint.frameworks.rows.table import table_of
from cfglint.frameworks.verl import KIND
from cfglint.frameworks.verl.files import CLASS, HISTORY
from cfglint.frameworks.verl.sizes import (
    ACTOR,
    BATCH,
    CRITIC,
    LOG_PROB,
    MICRO,
    MINI,
    NODES,
    PER_NODE,
    REF,
    ROLLOUT,
    SAMPLES,
    STRATEGY,
    UNSET,
    ComposedConfig,
    Sizes,
    product,
    uses_critic,
    uses_reference,
)
from cfglint.source.annotations import Any, Collection, Iterator, Mapping, Operand
from cfglint.source.hydra.interpolation import MISSING

STEP: Stage = "first-step"
STAGES = ("config", "init", STEP)
TARGET = "_target_"  # the class of the object that Hydra makes of a section
WORLD, ROWS = "world_size", "train_dataloader"
KEPT = ("adv_estimator", "strategy", "use_dynamic_bsz", "name", "nnodes", "n_gpus_per_node", "do_sample", "enable", "mode")
MACHINE: dict[tuple[str, ...], str | None] = {("use_critic",): "", ("use_reference_policy",): "", (WORLD,): "", (ROWS,): ""}
MESSAGES = {"VRL015": "neither `{0}` nor `{1}` is set", "VRL016": "`{0}` and `{1}` cannot be set together"}
ARITHMETIC = [[operator] for operator in ("*", "//", "%", "*=", "//=", "<", ">", "<=", ">=")]  # and comparison by size
OF_A_SIZE, OF_GLOBAL, OF_ROWS, OF_GROUPS, OTHER = "VRL010", "VRL018", "VRL022", "VRL029", "VRL035"
MANDATORY = "is `???`, a value that has to be set"
KINDS = {"bool": "a boolean", "int": "an integer", "float": "a number", "str": "a string"}  # of fields
BOOLEANS = ("yes", "y", "on", "true", "no", "n", "off", "false")  # of OmegaConf
INSTANTIATION = "hydra.errors.InstantiationException: Error in call to target"
DIVISION = "ZeroDivisionError: integer division or modulo by zero"
DRAWN = ("data.val_batch_size", "data.gen_batch_size")  # batches of data loaders
SMALLER = "'<' not supported between instances of 'int' and 'str'"
MODES = ("sync", "colocate_async", "separate_async")  # of v1
OF_SINGLE_PROMPTS = ("algorithm.filter_groups.enable", "trainer.v1.sampler.sync_refill_failed_groups")  # of v1's loader
COMPARED = ("trainer.critic_warmup", "trainer.save_freq", "trainer.test_freq")  # with numbers, in each step
STEPS = "trainer.total_training_steps"
EPOCHS, LOADERS, SEED, SAMPLER = "trainer.total_epochs", "data.dataloader_num_workers", "data.seed", "data.sampler.class_path"
AGENT_WORKERS = f"{ROLLOUT}.agent.num_workers"


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
    return table_of(KIND).messages(lambda _, row: pages()(row))


@functools.lru_cache(maxsize=32)
def plan(release: Version, parts: frozenset[str], targets: frozenset[tuple[str, str]]) -> Plan:
    """The rows of a release for sections with these classes, of the functions for all runs and those of some parts; without their
    conditions on the classes of sections.
    """
    rows: dict[Stage, list[Row]] = {"config": [], "init": [], STEP: []}
    for stage, found in rows.items():
        for function in table_of(KIND).functions(stage, release):
            for row in function.rows if "-" not in function.name or function.name in parts else ():
                equal = (guard for guard in row["when"] if isinstance(guard, list) and guard[0] == "==" and isinstance(guard[1], list))
                asked = [guard for guard in equal if guard[1][-1] == TARGET]
                if all((dotted(guard[1][1]), guard[2]) in targets for guard in asked):
                    found.append({**row, "when": [guard for guard in row["when"] if guard not in asked]})
    return Plan(rows)


def dotted(section: Any) -> str:
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
    known = {(refusal.kind, refusal.key) for refusal in refusals}
    checks = (keywords, no_integers, loops, groups, megatron_workers, chunks, complete_batches)
    by_hand = (refusal for check in checks for refusal in check(tree, sizes))
    refusals += [refusal for refusal in by_hand if (refusal.kind, refusal.key) not in known]
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
    parts = {f"{actor}-{part}" for part in ("worker", "rollout", "optimizer", "model")} | {f"{critic}-critic", "engine-worker"}
    parts |= {f"{part}-v{int(tree.is_true('trainer.use_v1') or 0)}" for part in ("trainer", "pools", "loader", "setup", "step", "update")}
    words = Words(KEPT, MACHINE, lambda key: isinstance(tree.value(key), bool), {(WORLD,): "GPU"})
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


class RunEvaluation(Evaluation):
    """Rows on a composed config, with those of the keys that are read as attributes; `entry` is the part of such a key that is missing."""

    def _row(self, row: Row, parts: Mapping[str, Any]) -> None:
        if "read" not in row or parts["when"](self) is not True:
            return super()._row(row, parts)
        path = row["read"].split(".")
        box: Any = self.values
        for depth, step in enumerate(path):
            if isinstance(box, Unknown):
                return None
            self.entry = ".".join(path[: depth + isinstance(box, dict)])
            if not isinstance(box, dict):
                raise Raised("AttributeError", f"'{name_of_type(box)}' object has no attribute '{step}'")
            if step not in box:
                raise Raised("omegaconf.errors.ConfigAttributeError", f"Key '{step}' is not in struct full_key: {self.entry}")
            box = box[step]
        if box is UNSET:
            raise Raised("omegaconf.errors.MissingMandatoryValue", f"Missing mandatory value: {self.entry}")
        return None


class RunCheck(Check):
    """The rows of a run; Hydra reports what a class refuses. `failures` has the pages of the refusals where Python fails on a value."""

    evaluation = RunEvaluation

    def __init__(self, plan: Plan, values: Any) -> None:
        super().__init__(plan, values, {}, (), lambda *_: None, pages())
        self.failures: dict[int, str] = {}
        self.derived: set[str] = set()  # keys whose value verl takes from another one, at which it is refused, too

    def run(self, written: Any) -> tuple[Evaluation, list[Raised]]:
        """Without the keys that only a remedy removes: their default takes the place."""
        evaluation, found = super().run(written)
        own = (each for each in found if "read" not in each.row or value_at(self.written, tuple(each.entry.split("."))) in (None, UNSET))
        return evaluation, [*own]

    def refusal(self, raised: Raised, *others: Any) -> Refusal:
        if "read" in raised.row:
            what = MANDATORY if "Mandatory" in raised.kind else "is read, and has no value"
            return lacking(raised.entry, what, f"{raised.kind}: {raised.message}", self.plan.stage_of(raised.row))
        refusal = super().refusal(raised, *others)
        if refusal.failed:
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


def no_integers(tree: ComposedConfig, sizes: Sizes) -> Iterator[Refusal]:
    """Sizes that are no numbers: the arithmetic of the checks fails, or the data loader; where a fraction is one, what counts with it."""
    not_positive = f"ValueError: batch_size should be a positive integer value, but got batch_size={tree.value(BATCH)}"
    fractions: dict[str, Stage] = {BATCH: "config", SAMPLES: STEP, MINI: STEP, NODES: "init", PER_NODE: "init"}
    for key, stage_of_fraction in fractions.items():
        value = tree.value(key)
        if type(value) is int or isinstance(value, (Unknown, bool)) or (key == SAMPLES and not tree.has(key)):
            continue
        if isinstance(value, float) and key == BATCH:
            exception = not_positive
        elif value is None or isinstance(value, list):
            exception = f"TypeError: unsupported operand type(s) for *: '{name_of_type(value)}' and 'int'"
        else:
            exception = "TypeError"
        stage: Stage = stage_of_fraction if isinstance(value, float) else "init" if key != BATCH and sizes.is_dynamic else "config"
        yield Refusal("VRL010", (key,), f"`{key}` is not an integer", exception, (f"write `{key}` as an integer without quotes",), stage)
    if isinstance(tree.value(MICRO), str) and sizes.engine and sizes.is_dynamic is False:
        message = f"`{MICRO}` is a string, not an integer"
        exception = "TypeError: unsupported operand type(s) for %: 'int' and 'str'"
        yield Refusal("VRL010", (MICRO,), message, exception, (f"write `{MICRO}` as an integer",), STEP)
    remedy = "set `{}` to a number above 0".format
    if (sizes.batch is not None and sizes.batch <= 0) or isinstance(tree.value(BATCH), bool):
        yield Refusal("VRL010", (BATCH,), f"`{BATCH}` is not a positive integer", not_positive, (remedy(BATCH),), "init")
    for key, size in ((SAMPLES, sizes.samples), (MINI, sizes.mini)) if sizes.engine else ():
        if size == 0 or (size is not None and size < 0 and key == SAMPLES):
            exception = "RuntimeError: Repeats must be non-negative" if size else DIVISION
            yield Refusal("VRL010", (key,), f"`{key}` is {size}", exception, (remedy(key),), STEP)


def loops(tree: ComposedConfig, sizes: Sizes) -> Iterator[Refusal]:
    """What torch's data loaders refuse, and epochs that are not counted."""
    values = {key: tree.value(key) for key in (EPOCHS, LOADERS, SEED) if tree.has(key)}
    found: dict[str, tuple[str, Stage]] = {}
    v1 = tree.since(0, 9) and tree.value("trainer.use_v1", True) is not False
    epochs, workers, seed = values.get(EPOCHS, 1), values.get(LOADERS, 0), values.get(SEED, 1)
    if epochs is None or isinstance(epochs, (list, dict)):
        found[EPOCHS] = f"TypeError: unsupported operand type(s) for *: 'int' and '{name_of_type(epochs)}'", "init"
    elif isinstance(epochs, str) or (isinstance(epochs, float) and not v1):
        said = f"'{name_of_type(epochs)}' object cannot be interpreted as an integer"
        found[EPOCHS] = f"TypeError: {SMALLER if v1 else said}", STEP
    if tree.since(0, 4) and not isinstance(workers, (int, float, Unknown)):
        found[LOADERS] = f"TypeError: '<' not supported between instances of '{name_of_type(workers)}' and 'int'", "init"
    elif tree.since(0, 4) and isinstance(workers, (int, float)) and workers < 0:
        said = "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing."
        found[LOADERS] = f"ValueError: {said}", "init"
    if isinstance(tree.value(STEPS), str):  # the schedules multiply it by the fraction of their warm-up
        found[STEPS] = "TypeError: can't multiply sequence by non-int of type 'float'", "init"
    mode = tree.value("trainer.v1.trainer_mode", "sync")
    if v1 and not isinstance(mode, Unknown) and mode not in MODES:
        text = f"ValueError: Unknown trainer '{mode}'. Available trainers: {', '.join(sorted(MODES))}."
        key, remedy = "trainer.v1.trainer_mode", f"set `trainer.v1.trainer_mode` to {', '.join(MODES)}"
        yield Refusal("VRL011", (key,), f"`{key}` is {spelled(mode)}", text, (remedy,), "init")
    by_prompts = v1 and (mode != "sync" or any(map(tree.is_true, OF_SINGLE_PROMPTS)))  # the training set, one at a time
    for key in DRAWN[: 1 if by_prompts else 2] if tree.since(0, 4) else ():
        size = tree.value(key)
        is_size = size is None or isinstance(size, Unknown) or (type(size) is int and size > 0)
        if not is_size and (size or (not v1 and key == DRAWN[0]) or not tree.since(0, 9)):  # from 0.9 on the second is not read if it is 0
            found[key] = f"ValueError: batch_size should be a positive integer value, but got batch_size={size}", "init"
    for key in () if tree.is_true("trainer.val_only") else COMPARED:
        if tree.has(key) and not isinstance(count := tree.value(key), (int, float, Unknown)):
            sign = "<=" if key == COMPARED[0] else ">"
            found[key] = f"TypeError: '{sign}' not supported between instances of '{name_of_type(count)}' and 'int'", STEP
    is_used = (seed is not None or not tree.since(0, 6, 1)) and tree.is_true("data.shuffle") and tree.value(SAMPLER) is None
    if is_used and type(seed) is not int and not isinstance(seed, Unknown):
        found[SEED] = f"RuntimeError: manual_seed expected a long, but got {name_of_type(seed)}", "init"
    for key, (exception, stage) in found.items():
        what = "is negative" if key == LOADERS and "negative" in exception else "is not an integer"
        what, first = ("is not a positive integer", 1) if key in DRAWN else (what, 0)
        yield Refusal("VRL010", (key,), f"`{key}` {what}", exception, (f"set `{key}` to an integer from {first} on",), stage)


def name_of_type(value: object) -> str:
    """What exceptions call the type of a value of the config."""
    return "ListConfig" if isinstance(value, list) else "DictConfig" if isinstance(value, dict) else type(value).__name__


def groups(tree: ComposedConfig, sizes: Sizes) -> Iterator[Refusal]:
    """Sequence parallelism over more GPUs than there are, no shards, and a training set without a batch."""
    key = f"{ACTOR}.ulysses_sequence_parallel_size"
    gpus, parallel, shards = sizes.gpus, sizes.sequence_parallel, f"{ACTOR}.fsdp_config.fsdp_size"
    if sizes.is_fsdp and tree.integer(shards) == 0:
        yield Refusal(OTHER, (shards,), f"`{shards}` is 0", DIVISION, (f"set `{shards}=-1` for all GPUs",), "init")
    if sizes.is_fsdp and sizes.engine and gpus and parallel and parallel > gpus:
        message = f"`{key}` is {parallel}, more than the {gpus} GPUs"
        yield Refusal("VRL029", (key,), message, DIVISION, (f"set `{key}` to a divisor of {gpus}",), STEP)
    if sizes.steps_per_epoch == 0 and tree.since(0, 9):  # before, a row checks it
        yield Refusal("VRL022", (BATCH,), too_few(sizes), DIVISION, ("set a smaller batch",), STEP)


def too_few(sizes: Sizes) -> str:
    """What is wrong with a training set that has no batch."""
    return f"`{BATCH}` is {sizes.loader_batch}, more than the {sizes.rows} examples of the training set"


def megatron_workers(tree: ComposedConfig, sizes: Sizes) -> Iterator[Refusal]:
    """The sizes that Megatron-LM itself refuses (megatron-core 0.12.1 core/parallel_state.py:630-702, initialize_model_parallel)."""
    if not sizes.is_megatron:
        return

    def key_of(name: str) -> str:
        return f"{ACTOR}.megatron.{name}_parallel_size"

    replica, gpus, remedy = sizes.replica, sizes.gpus, "choose sizes whose product divides the GPUs"
    if replica and gpus and gpus % replica and not (tree.since(0, 4) and sizes.is_dynamic is False):
        exception = f"RuntimeError: world_size ({gpus}) is not divisible by {replica}"
        message = f"{counted(gpus, 'GPU')} do not divide into Megatron-LM replicas of {replica}"
        yield Refusal("VRL013", (key_of("tensor_model"),), message, exception, (remedy,), "init")
        return
    etp, ep, pp = (tree.integer(key_of(name), 1) for name in ("expert_tensor", "expert_model", "pipeline_model"))
    size = product(tree.integer(key_of("tensor_model")) if etp is None else etp, ep, pp)
    if size and gpus and gpus % size:
        what = f"expert_tensor_model_pipeline_parallel size ({size})"
        exception = f"RuntimeError: decoder world_size ({gpus}) is not divisible by {what}"
        message = f"{counted(gpus, 'GPU')} do not divide into groups of {size} (expert tensor x expert x pipeline parallel size)"
        yield Refusal("VRL013", (key_of("expert_model"),), message, exception, (remedy,), "init")
    key = key_of("virtual_pipeline_model")
    if tree.integer(key) and pp == 1:
        exception = "RuntimeError: pipeline-model-parallel size should be greater than 1 with interleaved schedule"
        message = f"`{key}` requires `pipeline_model_parallel_size` above 1"
        yield Refusal("VRL013", (key,), message, exception, (remove_key(key),), "init")


def complete_minis(total: int | None, parallel: int | None, mini: int) -> Iterator[Refusal]:
    """The samples of a rank are complete mini batches."""
    if not total or not parallel or total % parallel:
        return
    samples = total // parallel
    if not mini:
        yield Refusal("VRL024", (MINI,), f"`{MINI}` has less than one sample for each GPU", DIVISION, (f"set a larger `{MINI}`",), STEP)
    elif samples % mini:
        exception = f"AssertionError: {samples} % {mini} != 0"
        message = f"a step has {samples} samples on each GPU, which are no complete mini batches of {mini}"
        yield Refusal("VRL027", (MINI, BATCH), message, exception, (f"set `{MINI}` to a divisor of `{BATCH}`",), STEP)


def chunks(tree: ComposedConfig, sizes: Sizes) -> Iterator[Refusal]:
    """Prompts and samples are sent to the workers in equal parts."""
    batch, gpus = sizes.batch if sizes.engine else sizes.loader_batch, sizes.gpus
    if not (sizes.is_fsdp or sizes.is_megatron) or batch is None or not gpus or sizes.samples is None:
        return

    def unequal(key: str, size: int, parts: int, among: str) -> Refusal:
        message = f"a step has {size} samples, which do not divide among {among}"
        exception = f"AssertionError: only support equal chunk. Got size of DataProto {size} and chunk {parts}."
        return Refusal("VRL026", (key, BATCH, SAMPLES), message, exception, (f"make `{BATCH}` x `{SAMPLES}` a multiple of {parts}",), STEP)

    sent = batch * sizes.samples if tree.since(0, 5) else batch
    mode = tree.value(f"{ROLLOUT}.mode", "sync")
    v1 = tree.since(0, 9) and tree.value("trainer.use_v1", True) is not False
    agents = tree.integer(AGENT_WORKERS) if tree.since(0, 5) and not v1 else None
    if mode == "sync" and not tree.since(0, 7):
        if sent % gpus and sizes.is_fsdp:
            yield unequal(BATCH, sent, gpus, f"{gpus} GPUs")
            return
    elif agents and isinstance(mode, str) and sent % agents:
        yield unequal(AGENT_WORKERS, sent, agents, f"`{AGENT_WORKERS}`")
        return
    total, parts = sizes.step_samples, sizes.data_parallel if sizes.engine or sizes.is_megatron else gpus
    if total is not None and parts and not v1 and total % parts:
        yield unequal(BATCH, total, parts, f"{parts} data-parallel ranks")


def complete_batches(tree: ComposedConfig, sizes: Sizes) -> Iterator[Refusal]:
    """The samples of a rank are complete mini batches of Megatron-LM before 0.8; from 0.8 on complete micro batches, too."""
    total, parallel, padding, mini = sizes.step_samples, sizes.data_parallel, sizes.padding, sizes.mini_samples
    if not sizes.engine and sizes.is_megatron and sizes.mini_per_gpu is not None:
        yield from complete_minis(total, parallel, sizes.mini_per_gpu)
    if not sizes.engine or total is None or not parallel or padding is None or (total + padding) % parallel:
        return
    samples = (total + padding) // parallel
    if sizes.is_dynamic is False:
        yield from uneven_micro(tree, f"{ROLLOUT}.{LOG_PROB}_per_gpu", samples, "step")
    if uses_reference(tree) and tree.is_true(f"{REF}.log_prob_use_dynamic_bsz") is False:
        yield from uneven_micro(tree, f"{REF}.{LOG_PROB}_per_gpu", samples, "step")
    if not mini:
        return
    if mini % parallel:
        message = f"`{MINI}` x `{SAMPLES}` is {mini}, not a multiple of the {parallel} data-parallel ranks"
        exception = f"AssertionError: Got mini_batch_size={mini} and self.engine.get_data_parallel_size()={parallel}"
        remedy = f"set `{MINI}` so that the product is a multiple of {parallel}"
        yield Refusal("VRL024", (MINI, SAMPLES), message, exception, (remedy,), STEP)
    elif samples % (mini // parallel):
        yield from complete_minis(total + padding, parallel, mini // parallel)
    elif sizes.is_dynamic is False:
        yield from uneven_micro(tree, MICRO, mini // parallel, "mini batch")


def uneven_micro(tree: ComposedConfig, key: str, size: int, what: str) -> Iterator[Refusal]:
    """The refusal of a micro batch that does not divide what a GPU gets."""
    micro = tree.integer(key)
    if micro and micro > 0 and size % micro:
        message = f"`{key}` is {micro}, which does not divide the {size} samples of a {what} on each GPU"
        exception = "AssertionError: data size must be divisible by force_group_size * micro_batch_size_per_gpu"
        yield Refusal("VRL028", (key,), message, exception, (f"set `{key}` to a divisor of {size}",), STEP)


def keywords(tree: ComposedConfig, sizes: Sizes) -> Iterator[Refusal]:
    """Keys of sections that become objects of a class, which from 0.6 on has a field for each of them.

    Source: verl 0.9.1 utils/config.py (omega_conf_to_dataclass, validate_config), 0.6.0 :151-181; workers/engine_workers.py (init_model).
    """
    if not tree.since(0, 6):
        return
    sections: list[tuple[str, Stage]] = [(ACTOR, "config"), (ROLLOUT, "init"), ("actor_rollout_ref.model", "init")]
    if uses_critic(tree):
        sections.append((CRITIC, "config"))
    for section, stage in sections:
        if stage == "config" or sizes.engine or section == ROLLOUT:
            yield from uninstantiable(tree.raw(section), section, stage)
        elif not sizes.is_megatron or not tree.since(0, 7):  # from 0.7 on Hydra makes that object, too
            yield from unconverted_fields(tree, section, stage)
        for key, target in unexpected(tree, section):
            name, kind = key.rpartition(".")[2], target.rpartition(".")[2]
            if section.endswith(".model") and not sizes.engine:
                exception = f"omegaconf.errors.ConfigKeyError: Key '{name}' not in '{kind}'"
            else:
                said = f"TypeError(\"{kind}.__init__() got an unexpected keyword argument '{name}'\")"
                exception = f"{INSTANTIATION} '{target}': {said}"
            yield Refusal("VRL030", (key,), f"`{key}` is not a field of `{kind}`", exception, (remove_key(key),), stage)


def uninstantiable(values: Operand, section: str, stage: Stage) -> Iterator[Refusal]:
    """The refusals of Hydra, which makes an object of a section: a class that it cannot locate, a value that nothing sets.

    Source: hydra-core 1.3.8 _internal/instantiate/_instantiate2.py (_resolve_target), omegaconf 2.3 basecontainer.py.
    """
    for name, value in values.items() if isinstance(values, dict) else ():
        key = f"{section}.{name}"
        if name == TARGET and not isinstance(value, Unknown) and (not isinstance(value, str) or "." not in value):
            what = "Error locating target" if isinstance(value, str) else "Expected a callable target, got"
            of_type = "" if isinstance(value, str) else f" of type '{name_of_type(value)}'"
            text = f"hydra.errors.InstantiationException: {what} '{value}'{of_type}"
            yield Refusal(OTHER, (key,), f"`{key}` is not the path of a class", text, (remove_key(key),), stage)
        elif isinstance(value, dict):
            yield from uninstantiable(value, key, stage)
        elif value == MISSING:
            yield lacking(key, MANDATORY, f"omegaconf.errors.MissingMandatoryValue: Missing mandatory value: {key}", stage)


def lacking(key: str, what: str, exception: str, stage: Stage) -> Refusal:
    page, value = ("VRL019", "=vllm` or sglang") if key == f"{ROLLOUT}.name" else (OTHER, "`")
    return Refusal(page, (key,), f"`{key}` {what}", exception, (f"set `{key}{value}",), stage)


def unconverted_fields(tree: ComposedConfig, section: str, stage: Stage) -> Iterator[Refusal]:
    """The values of a model that OmegaConf cannot convert to the types of the fields of `HFModelConfig`."""
    values, fields = tree.raw(section), HISTORY.fields(f"{CLASS}HFModelConfig", tree.release)
    for name, value in {"path": None, **(values if isinstance(values, dict) else {})}.items():
        written = fields[name][1] if name in fields else ""
        kind = written.removeprefix("Optional[").removesuffix("]")
        reason = unconverted(value, kind, written != kind)
        if reason:
            key = f"{section}.{name}"
            text = f"`{key}` is {described(value)}; it must be {KINDS[kind]}"
            remedy = "name a model" if name == "path" else f"set `{key}` to {KINDS[kind]}"
            yield Refusal(OTHER, (key,), text, f"omegaconf.errors.ValidationError: {reason}", (remedy,), stage)


def unconverted(value: Operand, kind: str, is_optional: bool) -> str:
    """The message of OmegaConf about a value that it cannot convert to a type; empty for one that it can.

    Source: omegaconf 2.3 nodes.py (validate_and_convert of each node).
    """
    if kind not in KINDS or (isinstance(value, str) and ("${" in value or value == MISSING)):
        return ""
    if value is None:
        return "" if is_optional else f"Incompatible value 'None' for field of type '{kind}'"
    if not isinstance(value, (bool, int, float, str, list, dict)):
        return ""  # not known
    given = "ListConfig" if isinstance(value, list) else "DictConfig" if isinstance(value, dict) else type(value).__name__
    if kind == "str":
        return f"Cannot convert '{given}' to string: '{value}'" if isinstance(value, (list, dict)) else ""
    if kind == "bool":
        is_word = isinstance(value, str) and (value.lower() in BOOLEANS or not raised_by(int, value))
        return "" if is_word or isinstance(value, int) else f"Value '{value}' is not a valid bool (type {given})"
    number, title = (int, "Integer") if kind == "int" else (float, "Float")
    is_accepted = type(value) in (int, str, number) and not raised_by(number, value)
    return "" if is_accepted else f"Value '{value}' of type '{given}' could not be converted to {title}"


def unexpected(tree: ComposedConfig, section: str) -> Iterator[tuple[str, str]]:
    """(key, class) for the keys of a section, and of those in it, that its class does not have."""
    values = tree.raw(section)
    if not isinstance(values, dict):
        return
    target = values.get("_target_")
    fields: Collection[str] = ()
    if isinstance(target, str) and target.startswith("verl."):
        fields = HISTORY.fields(f"{CLASS}{target.rpartition('.')[2]}", tree.release)
    for name, value in values.items():
        if fields and name not in fields and not str(name).startswith("_"):
            yield f"{section}.{name}", str(target)
        elif isinstance(value, dict):
            yield from unexpected(tree, f"{section}.{name}")
