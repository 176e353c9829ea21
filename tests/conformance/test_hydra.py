"""Compares overrides and compositions with hydra-core itself, if it is installed."""

from __future__ import annotations

import os

import pytest

from cases import each_case
from cfglint.source.hydra.composition import compose as ours
from cfglint.source.hydra.defaults_list import CompositionError
from cfglint.source.hydra.folders import ConfigFolder
from cfglint.source.hydra.overrides import Call, OverrideError, parse_override

pytest.importorskip("hydra", reason="hydra-core is not installed: nothing to compare with")

from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

WORDS = (
    *(
        "a=1",
        "a=1e3",
        "a=1_000",
        "a=.5",
        "a=01",
        "a=-1",
        "a=inf",
        "a=null",
        "a=None",
        "a=",
        "a=yes",
        "a=TRUE",
        "+a.b=1",
        "++a=1",
        "~a",
        "~a=1",
    ),
    *(
        "a=[1,2]",
        "a=['x', 'y']",
        "a={k: v}",
        "a={k: [1,{m: 2}]}",
        "a='b=c'",
        'a="x y"',
        "a=b c",
        "a=b:c",
        "a=b/c",
        "a=${x.y}",
        "a=x,y",
        "a",
    ),
    *("a=b=c", "a=#", "a=it's", "a=<x>", "a=[1,2", "1=2", "-a=1", "a b=1", "a=f(1)", "a=shuffle([1,2])", "g@p.q=o", "g/h=o", "a.0.b=1"),
)
FILES = {
    "main.yaml": (
        "defaults:\n  - group: one\n  - other@placed.here: two\n  - _self_\n"
        "top: 1\nnested: {key: 2, list: [1, 2]}\nfollows: ${nested.key}\n"
    ),
    "group/one.yaml": "value: 1\nshared: {a: 1}\n",
    "group/two.yaml": "# @package _global_\nvalue: 2\nglobal_key: true\n",
    "other/two.yaml": "defaults:\n  - base\n  - _self_\nname: two\n",
    "other/base.yaml": "name: base\nsize: 3\n",
}
LINES = (
    (),
    ("top=5", "+new.key=1"),
    ("group=two",),
    ("nested.key=null", "~nested.list"),
    ("nested={key: 7}",),
    ("++placed.here.size=9", "other@placed.here=base"),
    ("nested.kye=1",),
    ("+top=2",),
    ("~nope",),
    ("group=nope",),
    ("nested.list.0=5",),
    ("+group@more=two",),
)


@each_case("word", WORDS)
def test_an_override_is_parsed_alike(word):
    try:
        theirs = OverridesParser.create().parse_overrides([word])[0]
        theirs.value()
    except Exception:
        with pytest.raises(OverrideError):
            parse_override(word)
        return
    found = parse_override(word)
    assert (found.key, found.package) == (theirs.key_or_group, theirs.package)
    if not theirs.is_sweep_override() and not isinstance(found.value, Call):
        assert repr(found.value) == repr(theirs.value())


@each_case("words", LINES)
def test_a_composition_is_the_same(words, tmp_path_factory):
    folder = tmp_path_factory.mktemp("conf")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    read = lambda path: open(path, encoding="utf-8").read() if os.path.isfile(path) else None  # noqa: E731, SIM115
    names = lambda path: os.listdir(path) if os.path.isdir(path) else []  # noqa: E731
    repository = ConfigFolder(str(folder), read, names)
    overrides = [parse_override(word) for word in words]
    try:
        with initialize_config_dir(str(folder), version_base=None):
            theirs = OmegaConf.to_container(compose("main", list(words)))
    except Exception as error:
        with pytest.raises(CompositionError, match=type(error).__name__):
            ours(repository, "main", overrides)
        return
    assert ours(repository, "main", overrides).values == theirs
