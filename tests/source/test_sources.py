"""Sources of files: the disk, and contents that are passed or edited."""

from __future__ import annotations

import os

import pytest

from cfglint.source.edited_source import EditedSource
from cfglint.source.file_source import DiskFolders, FileSource


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project in the working directory, and a file beside it."""
    (tmp_path / "project" / ".git").mkdir(parents=True)
    (tmp_path / "project" / "conf").mkdir()
    for name in ("project/a.yaml", "project/conf/b.yaml", "other.yaml"):
        (tmp_path / name).write_text("x: 1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def sources():
    source = FileSource({"../given.yaml": "y: 1\n"})
    return [source, EditedSource(source, {"a.yaml": "x: 2\n"})]


def test_what_is_outside_of_a_project_and_not_named_leads_out(project):
    for source in sources():
        assert not source.leads_out("conf/b.yaml", "a.yaml")
        assert source.leads_out("../other.yaml", "a.yaml")
        assert not source.leads_out("a.yaml", "../project/conf/b.yaml")
        assert not source.leads_out("../other.yaml", "a.yaml", ["../other.yaml"])
        assert not source.leads_out("../given.yaml", "a.yaml")


def test_a_source_reads_what_was_passed_and_edited(project):
    plain, edited = sources()
    assert [plain.read("a.yaml")[0], edited.read("a.yaml")[0], edited.read("./conf/../a.yaml")[0]] == ["x: 1\n", "x: 2\n", "x: 2\n"]
    assert edited.read("conf/b.yaml")[0] == "x: 1\n"
    assert edited.read("../given.yaml")[0] == "y: 1\n"
    assert [each.is_given("../given.yaml") for each in (plain, edited)] == [True, True]
    assert [each.is_given("a.yaml") for each in (plain, edited)] == [False, False]
    assert [each.is_file("conf") for each in (plain, edited)] == [False, False]
    assert [each.is_file("conf/b.yaml") for each in (plain, edited)] == [True, True]


def test_a_link_to_a_folder_is_no_folder(project):
    os.symlink("conf", project / "link")
    folders = DiskFolders()
    assert [folders.is_folder(each) for each in ("conf", "link", "a.yaml", "none")] == [True, False, False, False]
    assert sorted(folders.names(".")) == [".git", "a.yaml", "conf", "link"]
    assert folders.names("a.yaml") == []
