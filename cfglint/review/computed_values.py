"""Values of a launch line that are unknown on both sides, but computed from something that changed."""

from __future__ import annotations

from cfglint.launch import Launch
from cfglint.review.consequence import Consequence
from cfglint.review.effects import EFFECTS, LENGTHS, TOKEN_LENGTHS, has_effect
from cfglint.review.settings import size_texts
from cfglint.review.snapshot import Side
from cfglint.source.annotations import Iterator
from cfglint.source.python.call import CallDocument

BATCH_KEYS = ("per_device_train_batch_size", "gradient_accumulation_steps", "train_batch_size", "micro_batch_size", "global_batch_size")
FROM_CHANGED = "`{}` is unknown and computed from values that changed"


def computed(old: Side, new: Side, covered: set[str]) -> Iterator[Consequence]:
    """A consequence for each quantity that may have changed, although it is unknown before and after."""
    told = {*covered}
    for what, reason in differing(old, new):
        if what not in told:
            told.add(what)
            yield Consequence(what, f"{what.replace('_', ' ')} may have changed: {reason}", known=False)


def differing(old: Side, new: Side) -> Iterator[tuple[str, str]]:
    """(quantity, reason) for values of which one or both are unknown, and that may differ."""
    yield from of_programs(old, new)
    was, now = old.run.launch.command, new.run.launch.command
    if was is None or now is None:
        return
    for key, source in now.sources.items():
        if key in now.unknown and key in was.unknown and was.sources.get(key, source) != source and has_effect(key):
            yield quantity(key), FROM_CHANGED.format(now.flags.get(key, key))
    before = sizes(old.run.launch)
    for name, source in sizes(new.run.launch).items():
        if before.get(name, source) != source:
            yield "gpus", FROM_CHANGED.format(name)


def of_programs(old: Side, new: Side) -> Iterator[tuple[str, str]]:
    """(quantity, reason) for arguments that a program computes from something that changed, or whose value is known on one side only."""
    calls = [next((document for document in side.run.documents if isinstance(document, CallDocument)), None) for side in (old, new)]
    if calls[0] is None or calls[1] is None:
        return
    for key in {**calls[0].values, **calls[1].values}:
        was, now = key in calls[0].unknown, key in calls[1].unknown
        if not has_effect(key) or not (was or now) or not any(config.has_field(key) for side in (old, new) for config in side.run.configs):
            continue
        if was and now and calls[0].trace(key) != calls[1].trace(key):
            yield quantity(key), FROM_CHANGED.format(key)
        elif was != now:
            yield quantity(key), f"`{key}` {'was unknown before' if was else 'is unknown now'}"


def quantity(key: str) -> str:
    """The name of the quantity that an option decides."""
    return "global_batch" if key in BATCH_KEYS else LENGTHS if key in TOKEN_LENGTHS else EFFECTS.get(key, key)


def sizes(launch: Launch) -> dict[str, str]:
    """The sources of the unknown sizes of a launch, by option, header or variable."""
    return {name: text.source for name, text in size_texts(launch).items() if not text.known}
