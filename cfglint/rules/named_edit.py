"""The edit that a remedy names, as a fix: "set `key: value`", "set `key` to value", "remove `key`", and several of them joined by "and".

A remedy that leaves a choice, or says more than what to write, names none.
"""

from __future__ import annotations

import re

from cfglint.findings.diagnostic import Fix
from cfglint.findings.fix_builders import Part, inserted, removed, replaced, several
from cfglint.findings.setting import OVERRIDE, NoSuchField, Setting
from cfglint.frameworks.base import Config
from cfglint.source.annotations import ConfigValue

STEP = re.compile(
    r"(?:set|write|add) `(?P<key>[\w.]+): (?P<value>[^`]+)`"
    r"|(?:set|pass|add) `--(?P<option>[\w-]+) (?P<word>[^`]+)`"
    r"|set `(?P<of>[\w.]+)` to (?P<literal>\"[^\"]*\"|true|false|null|-?\d[\d.]*(?:e[+-]?\d+)?)(?![\w.])"
    r"|(?P<remove>remove) `(?:--)?(?P<gone>[\w.]+)`"
)
JOINED = re.compile(r",? and ")
REASON = re.compile(r"(?: for (?:no |the default)|, which is |, without quotes|: it )[^`;]*\Z|\Z")
PLACEHOLDER = re.compile(r"\A[A-Z][A-Z_]*\Z|\.\.\.")  # a word that stands for a value


def named_edit(remedy: str, title: str, setting: Setting, config: Config) -> Fix | None:
    """The fix that does what a remedy says; None if it does not name exactly one edit, or its place is not in a file of the run.

    It is never safe: another edit may be what is meant.
    """
    steps = steps_of(remedy)
    title = title.removesuffix(remedy[steps[-1].end() :]) if steps else title  # without the reason
    try:
        return several([change(step, setting, config) for step in steps], title, False) if steps else None
    except NoSuchField:
        return None


def steps_of(remedy: str) -> list[re.Match[str]]:
    """The steps of a remedy that says all; none of others."""
    steps: list[re.Match[str]] = []
    place = 0
    while step := STEP.match(remedy, place):
        steps.append(step)
        place = step.end()
        joined = JOINED.match(remedy, place)
        if joined is None:
            return steps if REASON.match(remedy, place) else []
        place = joined.end()
    return []


def change(step: re.Match[str], setting: Setting, config: Config) -> Part:
    """The change of a step: of the setting that the finding is about, or of another key of its config."""
    key = step["key"] or step["of"] or step["gone"] or step["option"].replace("-", "_")
    path = tuple(int(name) if name.isdecimal() else name for name in key.split("."))
    is_own = key == setting.name or path == setting.path
    if not is_own and setting.document not in config.documents:
        return None  # the finding is about another file of the run, which may have a key of that name
    place = setting if is_own else config.setting(*path)
    if place.document is None or place.origin == OVERRIDE:
        return None
    if step["remove"]:
        return removed(place) if place.written else None
    value = step["literal"] or step["value"] or step["word"]
    if PLACEHOLDER.search(value):
        return None
    if place.written:
        return replaced(place, value_of(value))
    return inserted(place.document, path, value_of(value))


def value_of(text: str) -> ConfigValue:
    """The value of what a remedy writes."""
    import yaml

    return yaml.safe_load(text)
