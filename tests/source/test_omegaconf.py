"""OmegaConf's values, held to the library itself, and what it refuses."""

from __future__ import annotations

import pytest
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from cases import each_case
from cfglint.source.omegaconf import OMEGACONF
from cfglint.source.parse import parse

SCALARS = (
    *(
        "1e-5",
        "1E-5",
        "1e3",
        "1.5e3",
        "1.0e-5",
        "+1e-5",
        "-.5",
        ".5",
        "5.",
        "1_000",
        "1_000e-3",
        "0123",
        "0x1F",
        "0o17",
        "12:30",
        "12:30:45",
    ),
    *(
        "2024-01-01",
        "2024-01-01 10:00:00",
        "None",
        "null",
        "~",
        "no",
        "off",
        "Yes",
        "True",
        "nan",
        ".nan",
        ".inf",
        "1e",
        "e5",
        "1e5x",
        "--1",
    ),
    *("'1e-5'", '"4"', "???", "${seed}", "[1e-5, no]", "{a: 1e-5, 2: no}", "1.2.3", "0b11", "1__0", "1_e5"),
)


@each_case("text", SCALARS)
def test_a_value_is_what_omegaconf_gives(text, tmp_path):
    path = tmp_path / "train.yaml"
    path.write_text(f"seed: 1\nvalue: {text}\n")
    theirs = OmegaConf.to_container(OmegaConf.merge(OmegaConf.load(path), OmegaConf.from_cli([])))
    ours = OMEGACONF.read(parse("train.yaml", path.read_text(), "yaml")).value
    assert repr(ours) == repr(theirs)  # nan is not equal to itself, and 1 is not 1.0


@each_case(
    ("text", "exception"),
    [
        ("seed: 1\nseed: 2\n", "yaml.constructor.ConstructorError: while constructing a mapping: found duplicate key seed"),
        ("a: {b: 1, b: 2}\n", "yaml.constructor.ConstructorError: while constructing a mapping: found duplicate key b"),
        ("- a\n- b\n", "TypeError: Cannot merge incompatible container types"),
        ("5\n", "OSError: Invalid loaded object type: int"),
        ("a: 1\n---\nb: 1\n", "yaml.composer.ComposerError: expected a single document"),
        ("null: 1\n", "omegaconf.errors.KeyValidationError"),
        ('a: "${"\n', "omegaconf.errors.GrammarParseError"),
        ('a: "${b:c d,[}"\n', "omegaconf.errors.GrammarParseError"),
        ('a: "${b}${.}"\n', "omegaconf.errors.GrammarParseError"),
        ("a: [1, 2\n", "yaml.parser.ParserError"),
    ],
)
def test_what_is_refused(text, exception, tmp_path):
    path = tmp_path / "train.yaml"
    path.write_text(text)
    with pytest.raises((YAMLError, OmegaConfBaseException, TypeError, OSError)) as raised:
        OmegaConf.to_container(OmegaConf.merge(OmegaConf.load(path), OmegaConf.from_cli([])))
    problems = OMEGACONF.read(parse("train.yaml", text, "yaml")).problems
    assert problems[0].exception.startswith(exception)
    assert problems[0].exception.partition(":")[0].rpartition(".")[2] == type(raised.value).__name__


INTERPOLATIONS = "a: b/${a.b}-${oc.env:HOME}\nc: ${D:-two words}\nd: ${b:[c,d]}\n"


@each_case("text", ["1: a\n1: b\n", "<<: {a: 1}\na: 2\n", "a: &x {b: 1}\nc: *x\n", "", "a:\tb\n", INTERPOLATIONS])
def test_what_is_not(text, tmp_path):
    path = tmp_path / "train.yaml"
    path.write_text(text)
    theirs = OmegaConf.to_container(OmegaConf.merge(OmegaConf.load(path), OmegaConf.from_cli([])))
    result = OMEGACONF.read(parse("train.yaml", text, "yaml"))
    assert (result.problems, result.value) == ([], theirs)
