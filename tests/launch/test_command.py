"""The value that the words of a line give to an argument of a program's own parser."""

from __future__ import annotations

from types import SimpleNamespace

from cases import each_case
from cfglint.evaluate import Reason, Unknown
from cfglint.launch.command import given_value, options_of
from cfglint.launch.program import Field


def field(kind, takes="1", **more):
    return Field(kind, None, "train.py", 1, takes, **more)


@each_case(
    ("kind", "takes", "words", "expected"),
    [
        ("int", "1", ["3"], 3),
        ("int", "1", ["3.5"], "a value that is not of the type int"),
        ("float", "1", ["1e-4"], 1e-4),
        ("str", "1", ["3"], "3"),
        ("bool", "1", ["False"], False),
        ("bool", "1", ["maybe"], "a value that is not of the type bool"),
        ("bool", "?", [], True),
        ("int", "?", [], "an option without its value"),
        ("str", "*", [], "an option without its value"),
        ("list:int", "+", ["1", "2"], [1, 2]),
        ("list:int", "*", ["1", "x"], "a value that is not of the type int"),
        ("list:str", "+", ["a"], ["a"]),
        ("", "1", ["3"], "a type of the program"),
        ("dict", "1", ["{}"], "a type of the program"),
        ("bool", "0", [], "stored"),
        ("int", "1", None, "an expression"),
    ],
)
def test_the_value_of_an_option(kind, takes, words, expected):
    fields = {"size": field(kind, takes, stored="stored")}
    command = SimpleNamespace(words={"size": words}, unknown={"size": Unknown(Reason("program", "an expression"))})
    value = given_value("size", "size", fields, command)
    assert (value.reasons[0].text if isinstance(value, Unknown) else value) == expected


def test_a_flag_and_its_negation_are_options_of_one_argument():
    flag, size = field("bool", "?"), field("int")
    fields = {"do_train": flag, "train": flag, "size": size}
    assert options_of("do_train", fields) == {"do_train", "train", "no_do_train"}
    assert options_of("size", fields) == {"size"}
    assert options_of("do_train", {**fields, "no_do_train": size}) == {"do_train", "train"}
    command = SimpleNamespace(words={"no_do_train": []}, unknown={})
    assert given_value("do_train", "no_do_train", fields, command) is False
