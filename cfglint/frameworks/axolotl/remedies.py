"""The remedies for refusals by axolotl's checks: the messages have few patterns, and each pattern has its remedy.

`A` requires `B: value`: set it, or remove `A`. `A` is incompatible with `B`: remove one of them. A recommendation in the message
itself, after a colon or semicolon, becomes the remedy.
"""

from __future__ import annotations

import re

from cfglint.frameworks.axolotl.refusals import TYPE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from cfglint.frameworks.axolotl.refusals import Refusal

ADVICE = re.compile(r"[:;] (?=(?:remove|set|use|enable) )")
ONE_OF_THEM = ("set only one of them", "enable one cross entropy implementation")
NOT_A_CHOICE = re.compile(r"`([\w.]+)` is (\S+); it must be one of ([\w, ]+)$")
LARGE = re.compile(r"`([\w.]+)` above 1 .*?(?: `([\w.]+)` above 1)?$")
REQUIRES = re.compile(r"`([\w.]+)(: [^`]+)?` requires (?:an )?`([\w.]+)(: [^`]+)?`(?! or false)")
NEEDS = re.compile(r"[^`]+ requires `([\w.]+)(: [^`]+)`(?! or false)|`[^`]+` (?:with|above 1).* requires `([\w.]+)(: [^`]+)`")
EXCLUDES = re.compile(r"`([\w.]+)(: [^`]+)?` (?:is incompatible with|differs from) (?:`([\w.]+)(: [^`]+)?`|(\w+))( above 1)?")
KEYS_OF_FEATURES = {"FSDP": "fsdp_config", "DeepSpeed": "deepspeed"}
WITHOUT = re.compile(r"was removed|is incompatible with|(?:do|does) not support|has no effect|is not a list")
KEPT = ("rl", "adapter", "base_model")  # the method and the model of the run: removing one changes more than an option


def split_remedy(refusal: Refusal, values: Mapping[str, Any]) -> tuple[str, str | None]:
    """The message of a refusal without its recommendation, and the remedy for a file with these values."""
    message, advice = refusal.message, ""
    parts = ADVICE.split(message, maxsplit=1)
    if len(parts) > 1:
        message, advice = parts
    if advice and advice not in ONE_OF_THEM:
        return message, advice.replace("remove it", f"remove `{dotted(refusal.paths[0])}`")
    if advice:
        return message, joined(removal(dotted(path), None, values) for path in refusal.paths[:2])
    return message, implied_remedy(refusal, values)


def implied_remedy(refusal: Refusal, values: Mapping[str, Any]) -> str | None:
    """The remedy that the pattern of a message implies."""
    message = refusal.message
    if is_quoted_number(refusal, values):
        return f"set `{dotted(refusal.paths[0])}: {values[dotted(refusal.paths[0])]}`, without quotes"
    if (found := NOT_A_CHOICE.match(message)) is not None:
        from cfglint.frameworks.remedies import choice

        return choice(found[1], found[2], found[3].split(", "))
    if (found := REQUIRES.match(message)) is not None:
        key, value, needed, needed_value = found.groups()
        return joined((f"set `{qualified(needed, refusal, key)}{needed_value or ''}`", removal(qualified(key, refusal), value, values)))
    if (found := NEEDS.match(message)) is not None:
        return f"set `{qualified(found[1] or found[3], refusal)}{found[2] or found[4]}`"
    if (found := EXCLUDES.match(message)) is not None:
        key, value, other, other_value, word, above = found.groups()
        other = qualified(other or KEYS_OF_FEATURES.get(word, ""), refusal)
        rest = f"set `{other}: 1`" if above else removal(other, other_value, values) if other else ""
        return joined((removal(qualified(key, refusal), value, values), rest))
    if (found := LARGE.match(message)) is not None:
        return joined(f"set `{key}: 1`" for key in found.groups() if key)
    return remedy_for_key(refusal)


def is_quoted_number(refusal: Refusal, values: Mapping[str, Any]) -> bool:
    """Whether a refusal is about the type of a value that is a number in quotes."""
    value = values.get(dotted(refusal.paths[0])) if refusal.topic == TYPE and len(refusal.paths) == 1 else None
    return isinstance(value, str) and value.isdecimal()


def remedy_for_key(refusal: Refusal) -> str | None:
    """The remedy that the key implies: another optimizer; a removed key is removed."""
    place = dotted(refusal.paths[0]) if refusal.paths else ""
    if place == "optimizer" or refusal.message.startswith(f"`{place}: "):
        return f"use another `{place}`"
    if place and WITHOUT.search(refusal.message) and not refusal.message.startswith(f"`{place}`:"):
        return f"remove `{place}`"
    return f"set `{place}: 1`" if refusal.message.endswith("must be 1 or more") else None


def removal(key: str, value: str | None, values: Mapping[str, Any]) -> str:
    """The instruction to remove a key of the file, or one value of it; empty for a key that stays or is missing."""
    if value and value not in (": true", ": false"):
        return f"use another `{key}`"
    section: Any = values
    *sections, name = key.split(".")
    for each in sections:
        section = section.get(each) if isinstance(section, dict) else None
    return f"remove `{key}`" if isinstance(section, dict) and name in section and key not in KEPT else ""


def joined(alternatives: Iterable[str]) -> str | None:
    """`set ..., or remove ...`."""
    return ", or ".join(filter(None, alternatives)) or None


def dotted(path: Iterable[Any]) -> str:
    """A path as messages write it."""
    return ".".join(map(str, path))


def qualified(name: str, refusal: Refusal, neighbour: str = "") -> str:
    """The dotted path of a key that a message names by its last part: one of the places, or a key in the same section."""
    paths = [dotted(path) for path in refusal.paths]
    found = next((path for path in paths if path == name or path.endswith(f".{name}")), "")
    section = next((path.removesuffix(neighbour) for path in paths if neighbour and path.endswith(f".{neighbour}")), "")
    return found or (section + name if section and "." not in name else name)
