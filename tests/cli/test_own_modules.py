"""The modules of cfglint that its command finds without a search: they are those that Python finds."""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from py_compile import compile as compile_file

import pytest
from cfglint.cli.own_modules import OwnLoader, OwnModules, compiled

import cfglint
from cfglint.cli import own_modules

FACTS = ("name", "origin", "cached", "has_location", "submodule_search_locations", "parent")


@pytest.mark.parametrize("name", ["cfglint.cli", "cfglint.cli.check", "cfglint.frameworks.trl._tables"])
def test_a_module_is_described_as_python_describes_it(name):
    package = sys.modules[name.rpartition(".")[0]] if name.count(".") == 1 else __import__(name.rpartition(".")[0], fromlist=["x"])
    found, usual = OwnModules.find_spec(name, package.__path__), PathFinder.find_spec(name, package.__path__)
    assert [getattr(found, each) for each in FACTS] == [getattr(usual, each) for each in FACTS]


def test_other_modules_are_left_to_python():
    assert OwnModules.find_spec("json.decoder", ["/usr/lib/python3/json"]) is None
    assert OwnModules.find_spec("cfglint", None) is None
    assert OwnModules.find_spec("cfglint.no_such_module", cfglint.__path__) is None


def loaded(file):
    scope = {}
    exec(OwnLoader("cfglint.example", str(file)).get_code("cfglint.example"), scope)
    return scope["NUMBER"]


def test_a_compiled_file_is_used_only_if_it_is_that_of_its_source(tmp_path):
    file = tmp_path / "example.py"
    file.write_text("NUMBER = 1\n")
    assert loaded(file) == 1  # there is no compiled file
    compile_file(str(file), doraise=True)
    times = file.stat().st_mtime_ns
    file.write_text("NUMBER = 2\n")
    os.utime(file, ns=(times, times))
    assert loaded(file) == 1  # of the same time and size
    os.utime(file, ns=(times + 10**10, times + 10**10))
    assert loaded(file) == 2
    with open(compiled(str(file)), "wb") as broken:
        broken.write(b"\0" * 8)
    assert loaded(file) == 2


def test_nothing_is_installed_where_compiled_files_are_in_another_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "meta_path", [])
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    own_modules.find_own_modules()
    assert sys.meta_path == []
    monkeypatch.setattr(sys, "pycache_prefix", None)
    own_modules.find_own_modules()
    assert sys.meta_path == [OwnModules]
