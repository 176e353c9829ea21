"""The folders between a file and the top of its project."""

from __future__ import annotations

import os

import pytest

from cases import each_case
from cfglint.source.root import folders_upwards, is_inside, root_of


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with folders, which is the working directory."""
    (tmp_path / "top" / ".git").mkdir(parents=True)
    (tmp_path / "top" / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "top")
    return tmp_path / "top"


@each_case(("path", "folders"), [("x.yaml", [""]), ("a/x.yaml", ["a", ""]), ("a/b/x.yaml", ["a/b", "a", ""])])
def test_folders_upwards(project, path, folders):
    assert folders_upwards(path) == folders


def test_of_an_absolute_path(project):
    inside = str(project / "a" / "x.yaml")
    assert folders_upwards(inside) == [str(project / "a"), str(project)]
    assert root_of(inside) == os.path.realpath(project)


def test_a_folder_of_a_longer_name_is_not_inside(project):
    top = os.path.realpath(project)
    assert is_inside(str(project / "a" / "x"), top)
    assert not is_inside(str(project) + "2/x", top)
    assert not is_inside(str(project.parent / "x"), top)
