"""Training loops of a program's own: the loader that they take their batches from, when the optimizer steps, and how long they go on.

Source: accelerate 1.15.0 accelerator.py (prepare, accumulate, _prepare_deepspeed), data_loader.py (prepare_data_loader).
"""

from __future__ import annotations

import ast
import re

from cfglint.launch.program import OwnLoop, ProgramFacts
from cfglint.launch.programs.branches import LOOP_LEFT
from cfglint.launch.programs.calls import MadeCall, ProgramEvaluation
from cfglint.launch.programs.documents import document_of_call
from cfglint.launch.programs.objects import (
    ACCELERATOR,
    ENGINE,
    OPTIMIZER,
    PIPELINE,
    PLUGIN,
    SCHEDULE,
    Function,
    LoopObject,
    MadeObject,
    Mapping,
    Opaque,
    Sequence,
    Value,
    same,
    shown,
)
from cfglint.launch.programs.runs_of_program import Evaluated
from cfglint.launch.programs.scopes import dotted
from cfglint.launch.programs.training_loops import BACKWARD, ENGINE_CALL, PREPARE, SIZE, STEP, TRAIN_BATCH, Event, OpenLoop, Place
from cfglint.source.python.call import CallDocument
from cfglint.source.python.nodes import walk
from cfglint.source.record import Record, changed

WARMUP = "num_warmup_steps"
SYNC = "sync_gradients"  # of an `Accelerator`, which `accumulate()` sets
SEVERAL = "the program takes batches of several data loaders"
WHOLE_BATCHES = "its data loader hands on single elements of the data set as they are, each of which may be a batch"
PARTS = "gradients are computed in a further loop within each batch, which may go through parts of it"
# Conditions of a step that nothing of the number of batches depends on: a loss that is not finite, an overflow.
RARE = re.compile(r"nan|finite|isinf|skipped|overflow|found_inf|grad_norm")

Condition = tuple[ast.AST, int]


class Stepping(Record):
    """The steps of the optimizer in a loop: the turns between two of them, None for every one; `why` is set if that is not known."""

    turns: tuple[ast.expr, Value] | None = None
    why: str = ""


def own_loop(made: MadeCall | None, evaluated: Evaluated, program: ProgramFacts) -> OwnLoop:
    """The training loop of a program; `made` is the call of its `Accelerator`."""
    evaluation: ProgramEvaluation = evaluated.evaluation
    plugins: dict[str, CallDocument] = {}
    for _, value in made.arguments.values() if made is not None else ():
        if isinstance(value.data, LoopObject) and value.data.kind == PLUGIN and value.data.made is not None:
            plugins[value.data.made.name] = document_of_call(value.data.made, program)
    # The calls in loops by which an optimizer takes its steps; those of `backward` if none of them is found.
    batches = [event for event in evaluation.events if event.name == TRAIN_BATCH and event.place.loops]
    backward = {id(loop) for event in evaluation.events if event.name == BACKWARD for loop in event.place.loops}
    called = [event for event in evaluation.events if event.name == STEP and is_of_optimizer(event)]
    events = batches or [step for step in called if any(id(loop) in backward for loop in step.place.loops)]
    steps = events or [event for event in evaluation.events if event.name == BACKWARD and event.place.loops]
    if not steps:
        missing = "no training loop was found"
        return OwnLoop(None, plugins, None, why=missing, lacks_loader=missing, prepares_no_loader=prepares_no_loader(evaluation))
    owners = [step.owner.data for step in steps if isinstance(step.owner.data, LoopObject)]
    # Gradients may be computed in a loop within the one that takes the batches, as PPO does with what it has generated.
    computed = [event.place for event in evaluation.events if event.name == BACKWARD and event.place.loops]
    loops = [loop_of_batches(step.place, *(place for place in computed if shares_loop(place, step.place))) for step in steps]
    loaders = {id(loop_object): loop_object for loop in loops if loop is not None for loop_object in loop.loaders}
    one_at_a_time = all(len({id(loop_object) for loop_object in loop.loaders}) < 2 for loop in loops if loop is not None)
    in_parts = any(loop_of_batches(place) not in (None, place.loops[-1]) for place in computed)
    loader, lacks = the_loader([*loaders.values()], one_at_a_time) if not in_parts else (None, PARTS)
    found = OwnLoop(document_of_call(loader, program) if loader is not None else None, plugins, None, lacks_loader=lacks, is_found=True)
    found.is_whole = made is None or made.every
    found.prepares_no_loader = prepares_no_loader(evaluation)
    found.trains = tuple(dict.fromkeys(owner.made.node for owner in owners if owner.kind == ENGINE and owner.made is not None))
    stepping = how_it_steps(evaluation, steps) if not in_parts else Stepping(why=PARTS)
    found.why = stepping.why
    accumulates = any(shares_loop(place, event.place) for place in evaluation.accumulated for event in steps)
    found.accumulates = None if stepping.why else accumulates and stepping.turns is None
    found.is_twice = accumulates and stepping.turns is not None
    if steps[0].name == BACKWARD and not found.accumulates:
        found.accumulates, found.why = None, "no step of the optimizer was found in the training loop"
    found.stages = stages_of(evaluation) if any(step.name == TRAIN_BATCH for step in steps) else 1
    add_objects(found, evaluation, program, owners)
    numbers = numbers_of(evaluation, steps, loops, stepping, found)
    node = steps[0].place.node
    assert isinstance(node, ast.Call)
    of_loop = MadeCall("loop", node, steps[0].place.module, ())
    of_loop.arguments = {name: (key, value) for name, (key, value) in numbers.items()}
    found.numbers = document_of_call(of_loop, program)
    return found


def prepares_no_loader(evaluation: ProgramEvaluation) -> bool:
    """Whether an `Accelerator` prepares objects in every run of the program, of which none can be a data loader."""
    calls = [event for event in evaluation.events if event.name == PREPARE and is_of_kind(event.owner, ACCELERATOR)]
    prepared = [value for call in calls for value in call.arguments]
    return (
        evaluation.is_complete
        and any(not call.place.conditions for call in calls)
        and all(isinstance(value.data, MadeObject) or is_of_kind(value, OPTIMIZER, SCHEDULE) for value in prepared)
        and not any("deepspeed_config" in event.place.module.text for event in evaluation.events)  # the program may set its batch there
    )


def is_of_kind(value: Value, *kinds: str) -> bool:
    return isinstance(value.data, LoopObject) and value.data.kind in kinds


def add_objects(found: OwnLoop, evaluation: ProgramEvaluation, program: ProgramFacts, owners: list[LoopObject]) -> None:
    calls = [owner.made for owner in owners if owner.kind == OPTIMIZER and owner.made is not None]
    of_kind = {kind: [other for other in evaluation.others.values() if other.kind == kind] for kind in (OPTIMIZER, SCHEDULE)}
    optimizer = the_same(calls or of_kind[OPTIMIZER])
    key, groups = optimizer.arguments.get("params", (None, None)) if optimizer is not None else (None, None)
    data = groups.data if groups is not None else None
    if optimizer is not None and key is not None and isinstance(data, Sequence) and not data.is_open and data.items:
        rates = [item.data.items.get("lr") if isinstance(item.data, Mapping) else None for item in data.items]
        first = rates[0]  # the learning rate of its groups of parameters, if that is the same in all of them
        if "lr" not in optimizer.arguments and first is not None and all(rate is not None and same(first, rate) for rate in rates):
            optimizer = changed(optimizer, arguments={**optimizer.arguments, "lr": (key, first)})
    schedule = as_written(the_same(of_kind[SCHEDULE]), evaluation)
    found.optimizer = document_of_call(optimizer, program) if optimizer is not None and evaluation.is_complete else None
    found.schedule = document_of_call(schedule, program) if schedule is not None and evaluation.is_complete else None
    found.prepares_schedule = schedule is not None and schedule.is_prepared


def as_written(made: MadeCall | None, evaluation: ProgramEvaluation) -> MadeCall | None:
    """A schedule with its warm-up as it is written, and not times the processes: accelerate steps it once for each of them.

    Source: accelerate 1.15.0 scheduler.py (AcceleratedScheduler.step).
    """
    key, steps = made.arguments.get(WARMUP, (None, None)) if made is not None else (None, None)
    sizes = [made_accelerator.initial["num_processes"] for made_accelerator in evaluation.made_accelerators]
    if made is None or key is None or steps is None or not any(source is size for source in steps.sources for size in sizes):
        return made
    [*others] = [source for source in steps.sources if not any(source is size for size in sizes)]
    return changed(made, arguments={**made.arguments, WARMUP: (key, others[0])}) if len(others) == 1 else made


def stages_of(evaluation: ProgramEvaluation) -> int | None:
    """The processes of each replica of a pipeline: its stages, times the ranks of a layer; None if they are not known."""
    numbers: list[object] = []
    for other in evaluation.others.values():
        if other.kind != PIPELINE:
            continue
        known = [other.arguments[name][1].data for name in ("num_pp", "num_mp", "num_stages") if name in other.arguments]
        if known and other.name != "PipelineModule":
            numbers.append(known[0] * known[1] if all(type(size) is int for size in known) and len(known) > 1 else known[0])
        elif known and known[0] is not None:
            numbers.append(known[0])
    first = numbers[0] if numbers else None
    return first if type(first) is int and first > 0 and all(number == first for number in numbers) else None


def the_same(calls: list[MadeCall]) -> MadeCall | None:
    """One of several calls that are alike in what they make, and in its learning rate; None if they differ."""
    different = {call.node: call for call in calls}
    first = next(iter(different.values()), None)
    for each in [*different.values()][1:]:
        names = ("lr", "name", "num_warmup_steps")
        pairs = ((first.arguments.get(name), each.arguments.get(name)) for name in names) if first is not None else ()
        if first is None or first.name != each.name or any(not alike(one, other) for one, other in pairs):
            return None
    return first


def alike(one: tuple[ast.AST, Value] | None, other: tuple[ast.AST, Value] | None) -> bool:
    return one is other if one is None or other is None else same(one[1], other[1])


def is_of_optimizer(event: Event) -> bool:
    """Whether a `step` is that of an optimizer or an engine, and not of a schedule or a progress bar."""
    owner, node = event.owner, event.place.node
    if isinstance(owner.data, LoopObject):
        return owner.data.kind in (OPTIMIZER, ENGINE)
    if any(isinstance(value.data, LoopObject) for value in owner.objects):
        return all(isinstance(value.data, LoopObject) and value.data.kind in (OPTIMIZER, ENGINE) for value in owner.objects)
    if isinstance(owner.data, Opaque) and owner.data.name.startswith(ENGINE_CALL):
        return owner.data.name.endswith("optimizer")
    name = "".join(dotted(node.func.value)[-1:]) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
    return "opt" in name.lower() or name.lower().endswith("scaler")


def loop_of_batches(*places: Place) -> OpenLoop | None:
    """The innermost loop around the first of the places that has one whose turns take batches of a data loader."""
    return next((loop for place in places for loop in reversed(place.loops) if loop.loaders), None)


def the_loader(loaders: list[LoopObject], one_at_a_time: bool) -> tuple[MadeCall | None, str]:
    """The call that makes the data loader, and why it is not known; several are as good as one if they have the same batch size."""
    calls = {loader.made.node: loader.made for loader in loaders if loader.made is not None}
    if not loaders:
        return None, "the loop goes through something else than a data loader that is known"
    if len(calls) == 1:
        call = next(iter(calls.values()))
        own = [loader.initial[SIZE] for loader in loaders if SIZE in loader.initial]  # in the evaluations that made these loaders
        if len(own) == len(loaders) and SIZE in call.arguments and own[0].is_plain and all(same(own[0], size) for size in own):
            call = changed(call, arguments={**call.arguments, SIZE: (call.arguments[SIZE][0], own[0])})
        return (None, WHOLE_BATCHES) if hands_on_elements(call) else (call, "")
    sizes = [call.arguments.get(SIZE) for call in calls.values()]
    equal = all(alike(sizes[0], size) and size is not None and size[1].is_plain for size in sizes) if sizes else False
    if equal and one_at_a_time:
        return next(iter(calls.values())), ""
    return None, SEVERAL if calls else "DeepSpeed makes the data loader"


def hands_on_elements(loader: MadeCall) -> bool:
    """Whether a loader of single elements gives them to the loop as they are: each may be a batch of its own."""
    _, size = loader.arguments.get(SIZE, (None, None))
    _, collate = loader.arguments.get("collate_fn", (None, None))
    function = collate.data.node if collate is not None and isinstance(collate.data, Function) else None
    if not isinstance(function, ast.Lambda) or (size is not None and size.data not in (1, None)):
        return False
    body = function.body.value if isinstance(function.body, ast.Subscript) else function.body
    return isinstance(body, ast.Name) and [argument.arg for argument in function.args.args] == [body.id]


def how_it_steps(evaluation: ProgramEvaluation, steps: list[Event]) -> Stepping:
    found: Stepping | None = None
    for event in {event.place.node: event for event in steps}.values():  # the last evaluation of each call
        each = stepping_of(event, evaluation)
        if found is None:
            found = each
        elif (found.turns is None) != (each.turns is None) or found.why or each.why:
            found = Stepping(None, found.why or each.why or "the optimizers step at different times")
    return found or Stepping()


def stepping_of(event: Event, evaluation: ProgramEvaluation) -> Stepping:
    """When one call of `step` is made, among the turns of the loop through the batches."""
    place = event.place
    backward = [each for each in evaluation.events if each.name == BACKWARD and shares_loop(each.place, place)]
    if event.name == TRAIN_BATCH or not backward:
        return Stepping()
    computed = backward[-1].place
    innermost = computed.loops[-1]  # which may go through batches that were taken before
    loop = loop_of_batches(computed, place) or (place.loops[-1] if innermost in place.loops else innermost)
    if loop not in place.loops:  # batches are taken in a loop of its own before each step
        inner = [open_loop for open_loop in computed.loops if open_loop not in place.loops]
        [only] = inner if len(inner) == 1 else [None]
        if only is not None and only.turns is not None and isinstance(only.node, ast.For):
            return Stepping(only.turns)
        return Stepping(None, "the number of batches before a step of the optimizer is computed by a loop")
    if place.loops[-1] is not loop:
        return Stepping(None, "the optimizer steps several times for each batch of the data loader")
    stepping = Stepping()
    for node, side in guards_between(place, computed, loop):
        guard = evaluation.guards_of.get(node)
        text = ast.unparse(guard.source) if guard is not None else ""
        if guard is not None and guard.turns is None and guard.full is not None:
            counter, turns, on_rest = guard.full  # of batches, if it starts again at 0: `if batches < n: continue`
            changes = (evaluation.counted, evaluation.restarted)
            if all(any(name == counter and loop in where.loops for name, where in places) for places in changes):
                guard.turns, guard.on_rest = turns, on_rest
        if SYNC in text and (guard is None or guard.turns is None):
            continue
        if guard is not None and guard.turns is not None and (side == 0) is not guard.on_rest and side in (0, 1, LOOP_LEFT):
            stepping.turns = guard.turns
        elif not RARE.search(text) and not is_both_sides(place, node, evaluation):
            source = guard.source if guard is not None else node
            return Stepping(None, f"the optimizer steps only if `{shown(source)}`" if isinstance(source, ast.expr) else "it is a case")
    return stepping


def shares_loop(place: Place, other: Place) -> bool:
    return any(loop in other.loops for loop in place.loops)


def guards_between(place: Place, other: Place | None, loop: OpenLoop) -> list[Condition]:
    """The conditions in a loop that something is done under, without those that something else is done under, too."""
    shared = set(other.conditions[loop.depth :]) if other is not None else set()
    found = (
        condition
        for condition in place.conditions[loop.depth :]
        if isinstance(condition[0], (ast.If, ast.Match)) and condition not in shared
    )
    return [*dict.fromkeys(found)]


def is_both_sides(place: Place, node: ast.AST, evaluation: ProgramEvaluation) -> bool:
    events = (
        event.place for event in evaluation.events if event.name == STEP and is_of_optimizer(event) and event.place.loops == place.loops
    )
    return {side for event in events for where, side in event.conditions if where is node} >= {0, 1}


def numbers_of(
    evaluation: ProgramEvaluation, steps: list[Event], loops: list[OpenLoop | None], stepping: Stepping, found: OwnLoop
) -> dict[str, tuple[ast.expr, Value]]:
    numbers: dict[str, tuple[ast.expr, Value]] = {}
    if stepping.turns is not None:
        numbers["turns"] = stepping.turns
    event, loop = steps[-1], loops[-1]
    if loop not in event.place.loops:  # batches are taken in a loop of its own before each step
        loop = event.place.loops[-1]
    outside = event.place.loops[: event.place.loops.index(loop)]
    ranges = [open_loop for open_loop in outside if isinstance(open_loop.node, ast.For)]
    named = [
        open_loop for open_loop in ranges if isinstance(open_loop.node, ast.For) and "epoch" in ast.unparse(open_loop.node.target).lower()
    ] or ranges
    if len(named) == 1 and named[0].turns is not None:
        numbers["epochs"] = named[0].turns
    if not outside and loop.turns is not None and isinstance(loop.node, ast.For):
        numbers["max_steps"] = loop.turns
        found.counts_batches = event.name != TRAIN_BATCH and not any(
            open_loop not in event.place.loops for open_loop in loops if open_loop is not None
        )
        return numbers
    limit = limit_of(evaluation, event, loop, outside, found)
    if limit is not None:
        numbers["max_steps"] = limit
    return numbers


def limit_of(
    evaluation: ProgramEvaluation, event: Event, loop: OpenLoop, outside: tuple[OpenLoop, ...], found: OwnLoop
) -> tuple[ast.expr, Value] | None:
    """The number of steps that ends the training, at the comparison that does: `if step >= max_steps: break`."""
    backward = next((each.place for each in reversed(evaluation.events) if each.name == BACKWARD and loop in each.place.loops), None)
    nodes = {node for node, _ in guards_between(event.place, backward, loop)}
    asked = [
        (guard.counter, guard.limit, isinstance(guard.operation, ast.Gt))
        for guard in evaluation.guards_of.values()
        if guard.limit is not None and guard.place is not None and guard.place.loops[-1] is loop
    ]
    if isinstance(loop.node, ast.While) and loop.turns is not None and isinstance(loop.node.test, ast.Compare):
        asked.append((ast.unparse(loop.node.test.left), loop.turns, False))
    for counter, (expression, value), is_above in asked:
        places = [place for name, place in evaluation.counted if name == counter and loop in place.loops]
        counts = {counts_steps(place, backward, loop, nodes, evaluation) for place in places}
        if type(value.data) is not int or len(counts) > 1 or None in counts:
            continue
        if counts:
            found.counts_batches = False in counts
            return expression, value if not is_above else Value(value.data + 1)
        first = first_number(loop, counter) if not outside else None
        if first is not None:
            before = expression.lineno < event.place.node.lineno  # type: ignore[attr-defined]
            found.counts_batches = True
            steps = value.data - first + (0 if before else 1) + is_above
            return expression, value if steps == value.data else Value(steps)
    return None


def counts_steps(place: Place, backward: Place | None, loop: OpenLoop, own: set[ast.AST], evaluation: ProgramEvaluation) -> bool | None:
    guards = {node for node, _ in guards_between(place, backward, loop)}
    texts = [ast.unparse(evaluation.guards_of[node].source) for node in guards - own if node in evaluation.guards_of]
    if len(texts) < len(guards - own) or not all(SYNC in text or RARE.search(text) for text in texts):
        return None
    return bool(guards & own) or any(SYNC in text for text in texts)


def first_number(loop: OpenLoop, counter: str) -> int | None:
    node = loop.node
    if isinstance(node, ast.While) or not isinstance(node.target, ast.Tuple) or ast.unparse(node.target.elts[0]) != counter:
        return None
    call = next((each for each in walk(node.iter) if isinstance(each, ast.Call) and dotted(each.func) == ["enumerate"]), None)
    if call is None:
        return None
    start = next((word.value for word in call.keywords if word.arg == "start"), call.args[1] if len(call.args) > 1 else None)
    if start is None:
        return 0
    return start.value if isinstance(start, ast.Constant) and type(start.value) is int else None
