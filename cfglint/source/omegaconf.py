"""Loads a YAML file as OmegaConf does: PyYAML's safe loader on libyaml, with other floats, no dates and no duplicate keys.

Source: omegaconf 2.4.0 _yaml.py, omegaconf.py:423-466.
"""

from __future__ import annotations

from cfglint.source.annotations import ConfigMapping, ConfigValue
from cfglint.source.document import LIMIT, SCALAR, Document, Node, Problem
from cfglint.source.load_results import LoadResult, Unloadable, constructor_error, refused
from cfglint.source.loaders import Loader, YamlLoader, is_merge
from cfglint.source.numbers import is_omegaconf_float, is_yaml_float, is_yaml_int
from cfglint.source.yaml import PURE

INTERPOLATION = "${"
DEEPEST = 50  # levels of an interpolation
MOST_PARSED = 10_000  # characters of unusual interpolations in a file: a quarter of a second
NAME = r"[A-Za-z_][A-Za-z0-9_]*"
# A string whose interpolations are like `${a.b}`, `${oc.env:NAME}` and `${NAME:-some words}`.
PLAIN = rf"(?:[^$\\]|\$\{{{NAME}(?:\.{NAME})*(?::[A-Za-z0-9_ ./+@:-]*)?\}})*"


class OmegaYamlLoader(YamlLoader):
    """Loads a file with the YAML loader of OmegaConf, before a container is made of its values."""

    def read(self, document: Document) -> LoadResult:
        return Loader.read(self, document)

    def refusals(self, document: Document) -> list[Problem]:
        """The errors of the file: those of libyaml, further documents, and duplicate keys."""
        problems = super().refusals(document)
        if problems:
            return problems
        for start, end, what in document.relaxations:
            if what == PURE:
                return [Problem(start, end, "libyaml does not accept this", "syntax", "yaml.scanner.ScannerError: while scanning")]
        return [problem for mapping in document.mappings() for problem in self.duplicates(mapping)]

    def duplicates(self, mapping: Node) -> list[Problem]:
        """A problem for each string key, without a tag of its own, that a mapping already has."""
        problems: list[Problem] = []
        if len({key.raw for key, _ in mapping.children}) == len(mapping.children):
            return problems
        seen: set[str] = set()
        for key, _ in mapping.children:
            if key.kind != SCALAR or is_merge(key) or key.tag is not None or not (key.style or isinstance(self.scalar(key), str)):
                continue
            if key.raw in seen:
                message = f"duplicate key `{key.raw}`: OmegaConf refuses it"
                reason = constructor_error(f"while constructing a mapping: found duplicate key {key.raw}")
                problems.append(Problem(key.start, key.end, message, "duplicate", reason))
            seen.add(key.raw)
        return problems

    def number(self, node: Node) -> ConfigValue:
        """A number; `1e-5` is a number here, and a date is a string."""
        raw = node.raw
        if is_omegaconf_float(raw) and not is_yaml_float(raw):
            return float(raw.replace("_", ""))
        if is_yaml_float(raw) or is_yaml_int(raw):
            return super().number(node)
        return raw


class OmegaConfLoader(OmegaYamlLoader):
    """Loads a file as `OmegaConf.load`, `merge` and `to_container` do: interpolations remain strings."""

    def construct(self, document: Document) -> ConfigValue:
        return container(super().construct(document), document)


class OmegaWordLoader(OmegaYamlLoader):
    """Loads the value of a word as `OmegaConf.from_dotlist` and `to_container` do: interpolations remain strings."""

    def construct(self, document: Document) -> ConfigValue:
        value = super().construct(document)
        if document.root is not None:
            check(value, document.root, document)
        return value


def container(value: object, document: Document) -> ConfigMapping:
    """The mapping that OmegaConf creates from the values of the YAML loader; raises Unloadable."""
    root = document.root
    if value is None:
        return {}
    assert root is not None
    if isinstance(value, list):
        raise refused(root, "TypeError: Cannot merge incompatible container types")
    if isinstance(value, str):  # a string is parsed as YAML again, and becomes a key without a value
        return {value: None}
    if not isinstance(value, dict):
        raise refused(root, f"OSError: Invalid loaded object type: {type(value).__name__}")
    check(value, root, document)
    return value


def check(value: object, root: Node, document: Document) -> None:
    """Raise Unloadable for a value of the YAML loader that OmegaConf refuses."""
    check_types(value, root)
    if INTERPOLATION in document.text:
        check_interpolations(document)


def check_types(value: object, node: Node) -> None:
    if isinstance(value, dict):
        for key, each in value.items():
            if not isinstance(key, (str, int, float, bool, bytes)):
                reason = f"omegaconf.errors.KeyValidationError: Incompatible key type '{type(key).__name__}'"
                raise refused(node, reason)
            check_types(each, node)
    elif isinstance(value, list):
        for each in value:
            check_types(each, node)
    elif not isinstance(value, (str, int, float, bool, bytes, type(None))):
        reason = f"omegaconf.errors.UnsupportedValueType: Value '{type(value).__name__}' is not a supported primitive type"
        raise refused(node, reason)


def check_interpolations(document: Document) -> None:
    """Refuse a string with an invalid interpolation: only the grammar is checked, nothing is resolved."""
    import re

    left = MOST_PARSED
    for _, _, node in document.walk():
        value = node.raw if node.kind == SCALAR else ""
        if INTERPOLATION not in value or re.fullmatch(PLAIN, value):
            continue
        left -= len(value)
        if left < 0 or is_deep(value):
            message = f"interpolations are nested deeper than {DEEPEST} levels, or longer than {MOST_PARSED:,} characters together"
            raise Unloadable(Problem(node.head, node.end, message, LIMIT))
        from omegaconf import OmegaConf  # takes 60 milliseconds and 7 megabytes
        from omegaconf.errors import OmegaConfBaseException

        try:
            OmegaConf.create({"value": value})
        except OmegaConfBaseException as error:
            reason = str(error).split("\n", 1)[0]
            raise refused(node, f"omegaconf.errors.GrammarParseError: {reason}") from None


def is_deep(text: str) -> bool:
    """Whether the brackets of a string are nested deeper than OmegaConf's parser is asked to go: each level costs a millisecond."""
    depth = 0
    for char in text:
        depth += (char in "{[") - (char in "}]" and depth > 0)
        if depth > DEEPEST:
            return True
    return False


YAML = OmegaYamlLoader("yaml.load")
OMEGACONF = OmegaConfLoader("OmegaConf.load")
WORD = OmegaWordLoader("OmegaConf.from_dotlist")
