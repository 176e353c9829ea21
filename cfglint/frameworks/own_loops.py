"""What a training loop of a program's own says of its run: batches and steps, optimizer, schedule and length."""

from __future__ import annotations

from cfglint.evaluate import Unknown, because
from cfglint.findings.setting import WRITTEN, Setting, derived
from cfglint.frameworks.summary import LENGTH, RATE, Summary
from cfglint.launch import Launch
from cfglint.launch.command import passed
from cfglint.launch.program import OwnLoop
from cfglint.source.python.call import CallDocument

TURNS, EPOCHS, MAX_STEPS = "turns", "epochs", "max_steps"
RATES = ("lr", "learning_rate")
SCHEDULE, WARMUP = "schedule", "num_warmup_steps"
NAMED_BY_KEY = ("get_scheduler",)  # whose first argument is the name of the schedule
SHORTENED = {"cosine_with_hard_restarts": "cosine_with_restarts", "polynomial_decay": "polynomial", "wsd": "warmup_stable_decay"}


def setting(call: CallDocument, key: str, launch: Launch, name: str = "") -> Setting | None:
    """An argument of a call at its place, on the line if that gives it; None if the call does not have it. `name` is for reports."""
    key_node, node = call.find((key,))
    if node is None:
        return None
    value, argument = call.values.get(key), call.borrowed.get(key)
    if argument is not None and launch.command is not None and launch.parser is not None and launch.line is not None:
        word, pair, _ = passed(launch, argument)
        if pair is not None:
            value = value if isinstance(word, Unknown) else word  # which the parser of the program converts by a function of its own
            return Setting((name or pair[0].raw,), value, WRITTEN, launch.command, pair[1], None)
    path = (name or key,)
    if isinstance(value, Unknown):
        return Setting(path, value, WRITTEN, call, node, key_node, because(value.reasons))
    found = Setting(path, value, WRITTEN, call, node, key_node)
    found.elsewhere = call.elsewhere.get(key)
    return found


def number_of(loop: OwnLoop, key: str, launch: Launch, name: str = "") -> Setting | None:
    numbers: CallDocument | None = loop.numbers
    return setting(numbers, key, launch, name) if numbers is not None else None


def total_steps(loop: OwnLoop, launch: Launch, accumulation: int | None) -> int | None:
    """The steps of the optimizer after which the loop ends, where a number ends it."""
    found = number_of(loop, MAX_STEPS, launch)
    total = found.integer if found is not None else None
    if total is None or not loop.counts_batches:
        return total
    return total // accumulation if accumulation else None


def warmup_steps(loop: OwnLoop, launch: Launch) -> int | None:
    found = setting(loop.schedule, WARMUP, launch) if loop.schedule is not None else None
    return found.integer if found is not None else None


def schedule_of(loop: OwnLoop, launch: Launch) -> Setting | None:
    """The schedule of the learning rate by the name that libraries give it; None without one, or if it is not known."""
    call: CallDocument | None = loop.schedule
    if call is None:
        return None
    if call.name in NAMED_BY_KEY:
        found = setting(call, "name", launch, SCHEDULE)
        if found is not None and isinstance(found.value, str):
            found.value = found.value.rpartition(".")[2].lower()
            return found
        return None
    name = call.name
    if name.startswith("get_"):
        name = name.removeprefix("get_").removesuffix("_schedule_with_warmup").removesuffix("_schedule")
        name = "constant_with_warmup" if call.name == "get_constant_schedule_with_warmup" else SHORTENED.get(name, name)
    return Setting((SCHEDULE,), name, WRITTEN, call, call.roots[0], None)


def add_loop(summary: Summary, loop: OwnLoop, launch: Launch, accumulation: int | None, *, has_optimizer: bool = True) -> None:
    if loop.optimizer is not None and has_optimizer:
        summary.add(RATE, "optimizer", Setting(("optimizer",), loop.optimizer.name, WRITTEN, loop.optimizer, loop.optimizer.roots[0], None))
        rate = next(filter(None, (setting(loop.optimizer, each, launch, "learning_rate") for each in RATES)), None)
        if rate is not None and type(rate.value) in (int, float):
            summary.add(RATE, "learning rate", rate)
    schedule = schedule_of(loop, launch)
    if schedule is not None:
        summary.add(RATE, "schedule", schedule)
    warmup = setting(loop.schedule, WARMUP, launch, "warmup_steps") if loop.schedule is not None else None
    if warmup is not None and warmup.integer is not None:
        summary.add(LENGTH, "warm-up", warmup)
    epochs = number_of(loop, EPOCHS, launch, EPOCHS)
    if epochs is not None and type(epochs.value) in (int, float):
        summary.add(LENGTH, "epochs", epochs)
    total = total_steps(loop, launch, accumulation)
    ends = number_of(loop, MAX_STEPS, launch, MAX_STEPS)
    if total is not None and ends is not None:
        if loop.counts_batches and total != ends.value:
            summary.add(LENGTH, "total steps", derived(MAX_STEPS, total, f"{ends.value} batches / {accumulation}"))
        else:
            summary.add(LENGTH, "total steps", ends)
    elif loop.is_found:
        summary.derive(LENGTH, "total steps", "total_steps", None, "the batches of its own data loader are not counted")
