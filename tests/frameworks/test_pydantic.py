"""What pydantic makes of a value by the type of the field, as it was seen with the real pydantic 2.14.3 and its pydantic.v1."""

from __future__ import annotations

import pytest
import yaml

from cases import each_case
from cfglint.frameworks import pydantic, pydantic1

# type | value | pydantic 2 | pydantic 1; what it refuses begins with `!`.
SEEN = """
boolean | null | ! Input should be a valid boolean | ! none is not an allowed value
boolean | true | True | True
boolean | 0 | False | False
boolean | 1 | True | True
boolean | 2.0 | ! Input should be a valid boolean, unable to interpret input | ! value could not be parsed to a boolean
boolean | 2.5 | ! Input should be a valid boolean | ! value could not be parsed to a boolean
boolean | "on" | True | True
boolean | "NO" | False | False
boolean | "maybe" | ! Input should be a valid boolean, unable to interpret input | ! value could not be parsed to a boolean
boolean | [] | ! Input should be a valid boolean | ! value could not be parsed to a boolean
integer | null | ! Input should be a valid integer | ! none is not an allowed value
integer | true | 1 | 1
integer | -1 | -1 | -1
integer | 2.0 | 2 | 2
integer | 2.5 | ! Input should be a valid integer, got a number with a fractional part | 2
integer | .inf | ! Input should be a finite number | ! value is not a valid integer
integer | "" | ! Input should be a valid integer, unable to parse string as an integer | ! value is not a valid integer
integer | "3" | 3 | 3
integer | "2.0" | 2 | ! value is not a valid integer
integer | "2.5" | ! Input should be a valid integer, unable to parse string as an integer | ! value is not a valid integer
integer | "1_000" | 1000 | 1000
integer | " 5 " | 5 | 5
integer | "1e3" | ! Input should be a valid integer, unable to parse string as an integer | ! value is not a valid integer
integer | "-2" | -2 | -2
integer | [] | ! Input should be a valid integer | ! value is not a valid integer
number | null | ! Input should be a valid number | ! none is not an allowed value
number | true | 1.0 | 1.0
number | -1 | -1.0 | -1.0
number | 2.5 | 2.5 | 2.5
number | "" | ! Input should be a valid number, unable to parse string as a number | ! value is not a valid float
number | "1e3" | 1000.0 | 1000.0
number | "1_000" | 1000.0 | 1000.0
number | "x" | ! Input should be a valid number, unable to parse string as a number | ! value is not a valid float
number | [] | ! Input should be a valid number | ! value is not a valid float
text | null | ! Input should be a valid string | ! none is not an allowed value
text | true | ! Input should be a valid string | 'True'
text | 3 | ! Input should be a valid string | '3'
text | 2.5 | ! Input should be a valid string | '2.5'
text | "x" | 'x' | 'x'
text | [] | ! Input should be a valid string | ! str type expected
text | {} | ! Input should be a valid string | ! str type expected
path | null | ! Input is not a valid path for <class 'pathlib.Path'> | ! none is not an allowed value
path | 1 | ! Input is not a valid path for <class 'pathlib.Path'> | ! value is not a valid path
path | "x" | 'x' | 'x'
path | [] | ! Input is not a valid path for <class 'pathlib.Path'> | ! value is not a valid path
items | null | ! Input should be a valid list | ! none is not an allowed value
items | "x" | ! Input should be a valid list | ! value is not a valid list
items | [] | [] | []
items | [1] | [1] | [1]
items | {"a": 1} | ! Input should be a valid list | ! value is not a valid list
mapping | null | ! Input should be a valid dictionary | ! none is not an allowed value
mapping | 1 | ! Input should be a valid dictionary | ! value is not a valid dict
mapping | "" | ! Input should be a valid dictionary | {}
mapping | "x" | ! Input should be a valid dictionary | ! value is not a valid dict
mapping | [] | ! Input should be a valid dictionary | {}
mapping | [[1, 2]] | ! Input should be a valid dictionary | {1: 2}
mapping | [1] | ! Input should be a valid dictionary | ! value is not a valid dict
mapping | {"a": 1} | {'a': 1} | {'a': 1}
stage | null | ! Input should be 0, 1, 2, 3 or 3 | ! none is not an allowed value
stage | true | 1 | 1
stage | 3 | 3 | 3
stage | 4 | ! Input should be 0, 1, 2, 3 or 3 | ! value is not a valid enumeration member; permitted: 0, 1, 2, 3
stage | -1 | ! Input should be 0, 1, 2, 3 or 3 | ! value is not a valid enumeration member; permitted: 0, 1, 2, 3
stage | 2.0 | 2 | 2
stage | 2.5 | ! Input should be 0, 1, 2, 3 or 3 | ! value is not a valid enumeration member; permitted: 0, 1, 2, 3
stage | "" | ! Input should be 0, 1, 2, 3 or 3 | ! value is not a valid enumeration member; permitted: 0, 1, 2, 3
stage | "3" | 3 | ! value is not a valid enumeration member; permitted: 0, 1, 2, 3
stage | "4" | ! Input should be 0, 1, 2, 3 or 3 | ! value is not a valid enumeration member; permitted: 0, 1, 2, 3
stage | "2.0" | 2 | ! value is not a valid enumeration member; permitted: 0, 1, 2, 3
stage | "x" | ! Input should be 0, 1, 2, 3 or 3 | ! value is not a valid enumeration member; permitted: 0, 1, 2, 3
stage | [] | ! Input should be 0, 1, 2, 3 or 3 | ! value is not a valid enumeration member; permitted: 0, 1, 2, 3
optional(integer) | null | None | None
optional(integer) | 2.0 | 2 | 2
optional(integer) | 2.5 | ! Input should be a valid integer, got a number with a fractional part | 2
optional(integer) | "3" | 3 | 3
optional(integer) | "2.0" | 2 | ! value is not a valid integer
optional(integer) | "x" | ! Input should be a valid integer, unable to parse string as an integer | ! value is not a valid integer
one_of("none", "cpu") | null | ! Input should be 'none' or 'cpu' | ! none is not an allowed value
one_of("none", "cpu") | 0 | ! Input should be 'none' or 'cpu' | ! value is not a valid enumeration member; permitted: 'none', 'cpu'
one_of("none", "cpu") | "cpu" | 'cpu' | 'cpu'
one_of("none", "cpu") | "x" | ! Input should be 'none' or 'cpu' | ! value is not a valid enumeration member; permitted: 'none', 'cpu'
one_of("none", "cpu") | [] | ! Input should be 'none' or 'cpu' | ! value is not a valid enumeration member; permitted: 'none', 'cpu'
"""
CASES = [tuple(part.strip() for part in line.split("|")) for line in SEEN.strip().splitlines()]


def outcome(loader, value):
    try:
        return repr(loader(value))
    except pydantic.Refused as refused:
        return f"! {refused}"


@each_case(("name", "value", "now", "before"), CASES)
def test_a_value_of_a_type(name, value, now, before):
    loader = eval(name, {}, vars(pydantic))
    given = yaml.safe_load(value)
    assert outcome(loader, given) == now
    assert outcome(pydantic1.earlier(loader), given) == before


@pytest.mark.parametrize("value", ["9" * 4301, -(2.0**63) * 2, 2.0**63])
def test_an_integer_beyond_the_limits(value):
    assert outcome(pydantic.integer, value) == "! Unable to parse input string as an integer, exceeded maximum size"


def test_the_ends_of_the_range_of_whole_floats():
    assert pydantic.integer(-(2.0**63)) == -(2**63)
