"""A run on another number of GPUs, with the edits of its files that need no launch line."""

from __future__ import annotations

from cfglint.batch.nodes import Size
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.launch import Launch
from cfglint.launch.kinds import LAUNCHER
from cfglint.launch.launcher import device_list
from cfglint.rewrite.value_change import ValueChange, combined_changes
from cfglint.run.checked import CheckedRun
from cfglint.source import edit
from cfglint.source.change import REPLACE, Change
from cfglint.source.document import Document
from cfglint.source.python.call import CallDocument
from cfglint.source.record import Record
from cfglint.source.sections import reread_all
from cfglint.source.spelling import spell


class Resized(Record):
    """A run on its new number of GPUs, the new contents of its files, and each changed value."""

    run: CheckedRun
    texts: dict[str, str] = {}
    changed: list[ValueChange] = []


def without_line(run: CheckedRun, gpus: int, wanted: Size | None = None) -> Resized:
    """A run that no line starts, on so many GPUs."""
    resized = Resized(run)
    for document, kind in zip(run.documents, run.kinds, strict=True):
        if kind == LAUNCHER:
            machines = [] if wanted is None else count_changes(document, "num_machines", wanted.nodes)
            take(resized, document, [*machines, *device_changes(document, wanted.per_node if wanted is not None else gpus)])
    return on(resized, documents_on(run, gpus), run.facts.replace(gpus=gpus))


def documents_on(run: CheckedRun, gpus: int | None) -> list[Document]:
    """The documents of a run that no line starts, with the calls as its program makes them on so many GPUs."""
    return run.documents if gpus is None or run.launch.line is not None else made_on(run.documents, gpus)


def made_on(documents: list[Document], gpus: int) -> list[Document]:
    """Documents, with the calls as their program makes them on so many GPUs."""
    return [
        document.on_gpus(gpus) if isinstance(document, CallDocument) and document.on_gpus is not None else document
        for document in documents
    ]


def keep_targeted(launch: Launch, after: Launch) -> None:
    """Mark the same launch in another version of its script as targeted, if it was before."""
    if launch.command is not None and after.command is not None:
        after.command.targeted = launch.command.targeted


def on(resized: Resized, documents: list[Document], facts: LaunchFacts) -> Resized:
    texts, run = resized.texts, resized.run
    resized.run = CheckedRun(reread_all(documents, texts), run.kinds, facts)
    return resized


def count_changes(document: Document, key: str, count: int) -> list[Change]:
    """The change of a number of an accelerate config, if it has it."""
    node = document.find((key,))[1]
    if node is None or not node.raw.isdigit() or int(node.raw) == count:
        return []
    return [Change(REPLACE, (key,), text=spell(count, document, node))]


def device_changes(document: Document, count: int) -> list[Change]:
    """The change of an accelerate config whose `gpu_ids` are fewer than the processes of a machine."""
    node = document.find(("gpu_ids",))[1]
    names = [each.strip() for each in node.raw.split(",")] if node is not None else []
    if node is None or not all(name.isdigit() for name in names) or len(names) >= count:
        return []

    listed = device_list([int(name) for name in names], count)
    return [Change(REPLACE, ("gpu_ids",), text=spell(listed, document, node) if node.style else listed)]


def with_imposed_count(resized: Resized, gpus: int) -> Resized:
    """The result with the number of GPUs that a file itself sets, which its framework uses on any launch."""
    for config in resized.run.configs:
        setting = config.setting(config.gpus_key) if config.gpus_key else None
        if setting is None or setting.node is None or type(setting.value) is not int or setting.value == gpus:
            continue
        document = setting.document
        if document is not None and document.path not in resized.texts:
            take(resized, document, [Change(REPLACE, setting.path, text=spell(gpus, document, setting.node))])
    return on(resized, resized.run.documents, resized.run.facts) if resized.texts else resized


def take(resized: Resized, document: Document, changes: list[Change]) -> None:
    if not changes:
        return
    resized.texts[document.path] = edit.apply(document, changes)
    resized.changed += combined_changes([(document, change) for change in changes])
