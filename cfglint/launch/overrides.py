"""Overrides from the launch line, and `${...}` interpolations, by OmegaConf's rules."""

from __future__ import annotations

import re
from functools import lru_cache

from cfglint.evaluate import Unknown
from cfglint.source.annotations import Any, ConfigMapping, ConfigValue
from cfglint.source.document import Document, Node, Written
from cfglint.source.record import Record

REFERENCE = re.compile(r"\$\{([A-Za-z_][\w.]*)\}")
# Words and paths that YAML can only parse as a string, except for WORDS; after a digit: lists of numbers, addresses and names.
PLAIN_STRING = re.compile(
    r"(?:(?:[A-Za-z/]|\.\.?/|~/|[0-9][0-9_.,]*(?: [0-9]|[g-su-wyzG-SU-WYZ]|\.[0-9]+\.|,))"
    r"(?:[A-Za-z0-9_.,/@+=-]|[#:]+(?=[A-Za-z0-9_./])| (?=[A-Za-z0-9_./]))*"
    r"|%root%/[A-Za-z0-9_.,/@+=-]*)"
)
WORDS = frozenset(("true", "false", "yes", "no", "on", "off", "null"))
BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
PLAIN_INTEGER = re.compile(r"-?(?:0|[1-9](?:_?[0-9]){0,17})")
PLAIN_FLOAT = re.compile(r"-?[0-9]{1,30}(?:\.[0-9]{1,30}(?:[eE][-+]?[0-9]{1,3})?|[eE][-+]?[0-9]{1,3})")
MOST_RESOLVED = 100_000  # maximum number of characters and nodes of resolved values
REMEMBERED = 4096  # cached strings of launch lines, many of which occur twice in a project
SECONDS = 2  # of processor time for resolving

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
    """The value of an override as OmegaConf parses it: numbers, booleans, null, lists and mappings in flow style.

    The unchanged string if it is not YAML, is nested too deeply, or has aliases, which OmegaConf expands. Launch scripts have
    hundreds of plain words and numbers, whose values are known without OmegaConf.
    """
    text = " ".join(override.texts)
    if text in BOOLEANS:
        return BOOLEANS[text]
    if PLAIN_STRING.fullmatch(text) and text.lower() not in WORDS:
        return text
    if PLAIN_INTEGER.fullmatch(text):
        return int(text)
    if PLAIN_FLOAT.fullmatch(text):
        return float(text)
    value = loaded_by_omegaconf(text)
    if isinstance(value, (list, dict)):
        from copy import deepcopy

        return deepcopy(value)
    return value


@lru_cache(REMEMBERED)
def loaded_by_omegaconf(text: str) -> ConfigValue:
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError

    from cfglint.source.document import ALIAS
    from cfglint.source.omegaconf import MOST_PARSED, is_deep
    from cfglint.source.parse import parse

    if ("${" in text and len(text) > MOST_PARSED) or is_deep(text):
        return text
    document = parse(SET, text, "yaml")
    if document.problems or any(node.kind == ALIAS for _, _, node in document.walk()):
        return text
    try:
        container: Any = OmegaConf.to_container(OmegaConf.from_dotlist([f"value={text}"]))
        str(container)  # raises ValueError for a number of more digits than Python prints
    except (OmegaConfBaseException, YAMLError, ValueError):
        return text
    value: ConfigValue = container.get("value")
    return value


def interpolated(values: ConfigMapping) -> ConfigMapping:
    """The values with `${key}` replaced by the value it refers to; unchanged if that cannot be resolved here, or never ends.

    References to the environment (`${oc.env:...}`) and other resolvers are not resolved: they depend on the launch.
    """
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    from cfglint.source.time_limit import TimeLimit, TimeLimitExceeded

    try:
        if grown(values) > MOST_RESOLVED:
            return values
        with TimeLimit(SECONDS):
            resolved: ConfigValue = OmegaConf.to_container(OmegaConf.create(followed_alone(values)), resolve=True)
    except (OmegaConfBaseException, TimeLimitExceeded, RecursionError, ValueError, TypeError):
        return values
    return dict(resolved) if isinstance(resolved, dict) else values


def grown(root: ConfigMapping) -> int:
    """The characters and nodes of values with references to keys replaced; raises RecursionError if these are nested too deeply."""
    known: dict[str, int] = {}

    def size(value: object) -> int:
        if isinstance(value, (dict, list)):
            return 1 + sum(map(size, value.values() if isinstance(value, dict) else value))
        return len(value) + sum(map(referred, REFERENCE.findall(value))) if isinstance(value, str) and can_be_followed(value) else 1

    def referred(name: str) -> int:
        if name not in known:
            known[name] = 0  # a value that refers to itself is rejected later
            value: ConfigValue = root
            for step in name.split("."):
                if isinstance(value, list):
                    value = value[int(step)] if step.isdecimal() and int(step) < len(value) else None
                else:
                    value = value.get(step) if isinstance(value, dict) else None
            known[name] = size(value)
        return known[name]

    return size(root)


def followed_alone(values: Any) -> Any:
    """The values with every interpolation escaped that is not resolved here."""
    if isinstance(values, dict):
        return {key: followed_alone(value) for key, value in values.items()}
    if isinstance(values, list):
        return [followed_alone(value) for value in values]
    return values.replace("${", "\\${") if isinstance(values, str) and not can_be_followed(values) else values


def refers(values: object) -> bool:
    if isinstance(values, dict):
        return any(refers(value) for value in values.values())
    if isinstance(values, list):
        return any(refers(value) for value in values)
    return isinstance(values, str) and "${" in values and can_be_followed(values)


def can_be_followed(text: str) -> bool:
    """Whether every interpolation of a string is a plain key; any other may contain a resolver."""
    return "${" not in REFERENCE.sub("", text)
