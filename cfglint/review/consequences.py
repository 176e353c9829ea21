"""The consequences of a change for a run: whether it starts, its batch, its length, its learning rate and the rest; each has one name."""

from __future__ import annotations

from os import sep
from os.path import basename

from cfglint.findings.diagnostic import Outcome
from cfglint.findings.setting import WRITTEN
from cfglint.findings.wording import MOMENTS
from cfglint.frameworks import framework
from cfglint.frameworks.huggingface.summary import MADE_OTHERWISE
from cfglint.launch.kinds import LAUNCH, is_trainer
from cfglint.review.batch_consequences import batch, growth
from cfglint.review.consequence import (
    LEFT_OPEN,
    Consequence,
    as_written,
    changed,
    line_of,
    name_of,
    number,
    on_gpus,
    plain,
    relation,
    spelled,
)
from cfglint.review.effects import EFFECTS, LENGTHS, MEANINGS, OF_A_FRAMEWORK, SUBJECT_KEYS, SUBJECTS, TOKEN_LENGTHS, has_effect
from cfglint.review.releases import changed_releases
from cfglint.review.schedule_consequences import length, rate
from cfglint.review.settings import UNKNOWN, SettingChange, equal, unknown_sizes
from cfglint.review.snapshot import Side
from cfglint.source.annotations import Iterator
from cfglint.source.python.call import CallDocument
from cfglint.source.shell.command import is_all_of_caller
from cfglint.source.shell.reasons import ALL_OF_CALLER

VERSION = "target"
SHARDED = {
    0: "nothing is sharded",
    1: "optimizer states are sharded",
    2: "optimizer states and gradients are sharded",
    3: "optimizer states, gradients and weights are sharded",
}
OWN_SENTENCE = frozenset((
    "GPUs", "GPUs implied", "data parallel", "called from",  # a line may have moved
    "micro batch", "accumulation", "global batch", "samples per step", "tokens per sample", "tokens per step", "sequence length",
    "training samples", "epochs", "max steps", "batches per epoch", "steps per epoch", "total steps", "warm-up steps", "learning rate",
    "decay steps", "schedule's total", "schedule's warm-up",
))  # fmt: skip

NOT_KNOWN, NO_ERROR = "whether it starts is not known", "no errors in what is known"
NUMERIC = ("warmup", "learning_rate", "lowest_rate", "gradient_clipping", "beta")  # consequences whose values are numbers


def consequences_of(old: Side | None, new: Side | None, settings: list[SettingChange], heading: str) -> list[Consequence]:
    """The consequences of a change for a run, most important first; a side is None if the run is new or deleted, or as `heading` says."""
    if old is None:
        return one_sided_run(new, heading or "new run", "starts", "does not start") if new is not None else []
    if new is None:
        deleted = one_sided_run(old, heading or "deleted run", "started", "did not start")
        for consequence in deleted:
            consequence.before, consequence.after = consequence.after, None
        return deleted
    if not (old.readable and new.readable):
        return [*unreadable(old, new)]
    changed_keys = {setting.key for setting in settings}
    lost = [*missing_references(old, new)]
    if lost:
        # If only the files of engines are missing, batch and length are those of the trainer, which has them elsewhere. Else all other
        # consequences depend on such a file.
        missing = {kind for side in (old, new) for _, kind, *_ in side.missing_files}
        have_trainers = all(is_trainer(side.run.configs[0].kind) for side in (old, new))
        if not have_trainers or not all(kind and framework(kind).is_engine for kind in missing):
            return lost
        sizes = [consequence for consequence in batch(old, new, changed_keys) if consequence.what != "memory"]
        consequences = [*lost, *subjects(old, new, settings), *sizes, *length(old, new)]
        return [*consequences, *lines_of_read_file(old, new), *from_settings(old, new, settings, changing(consequences))]
    if lacks_program(old, new):
        now = "is no longer found in the project" if new.run.assumed else "is found in the project now"
        text = f"the program of the line {now}: what it computes is not compared"
        return [Consequence("program", text, known=False), *subjects(old, new, settings), *launch(old, new)]
    consequences = [
        *start(old, new),
        *another_trainer(old, new),
        *subjects(old, new, settings),
        *launch(old, new),
        *batch(old, new, changed_keys),
        *length(old, new),
        *rate(old, new),
        *other_lines(old, new),
    ]
    consequences += from_settings(old, new, settings, changing(consequences))
    return [*consequences, *computed(old, new, {consequence.what for consequence in consequences})]


def lacks_program(old: Side, new: Side) -> bool:
    """Whether the program of the line was read on one side only, so that the other has the names of its arguments alone."""
    return bool(old.run.assumed) != bool(new.run.assumed)


def another_trainer(old: Side, new: Side) -> Iterator[Consequence]:
    before, after = (side.run.launch.program_path or "" for side in (old, new))
    project = old.run.launch.project
    if before and basename(before) != basename(after) and project is not None and project.is_file(after):  # else it was renamed
        yield Consequence("program", f"another program: {before} -> {after}", before, after)
    was, now = (next((config.kind for config in side.run.configs if is_trainer(config.kind)), None) for side in (old, new))
    if was is not None and now is not None and was != now:
        titles = framework(was).title, framework(now).title
        yield Consequence("trainer", f"another trainer: {titles[0]} -> {titles[1]}", *titles)


def changing(consequences: list[Consequence]) -> set[str]:
    return {consequence.what for consequence in consequences if consequence.before != consequence.after or consequence.factor != 1}


def one_sided_run(side: Side, text: str, starts: str, fails: str) -> list[Consequence]:
    """A run that the other side does not have, with its numbers."""
    if not side.readable:
        return [Consequence("run", text), Consequence("unreadable", f"{side.unreadable_file} cannot be read", None, True)]
    consequences: list[Consequence] = []
    for what, label in (("global_batch", "global batch"), ("total_steps", "total steps")):
        number = side.number(what)
        if number is not None:
            consequences.append(Consequence(what, f"{label} {number:,}", None, number))
    for label in ("learning rate", "precision", "ZeRO stage", "schedule"):
        # A default that arguments may replace which are not known, or one of an assumed trainer.
        is_open = side.run.assumed or any(reason.kind == "argument" for reason in side.run.launch.doubts)
        is_guess = is_open and label in side.lines and not side.lines[label].setting.written
        if side.line(label) is not None and not is_guess:
            shown = f"{label} {as_written(side.lines[label])}"
            consequences.append(Consequence(name_of(label), shown, None, plain(label, side.line(label))))
    verdict = side.outcome.verdict
    if not side.starts:
        starts = "no errors in the file alone" if side.run.is_lone else NO_ERROR
    state = [(starts if verdict == "accept" else fails) + on_gpus(side)]
    if verdict is None:
        state = [] if consequences else [NOT_KNOWN]
    line = side.run.launch.line
    is_called = consequences and line is not None and any(map(is_all_of_caller, line.arguments))
    state += [f"without further arguments in the place of `{ALL_OF_CALLER.name}`"] if is_called else []
    sentence = f"{text}: {', '.join([*state, *(consequence.text for consequence in consequences)])}"
    return [Consequence("run", sentence, None, verdict), *consequences]


def unreadable(old: Side, new: Side) -> Iterator[Consequence]:
    """The consequence of a side that cannot be parsed: nothing else is derived from it."""
    sides = not old.readable, not new.readable
    if [document.text for document in old.run.documents] == [document.text for document in new.run.documents]:
        return
    if all(sides):
        text = f"{new.unreadable_file} could not be read before and cannot be read now"
    elif sides[1]:
        text = f"{new.unreadable_file} cannot be read any more"
    else:
        text = f"{old.unreadable_file} could not be read before and can be read now"
    yield Consequence("unreadable", text, *sides)
    yield from start(old, new)


def start(old: Side, new: Side) -> Iterator[Consequence]:
    """The consequence of another verdict, or another stage of failure."""
    before, after, on = old.outcome, new.outcome, on_gpus(new)
    was, now = before.verdict, after.verdict
    if was == now:
        if before.fails_at != after.fails_at:
            text = f"still does not start{on}: fails {moment(after)}, before {moment(before)}"
            yield Consequence("fails_at", text, before.fails_at, after.fails_at)
        return
    if now is None:
        accepted = "it started before" if old.starts else "no error was known before"
        earlier = accepted if was == "accept" else f"it did not start before: failed {moment(before)}"
        text = f"whether it starts is not known; {earlier}"
    elif was is None:
        if now == "accept" and (new.run.is_lone or any(reason.kind == "budget" for reason in old.run.not_read)):
            return  # what starts it is not known, or it was too long to follow, and nothing tells that it did not start
        accepted = f"starts{on}; before, that was not known" if new.starts else f"{NO_ERROR}; before, it was not known whether it starts"
        text = accepted if now == "accept" else f"does not start{on}: fails {moment(after)}; before, that was not known"
    else:
        starts = "starts now" if new.starts else "has no errors any more"  # nothing tells what starts a file on its own
        fails = "no longer starts" if old.starts or old.run.is_lone else "does not start"
        how, failed, side = (starts, "failed", before) if now == "accept" else (fails, "fails", after)
        text = f"{how}{on}{f': {failed} {MOMENTS[side.fails_at]}' if side.fails_at else ''}"
    yield Consequence("verdict", text, was, now, known=now is not None)


def subjects(old: Side, new: Side, settings: list[SettingChange]) -> Iterator[Consequence]:
    """What a run trains with: other data, another model, other adapters, or a training that is switched on or off.

    A program that does not take an argument has the model or the data elsewhere.
    """
    taken = (each for each in settings if all(side.takes(each.key) for side in (old, new)))
    by_subject = [(subject_of(setting), setting) for setting in taken]
    for what in ("training", "model", "data", "adapter"):
        changes = [change for subject, change in by_subject if subject == what]
        if changes:
            texts = [f"`{change.key}` {change.before.text} -> {change.after.text}" for change in changes]
            known = all(UNKNOWN not in (change.before.text, change.after.text) for change in changes)
            before, after = (changes[0].before.known, changes[0].after.known) if len(changes) == 1 else (None, None)
            perhaps = "perhaps " if all(UNKNOWN in (change.before.text, change.after.text) for change in changes) else ""
            yield Consequence(what, f"{perhaps}{SUBJECTS[what]}: {', '.join(texts)}", before, after, known=known and len(changes) == 1)


def subject_of(change: SettingChange) -> str:
    """What a setting is about, if a reviewer has to know it whatever the framework computes from it; empty for any other.

    A file or model of the same name in another folder is taken for the same one; an option without its value names none.
    """
    key = change.key.rpartition(".")[2].replace("-", "_").lower()
    what = "" if key in OF_A_FRAMEWORK and change.kind == LAUNCH else SUBJECT_KEYS.get(key, "")
    names = [str(state.value).rstrip("/").rpartition("/")[2] for state in (change.before, change.after)]
    is_named = names[0] != names[1] and not any(isinstance(state.value, bool) for state in (change.before, change.after))
    return what if is_named or what not in ("data", "model") else ""


def moment(outcome: Outcome) -> str:
    """When a run fails."""
    return MOMENTS.get(outcome.fails_at or "", "at an unknown stage")


def missing_references(old: Side, new: Side) -> Iterator[Consequence]:
    """The consequences of named files that exist on one side only, so that nothing in them can be compared."""
    before, after = ({name: (why, key) for name, _, why, key in side.missing_files} for side in (old, new))
    if before.keys() == after.keys():
        return
    there = [f"/{document.path.replace(sep, '/')}" for document in old.run.documents]
    yield from start(old, new)
    for name, (why, key) in after.items():
        if name not in before:
            text = f"`{key}` names {name}, which {why}" if key else f"{name} {why}"
            end = " any more" if any(path.endswith(f"/{name.removeprefix('./')}") for path in there) else ""
            yield Consequence("file", f"{text}{end}: its settings are not compared", None, name)
    for name, (why, key) in before.items():
        if name not in after:
            text = f"`{key}` named {name} before, which {why}" if key else f"{name}, named before, {why}"
            yield Consequence("file", f"{text}: its settings are not compared", name, None)


def lines_of_read_file(old: Side, new: Side) -> Iterator[Consequence]:
    """The lines of the summary that rest on a file of one side, while that of the other side was not read."""
    for side, other in ((old, new), (new, old)):
        there = {basename(document.path) for document in other.run.documents}  # a script that moved is the same one
        paths = {document.path for document in side.run.documents[1:] if basename(document.path) not in there}
        for label, item in side.lines.items():
            document = item.setting.document
            if label in OWN_SENTENCE or item.setting.origin != WRITTEN or document is None or document.path not in paths:
                continue
            value, known = spelled(item.setting.known, label), plain(label, item.setting.known)
            text = f"{label} {value} -> unknown" if side is old else f"{label} unknown -> {value}"
            before, after = (known, None) if side is old else (None, known)
            yield Consequence(name_of(label), text, before, after, known=False)


def launch(old: Side, new: Side) -> Iterator[Consequence]:
    counts = old.line("GPUs"), new.line("GPUs")
    spread = "spreads" if new.run.launch.spreads else "spread" if old.run.launch.spreads else ""
    if spread:  # one process on several GPUs, whose number is not that of the line
        for each in changed("gpus", "processes", *counts):
            yield Consequence("gpus", f"{each.text}; one process {spread} the model over all visible GPUs", known=False)
        counts = None, None
    yield from changed("gpus", "GPUs", *counts)
    if (counts[0] is None) != (counts[1] is None):
        shown = ["unknown" if count is None else f"{count:,}" for count in counts]
        yield Consequence("gpus", f"GPUs {shown[0]} -> {shown[1]}", *counts, known=False)
    before, after = old.line("GPUs implied"), new.line("GPUs implied")
    if before and after and before != after:
        yield Consequence("implied_gpus", f"the batch sizes now imply {after:,} GPUs, previously {before:,}", before, after)
    for package, was, now in changed_releases(old.run, new.run):
        before, after = (release.version if release.is_known else None for release in (was, now))
        yield Consequence(VERSION, f"{package} {was.text} -> {now.text}", before, after, known=was.is_known and now.is_known)


def other_lines(old: Side, new: Side) -> Iterator[Consequence]:
    """Every other line of the summary with a different value."""
    gpus = [line_of(side, "GPUs") for side in (old, new)]
    for label in dict.fromkeys((*new.lines, *old.lines)):
        before, after = line_of(old, label), line_of(new, label)
        known = None not in (before, after)
        # The files may not determine a line without a value (`"auto"`, no section).
        is_open = label in LEFT_OPEN or (label == "precision" and label in old.lines and label in new.lines)
        if label in OWN_SENTENCE or equal(before, after) or not (known or is_open) or is_not_computed(label, old, new):
            continue
        if label == "processes per machine" and [before, after] == gpus:  # of one machine, whose GPUs are told
            continue
        texts = (
            "unknown" if value is None and side.run.not_read else spelled(value, label) for side, value in ((old, before), (new, after))
        )
        text = f"{label} {' -> '.join(texts)}"
        if label == "ZeRO stage" and isinstance(after, int) and after in SHARDED:
            text += f": {SHARDED[after]}"
        yield Consequence(name_of(label), text, plain(label, before), plain(label, after), known=known)


def is_not_computed(label: str, old: Side, new: Side) -> bool:
    """Whether a side lacks a line with all others of its group, because the framework refuses its values before it computes with them."""
    for side, other in ((old, new), (new, old)):
        if label not in side.lines and side.lacks_defaults:
            return True
        if label not in side.lines and side.outcome.verdict != "accept":
            group = other.lines[label].group
            return not any(item.group == group for item in side.lines.values())
    return False


def from_settings(old: Side, new: Side, settings: list[SettingChange], covered: set[str]) -> list[Consequence]:
    """The consequences of changed settings that no line of the summary shows, such as a warm-up ratio of a run of unknown length."""
    consequences: dict[str, Consequence] = {} if "precision" in covered else written_precision(settings)
    # If the number of steps is known or set on a side, epochs do not determine it.
    same = {
        name_of(label) for label in new.lines.keys() - OWN_SENTENCE if new.line(label) is not None and old.line(label) == new.line(label)
    }
    is_limited = any(side.number("total_steps") is not None or side.line("max steps") is not None for side in (old, new))
    kinds = [{config.kind for config in side.run.configs} for side in (old, new)]
    for change in settings:
        if is_trainer(change.kind) and not all(change.kind in each for each in kinds):  # the other program sets it in another way
            continue
        key = change.key.rpartition(".")[2].replace("-", "_")
        what = EFFECTS.get(key)
        if what is None and key in TOKEN_LENGTHS and any(config.has_field(key) for side in (old, new) for config in side.run.configs):
            what = LENGTHS
        if what is None or what in covered or what in consequences or what in same:
            continue
        configs = [config for side in (old, new) for config in side.run.configs if config.kind == change.kind]
        is_read = not configs or any(config.reads(change.key.partition(".")[0]) for config in configs)
        # It was unknown, and the other value is the default of a side that does not start: its key may be misspelt there.
        states = ((change.before, old), (change.after, new))
        is_refused = UNKNOWN in (change.before.text, change.after.text) and any(
            side.outcome.verdict == "reject" and not state.written for state, side in states
        )
        if not is_read or is_refused:
            continue
        before, after = change.before.known, change.after.known
        shown = [
            MADE_OTHERWISE if what in made_by_program(side) and not state.written else state.text
            for side, state in ((old, change.before), (new, change.after))
        ]
        text = f"`{change.key}` {' -> '.join(shown)}"
        if what == "total_steps" and is_limited:
            continue
        if what in ("total_steps", LENGTHS):
            numbers = [number(before) or 0, number(after) or 0]
            times = relation(*numbers) if min(numbers) > 0 else None  # -1 steps are no limit
            if what == LENGTHS:
                factor = None if times is None else times * (growth(old, new) or 1)
            else:  # a step that has another size, which is not known, takes as many epochs in another number of steps
                factor = times if covered.isdisjoint(("global_batch", "micro_batch", "gpus")) else None
            is_unclear = old.run.not_read or new.run.not_read or UNKNOWN in (change.before.text, change.after.text)
            verb = "may change" if is_unclear else "change"
            consequences[what] = Consequence(what, f"{what.replace('_', ' ')} {verb} with {text}", factor=factor, known=False)
        else:
            numeric = (number(before), number(after)) if what in NUMERIC else (before, after)
            consequences[what] = Consequence(what, text + (f": {MEANINGS[what]}" if what in MEANINGS else ""), *numeric)
    return list(consequences.values())


def made_by_program(side: Side) -> set[str]:
    """The quantities that a program makes itself, whatever its arguments say."""
    labels = {label for label, item in side.lines.items() if item.setting.because == MADE_OTHERWISE}
    return {*map(name_of, labels), *(("warmup",) if "schedule" in labels else ())}


def written_precision(settings: list[SettingChange]) -> dict[str, Consequence]:
    """The precision that the Trainer's arguments ask for, where another file decides or the program was not read."""
    changes = [setting for setting in settings if setting.key in ("fp16", "bf16")]
    sides = [[change.key for change in changes if getattr(change, side).known is True] for side in ("before", "after")]
    before, after = (names[0] if len(names) == 1 else None for names in sides)
    if before == after or None in (before, after):
        return {}
    return {"precision": Consequence("precision", f"precision {before} -> {after} in the arguments", before, after)}


BATCH_KEYS = ("per_device_train_batch_size", "gradient_accumulation_steps", "train_batch_size", "micro_batch_size", "global_batch_size")
FROM_CHANGED = "`{}` is unknown and computed from values that changed"
MAY_FOLLOW = "`{}` is unknown, and what it may be computed from changed"  # an attribute may be that of another object


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
    before = unknown_sizes(old.run.launch)
    for name, source in unknown_sizes(new.run.launch).items():
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
            yield quantity(key), MAY_FOLLOW.format(key)
        elif was != now:
            yield quantity(key), f"`{key}` {'was unknown before' if was else 'is unknown now'}"


def quantity(key: str) -> str:
    """The name of the quantity that an option decides."""
    name = key.rpartition(".")[2]
    return "global_batch" if key in BATCH_KEYS else LENGTHS if name in TOKEN_LENGTHS else EFFECTS.get(name, name)
