"""Compositions of a few small files, with the errors that Hydra raises for overrides that do not fit."""

from __future__ import annotations

from typing import Any

import pytest

from cfglint.source.hydra.composition import Composed, compose
from cfglint.source.hydra.defaults_list import CompositionError, Source
from cfglint.source.hydra.overrides import HydraOverride, parse_override
from tests.cases import each_case

FILES: dict[str, dict[str, Any]] = {
    "main": {
        "defaults": ["base", {"engine": "dp"}, {"actor@worker.actor": "${engine}_actor"}, {"optional extra": "none"}, "_self_"],
        "steps": 10,
        "worker": {"micro": None, "actor": {"lr": 1e-6}},
        "logger": ["console"],
    },
    "base": {"steps": 1, "name": "run"},
    "engine/dp": {},
    "engine/megatron": {},
    "actor/dp_actor": {
        "defaults": [{"../optim@optim": "adam"}],
        "lr": 1.0,
        "size": "${oc.select:worker.micro,4}",
    },
    "actor/megatron_actor": {"lr": 2.0, "tensor": 1},
    "optim/adam": {"betas": [0.9, 0.999]},
    "own": {"defaults": ["main", {"override engine": "megatron"}, "_self_"], "steps": 5},
    "placed/here": {"package": "_global_", "placed": True},
    "placed/nested": {"defaults": ["inner", "absolute"]},
    "placed/inner": {"package": "from_root", "inner": 1},
    "placed/absolute": {"package": "_global_.from_root", "absolute": 2},
}


class Files:
    """A repository of the files above."""

    def load(self, path: str) -> Source | None:
        import posixpath

        name = posixpath.normpath(path)
        if name not in FILES:
            return None
        values = dict(FILES[name])
        return Source(name, values, values.pop("defaults", []), values.pop("package", None))

    def is_group(self, path: str) -> bool:
        return any(name.startswith(f"{path}/") for name in FILES)

    def options(self, group: str) -> list[str]:
        return sorted(name.rpartition("/")[2] for name in FILES if name.rpartition("/")[0] == group)


def composed(*overrides: str, name: str = "main") -> Composed:
    return compose(Files(), name, [parse_override(word) for word in overrides])


def test_files_are_merged_in_the_order_of_the_defaults_list() -> None:
    assert composed().values == {
        "steps": 10,
        "name": "run",
        "engine": {},
        "worker": {"actor": {"optim": {"betas": [0.9, 0.999]}, "lr": 1e-6, "size": "${oc.select:worker.micro,4}"}, "micro": None},
        "logger": ["console"],
    }


def test_a_group_that_the_line_changes_changes_what_is_named_after_it() -> None:
    assert composed("engine=megatron").values["worker"]["actor"] == {"lr": 1e-6, "tensor": 1}


def test_a_config_may_override_a_group_of_the_config_that_it_extends() -> None:
    values = composed(name="own").values
    assert (values["steps"], values["worker"]["actor"]) == (5, {"lr": 1e-6, "tensor": 1})


def test_a_package_in_the_first_comment_places_a_file() -> None:
    assert composed("+placed=here").values["placed"] is True
    assert composed("+placed=nested").values["from_root"] == {"inner": 1, "absolute": 2}


def test_each_value_knows_the_file_or_the_word_that_set_it() -> None:
    origins = composed("steps=3", "+worker.extra.deep=1").origins
    assert origins[("name",)] == ("base", ("name",))
    assert origins[("worker", "actor", "lr")] == ("main", ("worker", "actor", "lr"))
    assert origins[("worker", "actor", "optim", "betas")] == ("optim/adam", ("betas",))
    for path in (("steps",), ("worker", "extra", "deep")):
        word = origins[path]
        assert isinstance(word, HydraOverride)
        assert word.key == ".".join(path)


def test_a_key_may_be_deleted_through_an_interpolation() -> None:
    assert "same" in composed("+same=${worker.actor.optim}", "~same.betas").values


@each_case(
    ("words", "path", "expected"),
    [
        (["steps=null"], ("steps",), None),
        (["+worker.micro=4"], ("worker", "micro"), 4),  # a null value may be appended to
        (["++name=x"], ("name",), "x"),
        (["+a.b.c=1"], ("a",), {"b": {"c": 1}}),
        (["worker={micro: 2}"], ("worker", "micro"), 2),
        (["logger.0=wandb"], ("logger",), ["wandb"]),
        (["steps=1", "steps=2"], ("steps",), 2),
        (["~worker.actor.optim.betas"], ("worker", "actor", "optim"), {}),
        (["hydra.run.dir=x"], ("steps",), 10),
    ],
)
def test_overrides_that_fit(words: list[str], path: tuple[str, ...], expected: object) -> None:
    value: Any = composed(*words).values
    for step in path:
        value = value[step]
    assert value == expected


def leaves(value: Any, path: tuple[Any, ...] = ()) -> set[tuple[Any, ...]]:
    """The paths of the values that are no mappings."""
    return {each for key, inner in value.items() for each in leaves(inner, (*path, key))} if isinstance(value, dict) and value else {path}


@each_case(
    "words",
    [
        *([], ["worker.actor=3"], ["worker=3"], ["worker.actor.optim=null"], ["logger=x"], ["logger.0=x"], ["~worker.actor"], ["~worker"]),
        *(
            ["+worker.actor.more={a: {b: 1}}"],
            ["worker={actor: {lr: 2}}"],
            ["engine=megatron"],
            ["worker.actor=3", "++worker.actor={lr: 4}"],
        ),
    ],
)
def test_every_value_has_an_origin_and_nothing_else_has_one(words: list[str]) -> None:
    found = composed(*words)
    there = leaves(found.values)
    assert {path for path in there if path not in found.origins and path[:1] != ("engine",)} == set()
    inside = {path[:length] for path in there for length in range(1, len(path) + 1)}
    assert {path for path in found.origins if path not in inside and path[:1] not in (("hydra",), ("logger",))} == set()


def test_an_override_of_a_list_item_leaves_the_file_as_it_is() -> None:
    """The files of a release are loaded once for all runs."""
    assert composed("logger.0=wandb").values["logger"] == ["wandb"]
    assert composed().values["logger"] == ["console"]


REFUSED = [
    ("foo.bar=1", "Could not override 'foo.bar'."),
    ("steps.x=5", "Could not override 'steps.x'."),
    ("+steps=5", "Could not append to config. An item is already at 'steps'."),
    ("~nope", "Could not delete from config. 'nope' does not exist."),
    ("~steps=11", "Could not delete from config. The value of 'steps' is 10 and not 11."),
    ("worker={nope: 2}", "Could not override 'worker'."),
    ("+logger={}", "Error merging override +logger={}"),
    ("engine=5", "ValueError: Config group override must be a string or a list. Got int"),
    ("engine=nope", "Could not find 'engine/nope'; available options in 'engine': dp, megatron"),
    ("optim=adam", "Could not override 'optim'. No match in the defaults list."),
    ("++engine=dp", "force-add of config groups is not supported"),
    ("~optim", "Could not delete 'optim'. No match in the defaults list"),
    ("~engine=megatron", "Could not delete 'engine'. No match in the defaults list"),
    ("nope@x=1", "looks like a config group override"),
    ("steps=1,2", "Ambiguous value"),
]


@each_case(("word", "exception"), REFUSED)
def test_an_override_that_does_not_fit_quotes_hydras_exception_and_is_its_cause(word: str, exception: str) -> None:
    with pytest.raises(CompositionError) as raised:
        composed(word)
    assert exception in raised.value.exception
    if "Could not find" not in exception:
        assert raised.value.override is not None
        assert raised.value.override.text == word


def test_a_primary_config_that_does_not_exist() -> None:
    with pytest.raises(CompositionError, match="MissingConfigException: Cannot find primary config 'nope'"):
        composed(name="nope")


def test_files_that_include_each_other_end() -> None:
    FILES["loop"] = {"defaults": ["loop"]}
    try:
        with pytest.raises(CompositionError, match="RecursionError"):
            composed(name="loop")
    finally:
        del FILES["loop"]
