"""Spells a Python value in the syntax and style of the document that it is inserted into."""

from __future__ import annotations

from cfglint.source.annotations import ConfigValue
from cfglint.source.document import SCALAR, Document, Node
from cfglint.source.loaders import HJSON, YAML11
from cfglint.source.numbers import is_omegaconf_float, unsigned

MANNERS = (("true", "false"), ("True", "False"), ("TRUE", "FALSE"), ("yes", "no"), ("Yes", "No"), ("on", "off"), ("On", "Off"))
NULLS = ("null", "~", "Null", "NULL")
INDICATORS = "-?:,[]{}#&*!|>'\"%@`"
ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def spell(value: ConfigValue, document: Document, node: Node | None = None) -> str:
    """The source of a value for a document, such that the document's loader loads that value.

    `node` is the value that it replaces: its quotes, its number format (5e8 -> 2.5e8) and its spelling of booleans are kept.
    YAML is spelled for PyYAML's YAML 1.1, so `1.0e-5` and never `1e-5`.
    """
    if isinstance(value, dict):
        pairs = (f"{spell_key(str(key), document)}: {spell(item, document)}" for key, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(spell(item, document) for item in value) + "]"
    style = node.style if node is not None and node.kind == SCALAR else ""
    if isinstance(value, str):
        if document.syntax in ("json", "python"):
            return quoted(value, "'" if style == "'" and not needs_escape(value, "'") else '"')
        if style not in ("'", '"') and (node is None or style):
            like = first_key(document)
            style = like.style if like is not None and like.style in ("'", '"') else ""
        return spell_yaml_text(value, style)
    bare = node.raw if node is not None and node.kind == SCALAR and not style else ""
    is_yaml = document.syntax == "yaml"
    if isinstance(value, bool):
        return next((pair for pair in MANNERS if is_yaml and bare in pair), MANNERS[0])[not value]
    if value is None:
        return bare if is_yaml and bare in NULLS else "null"
    if not isinstance(value, (int, float)):
        raise TypeError(f"no file can spell {value!r}")
    return spell_number(value, document, bare)


def spell_number(value: float, document: Document, bare: str) -> str:
    """A number in the format of the author's, if that represents the same number."""
    is_yaml = document.syntax == "yaml"
    plain = repr(value)
    if isinstance(value, float):  # the shortest spelling; in YAML 1.1 with the required point and sign of the exponent
        special = {"nan": (".nan", "NaN"), "inf": (".inf", "Infinity"), "-inf": ("-.inf", "-Infinity")}.get(plain)
        digits, mark, power = plain.partition("e")
        if special is not None:
            plain = special[document.syntax == "json"]
        elif mark:
            point = ".0" if is_yaml and "." not in digits else ""
            plain = f"{digits}{point}e{power[0] if power[0] in '+-' else '+'}{power.lstrip('+-0')}"
    mantissa, mark, exponent = unsigned(bare).lower().partition("e")
    candidates = []
    if exponent.lstrip("+-").isdecimal() and len(exponent) < 5:  # with the author's exponent: 2.5e8 for 250000000 next to 5e8
        digits = shifted(repr(value) if isinstance(value, float) else str(value), -int(exponent))
        point = ".0" if "." in mantissa and "." not in digits else ""
        candidates.append(digits + point + bare[-len(mark + exponent) :])
    if "_" in bare and isinstance(value, int):
        candidates.append(f"{value:_}")
    loader = YAML11 if is_yaml else HJSON
    if candidates and type(loader.scalar(Node(SCALAR, 0, 0, bare))) is not type(value):
        return plain  # a fraction's format is not used for an integer
    for text in candidates:
        read = loader.scalar(Node(SCALAR, 0, 0, text))
        if read == value and type(read) is type(value):
            return text
    return plain


def shifted(text: str, places: int) -> str:
    """A decimal number with its point moved to the right, without superfluous zeros."""
    sign = "-" if text.startswith("-") else ""
    mantissa, _, exponent = text.lstrip("-").partition("e")
    integer, _, fraction = mantissa.partition(".")
    point = len(integer) + int(exponent or "0") + places
    digits = (integer + fraction).rjust(len(integer + fraction) + max(-point, 0), "0")
    point = max(point, 0)
    digits = digits.ljust(point, "0")
    integer, fraction = digits[:point].lstrip("0") or "0", digits[point:].rstrip("0")
    return sign + integer + ("." + fraction if fraction else "")


def spell_key(key: str, document: Document, sibling: Node | None = None) -> str:
    """A key with the quotes of its sibling, or of the document's first key."""
    like = sibling or first_key(document)
    style = like.style if like is not None else ""
    if document.syntax == "json":
        is_name = key.isascii() and key.replace("_", "a").replace("-", "a").isalnum()  # hjson accepts it without quotes
        if style == "" and like is not None and is_name:
            return key
        return quoted(key, "'" if style == "'" and not needs_escape(key, "'") else '"')
    return spell_yaml_text(key, style if style in ("'", '"') else "")


def first_key(document: Document) -> Node | None:
    root = document.root
    pairs = root.pairs() if root is not None else []
    return pairs[0][0] if pairs else None


def spell_yaml_text(value: str, style: str) -> str:
    """A string without quotes if it is parsed back as the same string, else in quotes."""
    if not style and is_bare_text(value):
        return value
    if needs_escape(value, ""):
        return quoted(value, '"', wide=True)
    if style == "'" or (not style and ("\\" in value or '"' in value)):
        return "'" + value.replace("'", "''") + "'"
    return quoted(value, '"')


def is_bare_text(value: str) -> bool:
    """Whether a string may be unquoted in any YAML, and every parser loads it as a string."""
    if not value or value != value.strip() or needs_escape(value, ""):
        return False
    if value[0] in INDICATORS or value[-1] == ":" or any(mark in value for mark in (": ", " #", ",", "[", "]", "{", "}", "?")):
        return False
    if value.startswith(("...", "<<", "=")) or is_omegaconf_float(value):
        return False
    return bool(YAML11.scalar(Node(SCALAR, 0, 0, value)) == value)


def needs_escape(value: str, quote: str) -> bool:
    """Whether a string has characters that require double quotes with escapes."""
    return not value.isprintable() or (bool(quote) and (quote in value or "\\" in value))


def quoted(value: str, quote: str, wide: bool = False) -> str:
    """A string in quotes, with JSON's escapes for characters that are not printable; `wide` allows YAML's longer one."""
    if quote == "'":
        return f"'{value}'"
    text = ""
    for char in value:
        code = ord(char)
        if char in ESCAPES or char.isprintable():
            text += ESCAPES.get(char, char)
        elif code < 0x10000:
            text += f"\\u{code:04x}"
        elif wide:
            text += f"\\U{code:08x}"
        else:  # JSON needs two surrogates beyond the first plane
            text += f"\\u{0xD800 + (code - 0x10000 >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
    return f'"{text}"'
