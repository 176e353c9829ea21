"""`cfglint review`: the base, declared runs, every format, and what cannot be done."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from cases import each_case
from cfglint.cli import main
from cfglint.report import FORMATS

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

TRAINER = "output_dir: out\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 8\nlearning_rate: 2.0e-5\n"
HALVED = TRAINER.replace("steps: 8", "steps: 4")
GOOD = '{"train_batch_size": 256, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8}\n'
BAD = GOOD.replace(": 8", ": 4")
DECLARED = '[[run]]\nfiles = ["train.yaml"]\nkind = "huggingface"\ngpus = {}\nnum-examples = 128000\n'


@pytest.fixture
def review(checkout, capsys):
    """Run `cfglint review`: (exit status, standard output, standard error)."""

    def run(*arguments):
        status = main(["review", *arguments])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


@pytest.fixture
def topic(checkout):
    """A repository with two configs, on a branch of its own."""
    checkout.write(train__yaml=TRAINER, ds__json=GOOD, cfglint__toml="gpus = 8\n")
    checkout.commit()
    checkout.git("checkout", "-q", "-b", "topic")
    return checkout


class TestAnswer:
    def test_nothing_touched(self, topic, review):
        status, out, err = review()
        assert (status, out) == (0, "no effective change\n")
        assert err.startswith("cfglint: 0 runs compared, 0 changed in effect; no findings new; against main (")

    def test_a_change(self, topic, review):
        topic.write(train__yaml=HALVED)
        status, out, err = review()
        assert status == 0
        assert out == (
            "train.yaml\n"
            "  global batch 256 -> 128 (halved): 4 x 8 x 8 -> 4 x 4 x 8 (micro batch x accumulation x data parallel)\n"
            "  learning rate unchanged: learning_rate 2.0e-5 (train.yaml:4)\n"
            "  total steps about doubled for as many samples: the same 3 epochs in smaller batches\n"
            "  settings\n"
            "    gradient_accumulation_steps: 8 -> 4 (train.yaml:3)\n"
        )
        assert "1 run compared, 1 changed in effect" in err

    def test_a_new_error_fails(self, topic, review):
        topic.write(ds__json=BAD)
        status, out, err = review()
        assert status == 1
        assert "no longer starts on 8 GPUs" in out
        assert "1 error new" in err

    def test_an_old_error_does_not(self, topic, review):
        topic.git("checkout", "-q", "main")
        topic.write(ds__json=BAD)
        topic.commit()
        topic.git("checkout", "-q", "-B", "topic")
        topic.write(ds__json=BAD.replace("256", "512"))
        assert review()[0] == 0

    def test_reformatting(self, topic, review):
        topic.write(train__yaml=f"# why\n{TRAINER}", ds__json=json.dumps(json.loads(GOOD), indent=2))
        status, out, err = review("--fail-on", "info")
        assert (status, out) == (0, "no effective change\n")
        assert "2 runs compared, 0 changed in effect" in err

    @each_case("form", FORMATS)
    def test_every_format(self, topic, review, form):
        topic.write(train__yaml=HALVED, ds__json=BAD, new__yaml=f"{TRAINER}seed: 1\nseed: 2\n")
        status, out, _ = review("--format", form)
        assert status == 1
        assert "ds.json" in out

    def test_another_release_is_told_where_it_changes_something(self, topic, review):
        lock = '[[package]]\nname = "transformers"\nversion = "{}"\n'
        topic.write(uv__lock=lock.format("4.57.1"), old__yaml=f"{TRAINER}logging_dir: logs\n")
        topic.commit()
        topic.write(uv__lock=lock.format("5.23.0"))
        _, out, err = review("--base", "HEAD")
        assert out.startswith("uv.lock: transformers 4.57.1 -> 5.23.0\n  1 of 2 runs changed in effect\n")
        assert "KEY202" in out
        assert "2 runs compared, 1 changed in effect" in err

    def test_excluded_files_and_kinds_of_the_configuration(self, topic, review):
        topic.write(cfglint__toml='gpus = 8\nexclude = ["old"]\n[kinds]\n"mine.yaml" = "huggingface"\n')
        topic.write(old__yaml=TRAINER, mine__yaml="seed: 1\nlearning_rate: 2e-5\n", package__json='{"name": "x", "broken": ')
        topic.write(old_in_train__yaml="learning_rate: 2e-5\noutput_dir: out\nnum_train_epochs: 3\n")
        status, out, err = review("--format", "json")
        assert [(change["run"], [each["code"] for each in change["new"]]) for change in json.loads(out)["changes"]] == [
            ("mine.yaml", ["TYP200"]),
            ("old.yaml", []),
        ]
        assert (status, "1 error new; against main" in err) == (1, True)

    def test_a_launch_is_named_by_its_line_whether_declared_or_not(self, topic, review):
        line = "for b in 4 8; do torchrun --nproc_per_node 4 train.py --output_dir o --per_device_train_batch_size $b --max_steps 9; done\n"
        topic.write(train__sh="#!/bin/sh\n" + line)
        topic.commit()
        topic.write(train__sh="#!/bin/sh\n" + line.replace("node 4", "node 2"))
        for settings in ("", '[[run]]\nlaunch = "train.sh:2"\n'):
            topic.write(cfglint__toml=settings)
            changes = json.loads(review("--base", "HEAD", "--format", "json")[1])["changes"]
            assert [change["run"] for change in changes if not change["no_effect"]] == ["train.sh:2"] * 2
            assert "train.sh:2\n  GPUs 4 -> 2" in review("--base", "HEAD")[1]

    def test_states(self, topic, review):
        topic.write(ds__json=BAD)
        assert [review("--state", state)[0] for state in ("working", "staged", "committed")] == [1, 0, 0]
        topic.git("add", "ds.json")
        assert [review("--state", state)[0] for state in ("working", "staged", "committed")] == [1, 1, 0]

    def test_uncommitted_changes_are_named(self, topic, review):
        topic.write(train__yaml=HALVED)
        topic.commit()
        assert "uncommitted" not in review("--base", "main")[2]
        topic.write(train__yaml=f"{HALVED}max_steps: 100\n", ds__json=BAD)
        note = "with uncommitted changes in ds.json, train.yaml (`--state committed` leaves them out)"
        assert review("--base", "main")[2].endswith(f", {note}\n")
        assert f"\nW{note[1:]}.\n" in review("--base", "main", "--format", "markdown")[1]
        page = review("--base", "main", "--format", "html")[1]
        assert "2 runs compared, with uncommitted changes in" in page
        for arguments in (("--base", "main", "--state", "committed"), ("--base", "HEAD")):
            assert "uncommitted" not in review(*arguments)[2]


class TestBase:
    def test_of_the_remote_before_the_local_one(self, topic, review, tmp_path_factory):
        clone = tmp_path_factory.mktemp("clone")
        topic.git("clone", "-q", ".", str(clone))
        topic.git("remote", "add", "origin", str(clone))
        topic.git("fetch", "-q", "origin")
        assert "against origin/topic" not in review()[2]
        topic.git("update-ref", "refs/remotes/origin/main", "topic")
        assert "against origin/main (" in review()[2]

    def test_given(self, topic, review):
        topic.write(train__yaml=HALVED)
        topic.commit()
        assert "global batch" in review("--base", "HEAD~1")[1]
        assert review("--base", "HEAD")[1] == "no effective change\n"

    def test_of_a_pull_request(self, topic, review, monkeypatch):
        topic.git("branch", "release", "main")
        monkeypatch.setenv("GITHUB_BASE_REF", "release")
        assert "against release (" in review()[2]
        monkeypatch.setenv("GITHUB_BASE_REF", "nowhere")
        status, _, err = review()
        assert status == 2
        assert "none of origin/nowhere, nowhere is a commit here" in err

    def test_of_a_merge_request(self, topic, review, monkeypatch):
        monkeypatch.setenv("CI_MERGE_REQUEST_DIFF_BASE_SHA", topic.git("rev-parse", "main").strip())
        topic.git("branch", "-D", "main")
        assert review()[0] == 0

    def test_a_name_that_is_no_commit(self, topic, review):
        status, out, err = review("--base", "no-such")
        assert (status, out) == (2, "")
        assert err == "cfglint: no-such is not a commit here; name what to compare with: --base REV\n"

    def test_a_name_that_looks_like_an_option(self, topic, review):
        status, _, err = review("--base=--upload-pack=x")
        assert status == 2
        assert "must not start with a dash" in err

    def test_an_empty_base_is_not_the_default(self, topic, review):
        status, _, err = review("--base", "")
        assert (status, "--base is empty" in err) == (2, True)

    def test_no_base_at_all(self, topic, review):
        topic.git("branch", "-D", "main")
        status, _, err = review()
        assert status == 2
        assert "--base REV" in err

    def test_no_commit_yet(self, checkout, review):
        status, _, err = review()
        assert (status, err) == (2, "cfglint: there is no commit yet, so nothing to compare with\n")

    def test_nothing_in_common(self, topic, review):
        topic.git("checkout", "-q", "--orphan", "alone")
        topic.commit("another beginning")
        status, _, err = review()
        assert status == 2
        assert "HEAD and main have no commit in common" in err

    def test_a_shallow_clone(self, topic, review, tmp_path_factory, monkeypatch):
        topic.commit("on the branch")
        topic.git("checkout", "-q", "main")
        topic.commit("on main")
        clone = tmp_path_factory.mktemp("clone")
        topic.git("clone", "-q", "--depth", "1", "--branch", "topic", f"file://{topic.folder}", str(clone))
        monkeypatch.chdir(clone)
        status, _, err = review("--base", "origin/main")
        assert status == 2
        assert "this clone is shallow, fetch the rest: git fetch --unshallow" in err
        subprocess.run(["git", "fetch", "-q", "--depth", "1", "origin", "main:main"], check=True)
        status, _, err = review("--base", "main")
        assert status == 2
        assert "too shallow to find where the branch left main" in err
        subprocess.run(["git", "fetch", "-q", "--unshallow"], check=True)
        assert review("--base", "main")[0] == 0

    def test_not_in_a_repository(self, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
        assert main(["review"]) == 2
        assert "not in a git repository" in capsys.readouterr().err

    def test_without_git(self, topic, review, monkeypatch):
        monkeypatch.setenv("PATH", "")
        status, _, err = review()
        assert (status, err) == (2, "cfglint: git was not found on the PATH\n")


class TestDeclared:
    @pytest.fixture
    def declared(self, topic):
        topic.git("checkout", "-q", "main")
        topic.write(cfglint__toml=DECLARED.format(64), other__yaml=TRAINER)
        topic.commit()
        topic.git("checkout", "-q", "-B", "topic")
        return topic

    def test_its_facts_hold(self, declared, review):
        declared.write(train__yaml=HALVED)
        out = review()[1]
        assert "global batch 2,048 -> 1,024 (halved): 4 x 8 x 64 -> 4 x 4 x 64" in out
        # 128000 / (4 x 64) = 500 batches; / 8 = 63 (rounded up), x 3 = 189; / 4 = 125, x 3 = 375
        assert "total steps 189 -> 375 (about doubled)" in out
        assert out.count("train.yaml\n") == 1

    def test_another_launch_touches_it(self, declared, review):
        declared.write(cfglint__toml=DECLARED.format(32))
        status, out, err = review()
        assert status == 0
        assert out.startswith("train.yaml\n  GPUs 64 -> 32 (halved)\n  global batch 2,048 -> 1,024 (halved): 4 x 8 x 64 -> 4 x 8 x 32 ")
        assert "cfglint: cfglint.toml changed, too" in err

    def test_a_promise_that_is_broken(self, declared, review):
        declared.write(cfglint__toml=DECLARED.format(64) + "global-batch = 2048\n", train__yaml=HALVED)
        status, out, _ = review()
        assert status == 1
        assert "RUN100 unexpected-number" in out

    def test_untouched_runs_are_left_alone(self, declared, review):
        declared.write(other__yaml=HALVED)
        _, out, err = review()
        assert out.startswith("other.yaml\n  global batch halved on any number of GPUs")
        assert "1 run compared" in err

    def test_a_run_that_is_declared_anew(self, topic, review):
        topic.write(cfglint__toml=DECLARED.format(64))
        assert review()[1] == "no effective change\n"
        topic.write(new__yaml=HALVED, cfglint__toml=DECLARED.format(64).replace("train.yaml", "new.yaml"))
        assert "new.yaml\n  new run: starts on 64 GPUs, global batch 1,024" in review()[1]

    def test_a_declared_run_that_was_renamed(self, declared, review):
        declared.git("mv", "train.yaml", "renamed.yaml")
        declared.write(cfglint__toml=DECLARED.format(64).replace("train.yaml", "renamed.yaml"))
        status, out, err = review()
        assert (status, out) == (0, "no effective change\n")
        assert "1 run compared" in err

    def test_the_configuration_of_the_state_that_is_reviewed(self, declared, review):
        declared.write(cfglint__toml=DECLARED.format(32))
        assert review("--state", "staged")[1] == "no effective change\n"
        declared.git("add", "cfglint.toml")
        assert "GPUs 64 -> 32" in review("--state", "staged")[1]
        declared.write(cfglint__toml=DECLARED.format(16))
        assert "GPUs 64 -> 32" in review("--state", "staged")[1]

    def test_a_hook_names_what_the_other_hook_prints(self, declared, review, monkeypatch):
        declared.write(train__yaml="per_device_train_batch_size: 4\nmax_steps: 10\nlearning_rate: fast\n")
        declared.git("add", "train.yaml")
        assert "note: transformers" in review("--state", "staged")[1]
        monkeypatch.setenv("PRE_COMMIT", "1")
        status, out, _ = review("--state", "staged")
        assert status == 1
        assert "train.yaml:3: error TYP200 string-for-number\n" in out
        assert "note: " not in out

    def test_a_configuration_that_was_broken(self, declared, review):
        declared.git("checkout", "-q", "main")
        declared.write(cfglint__toml="[[run]\n")
        declared.commit()
        declared.git("checkout", "-q", "-B", "topic")
        declared.write(cfglint__toml=DECLARED.format(32), train__yaml=HALVED)
        assert "4 x 8 x 32 -> 4 x 4 x 32" in review()[1]

    def test_selection(self, declared, review):
        declared.write(cfglint__toml="gpus = 8\nignore = ['BAT']\n", ds__json=BAD)
        status, out, _ = review()
        assert status == 0
        assert "BAT001" not in out


@pytest.mark.usefixtures("topic")
def test_commits_in_the_place_of_files_are_answered_with_the_option(review):
    status, _, error = review("HEAD", "HEAD")
    assert status == 2
    assert "HEAD is a commit, not a file: `cfglint review --base HEAD` compares this branch with it" in " ".join(error.split())
