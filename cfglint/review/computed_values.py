"""Values of a launch line that are unknown on both sides, but computed from something that changed."""

from __future__ import annotations

from cfglint.review.consequence import Consequence
from cfglint.review.effects import EFFECTS, LENGTHS, has_effect, length_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cfglint.frameworks.launch_facts import Launch
    from cfglint.review.snapshot import Side

BATCH_KEYS = ("per_device_train_batch_size", "gradient_accumulation_steps", "train_batch_size", "micro_batch_size", "global_batch_size")
SIZES = ("nproc_per_node", "nnodes", "num_processes", "num_machines", "num_gpus", "num_nodes", "include")
SIZE_VARIABLES = ("CUDA_VISIBLE_DEVICES", "NPROC_PER_NODE", "NNODES")


def computed(old: Side, new: Side, covered: set[str]) -> list[Consequence]:
    """A consequence for each quantity that may have changed, although it is unknown before and after."""
    found: dict[str, Consequence] = {}
    for what, name in differing(old, new):
        if what not in covered and what not in found:
            text = f"{what.replace('_', ' ')} may have changed: `{name}` is unknown and computed from values that changed"
            found[what] = Consequence(what, text, known=False)
    return list(found.values())


def differing(old: Side, new: Side) -> Iterator[tuple[str, str]]:
    """(quantity, option or variable) for unknown values with different sources."""
    one, two = old.run.launch.command, new.run.launch.command
    if one is None or two is None:
        return
    for key, source in two.sources.items():
        if key in two.unknown and key in one.unknown and one.sources.get(key, source) != source and has_effect(key):
            yield quantity(key), two.flags.get(key, key)
    before, after = sizes(old.run.launch), sizes(new.run.launch)
    for name, source in after.items():
        if name in before and before[name] != source:
            yield "gpus", name


def quantity(key: str) -> str:
    """The name of the quantity that an option decides."""
    return "global_batch" if key in BATCH_KEYS else LENGTHS if length_key(key) else EFFECTS.get(key, key)


def sizes(launch: Launch) -> dict[str, str]:
    """The sources of the unknown sizes of a launch, by option or variable."""
    line = launch.line
    assert line is not None
    options = line.options.given if line.options is not None else {}
    given = {f"--{name}": text for name in SIZES if name in options and (text := options[name].value) is not None}
    given.update((name, line.call.environment[name]) for name in SIZE_VARIABLES if name in line.call.environment)
    return {name: text.source for name, text in given.items() if not text.known}
