"""Constructs values from YAML nodes with tags, and dates, as PyYAML does (PyYAML 6, `constructor.py`).

Rare in configs, so imported only if one occurs.
"""

from __future__ import annotations

from cfglint.source.annotations import ConfigMapping, ConfigValue
from cfglint.source.document import MAPPING, SCALAR, SEQUENCE, Node
from cfglint.source.load_results import constructor_error, refused, too_long
from cfglint.source.numbers import TooLong, yaml_float, yaml_int

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class TagLoader(Protocol):
        """The loader that meets a tag."""

        python_tags: bool

        def bare(self, node: Node) -> ConfigValue: ...

    class TreePass(Protocol):
        """The pass over the tree in which a tag occurs."""

        @property
        def loader(self) -> TagLoader: ...

        def value(self, node: Node) -> ConfigValue: ...

        def mapping(self, node: Node) -> ConfigMapping: ...

        def sequence(self, node: Node) -> list[ConfigValue]: ...


YAML = "tag:yaml.org,2002:"
PYTHON = YAML + "python/"
BOOLEANS = {"yes": True, "no": False, "true": True, "false": False, "on": True, "off": False}
SHAPES = {"map": MAPPING, "seq": SEQUENCE, "set": MAPPING, "omap": SEQUENCE, "pairs": SEQUENCE}
SCALARS = ("null", "bool", "int", "float", "binary", "timestamp", "str")
PYTHON_NAMES = {
    "none": "null",
    "bool": "bool",
    "str": "str",
    "unicode": "str",
    "bytes": "binary",
    "int": "int",
    "long": "int",
    "float": "float",
    "complex": "complex",
    "list": "seq",
    "tuple": "tuple",
    "dict": "map",
}


def construct(construction: TreePass, node: Node) -> ConfigValue:
    tag = node.tag or ""
    if tag == "!":  # requests no type: a scalar is resolved as if it were unquoted
        if node.kind == SCALAR:
            return construction.loader.bare(node)
        return construction.mapping(node) if node.kind == MAPPING else construction.sequence(node)
    if tag.startswith(PYTHON):
        name = PYTHON_NAMES.get(tag[len(PYTHON) :]) if construction.loader.python_tags else None
    else:
        short = tag.removeprefix(YAML)
        name = short if tag.startswith(YAML) and (short in SHAPES or short in SCALARS) else None
    if name is None:
        raise refused(node, constructor_error(f"could not determine a constructor for the tag {node.tag!r}"))
    if name in ("omap", "pairs"):
        return pairs(construction, node, name)
    if name in SHAPES or name == "tuple":
        expected = SHAPES.get(name, SEQUENCE)
        if node.kind != expected:
            raise refused(node, constructor_error(f"expected a {expected} node, but found {node.kind}"))
        if expected == MAPPING:
            return set(construction.mapping(node)) if name == "set" else construction.mapping(node)
        items = construction.sequence(node)
        return tuple(items) if name == "tuple" else items
    if node.kind != SCALAR:
        raise refused(node, constructor_error(f"expected a scalar node, but found {node.kind}"))
    raw = node.raw
    if name == "str":
        return raw
    if name == "null":
        return None
    try:
        if name == "bool":
            return BOOLEANS[raw.lower()]
        if name == "int":
            return yaml_int(raw)
        if name == "float":
            return yaml_float(raw)
        if name == "complex":
            return complex(raw)
        if name == "timestamp":
            return timestamp(node, forced=True)
    except TooLong:
        raise too_long(node) from None
    except (KeyError, IndexError, ValueError, OverflowError, AttributeError) as error:
        raise refused(node, f"{type(error).__name__}: {error}") from None
    from base64 import decodebytes
    from binascii import Error

    try:
        return decodebytes(raw.encode("ascii"))
    except UnicodeEncodeError as error:
        raise refused(node, constructor_error(f"failed to convert base64 data into ascii: {error}")) from None
    except Error as error:
        raise refused(node, constructor_error(f"failed to decode base64 data: {error}")) from None


def pairs(construction: TreePass, node: Node, name: str) -> list[ConfigValue]:
    """A sequence of one-entry mappings as a list of pairs."""
    context = "while constructing an ordered map" if name == "omap" else "while constructing pairs"
    if node.kind != SEQUENCE:
        raise refused(node, constructor_error(f"{context}: expected a sequence, but found {node.kind}"))
    result: list[ConfigValue] = []
    for item in node.children:
        entry = item.resolved()
        if entry.kind != MAPPING:
            raise refused(entry, constructor_error(f"{context}: expected a mapping of length 1, but found {entry.kind}"))
        if len(entry.children) != 1:
            found = f"{context}: expected a single mapping item, but found {len(entry.children)} items"
            raise refused(entry, constructor_error(found))
        key, value = entry.children[0]
        result.append((construction.value(key), construction.value(value)))
    return result


def timestamp(node: Node, forced: bool = False) -> ConfigValue:
    """A date or time. A string that is neither stays a string, unless a tag forces it."""
    import datetime
    import re

    matched = re.match(TIMESTAMP if forced else IMPLICIT_TIMESTAMP, node.raw, re.ASCII)
    if matched is None and not forced:
        return node.raw
    matched = re.match(TIMESTAMP, node.raw, re.ASCII)
    if matched is None:
        raise refused(node, "AttributeError: 'NoneType' object has no attribute 'groupdict'")
    found = matched.groupdict()
    year, month, day = (int(found[name]) for name in ("year", "month", "day"))
    try:
        if not found["hour"]:
            return datetime.date(year, month, day)
        hour, minute, second = (int(found[name]) for name in ("hour", "minute", "second"))
        fraction = int((found["fraction"] or "0")[:6].ljust(6, "0"))
        zone = datetime.timezone.utc if found["zone"] else None
        if found["sign"]:
            offset = datetime.timedelta(hours=int(found["zone_hour"] or 0), minutes=int(found["zone_minute"] or 0))
            zone = datetime.timezone(-offset if found["sign"] == "-" else offset)
        return datetime.datetime(year, month, day, hour, minute, second, fraction, tzinfo=zone)
    except ValueError as error:
        raise refused(node, f"ValueError: {error}") from None


TIME = r"""(?:[Tt]|[ \t]+)(?P<hour>\d\d?):(?P<minute>\d\d):(?P<second>\d\d)(?:\.(?P<fraction>\d*))?"""
ZONE = r"""(?:[ \t]*(?P<zone>Z|(?P<sign>[-+])(?P<zone_hour>\d\d?)(?::(?P<zone_minute>\d\d))?))?"""
TIMESTAMP = r"^(?P<year>\d{4})-(?P<month>\d\d?)-(?P<day>\d\d?)(?:" + TIME + ZONE + r")?$"
IMPLICIT_TIMESTAMP = r"^(?:\d{4}-\d\d-\d\d|\d{4}-\d\d?-\d\d?" + TIME + ZONE + ")$"
