"""Brings a run to a target whose framework chooses the values of its keys itself, as verl does."""

from __future__ import annotations

from cfglint.batch import solver
from cfglint.findings.setting import OVERRIDE, Batch, Setting
from cfglint.frameworks.base import imported
from cfglint.frameworks.chosen_sizes import ChosenSizes
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.launch.resizing import around_command, of_devices
from cfglint.rewrite.layout import Layout, layout_on
from cfglint.rewrite.resize import edit_places, resize
from cfglint.rewrite.resized import Resized
from cfglint.rewrite.retarget import MissingFactError, Retarget, final_changes, refuse_lost_arguments, refuse_unreadable, retarget
from cfglint.rewrite.value_change import ValueChange
from cfglint.run.checked import CheckedRun
from cfglint.source import edit
from cfglint.source.change import INSERT, REPLACE, Change, EditRefused
from cfglint.source.document import Document
from cfglint.source.sections import file_document
from cfglint.source.spelling import spell


def reach_target(
    run: CheckedRun,
    facts: LaunchFacts,
    gpus: int | None,
    batch: int | None,
    max_micro: int | None,
    *,
    edits: bool = True,
    now: CheckedRun | None = None,
) -> Retarget:
    """`retarget`, or for a run whose framework chooses its sizes these, and the edits that write them; raises what `retarget` does."""
    if not run.configs or not run.configs[0].chooses_sizes:
        return retarget(run, facts, gpus, batch, max_micro, edits=edits, now=now)
    refuse_unreadable(run)
    if edits:
        refuse_lost_arguments(run)
    now = now or run
    config, before = now.configs[0], now.batch
    current = before.layout.gpus if before is not None else None
    gpus, batch = gpus or current, batch or config.batch.global_batch.integer
    if gpus is None or batch is None:
        unknown = "the GPU count" if gpus is None else "the current global batch"
        raise MissingFactError(f"{unknown} is unknown", **({"gpus": "the new one"} if gpus is None else {"global_batch": "a target"}))
    layout = layout_on(run, gpus)
    if layout.after is None:
        refused = solver.refused_nodes(solver.SplitProblem(gpus, batch, 1, max_micro_batch=1, gpus_per_node=layout.each), layout.refusal)
        return Retarget(run, gpus, before, refused, layout=layout)
    sizes: ChosenSizes = imported(config.parts["choose_sizes"])(config, layout.after, batch, max_micro)
    if sizes.missing:
        raise MissingFactError(sizes.missing)
    found = Retarget(run, gpus, before, solution_of(sizes, gpus, batch, before), layout=layout)
    if sizes.values:
        found.values = sizes.values
        try:
            rewrite(found, now, sizes, layout)
        except EditRefused:
            if edits:
                raise
            found.planned = True
    return found


def solution_of(sizes: ChosenSizes, gpus: int, batch: int, before: Batch | None) -> solver.Solution:
    micro, accumulation = (before.micro_batch.integer, before.accumulation.integer) if before is not None else (None, None)
    problem = solver.SplitProblem(gpus, batch, micro, accumulation, max_micro_batch=sizes.micro_batch or micro or 1)
    solution = solver.Solution(problem, solver.OK if sizes.values else solver.BATCH_INFEASIBLE)
    solution.reasons = sizes.reasons
    if sizes.values:
        solution.chosen = split(sizes, batch)
        solution.options = [solution.chosen]
        return solution
    solution.below, solution.above = (split(sizes, each) if each is not None else None for each in (sizes.below, sizes.above))
    counts = sizes.gpu_counts
    solution.gpus_below = max((count for count in counts if count < gpus), default=None)
    solution.gpus_above = min((count for count in counts if count > gpus), default=None)
    return solution


def split(sizes: ChosenSizes, batch: int) -> solver.Split:
    """The micro batch and accumulation, with a global batch that is not their product."""
    found = solver.Split(sizes.micro_batch or 1, sizes.accumulation or 1, sizes.data_parallel or 1)
    found.global_batch = batch
    if sizes.micro_batch is None:  # the sizes are dynamic
        found.micro_batch = found.accumulation = None  # type: ignore[assignment]
    return found


def rewrite(found: Retarget, run: CheckedRun, sizes: ChosenSizes, layout: Layout) -> None:
    """Edit the values that differ where they are written, after bringing the launcher to the number of GPUs; raises EditRefused."""
    is_launched = run.configs[0].own_size is None and layout.after is not None
    resized = resize(run, layout.after) if is_launched and layout.after is not None else Resized(run)
    run = resized.run
    config = run.configs[0]
    changed = {key: value for key, value in sizes.values.items() if config.setting(key).value != value}
    command = of_script(resized, run, layout) if changed else None
    edits: dict[str, tuple[Document, list[Change]]] = {}
    for key, value in changed.items():
        setting = config.setting(key)
        document, change = change_of(setting, value, command or config.documents[0])
        edits.setdefault(document.path, (document, []))[1].append(change)
        resized.changed.append(ValueChange(document.path, setting.pointer, setting.value if change.kind == REPLACE else None, value))
    texts = {path: edit.apply(document, changes) for path, (document, changes) in edits.items()}
    found.texts = {**resized.texts, **texts}
    found.changed = final_changes(resized.changed)
    after = found.after().configs[0]
    wrong = next((key for key, value in sizes.values.items() if after.setting(key).value != value), None)
    if wrong is not None:
        raise EditRefused(f"`{wrong}` would not be {sizes.values[wrong]} after the edit; set it by hand", 0)


def change_of(setting: Setting, value: int, command: Document) -> tuple[Document, Change]:
    """The change that sets a value where it is written, else at the end of the line."""
    if setting.origin == OVERRIDE:
        return command, Change(REPLACE, setting.path, text=spell(value, command, setting.node))
    if setting.node is None or setting.document is None:
        return command, Change(INSERT, (), str(setting.path[0]), spell(value, command))
    document = file_document(setting.document)
    return document, Change(REPLACE, setting.path, text=spell(value, document, setting.node))


def of_script(resized: Resized, run: CheckedRun, layout: Layout) -> Document | None:
    """Edit the lists of devices and the requests of Slurm around the line; return the command of the edited script, None without one."""
    line, command = run.launch.line, run.launch.command
    if line is None or command is None or layout.before is None or layout.after is None:
        return None

    places = [*of_devices(line, layout.after), *around_command(line, layout.after, layout.before)]
    places = [place for place in places if place.text.string != place.after]
    if not places:
        return None
    edit_places(resized, command, places)
    text = resized.texts.get(command.path)
    if text is None or command.again is None:
        raise EditRefused(f"`{places[0].key}` is {places[0].text.string}: set it to {places[0].after} by hand", line.call.start)
    return command.again(text)
