"""What the text of a remedy says to do, and doing it to the values of a file.

Understood are "set `key: value`" and "set `key` to value" (also "write" and "add"), "remove `key`", and "replace it with `key: value`".
Remedies are separated by ", or", the parts of one by "and".
"""

from __future__ import annotations

import re

import yaml

from cfglint.rules.remedies import step_in
from cfglint.source.document import Document

VERBS = "set|write|add|remove|replace it with"
ACTION = re.compile(rf"({VERBS}|and) `([\w.-]+)(?:: ([^`]*))?`(?: to (true|false|null|\"[^\"]*\"|-?[\d.]+(?:e[+-]?\d+)?)(?![\w.]))?")
ALTERNATIVES = re.compile(rf",? or (?=(?:{VERBS}) )")
LEFT = re.compile(rf"\b({VERBS}|start|use|config)\b")  # words of a remedy that does not say everything


def remedies(text):
    """The alternatives of a remedy that say everything: lists of (verb, key, value as text or None)."""
    for alternative in ALTERNATIVES.split(text):
        actions = []
        for verb, key, value, after in ACTION.findall(alternative):
            actions.append((actions[-1][0] if verb == "and" and actions else verb, key, value or after))
        complete = all(verb == "remove" or value for verb, _, value in actions)
        if actions and complete and not LEFT.search(ACTION.sub("", alternative)):
            yield actions


def sentence(remedy):
    """The sentence of a remedy for a YAML file; empty without one."""
    if remedy is None or isinstance(remedy, str):
        return remedy or ""
    return remedy.text(lambda step: step_in(step, step.key, Document("", "", "yaml"), False, False) + step.reason)


def done(values, actions, pointer):
    """The values of a file after the actions on the key at a pointer."""
    for verb, key, value in actions:
        if verb == "replace it with":
            remove(values, pointer.split("/")[1:])
        path = key.split(".")
        if verb == "remove":
            remove(values, path)
        else:
            section_of(values, path)[path[-1]] = yaml.safe_load(value)
    return values


def section_of(values, path):
    """The mapping that has the last key of a path, made where it is missing."""
    for name in path[:-1]:
        values = values[int(name)] if isinstance(values, list) else values.setdefault(name, {})
    return values


def remove(values, path):
    section = section_of(values, path)
    if isinstance(section, list):
        del section[int(path[-1])]
    else:
        section.pop(path[-1], None)
