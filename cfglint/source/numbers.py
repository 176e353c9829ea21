"""Decides which unquoted scalars the loaders parse as numbers, without regular expressions: compiling them takes longer than checking
a file.
"""

from __future__ import annotations

from cfglint.source.annotations import Operand
from cfglint.source.limits import MOST_DIGITS

DIGITS = "0123456789"


class TooLong(ValueError):
    """An integer with more digits than the limit."""


def is_number(value: object) -> bool:
    """Whether a value can be compared and computed with: an integer, a float or a boolean."""
    return isinstance(value, (int, float))


def is_positive(value: object) -> bool:
    return isinstance(value, (int, float)) and value > 0


def is_json_number(raw: str) -> bool:
    """Whether hjson parses an unquoted string as a number (hjson 3.1.0, `decoder.py`); JSON does so too if it is ASCII."""
    mantissa, exponent = split_exponent(raw[1:] if raw[:1] == "-" else raw)
    if exponent is not None and not unsigned(exponent).isdecimal():
        return False
    integer, point, fraction = mantissa.partition(".")
    if point and not fraction.isdecimal():
        return False
    return integer.isdecimal() and integer[0] in DIGITS and (integer[0] != "0" or len(integer) == 1)


def is_yaml_float(raw: str) -> bool:
    """Whether YAML 1.1 parses an unquoted string as a float: a point, and a sign in the exponent (PyYAML 6, `resolver.py`)."""
    if "." not in raw:
        return False
    body = unsigned(raw)
    if body in (".inf", ".Inf", ".INF") or raw in (".nan", ".NaN", ".NAN"):
        return True
    mantissa, exponent = split_exponent(body)
    if exponent is not None and not is_exponent(exponent, sign_needed=True):
        return False
    integer, point, fraction = mantissa.partition(".")
    if not point or (fraction and not only(fraction, DIGITS + "_")):
        return False
    if not integer:
        return body is raw and fraction[:1] in DIGITS and bool(fraction)
    if ":" in integer:
        return exponent is None and is_sexagesimal(integer, DIGITS)
    return integer[0] in DIGITS and only(integer, DIGITS + "_")


def is_omegaconf_float(raw: str) -> bool:
    """Whether OmegaConf parses an unquoted string as a float that YAML 1.1 does not: `1e-4`, `1.5e3` (omegaconf 2.4.0, `_yaml.py`)."""
    mantissa, exponent = split_exponent(unsigned(raw))
    if exponent is None or not is_exponent(exponent, sign_needed=False):
        return False
    integer, point, fraction = mantissa.partition(".")
    if point and fraction and not only(fraction, DIGITS + "_"):
        return False
    return all(only(part, DIGITS) for part in integer.split("_"))


def is_yaml_int(raw: str) -> bool:
    """Whether YAML 1.1 parses an unquoted string as an integer (PyYAML 6, `resolver.py`)."""
    body = unsigned(raw)
    if not body or body[0] not in DIGITS:
        return False
    if body[0] != "0":
        return only(body, DIGITS + "_") or is_sexagesimal(body, DIGITS[1:])
    if body[:2] == "0b":
        return only(body[2:], "01_")
    if body[:2] == "0x":
        return only(body[2:], "0123456789abcdefABCDEF_")
    return body == "0" or only(body[1:], "01234567_")


def yaml_int(raw: str) -> int:
    """The integer that PyYAML constructs (`constructor.py`, `construct_yaml_int`); raises ValueError, and TooLong for too many digits."""
    text = raw.replace("_", "")
    sign = -1 if text[:1] == "-" else 1
    text = unsigned(text)
    if text == "0":
        return 0
    if len(text) > MOST_DIGITS and ":" in text:  # takes quadratic time
        raise TooLong
    if text[:2] == "0b":
        number = int(text[2:], 2)
    elif text[:2] == "0x":
        number = int(text[2:], 16)
    elif text[0] == "0":
        number = int(text, 8)
    else:
        number = 0
        for part in text.split(":"):
            number = number * 60 + int(part)
    return sign * printable(number, text)


def printable(number: int, text: str) -> int:
    """An integer; raises TooLong if its source is too long."""
    if len(text) > MOST_DIGITS:
        raise TooLong
    return number


def yaml_float(raw: str) -> float:
    """The float that PyYAML constructs (`constructor.py`, `construct_yaml_float`); raises OverflowError in base 60."""
    text = raw.replace("_", "").lower()
    sign = -1.0 if text[0] == "-" else 1.0
    text = unsigned(text)
    if text in (".inf", ".nan"):
        return sign * float(text[1:])
    if ":" not in text:
        return sign * float(text)
    number, base = 0.0, 1
    for part in reversed([float(part) for part in text.split(":")]):
        number += part * base
        base *= 60
    return sign * number


def is_sexagesimal(body: str, first: str) -> bool:
    """Whether a string is a number in base 60 that begins with one of the digits `first`."""
    head, *parts = body.split(":")
    if not parts or head[:1] not in first or not only(head, DIGITS + "_"):
        return False
    return all(only(part, DIGITS) and (len(part) == 1 or (len(part) == 2 and part[0] in "012345")) for part in parts)


def is_exponent(text: str, sign_needed: bool) -> bool:
    """Whether a string is valid after the `e` of a float."""
    if text[:1] in ("+", "-"):
        text = text[1:]
    elif sign_needed:
        return False
    return only(text, DIGITS)


def split_exponent(body: str) -> tuple[str, str | None]:
    """Mantissa and exponent, None without an `e`."""
    for mark in "eE":
        mantissa, found, exponent = body.partition(mark)
        if found:
            return mantissa, exponent
    return body, None


def unsigned(raw: str) -> str:
    return raw[1:] if raw[:1] in ("+", "-") else raw


def only(text: str, characters: str) -> bool:
    """Whether a string is not empty and has no other characters."""
    return bool(text) and not text.strip(characters)


def hollow(value: object) -> Operand:
    """An empty value of the same type, fast to multiply; numbers are returned unchanged."""
    if isinstance(value, (str, list, dict)):
        return type(value)()
    return value
