"""Fixes that rules offer, built from settings.

Light to import, for a rule imports it before it knows whether there is anything to fix.
"""

from __future__ import annotations

from cfglint.diagnostic import FileEdit, Fix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cfglint.frameworks.base import Config
    from cfglint.frameworks.setting import Setting
    from cfglint.source.document import Document
    from cfglint.source.edit import Change


def replace(setting: Setting, value: Any, title: str, safe: bool) -> Fix | None:
    """Write another value in the place of a written one; None where the text does not allow it."""
    if setting.document is None or setting.node is None:
        return None
    from cfglint.source import edit

    return _fix(
        setting.document, [edit.Change(edit.REPLACE, setting.path, text=edit.spell(value, setting.document, setting.node))], title, safe
    )


def remove(setting: Setting, title: str, safe: bool) -> Fix | None:
    """Take a key and its value out."""
    if setting.document is None or setting.key_node is None:
        return None
    from cfglint.source import edit

    return _fix(setting.document, [edit.Change(edit.DELETE, setting.path)], title, safe)


def rename(setting: Setting, key: str, title: str, safe: bool) -> Fix | None:
    """Give a key another name, in its place."""
    if setting.document is None or setting.key_node is None:
        return None
    from cfglint.source import edit

    return _fix(setting.document, [edit.Change(edit.RENAME, setting.path, key)], title, safe)


def insert(config: Config, path: tuple[str | int, ...], value: Any, title: str, safe: bool) -> Fix | None:
    """Add a key to a mapping that is there."""
    from cfglint.source import edit

    document = config.document_of(path[0])
    return _fix(document, [edit.Change(edit.INSERT, path[:-1], str(path[-1]), edit.spell(value, document))], title, safe)


def several(fixes: list[Fix | None], title: str, safe: bool) -> Fix | None:
    """One fix that does all of them; None when one is missing."""
    there = [fix for fix in fixes if fix is not None]
    if len(there) != len(fixes):
        return None
    return Fix(title, [each for fix in there for each in fix.edits], safe, [each for fix in there for each in fix.changes])


def _fix(document: Document, changes: list[Change], title: str, safe: bool) -> Fix | None:
    from cfglint.source import edit

    try:
        edits = edit.edits(document, changes)
    except edit.EditRefused:
        return None
    return Fix(
        title,
        [FileEdit(document.path, each.start, each.end, each.text) for each in edits],
        safe,
        [(document.path, change) for change in changes],
    )
