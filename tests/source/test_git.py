"""A repository asked without running anything that belongs to it."""

from __future__ import annotations

import os
import shutil

import pytest

from cfglint.source.file_source import FileSource
from cfglint.source.files import FileProblem
from cfglint.source.git import GitProblem, GitRepository, Snapshot

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def repository(checkout):
    checkout.write(a__yaml="one: 1\n", sub_in_b__yaml="two: 2\n")
    checkout.commit()
    with GitRepository() as opened:
        yield opened


def snapshot(repository, revision="HEAD"):
    entries = repository.tree(revision)
    return Snapshot(repository, entries, {*entries, *repository.index(), *repository.untracked()})


class TestRepository:
    def test_not_in_one(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
        with pytest.raises(GitProblem, match="not in a git repository"):
            GitRepository()

    def test_no_git(self, monkeypatch):
        monkeypatch.setenv("PATH", "")
        with pytest.raises(GitProblem, match="git was not found on the PATH"):
            GitRepository()

    def test_in_a_bare_one(self, checkout):
        checkout.git("config", "core.bare", "true")
        with pytest.raises(GitProblem, match="work tree"):
            GitRepository()

    def test_commits(self, repository, checkout):
        head = checkout.git("rev-parse", "HEAD").strip()
        assert repository.commit("HEAD") == repository.commit("main") == repository.commit(head[:10]) == head
        assert repository.commit("nothing") is None
        assert repository.commit("HEAD:a.yaml") is None

    @pytest.mark.parametrize("name", ["--all", "-x", "--output=x"])
    def test_a_revision_is_never_an_option(self, repository, name):
        with pytest.raises(GitProblem, match="must not start with a dash"):
            repository.commit(name)

    def test_merge_base(self, repository, checkout):
        start = repository.commit("HEAD")
        checkout.git("checkout", "-q", "-b", "topic")
        checkout.commit("there")
        topic = repository.commit("HEAD")
        checkout.git("checkout", "-q", "main")
        checkout.commit("here")
        assert repository.merge_base("main", topic) == start
        checkout.git("checkout", "-q", "--orphan", "alone")
        checkout.commit()
        assert repository.merge_base("main", "alone") is None

    def test_ids_are_gits_own(self, repository):
        assert repository.tree("HEAD")["a.yaml"].id == repository.id_of(b"one: 1\n")

    def test_ids_of_a_repository_with_the_longer_hash(self, checkout):
        shutil.rmtree(".git")
        checkout.git("init", "-q", "-b", "main", "--object-format=sha256")
        checkout.write(a__yaml="one: 1\n")
        checkout.commit()
        with GitRepository() as repository:
            assert len(repository.id_of(b"")) == 64
            assert repository.tree("HEAD")["a.yaml"].id == repository.id_of(b"one: 1\n")
            assert repository.content(repository.id_of(b"one: 1\n")) == b"one: 1\n"

    def test_contents_one_after_the_other(self, repository):
        ids = [entry.id for entry in repository.tree("HEAD").values()]
        assert [repository.content(each) for each in (*ids, ids[0])] == [b"one: 1\n", b"two: 2\n", b"one: 1\n"]

    def test_a_content_that_is_not_there(self, repository):
        with pytest.raises(GitProblem, match="does not contain object"):
            repository.content("0" * 40)

    def test_untracked_and_ignored(self, repository, checkout):
        checkout.write(__gitignore="*.ignored\n", new__yaml="", x__ignored="")
        assert sorted(repository.untracked()) == [".gitignore", "new.yaml"]

    def test_names_of_every_kind(self, repository, checkout):
        names = ["with space.yaml", 'quote".yaml', "tab\t.yaml", "line\nbreak.yaml", "ünï.yaml", os.fsdecode(b"\xff.yaml"), "-dash.yaml"]
        for name in names:
            (checkout.folder / name).write_text("x: 1\n")
        assert sorted(repository.untracked()) == sorted(names)
        checkout.commit()
        assert set(names) <= set(repository.tree("HEAD"))
        assert set(names) <= set(repository.index())

    def test_the_whole_repository_from_a_folder_in_it(self, repository, monkeypatch):
        monkeypatch.chdir("sub")
        with GitRepository() as below:
            assert set(below.index()) == {"a.yaml", "sub/b.yaml"}
            assert below.name("a.yaml") == "../a.yaml"
            assert below.path("b.yaml") == "sub/b.yaml"
            assert below.path("../../elsewhere") is None

    def test_our_side_of_a_conflict(self, repository, checkout):
        checkout.git("checkout", "-q", "-b", "topic")
        checkout.write(a__yaml="theirs: 1\n")
        checkout.commit()
        checkout.git("checkout", "-q", "main")
        checkout.write(a__yaml="ours: 1\n")
        checkout.commit()
        with pytest.raises(Exception, match="merge"):
            checkout.git("merge", "topic")
        assert repository.index()["a.yaml"].id == repository.id_of(b"ours: 1\n")

    def test_nothing_of_the_repository_is_run(self, checkout):
        """A file system monitor, a hook and a filter that would leave a trace."""
        trace = checkout.folder / "trace"
        script = checkout.folder / "script"
        script.write_text(f"#!/bin/sh\necho ran >> {trace}\ncat\n")
        script.chmod(0o755)
        checkout.write(a__yaml="one: 1\n", __gitattributes="*.yaml filter=evil diff=evil\n")
        checkout.commit()
        hooks = checkout.folder / ".git" / "hooks"
        hooks.mkdir()
        shutil.copy(script, hooks / "post-index-change")
        for name in ("core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "diff.evil.textconv", "diff.external", "core.pager"):
            checkout.git("config", name, str(script))
        trace.unlink(missing_ok=True)
        checkout.write(a__yaml="one: 2\n")
        with GitRepository() as repository:
            repository.tree(repository.commit("HEAD"))
            repository.index()
            repository.untracked()
            repository.merge_base("HEAD", "main")
            repository.content(repository.id_of(b"one: 1\n"))
        assert not trace.exists()
        checkout.git("status")
        assert trace.exists()  # the trap works


class TestSnapshot:
    def test_files_as_they_were(self, repository, checkout):
        checkout.write(a__yaml="one: 2\n")
        (checkout.folder / "sub" / "b.yaml").unlink()
        old = snapshot(repository)
        assert old.read("a.yaml") == ("one: 1\n", False)
        assert old.read("./sub/../sub/b.yaml") == ("two: 2\n", False)
        assert old.document("a.yaml").text == "one: 1\n"

    def test_what_was_not_there(self, repository, checkout):
        checkout.write(new__yaml="x: 1\n")
        old = snapshot(repository)
        assert not old.is_file("new.yaml")
        assert not old.is_file("sub")
        with pytest.raises(FileProblem, match="does not exist"):
            old.read("new.yaml")

    def test_ignored_files_have_no_other_state(self, repository, checkout, tmp_path_factory):
        checkout.write(__gitignore="made.json\n", made__json="{}")
        outside = tmp_path_factory.mktemp("outside") / "x.json"
        outside.write_text("[]")
        old = snapshot(repository)
        assert old.read("made.json") == ("{}", False)
        assert old.read(str(outside)) == ("[]", False)
        assert not old.is_file("no-such.json")

    def test_links(self, repository, checkout):
        (checkout.folder / "link.yaml").symlink_to("sub/b.yaml")
        (checkout.folder / "loop.yaml").symlink_to("loop.yaml")
        (checkout.folder / "out.yaml").symlink_to("/etc/hostname")
        checkout.commit()
        old = snapshot(repository)
        assert old.read("link.yaml") == ("two: 2\n", False)
        assert not old.is_file("loop.yaml")
        assert not old.is_file("out.yaml")

    def test_byte_order_marks_and_bad_bytes(self, repository, checkout):
        (checkout.folder / "bom.yaml").write_bytes(b"\xef\xbb\xbfx: 1\n")
        (checkout.folder / "bad.yaml").write_bytes(b"x: \xff\n")
        checkout.commit()
        old = snapshot(repository)
        assert old.read("bom.yaml") == ("x: 1\n", True)
        assert old.document("bad.yaml").problems[0].kind == "encoding"

    def test_it_reads_what_a_shelf_reads(self, repository):
        old, disk = snapshot(repository), FileSource()
        for name in ("a.yaml", "sub/b.yaml"):
            assert old.read_bytes(name) == disk.read_bytes(name)
            assert old.read(name) == disk.read(name)
