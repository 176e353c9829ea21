"""Files of a `conf/` tree that are options of a config group."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.source.hydra.folders import ConfigGroups, group_of
from cfglint.source.project_files import Project

TREE = {
    "conf/config.yaml": "defaults:\n- training: default\n- override /model/optim@trainer.optim: adam\n- data/web\n- _self_\n",
    "conf/training/default.yaml": "learning_rate: 1e-4\n",
    "conf/model/optim/adam.yaml": "learning_rate: 1e-4\n",
    "conf/data/web.yaml": "seed: 1\n",
    "conf/recipes/sft.yaml": "learning_rate: 1e-4\n",
    "mapping/config.yaml": "defaults: {training: default}\n",
    "mapping/training/default.yaml": "learning_rate: 1e-4\n",
}


def names(folder):
    inside = [path.removeprefix(f"{folder}/") for path in TREE if folder == "." or path.startswith(f"{folder}/")]
    return sorted({path.partition("/")[0] for path in inside})


def groups_of_tree(read):
    is_file = lambda path: path.removeprefix("./") in TREE  # noqa: E731
    return ConfigGroups(Project("", is_file, read, names=lambda folder: names(folder.removeprefix("./"))))


@pytest.mark.parametrize("top", ["", "./"])
@each_case(
    ("path", "expected"),
    [
        ("conf/training/default.yaml", True),
        ("conf/model/optim/adam.yaml", True),
        ("conf/data/web.yaml", True),
        ("conf/recipes/sft.yaml", False),
        ("conf/config.yaml", False),
        ("mapping/training/default.yaml", False),
    ],
)
def test_a_defaults_list_above_names_the_folder(top, path, expected):
    groups = groups_of_tree(lambda each: TREE.get(each.removeprefix("./")))
    assert groups.has_option(top + path) == expected


def test_a_folder_is_read_once():
    read: list[str] = []
    groups = groups_of_tree(lambda path: read.append(path) or TREE[path])
    assert groups.has_option("conf/training/default.yaml")
    assert not groups.has_option("conf/recipes/sft.yaml")
    assert read.count("conf/config.yaml") == 1


@each_case(
    ("entry", "group"),
    [({"optional a/b@c": "x"}, "a/b"), ({"/a": None}, "a"), ("a/b", "a"), ("_self_", ""), (3, ""), ({}, "")],
)
def test_the_group_of_an_entry(entry, group):
    assert group_of(entry) == group
