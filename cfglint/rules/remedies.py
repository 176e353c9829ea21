"""What a remedy says and changes in the files of a run."""

from __future__ import annotations

from cfglint.findings.diagnostic import Fix
from cfglint.findings.fix_builders import Part, inserted, removed, replaced, several
from cfglint.findings.remedy import Remedy, Step
from cfglint.findings.setting import DEFAULT, OVERRIDE, WRITTEN, NoSuchField, Setting
from cfglint.frameworks.base import Config
from cfglint.frameworks.remedies import listed
from cfglint.source.document import Document, Path
from cfglint.source.shell.command import CommandDocument
from cfglint.source.shell.edits import option_of, shell_word, unquoted
from cfglint.source.spelling import spell


def said(remedy: Remedy, setting: Setting, config: Config) -> str:
    """The sentence, each step in the spelling of the file that it changes."""

    def spelled(step: Step) -> str:
        document = document_of(step, setting, config)
        key = step.key or setting.name
        return step_in(step, key, document, config.framework.is_engine, "." not in key or config.has_dotted_options) + step.reason

    return remedy.text(spelled)


def step_in(step: Step, key: str, document: Document, is_mapping: bool, is_option: bool) -> str:
    """A step in the spelling of a file; `is_mapping`: what a program writes are the items of a mapping, not keywords; `is_option`: a line
    gives the key by an option.
    """
    command = document if isinstance(document, CommandDocument) and (document.assignments or is_option) else None
    if step.removes:
        return f"remove `{command.key_text((key,)) if command is not None else key}`"
    if step.choices:
        quote = '"' if document.syntax in ("json", "python") else ""
        return f"set `{key}` to {listed([f'{quote}{choice}{quote}' for choice in step.choices])}"
    value = str(step.value) if document.is_call and isinstance(step.value, bool | None) else spell(step.value, plain(document))
    if document.syntax == "json" or (document.is_call and "." in key):
        return f"set `{key}` to {value}"
    if document.is_call:
        return f'set `"{key}": {value}`' if is_mapping else f"set `{key}={value}`"
    if command is not None:
        return f"set `{option_of(command, key)}{shell_word(unquoted(value))}`"
    return f"set `{key}: {value}`"


def plain(document: Document) -> Document:
    """An empty document of the syntax, whose style is not that of the file: a sentence has its own quotes."""
    return Document("", "", document.syntax if document.syntax in ("json", "python") else "yaml")


def edit_of(remedy: Remedy, title: str, setting: Setting, config: Config) -> Fix | None:
    """The fix that does what a remedy says, never a safe one; None if it leaves a choice, or its place is not in a file of the run."""
    steps = remedy.edit
    title = title.removesuffix(steps[-1].reason) if steps else title
    return several([change(step, setting, config) for step in steps], title, False) if steps else None


def change(step: Step, setting: Setting, config: Config) -> Part:
    """The change of a step: of the setting that the finding is about, or of another key of its config."""
    place = place_of(step, setting, config)
    if place is None or place.document is None or place.origin == OVERRIDE:
        return None
    if step.removes:
        return removed(place) if place.written else None
    return replaced(place, step.value) if place.written else inserted(place.document, place.path, step.value)


def place_of(step: Step, setting: Setting, config: Config) -> Setting | None:
    """The setting that a step changes; None if it is not known where."""
    path, document = path_of(step.key), config.documents[0]
    if step.key.isupper():  # a variable of the launch line
        _, node = document.find(path)
        return Setting(path, None, WRITTEN if node is not None else DEFAULT, document, node)
    if not step.key or step.key == setting.name or path == setting.path:
        return setting
    if setting.document not in config.documents:
        return None  # the finding is about another file of the run, which may have a key of that name
    try:
        return config.setting(*path)
    except NoSuchField:
        return None


def path_of(key: str) -> Path:
    return tuple(int(name) if name.isdecimal() else name for name in key.split("."))


def document_of(step: Step, setting: Setting, config: Config) -> Document:
    path = path_of(step.key)
    if setting.document is not None and (not step.key or path == setting.path or setting.document not in config.documents):
        return setting.at_value.document or setting.document
    return config.document_of(path[0])
