"""Overrides from the launch line, and their values by OmegaConf's rules."""

from __future__ import annotations

from functools import lru_cache

from cfglint.evaluate import Unknown
from cfglint.source.annotations import Any, ConfigMapping, ConfigValue
from cfglint.source.document import ALIAS, Document, Node, Written
from cfglint.source.record import Record

REMEMBERED = 4096  # cached words of launch lines, many of which occur twice in a project

SET = "--set"
ARGS = "--args"
FLAG = "flag"  # a flag of the launcher, which overrides its config file


class Override(Record):
    """One value of the launch line: `key` may be dotted, `texts` are the words of the value, empty for a flag without a value.

    `values` has the one value that the program's own parser makes of the words, and is empty if the parser of the key's owner takes them;
    `argument` is the program's own argument that the value comes from; `is_late`: the program sets it after the class has checked what it
    was constructed with.
    """

    key: str
    texts: list[str]
    origin: str = SET
    place: tuple[Document, Node] | None = None  # the place in a script
    unknown: Unknown | None = None  # its value, if that is not known
    values: tuple[Any, ...] = ()
    argument: Written | None = None
    is_late: bool = False

    def __str__(self) -> str:
        return " ".join((self.origin, self.key, *self.texts))


def put(values: ConfigMapping, path: tuple[str, ...], value: object) -> None:
    for step in path[:-1]:
        inner = values.get(step)
        values[step] = dict(inner) if isinstance(inner, dict) else {}
        values = values[step]
    values[path[-1]] = value


def by_omegaconf(override: Override) -> ConfigValue:
    """The value of an override as `OmegaConf.from_dotlist` parses it: numbers, booleans, null, lists and mappings in flow style."""
    value = value_of_word(" ".join(override.texts))
    if isinstance(value, (list, dict)):
        from copy import deepcopy

        return deepcopy(value)
    return value


@lru_cache(REMEMBERED)
def value_of_word(text: str) -> ConfigValue:
    """The value of a word behind `key=`; the unchanged string if OmegaConf refuses it, or if it has aliases, which OmegaConf expands."""
    from cfglint.source.omegaconf import WORD, is_deep
    from cfglint.source.parse import parse

    if is_deep(text):
        return text
    document = parse(SET, text, "yaml")
    if any(node.kind == ALIAS for _, _, node in document.walk()):
        return text
    found = WORD.read(document)
    return text if found.problems else found.value
