"""What TRL's classes and the constructors of its trainers refuse: their rows, on the values of a file."""

from __future__ import annotations

import functools

from cfglint.findings.vocabulary import Stage
from cfglint.frameworks.huggingface.arguments import EVALUATES
from cfglint.frameworks.refusal import FAILURE, Refusal, Words
from cfglint.frameworks.releases.versions import Version, dotted
from cfglint.frameworks.rows.refusals import PROCESSES, Check, Plan, pages_of, unknown_field
from cfglint.frameworks.rows.table import table_of
from cfglint.frameworks.trl import KIND
from cfglint.frameworks.trl.config import TrlConfig
from cfglint.frameworks.trl.fields import BESIDE
from cfglint.source.annotations import Any

IN_COMMAND = "TRL047"  # the page of what only the command `trl` refuses
CONFIG: Stage = "config"
INIT: Stage = "init"
WORLD, DEVICE = "world_size", "device"
KEPT = ("loss_type", "beta")
SIZES = ("per_device_train_batch_size", "gradient_accumulation_steps")


def refusals(config: TrlConfig) -> list[Refusal]:
    """Every refusal; if the trainer is not known, those that all trainers have that the file may be for."""
    found: list[Refusal] = []
    if config.lacks_class:
        return found
    for name in BESIDE:
        found += refused(config, name, config.world_size)
    first, *others = [refused(config, name, config.world_size) for name in config.trainers]
    found += [each for each in first if all(any(is_same(each, one) for one in other) for other in others)]
    if config.command_checks and len(config.trainers) == 1:
        for refusal in refused(config, config.trainers[0], 1):  # the command builds the arguments in one process
            if refusal.kind != FAILURE and refusal.fails_at == CONFIG and not any(is_same(refusal, each) for each in found):
                refusal.kind, refusal.note = IN_COMMAND, "the `trl` command checks this for one process, before it starts the others"
                found.append(refusal)
    return found


def is_same(first: Refusal, second: Refusal) -> bool:
    return (first.kind, first.key) == (second.kind, second.key)


def refused(config: TrlConfig, name: str, processes: int | None) -> list[Refusal]:
    rows = plan(name, config.trl_version)
    if not rows.rows:
        return []
    args = config.arguments
    machine = {WORLD: PROCESSES if processes is None else processes, DEVICE: {"type": "cuda"}}
    defaults = {**args.defaults, **machine}
    reported = SIZES if config.batch.problem is not None else ()
    defaults.update((name, unknown_field(name)) for name in reported)
    late = config.set_later if name in BESIDE else ()  # those of TrainingArguments are built again
    written = {name: value for name, value in args.given.items() if name not in reported and name not in late}
    kinds = args.fields.types
    words = Words(KEPT, {(WORLD,): "", (DEVICE,): ""}, lambda key: kinds.get(key) == "bool", {(WORLD,): "GPU"})
    varying = (WORLD, DEVICE, *args.unknown, *reported, *args.redefined)

    def fact(name: str, *arguments: Any) -> Any:  # packages are installed
        return dotted(config.version) if (name, *arguments) == ("version", "transformers") else True

    check = Check(rows, written, defaults, varying, fact, pages_of(KIND))
    found = check.refusals(words)
    config.depends_on_processes = config.depends_on_processes or check.depends_on_processes
    return found


@functools.cache
def plan(name: str, release: Version) -> Plan:
    stages: tuple[Stage, ...] = (CONFIG, INIT)
    rows = {stage: table_of(KIND).rows(stage, name, release) for stage in stages}
    return Plan({**rows, CONFIG: [*EVALUATES, *rows[CONFIG]]} if any(rows.values()) else {})
