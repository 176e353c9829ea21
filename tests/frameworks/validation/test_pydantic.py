"""What pydantic makes of a value by the type of the field, as it was seen with the real pydantic 2.14.3 and its pydantic.v1."""

from __future__ import annotations

import ast

import pytest
import yaml

from cases import each_case
from cfglint.frameworks.validation import pydantic, pydantic1

# type | value | pydantic 2 | pydantic 1; what it refuses begins with `!`.
SEEN = """
bool | null | ! Input should be a valid boolean | ! none is not an allowed value
bool | true | True | True
bool | 0 | False | False
bool | 1 | True | True
bool | 2.0 | ! Input should be a valid boolean, unable to interpret input | ! value could not be parsed to a boolean
bool | 2.5 | ! Input should be a valid boolean | ! value could not be parsed to a boolean
bool | "on" | True | True
bool | "NO" | False | False
bool | "maybe" | ! Input should be a valid boolean, unable to interpret input | ! value could not be parsed to a boolean
bool | [] | ! Input should be a valid boolean | ! value could not be parsed to a boolean
int | null | ! Input should be a valid integer | ! none is not an allowed value
int | true | 1 | 1
int | -1 | -1 | -1
int | 2.0 | 2 | 2
int | 2.5 | ! Input should be a valid integer, got a number with a fractional part | 2
int | .inf | ! Input should be a finite number | ! value is not a valid integer
int | "" | ! Input should be a valid integer, unable to parse string as an integer | ! value is not a valid integer
int | "3" | 3 | 3
int | "2.0" | 2 | ! value is not a valid integer
int | "2.5" | ! Input should be a valid integer, unable to parse string as an integer | ! value is not a valid integer
int | "1_000" | 1000 | 1000
int | " 5 " | 5 | 5
int | "1e3" | ! Input should be a valid integer, unable to parse string as an integer | ! value is not a valid integer
int | "-2" | -2 | -2
int | [] | ! Input should be a valid integer | ! value is not a valid integer
float | null | ! Input should be a valid number | ! none is not an allowed value
float | true | 1.0 | 1.0
float | -1 | -1.0 | -1.0
float | 2.5 | 2.5 | 2.5
float | "" | ! Input should be a valid number, unable to parse string as a number | ! value is not a valid float
float | "1e3" | 1000.0 | 1000.0
float | "1_000" | 1000.0 | 1000.0
float | "x" | ! Input should be a valid number, unable to parse string as a number | ! value is not a valid float
float | [] | ! Input should be a valid number | ! value is not a valid float
str | null | ! Input should be a valid string | ! none is not an allowed value
str | true | ! Input should be a valid string | 'True'
str | 3 | ! Input should be a valid string | '3'
str | 2.5 | ! Input should be a valid string | '2.5'
str | "x" | 'x' | 'x'
str | [] | ! Input should be a valid string | ! str type expected
str | {} | ! Input should be a valid string | ! str type expected
Path | null | ! Input is not a valid path for <class 'pathlib.Path'> | ! none is not an allowed value
Path | 1 | ! Input is not a valid path for <class 'pathlib.Path'> | ! value is not a valid path
Path | "x" | 'x' | 'x'
Path | [] | ! Input is not a valid path for <class 'pathlib.Path'> | ! value is not a valid path
list | null | ! Input should be a valid list | ! none is not an allowed value
list | "x" | ! Input should be a valid list | ! value is not a valid list
list | [] | [] | []
list | [1] | [1] | [1]
list | {"a": 1} | ! Input should be a valid list | ! value is not a valid list
dict | null | ! Input should be a valid dictionary | ! none is not an allowed value
dict | 1 | ! Input should be a valid dictionary | ! value is not a valid dict
dict | "" | ! Input should be a valid dictionary | {}
dict | "x" | ! Input should be a valid dictionary | ! value is not a valid dict
dict | [] | ! Input should be a valid dictionary | {}
dict | [[1, 2]] | ! Input should be a valid dictionary | {1: 2}
dict | [1] | ! Input should be a valid dictionary | ! value is not a valid dict
dict | {"a": 1} | {'a': 1} | {'a': 1}
("enum", 0, 1, 2, 3) | null | ! Input should be 0, 1, 2, 3 or 3 | ! none is not an allowed value
("enum", 0, 1, 2, 3) | true | 1 | 1
("enum", 0, 1, 2, 3) | 3 | 3 | 3
("enum", 0, 1, 2, 3) | 4 | ! Input should be 0, 1, 2, 3 or 3 | ! value is not a valid enumeration member; permitted: 0, 1, 2, 3
("enum", 0, 1, 2, 3) | -1 | ! Input should be 0, 1, 2, 3 or 3 | ! value is not a valid enumeration member; permitted: 0, 1, 2, 3
("enum", 0, 1, 2, 3) | 2.0 | 2 | 2
("enum", 0, 1, 2, 3) | 2.5 | ! Input should be 0, 1, 2, 3 or 3 | ! value is not a valid enumeration member; permitted: 0, 1, 2, 3
("enum", 0, 1, 2, 3) | "" | ! Input should be 0, 1, 2, 3 or 3 | ! value is not a valid enumeration member; permitted: 0, 1, 2, 3
("enum", 0, 1, 2, 3) | "3" | 3 | ! value is not a valid enumeration member; permitted: 0, 1, 2, 3
("enum", 0, 1, 2, 3) | "4" | ! Input should be 0, 1, 2, 3 or 3 | ! value is not a valid enumeration member; permitted: 0, 1, 2, 3
("enum", 0, 1, 2, 3) | "2.0" | 2 | ! value is not a valid enumeration member; permitted: 0, 1, 2, 3
("enum", 0, 1, 2, 3) | "x" | ! Input should be 0, 1, 2, 3 or 3 | ! value is not a valid enumeration member; permitted: 0, 1, 2, 3
("enum", 0, 1, 2, 3) | [] | ! Input should be 0, 1, 2, 3 or 3 | ! value is not a valid enumeration member; permitted: 0, 1, 2, 3
("|", "int", "None") | null | None | None
("|", "int", "None") | 2.0 | 2 | 2
("|", "int", "None") | 2.5 | ! Input should be a valid integer, got a number with a fractional part | 2
("|", "int", "None") | "3" | 3 | 3
("|", "int", "None") | "2.0" | 2 | ! value is not a valid integer
("|", "int", "None") | "x" | ! Input should be a valid integer, unable to parse string as an integer | ! value is not a valid integer
("enum", "none", "cpu") | null | ! Input should be 'none' or 'cpu' | ! none is not an allowed value
("enum", "none", "cpu") | 0 | ! Input should be 'none' or 'cpu' | ! value is not a valid enumeration member; permitted: 'none', 'cpu'
("enum", "none", "cpu") | "cpu" | 'cpu' | 'cpu'
("enum", "none", "cpu") | "x" | ! Input should be 'none' or 'cpu' | ! value is not a valid enumeration member; permitted: 'none', 'cpu'
("enum", "none", "cpu") | [] | ! Input should be 'none' or 'cpu' | ! value is not a valid enumeration member; permitted: 'none', 'cpu'
"""
CASES = [tuple(part.strip() for part in line.split(" | ")) for line in SEEN.strip().splitlines()]


def outcome(reads, value, reading=pydantic.Reading):
    try:
        return repr(reading().read(reads, value, ()))
    except pydantic.Invalid as invalid:
        return f"! {invalid.message}"


@each_case(("name", "value", "now", "before"), CASES)
def test_a_value_of_a_type(name, value, now, before):
    reads = ast.literal_eval(name) if name.startswith("(") else name
    given = yaml.safe_load(value)
    assert outcome(reads, given) == now
    assert outcome(reads, given, pydantic1.EarlierReading) == before


@pytest.mark.parametrize("value", ["9" * 4301, -(2.0**63) * 2, 2.0**63])
def test_an_integer_beyond_the_limits(value):
    assert outcome("int", value) == "! Unable to parse input string as an integer, exceeded maximum size"


def test_the_ends_of_the_range_of_whole_floats():
    assert pydantic.integer(-(2.0**63)) == -(2**63)
