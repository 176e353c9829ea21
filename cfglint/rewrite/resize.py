"""Puts a launch on another number of GPUs: every place that sets or limits its processes changes together, or none does."""

from __future__ import annotations

from cfglint.batch.nodes import Size
from cfglint.findings.wording import counted
from cfglint.frameworks.launch_facts import Launched
from cfglint.launch.command import WITHOUT_EFFECT
from cfglint.launch.launcher import SizePlace, launcher_of
from cfglint.launch.line import LaunchLine
from cfglint.launch.resizing import size_places, tasks_of
from cfglint.rewrite.layout import size_before
from cfglint.rewrite.resized import Resized, count_changes, device_changes, keep_targeted, made_on, on, take, without_line
from cfglint.rewrite.terms import assigned_numbers
from cfglint.rewrite.value_change import ValueChange, count_in
from cfglint.run.checked import CheckedRun
from cfglint.source import edit
from cfglint.source.annotations import Callable, Mapping
from cfglint.source.change import Change, Edit, EditRefused
from cfglint.source.document import Document
from cfglint.source.sections import reread_all
from cfglint.source.shell.command import CommandDocument
from cfglint.source.shell.edits import after_option, protect_siblings
from cfglint.source.shell.placed_text import Text

Relaunch = Callable[[Mapping[str, str], Size], Launched]


def resize(run: CheckedRun, wanted: Size) -> Resized:
    """The run on so many nodes and GPUs; raises EditRefused, with what to change by hand, if its files cannot be made consistent."""
    relaunched, command, gpus = run.facts.relaunched, run.launch.command, wanted.processes
    if relaunched is None or command is None:
        return without_line(run, gpus, wanted)
    resized = Resized(run)
    now = relaunched({}, wanted)
    line = line_of(now)
    keep_targeted(run.launch, now.launch)
    before = size_before(run) or Size(line.gpus_per_node or 0, line.nodes or 0)
    places = size_places(line, wanted, before)
    given = line.options.given
    handed_on = any(option.in_file for option in given.values())  # the other keys of the file
    named = {file.path for file in line.files if file.role.startswith("launcher:") or handed_on}
    changes: list[tuple[Document, list[Change]]] = []
    for document in run.documents[1:]:
        if document.path in named:  # it gives options to the launcher: `num_processes` where no flag overrides it, and so on
            counts = [("num_processes", gpus), ("num_machines", wanted.nodes)]
            own = [count for count in counts if count[0] not in given or given[count[0]].in_file]
            of_counts = [change for count in own for change in count_changes(document, *count)]
            changes.append((document, of_counts + ([] if "gpu_ids" in given else device_changes(document, wanted.per_node))))
    if now.facts.gpus == gpus and not places and not any(made for _, made in changes):  # the number is given from outside
        return on(resized, [now.documents[0], *made_on(run.documents[1:], gpus)], run.facts.started_by(now).replace(gpus=gpus))
    for document, made in changes:
        take(resized, document, made)
    edit_places(resized, command, places)
    after = with_variables(resized, command, wanted, relaunched(resized.texts, wanted), relaunched)
    refuse_inconsistent(line, after, wanted, lambda spelled: tried({**resized.texts, command.path: spelled}, wanted, relaunched))
    keep_targeted(run.launch, after.launch)
    if now.launch.command is not None and after.launch.command is not None:
        take_arguments(resized, run, now.launch.command, after.launch.command)
        protect_siblings(command, after.launch.command)
    facts = run.facts.started_by(after).replace(gpus=gpus, gpus_source=after.facts.gpus_source)
    others = made_on(reread_all(run.documents[1:], resized.texts), gpus)
    resized.run = CheckedRun([after.documents[0], *others], run.kinds, facts)
    return resized


def line_of(launched: Launched) -> LaunchLine:
    assert launched.launch.line is not None
    return launched.launch.line


def edit_places(resized: Resized, command: CommandDocument, places: list[SizePlace]) -> None:
    """Replace the values of a launch that are written in its script; the others may be computed from these."""
    edits: dict[tuple[int, int], Edit] = {}
    for place in places:
        part, after = written_part(place)
        where = part.place
        if where is None or where[0] != command.path or command.text[where[1] : where[2]] != part.string:
            continue
        span = where[1], where[2]
        if span in edits and edits[span].text != after:
            counts = f"{edits[span].text} and {after}"
            raise EditRefused(
                f"line {command.position(span[0])[0]}: one number is used for several counts, which would be {counts}", span[0]
            )
        edits[span] = Edit(*span, after)
        resized.changed.append(ValueChange(command.path, place.key, count_in(place.text.string), count_in(place.after)))
    if edits:
        resized.texts[command.path] = edit.edited(command.text, edits.values())


def written_part(place: SizePlace) -> tuple[Text, str]:
    """(the part of a value that has to change, its new text): `0,1` of `localhost:$GPUS` with `GPUS=0,1`; all of it if written at once."""
    text, start = place.text, 0
    for part in text.parts if text.place is None else ():
        end = start + len(part.text or "")
        before, behind = text.string[:start], text.string[end:]
        is_whole_list = not before.endswith(",") and not behind.startswith(",")
        if part.place is not None and part.text and is_whole_list and place.after.startswith(before) and place.after.endswith(behind):
            return Text([part]), place.after[start : len(place.after) - len(behind)]
        start = end
    return text, place.after


def with_variables(resized: Resized, command: CommandDocument, wanted: Size, after: Launched, relaunched: Relaunch) -> Launched:
    """The launch after edits of the variables from which the script computes counts that are still other ones."""
    left = computed(after, wanted)
    text = resized.texts.get(command.path, command.text)
    for name, start, end in assigned_numbers(text) if left else ():
        value = int(text[start:end])
        for number in sorted({value * int(size_place.after) // int(size_place.text.string) for size_place in left} - {0, value}):
            texts = {**resized.texts, command.path: f"{text[:start]}{number}{text[end:]}"}
            then = tried(texts, wanted, relaunched)
            if then is not None and len(computed(then, wanted)) < len(left):
                resized.texts = texts
                resized.changed.append(ValueChange(command.path, f"${name}", value, number))
                return with_variables(resized, command, wanted, then, relaunched)
    return after


def tried(texts: Mapping[str, str], wanted: Size, relaunched: Relaunch) -> Launched | None:
    """The launch with other contents of files; None if that starts something else."""
    try:
        return relaunched(texts, wanted)
    except EditRefused:
        return None


def computed(launched: Launched, wanted: Size) -> list[SizePlace]:
    """The counts of a launch that its script computes, and that are not those of a size."""
    left = size_places(line_of(launched), wanted, wanted)
    return [
        size_place
        for size_place in left
        if size_place.text.place is None and size_place.text.string.isdigit() and size_place.after.isdigit() and int(size_place.text.string)
    ]


def refuse_inconsistent(before: LaunchLine, after: Launched, wanted: Size, trial: Callable[[str], Launched | None]) -> None:
    """Raise EditRefused if the edited launch has another size, or something contradicts it; `trial` is that of another script."""
    line = line_of(after)
    left = size_places(line, wanted, wanted)
    if left:
        place, now = left[0].text.place, f"`{left[0].key}` is {left[0].text.string}"
        if place is not None:
            raise EditRefused(f"{now}, set in {place[0]}: set it to {left[0].after} there by hand", before.call.start)
        spelled = with_literal(after, left[0])
        then = trial(spelled) if spelled else None
        holds = then is not None and not size_places(line_of(then), wanted, wanted) and then.facts.gpus == wanted.processes
        remedy = f"set it to {left[0].after} there by hand" if holds else "it is not edited"
        raise EditRefused(f"{now}, computed by the script: {remedy}", before.call.start)
    if line.srun and launcher_of(line).is_one_process and tasks_of(line) == wanted:
        return
    if line.nodes is not None and line.nodes != wanted.nodes:
        add = launcher_of(line).for_nodes(line, wanted.nodes)
        instead = f", or pass --nodes {line.nodes}" if line.nodes == 1 else ""
        raise EditRefused(
            f"{wanted.processes} GPUs are {wanted}, but this line starts on {counted(line.nodes or 1, 'node')}: {add}{instead}",
            before.call.start,
        )
    if after.facts.gpus != wanted.processes:
        raise EditRefused(launcher_of(line).why_fixed(line, wanted), before.call.start)


def refuse_other_size(run: CheckedRun, before: Mapping[str, str], after: Mapping[str, str], size: Size | None) -> None:
    """Raise EditRefused if a run on a size has another one after an edit of what its script may compute both from."""
    relaunched, command = run.facts.relaunched, run.launch.command
    if relaunched is None or command is None or size is None or command.path not in after:
        return
    sides: list[dict[str, object]] = []
    for texts in (before, after):
        launched = relaunched(texts, size)
        line = line_of(launched)
        places = {f"`{place.key}`": place.text.string for place in size_places(line, size, size)}
        tasks = tasks_of(line) if line.srun else None
        counts = {"the tasks of `srun`": tasks, "the number of nodes": line.nodes, "the number of processes": launched.facts.gpus}
        sides.append({**places, **counts})
    for key, count in sides[1].items():
        if count != sides[0].get(key):
            raise EditRefused(f"the edit would change {key} as well", command.roots[0].start)


def with_literal(launched: Launched, count: SizePlace) -> str:
    """The script with a number in the place of what it computes a count from on the line; empty if that is not written there."""
    command, option = launched.launch.command, line_of(launched).options.given.get(count.key.lstrip("-"))
    place = option.word.place if option is not None else None
    if command is None or place is None or place[0] != command.path:
        return ""

    return after_option(command.text, place[2], count.after)


def take_arguments(resized: Resized, run: CheckedRun, before: CommandDocument, after: CommandDocument) -> None:
    """Report the arguments that the script computes from the edited values; raises EditRefused for one that is not of the batch."""
    of_batch = {key for config in run.configs for key in config.batch_keys.values()} | WITHOUT_EFFECT
    names = [name for name in {**before.words, **after.words} if before.words.get(name) != after.words.get(name)]
    for name in names:
        then, now = before.words.get(name), after.words.get(name)
        if name not in of_batch or then is None or now is None:
            message = f"`--{name}` is computed from the number of GPUs, so that the edit would change it; set both by hand"
            raise EditRefused(message, before.roots[0].start)
        resized.changed.append(
            ValueChange(before.path, before.flags.get(name, f"--{name}"), count_in(" ".join(then)), count_in(" ".join(now)))
        )
